use super::*;
use proptest::prelude::*;

fn golden(case: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/energon").join(case).join("expected")
}

#[test]
fn golden_counts_are_read_and_written_byte_for_byte() {
    for (case, shards, samples) in [("captioning_fieldmap", 4, 18), ("odd_names", 10, 23), ("presplit_folders", 15, 0)]
    {
        let info = Info::read(&golden(case)).unwrap().unwrap();
        assert_eq!(info.energon_version.as_deref(), Some(ENERGON_VERSION));
        assert_eq!(info.shard_counts.len(), shards, "{case}");
        assert!(samples == 0 || info.samples() == samples, "{case}: {}", info.samples());
        let bytes = std::fs::read_to_string(golden(case).join(".nv-meta/.info.json")).unwrap();
        assert_eq!(info.to_json(), bytes);
        assert_eq!(Info::new(info.shard_counts.clone()), info);
    }
}

#[test]
fn names_beyond_ascii_are_escaped() {
    let info = Info { energon_version: None, shard_counts: vec![("ü/😀.tar".into(), 3)] };
    assert_eq!(
        info.to_json(),
        "{\n  \"energon_version\": null,\n  \"shard_counts\": {\n    \"\\u00fc/\\ud83d\\ude00.tar\": 3\n  }\n}"
    );
}

#[test]
fn the_older_yaml_form_is_read_where_the_json_is_missing() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(Info::read(dir.path()).unwrap(), None);
    std::fs::create_dir(dir.path().join(".nv-meta")).unwrap();
    let fs = gristmill_storage::fs::RealFs;
    let put = |name: &str, text: &str| {
        gristmill_storage::publish::write_file(&fs, &dir.path().join(".nv-meta").join(name), text.as_bytes(), 0o644)
            .unwrap();
    };
    put(".info.yaml", "shard_counts:\n  b.tar: 2\n  a.tar: 1\n");
    let info = Info::read(dir.path()).unwrap().unwrap();
    assert_eq!(info.shard_counts, [("b.tar".to_owned(), 2), ("a.tar".to_owned(), 1)]);
    assert_eq!(info.to_yaml(), "energon_version: null\nshard_counts:\n  a.tar: 1\n  b.tar: 2\n");
    put(".info.yaml", "shard_counts:\n  sub-x/b.tar: 1\n  sub/b.tar: 2\n");
    let info = Info::read(dir.path()).unwrap().unwrap();
    assert_eq!(info.shard_counts[0], ("sub/b.tar".to_owned(), 2), "sorted keys are put into index order");
    put(".info.json", "{\"shard_counts\": {\"c.tar\": 7}}");
    assert_eq!(Info::read(dir.path()).unwrap().unwrap().samples(), 7);
    put(".info.json", "{\"shard_counts\": {},\n \"extra\": 1}");
    let failure = Info::read(dir.path()).unwrap_err();
    assert!(failure.why.contains("unknown key 'extra'") && failure.hint.is_some());
    assert_eq!(failure.class.code(), 1);
}

#[test]
fn info_file_that_the_loader_refuses_is_refused() {
    for (text, said) in [
        ("", "EOF"),
        ("[]", "must be a map"),
        ("{}", "'shard_counts' is missing"),
        (r#"{"shard_counts": {"a.tar": -1}}"#, "the shard 'a.tar'"),
        (r#"{"shard_counts": {"a.tar": 1.5}}"#, "the shard 'a.tar'"),
        (r#"{"shard_counts": {"a.tar": "1"}}"#, "the text '1'"),
        (r#"{"shard_counts": {"a.tar": 1, "a.tar": 2}}"#, "duplicate key"),
        (r#"{"shard_counts": [], "energon_version": "1"}"#, "must be a map, here is a list"),
        (r#"{"shard_counts": {}, "energon_version": 7.4}"#, "must be text"),
    ] {
        let error = Info::parse_json(text).unwrap_err();
        assert!(error.message.contains(said), "{text}: {error}");
    }
}

proptest! {
    #[test]
    fn counts_survive_both_forms(names in prop::collection::btree_map(any::<String>(), any::<u64>(), 0..20)) {
        let info = Info::new(names.into_iter().collect());
        prop_assert_eq!(&Info::parse_json(&info.to_json()).unwrap(), &info);
        prop_assert_eq!(&Info::parse_yaml(&info.to_yaml()).unwrap(), &info);
    }

    #[test]
    fn any_info_text_is_read_or_refused(text in ".{0,200}") {
        let _ = Info::parse_json(&text);
        let _ = Info::parse_yaml(&text);
    }
}
