use super::*;
use crate::av;
use gristmill_core::Cancel;
use gristmill_data::formats::energon::media_json::to_json;
use std::collections::BTreeMap;
use std::path::Path;

/// Compares every file of a folder with the reference program: `expected.json` maps names to a row of JSON, or to `null`.
pub(crate) fn compare_with_the_peer(family: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/media").join(family);
    let expected = std::fs::read(folder.join("expected.json")).unwrap();
    let expected: BTreeMap<String, Option<String>> = serde_json::from_slice(&expected).unwrap();
    assert!(expected.len() > 40);
    for (name, expected) in expected {
        let bytes = std::fs::read(folder.join(&name)).unwrap();
        let found = av::probe(&mut Reader::new(&bytes.as_slice(), &Cancel::default()));
        assert_eq!(found.as_ref().ok().map(|found| to_json(&found.facts)), expected, "{name}: {found:?}");
    }
}

#[test]
fn mpeg_audio_values_equal_those_of_the_reference_program() {
    compare_with_the_peer("mpeg_audio");
}

fn probe_bytes(bytes: &[u8]) -> Result<AvProbeResult, ProbeError> {
    probe(&mut Reader::new(&bytes, &Cancel::default()))
}

/// A silent frame of layer III, 64 kbit/s, 44.1 kHz, stereo.
fn silence() -> Vec<u8> {
    let mut frame = vec![0xff, 0xfb, 0x50, 0];
    frame.resize(208, 0);
    frame
}

#[test]
fn large_id3_tag_is_skipped_without_reading() {
    let mut bytes = b"ID3\x03\0\0\x04\x62\x5a\0".to_vec();
    bytes.resize(10 + (0x04 << 21 | 0x62 << 14 | 0x5a << 7), 0);
    bytes.extend(silence().repeat(10));
    let source = bytes.as_slice();
    let cancel = Cancel::default();
    let mut reader = Reader::new(&source, &cancel);
    let facts = probe(&mut reader).unwrap().facts;
    assert_eq!(facts.audio_num_samples, Some(11_520));
    assert!(reader.bytes_read() < 200_000, "{}", reader.bytes_read());
}

#[test]
fn cut_mpeg_audio_frame_is_counted_with_a_remark() {
    let bytes = silence().repeat(10);
    let found = probe_bytes(&bytes[..bytes.len() - 50]).unwrap();
    assert_eq!(found.facts.audio_num_samples, Some(11_520));
    assert_eq!(found.remarks, ["its last frame is cut short (byte 1872)"]);
}

#[test]
fn bytes_between_mpeg_audio_frames_are_reported_with_their_offset() {
    let bytes = [silence().repeat(5), b"what is this?".to_vec(), silence().repeat(5)].concat();
    let error = probe_bytes(&bytes).unwrap_err();
    assert!(matches!(error, ProbeError::Broken { at: 1040, .. }), "{error}");
}
