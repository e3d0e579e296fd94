//! Copies a shard with a prefix before the names of its entries. Contents, types, times, other pax records, sparse maps and bytes after the
//! end of the archive are copied unchanged (docs/formats/energon.md §3.4).
//!
//! The name of an entry may be stored in its header, in a long name before it, and in pax records. All of these get the prefix, so that all
//! readers find the same name. Targets of hard links are names of entries, so they get the prefix as well.

use super::header::{classify, sum_of, Block, Header, BLOCK, BLOCK_BYTES};
use super::pax::record;
use super::walk::{Entry, Step, Walker, MAX_NAME};
use super::window::{FileWindow, Window};
use super::{is_reserved, notes::printable};
use crate::formats::tar_writer::{padding, push_record, write_pax_header};
use crate::source::compressed::shard_packing;
use gristmill_core::{Failure, Handles, Outcome, ProblemKind, Shard, Subject};
use gristmill_storage::fs::{Fs, WriteFile};
use gristmill_storage::read::{open_read, ReadFile};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

const ACTIVITY: &str = "writing a shard with other names";
/// Size of the write buffer in bytes.
const BUFFER_BYTES: usize = 1 << 20;
const NAME: Range<usize> = 0..100;
const SIZE: Range<usize> = 124..136;
const CHECKSUM: Range<usize> = 148..156;
const LINK_NAME: Range<usize> = 157..257;
const PREFIX: Range<usize> = 345..500;
/// Size of the ustar prefix field in bytes.
const PREFIX_BYTES: usize = PREFIX.end - PREFIX.start;

/// Writes a shard to `target`, which must not exist, with `prefix` before the name of every entry. Reserved names, which readers skip, are
/// not changed, because with a prefix they would become samples. Adds the bytes to the progress.
///
/// # Errors
/// The shard is compressed, damaged, or changed while it was read; `target` does not exist then.
pub fn write_prefixed(fs: &dyn Fs, shard: &Shard, prefix: &str, target: &Path, handles: &Handles<'_>) -> Outcome<()> {
    let file = Arc::new(open_read(&shard.path)?);
    if let Some(kind) = shard_packing(&file)? {
        return Err(refuse(shard, 0, ProblemKind::CompressedShard, &format!("it is compressed with {}", kind.title())));
    }
    let out = fs.create_file(target)?;
    let mut copy = Copy { file: Arc::clone(&file), out, buffer: Vec::with_capacity(BUFFER_BYTES), at: 0 };
    // The new shard is scanned next, so it should stay in the page cache.
    copy.out.keep_in_page_cache();
    let written = copy.entries(shard, prefix.as_bytes(), handles).and_then(|()| copy.finish());
    let now = file.stamp().map_err(|error| Failure::io(ACTIVITY, &shard.path, &error));
    let result = written.and_then(|()| match now? == shard.stamp {
        true => Ok(()),
        false => Err(Failure::data(ACTIVITY, "it changed while it was read; nothing is published")
            .on(Subject::shard(&shard.name))
            .of_kind(ProblemKind::ChangedDuringScan)
            .with_hint("wait until no program writes to it, then run again")),
    });
    if result.is_err() {
        // Only the first error is reported.
        let _ = fs.remove_file(target);
    }
    result
}

fn refuse(shard: &Shard, at: u64, kind: ProblemKind, why: &str) -> Failure {
    let subject = Subject::shard(&shard.name).at(at);
    Failure::data(ACTIVITY, format!("{why}; no shard is changed")).on(subject).of_kind(kind).with_hint(
        "gristmill shard FOLDER --output NEW --duplicates prefix writes all samples that can be read into new shards",
    )
}

/// A copy in progress.
struct Copy {
    file: Arc<ReadFile>,
    out: Box<dyn WriteFile>,
    /// Bytes to write.
    buffer: Vec<u8>,
    /// Offset up to which the shard was copied.
    at: u64,
}

impl Copy {
    fn entries(&mut self, shard: &Shard, prefix: &[u8], handles: &Handles<'_>) -> Outcome<()> {
        let mut walker = Walker::new(FileWindow::new(Arc::clone(&self.file)), handles.cancel);
        loop {
            handles.cancel.check()?;
            let before = self.at;
            match walker.step()? {
                Step::Entry(entry) => {
                    self.copy_until(entry.offset)?;
                    if !is_reserved(&walker.name) {
                        if walker.name.len() + prefix.len() > MAX_NAME {
                            let why = format!("the name of {} would be too long", printable(&walker.name));
                            return Err(refuse(shard, entry.offset, ProblemKind::BadName, &why));
                        }
                        self.rename(&mut walker.window, &entry, [prefix, prefix])?;
                    } else if entry.is_link {
                        // A reserved name is not changed; the target of the link is another name, which gets the prefix.
                        self.rename(&mut walker.window, &entry, [b"", prefix])?;
                    }
                }
                Step::Global { at, .. } => {
                    self.copy_until(at)?;
                    let mut global = Extension::read(&mut walker.window, at)?;
                    global.add_prefix([prefix, b""]);
                    self.replace(walker.at, |buffer| global.write(buffer))?;
                }
                Step::Damage { from, kind, why, .. } => return Err(refuse(shard, from, kind, why)),
                Step::NotATar { why } => {
                    let why = format!("it is not a tar archive: {why}");
                    return Err(refuse(shard, 0, ProblemKind::DamagedHeader, &why));
                }
                Step::CutHeader { at } | Step::CutContent { at } => {
                    return Err(refuse(shard, at, ProblemKind::CutShort, "the file ends inside an entry"));
                }
                Step::End { .. } => break,
            }
            handles.progress.add(0, self.at - before);
        }
        let before = self.at;
        self.copy_until(self.file.len())?;
        handles.progress.add(0, self.at - before);
        Ok(())
    }

