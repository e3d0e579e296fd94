use super::super::probe;
use super::*;
use gristmill_core::{Cancel, MediaFacts};

/// Compares the check with Pillow: it must accept the images that Pillow loads, and refuse those that Pillow does not load. The images and
/// Pillow's results are those of the header tests.
#[test]
fn image_check_accepts_the_pictures_that_pillow_loads() {
    let own = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/media/images");
    let folder = std::env::var("GRISTMILL_IMAGE_CORPUS").unwrap_or_else(|_| own.to_owned());
    let folder = std::path::Path::new(&folder);
    let expected = std::fs::read_to_string(folder.join("expected.json")).unwrap();
    let expected: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&expected).unwrap();
    let mut wrong = Vec::new();
    for (name, wanted) in &expected {
        let bytes = std::fs::read(folder.join(name)).unwrap();
        let (source, cancel) = (bytes.as_slice(), Cancel::default());
        let mut reader = Reader::new(&source, &cancel);
        let checked = probe(&mut reader).and_then(|probed| {
            let MediaFacts::Image(facts) = &probed.facts else { panic!("{name}") };
            check(&mut reader, facts)
        });
        if checked.is_ok() != wanted.is_string() {
            wrong.push(format!("{name}: wanted {wanted}, got {checked:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), expected.len(), wrong.join("\n"));
}
