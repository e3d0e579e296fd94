//! The walk from entry to entry, with the semantics of Python's `tarfile` 3.11 for valid archives, and recovery after damage.

mod resync;

use super::header::{classify, is_plausible, sparse_extension, Block, Header, BLOCK, BLOCK_BYTES};
use super::pax::PaxRecords;
use super::window::Window;
use gristmill_core::{Cancel, Outcome, ProblemKind};
use resync::ResumeOffset;

/// Maximum size in bytes of an extended header's payload.
const MAX_EXTENSION: u64 = 1 << 20;
/// Maximum length of the name of an entry that can be a part, in bytes.
pub(super) const MAX_NAME: usize = 4096;
/// Maximum number of extended headers before one entry.
const MAX_CHAIN: usize = 32;

/// An entry; its name is [`Walker::name`] until the next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// Offset of the first header block that belongs to the entry, in bytes.
    pub(super) offset: u64,
    /// Offset of the content, in bytes.
    pub(super) content_offset: u64,
    /// Size of the content in bytes as the reference counts it: for a sparse entry, the size with its holes.
    pub(super) size: u64,
    /// Whether the type of the entry can be a part.
    pub(super) regular: bool,
    /// Whether the entry is sparse, so that its bytes in the archive differ from those of the file.
    pub(super) is_sparse: bool,
    /// Whether a pax record states its size in the archive.
    pub(super) is_resized: bool,
    /// Whether it is a hard or symbolic link.
    pub(super) is_link: bool,
    /// Reason why its name or size may be wrong, although it can be read.
    pub(super) suspect: Option<&'static str>,
    /// Whether it is an AppleDouble file with the name of a part; set by the grouping.
    pub(super) is_apple_double: bool,
}

impl Entry {
    /// Creates the entry of a regular file.
    pub(super) fn regular(offset: u64, content_offset: u64, size: u64) -> Self {
        let (is_sparse, is_resized, is_link, suspect, is_apple_double) = (false, false, false, None, false);
        Self { offset, content_offset, size, regular: true, is_sparse, is_resized, is_link, suspect, is_apple_double }
    }
}

