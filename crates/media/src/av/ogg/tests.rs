use super::*;
use crate::av::mpeg_audio::tests::compare_with_the_peer;
use gristmill_core::Cancel;

#[test]
fn ogg_values_equal_those_of_the_reference_program() {
    compare_with_the_peer("ogg");
}

#[test]
fn missing_last_ogg_page_is_remarked_on() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/media/ogg/e_o_noeos.ogg");
    let bytes = std::fs::read(path).unwrap();
    let found = probe(&mut Reader::new(&bytes.as_slice(), &Cancel::default())).unwrap();
    assert!(found.remarks.iter().any(|remark| remark.starts_with("its last page is missing")), "{:?}", found.remarks);
}

#[test]
fn only_ogg_pages_of_version_0_are_recognized() {
    assert!(matches(b"OggS\0\x02rest"));
    assert!(!matches(b"OggS\x01\x02rest"));
    assert!(!matches(b"OggS"));
}

#[test]
fn ogg_file_of_short_pages_is_read_at_most_twice() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/media/ogg/o_8000_1.ogg");
    let one = std::fs::read(path).unwrap();
    let bytes = one.repeat(200);
    let source = bytes.as_slice();
    let cancel = Cancel::default();
    let mut reader = Reader::new(&source, &cancel);
    probe(&mut reader).unwrap();
    assert!(reader.bytes_read() < 2 * reader.len(), "{} of {}", reader.bytes_read(), reader.len());
}