    /// Copies the bytes of the shard up to an offset.
    fn copy_until(&mut self, end: u64) -> Outcome<()> {
        while self.at < end {
            let from = self.buffer.len();
            let now = (end - self.at).min(BUFFER_BYTES as u64) as usize;
            self.buffer.resize(from + now, 0);
            let read = self.file.read_exact_at(self.buffer.get_mut(from..).unwrap_or_default(), self.at);
            read.map_err(|error| Failure::io(ACTIVITY, self.file.path(), &error))?;
            self.at += now as u64;
            self.write_if_full()?;
        }
        Ok(())
    }

    /// Skips the bytes of the shard up to an offset, and writes other bytes instead.
    fn replace(&mut self, end: u64, write: impl FnOnce(&mut Vec<u8>)) -> Outcome<()> {
        write(&mut self.buffer);
        self.at = end;
        self.write_if_full()
    }

    fn write_if_full(&mut self) -> Outcome<()> {
        if self.buffer.len() >= BUFFER_BYTES {
            self.out.write_all(&self.buffer)?;
            self.buffer.clear();
        }
        Ok(())
    }

    fn finish(mut self) -> Outcome<()> {
        self.out.write_all(&self.buffer)?;
        self.out.close().map(drop)
    }

    /// Writes the headers of an entry, with one prefix for its name and one for the target of a hard link.
    fn rename(&mut self, window: &mut impl Window, entry: &Entry, [name, link]: [&[u8]; 2]) -> Outcome<()> {
        let (mut at, mut chain) = (entry.offset, Vec::new());
        let mut own = loop {
            let block = block_at(window, at)?;
            let Block::Header(header) = classify(&block) else { return Err(moved()) };
            if !header.is_extension() {
                break block;
            }
            let extension = Extension::read(window, at)?;
            at += BLOCK_BYTES + extension.payload.len().next_multiple_of(BLOCK) as u64;
            chain.push(extension);
        };
        let is_hard_link = own[156] == b'1' && !is_reserved(until_nul(&own[LINK_NAME]));
        let mut missing = Vec::new();
        let link = if is_hard_link { link } else { b"" };
        for extension in &mut chain {
            extension.add_prefix([name, link]);
        }
        let has = |of: fn(&Extension) -> bool| chain.iter().any(of);
        let records = [
            (&b"path"[..], add_to_name(&mut own, name), has(|extension| extension.has_name)),
            (b"linkpath", add_to_link(&mut own, link), has(|extension| extension.has_link)),
        ];
        for (keyword, value, is_there) in records {
            if let Some(value) = value.filter(|_| !is_there) {
                push_record(&mut missing, keyword, &value);
            }
        }
        set_checksum(&mut own);
        // Readers differ in how they treat two pax headers before one entry, so an existing one is extended.
        let last = chain.iter_mut().rev().find(|extension| extension.is_pax());
        let added = match last {
            Some(last) => {
                last.append(&missing);
                Vec::new()
            }
            None => missing,
        };
        self.replace(at + BLOCK_BYTES, |buffer| {
            chain.iter().for_each(|extension| extension.write(buffer));
            if !added.is_empty() {
                write_pax_header(buffer, &added);
            }
            buffer.extend_from_slice(&own);
        })
    }
}

/// An extended header, which describes the next header, with its payload.
struct Extension {
    header: [u8; BLOCK],
    payload: Vec<u8>,
    has_name: bool,
    has_link: bool,
}

impl Extension {
    fn read(window: &mut impl Window, at: u64) -> Outcome<Self> {
        let header = block_at(window, at)?;
        let Block::Header(Header { size, .. }) = classify(&header) else { return Err(moved()) };
        let size = usize::try_from(size).map_err(|_| moved())?;
        let payload = window.bytes(at + BLOCK_BYTES, size)?.to_vec();
        if payload.len() < size {
            return Err(moved());
        }
        Ok(Self { header, payload, has_name: false, has_link: false })
    }

    fn type_flag(&self) -> u8 {
        self.header[156]
    }

    /// Whether it has the pax records of a single entry.
    fn is_pax(&self) -> bool {
        matches!(self.type_flag(), b'x' | b'X')
    }

    fn add_prefix(&mut self, [name, link]: [&[u8]; 2]) {
        match self.type_flag() {
            b'L' => {
                self.has_name = true;
                self.payload.splice(0..0, name.iter().copied());
            }
            b'K' => {
                self.has_link = true;
                self.payload.splice(0..0, link.iter().copied());
            }
            _ => self.add_to_records([name, link]),
        }
    }

