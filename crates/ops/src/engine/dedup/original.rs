//! An existing index, made by the reference program or by this program: its documents in order (docs/formats/bsade.md §3).

use super::write_back::TextPieces;
use gristmill_core::text::bytes as size;
use gristmill_core::{Cancel, Failure, Outcome, Subject};
use gristmill_data::formats::bsade::{
    ranges_folder, shard_folder, DocumentLocation, DocumentLocations, RangesReader, Shard, REMOVE_RANGES,
};
use gristmill_pycompat::json_fields::{slice, Fields};
use gristmill_pycompat::json_text::{halves, unescape};
use gristmill_pycompat::json_walk::Kind;
use gristmill_storage::files;
use gristmill_storage::read::{open_read, ReadFile};
use std::path::{Path, PathBuf};

/// Maximum length of a line of metadata in bytes.
pub const MAX_METADATA_BYTES: u64 = 64 << 20;
/// Bytes of text read at a time.
const READ_BYTES: u64 = 256 << 10;
/// Name of the operation in read failures.
const ACTIVITY: &str = "reading the index";

/// An index: a number of shards in folders `0`, `1` and so on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Index {
    /// The folder of the index.
    pub folder: PathBuf,
    /// The number of shards.
    pub shards: u32,
}

impl Index {
    /// Finds the shards of an index. A folder without `0` is a usage error; a gap in the numbers is refused.
    pub fn open(folder: &Path) -> Outcome<Self> {
        let entries = files::read_dir(folder).map_err(|error| Failure::io(ACTIVITY, folder, &error))?;
        let mut numbers = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|error| Failure::io(ACTIVITY, folder, &error))?;
            let name = entry.file_name();
            let number = name.to_str().and_then(|name| name.parse::<u32>().ok());
            numbers.extend(number.filter(|number| name.to_str() == Some(&number.to_string())));
        }
        numbers.sort_unstable();
        if numbers.is_empty() {
            return Err(Failure::usage(ACTIVITY, "it has no folder named 0, as the first shard of an index is")
                .on(Subject::path(folder)));
        }
        match numbers.iter().zip(0..).find(|(number, wanted)| **number != *wanted) {
            Some((_, missing)) => {
                Err(Failure::data(ACTIVITY, format!("shard {missing} is missing")).on(Subject::path(folder)))
            }
            None => Ok(Self { folder: folder.to_owned(), shards: numbers.len() as u32 }),
        }
    }

    /// Opens a shard.
    pub fn shard(&self, number: u32) -> Outcome<Shard> {
        Shard::open(&shard_folder(&self.folder, number))
    }

    /// Opens the ranges of a shard that were found with this minimum length; `None` if there are none.
    pub fn ranges(&self, number: u32, min_length: u64) -> Outcome<Option<RangesReader>> {
        match open_read(&ranges_folder(&self.folder, number, min_length).join(REMOVE_RANGES)) {
            Ok(file) => RangesReader::new(file).map(Some),
            Err(failure) if failure.is_missing() => Ok(None),
            Err(failure) => Err(failure),
        }
    }
}

/// One document of an index.
#[derive(Clone, Copy, Debug)]
pub struct IndexedDocument<'a> {
    /// Position of the document in the index.
    pub place: DocumentLocation,
    /// The original file, relative to the input. Checked to stay below the input.
    pub path: &'a str,
    /// Line number in that file, counted from 0.
    pub line: u64,
    /// The other fields, as a JSON object.
    pub others: &'a [u8],
    tokenized: &'a ReadFile,
    cancel: &'a Cancel,
}

/// The documents of a shard, in order.
pub struct IndexedDocuments<'a> {
    shard: &'a Shard,
    places: DocumentLocations<'a>,
    line: Vec<u8>,
    fields: Fields,
    path: String,
    cancel: &'a Cancel,
}

impl<'a> IndexedDocuments<'a> {
    /// Creates a reader that starts at the first document.
    pub fn new(shard: &'a Shard, cancel: &'a Cancel) -> Self {
        let (line, path) = (Vec::new(), String::new());
        Self { shard, places: shard.places(), line, fields: Fields::any(), path, cancel }
    }

    /// Returns the next document; `None` after the last one. Fails with the position of a document that cannot be parsed, because the
    /// documents of an index depend on each other.
    #[expect(clippy::should_implement_trait, reason = "what it hands out borrows from it")]
    pub fn next(&mut self) -> Outcome<Option<IndexedDocument<'_>>> {
        let Some(place) = self.places.next(self.cancel)? else { return Ok(None) };
        let metadata = self.shard.metadata();
        read_line(metadata, &place, &mut self.line)?;
        let facts = describe(&self.line, &mut self.fields, &mut self.path);
        let (line, (from, to)) = facts
            .map_err(|why| Failure::data(ACTIVITY, why).on(Subject::path(metadata.path()).at(place.meta_start)))?;
        let others = slice(&self.line, from, to);
        let tokenized = self.shard.tokenized();
        Ok(Some(IndexedDocument { place, path: &self.path, line, others, tokenized, cancel: self.cancel }))
    }
}

