//! Data sets that were prepared before: by this program, by another one, or incompletely.

use super::sandbox::{excludes, indexed_parts, keys, shard_counts, split_yaml, splits, Sandbox};
use super::tars::{archive, samples};
use crate::support::{copy_folder, picture, put};
use std::path::{Path, PathBuf};

fn golden(case: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/energon").join(case)
}

/// Returns a data set as the reference program left it. File times show whether a shard changed, so the shards are written first.
fn prepared_by_the_peer(case: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    copy_folder(&golden(case).join("input"), &sandbox.data());
    let mut expected = picture(&golden(case).join("expected"));
    expected.retain(|name, _| !name.starts_with("dump") && !name.starts_with("loader_view.json"));
    for (name, bytes) in expected {
        put(&sandbox.at(name), &bytes);
    }
    sandbox
}

const CASES: [&str; 3] = ["captioning_fieldmap", "odd_names", "presplit_folders"];

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    for name in ["a", "b", "c"] {
        put(&sandbox.at(format!("{name}.tar")), &archive(&samples(name, 3)));
    }
    sandbox
}

#[test]
fn same_plan_does_nothing_and_different_plan_is_refused_with_differences() {
    let sandbox = sandbox();
    assert_eq!(sandbox.prepare(&[]).code, 0);
    let before = picture(&sandbox.data());
    let again = sandbox.prepare(&[]);
    assert_eq!((again.code, again.json()["nothing_to_do"].as_bool()), (0, Some(true)), "{again}");
    let other = sandbox.refused(&["--split-ratio", "1,1,1"], 1);
    let (message, hint) = other.error();
    assert!(message.contains("8,1,1") && message.contains("1,1,1"), "the answers that differ are named: {other}");
    assert!(hint.contains("--update") && hint.contains("--force-overwrite"), "{other}");
    assert!(picture(&sandbox.data()) == before);
}

#[test]
fn changed_shard_makes_same_plan_refuse_and_update_reads_it() {
    let sandbox = sandbox();
    assert_eq!(sandbox.prepare(&["--exclude-sample", "a.tar/a1"]).code, 0);
    put(&sandbox.at("b.tar"), &archive(&samples("n", 5)));
    put(&sandbox.at("d.tar"), &archive(&samples("d", 2)));
    let ran = sandbox.refused(&["--exclude-sample", "a.tar/a1"], 1);
    assert!(ran.error().0.contains("b.tar") && ran.error().0.contains("d.tar"), "{ran}");
    let ran = sandbox.prepare(&["--update", "--new-to", "val"]);
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(keys(&sandbox.data(), "b.tar").len(), 5);
    assert_eq!(excludes(&sandbox.data()), ["a.tar/a1"]);
    let val = splits(&sandbox.data()).into_iter().find(|(name, _)| name == "val").unwrap().1;
    assert!(val.contains(&"d.tar".to_owned()), "{}", split_yaml(&sandbox.data()));
}

#[test]
fn prepared_set_of_reference_program_is_refused_with_update_hint() {
    for case in CASES {
        let sandbox = prepared_by_the_peer(case);
        let ran = sandbox.refused(&["--skip-dataset-yaml"], 1);
        let (message, hint) = ran.error();
        assert!(message.contains("already"), "{case}: {ran}");
        assert!(hint.contains("--update") && hint.contains("--force-overwrite"), "{case}: {ran}");
        for command in ["info", "lint", "verify"] {
            let ran = sandbox.run([command, "."]);
            assert!(ran.code <= 1, "{case} {command}: {ran}");
        }
    }
}

