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

/// The pictures of a folder against what Pillow says of them: `expected.json` maps names to a row of JSON, to `null` (no
/// picture), or to `{"raises": …}` (Pillow fails). The folder may be another one: `GRISTMILL_IMAGE_CORPUS`.
#[test]
fn facts_are_those_of_pillow() {
    let own = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/media/images");
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
            // A header may be good all the same; then something has to be said.
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
