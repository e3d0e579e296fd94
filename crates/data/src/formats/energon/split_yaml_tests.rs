use super::*;
use crate::formats::energon::collapse::collapse;
use crate::formats::energon::info::Info;
use proptest::prelude::*;

fn golden(case: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/energon").join(case).join("expected")
}

/// Returns the content of `split.json`.
fn json_of(splits: &SplitFile) -> String {
    gristmill_pycompat::json_write::indent2(&splits.to_node())
}

#[test]
fn golden_splits_are_read_and_written_byte_for_byte() {
    for case in ["captioning_fieldmap", "presplit_folders", "odd_names"] {
        let splits = SplitFile::read(&golden(case)).unwrap().unwrap();
        let bytes = std::fs::read_to_string(golden(case).join(".nv-meta/split.yaml")).unwrap();
        assert_eq!(splits.render(), bytes, "{case}");
        assert_eq!(SplitFile::parse_json(&json_of(&splits)).unwrap(), splits);
        // Every name is a shard, and folding the names again reproduces the file.
        let info = Info::read(&golden(case)).unwrap().unwrap();
        let (expanded, bad) = splits.expanded();
        assert!(bad.is_empty());
        for ((_, names), (_, items)) in expanded.iter().zip(&splits.split_parts) {
            assert!(names.iter().all(|name| info.shard_counts.iter().any(|(shard, _)| shard == name)));
            assert_eq!(collapse(names), *items);
        }
    }
}

#[test]
fn excludes_are_optional_and_the_order_of_keys_is_free() {
    let splits =
        SplitFile::parse("exclude:\n- s_{0..1}.tar/a_{01..02}\nsplit_parts:\n  train: [a.tar, 'b.tar']\n").unwrap();
    assert_eq!(splits.split_parts, [("train".to_owned(), vec!["a.tar".to_owned(), "b.tar".to_owned()])]);
    let (excludes, bad) = splits.expanded_excludes();
    assert_eq!(excludes, ["s_0.tar/a_01", "s_0.tar/a_02", "s_1.tar/a_01", "s_1.tar/a_02"]);
    assert!(bad.is_empty());
    assert!(SplitFile::parse("split_parts: {}").unwrap().exclude.is_empty());
}

#[test]
fn an_unquoted_number_is_no_shard_name_as_for_the_loader() {
    for item in ["12", "00000", "1e3", "yes", "~", "1.5"] {
        let error = SplitFile::parse(&format!("split_parts:\n  train:\n  - {item}\n")).unwrap_err();
        assert!(error.message.contains("item 1 of the split 'train' must be text"), "{error}");
        assert!(error.hint.is_some());
        let quoted = SplitFile::parse(&format!("split_parts:\n  train:\n  - '{item}'\n")).unwrap();
        assert_eq!(quoted.split_parts[0].1, [item]);
        assert_eq!(SplitFile::parse(&quoted.render()).unwrap(), quoted);
    }
}

#[test]
fn split_yaml_that_the_loader_refuses_is_refused_with_the_reason() {
    for (text, said, line) in [
        ("", "must be a map, here is nothing", None),
        ("split_parts:\n  train:\n", "must be a list, here is nothing", None),
        ("split_parts: {}\nexcludes: []\n", "unknown key 'excludes'", None),
        ("exclude: []\n", "'split_parts' is missing", None),
        ("split_parts:\n  a: []\n  a: []\n", "duplicate key 'a'", Some(3)),
        ("split_parts:\n\ta: []\n", "tab", Some(2)),
        ("split_parts:\n  a: [x\n", "unclosed bracket", Some(2)),
        ("split_parts:\n  a: &x [b.tar]\n  c: *x\n", "alias", Some(3)),
        ("split_parts:\n  a: !!python/object:os.system [b.tar]\n", "tag", Some(2)),
        ("split_parts: {}\n---\nb: 1\n", "second document", Some(2)),
    ] {
        let error = SplitFile::parse(text).unwrap_err();
        assert!(error.message.contains(said), "{text:?}: {error}");
        assert_eq!(error.line, line, "{text:?}: {error}");
    }
}

#[test]
fn unexpandable_items_are_reported_and_other_items_are_expanded() {
    let splits =
        SplitFile::parse("split_parts:\n  train:\n  - a{0..1}.tar\n  - b{.tar\n  - c{1..9999999}.tar\n").unwrap();
    let (expanded, bad) = splits.expanded();
    assert_eq!(expanded[0].1, ["a0.tar", "a1.tar"]);
    assert_eq!(bad.len(), 2);
    assert_eq!((bad[0].split.as_deref(), bad[0].item.as_str()), (Some("train"), "b{.tar"));
}

#[test]
fn split_json_is_read_if_split_yaml_is_missing() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join(".nv-meta")).unwrap();
    assert_eq!(SplitFile::read(dir.path()).unwrap(), None);
    let fs = gristmill_storage::fs::RealFs;
    let put = |name: &str, text: &[u8]| {
        gristmill_storage::publish::write_file(&fs, &dir.path().join(".nv-meta").join(name), text, 0o644).unwrap();
    };
    put("split.json", br#"{"split_parts": {"val": ["j.tar"]}}"#);
    assert_eq!(SplitFile::read(dir.path()).unwrap().unwrap().split_parts[0].0, "val");
    put("split.yaml", b"\xef\xbb\xbfsplit_parts:\r\n  train:\r\n  - y.tar\r\n");
    assert_eq!(SplitFile::read(dir.path()).unwrap().unwrap().split_parts[0].1, ["y.tar"]);
    put("split.yaml", b"split_parts: {a: ['\xff']}");
    assert!(SplitFile::read(dir.path()).unwrap_err().why.contains("not UTF-8"));
}

#[test]
fn three_hundred_thousand_excludes_are_read_back() {
    let exclude: Vec<String> = (0..300_000).map(|i| format!("shards/shard_{:06}.tar/sample_{i:09}", i % 977)).collect();
    let splits =
        SplitFile { split_parts: vec![("train".into(), vec!["a.tar".into()])], exclude, ..SplitFile::default() };
    let text = splits.render();
    assert_eq!(SplitFile::parse(&text).unwrap(), splits);
}

#[test]
fn file_larger_than_its_readers_accept_is_refused() {
    let (path, most) = (Path::new("d/.nv-meta/split.yaml"), yaml_read::MAX_BYTES as u64);
    assert_eq!(check_size("preparing", path, most), Ok(()));
    let failure = check_size("preparing", path, most + (1 << 20)).unwrap_err();
    assert_eq!(failure.why, "it would have 65.0 MiB, and at most 64.0 MiB are read; nothing was written");
    assert!(failure.hint.unwrap().contains("ranges in braces"));
}

proptest! {
    #[test]
    fn any_names_survive_writing_and_reading(
        parts in prop::collection::btree_map(any::<String>(), prop::collection::vec(any::<String>(), 0..5), 0..5),
        exclude in prop::collection::vec("[ -~]{0,100}", 0..5),
    ) {
        let splits = SplitFile { split_parts: parts.into_iter().collect(), exclude, ..SplitFile::default() };
        prop_assert_eq!(&SplitFile::parse(&splits.render()).unwrap(), &splits);
        prop_assert_eq!(&SplitFile::parse_json(&json_of(&splits)).unwrap(), &splits);
    }

    #[test]
    fn any_split_file_is_read_or_refused(text in "[a-z:\\- \n\\[\\]{}'\"#&*!|>%@?,.0-9\t\r]{0,120}|.{0,80}") {
        let _ = SplitFile::parse(&text);
        let _ = SplitFile::parse_json(&text);
    }
}