#[test]
fn update_of_a_reference_set_keeps_excludes_and_splits() {
    for case in CASES {
        let sandbox = prepared_by_the_peer(case);
        let shard = shard_counts(&sandbox.data())[0].0.clone();
        exclude_by_hand(&sandbox, &shard);
        let (old_excludes, old_splits) = (excludes(&sandbox.data()), splits(&sandbox.data()));
        let old_parts = indexed_parts(&sandbox.data());
        let known: Vec<String> = shard_counts(&sandbox.data()).into_iter().map(|(name, _)| name).collect();
        put(&sandbox.at("zz_new.tar"), &archive(&samples("zz_new", 2)));
        let ran = sandbox.prepare(&["--update", "--new-to", &old_splits[0].0]);
        assert!(ran.code <= 1, "{case}: {ran}");
        assert_eq!(excludes(&sandbox.data()), old_excludes, "{case}");
        for (name, shards) in &old_splits {
            let now = splits(&sandbox.data()).into_iter().find(|(split, _)| split == name).unwrap().1;
            // A shard that the reference program omitted is not among the shards in its index.
            let kept: Vec<String> = now.into_iter().filter(|shard| known.contains(shard)).collect();
            assert_eq!(&kept, shards, "{case}: {name}");
        }
        let now = indexed_parts(&sandbox.data());
        assert!(old_parts.iter().all(|(place, bytes)| now.get(place) == Some(bytes)), "{case}: a sample was lost");
        let fresh = now.keys().filter(|(shard, _, _)| !known.contains(shard) && shard == "zz_new.tar").count();
        assert_eq!(fresh, 4, "{case}");
    }
}

/// Adds a sample and a shard to `exclude:`, as a user does in an editor.
fn exclude_by_hand(sandbox: &Sandbox, shard: &str) {
    let key = keys(&sandbox.data(), shard).first().cloned().unwrap_or_default();
    let path = sandbox.at(".nv-meta/split.yaml");
    let mut file = gristmill_data::formats::energon::split_yaml::SplitFile::read(&sandbox.data()).unwrap().unwrap();
    file.exclude = vec![format!("{shard}/{key}"), shard.to_owned()];
    put(&path, file.render().as_bytes());
}

#[test]
fn overwrite_of_a_reference_set_keeps_excludes_unless_reset() {
    for case in CASES {
        let sandbox = prepared_by_the_peer(case);
        let shard = shard_counts(&sandbox.data())[0].0.clone();
        exclude_by_hand(&sandbox, &shard);
        let old = excludes(&sandbox.data());
        let old_yaml = split_yaml(&sandbox.data());
        let ran = sandbox.prepare(&["--force-overwrite"]);
        assert!(ran.code <= 1, "{case}: {ran}");
        assert_eq!(excludes(&sandbox.data()), old, "{case}");
        let backups = backups(&sandbox);
        assert_eq!(backups, [old_yaml], "{case}: the replaced split.yaml is kept");
        let ran = sandbox.prepare(&["--force-overwrite", "--reset-excludes"]);
        assert!(ran.code <= 1, "{case}: {ran}");
        assert!(excludes(&sandbox.data()).iter().all(|item| !old.contains(item)), "{case}");
    }
}

fn backups(sandbox: &Sandbox) -> Vec<String> {
    let files = picture(&sandbox.data());
    let old = files.into_iter().filter(|(name, _)| name.to_string_lossy().contains("split.yaml.bak-"));
    old.map(|(_, bytes)| String::from_utf8(bytes).unwrap()).collect()
}

/// Replaces `.info.json` with its older form, `.info.yaml`.
fn with_info_yaml(sandbox: &Sandbox) {
    let info = gristmill_data::formats::energon::info::Info::read(&sandbox.data()).unwrap().unwrap();
    put(&sandbox.at(".nv-meta/.info.yaml"), info.to_yaml().as_bytes());
    std::fs::remove_file(sandbox.at(".nv-meta/.info.json")).unwrap();
}

#[test]
fn reference_set_with_info_yaml_is_prepared_and_updated() {
    for case in CASES {
        let sandbox = prepared_by_the_peer(case);
        let old_parts = indexed_parts(&sandbox.data());
        with_info_yaml(&sandbox);
        let ran = sandbox.refused(&[], 1);
        assert!(ran.error().0.contains("already"), "{case}: {ran}");
        assert!(sandbox.run(["info", "."]).code <= 1, "{case}");
        let old = splits(&sandbox.data());
        put(&sandbox.at("zz_new.tar"), &archive(&samples("zz_new", 2)));
        let ran = sandbox.prepare(&["--update", "--new-to", &old[0].0]);
        assert!(ran.code <= 1, "{case}: {ran}");
        let now = indexed_parts(&sandbox.data());
        assert!(old_parts.iter().all(|(place, bytes)| now.get(place) == Some(bytes)), "{case}: a sample was lost");
        let yaml = std::fs::read_to_string(sandbox.at(".nv-meta/.info.yaml")).unwrap();
        assert!(yaml.contains("zz_new.tar"), "{case}: both forms say the same: {yaml}");
        assert!(
            shard_counts(&sandbox.data()).iter().any(|(name, count)| name == "zz_new.tar" && *count == 2),
            "{case}"
        );
    }
}

