//! Invalid answers: each is reported as a usage error before any file is written.

use super::sandbox::{assert_unprepared, Sandbox};
use crate::support::text_shard;

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    for shard in 0..3 {
        text_shard(&sandbox.at(format!("train/shard_{shard:03}.tar")), shard * 10, 4);
    }
    sandbox
}

/// Checks that the answers are refused as a usage error, in JSON and as text, with a message that contains `words` and a hint, and that no
/// file is written.
#[track_caller]
fn assert_usage(sandbox: &Sandbox, more: &[&str], words: &[&str]) {
    let ran = sandbox.run(Sandbox::prepare_args(more).into_iter().chain(["--json".to_owned()]));
    assert_eq!(ran.code, 2, "{more:?}: {ran}");
    let (message, hint) = ran.error();
    for word in words {
        assert!(message.contains(word) || hint.contains(word), "{more:?} does not say '{word}': {ran}");
    }
    assert!(!hint.is_empty(), "{more:?} has no hint: {ran}");
    assert_unprepared(&sandbox.data());
    let ran = sandbox.prepare_in_words(more);
    assert_eq!(ran.code, 2, "{more:?}: {ran}");
    assert!(ran.err.starts_with("error: ") && ran.err.contains("\nhint: "), "{more:?}: {ran}");
    assert_unprepared(&sandbox.data());
}

#[test]
fn invalid_split_ratios_are_refused() {
    let sandbox = sandbox();
    for ratio in [
        "8,1",
        "8,1,1,1",
        "a,b,c",
        "0,0,0",
        "-1,1,1",
        "8,-1,1",
        "nan,1,1",
        "NaN,1,1",
        "inf,1,1",
        "1,-inf,1",
        "1e999,1,1",
        "",
        ",",
        ",,",
        "8,,1",
        "8;1;1",
        "8 1 1",
        "8,1,1,",
        "--",
        "٨,١,١",
    ] {
        assert_usage(&sandbox, &["--split-ratio", ratio], &["8,1,1"]);
    }
}

#[test]
fn unusual_valid_split_ratios_are_accepted() {
    for ratio in ["8, 1, 1", "1,0,0", "0.8,0.1,0.1", "80,10,10", "1e1,1,1"] {
        let sandbox = sandbox();
        let ran = sandbox.prepare(&["--split-ratio", ratio]);
        assert_eq!(ran.code, 0, "{ratio}: {ran}");
    }
}

#[test]
fn patterns_without_matches_are_refused_by_name() {
    let sandbox = sandbox();
    assert_usage(&sandbox, &["--split-parts", "train:training/.*"], &["train", "training/.*"]);
    assert_usage(&sandbox, &["--split-parts", "train:shard_.*"], &["shard_.*"]);
    assert_usage(&sandbox, &["--exclude", "no_such_shard"], &["no_such_shard"]);
    assert_usage(
        &sandbox,
        &["--exclude-sample", "train/shard_000.tar/missing", "--exclude-sample", "nowhere.tar"],
        &["nowhere.tar"],
    );
    let empty = sandbox.prepare(&["--split-parts", "train:.*", "--split-parts", "val:nothing", "--allow-empty-splits"]);
    assert_eq!(empty.code, 0, "{empty}");
}

#[test]
fn glob_as_split_pattern_is_refused_with_equivalent_regex() {
    let sandbox = sandbox();
    assert_usage(&sandbox, &["--split-parts", "train:*.tar"], &["*.tar", ".*"]);
    assert_usage(&sandbox, &["--split-parts", "train:train/*.tar"], &["train/.*\\.tar"]);
    assert_usage(&sandbox, &["--split-parts", "train:train/shard_???.tar"], &["train/shard_...\\.tar"]);
}

