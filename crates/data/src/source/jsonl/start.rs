//! Detection of the encoding and compression of a JSONL file from its first bytes, before a line is read.

use gristmill_core::{Failure, Outcome};
use gristmill_storage::read::ReadFile;
use std::io;

/// Number of bytes that are examined.
const EXAMINED_BYTES: usize = 4096;

/// Kind of the beginning of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileStart {
    /// The file is empty.
    Empty,
    /// Text in UTF-8, unless a line proves otherwise later.
    Text,
    /// Text in UTF-16 or UTF-32; holds the encoding's name for `iconv`.
    Wide(&'static str),
    /// Compressed; holds the compression.
    Compressed(JsonlCompression),
}

/// A compression used for JSONL files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonlCompression {
    /// Name of the compression.
    pub name: &'static str,
    /// Command that decompresses a file and keeps the original.
    pub command: &'static str,
    /// Command that decompresses standard input to standard output.
    pub filter: &'static str,
    /// Usual suffix of the name.
    pub suffix: &'static str,
}

const PACKED: [(JsonlCompression, &[u8]); 7] = [
    (JsonlCompression { name: "gzip", command: "gzip -dk", filter: "gzip -dc", suffix: ".gz" }, b"\x1f\x8b"),
    (JsonlCompression { name: "zstd", command: "zstd -d", filter: "zstd -dc", suffix: ".zst" }, b"\x28\xb5\x2f\xfd"),
    (JsonlCompression { name: "bzip2", command: "bzip2 -dk", filter: "bzip2 -dc", suffix: ".bz2" }, b"BZh"),
    (JsonlCompression { name: "xz", command: "xz -dk", filter: "xz -dc", suffix: ".xz" }, b"\xfd7zXZ\0"),
    (JsonlCompression { name: "lz4", command: "lz4 -d", filter: "lz4 -dc", suffix: ".lz4" }, b"\x04\x22\x4d\x18"),
    (JsonlCompression { name: "lzma", command: "xz -dk", filter: "xz -dc", suffix: ".lzma" }, b"\x5d\0\0"),
    (JsonlCompression { name: "zip", command: "unzip", filter: "funzip", suffix: ".zip" }, b"PK\x03\x04"),
];

impl JsonlCompression {
    /// Returns the compression that the suffix of a name denotes.
    pub fn of_name(name: &[u8]) -> Option<Self> {
        PACKED.iter().map(|(packed, _)| *packed).find(|packed| name.ends_with(packed.suffix.as_bytes()))
    }
    fn of_bytes(start: &[u8]) -> Option<Self> {
        PACKED.iter().find(|(_, magic)| start.starts_with(magic)).map(|(packed, _)| *packed)
    }
}

/// Detects the kind from the first bytes of a file.
pub fn start_of(file: &ReadFile) -> Outcome<FileStart> {
    let mut start = [0; EXAMINED_BYTES];
    let mut filled = 0;
    while let Some(space) = start.get_mut(filled..).filter(|space| !space.is_empty()) {
        match file.read_at(space, filled as u64) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Failure::io("reading the lines", file.path(), &error)),
        }
    }
    Ok(classify(start.get(..filled).unwrap_or_default()))
}

fn classify(start: &[u8]) -> FileStart {
    if start.is_empty() {
        return FileStart::Empty;
    }
    if let Some(packed) = JsonlCompression::of_bytes(start) {
        return FileStart::Compressed(packed);
    }
    match start {
        [0xff, 0xfe, 0, 0, ..] | [_, 0, 0, 0, ..] if start.first() != Some(&0) => FileStart::Wide("UTF-32LE"),
        [0, 0, 0xfe, 0xff, ..] => FileStart::Wide("UTF-32BE"),
        [0xff, 0xfe, ..] => FileStart::Wide("UTF-16LE"),
        [0xfe, 0xff, ..] => FileStart::Wide("UTF-16BE"),
        [b'{' | b'[' | b' ' | b'\t' | b'\r' | b'\n', 0, second, 0, ..] if *second != 0 => FileStart::Wide("UTF-16LE"),
        [0, b'{' | b'[' | b' ' | b'\t' | b'\r' | b'\n', 0, second, ..] if *second != 0 => FileStart::Wide("UTF-16BE"),
        _ => FileStart::Text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_encodings_and_compressed_files_are_recognized_by_their_first_bytes() {
        let text = "{\"a\": 1}\n";
        let le: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let be: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        let wide: Vec<u8> = text.chars().flat_map(|c| (c as u32).to_le_bytes()).collect();
        for (bytes, start) in [
            (&b""[..], FileStart::Empty),
            (text.as_bytes(), FileStart::Text),
            (b"\xef\xbb\xbf{}", FileStart::Text),
            (b"\0\0\0\0", FileStart::Text),
            (b"\0", FileStart::Text),
            (&le, FileStart::Wide("UTF-16LE")),
            (&be, FileStart::Wide("UTF-16BE")),
            (&[&b"\xff\xfe"[..], &le].concat(), FileStart::Wide("UTF-16LE")),
            (&[&b"\xfe\xff"[..], &be].concat(), FileStart::Wide("UTF-16BE")),
            (&wide, FileStart::Wide("UTF-32LE")),
            (&[&b"\xff\xfe\0\0"[..], &wide].concat(), FileStart::Wide("UTF-32LE")),
        ] {
            assert_eq!(classify(bytes), start, "{bytes:?}");
        }
        let FileStart::Compressed(packed) = classify(b"\x1f\x8b\x08\0") else { panic!("not recognised") };
        assert_eq!((packed.name, packed.command), ("gzip", "gzip -dk"));
        for (magic, name) in [
            (&b"\x28\xb5\x2f\xfd.."[..], "zstd"),
            (b"BZh91AY", "bzip2"),
            (b"\xfd7zXZ\0", "xz"),
            (b"\x5d\0\0\x80\0", "lzma"),
            (b"PK\x03\x04", "zip"),
        ] {
            assert!(matches!(classify(magic), FileStart::Compressed(packed) if packed.name == name));
        }
    }

    #[test]
    fn compression_is_recognized_by_file_name() {
        assert_eq!(JsonlCompression::of_name(b"a.jsonl.gz").unwrap().name, "gzip");
        assert_eq!(JsonlCompression::of_name(b"a.jsonl.zst").unwrap().name, "zstd");
        assert_eq!(JsonlCompression::of_name(b"a.jsonl"), None);
    }
}
