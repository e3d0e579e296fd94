//! Documents of a packed file, or lines of a text file, which can be copied in any order.

use super::index_checker::{check_index, IndexVerdict};
use gristmill_core::problem::Subject;
use gristmill_core::{Failure, FileStamp, Handles, Outcome, Problem, ProblemKind};
use gristmill_data::formats::modalities::packed::{Index, Layout, PackedReader};
use gristmill_storage::read::{open_read, ReadFile};
use std::ops::Range;
use std::path::Path;

/// Bytes copied at a time: a multiple of every token size.
const COPY_BYTES: usize = 87_381 * 12;
/// Bytes read at a time when searching for line ends.
const SEARCH_BYTES: usize = 1 << 20;

/// The kind of the copied items.
#[derive(Debug)]
enum Kind {
    Packed(PackedReader),
    Lines { file: ReadFile, lacks_end: bool },
}

/// A file whose documents or lines are indexed in memory, with sixteen bytes per item.
#[derive(Debug)]
pub struct Source {
    kind: Kind,
    index: Index,
    stamp: FileStamp,
}

impl Source {
    /// Opens a packed file of any era. A wrongly merged index is refused, or with `compat` used as it is.
    pub fn packed(path: &Path, compat: bool, handles: &Handles<'_>) -> Outcome<Self> {
        let packed = open_packed(path, compat, handles)?;
        let stamp = stamp_of(packed.file())?;
        let index = packed.load_index(handles.cancel)?;
        for (document, (offset, length)) in index.offsets.iter().zip(&index.lengths).enumerate() {
            if !packed.contains_span(*offset, *length) {
                let why = format!("document {document} is not within the tokens");
                return Err(Failure::data("reading the index", why)
                    .on(Subject::path(path))
                    .with_hint("`gristmill verify` reports more about the file"));
            }
        }
        Ok(Self { kind: Kind::Packed(packed), index, stamp })
    }

    /// Opens a text file. Each line includes its line end.
    pub fn lines(path: &Path, handles: &Handles<'_>) -> Outcome<Self> {
        let file = open_read(path)?;
        let stamp = stamp_of(&file)?;
        let mut index = Index::default();
        let mut block = vec![0; SEARCH_BYTES];
        let (mut at, mut start) = (0, 0);
        loop {
            handles.cancel.check()?;
            let count = file.read_at(&mut block, at).map_err(|error| Failure::io("reading the lines", path, &error))?;
            let Some(bytes) = block.get(..count).filter(|bytes| !bytes.is_empty()) else { break };
            for end in memchr::memchr_iter(b'\n', bytes) {
                let end = at + end as u64 + 1;
                index.offsets.push(start);
                index.lengths.push(end - start);
                start = end;
            }
            at += count as u64;
        }
        let lacks_end = start < at;
        if lacks_end {
            index.offsets.push(start);
            index.lengths.push(at - start);
        }
        Ok(Self { kind: Kind::Lines { file, lacks_end }, index, stamp })
    }

    /// Returns the number of documents or lines.
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Whether there are no items.
    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// Returns the layout of a packed file; `None` for lines.
    pub fn layout(&self) -> Option<Layout> {
        match &self.kind {
            Kind::Packed(packed) => Some(packed.layout()),
            Kind::Lines { .. } => None,
        }
    }

    /// Returns the open file.
    pub fn file(&self) -> &ReadFile {
        match &self.kind {
            Kind::Packed(packed) => packed.file(),
            Kind::Lines { file, .. } => file,
        }
    }

    /// Returns the number of tokens of a document, or of bytes of a line.
    pub fn size_of(&self, item: usize) -> u64 {
        let length = self.index.lengths.get(item).copied().unwrap_or_default();
        self.layout().map_or(length, |layout| length / u64::from(layout.token_bytes.max(1)))
    }

    /// Whether the last of the remaining lines has no line end.
    pub fn lacks_line_end(&self) -> bool {
        matches!(self.kind, Kind::Lines { lacks_end: true, .. })
    }

    /// Keeps only a range of the items.
    pub fn keep(&mut self, range: Range<usize>) {
        if let Kind::Lines { lacks_end, .. } = &mut self.kind {
            *lacks_end &= range.end >= self.index.len();
        }
        for list in [&mut self.index.offsets, &mut self.index.lengths] {
            list.truncate(range.end);
            list.drain(..range.start.min(list.len()));
            list.shrink_to_fit();
        }
    }

    /// Returns the number of bytes that an item has when copied. With `glue`, a last line without line end gets none.
    pub fn copied_bytes(&self, item: usize, glue: bool) -> u64 {
        let length = self.index.lengths.get(item).copied().unwrap_or_default();
        match &self.kind {
            Kind::Packed(packed) => {
                let size = packed.layout().token_bytes;
                length / u64::from(size.max(1)) * u64::from(written_size(size))
            }
            Kind::Lines { lacks_end, .. } => length + u64::from(!glue && *lacks_end && item + 1 == self.len()),
        }
    }

