//! Compares blocks of every compression, size and position with their text.

use super::*;
use gristmill_core::{Cancel, FileStamp};
use gristmill_storage::fs::RealFs;
use gristmill_storage::publish::write_file;
use gristmill_storage::read::open_read;
use proptest::prelude::*;
use std::io::Write as _;
use std::path::Path;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd_of(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
    encoder.include_checksum(true).unwrap();
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn bzip2_of(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn xz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 1);
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn lzma(bytes: &[u8]) -> Vec<u8> {
    let options = liblzma::stream::LzmaOptions::new_preset(1).unwrap();
    let stream = liblzma::stream::Stream::new_lzma_encoder(&options).unwrap();
    let mut encoder = liblzma::write::XzEncoder::new_stream(Vec::new(), stream);
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Builds a zip archive with one member whose sizes and checksum are stored before the member, or after it.
fn zip(bytes: &[u8], has_trailing_sizes: bool) -> Vec<u8> {
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    let packed = encoder.finish().unwrap();
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    let word = |word: u32| if has_trailing_sizes { [0; 4] } else { word.to_le_bytes() };
    let mut out = b"PK\x03\x04\x14\0".to_vec();
    out.extend(if has_trailing_sizes { [8, 0] } else { [0, 0] });
    out.extend([8, 0, 0, 0, 0, 0]);
    out.extend(word(crc.sum()));
    out.extend(word(packed.len() as u32));
    out.extend(word(bytes.len() as u32));
    out.extend([5, 0, 0, 0]);
    out.extend(b"a.txt");
    out.extend(packed);
    if has_trailing_sizes {
        out.extend(b"PK\x07\x08");
        out.extend(crc.sum().to_le_bytes());
        out.extend([0; 8]);
    }
    out.extend(b"PK\x01\x02 and so on");
    out
}

fn file(folder: &Path, name: &str, bytes: &[u8]) -> TextFile {
    let path = folder.join(name);
    write_file(&RealFs, &path, bytes, 0o644).unwrap();
    let packing = Packing::of(&open_read(&path).unwrap()).unwrap();
    TextFile {
        bytes: bytes.len() as u64,
        name: name.to_owned(),
        stamp: FileStamp::default(),
        packing,
        path,
        source: &crate::source::documents::Jsonl,
        rows: None,
        damaged: Vec::new(),
    }
}

type ReadLines = Vec<(u64, u64, Vec<u8>, bool)>;

/// Reads every line with its number, its offset and whether it ends with `\n`, and the damage of the blocks.
fn read(file: &TextFile, size: usize, from: Position) -> (ReadLines, Option<Damage>) {
    let mut blocks = Blocks::open(file, size, from, &Cancel::default()).unwrap();
    let mut seen = Vec::new();
    let mut spare = Vec::new();
    while let Some(block) = blocks.next(spare).unwrap() {
        seen.extend(block.lines().map(|line| (line.number, line.start, line.bytes.to_vec(), line.is_ended)));
        assert_eq!(block.count_lines(), block.lines().count() as u64);
        assert_eq!(blocks.position().offset, block.end);
        spare = block.bytes;
    }
    (seen, blocks.damage().cloned())
}

fn expected_lines(text: &[u8]) -> ReadLines {
    let mut at = 0;
    let pieces = text.split_inclusive(|byte| *byte == b'\n').enumerate();
    pieces
        .map(|(number, piece)| {
            let start = at;
            at += piece.len() as u64;
            let line = piece.strip_suffix(b"\n").unwrap_or(piece);
            (number as u64, start, line.to_vec(), line.len() < piece.len())
        })
        .collect()
}

#[test]
fn every_compression_is_recognized_and_read_to_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let text: Vec<u8> = (0..5000).flat_map(|n| format!("{{\"n\": {n}}}\n").into_bytes()).collect();
    let (one, two) = text.split_at(30_000);
    let both = |pack: fn(&[u8]) -> Vec<u8>| [pack(one), pack(two)].concat();
    for (name, bytes, packing) in [
        ("plain.jsonl", text.clone(), Packing::Plain),
        ("two members.gz", both(gzip), Packing::Gzip),
        ("misnamed.txt", gzip(&text), Packing::Gzip),
        ("two frames.zst", both(zstd_of), Packing::Zstd),
        ("skippable.zst", [&b"\x50\x2a\x4d\x18\x04\0\0\0abcd"[..], &zstd_of(&text)].concat(), Packing::Zstd),
        ("two streams.bz2", both(bzip2_of), Packing::Bzip2),
        ("two streams.xz", both(xz), Packing::Xz),
        ("old.lzma", lzma(&text), Packing::Lzma),
        ("front.zip", zip(&text, false), Packing::Zip),
        ("behind.zip", zip(&text, true), Packing::Zip),
    ] {
        let file = file(folder.path(), name, &bytes);
        assert_eq!(file.packing, packing, "{name}");
        let (seen, damage) = read(&file, 4096, Position::default());
        assert_eq!((seen, damage), (expected_lines(&text), None), "{name}");
        // Resumes at a position inside the file.
        let (seen, _) = read(&file, 4096, Position { offset: 9, line: 1 });
        assert_eq!(seen[0], expected_lines(&text)[1], "{name}");
    }
    assert_eq!(read(&file(folder.path(), "empty.gz", b""), 10, Position::default()), (vec![], None));
}

#[test]
fn cut_or_damaged_stream_gives_whole_lines_and_the_place_of_the_damage() {
    let folder = tempfile::tempdir().unwrap();
    // The text is hardly compressible, so that most of it is after the cut.
    let line = |n: u64| format!("{{\"n\": {}}}\n", xxhash_rust::xxh3::xxh3_64(&n.to_le_bytes())).into_bytes();
    let text: Vec<u8> = (0..20_000).flat_map(line).collect();
    let packers: [(&str, Vec<u8>); 6] = [
        ("a.gz", gzip(&text)),
        ("a.zst", zstd_of(&text)),
        ("a.bz2", bzip2_of(&text)),
        ("a.xz", xz(&text)),
        ("a.zip", zip(&text, false)),
        ("b.zip", zip(&text, true)),
    ];
    for (name, whole) in packers {
        let cut = whole.get(..whole.len() * 9 / 10).unwrap();
        let mut flipped = whole.clone();
        let middle = flipped.len() / 2;
        flipped[middle..middle + 64].fill(0x55);
        for (what, bytes) in [("cut", cut), ("damaged", &flipped[..])] {
            let file = file(folder.path(), name, bytes);
            let (seen, damage) = read(&file, 10_000, Position::default());
            let damage = damage.unwrap_or_else(|| panic!("{name} {what}"));
            let wanted = expected_lines(&text);
            if what == "cut" {
                assert_eq!(seen, wanted[..seen.len()], "{name} {what}");
                assert!(seen.len() > 1000, "{name}: {}", seen.len());
            }
            assert_eq!(damage.at.line, seen.len() as u64, "{name} {what}");
            let problem = damage.problem(&file);
            assert!(problem.message.contains("cannot be read past"), "{}", problem.message);
        }
    }
}

#[test]
fn compression_bomb_is_refused_with_its_ratio() {
    let folder = tempfile::tempdir().unwrap();
    let packed = zstd_of(&vec![b'\n'; 100 << 20]);
    let file = file(folder.path(), "bomb.zst", &packed);
    let mut blocks = Blocks::open(&file, 1 << 20, Position::default(), &Cancel::default()).unwrap();
    let mut total = 0;
    let mut spare = Vec::new();
    while let Some(block) = blocks.next(spare).unwrap() {
        total += block.bytes.len();
        spare = block.bytes;
    }
    assert!(total < 80 << 20);
    assert!(blocks.damage().unwrap().why.contains("1000 times"));
}

#[test]
fn too_long_line_is_reported_with_its_length_and_other_lines_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let long = MAX_LINE_BYTES + 100;
    let mut text = b"first\n".to_vec();
    text.resize(text.len() + long, b'x');
    text.extend(b"\nlast\n");
    let file = file(folder.path(), "long.jsonl", &text);
    let open = open_read(&file.path).unwrap();
    let from_units = || {
        plain_units(file.bytes, 20 << 20)
            .into_iter()
            .map(|unit| read_unit(&open, unit, Vec::new(), &Cancel::default()).unwrap())
    };
    let from_blocks = || {
        let mut blocks = Blocks::open(&file, 1 << 20, Position::default(), &Cancel::default()).unwrap();
        std::iter::from_fn(move || blocks.next(Vec::new()).unwrap())
    };
    for blocks in [from_units().collect::<Vec<_>>(), from_blocks().collect()] {
        let lines: Vec<(u64, u64, bool)> = blocks
            .iter()
            .flat_map(|block| block.lines().map(|line| (line.start, line.len, line.is_overlong())).collect::<Vec<_>>())
            .collect();
        assert_eq!(lines, [(0, 5, false), (6, long as u64, true), (7 + long as u64, 4, false)]);
    }
    // The same line at the end of the file, without `\n`.
    let file = super::TextFile { bytes: 6 + long as u64, ..file };
    write_file(&RealFs, &file.path, &text[..6 + long], 0o644).unwrap();
    let mut blocks = Blocks::open(&file, 1 << 20, Position::default(), &Cancel::default()).unwrap();
    let mut last = None;
    while let Some(block) = blocks.next(Vec::new()).unwrap() {
        last = block.lines().last().map(|line| (line.number, line.len, line.is_ended));
    }
    assert_eq!((last, blocks.position().offset), (Some((1, long as u64, false)), file.bytes));
    let open = open_read(&file.path).unwrap();
    let last = read_unit(&open, plain_units(file.bytes, 1 << 30)[0], Vec::new(), &Cancel::default()).unwrap();
    assert_eq!(last.lines().last().map(|line| (line.len, line.is_ended)), Some((long as u64, false)));
    assert_eq!(last.end, file.bytes);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn lines_do_not_depend_on_block_and_unit_sizes(text in "[a\n]{0,300}", size in 1usize..80, unit in 1u64..80) {
        let folder = tempfile::tempdir().unwrap();
        let file = file(folder.path(), "a.jsonl", text.as_bytes());
        let (seen, damage) = read(&file, size, Position::default());
        prop_assert_eq!(&seen, &expected_lines(text.as_bytes()));
        prop_assert_eq!(damage, None);
        let open = open_read(&file.path).unwrap();
        let mut from_units: ReadLines = Vec::new();
        let mut first = 0;
        let mut end = 0;
        for unit in plain_units(file.bytes, unit) {
            let block = read_unit(&open, unit, vec![1, 2, 3], &Cancel::default()).unwrap();
            if !block.bytes.is_empty() {
                prop_assert_eq!(block.start, end);
                end = block.end;
            }
            from_units.extend(block.lines().map(|line| (first + line.number, line.start, line.bytes.to_vec(), line.is_ended)));
            first += block.count_lines();
        }
        prop_assert_eq!(from_units, seen);
        prop_assert_eq!(end, file.bytes);
    }
}

