//! Prepared data sets that were copied without their file times, or whose `split.yaml` the user edited.

use super::{case, entries, is_clean, names, Sandbox};
use crate::cli_support::copy_tree;
use std::path::Path;
use std::time::{Duration, SystemTime};

const PREPARE: &str = "prepare copy --yes --json --split-ratio 1,1,0 --sample-type CrudeWebdataset";

/// Returns a sandbox with a copy, in `copy`, of the prepared shards of the case; each file has a new time.
fn copied() -> Sandbox {
    let sandbox = case("X01");
    std::fs::create_dir(sandbox.path("data")).unwrap();
    for entry in std::fs::read_dir(sandbox.path("")).unwrap().map(Result::unwrap) {
        if entry.path().extension().is_some_and(|extension| extension == "tar") {
            std::fs::rename(entry.path(), sandbox.path("data").join(entry.file_name())).unwrap();
        }
    }
    is_clean(&sandbox.say(&PREPARE.replace("copy", "data")));
    copy_tree(&sandbox.path("data"), &sandbox.path("copy"));
    touch(&sandbox.path("copy"), 60);
    sandbox
}

/// Sets the time of all files to `seconds` from now.
fn touch(folder: &Path, seconds: u64) {
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        if entry.path().is_dir() {
            touch(&entry.path(), seconds);
        } else {
            let file = std::fs::File::options().append(true).open(entry.path()).unwrap();
            file.set_modified(SystemTime::now() + Duration::from_secs(seconds)).unwrap();
        }
    }
}

