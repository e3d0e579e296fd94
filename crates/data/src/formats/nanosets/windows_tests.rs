use super::super::{metadata_path, Metadata};
use super::*;
use proptest::prelude::*;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::path::{Path, PathBuf};

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/nanosets")
}

fn hash(numbers: &[i64]) -> String {
    let mut hash = Sha256::new();
    numbers.iter().for_each(|n| hash.update(n.to_le_bytes()));
    hash.finalize().iter().map(|b| format!("{b:02x}")).collect()
}

fn sorted_names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".ds"))
        .collect();
    names.sort();
    names
}

fn check(folder: &Path, order: &[String], sequence_length: u64, expected: &Value) {
    let open = |name: &String| {
        let path = folder.join(name);
        let metadata = Metadata::read(&metadata_path(&path)).unwrap();
        Shard::open(&path, metadata.map_or(TokenSize::Two, |m| m.token_size)).unwrap()
    };
    let shards: Vec<Shard> = order.iter().map(open).collect();
    let numbering = Numbering::new(shards.iter().map(Shard::tokens), sequence_length);
    assert_eq!(serde_json::to_value(&numbering.lens).unwrap(), expected["lens"]);
    assert_eq!(serde_json::to_value(order).unwrap(), expected["order"]);
    assert_eq!(numbering.windows(), expected["len"].as_u64().unwrap());
    let (mut all, mut places) = (Vec::new(), Vec::new());
    for window in 0..numbering.windows() {
        let (file, first) = numbering.find(window).unwrap();
        all.extend(ids(&shards[file], first, numbering.window).unwrap());
        places.extend(positions(&shards[file].index().unwrap(), first, numbering.window).unwrap());
    }
    assert_eq!(numbering.find(numbering.windows()), None);
    assert_eq!(hash(&all), expected["windows_sha256"].as_str().unwrap());
    if let Some(known) = expected.get("positions_sha256") {
        assert_eq!(hash(&places), known.as_str().unwrap());
    }
}

#[test]
fn windows_of_folders_match_those_of_the_reference_reader() {
    let results = std::fs::read_to_string(golden().join("12_read_windows/expected/results.jsonl")).unwrap();
    for line in results.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let folder = golden().join(case["case"].as_str().unwrap()).join("expected");
        let sequence_length = case["seq_len"].as_u64().unwrap();
        let names = sorted_names(&folder);
        check(&folder, &names, sequence_length, &case["folder_dataset"]);
        let order: Vec<String> = file_order(names.len()).into_iter().map(|i| names[i].clone()).collect();
        check(&folder, &order, sequence_length, &case["folder_dataset_shuffled"]);
    }
}

#[test]
fn tokens_after_the_last_whole_window_are_in_no_window() {
    let numbering = Numbering::new([9, 0, 10, 11], 4);
    assert_eq!(numbering.lens, [0, 1, 1, 3, 5]);
    assert_eq!(numbering.find(0), Some((0, 0)));
    assert_eq!(numbering.find(1), Some((2, 0)));
    assert_eq!(numbering.find(4), Some((3, 5)));
    assert_eq!(numbering.find(5), None);
    assert_eq!(Numbering::new([], 4).find(0), None);
    assert_eq!((count(u64::MAX, 0), count(7, u64::MAX)), (u64::MAX, 0));
}

proptest! {
    #[test]
    fn random_index_gives_the_requested_number_of_positions(
        ends in proptest::collection::vec(any::<u64>().prop_map(|n| n % 40), 0..20),
        first in 0..50_u64,
    ) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.ds.index");
        let bytes: Vec<u8> = ends.iter().flat_map(|end| end.to_le_bytes()).collect();
        gristmill_storage::publish::write_file(&gristmill_storage::fs::RealFs, &path, &bytes, 0o644).unwrap();
        let places = positions(&Index::open(&path).unwrap(), first, 10).unwrap();
        prop_assert_eq!(places.len(), 10);
        prop_assert_eq!(places[0], 0);
    }
}