#[test]
fn compression_ratio_is_estimated_from_the_beginning_of_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let mut state = 7_u64;
    let mut letter = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        if state >> 60 == 0 {
            b'\n'
        } else {
            b'a' + (state >> 58) as u8 % 12
        }
    };
    let text: Vec<u8> = (0..6 << 20).map(|_| letter()).collect();
    for long in [text.len(), 40_000, 3] {
        let text = &text[..long];
        for (name, packed) in [
            ("a.gz", gzip(text)),
            ("a.zst", zstd_of(text)),
            ("a.bz2", bzip2_of(text)),
            ("a.xz", xz(text)),
            ("a.txt", text.to_vec()),
        ] {
            let file = file(dir.path(), name, &packed);
            let (taken, given) = unpacked_share(&file, 1 << 20).unwrap();
            let share = taken as f64 / given as f64;
            let wanted = packed.len() as f64 / long as f64;
            let near = if long > 100_000 { 0.08 } else { 1e-9 };
            assert!((share / wanted - 1.0).abs() <= near, "{name} {long}: {share} {wanted}");
        }
    }
    let nothing = file(dir.path(), "nothing.gz", &gzip(b""));
    assert_eq!(unpacked_share(&nothing, 1 << 20).unwrap(), (nothing.bytes, 0));
    let mut broken = file(dir.path(), "broken", &zstd_of(&text));
    broken.packing = Packing::Gzip;
    assert_eq!(unpacked_share(&broken, 1 << 20).unwrap().1, 0, "what cannot be unpacked gives nothing");
    // Equal lines decompress to far more than is read, so decompression stops at a limit.
    let equal = file(dir.path(), "equal.zst", &zstd_of(&vec![b'\n'; 80 << 20]));
    assert!(unpacked_share(&equal, 1 << 10).unwrap().1 < 1 << 20);
}
