use super::*;
use gristmill_core::Cancel;

fn probed(bytes: &[u8]) -> Result<ProbeResult, ProbeError> {
    probe(&mut Reader::new(&bytes, &Cancel::default()))
}

#[test]
fn bytes_without_a_picture_and_broken_pictures_are_distinguished() {
    for bytes in [&b""[..], b"x", b"hello, this is text", b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n"] {
        assert!(matches!(probed(bytes), Err(ProbeError::NotMedia(_))), "{}", bytes.escape_ascii());
    }
    let cut = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\x01";
    assert!(matches!(probed(cut), Err(ProbeError::Broken { .. })));
}

/// Builds a PNG chunk.
fn chunk(kind: &[u8; 4], content: &[u8]) -> Vec<u8> {
    let mut crc = flate2::Crc::new();
    crc.update(kind);
    crc.update(content);
    let mut bytes = (content.len() as u32).to_be_bytes().to_vec();
    bytes.extend_from_slice(kind);
    bytes.extend_from_slice(content);
    bytes.extend_from_slice(&crc.sum().to_be_bytes());
    bytes
}

fn png(width: u32, height: u32, before_data: &[u8]) -> Vec<u8> {
    let mut header = [width.to_be_bytes(), height.to_be_bytes()].concat();
    header.extend_from_slice(&[8, 2, 0, 0, 0]);
    let end = chunk(b"IEND", b"");
    [b"\x89PNG\r\n\x1a\n", chunk(b"IHDR", &header).as_slice(), before_data, &chunk(b"IDAT", b"x"), &end].concat()
}

/// Builds a JPEG image from the segments before its frame header and the number of bytes of coded data.
fn jpeg(before: &[u8], codes: usize) -> Vec<u8> {
    let frame = b"\xff\xc0\0\x11\x08\0\x30\0\x40\x03\x01\x22\0\x02\x11\x01\x03\x11\x01";
    let scan = b"\xff\xda\0\x0c\x03\x01\0\x02\x11\x03\x11\0\x3f\0";
    let tables: Vec<u8> =
        (0..2).flat_map(|number| [&[0xff, 0xdb, 0, 67, number], [1; 64].as_slice()].concat()).collect();
    [b"\xff\xd8", before, &tables, frame, scan, &vec![0x55; codes], b"\xff\xd9"].concat()
}

fn facts(bytes: &[u8]) -> (ImageFacts, Vec<String>, u64) {
    let cancel = Cancel::default();
    let mut reader = Reader::new(&bytes, &cancel);
    let probed = probe(&mut reader).unwrap();
    let MediaFacts::Image(facts) = probed.facts else { panic!("{:?}", probed.facts) };
    (facts, probed.remarks, reader.bytes_read())
}

#[test]
fn only_the_header_of_a_huge_picture_is_read_with_a_remark() {
    let (facts, remarks, read) = facts(&png(30_000, 30_000, b""));
    assert_eq!((facts.width, facts.height, facts.format, facts.mode), (30_000, 30_000, "PNG", "RGB"));
    assert!(remarks.iter().any(|remark| remark.contains("pixels")), "{remarks:?}");
    assert!(read < 1000, "{read}");
}

#[test]
fn jpeg_facts_need_one_small_read_and_the_end_of_the_file() {
    let (facts, remarks, read) = facts(&jpeg(b"", 200_000));
    assert_eq!((facts.width, facts.height, facts.mode), (64, 48, "RGB"));
    assert!(remarks.is_empty(), "{remarks:?}");
    assert_eq!(read, 4096 + 1024);
}

#[test]
fn large_jpeg_segments_before_the_frame_header_are_skipped() {
    let segment = [b"\xff\xe1\xff\xff".as_slice(), &[b'x'; 65_533]].concat();
    let (_, remarks, read) = facts(&jpeg(&segment.repeat(20), 2_000_000));
    assert!(remarks.is_empty(), "{remarks:?}");
    assert!(read < 21 * (32 << 10) + 8192, "{read}");
}

#[test]
fn cut_picture_keeps_its_facts_and_has_a_remark() {
    let whole = jpeg(b"", 5000);
    let (facts, remarks, _) = facts(&whole[..4000]);
    assert_eq!(facts.format, "JPEG");
    assert!(remarks[0].contains("cut short"), "{remarks:?}");
    let cut = check(&mut Reader::new(&&whole[..4000], &Cancel::default()), &facts);
    assert!(matches!(cut, Err(ProbeError::Broken { at: 4000, .. })), "{cut:?}");
}

#[test]
fn png_with_wrong_checksum_before_the_data_is_not_media() {
    let mut text = chunk(b"tEXt", b"a\0b");
    assert!(probed(&png(3, 3, &text)).is_ok());
    text[9] ^= 1;
    assert!(matches!(probed(&png(3, 3, &text)), Err(ProbeError::NotMedia(_))));
}

#[test]
fn cancelled_picture_probe_fails_as_cancelled() {
    let (bytes, cancel) = (png(3, 3, b""), Cancel::default());
    cancel.cancel();
    assert!(matches!(probe(&mut Reader::new(&bytes.as_slice(), &cancel)), Err(ProbeError::Cancelled)));
}

/// Compares the facts of a folder's images with those of Pillow: `expected.json` maps names to a row of JSON, to `null` (not an image), or
/// to `{"raises": …}` (Pillow fails). `GRISTMILL_IMAGE_CORPUS` selects another folder.
#[test]
fn picture_facts_match_pillow() {
    let own = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/media/images");
    let folder = std::env::var("GRISTMILL_IMAGE_CORPUS").unwrap_or_else(|_| own.to_owned());
    let folder = std::path::Path::new(&folder);
    let expected = std::fs::read_to_string(folder.join("expected.json")).unwrap();
    let expected: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&expected).unwrap();
    let mut wrong = Vec::new();
    for (name, wanted) in &expected {
        let bytes = std::fs::read(folder.join(name)).unwrap();
        let got = probed(&bytes);
        let row = got.as_ref().ok().map(|probed| serde_json::to_string(&probed.facts).unwrap());
        let right = match wanted {
            serde_json::Value::String(wanted) => row.as_deref() == Some(wanted.as_str()),
            serde_json::Value::Null => matches!(got, Err(ProbeError::NotMedia(_))),
            // The header may still be valid; then a remark is required.
            _ => match &got {
                Ok(probed) => std::env::var_os("GRISTMILL_IMAGE_CORPUS").is_none() || !probed.remarks.is_empty(),
                Err(ProbeError::Broken { .. }) => true,
                Err(_) => false,
            },
        };
        if !right {
            wrong.push(format!("{name}: wanted {wanted}, got {got:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), expected.len(), wrong.join("\n"));
}