#[test]
fn leftover_database_next_to_shards_is_replaced() {
    for content in [b"".as_slice(), b"not a database at all", &[0; 8192]] {
        let sandbox = sandbox();
        put(&sandbox.at(".nv-meta/index.sqlite"), content);
        put(&sandbox.at(".nv-meta/index.sqlite-journal"), b"");
        put(&sandbox.at(".nv-meta/index.sqlite-wal"), b"");
        let ran = sandbox.prepare(&[]);
        assert_eq!(ran.code, 0, "{ran}");
        assert!(ran.problems("leftover-database").iter().all(|p| p["severity"] == "note"), "{ran}");
        assert!(!ran.problems("leftover-database").is_empty(), "it is reported: {ran}");
        assert_eq!(indexed_parts(&sandbox.data()).len(), 18);
        let left: Vec<PathBuf> =
            picture(&sandbox.data()).into_keys().filter(|n| n.to_string_lossy().contains("sqlite-")).collect();
        assert!(left.is_empty(), "a journal of another database would be played back into the new one: {left:?}");
    }
}

#[test]
fn sample_tables_of_a_failed_run_are_replaced_and_media_tables_kept() {
    let sandbox = sandbox();
    let path = sandbox.at(".nv-meta/index.sqlite");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let database = rusqlite::Connection::open(&path).unwrap();
    database.execute_batch(gristmill_data::formats::energon::tables::CREATE_SAMPLE_TABLES).unwrap();
    database.execute_batch(gristmill_data::formats::energon::tables::CREATE_MEDIA_TABLES).unwrap();
    database.execute("INSERT INTO samples VALUES (0, 'stale', 0, 0, 512)", ()).unwrap();
    database.execute("INSERT INTO media_metadata VALUES ('a0.jpg', 'image', '{\"width\": 3}')", ()).unwrap();
    drop(database);
    let ran = sandbox.prepare(&[]);
    assert_eq!(ran.code, 0, "{ran}");
    let parts = indexed_parts(&sandbox.data());
    assert!(parts.len() == 18 && !parts.keys().any(|(_, key, _)| key == "stale"));
    let database = rusqlite::Connection::open(&path).unwrap();
    let media: String = database
        .query_row("SELECT metadata_json FROM media_metadata WHERE entry_key = 'a0.jpg'", (), |r| r.get(0))
        .unwrap();
    assert_eq!(media, "{\"width\": 3}");
}

#[test]
fn leftover_database_without_shards_is_refused_with_prepare_media_hint() {
    let sandbox = Sandbox::new();
    put(&sandbox.at("picture.jpg"), b"x");
    put(&sandbox.at(".nv-meta/index.sqlite"), b"");
    let ran = sandbox.refused(&[], 1);
    assert!(ran.error().1.contains("prepare-media"), "{ran}");
}

#[test]
fn unreadable_metadata_is_repaired_by_overwrite() {
    for (name, content) in [
        (".info.json", "{"),
        (".info.json", "[]"),
        (".info.json", "{\"shard_counts\": {\"a.tar\": -1}}"),
        (".info.json", "{\"shard_counts\": {\"a.tar\": 1e400}}"),
        ("split.yaml", "split_parts: ["),
        ("split.yaml", ""),
        ("dataset.yaml", "{{{{"),
        ("index.sqlite", "broken"),
        ("gristmill/report.json", "{"),
        ("gristmill/plan.yaml", "{"),
        ("gristmill/journal", "garbage\n"),
    ] {
        let sandbox = sandbox();
        assert_eq!(sandbox.prepare(&[]).code, 0);
        put(&sandbox.at(format!(".nv-meta/{name}")), content.as_bytes());
        for command in ["info", "lint", "verify", "doctor"] {
            let ran = sandbox.run([command, "."]);
            assert!((0..=3).contains(&ran.code), "{name} {command}: {ran}");
        }
        let ran = sandbox.prepare(&["--force-overwrite"]);
        assert!(ran.code <= 1, "{name} {content}: {ran}");
        assert_eq!(indexed_parts(&sandbox.data()).len(), 18, "{name}");
        assert_eq!(sandbox.run(["verify", "."]).code, 0, "{name}");
    }
}
