//! Entries of new shards: the bytes that `TarWriter(mtime=0)` of the reference package writes. See docs/formats/webdataset.md.
//!
//! Headers are ustar. A pax header precedes the entry only if ustar cannot represent a value: a name that is longer than 100 bytes or not
//! ASCII, or a size of 8 GiB or more. The caller writes headers and content to the file.

/// Unit of headers and padding, in bytes.
pub const BLOCK_BYTES: u64 = 512;
/// Size of an archive is a multiple of this, in bytes.
const RECORD_BYTES: u64 = 10_240;
/// Bytes of the two empty blocks at the end.
const END_BYTES: u64 = 2 * BLOCK_BYTES;
/// Size of the name field of a ustar header.
const NAME_BYTES: usize = 100;
/// The first number that does not fit into eleven octal digits.
const FIRST_LARGE: u64 = 1 << 33;
const OWNER: &[u8] = b"bigdata";
const PAX_NAME: &[u8] = b"././@PaxHeader";

/// Name, size and time of an entry.
#[derive(Clone, Copy, Debug)]
pub struct EntryHeader<'a> {
    /// Full name; need not be UTF-8.
    pub name: &'a [u8],
    /// Bytes of content.
    pub size: u64,
    /// Seconds since 1970.
    pub mtime: u64,
}

impl EntryHeader<'_> {
    /// Appends the header, preceded by a pax header if one is needed.
    pub fn write(&self, out: &mut Vec<u8>) {
        let records = self.pax_records();
        if !records.is_empty() {
            write_pax_header(out, &records);
        }
        let fitting = |number: u64| if number < FIRST_LARGE { number } else { 0 };
        write_block(out, &ascii(self.name), (0o444, fitting(self.size), fitting(self.mtime)), (b'0', OWNER));
    }

    /// Returns the size of header and content, with padding.
    pub fn entry_bytes(&self) -> u64 {
        self.header_bytes() + self.size.next_multiple_of(BLOCK_BYTES)
    }

    /// Returns the size of the header and of the pax header before it.
    pub fn header_bytes(&self) -> u64 {
        match self.pax_records().len() as u64 {
            0 => BLOCK_BYTES,
            records => 2 * BLOCK_BYTES + records.next_multiple_of(BLOCK_BYTES),
        }
    }

    fn pax_records(&self) -> Vec<u8> {
        let mut records = Vec::new();
        if std::str::from_utf8(self.name).is_err() {
            push_record(&mut records, b"hdrcharset", b"BINARY");
        }
        if self.name.len() > NAME_BYTES || !self.name.is_ascii() {
            push_record(&mut records, b"path", self.name);
        }
        for (keyword, number) in [(&b"size"[..], self.size), (b"mtime", self.mtime)] {
            if number >= FIRST_LARGE {
                push_record(&mut records, keyword, number.to_string().as_bytes());
            }
        }
        records
    }
}

/// Returns the number of zero bytes that follow content of this size.
pub fn padding(size: u64) -> usize {
    (size.next_multiple_of(BLOCK_BYTES) - size) as usize
}

/// Returns the size of an archive whose entries have `entries` bytes together.
pub fn archive_bytes(entries: u64) -> u64 {
    entries.saturating_add(END_BYTES).next_multiple_of(RECORD_BYTES)
}

/// Appends a pax header with these records.
pub(crate) fn write_pax_header(out: &mut Vec<u8>, records: &[u8]) {
    write_block(out, PAX_NAME, (0, records.len() as u64, 0), (b'x', b""));
    out.extend_from_slice(records);
    out.resize(out.len() + padding(records.len() as u64), 0);
}

/// Appends a pax record; the length at its start includes its own digits.
pub(crate) fn push_record(records: &mut Vec<u8>, keyword: &[u8], value: &[u8]) {
    let rest = keyword.len() + value.len() + 3;
    let mut length = rest;
    while length != rest + length.to_string().len() {
        length = rest + length.to_string().len();
    }
    records.extend_from_slice(length.to_string().as_bytes());
    for text in [b" ", keyword, b"=", value, b"\n"] {
        records.extend_from_slice(text);
    }
}

