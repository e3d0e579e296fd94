//! Detection of the encoding and compression of a JSONL file from its first bytes, before a line is read.

use crate::source::documents::packing::first_bytes;
use crate::source::documents::Compression;
use gristmill_core::Outcome;
use gristmill_storage::read::ReadFile;

/// Kind of the beginning of a file.
#[derive(Clone, Copy, Debug)]
pub enum FileStart {
    /// The file is empty.
    Empty,
    /// Text in UTF-8, unless a line proves otherwise later.
    Text,
    /// Text in UTF-16 or UTF-32; holds the encoding's name for `iconv`.
    Wide(&'static str),
    /// Compressed; holds the compression.
    Compressed(&'static Compression),
}

/// Detects the kind from the first bytes of a file.
pub fn start_of(file: &ReadFile) -> Outcome<FileStart> {
    Ok(classify(&first_bytes(file, "reading the lines")?))
}

fn classify(start: &[u8]) -> FileStart {
    if start.is_empty() {
        return FileStart::Empty;
    }
    if let Some(packed) = Compression::of_start(start) {
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
            assert_eq!(format!("{:?}", classify(bytes)), format!("{start:?}"), "{bytes:?}");
        }
        for (magic, name) in [
            (&b"\x1f\x8b\x08\0"[..], "gzip"),
            (b"\x28\xb5\x2f\xfd..", "zstd"),
            (b"\x50\x2a\x4d\x18", "zstd"),
            (b"BZh91AY&SY", "bzip2"),
            (b"\xfd7zXZ\0", "xz"),
            (b"\x5d\0\0\x80\0", "lzma"),
            (b"PK\x03\x04", "zip"),
            (b"\x04\x22\x4d\x18", "lz4"),
        ] {
            assert!(matches!(classify(magic), FileStart::Compressed(packed) if packed.name == name), "{name}");
        }
        assert!(matches!(classify(b"BZh9 is text"), FileStart::Text));
    }
}
