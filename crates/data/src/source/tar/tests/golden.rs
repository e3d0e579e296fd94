use super::*;
use std::collections::BTreeMap;
use std::path::PathBuf;

fn case(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/energon").join(name)
}

/// Splits one CSV line into cells; the dumps quote where needed.
fn cells(line: &str) -> Vec<String> {
    let mut out = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => out.push(String::new()),
            c => out.last_mut().unwrap().push(c),
        }
    }
    out
}

fn rows(path: &Path) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().skip(1).map(cells).collect()
}

fn check_case(name: &str) {
    let dump = case(name).join("expected/dump");
    let info: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(case(name).join("expected/.nv-meta/.info.json")).unwrap())
            .unwrap();
    let shards: Vec<String> = info["shard_counts"].as_object().unwrap().keys().cloned().collect();
    let (mut samples, mut parts, mut ends) = (Vec::new(), Vec::new(), BTreeMap::new());
    for (id, shard) in shards.iter().enumerate() {
        let found = scan_path(&case(name).join("input").join(shard));
        assert_eq!(found.damage(), [], "{shard}");
        assert!(found.scan.damaged_keys.is_empty());
        let mut idx = Vec::new();
        for (n, sample) in found.samples.iter().enumerate() {
            let key = sample.key.clone().unwrap();
            samples.push(vec![id.to_string(), key, n.to_string(), sample.offset.to_string(), sample.size.to_string()]);
            idx.push(sample.offset.to_string());
            for (part, at, size) in &sample.parts {
                parts.push(vec![id.to_string(), n.to_string(), part.clone(), at.to_string(), size.to_string()]);
            }
        }
        idx.push(found.scan.end_offset.to_string());
        ends.insert(shard.strip_suffix(".tar").unwrap().to_owned() + ".tar.idx", idx.join(" "));
    }
    assert_eq!(samples, rows(&dump.join("samples.csv")));
    assert_eq!(parts, rows(&dump.join("sample_parts.csv")));
    let expected: BTreeMap<_, _> =
        rows(&dump.join("idx.csv")).into_iter().map(|r| (r[0].clone(), r[1].clone())).collect();
    assert_eq!(ends, expected);
}

#[test]
fn captioned_pictures_are_indexed_as_the_reference_does() {
    check_case("captioning_fieldmap");
}

#[test]
fn presplit_folders_are_indexed_as_the_reference_does() {
    check_case("presplit_folders");
}

#[test]
fn unusual_names_are_indexed_as_the_reference_does() {
    check_case("odd_names");
}