    /// Passes the bytes of an item to `out`, in the current layout. `buffer` is reused.
    pub fn copy(
        &self,
        item: usize,
        glue: bool,
        buffer: &mut Vec<u8>,
        out: &mut dyn FnMut(&[u8]) -> Outcome<()>,
    ) -> Outcome<()> {
        let Some((offset, length)) = self.index.get(item) else { return Ok(()) };
        match &self.kind {
            Kind::Packed(packed) => copy_tokens(packed, offset..offset + length, buffer, out),
            Kind::Lines { file, lacks_end } => {
                in_pieces(offset..offset + length, buffer, &mut |at, piece| {
                    file.read_exact_at(piece, at)
                        .map_err(|error| Failure::io("reading the lines", file.path(), &error))?;
                    out(piece)
                })?;
                match !glue && *lacks_end && item + 1 == self.len() {
                    true => out(b"\n"),
                    false => Ok(()),
                }
            }
        }
    }

    /// Fails if the file has changed since it was opened.
    pub fn check_unchanged(&self) -> Outcome<()> {
        check_unchanged(self.file(), self.stamp)
    }
}

/// Fails if an open file no longer matches `stamp`.
pub fn check_unchanged(file: &ReadFile, stamp: FileStamp) -> Outcome<()> {
    match stamp_of(file)? == stamp {
        true => Ok(()),
        false => Err(Failure::data("reading the source", "it changed while it was read, so nothing was written")
            .on(Subject::path(file.path()))),
    }
}

/// Returns size, time and inode of an open file.
pub fn stamp_of(file: &ReadFile) -> Outcome<FileStamp> {
    file.stamp().map_err(|error| Failure::io("opening", file.path(), &error))
}

/// Opens a packed file and checks its index. A wrongly merged index is refused, or with `compat` used as it is.
pub fn open_packed(path: &Path, compat: bool, handles: &Handles<'_>) -> Outcome<PackedReader> {
    let packed = PackedReader::open_watched(open_read(path)?, handles.cancel)?;
    match check_index(&packed, handles.cancel)? {
        IndexVerdict::Right => {}
        IndexVerdict::WronglyMerged { documents, .. } if compat => {
            let message = format!(
                "{} placed wrongly by its index and read as it says",
                gristmill_core::text::count_verb(documents, "document", "is", "are")
            );
            let subject = Subject::path(path);
            handles.problems.report(Problem::note(ProblemKind::CompatLoss, subject, message))?;
        }
        IndexVerdict::WronglyMerged { documents, .. } => {
            let why = format!(
                "its index was merged wrongly: {} placed some bytes too early",
                gristmill_core::text::count_verb(documents, "document", "is", "are")
            );
            return Err(Failure::data("reading the index", why)
                .on(Subject::path(path))
                .with_hint("`gristmill repair` repairs the index"));
        }
        IndexVerdict::Wrong { document, why } => {
            let message = format!("its documents do not follow each other: document {document}: {why}");
            let subject = Subject::path(path);
            handles.problems.report(Problem::problem(ProblemKind::IndexMismatch, subject, message))?;
        }
    }
    Ok(packed)
}

/// Returns the number of bytes of a written token. Three bytes become four, because no current loader reads three.
pub fn written_size(token_bytes: u8) -> u8 {
    if token_bytes == 3 {
        4
    } else {
        token_bytes
    }
}

/// Passes tokens of a packed file to `out`, little-endian and with the size in which they are written.
pub fn copy_tokens(
    packed: &PackedReader,
    span: Range<u64>,
    buffer: &mut Vec<u8>,
    out: &mut dyn FnMut(&[u8]) -> Outcome<()>,
) -> Outcome<()> {
    let layout = packed.layout();
    let size = usize::from(layout.token_bytes.max(1));
    let mut widened = Vec::new();
    in_pieces(span, buffer, &mut |at, piece| {
        packed.read(at, piece)?;
        if layout.is_big_endian {
            piece.chunks_exact_mut(size).for_each(<[u8]>::reverse);
        }
        if size != 3 {
            return out(piece);
        }
        widened.clear();
        for token in piece.chunks_exact(3) {
            widened.extend_from_slice(token);
            widened.push(0);
        }
        out(&widened)
    })
}

/// Iterates over a range in pieces of whole tokens.
fn in_pieces(
    span: Range<u64>,
    buffer: &mut Vec<u8>,
    each: &mut dyn FnMut(u64, &mut [u8]) -> Outcome<()>,
) -> Outcome<()> {
    let mut at = span.start;
    while at < span.end {
        let wanted = usize::try_from(span.end - at).unwrap_or(usize::MAX).min(COPY_BYTES);
        if buffer.len() < wanted {
            buffer.resize(wanted, 0);
        }
        if let Some(piece) = buffer.get_mut(..wanted) {
            each(at, piece)?;
        }
        at += wanted as u64;
    }
    Ok(())
}