#[test]
fn patterns_that_do_not_compile_or_are_bombs_are_refused_quickly() {
    let sandbox = sandbox();
    for pattern in
        ["train:(", "train:[a", "train:a{3,1}", "train:(?P<x>a)(?P<x>b)", "train:(?z)", "train:\\", "train:a**"]
    {
        assert_usage(&sandbox, &["--split-parts", pattern], &[]);
    }
    let bomb = format!("train:{}", "{0..9}".repeat(12));
    assert_usage(&sandbox, &["--split-parts", &bomb], &[]);
    assert_usage(&sandbox, &["--split-parts", "train:((((a{1,100}){1,100}){1,100}){1,100}){1,100}"], &[]);
    assert_usage(&sandbox, &["--split-parts", "no colon"], &["NAME:REGEX"]);
    assert_usage(&sandbox, &["--split-parts", ":x"], &["NAME:REGEX"]);
    // Look-around uses a backtracking engine, which has a limit.
    let ran = sandbox.prepare(&["--split-parts", "train:(?=(a+)+$)(a|aa)+$|(?:(?:.+)+)+(?!x)\\1?zzz", "--dry-run"]);
    assert!((0..=2).contains(&ran.code), "{ran}");
}

#[test]
fn sample_types_that_do_not_exist_are_refused_with_the_nearest_one() {
    let sandbox = sandbox();
    assert_usage(&sandbox, &["--sample-type", "CaptioninSample", "--field-map", "image=txt"], &["CaptioningSample"]);
    assert_usage(&sandbox, &["--sample-type", "Nonsense", "--field-map", "a=txt"], &["Nonsense"]);
    assert_usage(&sandbox, &["--sample-type", "TextSample"], &["--field-map", "text"]);
    assert_usage(&sandbox, &["--sample-type", "", "--field-map", "a=txt"], &[]);
    for bad in ["my module:Class", "m:Cla ss", "m:", ":C", "a:b:c", "m:C\nx: y"] {
        assert_usage(&sandbox, &["--sample-type", bad, "--field-map", "a=txt"], &[]);
    }
}

#[test]
fn invalid_field_maps_are_refused() {
    let sandbox = sandbox();
    let typed = |map: &'static str| ["--sample-type", "TextSample", "--field-map", map];
    for map in [
        "{",
        "{}x",
        "{\"text\"}",
        "{\"text\": 1}",
        "{\"text\": null}",
        "{\"text\": [\"txt\"]}",
        "{\"text\": \"txt\",}",
        "{\"text\": \"txt\", \"text\": \"json\"}",
        "{'text': 'txt'}",
        "text",
        "=txt",
        "text=",
        "[\"text\"]",
        "",
        "{\"text\": \"\"}",
    ] {
        assert_usage(&sandbox, &typed(map), &[]);
    }
    assert_usage(&sandbox, &typed("caption=txt"), &["caption"]);
    assert_usage(&sandbox, &typed("text=txtt"), &["txtt", "txt"]);
    assert_usage(&sandbox, &typed("text=jpg"), &["jpg", "'json', 'txt'"]);
    assert_usage(&sandbox, &typed("{\"txt\": \"text\"}"), &["txt"]);
    let deep = format!("{}1", "{\"a\":".repeat(20_000));
    assert_usage(&sandbox, &["--sample-type", "TextSample", "--field-map", &deep], &[]);
}

#[test]
fn json_paths_that_fail_on_the_samples_are_found_before_anything_is_written() {
    let sandbox = sandbox();
    for path in ["json[missing]", "json[c][7]", "json[c][x]", "json[n][0]"] {
        let expr = format!("text={path}");
        let ran = sandbox.run(
            Sandbox::prepare_args(&["--sample-type", "TextSample", "--field-map", &expr])
                .into_iter()
                .chain(["--json".to_owned()]),
        );
        assert_eq!(ran.code, 2, "{path}: {ran}");
        assert!(ran.error().0.contains("text"), "{path}: {ran}");
        assert_unprepared(&sandbox.data());
    }
    assert_eq!(sandbox.prepare(&["--sample-type", "TextSample", "--field-map", "text=json[c][0]"]).code, 0);
}

