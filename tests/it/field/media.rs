//! Media with misleading headers: sound that starts late, oversized texts in pictures.

use super::*;
use std::io::Write as _;

const PLAIN: &str = "--media-metadata-by-extension --json";

/// Returns the value of a key in each media row of the current folder.
fn values(sandbox: &Sandbox, key: &str) -> Vec<(String, Value)> {
    let rows = sandbox.media_rows(".").into_iter();
    rows.map(|(name, json)| (name, serde_json::from_str::<Value>(&json).unwrap()[key].clone())).collect()
}

#[test]
fn opus_in_matroska_is_cut_by_the_pre_skip_of_its_own_header() {
    let sandbox = case("M05");
    is_clean(&sandbox.say(&format!("prepare-media . {PLAIN}")));
    let counts = values(&sandbox, "audio_num_samples");
    assert_eq!(counts.len(), 11);
    for (name, count) in counts {
        assert_eq!(count, if name == "both_16000.webm" { 95_040 } else { 96_000 }, "{name}");
    }
}

/// A change of the codec header alone, to a pre-skip that differs from the CodecDelay, changes the count.
#[test]
fn opus_pre_skip_is_subtracted_independently_of_channels_and_delay() {
    let sandbox = Sandbox::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/field/M05");
    let original = std::fs::read(folder.join("sound_16000.webm")).unwrap();
    let head = memchr::memmem::find(&original, b"OpusHead").unwrap();
    let mut changed = original.clone();
    // Two channels, and a pre-skip of 1000.
    changed[head + 9] = 2;
    changed[head + 10..head + 12].copy_from_slice(&1000u16.to_le_bytes());
    sandbox.write("a.webm", &changed);
    changed[head + 10..head + 12].copy_from_slice(&0u16.to_le_bytes());
    sandbox.write("b.webm", &changed);
    is_clean(&sandbox.say(&format!("prepare-media . {PLAIN}")));
    let counts = values(&sandbox, "audio_num_samples");
    assert_eq!(counts, [("a.webm".to_owned(), 95_312.into()), ("b.webm".to_owned(), 96_312.into())]);
}

#[test]
fn oversized_compressed_png_text_is_a_problem_with_decode() {
    let sandbox = case("M14");
    let report = sandbox.say(&format!("prepare-media . {PLAIN} --decode")).ends(1).json("problems");
    let problems = entries(&report, "problem");
    names(&problems, &["long_text.png", "zTXt", "1 MiB"]);
    assert!(!report["problems"].to_string().contains("short_text.png"), "{report:#}");
    assert_eq!(sandbox.media_rows(".").len(), 2);
}

/// Returns a chunk of a PNG picture.
fn chunk(kind: &[u8; 4], content: &[u8]) -> Vec<u8> {
    let mut crc = flate2::Crc::new();
    crc.update(kind);
    crc.update(content);
    let len = u32::try_from(content.len()).unwrap();
    [&len.to_be_bytes()[..], kind, content, &crc.sum().to_be_bytes()].concat()
}

fn zlib(bytes: usize) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(&vec![b'a'; bytes]).unwrap();
    encoder.finish().unwrap()
}

/// Returns a picture with chunks before and after its pixels.
fn picture(before: &[Vec<u8>], after: &[Vec<u8>]) -> Vec<u8> {
    let plain = Sandbox::png(3, 2);
    let (head, end) = (8 + 25, plain.len() - 12);
    [&plain[..head], &before.concat(), &plain[head..end], &after.concat(), &plain[end..]].concat()
}

#[test]
fn png_text_limits_equal_those_of_pillow() {
    const MIB: usize = 1 << 20;
    let text = |len: usize| chunk(b"zTXt", &[b"Comment\0\0", zlib(len).as_slice()].concat());
    let international = |len: usize| chunk(b"iTXt", &[b"Title\0\x01\0en\0\0", zlib(len).as_slice()].concat());
    let profile = |len: usize| chunk(b"iCCP", &[b"icc\0\0", zlib(len).as_slice()].concat());
    let plain = |len: usize| chunk(b"tEXt", &[b"Comment\0", vec![b'a'; len].as_slice()].concat());
    let wide = |count: usize| chunk(b"iTXt", &[b"Title\0\0\0en\0\0", "é".repeat(count).as_bytes()].concat());
    let damaged = chunk(b"zTXt", b"Comment\0\0no zlib");
    let sandbox = Sandbox::new();
    for (name, before, after) in [
        ("good_exact", vec![text(MIB), international(MIB), profile(MIB)], vec![text(MIB)]),
        ("good_damaged", vec![damaged], vec![]),
        ("good_sum", vec![plain(63 * MIB)], vec![text(MIB)]),
        ("good_characters", vec![wide(40 * MIB)], vec![]),
        ("bad_text", vec![text(MIB + 1)], vec![]),
        ("bad_international", vec![international(MIB + 1)], vec![]),
        ("bad_profile", vec![profile(MIB + 1)], vec![]),
        ("bad_after", vec![], vec![text(3 * MIB)]),
        ("bad_sum", vec![plain(63 * MIB)], vec![text(MIB), text(1)]),
        ("bad_plain_after", vec![], vec![plain(64 * MIB + 1)]),
    ] {
        sandbox.write(&format!("m/{name}.png"), picture(&before, &after));
    }
    let report = sandbox.say(&format!("prepare-media m {PLAIN} --decode")).ends(1).json("problems");
    let problems = report["problems"].to_string();
    names(&problems, &["bad_text", "bad_international", "bad_profile", "bad_after", "bad_sum", "bad_plain_after"]);
    names(&problems, &["zTXt", "iTXt", "iCCP", "64 MiB"]);
    assert!(!problems.contains("good"), "{problems}");
    assert_eq!(report["problems"].as_array().unwrap().len(), 6, "{report:#}");
    assert_eq!(sandbox.media_rows("m").len(), 10);
}