/// Returns the name in the ustar header: each non-ASCII character and each invalid byte becomes `?`, and the name is truncated to
/// [`NAME_BYTES`].
fn ascii(name: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(name.len().min(NAME_BYTES));
    for chunk in name.utf8_chunks() {
        plain.extend(chunk.valid().chars().map(|c| if c.is_ascii() { c as u8 } else { b'?' }));
        plain.extend(chunk.invalid().iter().map(|_| b'?'));
    }
    plain.truncate(NAME_BYTES);
    plain
}

fn write_block(out: &mut Vec<u8>, name: &[u8], (mode, size, mtime): (u64, u64, u64), (kind, owner): (u8, &[u8])) {
    let mut block = [0u8; BLOCK_BYTES as usize];
    let mut put = |at: usize, text: &[u8]| {
        if let Some(place) = block.get_mut(at..at + text.len()) {
            place.copy_from_slice(text);
        }
    };
    put(0, name);
    put(100, format!("{mode:07o}").as_bytes());
    put(108, b"0000000\x000000000");
    put(124, format!("{size:011o}").as_bytes());
    put(136, format!("{mtime:011o}").as_bytes());
    put(148, b"        ");
    put(156, &[kind]);
    put(257, b"ustar\x0000");
    put(265, owner);
    put(297, owner);
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    if let Some(place) = block.get_mut(148..155) {
        place.copy_from_slice(format!("{sum:06o}\0").as_bytes());
    }
    out.extend_from_slice(&block);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::tar::each_entry;
    use crate::source::tar::SpanItem;
    use gristmill_core::Cancel;
    use std::path::{Path, PathBuf};
    use std::sync::Arc;

    fn shards_below(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                shards_below(&path, found);
            } else if path.extension().is_some_and(|end| end == "tar") {
                found.push(path);
            }
        }
    }

    #[test]
    fn written_tar_entries_match_the_reference() {
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/webdataset");
        let mut shards = Vec::new();
        for case in std::fs::read_dir(golden).unwrap() {
            shards_below(&case.unwrap().path().join("expected"), &mut shards);
        }
        assert!(shards.len() > 20, "{}", shards.len());
        for path in shards {
            let expected = std::fs::read(&path).unwrap();
            let file = Arc::new(gristmill_storage::read::open_read(&path).unwrap());
            let mut made = Vec::new();
            each_entry(&file, 0, u64::MAX, &Cancel::default(), &mut |item| {
                let SpanItem::Entry(entry) = item else { panic!("{}: {item:?}", path.display()) };
                let header = EntryHeader { name: entry.name, size: entry.size, mtime: 0 };
                let before = made.len();
                header.write(&mut made);
                assert_eq!(made.len() as u64, entry.content_offset);
                let content = entry.content_offset as usize..(entry.content_offset + entry.size) as usize;
                made.extend_from_slice(&expected[content]);
                made.resize(made.len() + padding(entry.size), 0);
                assert_eq!((made.len() - before) as u64, header.entry_bytes());
                true
            })
            .unwrap();
            made.resize(archive_bytes(made.len() as u64) as usize, 0);
            assert!(made == expected, "{}", path.display());
        }
    }

    #[test]
    fn large_sizes_and_non_utf8_names_are_in_pax_records() {
        let mut out = Vec::new();
        EntryHeader { name: b"a\xff.bin", size: FIRST_LARGE, mtime: 0 }.write(&mut out);
        assert_eq!(out.len(), 3 * 512);
        let records = b"21 hdrcharset=BINARY\n15 path=a\xff.bin\n19 size=8589934592\n";
        assert_eq!(&out[512..512 + records.len()], records);
        assert_eq!(&out[1024..1032], b"a?.bin\0\0");
        assert_eq!(&out[1024 + 124..1024 + 136], b"00000000000\0");
        let last = EntryHeader { name: b"a.bin", size: FIRST_LARGE - 1, mtime: 5 };
        assert_eq!(last.header_bytes(), 512);
        assert_eq!(archive_bytes(9_216), 10_240);
        assert_eq!(archive_bytes(9_217), 20_480);
    }

    #[test]
    fn pax_record_length_includes_its_own_digits() {
        for length in [80, 89, 90, 91, 92, 93, 94, 990, 991] {
            let mut records = Vec::new();
            push_record(&mut records, b"path", &vec![b'n'; length]);
            let text = String::from_utf8(records.clone()).unwrap();
            assert_eq!(text.split(' ').next().unwrap().parse::<usize>().unwrap(), records.len());
        }
    }
}