#[test]
fn flags_that_contradict_each_other_or_do_not_exist_are_usage_errors() {
    let sandbox = sandbox();
    let both = [
        vec!["--split-ratio", "8,1,1", "--split-parts", "train:.*"],
        vec!["--update", "--force-overwrite"],
        vec!["--reset-excludes"],
        vec!["--new-to", "val"],
        vec!["--no-such-flag"],
        vec!["--duplicates", "maybe"],
        vec!["--tgz", "extract"],
        vec!["--threads", "0"],
        vec!["--memory", "lots"],
        vec!["--dataset-yaml-name", "../x.yaml"],
        vec!["--dataset-yaml-name", "split.yaml"],
        vec!["--exclude", "("],
        vec!["--exclude-sample", "{0..99999999999}"],
        vec!["--splits-from", "missing.yaml"],
        vec!["--exclude-from", "missing.txt"],
    ];
    for more in both {
        let ran = sandbox.run(Sandbox::prepare_args(&more).into_iter().chain(["--json".to_owned()]));
        let missing_file = more[0].ends_with("-from");
        assert_eq!(ran.code, if missing_file { 3 } else { 2 }, "{more:?}: {ran}");
        assert!(!ran.error().0.is_empty());
        assert_unprepared(&sandbox.data());
    }
}

#[test]
fn unanswered_questions_name_the_missing_flags() {
    let sandbox = sandbox();
    let ran = sandbox.run(["prepare", ".", "--yes"]);
    assert_eq!(ran.code, 2, "{ran}");
    assert!(ran.err.contains("--split-ratio") && ran.err.contains("--sample-type"), "{ran}");
    let ran = sandbox.run(["prepare", ".", "--split-ratio", "8,1,1", "--skip-dataset-yaml"]);
    assert_eq!(ran.code, 2, "{ran}");
    assert!(ran.err.contains("--yes"), "{ran}");
    assert_unprepared(&sandbox.data());
}

#[test]
fn invalid_split_files_are_refused() {
    let sandbox = sandbox();
    let deep = format!("split_parts: {}", "[".repeat(5000));
    let bomb = format!(
        "a0: &a0 [x, x]\n{}split_parts: {{train: [*a24]}}\n",
        (1..25).map(|n| format!("a{n}: &a{n} [*a{0}, *a{0}]\n", n - 1)).collect::<String>()
    );
    for text in [
        "",
        "x",
        "[]",
        "split_parts: 3",
        "split_parts: {train: 3}",
        "split_parts: {train: [[x]]}",
        "split_parts: {train: [",
        "split_parts:\n\ttrain: []",
        "!!python/object/apply:os.system ['true']",
        "split_parts: {train: ['a{0..9999999999}']}",
        "split_parts: {train: [nowhere.tar]}",
        &deep,
        &bomb,
    ] {
        crate::support::put(&sandbox.sibling("split.yaml"), text.as_bytes());
        let ran = sandbox.prepare(&["--splits-from", sandbox.sibling("split.yaml").to_str().unwrap()]);
        let shown: String = text.chars().take(60).collect();
        assert!(ran.code == 1 || ran.code == 2, "{shown}: {ran}");
        assert!(!ran.error().0.is_empty(), "{shown}: {ran}");
        assert_unprepared(&sandbox.data());
    }
}

#[test]
fn invalid_plans_are_refused() {
    let sandbox = sandbox();
    let good = sandbox.sibling("plan.yaml");
    let ran = sandbox.prepare(&["--dry-run", "--save-plan", good.to_str().unwrap()]);
    assert_eq!(ran.code, 0, "{ran}");
    let text = std::fs::read_to_string(&good).unwrap();
    let broken = [
        String::new(),
        "[]".into(),
        "version: 99\npath: .\n".into(),
        format!("{text}unknown_key: 1\n"),
        text.replace("version:", "versio:"),
        text.replace("8,1,1", "8,1"),
        format!("{}{text}", "\u{0}"),
        text.chars().take(text.len() / 2).collect(),
    ];
    for (number, plan) in broken.iter().enumerate() {
        let path = sandbox.sibling("broken.yaml");
        crate::support::put(&path, plan.as_bytes());
        let ran = sandbox.run(["run", path.to_str().unwrap(), "--yes", "--json"]);
        assert_eq!(ran.code, 2, "plan {number}: {ran}");
        assert_unprepared(&sandbox.data());
    }
    let ran = sandbox.run(["run", good.to_str().unwrap(), "--yes", "--json"]);
    assert_eq!(ran.code, 0, "{ran}");
}
