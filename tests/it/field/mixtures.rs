//! Metadatasets: companion folders, members without splits, data sets that occur more than once.

use super::*;

const HEAD: &str = "__module__: megatron.energon\n__class__: MetadatasetV2\nsplits:\n";

/// Checks a metadataset with these splits, and returns its report.
fn check(sandbox: &Sandbox, splits: &str, code: i32) -> Value {
    sandbox.write("hand.yaml", format!("{HEAD}{splits}"));
    let ran = sandbox.say("mix check hand.yaml --json");
    assert_eq!(ran.code, code, "{} {}", ran.out, ran.err);
    serde_json::from_str(&ran.out).unwrap()
}

/// Returns a sandbox with two JSONL files whose lines share a folder of pictures.
fn jsonl() -> Sandbox {
    let sandbox = case("E17");
    sandbox.say("prepare asr.jsonl").ends(0);
    sandbox.say("prepare trans.jsonl").ends(0);
    sandbox.say("prepare-media media --media-metadata-by-extension").ends(0);
    sandbox
}

#[test]
fn a_folder_of_files_is_an_aux_source_without_its_scheme() {
    let sandbox = jsonl();
    let line = "mix new --blend asr.jsonl=1 --blend trans.jsonl=1 --json";
    is_clean(&sandbox.say(&format!("{line} --aux media=media --output a.yaml")));
    names(&sandbox.text("a.yaml"), &["media: filesystem://media\n"]);
    is_clean(&sandbox.say(&format!("{line} --aux media=filesystem://media --output b.yaml")));
    assert_eq!(sandbox.text("a.yaml"), sandbox.text("b.yaml"));
    let whole = sandbox.path("media");
    is_clean(&sandbox.say(&format!("{line} --aux media={} --output c.yaml", whole.display())));
    names(&sandbox.text("c.yaml"), &[&format!("media: filesystem://{}\n", whole.display())]);
}

#[test]
fn invalid_aux_source_is_one_error_that_names_the_flag() {
    let sandbox = jsonl();
    sandbox.write("raw/x.tar", [0; 1024]);
    for path in ["nowhere", "filesystem://nowhere", "asr.jsonl", "raw"] {
        let ran = sandbox
            .say(&format!("mix new --blend asr.jsonl --blend trans.jsonl --aux media={path} --output x.yaml"))
            .ends(2);
        names(&ran.err, &["--aux", &format!("media={path}")]);
        assert_eq!(ran.err.matches("error: ").count(), 1, "{}", ran.err);
        assert!(!ran.err.contains("line ") && !sandbox.has("x.yaml"), "{}", ran.err);
    }
}

#[test]
fn jsonl_members_are_part_of_one_split() {
    let sandbox = jsonl();
    let line = "mix new --blend asr.jsonl=1 --blend trans.jsonl=1 --aux media=filesystem://media";
    let report = is_clean(&sandbox.say(&format!("{line} --output a.yaml --json")));
    names(&entries(&report, "note"), &["asr.jsonl", "train alone"]);
    let text = sandbox.text("a.yaml");
    assert!(text.contains("  train:\n") && !text.contains("  val:") && !text.contains("  test:"), "{text}");
    assert_eq!(entries(&is_clean(&sandbox.say("mix check a.yaml --json")), "note"), "");
    // Splits that the user names have all members, and share their lines.
    let report = is_clean(&sandbox.say(&format!("{line} --split train --split val --output b.yaml --json")));
    names(&entries(&report, "note"), &["train and val share 4 lines of 'asr.jsonl'", "trans.jsonl", "subset"]);
}

#[test]
fn splits_that_share_samples_are_reported() {
    let sandbox = jsonl();
    let report = check(&sandbox, "  train: {path: asr.jsonl}\n  val:\n    blend: [{path: ./asr.jsonl}]\n", 0);
    names(&entries(&report, "note"), &["train and val share 4 lines of 'asr.jsonl'", "hand.yaml"]);
    let ranges = |first: &str, second: &str| {
        let member = |range: &str| format!("{{path: asr.jsonl, subset: {{range: [{range}]}}}}");
        let splits = format!("  train: {}\n  test: {}\n", member(first), member(second));
        entries(&check(&sandbox, &splits, 0), "note")
    };
    names(&ranges("0%, 75%", "50%, 100%"), &["train and test share 1 line of 'asr.jsonl'"]);
    names(&ranges("0, 3", "1, end"), &["share 2 lines"]);
    assert_eq!(ranges("0%, 50%", "50%, 100%"), "");
    assert_eq!(ranges("0, 3", "3, end"), "");
}

