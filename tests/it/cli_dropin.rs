//! The drop-in name `gristmill energon …`: the commands of the reference program, with the same bytes.

use super::cli_support::{golden_dir, Sandbox};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Returns the commands of a case, with this number of workers.
fn commands(case: &str, workers: &str) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(golden_dir(case).join("case.json")).unwrap();
    let case: Value = serde_json::from_str(&text).unwrap();
    let words = |run: &Value| -> Vec<String> {
        run["command"].as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect()
    };
    let with_workers = |mut words: Vec<String>| {
        let at = words.iter().position(|word| word == "--num-workers").unwrap();
        words[at + 1] = workers.to_owned();
        words
    };
    case["runs"].as_array().unwrap().iter().map(|run| with_workers(words(run))).collect()
}

fn files_below(dir: &Path) -> Vec<PathBuf> {
    let walk = walkdir::WalkDir::new(dir).into_iter().map(Result::unwrap);
    let files = walk.filter(|entry| entry.file_type().is_file());
    files.map(|entry| entry.path().strip_prefix(dir).unwrap().to_path_buf()).collect()
}

/// Checks that every file of the case exists with the same bytes, and that the tables have the same rows.
fn compare(case: &str, sandbox: &Sandbox, what: &str) {
    let expected = golden_dir(case).join("expected");
    for file in files_below(&expected) {
        let name = file.to_str().unwrap();
        if name.starts_with("dump/") || name == "loader_view.json" || name.ends_with("index.sqlite") {
            continue;
        }
        let ours = sandbox.read(name);
        if name.ends_with("index.uuid") {
            assert_eq!(ours.len(), 36, "{case} {what}");
            continue;
        }
        let theirs = std::fs::read(expected.join(&file)).unwrap();
        assert_eq!(String::from_utf8_lossy(&ours), String::from_utf8_lossy(&theirs), "{case} {what}: {name}");
        assert_eq!(ours, theirs, "{case} {what}: {name}");
    }
    let database = rusqlite::Connection::open(sandbox.path(".nv-meta/index.sqlite")).unwrap();
    let theirs = rusqlite::Connection::open_with_flags(
        expected.join(".nv-meta/index.sqlite"),
        rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY,
    )
    .unwrap();
    for query in [
        "SELECT tar_file_id, sample_key, sample_index, byte_offset, byte_size FROM samples ORDER BY 1, 3",
        "SELECT tar_file_id, sample_index, part_name, content_byte_offset, content_byte_size FROM sample_parts ORDER BY 1, 2, 4, 3",
        "SELECT type, name, tbl_name, 0, 0 FROM sqlite_master ORDER BY 1, 2",
    ] {
        assert_eq!(rows(&database, query), rows(&theirs, query), "{case} {what}: {query}");
    }
    assert!(!sandbox.has(".nv-meta/index.sqlite-journal") && !sandbox.has(".nv-meta/index.sqlite-wal"));
}

fn rows(database: &rusqlite::Connection, query: &str) -> Vec<Vec<rusqlite::types::Value>> {
    let mut statement = database.prepare(query).unwrap();
    let rows = statement.query_map([], |row| (0..5).map(|i| row.get(i)).collect::<Result<Vec<_>, _>>()).unwrap();
    rows.map(Result::unwrap).collect()
}

fn comes_out(case: &str) {
    for workers in ["1", "2", "7"] {
        let sandbox = Sandbox::golden(case);
        for command in commands(case, workers) {
            let ran = sandbox.run(&command).ends(0);
            assert!(!ran.err.contains("error"), "{}", ran.err);
        }
        compare(case, &sandbox, workers);
    }
}

#[test]
fn captioning_fieldmap_is_written_byte_for_byte() {
    comes_out("captioning_fieldmap");
}

#[test]
fn presplit_folders_is_written_byte_for_byte() {
    comes_out("presplit_folders");
}

#[test]
fn unusual_names_are_written_byte_for_byte() {
    comes_out("odd_names");
}

#[test]
fn native_prepare_writes_the_same_bytes_as_the_drop_in() {
    let sandbox = Sandbox::golden("captioning_fieldmap");
    let line = "prepare . --yes --split-ratio 8,1,1 --sample-type CaptioningSample --field-map image=jpg \
                --field-map caption=detail.json[caption][long],txt";
    sandbox.say(line).ends(0);
    compare("captioning_fieldmap", &sandbox, "own name");
}

#[test]
fn compat_flag_is_accepted_at_any_position() {
    for at in 0..3 {
        let sandbox = Sandbox::golden("captioning_fieldmap");
        let mut words = commands("captioning_fieldmap", "2").remove(0);
        words.insert(at, "--compat".to_owned());
        sandbox.run(&words).ends(0);
        compare("captioning_fieldmap", &sandbox, "compat");
    }
}

