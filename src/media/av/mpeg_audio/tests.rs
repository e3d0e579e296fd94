use crate::formats::energon::media_json::to_json;
use crate::media::av;
use crate::model::Cancel;
use std::path::Path;

/// For figures against a corpus that is not kept: every file of a folder against its `expected.json`.
#[test]
#[ignore = "needs GRISTMILL_CORPUS"]
fn corpus() {
    let Ok(folder) = std::env::var("GRISTMILL_CORPUS") else { return };
    let folder = Path::new(&folder);
    let expected: std::collections::BTreeMap<String, Option<String>> =
        serde_json::from_slice(&std::fs::read(folder.join("expected.json")).unwrap()).unwrap();
    let mut wrong = 0;
    for (name, expected) in &expected {
        let bytes = std::fs::read(folder.join(name)).unwrap();
        let source = bytes.as_slice();
        let cancel = Cancel::default();
        let found = av::probe(&mut crate::media::Reader::new(&source, &cancel));
        let json = found.as_ref().ok().map(|found| to_json(&found.facts));
        if json != *expected {
            wrong += 1;
            println!("{name}\n  ours {json:?} {:?}\n  peer {expected:?}", found.err().map(|e| e.to_string()));
        }
    }
    println!("{wrong} of {} differ", expected.len());
}
