use super::*;
use crate::model::Cancel;

fn probed(bytes: &[u8]) -> Result<Probed, ProbeError> {
    probe(&mut Reader::new(&bytes, &Cancel::default()))
}

#[test]
fn what_is_no_picture_is_told_apart_from_what_is_broken() {
    for bytes in [&b""[..], b"x", b"hello, this is text", b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n"] {
        assert!(matches!(probed(bytes), Err(ProbeError::NotMedia(_))), "{}", bytes.escape_ascii());
    }
    let cut = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\x01";
    assert!(matches!(probed(cut), Err(ProbeError::Broken { .. })));
}