    fn add_to_records(&mut self, [name, link]: [&[u8]; 2]) {
        let (mut made, mut rest) = (Vec::with_capacity(self.payload.len()), self.payload.as_slice());
        while let Some((keyword, value, length)) = record(rest) {
            let is_name = matches!(keyword, b"path" | b"GNU.sparse.name") && !value.is_empty();
            let is_link = keyword == b"linkpath";
            self.has_name |= is_name;
            self.has_link |= is_link;
            let prefix = if is_link { link } else { name };
            match (is_name || is_link) && !prefix.is_empty() {
                true => push_record(&mut made, keyword, &[prefix, value].concat()),
                false => made.extend_from_slice(rest.get(..length).unwrap_or_default()),
            }
            rest = rest.get(length..).unwrap_or_default();
        }
        made.extend_from_slice(rest);
        self.payload = made;
    }

    fn append(&mut self, records: &[u8]) {
        if records.is_empty() {
            return;
        }
        // Zeros after the records are padding.
        let end = self.payload.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        self.payload.truncate(end);
        self.payload.extend_from_slice(records);
    }

    fn write(&self, buffer: &mut Vec<u8>) {
        let mut header = self.header;
        // A header with an unchanged size is copied, because there are several ways to write numbers.
        let is_same = matches!(classify(&header), Block::Header(known) if known.size == self.payload.len() as i128);
        if !is_same {
            put(&mut header, SIZE, format!("{:011o}", self.payload.len()).as_bytes());
            set_checksum(&mut header);
        }
        buffer.extend_from_slice(&header);
        buffer.extend_from_slice(&self.payload);
        buffer.resize(buffer.len() + padding(self.payload.len() as u64), 0);
    }
}

/// Adds the prefix to the name in a header. If the name does not fit, returns the new name, and the header has only its beginning.
fn add_to_name(block: &mut [u8; BLOCK], prefix: &[u8]) -> Option<Vec<u8>> {
    if prefix.is_empty() {
        return None;
    }
    let is_ustar = &block[257..263] == b"ustar\0";
    let old = until_nul(&block[PREFIX]).to_vec();
    // Other formats use the bytes of the prefix field for other data.
    let has_prefix = is_ustar || !old.is_empty() && block[156] != b'S';
    let mut name = prefix.to_vec();
    if has_prefix && !old.is_empty() {
        name.extend_from_slice(&old);
        name.push(b'/');
    }
    name.extend_from_slice(until_nul(&block[NAME]));
    let (folder, own) = match split(&name).filter(|(folder, _)| is_ustar || folder.is_empty()) {
        Some((folder, own)) => (folder.to_vec(), own.to_vec()),
        None => (Vec::new(), name.get(NAME).unwrap_or_default().to_vec()),
    };
    put(block, NAME, &own);
    if has_prefix {
        put(block, PREFIX, &folder);
    }
    (folder.is_empty() && own.len() < name.len()).then_some(name)
}

fn add_to_link(block: &mut [u8; BLOCK], prefix: &[u8]) -> Option<Vec<u8>> {
    if prefix.is_empty() {
        return None;
    }
    let name = [prefix, until_nul(&block[LINK_NAME])].concat();
    put(block, LINK_NAME, name.get(..LINK_NAME.len()).unwrap_or(&name));
    (name.len() > LINK_NAME.len()).then_some(name)
}

/// Divides a name between the two fields of a ustar header, at the last slash for which the folder fits.
fn split(name: &[u8]) -> Option<(&[u8], &[u8])> {
    if name.len() <= NAME.len() {
        return Some((&[], name));
    }
    let slash = name.iter().take(PREFIX_BYTES + 1).rposition(|byte| *byte == b'/')?;
    let (folder, own) = (name.get(..slash)?, name.get(slash + 1..)?);
    (!own.is_empty() && own.len() <= NAME.len()).then_some((folder, own))
}

/// Stores text in a field, padded with zeros.
fn put(block: &mut [u8; BLOCK], field: Range<usize>, text: &[u8]) {
    let field = block.get_mut(field).unwrap_or_default();
    field.fill(0);
    field.iter_mut().zip(text).for_each(|(to, from)| *to = *from);
}

fn set_checksum(block: &mut [u8; BLOCK]) {
    let sum = sum_of(block);
    put(block, CHECKSUM, format!("{sum:06o}\0 ").as_bytes());
}

fn until_nul(field: &[u8]) -> &[u8] {
    memchr::memchr(0, field).map_or(field, |end| field.get(..end).unwrap_or_default())
}

fn block_at(window: &mut impl Window, at: u64) -> Outcome<[u8; BLOCK]> {
    <[u8; BLOCK]>::try_from(window.bytes(at, BLOCK)?).map_err(|_| moved())
}

/// Returns the failure for headers that differ from those in the walk before.
fn moved() -> Failure {
    Failure::data(ACTIVITY, "it changed while it was read; nothing is published")
        .of_kind(ProblemKind::ChangedDuringScan)
}

#[cfg(test)]
mod tests;