#[test]
fn unmatched_split_pattern_writes_an_empty_split_under_energon() {
    let sandbox = Sandbox::new();
    sandbox.ten_shards();
    let line = "energon prepare data --non-interactive --split-parts train:s_0[0-8] --split-parts val:nothing";
    sandbox.say(line).ends(0).complains("nothing");
    assert!(sandbox.text("data/.nv-meta/split.yaml").contains("val: []"));
    let strict =
        "prepare data --yes --force-overwrite --split-parts train:s_ --split-parts val:nothing --skip-dataset-yaml";
    sandbox.say(strict).ends(2).complains("nothing");
}

#[test]
fn last_pattern_of_a_repeated_split_name_applies() {
    let sandbox = Sandbox::new();
    sandbox.ten_shards();
    sandbox.say("energon prepare data --non-interactive --split-parts train:nope --split-parts train:s_00").ends(0);
    assert!(sandbox.text("data/.nv-meta/split.yaml").contains("  train:\n  - s_00.tar\n"));
}

#[test]
fn energon_prepare_without_sample_type_writes_no_dataset_yaml() {
    let sandbox = Sandbox::new();
    sandbox.ten_shards();
    sandbox.say("energon prepare data --non-interactive --split-ratio 8,1,1").ends(0);
    assert!(sandbox.has("data/.nv-meta/split.yaml") && !sandbox.has("data/.nv-meta/dataset.yaml"));
}

#[test]
fn energon_prepare_without_field_map_writes_a_sample_loader() {
    let sandbox = Sandbox::new();
    sandbox.ten_shards();
    sandbox.say("energon prepare data --non-interactive --split-ratio 8,1,1 --sample-type TextSample").ends(0);
    assert!(sandbox.text("data/.nv-meta/dataset.yaml").contains("sample_loader: sample_loader.py:sample_loader"));
    assert!(sandbox.text("data/.nv-meta/sample_loader.py").contains("def sample_loader("));
}

#[test]
fn prepared_set_without_force_overwrite_is_exit_code_1() {
    let sandbox = Sandbox::new();
    sandbox.ten_shards();
    let line = "energon prepare data --non-interactive --split-ratio 8,1,1";
    sandbox.say(line).ends(0);
    sandbox.say(line).ends(1).complains("already prepared").complains("--force-overwrite");
    sandbox.say(&format!("{line} --force-overwrite")).ends(0);
}