pub(super) fn read_line(metadata: &ReadFile, place: &DocumentLocation, line: &mut Vec<u8>) -> Outcome<()> {
    let length = place.meta_end - place.meta_start;
    if length > MAX_METADATA_BYTES {
        let why = format!("the line of document {} is {} long", place.number, size(length));
        return Err(Failure::data(ACTIVITY, why).on(Subject::path(metadata.path()).at(place.meta_start)));
    }
    line.clear();
    line.resize(usize::try_from(length).unwrap_or_default(), 0);
    metadata.read_exact_at(line, place.meta_start).map_err(|error| Failure::io(ACTIVITY, metadata.path(), &error))
}

/// Parses a line of metadata. Returns the line number and the position of the other fields, and stores the path in `path`.
pub(super) fn describe(line: &[u8], fields: &mut Fields, path: &mut String) -> Result<(u64, (u64, u64)), &'static str> {
    let line = line.strip_suffix(b"\n").ok_or("the line does not end where the next one begins")?;
    if std::str::from_utf8(line).is_err() || fields.read(line).is_err() {
        return Err("the line is not JSON");
    }
    let named = |name: &[u8]| {
        let field = fields.list().iter().rfind(|field| slice(line, field.key_from, field.key_to) == name);
        field.map(|field| (*field, slice(line, field.from, field.to)))
    };
    let (file, raw) = named(b"path").filter(|(field, _)| field.kind == Kind::String).ok_or("it has no path")?;
    path.clear();
    let raw = raw.get(1..raw.len() - 1).unwrap_or_default();
    if file.has_escapes && halves(raw).next().is_some() {
        return Err("its path contains a lone surrogate");
    }
    unescape(std::str::from_utf8(raw).unwrap_or_default(), path);
    if !stays_below(path) {
        return Err("its path is outside of the folder");
    }
    let number = named(b"linenum").and_then(|(_, raw)| std::str::from_utf8(raw).ok()?.parse().ok());
    let number = number.ok_or("it has no line number")?;
    let others = named(b"metadata").filter(|(field, _)| matches!(field.kind, Kind::Object | Kind::EmptyObject));
    let (others, _) = others.ok_or("it has no object of other fields")?;
    Ok((number, (others.from, others.to)))
}

/// Whether a relative path does not leave its base folder.
fn stays_below(path: &str) -> bool {
    !path.contains('\0') && path.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

impl IndexedDocument<'_> {
    /// Passes the bytes of the text to `take` in pieces, whether they are valid UTF-8 or not.
    pub fn each_bytes(&self, take: &mut dyn FnMut(&[u8]) -> Outcome<()>) -> Outcome<()> {
        let mut buffer = Vec::new();
        let mut at = self.place.start + 1;
        while at < self.place.end {
            self.cancel.check()?;
            buffer.resize(usize::try_from((self.place.end - at).min(READ_BYTES)).unwrap_or_default(), 0);
            let read = self.tokenized.read_exact_at(&mut buffer, at);
            read.map_err(|error| Failure::io(ACTIVITY, self.tokenized.path(), &error))?;
            take(&buffer)?;
            at += buffer.len() as u64;
        }
        Ok(())
    }
}

/// Fails with the position of a text that is not UTF-8.
impl TextPieces for IndexedDocument<'_> {
    fn each_piece(&self, _: &mut String, take: &mut dyn FnMut(&str) -> Outcome<()>) -> Outcome<u64> {
        let mut cut = Vec::new();
        let mut bytes = 0;
        let refused =
            |bytes: u64| {
                Failure::data(ACTIVITY, "a byte of the text is not UTF-8")
                    .on(Subject::path(self.tokenized.path()).at(self.place.start + 1 + bytes))
            };
        self.each_bytes(&mut |piece| {
            let joined;
            let piece = match cut.is_empty() {
                true => piece,
                false => {
                    cut.extend_from_slice(piece);
                    joined = std::mem::take(&mut cut);
                    &joined
                }
            };
            let whole = match simdutf8::compat::from_utf8(piece) {
                Ok(whole) => whole,
                Err(error) if error.error_len().is_some() => return Err(refused(bytes + error.valid_up_to() as u64)),
                Err(error) => {
                    let (whole, rest) = piece.split_at_checked(error.valid_up_to()).unwrap_or_default();
                    cut.extend_from_slice(rest);
                    std::str::from_utf8(whole).unwrap_or_default()
                }
            };
            bytes += whole.len() as u64;
            take(whole)
        })?;
        match cut.is_empty() {
            true => Ok(bytes),
            false => Err(refused(bytes)),
        }
    }
}