/// Writes another key into the headers of one shard, whose size does not change.
fn rename_samples(path: &Path) {
    let mut bytes = std::fs::read(path).unwrap();
    for at in (0..bytes.len()).step_by(512) {
        if bytes.get(at + 257..at + 262) == Some(b"ustar") {
            bytes[at] = b'Z';
            bytes[at + 148..at + 156].fill(b' ');
            let sum: u32 = bytes[at..at + 512].iter().map(|byte| u32::from(*byte)).sum();
            bytes[at + 148..at + 156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        }
    }
    #[allow(clippy::disallowed_methods)]
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn copied_data_set_with_new_modification_times_has_no_problems() {
    let sandbox = copied();
    let before = [sandbox.text("copy/.nv-meta/split.yaml"), sandbox.text("copy/.nv-meta/dataset.yaml")];
    let lint = is_clean(&sandbox.say("lint copy --json"));
    names(&entries(&lint, "note"), &["6 shards", "time", "verify"]);
    is_clean(&sandbox.say(PREPARE));
    let after = [sandbox.text("copy/.nv-meta/split.yaml"), sandbox.text("copy/.nv-meta/dataset.yaml")];
    assert_eq!(after, before);
    is_clean(&sandbox.say("prepare copy --yes --json --update"));
    is_clean(&sandbox.say("verify copy --json"));
    let lint = is_clean(&sandbox.say("lint copy --json"));
    assert!(!entries(&lint, "note").contains("time"), "verify records the new times: {lint:#}");
    assert!(!sandbox.has("copy/.nv-meta/gristmill/work"), "nothing is left");
}

#[test]
fn copied_data_set_with_kept_modification_times_has_no_time_note() {
    let sandbox = copied();
    for entry in std::fs::read_dir(sandbox.path("data")).unwrap().map(Result::unwrap) {
        if entry.path().is_file() {
            let time = entry.metadata().unwrap().modified().unwrap();
            let copy = sandbox.path("copy").join(entry.file_name());
            std::fs::File::options().append(true).open(copy).unwrap().set_modified(time).unwrap();
        }
    }
    let lint = is_clean(&sandbox.say("lint copy --json"));
    assert!(!entries(&lint, "note").contains("time"), "{lint:#}");
    is_clean(&sandbox.say(PREPARE));
}

#[test]
fn changed_entries_of_equal_size_are_a_problem_of_their_shard() {
    let sandbox = copied();
    rename_samples(&sandbox.path("copy/s_000003.tar"));
    for command in ["lint copy --json", "verify copy --json"] {
        let report = sandbox.say(command).ends(1).json("problems");
        let problems = entries(&report, "problem");
        names(&problems, &["s_000003.tar"]);
        assert!(!problems.contains("s_000002") && !problems.contains("s_000004"), "{problems}");
    }
    let ran = sandbox.say(PREPARE).ends(1);
    names(&ran.out, &["1 shard has changed since (s_000003.tar)"]);
    // A `verify` with problems records nothing.
    let lint = sandbox.say("lint copy --json").ends(1).json("problems");
    names(&entries(&lint, "note"), &["5 shards"]);
}

#[test]
fn a_copy_that_cannot_be_written_to_is_verified() {
    use std::os::unix::fs::PermissionsExt as _;
    let sandbox = copied();
    let folders = ["copy/.nv-meta/gristmill", "copy/.nv-meta", "copy"];
    let set = |mode| {
        for folder in folders {
            std::fs::set_permissions(sandbox.path(folder), std::fs::Permissions::from_mode(mode)).unwrap();
        }
    };
    set(0o555);
    let ran = sandbox.say("verify copy --json");
    set(0o755);
    is_clean(&ran);
}

const DOUBLED: &str = "split_parts:\n  train:\n  - s_00.tar\n  - s_01.tar\n  val: [s_02.tar]\n  test: []\n# broken scans\nexclude:\n- s_00.tar/001  # blurred\nexclude:\n- s_01.tar/002\n";

/// Returns three shards whose `split.yaml` has the key `exclude` twice.
fn doubled() -> Sandbox {
    let sandbox = Sandbox::new();
    for shard in 0..3 {
        sandbox.tar(&format!("data/s_{shard:02}.tar"), (0..4).map(|key| format!("{shard}{key:02}")));
    }
    let text = DOUBLED.replace("s_01.tar/002", "s_01.tar/102");
    sandbox.say("prepare data --yes --split-ratio 2,1,0 --sample-type CrudeWebdataset").ends(0);
    sandbox.write("data/.nv-meta/split.yaml", text);
    sandbox
}

const LAST_LIST: &str = "exclude:\n- s_01.tar/102\n";

#[test]
fn last_of_two_exclude_lists_applies_and_the_repeated_key_is_a_problem() {
    let sandbox = doubled();
    for command in ["lint data --json", "verify data --json"] {
        let report = sandbox.say(command).ends(1).json("problems");
        names(&entries(&report, "problem"), &["split.yaml", "'exclude'", "line 8", "line 10", "\"line\":10"]);
        assert_eq!(report["counts"]["problem"], serde_json::json!({ "repeated-key": 1 }), "{report:#}");
    }
    sandbox.say("info data").ends(0);
    for flags in ["--update --exclude-sample s_02.tar/203", "--force-overwrite --split-ratio 2,1,0"] {
        let sandbox = doubled();
        let kind = "--sample-type CrudeWebdataset";
        let report = sandbox.say(&format!("prepare data --yes --json {kind} {flags}")).ends(1).json("problems");
        names(&entries(&report, "problem"), &["'exclude'", "line 8"]);
        let text = sandbox.text("data/.nv-meta/split.yaml");
        assert!(text.contains(LAST_LIST) && !text.contains("s_00.tar/001"), "{text}");
        is_clean(&sandbox.say("lint data --json"));
    }
}

#[test]
fn repeated_exclude_key_is_reported_by_commands_that_read_splits() {
    let sandbox = doubled();
    sandbox.write(
        "mix.yaml",
        "__module__: megatron.energon\n__class__: MetadatasetV2\nsplits:\n  train:\n    blend:\n    - path: data\n    \
         - path: ./data\n  val:\n    path: data\n",
    );
    let expected = ["split.yaml", "'exclude'", "line 8", "line 10", "\"line\":10", "gristmill splits"];
    let report = sandbox.say("mix check mix.yaml --json").ends(1).json("problems");
    names(&entries(&report, "problem"), &expected);
    assert_eq!(entries(&report, "problem").lines().count(), 1, "once for each data set: {report:#}");
    sandbox.say("mix check mix.yaml").ends(1).complains("'exclude' is on line 8 and again on line 10");

    let text = sandbox.text("data/.nv-meta/split.yaml");
    sandbox.write("my_splits.yaml", &text);
    let flags = "--splits-from my_splits.yaml --sample-type CrudeWebdataset --force-overwrite --reset-excludes";
    let expected = ["my_splits.yaml", "'exclude'", "line 8", "line 10", "\"line\":10"];
    std::fs::remove_dir_all(sandbox.path("data/.nv-meta")).unwrap();
    for more in ["--dry-run", ""] {
        let report = sandbox.say(&format!("prepare data --yes --json {flags} {more}")).ends(1).json("problems");
        names(&entries(&report, "problem"), &expected);
    }
    assert!(sandbox.text("data/.nv-meta/split.yaml").contains(LAST_LIST));
    is_clean(&sandbox.say("lint data --json"));
    // A file with one list has nothing to report, and a saved plan contains only that list.
    sandbox.write("my_splits.yaml", text.replace("exclude:\n- s_00.tar/001  # blurred\n", ""));
    is_clean(&sandbox.say(&format!("prepare data --yes --json {flags}")));
}

#[test]
fn split_edits_merge_two_exclude_lists() {
    let sandbox = doubled();
    sandbox.say("splits exclude data s_02.tar/203 --yes").ends(0);
    let text = sandbox.text("data/.nv-meta/split.yaml");
    let joined = "# broken scans\nexclude:\n- s_01.tar/102\n- s_00.tar/001  # blurred\n- s_02.tar/203\n";
    assert!(text.ends_with(joined), "{text}");
    is_clean(&sandbox.say("lint data --json"));
    // Items of the list without effect are not excluded yet: excluding them changes the file.
    let sandbox = doubled();
    sandbox.say("splits exclude data s_00.tar/001 --yes").ends(0);
    let text = sandbox.text("data/.nv-meta/split.yaml");
    assert_eq!(text.matches("exclude:").count(), 1, "{text}");
    names(&text, &["s_00.tar/001", "s_01.tar/102"]);
}

#[test]
fn tables_without_a_row_need_no_uuid() {
    let sandbox = Sandbox::new();
    sandbox.tar("data/a.tar", ["one"]);
    sandbox.say("prepare data --yes --split-ratio 1,0,0 --sample-type CrudeWebdataset").ends(0);
    std::fs::remove_file(sandbox.path("data/.nv-meta/index.uuid")).unwrap();
    let report = sandbox.say("lint data --json").ends(1).json("problems");
    names(&entries(&report, "problem"), &["index.uuid"]);
    let database = rusqlite::Connection::open(sandbox.path("data/.nv-meta/index.sqlite")).unwrap();
    database.execute_batch("DELETE FROM sample_parts; DELETE FROM samples").unwrap();
    drop(database);
    let report = sandbox.say("lint data --json").json("problems");
    assert!(!entries(&report, "problem").contains("index.uuid"), "{report:#}");
}

#[test]
fn new_shards_are_refused_with_their_count_and_the_update_flag() {
    let sandbox = Sandbox::new();
    sandbox.tar("data/a.tar", ["one"]);
    sandbox.say("prepare data --yes --split-ratio 1,0,0 --sample-type CrudeWebdataset").ends(0);
    sandbox.tar("data/b.tar", ["two"]);
    sandbox.tar("data/c.tar", ["three"]);
    let kind = "--sample-type CrudeWebdataset";
    // Without answers, with the answers of the first run, with other answers, and in a dry run.
    for (flags, how) in [
        (String::new(), ""),
        (format!("--split-ratio 1,0,0 {kind}"), "with the same answers"),
        (format!("--split-ratio 1,1,0 {kind}"), "with other answers"),
        (format!("--split-ratio 1,0,0 {kind} --dry-run"), "with the same answers"),
    ] {
        let ran = sandbox.say(&format!("prepare data --yes {flags}")).ends(1);
        names(&ran.err, &["already prepared", "2 new shards are not indexed (the first: b.tar)", "--update", how]);
        let hint = ran.err.lines().find(|line| line.contains("hint")).unwrap();
        assert!(hint.contains("takes them in") && !hint.contains("--split-ratio"), "{flags}: {}", ran.err);
        sandbox.say(&format!("prepare data --yes --json {flags}")).ends(1).json("refused");
    }
    std::fs::remove_file(sandbox.path("data/c.tar")).unwrap();
    for flags in ["", "--split-ratio 1,0,0 --sample-type CrudeWebdataset"] {
        let ran = sandbox.say(&format!("prepare data --yes {flags}")).ends(1);
        names(&ran.err, &["1 new shard is not indexed (b.tar)", "takes it in"]);
    }
    sandbox.tar("data/c.tar", ["three"]);
    let dry = sandbox.say("prepare data --update --dry-run --json").ends(0).json("ok");
    let files: Vec<&str> = dry["files"].as_array().unwrap().iter().filter_map(|file| file["name"].as_str()).collect();
    assert!(files.contains(&"b.tar.idx") && !files.contains(&"a.tar.idx"), "{files:?}");
    let done = is_clean(&sandbox.say("prepare data --yes --update --json"));
    assert_eq!(done["files"].as_array().unwrap().len(), files.len(), "{done:#}");
}