#[test]
fn every_flag_is_accepted() {
    let sandbox = Sandbox::new();
    sandbox.ten_shards();
    std::fs::create_dir(sandbox.path("scratch")).unwrap();
    let line = "energon prepare data --progress --no-progress --num-workers 3 --non-interactive --split-ratio 8,1,1 --exclude s_09 \
                --exclude s_08 --shuffle-tars --fix-duplicates --force-overwrite --dataset-yaml-name mine.yaml \
                --sample-type TextSample --tmp-path scratch";
    sandbox.run(line.split_whitespace().chain(["--field-map", r#"{"text": "txt"}"#])).ends(0);
    assert!(sandbox.has("data/.nv-meta/mine.yaml"));
    let info = sandbox.text("data/.nv-meta/.info.json");
    assert!(info.contains("s_09.tar") && !info.contains("s_08.tar"), "of a flag given twice the last counts: {info}");
    assert_eq!(std::fs::read_dir(sandbox.path("scratch")).unwrap().count(), 0, "scratch is left clean");
}

#[test]
fn tar_index_only_keeps_the_splits() {
    let sandbox = Sandbox::new();
    sandbox.ten_shards();
    sandbox.say("energon prepare data --non-interactive --split-ratio 8,1,1").ends(0);
    let splits = sandbox.read("data/.nv-meta/split.yaml");
    let index = sandbox.read("data/s_03.tar.idx");
    sandbox.write("data/s_03.tar.idx", "damaged");
    sandbox.say("energon prepare data --non-interactive --tar-index-only").ends(0);
    assert_eq!(sandbox.read("data/s_03.tar.idx"), index);
    assert_eq!(sandbox.read("data/.nv-meta/split.yaml"), splits);
}

#[test]
fn unsupported_energon_commands_are_exit_code_2() {
    let sandbox = Sandbox::new();
    for line in ["energon checkpoint info x", "energon analyze-debug logs"] {
        sandbox.say(line).ends(2).complains("not");
    }
    for group in ["energon", "nanotron", "modalities data", "mix"] {
        sandbox.say(group).ends(0).says("Commands:");
    }
    sandbox.say("energon --json").ends(2).json("error");
    sandbox.say("energon prepare").ends(2);
    sandbox.say("energon frobnicate").ends(2);
}

#[test]
fn drop_in_needs_no_consent_where_energon_has_no_prompt() {
    let sandbox = Sandbox::new();
    sandbox.ten_shards();
    sandbox.say("energon prepare data --split-ratio 8,1,1").ends(2).complains("not a terminal");
    sandbox.say("energon prepare data --split-ratio 8,1,1 --skip-dataset-yaml").ends(0);
    sandbox.say("energon prepare data --tar-index-only").ends(0);
    let line = "energon prepare data --force-overwrite --split-parts train:s_ --sample-type CrudeWebdataset";
    sandbox.say(line).ends(0);
    assert!(sandbox.text("data/.nv-meta/dataset.yaml").contains("CrudeWebdataset"));
}

#[test]
fn folder_without_shards_is_exit_code_0_and_writes_nothing() {
    let sandbox = Sandbox::new();
    sandbox.ten_shards();
    std::fs::create_dir(sandbox.path("empty")).unwrap();
    let line = "--non-interactive --split-ratio 8,1,1";
    sandbox.say(&format!("energon prepare empty {line}")).ends(0).complains("no shard");
    sandbox.say(&format!("energon prepare empty {line} --json")).ends(0).json("ok");
    sandbox.say(&format!("energon prepare data {line} --exclude s_")).ends(0).complains("no shard");
    assert!(!sandbox.has("empty/.nv-meta") && !sandbox.has("data/.nv-meta"));
}

#[test]
fn unmatched_exclude_flag_is_reported_without_effect() {
    let sandbox = Sandbox::new();
    sandbox.ten_shards();
    sandbox
        .say("energon prepare data --non-interactive --split-ratio 8,1,1 --exclude nothing")
        .ends(0)
        .complains("--exclude matches 0 of 10 shards");
    assert!(sandbox.text("data/.nv-meta/.info.json").contains("s_09.tar"));
}

#[test]
fn unsupported_energon_command_is_reported_as_json() {
    Sandbox::new().say("energon checkpoint info x --json").ends(2).json("error");
}

#[test]
fn energon_version_and_help_are_printed() {
    let sandbox = Sandbox::new();
    for line in ["energon -V", "energon --version"] {
        sandbox.say(line).ends(0).says("7.4.1");
    }
    for line in [
        "energon -h",
        "energon --help",
        "energon prepare -h",
        "energon info --help",
        "energon lint -h",
        "energon preview -h",
    ] {
        sandbox.say(line).ends(0).says("Usage: gristmill energon");
    }
}

#[test]
fn missing_answers_name_only_energon_flags() {
    let sandbox = Sandbox::new();
    sandbox.ten_shards();
    let ran = sandbox.say("energon prepare data --non-interactive").ends(1).complains("--split-ratio");
    assert!(!ran.err.contains("--splits-from"), "that flag is ours alone: {}", ran.err);
}

#[test]
fn info_and_lint_work_on_crude_data_sets() {
    let sandbox = Sandbox::new();
    sandbox.ten_shards();
    sandbox.say("energon prepare data --non-interactive --split-ratio 8,1,1 --sample-type CrudeWebdataset").ends(0);
    sandbox.say("energon info data").ends(0).says("CrudeWebdataset").says("train: 80.0 %, 24 samples, 8 shards");
    sandbox.say("energon lint data --parallel 2 --split-parts train").ends(0).says("No problem found");
    sandbox.say("energon preview data --split-parts val").ends(0).says("short 080").says("in val");
    sandbox.say("energon info nowhere").ends(3);
}

#[test]
fn media_flags_of_older_energon_documentation_are_accepted() {
    let sandbox = Sandbox::new();
    for (number, way) in ["--media-by-extension", "--media-by-header", "--media-by-glob=*.png"].iter().enumerate() {
        let folder = format!("media{number}");
        sandbox.write(&format!("{folder}/a.png"), Sandbox::png(3, 2));
        sandbox.say(&format!("energon prepare-media {folder} --media-metadata {way}")).ends(0);
        assert_eq!(sandbox.media_rows(&folder).len(), 1, "{way}");
    }
    sandbox.ten_shards();
    let line = "energon prepare data --non-interactive --split-ratio 8,1,1 --media-metadata --media-by-extension";
    sandbox.say(line).ends(0);
    sandbox.say("energon prepare-media media0 --media-metadata").ends(1).complains("--media-metadata-by-extension");
}

#[test]
fn shards_whose_prefix_readers_would_skip_are_not_fixed() {
    let sandbox = Sandbox::new();
    sandbox.tar("data/__s__/0.tar", ["a"]);
    sandbox.tar("data/1.tar", ["a"]);
    let ran = sandbox.say("energon prepare data --non-interactive --split-ratio 1,0,0 --fix-duplicates").ends(1);
    ran.complains("readers would skip all of its samples").complains("rename the folder");
}
