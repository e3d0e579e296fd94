//! The entries of an archive between two offsets, and the fields of a header block.

use super::header::{self, number, BLOCK, BLOCK_BYTES};
use super::names;
use super::notes::TOO_LONG;
use super::walk::{Step, Walker, MAX_NAME};
use super::window::{FileWindow, StreamWindow, Window};
use crate::source::compressed::{open_compressed, shard_packing};
use gristmill_core::{Cancel, Outcome};
use gristmill_storage::read::ReadFile;
use std::sync::Arc;

/// One entry of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpanEntry<'a> {
    /// Full name, as bytes.
    pub name: &'a [u8],
    /// Offset of the first header block that belongs to the entry, in bytes.
    pub offset: u64,
    /// Offset of the content, in bytes; the block before it is the entry's own header.
    pub content_offset: u64,
    /// Size of the content, in bytes.
    pub size: u64,
    /// Offset of the dot between key and part in the name; `None` if the entry is not a part of a sample.
    pub dot: Option<usize>,
    /// Whether the entry is a link that would be a part of a sample if it were a file.
    pub is_linked_part: bool,
}

/// An element of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanItem<'a> {
    /// An entry.
    Entry(SpanEntry<'a>),
    /// Bytes that are not an entry: their offset, and the reason.
    Damage(u64, &'static str),
}

/// Visits the entries that begin in `from..to` until `take` returns `false`. In a compressed archive everything before `from` is
/// decompressed first, which takes time.
///
/// Both offsets are untrusted: they may be beyond the end of the file, or inside content. The result is then damage, or nothing.
pub fn each_entry(
    file: &Arc<ReadFile>,
    from: u64,
    to: u64,
    cancel: &Cancel,
    take: &mut dyn FnMut(SpanItem<'_>) -> bool,
) -> Outcome<()> {
    match shard_packing(file)? {
        None if from >= file.len() => Ok(()),
        None => {
            let mut walker = Walker::new(FileWindow::with_end(Arc::clone(file), to), cancel);
            walker.at = from;
            walk(walker, from, to, take)
        }
        Some(kind) => {
            let stream = open_compressed(Arc::clone(file), kind)?;
            walk(Walker::new(StreamWindow::new(stream, cancel), cancel), from, to, take)
        }
    }
}

fn walk<W: Window>(
    mut walker: Walker<'_, W>,
    from: u64,
    to: u64,
    take: &mut dyn FnMut(SpanItem<'_>) -> bool,
) -> Outcome<()> {
    loop {
        walker.cancel.check()?;
        if walker.at >= to {
            return Ok(());
        }
        let item = match walker.step()? {
            Step::Entry(entry) if entry.offset < from => continue,
            Step::Entry(entry) if entry.offset >= to => return Ok(()),
            Step::Entry(entry) if walker.name.len() > MAX_NAME => SpanItem::Damage(entry.offset, TOO_LONG),
            Step::Entry(entry) => {
                let name = walker.name.as_slice();
                let part = names::split(name).filter(|_| !names::is_reserved(name));
                let (dot, is_linked_part) = (part.filter(|_| entry.regular), part.is_some() && entry.is_link);
                let (offset, content_offset) = (entry.offset, entry.content_offset);
                SpanItem::Entry(SpanEntry { name, offset, content_offset, size: entry.size, dot, is_linked_part })
            }
            Step::Global { .. } => continue,
            Step::Damage { to: behind, .. } if behind <= from => continue,
            Step::Damage { from: at, why, .. } => SpanItem::Damage(at, why),
            Step::NotATar { why } => {
                take(SpanItem::Damage(0, why));
                return Ok(());
            }
            Step::CutHeader { at } => {
                take(SpanItem::Damage(at, "the archive ends inside a header"));
                return Ok(());
            }
            Step::CutContent { at } => {
                take(SpanItem::Damage(at, "the archive or the sample ends inside the content of an entry"));
                return Ok(());
            }
            Step::End { .. } => return Ok(()),
        };
        if !take(item) {
            return Ok(());
        }
    }
}

/// One field of a header block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderField {
    /// Name of the field in the format.
    pub name: &'static str,
    /// Offset of the first byte of the field in the block.
    pub from: usize,
    /// Offset after the last byte of the field.
    pub to: usize,
    /// Value, for the user; text from the archive is made safe to show.
    pub value: String,
    /// Defect of the value, if there is one.
    pub defect: Option<&'static str>,
}

/// Type of a field.
#[derive(Clone, Copy)]
enum Kind {
    Text,
    Octal,
    Number,
    Time,
    Checksum,
    Type,
}

const FIELDS: [(&str, usize, usize, Kind); 16] = [
    ("name", 0, 100, Kind::Text),
    ("mode", 100, 108, Kind::Octal),
    ("uid", 108, 116, Kind::Number),
    ("gid", 116, 124, Kind::Number),
    ("size", 124, 136, Kind::Number),
    ("mtime", 136, 148, Kind::Time),
    ("chksum", 148, 156, Kind::Checksum),
    ("typeflag", 156, 157, Kind::Type),
    ("linkname", 157, 257, Kind::Text),
    ("magic", 257, 263, Kind::Text),
    ("version", 263, 265, Kind::Text),
    ("uname", 265, 297, Kind::Text),
    ("gname", 297, 329, Kind::Text),
    ("devmajor", 329, 337, Kind::Number),
    ("devminor", 337, 345, Kind::Number),
    ("prefix", 345, 500, Kind::Text),
];

/// Parses a block as a header, field by field, regardless of its content.
pub fn header_fields(block: &[u8; BLOCK]) -> Vec<HeaderField> {
    let field = |(name, from, to, kind): &(&'static str, usize, usize, Kind)| {
        let (value, defect) = read_field(block, block.get(*from..*to).unwrap_or_default(), *kind);
        HeaderField { name, from: *from, to: *to, value, defect }
    };
    FIELDS.iter().map(field).collect()
}

fn read_field(block: &[u8; BLOCK], bytes: &[u8], kind: Kind) -> (String, Option<&'static str>) {
    let text = || {
        let end = memchr::memchr(0, bytes).unwrap_or(bytes.len());
        gristmill_core::text::display_safe_bytes(bytes.get(..end).unwrap_or_default())
    };
    // Text fields are not parsed as numbers, because they are longer than any number field.
    let is_number = !matches!(kind, Kind::Text | Kind::Type);
    let value = if is_number { number(bytes) } else { None };
    match (kind, value) {
        (Kind::Text, _) => {
            let shown = text();
            let is_text = std::str::from_utf8(bytes.split(|&b| b == 0).next().unwrap_or_default()).is_ok();
            (shown, (!is_text).then_some("it is not UTF-8"))
        }
        (Kind::Type, _) => type_word(bytes.first().copied().unwrap_or(0)),
        (_, None) => (text(), Some("it is not a number")),
        (Kind::Octal, Some(value)) => (format!("{value:o}"), None),
        (Kind::Checksum, Some(value)) => {
            let holds = matches!(header::classify(block), header::Block::Header(_));
            let sum: i128 = header::sum_of(block).into();
            let wrong = (value != sum && !holds).then_some("it is not the sum of the block");
            (if value == sum { format!("{value}") } else { format!("{value}, the block has {sum}") }, wrong)
        }
        (Kind::Number | Kind::Time, Some(value)) => (value.to_string(), (value < 0).then_some("it is negative")),
    }
}

fn type_word(flag: u8) -> (String, Option<&'static str>) {
    let word = match flag {
        b'0' | 0 => "regular file",
        b'1' => "hard link",
        b'2' => "symbolic link",
        b'3' => "character device",
        b'4' => "block device",
        b'5' => "folder",
        b'6' => "fifo",
        b'7' => "contiguous file",
        b'L' => "long name of the next entry",
        b'K' => "long link of the next entry",
        b'x' | b'X' => "pax records of the next entry",
        b'g' => "pax records of all that follow",
        b'S' => "sparse file",
        _ => return (gristmill_core::text::display_safe_bytes(&[flag]), Some("no type in use")),
    };
    let shown = if flag == 0 { "NUL".to_owned() } else { char::from(flag).to_string() };
    (format!("{shown}, {word}"), None)
}

/// Returns the offset of the header block that directly precedes the content.
pub fn header_offset(content_offset: u64) -> Option<u64> {
    content_offset.checked_sub(BLOCK_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    fn archive(entries: &[(&str, usize)]) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        for (name, size) in entries {
            let mut header = tar::Header::new_gnu();
            header.set_size(*size as u64);
            header.set_mode(0o640);
            builder.append_data(&mut header, name, vec![b'x'; *size].as_slice()).unwrap();
        }
        builder.into_inner().unwrap()
    }

    fn open(bytes: &[u8]) -> (Arc<ReadFile>, tempfile::NamedTempFile) {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        (Arc::new(gristmill_storage::read::open_read(file.path()).unwrap()), file)
    }

    fn listed(file: &Arc<ReadFile>, from: u64, to: u64) -> Vec<String> {
        let mut found = Vec::new();
        each_entry(file, from, to, &Cancel::default(), &mut |item| {
            found.push(match item {
                SpanItem::Entry(entry) => format!("{} {}", String::from_utf8_lossy(entry.name), entry.offset),
                SpanItem::Damage(at, why) => format!("! {at} {why}"),
            });
            found.len() < 50
        })
        .unwrap();
        found
    }

    #[test]
    fn entries_that_begin_between_two_offsets_are_listed() {
        let long = format!("{}.txt", "n".repeat(150));
        let bytes = archive(&[("a.txt", 3), (&long, 3), ("b.txt", 600), ("c.txt", 0)]);
        let gz = {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(&bytes).unwrap();
            encoder.finish().unwrap()
        };
        for bytes in [&bytes, &gz] {
            let (file, _keep) = open(bytes);
            let all = listed(&file, 0, u64::MAX);
            assert_eq!(all, ["a.txt 0".to_owned(), format!("{long} 1024"), "b.txt 3072".into(), "c.txt 4608".into()]);
            assert_eq!(listed(&file, 1024, 3072), all[1..2]);
            assert_eq!(listed(&file, 3072, 4608), all[2..3]);
        }
    }

    #[test]
    fn wrong_offsets_give_damage_or_no_entries() {
        let (file, _keep) = open(&archive(&[("a.txt", 3_000), ("b.txt", 3)]));
        assert_eq!(listed(&file, 1 << 40, u64::MAX), Vec::<String>::new());
        assert_eq!(listed(&file, u64::MAX - 3, u64::MAX), Vec::<String>::new());
        let inside = listed(&file, 700, 4_608);
        assert!(inside[0].starts_with("! 700"), "{inside:?}");
        assert!(listed(&file, 0, 600)[0].contains("inside the content"));
    }

    #[test]
    fn header_fields_are_listed_with_their_defects() {
        let bytes = archive(&[("a.txt", 77)]);
        let mut block: [u8; BLOCK] = bytes[..BLOCK].try_into().unwrap();
        let value = |block: &[u8; BLOCK], name: &str| {
            let field = header_fields(block).into_iter().find(|field| field.name == name).unwrap();
            (field.value, field.defect)
        };
        assert_eq!(value(&block, "name"), ("a.txt".into(), None));
        assert_eq!(value(&block, "size"), ("77".into(), None));
        assert_eq!(value(&block, "mode"), ("640".into(), None));
        assert_eq!(value(&block, "typeflag"), ("NUL, regular file".into(), None));
        assert_eq!(value(&block, "chksum").1, None);
        block[0] = b'\x1b';
        block[124] = b'?';
        assert_eq!(value(&block, "chksum").1, Some("it is not the sum of the block"));
        assert_eq!(value(&block, "size").1, Some("it is not a number"));
        assert!(!value(&block, "name").0.contains('\x1b'));
        assert_eq!(header_fields(&[0xff; BLOCK]).len(), 16);
    }
}