/// Result of one step of the walk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// An entry of any type.
    Entry(Entry),
    /// A global header; `suspect` is the reason if part of it is invalid.
    Global { at: u64, suspect: Option<&'static str> },
    /// Bytes that are not entries; the walk continues at `to`. With `doubtful`, the next entry may have lost its true name.
    Damage { from: u64, to: u64, kind: ProblemKind, why: &'static str, doubtful: bool },
    /// The first block of the file is not a header.
    NotATar { why: &'static str },
    /// The file ends inside the header (or headers) that begin at `at`.
    CutHeader { at: u64 },
    /// The file ends inside the content of the entry that begins at `at`; its name is known.
    CutContent { at: u64 },
    /// The end of the archive. `closed` is the offset of the zero block that marks it, if there is one.
    End { at: u64, closed: Option<u64> },
}

/// An extended header whose entry follows.
enum Extension {
    LongName(Vec<u8>),
    LongLink,
    Local(PaxRecords),
}

/// An entry whose headers are being read.
struct Draft {
    offset: u64,
    header_at: u64,
    content_offset: i128,
    size: i128,
    /// Offset of the next header.
    next: i128,
    /// Like `next`, but computed from the size in the entry's own header; `None` if that size is 0.
    next_by_own_size: Option<i128>,
    regular: bool,
    is_sparse: bool,
    is_link: bool,
    has_content: bool,
    resized_by_pax: bool,
    suspect: Option<&'static str>,
}

/// Reason why the collection of extended headers ended.
enum HeadersEnd {
    /// The entry's own header was read.
    Header(Draft, u8),
    /// The headers are damaged or incomplete, which is the result of the step.
    Step(Step),
}

/// Walks over the entries of one archive.
pub(super) struct Walker<'a, W> {
    pub(super) window: W,
    pub(super) cancel: &'a Cancel,
    /// Offset at which the next header is expected.
    pub(super) at: u64,
    /// Full name of the entry of the last step.
    pub(super) name: Vec<u8>,
    globals: PaxRecords,
    /// Offset of global headers directly before `at`, which belong to no entry.
    globals_from: Option<u64>,
    suspect: Option<&'static str>,
    /// Whether bytes were skipped, so that the walk may have entered an archive inside lost content.
    has_skipped: bool,
}

impl<'a, W: Window> Walker<'a, W> {
    pub(super) fn new(window: W, cancel: &'a Cancel) -> Self {
        let globals = PaxRecords::default();
        Self { window, cancel, at: 0, name: Vec::new(), globals, globals_from: None, suspect: None, has_skipped: false }
    }

    /// Performs the next step. Must not be called after [`Step::End`], [`Step::NotATar`] or a truncation.
    pub(super) fn step(&mut self) -> Outcome<Step> {
        let at = self.at;
        let block = self.window.bytes(at, BLOCK)?;
        let Ok(block) = <&[u8; BLOCK]>::try_from(block) else {
            // Zeros that do not fill a block are a truncated end mark; an archive does not begin with an end mark.
            let is_end = block.is_empty() || at > 0 && block.iter().all(|byte| *byte == 0);
            return Ok(if is_end { self.end(at, None) } else { Step::CutHeader { at } });
        };
        match classify(block) {
            Block::Header(header) => {
                if header.is_extension() || header.type_flag == b'S' || !self.globals.is_empty() {
                    return self.extended_entry();
                }
                let draft = draft_of(&header, at, at);
                copy_name(&mut self.name, &header);
                self.finish(draft)
            }
            Block::Zero if self.has_skipped => self.doubtful_end(at),
            Block::Zero => Ok(self.end(at, Some(at))),
            Block::Bad(why) if at == 0 => Ok(Step::NotATar { why }),
            Block::Bad(why) => self.damage(at, at, why),
        }
    }

    /// Returns the end of the archive. Global headers without a following entry are not part of the last sample, because its reader would
    /// fail on them.
    fn end(&self, at: u64, closed: Option<u64>) -> Step {
        Step::End { at: self.globals_from.unwrap_or(at), closed }
    }

    /// Processes a zero block that may be the end of an archive inside lost content. It is the end only if no header follows.
    fn doubtful_end(&mut self, at: u64) -> Outcome<Step> {
        let next = self.search(at + BLOCK_BYTES)?;
        if self.window.has_bytes_to(next.saturating_add(BLOCK_BYTES))? {
            if let Some(block) = self.block(next)? {
                if is_plausible(&block) {
                    let why = "zero blocks are between entries";
                    let resumed = ResumeOffset { at: next, by_search: true };
                    return Ok(self.resume(at, resumed, ProblemKind::DamagedHeader, why));
                }
            }
        }
        Ok(self.end(at, Some(at)))
    }

    /// Processes an entry with extended headers or a sparse map.
    fn extended_entry(&mut self) -> Outcome<Step> {
        let mut chain = Vec::new();
        self.suspect = None;
        let (mut draft, type_flag) = match self.collect(&mut chain)? {
            HeadersEnd::Header(draft, type_flag) => (draft, type_flag),
            HeadersEnd::Step(step) => return Ok(step),
        };
        if draft.size < 0 {
            return self.impossible(&draft, "its size is negative");
        }
        if type_flag == b'S' {
            draft.is_sparse = true;
            if let Some(step) = self.skip_sparse_extensions(&mut draft)? {
                return Ok(step);
            }
        } else if let Err(why) = self.globals.apply(&mut self.name, &mut draft.size) {
            return self.impossible(&draft, why);
        }
        draft.is_sparse |= self.globals.is_sparse();
        for extension in chain.into_iter().rev() {
            match extension {
                Extension::LongLink => {}
                Extension::LongName(name) => self.name = name,
                Extension::Local(records) => {
                    draft.is_sparse |= records.is_sparse();
                    if let Err(why) = self.apply_local(&records, &mut draft)? {
                        return self.impossible(&draft, why);
                    }
                }
            }
        }
        draft.suspect = self.suspect;
        self.finish(draft)
    }

    /// Reads extended headers up to the entry's own header.
    fn collect(&mut self, chain: &mut Vec<Extension>) -> Outcome<HeadersEnd> {
        let (offset, mut at) = (self.at, self.at);
        let mut refused: Option<&'static str> = None;
        loop {
            let block = self.window.bytes(at, BLOCK)?;
            let Ok(block) = <&[u8; BLOCK]>::try_from(block) else {
                return Ok(HeadersEnd::Step(Step::CutHeader { at: offset }));
            };
            let header = match classify(block) {
                Block::Header(header) => header,
                Block::Bad(why) => return Ok(HeadersEnd::Step(self.damage(offset, at, why)?)),
                Block::Zero => {
                    let why = "an extended header has no entry after it";
                    return Ok(HeadersEnd::Step(self.resume(
                        offset,
                        ResumeOffset { at, by_search: false },
                        ProblemKind::BadExtendedHeader,
                        why,
                    )));
                }
            };
            let mut draft = draft_of(&header, offset, at);
            let type_flag = header.type_flag;
            if !header.is_extension() {
                copy_name(&mut self.name, &header);
                if let Some(why) = refused {
                    draft.resized_by_pax = true;
                    return Ok(HeadersEnd::Step(self.refuse(&draft, why)?));
                }
                return Ok(HeadersEnd::Header(draft, type_flag));
            }
            let size = draft.size;
            draft.resized_by_pax = size > i128::from(MAX_EXTENSION);
            let next = u64::try_from(draft.next).unwrap_or(u64::MAX);
            if size < 0 || !self.window.has_bytes_to(next)? {
                if size < 0 || draft.resized_by_pax {
                    return Ok(HeadersEnd::Step(self.damage_of(
                        offset,
                        at,
                        "the size of an extended header is impossible",
                    )?));
                }
                return Ok(HeadersEnd::Step(Step::CutHeader { at: offset }));
            }
            if draft.resized_by_pax {
                refused = Some("an extended header is larger than 1 MiB");
            } else if chain.len() >= MAX_CHAIN {
                refused = Some("it has too many extended headers");
            } else if let Err(why) = self.take_extension(type_flag, at + BLOCK_BYTES, size as usize, chain)? {
                self.suspect = Some(why);
            }
            if type_flag == b'g' && chain.is_empty() && refused.is_none() {
                self.globals_from.get_or_insert(at);
                self.at = next;
                return Ok(HeadersEnd::Step(Step::Global { at, suspect: self.suspect }));
            }
            at = next;
            self.cancel.check()?;
        }
    }

    /// Stores the content of an extended header. Returns `Err` if part of it is invalid.
    fn take_extension(
        &mut self,
        type_flag: u8,
        payload_at: u64,
        size: usize,
        chain: &mut Vec<Extension>,
    ) -> Outcome<Result<(), &'static str>> {
        let payload = self.window.bytes(payload_at, size)?;
        let mut result = Ok(());
        match type_flag {
            b'L' => {
                let end = memchr::memchr(0, payload).unwrap_or(payload.len());
                chain.push(Extension::LongName(payload[..end].to_owned()));
            }
            b'K' => chain.push(Extension::LongLink),
            b'g' => result = self.globals.read(payload),
            _ => {
                let mut records = self.globals.clone();
                result = records.read(payload);
                chain.push(Extension::Local(records));
            }
        }
        Ok(result)
    }

    /// Moves past the extension blocks of a GNU sparse header. Returns the step if that fails.
    fn skip_sparse_extensions(&mut self, draft: &mut Draft) -> Outcome<Option<Step>> {
        const BROKEN: &str = "its map of holes is broken";
        let mut at = draft.header_at;
        let block = self.window.bytes(at, BLOCK)?;
        let sparse = <&[u8; BLOCK]>::try_from(block).ok().map(classify).and_then(|b| match b {
            Block::Header(header) => header.sparse(),
            _ => None,
        });
        let Some((mut more, real_size)) = sparse else {
            return self.damage(draft.offset, draft.header_at, BROKEN).map(Some);
        };
        while more {
            at += BLOCK_BYTES;
            let Ok(block) = <&[u8; BLOCK]>::try_from(self.window.bytes(at, BLOCK)?) else {
                return Ok(Some(Step::CutHeader { at: draft.offset }));
            };
            let Some(another) = sparse_extension(block) else {
                return self.damage(draft.offset, draft.header_at, BROKEN).map(Some);
            };
            more = another;
            self.cancel.check()?;
        }
        draft.content_offset = i128::from(at + BLOCK_BYTES);
        draft.next = draft.content_offset.saturating_add(padded(draft.size));
        draft.size = real_size;
        Ok(None)
    }

    /// Applies one local pax header.
    fn apply_local(&mut self, records: &PaxRecords, draft: &mut Draft) -> Outcome<Result<(), &'static str>> {
        let stored_at = draft.content_offset;
        if records.has_map_in_content() {
            match self.find_content_after_map(draft.content_offset as u64)? {
                Some(at) => draft.content_offset = i128::from(at),
                None => return Ok(Err("its map of holes is broken")),
            }
        }
        if let Err(why) = records.apply(&mut self.name, &mut draft.size) {
            return Ok(Err(why));
        }
        if records.resizes() {
            let (from, stored) = match records.stored_and_real_size() {
                None => (draft.content_offset, draft.size),
                // The records of a sparse entry state the size of its file, and the stored size including the map.
                Some((stored, real)) => {
                    draft.size = real;
                    (stored_at, stored)
                }
            };
            if stored < draft.content_offset - from {
                return Ok(Err("its pax size ends in its map of holes"));
            }
            draft.next = from.saturating_add(if draft.has_content { padded(stored) } else { 0 });
            draft.resized_by_pax = true;
        }
        Ok(Ok(()))
    }

    /// Returns the offset of the content after a sparse map of format 1.0. The map is a count and that number of pairs, with one number per
    /// line, padded to whole blocks.
    fn find_content_after_map(&mut self, content_at: u64) -> Outcome<Option<u64>> {
        let map = self.window.bytes(content_at, MAX_EXTENSION as usize)?;
        let mut lines = map.split_inclusive(|&b| b == b'\n');
        let mut used = 0u64;
        let mut wanted: i128 = 1;
        let mut first = true;
        while wanted > 0 {
            let number = lines.next().and_then(|line| {
                used += line.len() as u64;
                super::header::python_int(line.strip_suffix(b"\n")?, 10)
            });
            let Some(number) = number else { return Ok(None) };
            wanted = if std::mem::take(&mut first) { number.saturating_mul(2) } else { wanted - 1 };
        }
        Ok(Some(content_at + used.div_ceil(BLOCK_BYTES) * BLOCK_BYTES))
    }

    /// Checks a finished draft against the bounds of the archive and moves past it.
    fn finish(&mut self, draft: Draft) -> Outcome<Step> {
        if draft.size < 0 {
            return self.impossible(&draft, "its size is negative");
        }
        if draft.size > i128::from(i64::MAX) {
            return self.impossible(&draft, "its size is larger than any file");
        }
        let next = u64::try_from(draft.next).unwrap_or(u64::MAX);
        if !self.window.has_bytes_to(next)? {
            if draft.resized_by_pax {
                return self.impossible(&draft, "its size is larger than the file");
            }
            return Ok(Step::CutContent { at: draft.offset });
        }
        if draft.resized_by_pax {
            if let Some(to) = self.find_next_by_own_size(&draft)? {
                let resumed = ResumeOffset { at: to, by_search: false };
                let why = "its pax size contradicts its header";
                return Ok(self.resume(draft.offset, resumed, ProblemKind::BadExtendedHeader, why));
            }
        }
        self.at = next;
        self.globals_from = None;
        Ok(Step::Entry(Entry {
            offset: draft.offset,
            content_offset: draft.content_offset as u64,
            size: draft.size as u64,
            regular: draft.regular,
            is_sparse: draft.is_sparse,
            is_resized: draft.resized_by_pax,
            is_link: draft.is_link,
            suspect: draft.suspect,
            is_apple_double: false,
        }))
    }

    /// Returns the offset of the next header if the size in the entry's own header is correct and the pax size, which no checksum protects,
    /// is wrong. A smaller pax size that leads to a header is correct, as for other readers. A larger one could be damaged and skip entries.
    fn find_next_by_own_size(&mut self, draft: &Draft) -> Outcome<Option<u64>> {
        let own = draft.next_by_own_size.filter(|&own| own != draft.next).and_then(|own| u64::try_from(own).ok());
        let Some(own) = own else { return Ok(None) };
        let by_pax = u64::try_from(draft.next).unwrap_or(u64::MAX);
        if by_pax < own && self.is_header_at(by_pax)? {
            return Ok(None);
        }
        Ok(self.is_header_at(own)?.then_some(own))
    }

    fn is_header_at(&mut self, offset: u64) -> Outcome<bool> {
        if !self.window.has_bytes_to(offset)? {
            return Ok(false);
        }
        Ok(<&[u8; BLOCK]>::try_from(self.window.bytes(offset, BLOCK)?).is_ok_and(is_plausible))
    }

    /// Skips an entry whose headers are valid but contain impossible values.
    fn impossible(&mut self, draft: &Draft, why: &'static str) -> Outcome<Step> {
        self.damage_of(draft.offset, draft.header_at, why)
    }

    /// Skips an entry that cannot be accepted although its own header is valid.
    fn refuse(&mut self, draft: &Draft, why: &'static str) -> Outcome<Step> {
        let next = u64::try_from(draft.next).unwrap_or(u64::MAX);
        if draft.size >= 0 && self.window.has_bytes_to(next)? {
            let resumed = ResumeOffset { at: next, by_search: false };
            return Ok(self.resume(draft.offset, resumed, ProblemKind::BadExtendedHeader, why));
        }
        self.impossible(draft, why)
    }

    fn damage_of(&mut self, from: u64, bad: u64, why: &'static str) -> Outcome<Step> {
        let resumed = self.find_next(bad)?;
        Ok(self.resume(from, resumed, ProblemKind::BadExtendedHeader, why))
    }

    fn damage(&mut self, from: u64, bad: u64, why: &'static str) -> Outcome<Step> {
        let resumed = self.find_next(bad)?;
        Ok(self.resume(from, resumed, ProblemKind::DamagedHeader, why))
    }

    fn resume(&mut self, from: u64, resumed: ResumeOffset, kind: ProblemKind, why: &'static str) -> Step {
        self.at = resumed.at;
        self.globals_from = None;
        self.has_skipped = true;
        Step::Damage { from, to: resumed.at, kind, why, doubtful: resumed.by_search }
    }
}

fn draft_of(header: &Header<'_>, offset: u64, header_at: u64) -> Draft {
    let content_offset = i128::from(header_at) + i128::from(BLOCK_BYTES);
    let has_content = header.has_content();
    let next = content_offset.saturating_add(if has_content { padded(header.size) } else { 0 });
    Draft {
        offset,
        header_at,
        content_offset,
        size: header.size,
        next,
        next_by_own_size: (header.size > 0).then_some(next),
        regular: header.is_regular(),
        is_sparse: false,
        is_link: header.is_link(),
        has_content,
        resized_by_pax: false,
        suspect: None,
    }
}

/// Rounds up to whole blocks.
fn padded(size: i128) -> i128 {
    size.saturating_add(511) & !511
}

fn copy_name(name: &mut Vec<u8>, header: &Header<'_>) {
    name.clear();
    let prefix = header.prefix();
    if !prefix.is_empty() {
        name.extend_from_slice(prefix);
        name.push(b'/');
    }
    name.extend_from_slice(header.own_name());
}