#[test]
fn data_set_blended_several_times_is_noted() {
    let sandbox = case("E18");
    let notes = |name: &str| entries(&is_clean(&sandbox.say(&format!("mix check {name} --json"))), "note");
    names(&notes("outer.yaml"), &["train contains 'wds' 3 times, together 70.0 %", "outer.yaml"]);
    assert_eq!(notes("outer.yaml").lines().count(), 1);
    assert_eq!(notes("apart.yaml"), "");
    sandbox.say("mix check outer.yaml").ends(0).complains("together 70.0 %");
}

#[test]
fn data_set_under_several_paths_is_recognized_as_one() {
    let sandbox = case("E18");
    std::os::unix::fs::symlink("wds", sandbox.path("link")).unwrap();
    let notes = |splits: &str| entries(&check(&sandbox, splits, 0), "note");
    let whole = sandbox.path("wds");
    let found =
        notes(&format!("  train:\n    blend: [{{path: link}}, {{path: {}}}, {{path: wds2}}]\n", whole.display()));
    names(&found, &["train contains 'link' 2 times, together 66.7 %"]);
    let half = |range: &str| format!("{{path: wds, subset: {{range: [{range}]}}}}");
    let ranges = |a: &str, b: &str| notes(&format!("  train:\n    blend: [{}, {}]\n", half(a), half(b)));
    assert_eq!(ranges("0%, 50%", "50%, 100%"), "");
    names(&ranges("0%, 60%", "40%, 100%"), &["2 times in ranges that overlap, together 100 %"]);
    names(
        &notes("  train:\n    blend_epochized: [{path: wds, repetitions: 2}, {path: ./wds}]\n"),
        &["train contains 'wds' 2 times, together 100 %"],
    );
    let found = notes("  train: {path: wds}\n  val: {path: link, split_part: train}\n");
    names(&found, &["train and val share", "of 'wds'"]);
}

#[test]
fn repetitions_above_the_integer_limit_are_refused() {
    let sandbox = case("E18");
    let splits = |amount: &str| format!("  train:\n    blend_epochized:\n    - {{path: wds, repetitions: {amount}}}\n");
    let refused = |splits: &str| {
        let report = check(&sandbox, splits, 1);
        let text = entries(&report, "refusal");
        assert_eq!(text.lines().count(), 1, "{report:#}");
        assert_eq!(sandbox.say("prepare hand.yaml").ends(1).err.matches("9,223,372,036,854,775,807").count(), 1);
        text
    };
    names(&refused(&splits("1.0e+308")), &["hand.yaml", "\"line\":6", "9,223,372,036,854,775,807"]);
    names(&refused(&splits("9000000000000000000")), &["\"line\":6"]);
    assert_eq!(entries(&check(&sandbox, &splits("1000000"), 0), "refusal"), "");
    // Repetitions of nested files are multiplied.
    sandbox
        .write("inner.yaml", format!("{HEAD}  train:\n    blend_epochized: [{{path: wds, repetitions: 1.0e+10}}]\n"));
    names(
        &refused("  train:\n    blend_epochized:\n    - {path: inner.yaml, repetitions: 1.0e+10}\n"),
        &["inner.yaml", "\"line\":5"],
    );
    // Members that are within the limit separately, but not together.
    let member = "    - {path: wds, repetitions: 1.0e+18}\n";
    names(&refused(&format!("  train:\n    blend_epochized:\n{}", member.repeat(4))), &["\"line\":4"]);
}

#[test]
fn member_at_a_url_is_noted_and_a_missing_folder_refused() {
    let sandbox = case("E18");
    for scheme in ["msc", "rclone", "dss"] {
        let url = format!("{scheme}://profile/x");
        let report = check(&sandbox, &format!("  train:\n    blend: [{{path: wds}}, {{path: '{url}'}}]\n"), 0);
        names(&entries(&report, "note"), &["is not opened", "\"line\":5"]);
        assert_eq!(entries(&report, "problem"), "");
    }
    names(&entries(&check(&sandbox, "  train: {path: nowhere}\n", 1), "refusal"), &["no such file or folder"]);
    names(&entries(&check(&sandbox, "  train: {path: 's3://b/x'}\n", 1), "refusal"), &["s3://"]);
}
