//! Answers that would be ignored, losses that would be hidden, and the reasons for empty results.

use super::{entries, files_below};
use crate::cli_support::Sandbox;
use std::os::unix::ffi::OsStrExt as _;

#[test]
fn flags_for_rows_and_names_are_refused_without_matching_inputs() {
    let sandbox = Sandbox::new();
    sandbox.write("folder/a.jsonl", "{\"img\": \"a.png\"}\n");
    sandbox.write("folder/notes.txt", "t");
    sandbox.tar("tars/0.tar", ["a"]);
    for flags in ["--media img", "--text img", "--media-root folder", "--no-json", "--split-column s", "--missing keep"]
    {
        let flag = flags.split(' ').next().unwrap();
        sandbox.say(&format!("shard folder --output out {flags}")).ends(2).complains(flag).complains("--as rows");
    }
    sandbox.say("shard tars --output out --media img").ends(2).complains("no input is read as rows");
    sandbox.say("shard tars --output out --key-rule last-dot").ends(2).complains("all inputs are shards");
    assert!(!sandbox.has("out"));
    sandbox.write("folder/a.png", "p");
    sandbox.say("shard folder/a.jsonl tars --output out --media img --key number").ends(0);
}

#[test]
fn invalid_part_templates_and_numbers_are_refused() {
    let sandbox = Sandbox::new();
    sandbox.write("rows.jsonl", "{\"img\": \"a.png\"}\n");
    for flags in ["--media img:{foo}", "--media img:x{ext}}", "--text img:{ext}"] {
        sandbox.say(&format!("shard rows.jsonl --output out {flags}")).ends(2).complains("braces");
    }
    for flags in ["--start -1", "--mtime -5"] {
        let ran = sandbox.say(&format!("shard rows.jsonl --output out {flags}")).ends(2);
        assert!(!ran.err.contains("'-- -"), "{}", ran.err);
    }
    sandbox.say("shard rows.jsonl --output out --keep-keys none").ends(3).complains("a KEY or SHARD/KEY a line");
    sandbox.write("splits.jsonl", "{\"s\": \"a/b\"}\n{\"s\": \"x\"}\n");
    sandbox.say("shard splits.jsonl --split-column s --output out").ends(1).complains("--split-column");
}

#[test]
fn repeated_shard_run_reports_non_utf8_names() {
    let sandbox = Sandbox::new();
    sandbox.write("in/a.txt", "1");
    std::fs::write(sandbox.path("in").join(std::ffi::OsStr::from_bytes(b"b\xff.txt")), "2").unwrap();
    sandbox.say("shard in --output out").ends(1).complains("not UTF-8");
    sandbox.say("shard in --output out").ends(1).says("Nothing to do").complains("not UTF-8");
}

#[test]
fn text_lines_of_several_splits_are_refused() {
    let sandbox = Sandbox::new();
    sandbox.tar("in/train/0.tar", ["a"]);
    sandbox.tar("in/val/0.tar", ["b"]);
    sandbox.say("shard in --output set").ends(0);
    let line = "shard set --media-to media --text-to text.jsonl";
    sandbox.say(line).ends(2).complains("the samples are in train, val").complains("--one-split");
    assert!(!sandbox.has("text.jsonl") && !sandbox.has("media"));
    let reason = "nothing is left for shards";
    sandbox.say(&format!("{line} --split val")).ends(1).complains(reason);
    sandbox.say(&format!("{line} --one-split")).ends(1).complains(reason);
}

#[test]
fn new_shards_without_a_split_are_refused_before_they_are_written() {
    let sandbox = Sandbox::new();
    sandbox.tar("in/train/0.tar", ["a"]);
    sandbox.tar("in/val/0.tar", ["b"]);
    sandbox.tar("more/0.tar", ["c"]);
    sandbox.say("shard in --output set").ends(0);
    let before = files_below(&sandbox.path("set"));
    for dry in ["", " --dry-run"] {
        let ran = sandbox.say(&format!("shard more --output set --append{dry}")).ends(2);
        ran.complains("no place for 1 new shard").complains("--new-to NAME").complains("train, val");
    }
    assert_eq!(files_below(&sandbox.path("set")), before);
    sandbox.say("shard more --output set --append --new-to none").ends(2).complains("no split 'none'");
    assert_eq!(files_below(&sandbox.path("set")), before);
    sandbox.say("shard more --output set --append --new-to val").ends(0);
    // A ratio assigns every shard.
    sandbox.say("shard in/train --output one").ends(0);
    sandbox.say("shard more --output one --append").ends(0);
}

#[test]
fn cut_json_lists_are_read_up_to_the_cut_with_a_problem() {
    let sandbox = Sandbox::new();
    sandbox.write("list.json", "[{\"k\": \"a\"}, {\"k\": \"b\"},\n {\"k\": \"c");
    let ran = sandbox.say("shard list.json --key k --output out").ends(1).complains("the list ends early at byte 34");
    assert!(!ran.err.contains("row is left out"), "{}", ran.err);
    assert_eq!(entries(&sandbox, "out/shard_000000.tar"), ["a.json", "b.json"]);
    let images = "{\"images\": [{\"id\": 1, \"file_name\": \"a.png\"}, ";
    for (name, text) in [("in-images", images.to_owned()), ("later", format!("{images}{{}}], \"annotations\": [{{"))] {
        sandbox.write(&format!("{name}.json"), &text);
        let ran = sandbox.say(&format!("shard {name}.json --output none")).ends(1);
        ran.complains(&format!("end early at byte {}", text.len()));
    }
    // Lines that contain arrays are not a list.
    sandbox.write("lines.json", "{\"k\": \"a\", \"images\": []}\n{\"k\": \"b\"}\n");
    sandbox.say("shard lines.json --key k --output lines").ends(0).says("2 samples");
}

#[test]
fn excluded_and_hidden_samples_are_counted() {
    let sandbox = Sandbox::new();
    sandbox.tar("in/0.tar", ["a", "b", "c"]);
    sandbox.tar("in/1.tar", ["d", "e"]);
    sandbox.say("prepare in --yes --split-ratio 1,0,0 --skip-dataset-yaml").ends(0);
    sandbox.say("splits exclude in 1.tar").ends(0);
    sandbox.say("splits exclude in 0.tar/b").ends(0);
    let line = "Left out: 3 samples that split.yaml excludes.";
    sandbox.say("shard in --output out --dry-run").ends(0).says(line);
    let report = sandbox.say("shard in --output out --json").ends(0).json("ok");
    assert_eq!(report["left_out"]["excluded"], 3);
    assert!(report["counts"].to_string().contains("excluded-by-splits"), "{report}");
    sandbox.say("shard in --output again").ends(0).says("Next: gristmill browse ");
    let kept = "Of the chosen samples, 3 are excluded by split.yaml, and written because of --keep-excluded.";
    sandbox.say("shard in --output kept --keep-excluded --dry-run").ends(0).says(kept);
    sandbox.write("keys", "0.tar/b\n0.tar/c\n");
    let report = sandbox.say("shard in --output kept --keep-excluded --keep-keys keys --json").ends(0).json("ok");
    assert_eq!((&report["samples"], &report["kept_excluded"]), (&2.into(), &1.into()));
    sandbox.say("splits exclude in 0.tar").ends(0);
    let all = sandbox.say("shard in --output none").ends(1);
    all.complains("split.yaml excludes 5").complains("--keep-excluded");
    sandbox.write("files/a.txt", "1");
    sandbox.write("files/.b.txt", "1");
    sandbox.write("files/.c/d.txt", "1");
    sandbox.say("shard files --output files-out -v").ends(0).complains("2 entries with a dot before the name");
}

#[test]
fn empty_shard_result_is_refused_with_its_reasons() {
    let sandbox = Sandbox::new();
    sandbox.tar("in/0.tar", ["a", "b"]);
    sandbox.write("empty/x", "");
    sandbox.write("keys", "a\n");
    for (line, reason, hint) in [
        ("shard empty --output out", "no sample was found", "gristmill info"),
        ("shard in --output out --require png", "2 samples without a part that --require names", "change --require"),
        ("shard in --output out --drop-parts json,txt", "2 samples without a part that is kept", "--drop-parts"),
        ("shard in --output out --keep-keys keys --drop-keys keys", "2 samples by a list of keys", "--drop-keys"),
    ] {
        sandbox.say(line).ends(1).complains(reason).complains(hint);
    }
    assert!(!sandbox.has("out"));
}

#[test]
fn repeated_jsonl_key_is_reported_with_both_lines() {
    let sandbox = Sandbox::new();
    sandbox.write("rows.jsonl", "{\"k\": \"a\"}\n\n{\"k\": \"b\"}\n[]\n{\"k\": \"a\"}\n");
    let ran = sandbox.say("shard rows.jsonl --key k --output out").ends(1);
    ran.complains("the key is also in line 1 of").complains("line 5");
}

#[test]
fn repeated_row_key_is_reported_with_both_rows() {
    for (name, rows, first, second) in [
        ("rows.csv", "k,n\na,1\nb,2\na,3\n", "the key of row 2", "row 0 of"),
        ("rows.json", r#"[{"k": "a"}, {"k": "b"}, {"k": "a"}]"#, "the key of element 3", "element 1 of"),
    ] {
        let sandbox = Sandbox::new();
        sandbox.write(name, rows);
        let ran = sandbox.say(&format!("shard {name} --key k --output out")).ends(1);
        ran.complains(&format!("{first} is also in {second}"));
    }
}

#[test]
fn invalid_list_element_is_reported_by_its_number() {
    let sandbox = Sandbox::new();
    sandbox.write("rows.json", r#"[{"k": "a"}, 7, {"k": "b"}]"#);
    sandbox.say("shard rows.json --key k --output out").ends(1).complains("element 2");
}

#[test]
fn unknown_part_names_are_refused_with_a_suggestion() {
    let sandbox = Sandbox::new();
    sandbox.write("in/a.jpg", "1");
    sandbox.write("in/a.txt", "2");
    for dry in ["", " --dry-run"] {
        let say = |flags: &str| sandbox.say(&format!("shard in --output out {flags}{dry}"));
        say("--drop-parts jgp").ends(2).complains("--drop-parts").complains("did you mean 'jpg'?");
        say("--keep-parts jpg,xyzzy").ends(2).complains("'xyzzy'").complains("the parts are 'jpg', 'txt'");
        say("--rename-part jgp=png").ends(2).complains("--rename-part");
    }
    assert!(!sandbox.has("out"));
    sandbox.say("shard in --output out --rename-part jpg=png --drop-parts png").ends(0).says("1 sample (1 part)");
}

#[test]
fn preparation_refusals_are_reported_before_shards_are_written() {
    let sandbox = Sandbox::new();
    sandbox.write("in/a.txt", "1");
    sandbox.write("in/b.txt", "2");
    sandbox.write("in/b.cls", "2");
    let line = "shard in --output out --sample-type TextSample --field-map text=";
    for dry in ["", " --dry-run"] {
        sandbox.say(&format!("{line}nope{dry}")).ends(2).complains("'nope'").complains("the parts are");
    }
    assert!(!sandbox.has("out"));
    sandbox.say(&format!("{line}cls --dry-run")).ends(1).complains("1 of 2 samples has no part 'cls'");
    sandbox.say("shard in --output out --split-ratio 8,1,1 --dry-run").ends(0).complains("train");
    assert!(!sandbox.has("out"));
}

#[test]
fn dry_run_notes_names_cut_at_the_first_dot() {
    let sandbox = Sandbox::new();
    for version in 1..5 {
        sandbox.write(&format!("in/v1.{version}.clip.txt"), "1");
    }
    sandbox.say("shard in --output out --dry-run").ends(0).complains("first dot").complains("--key-rule last-dot");
    let ran = sandbox.say("shard in --output out --dry-run --key-rule last-dot").ends(0);
    assert!(!ran.err.contains("first dot"), "{}", ran.err);
}

#[test]
fn skipped_files_and_rows_are_in_the_findings_table() {
    let sandbox = Sandbox::new();
    sandbox.write("in/a.txt", "1");
    sandbox.write("in/noname", "1");
    sandbox.write("rows.jsonl", "{\"img\": \"a.png\"}\n{\"t\": 1}\n");
    for dry in [" --dry-run", ""] {
        sandbox.say(&format!("shard in --output out{dry}")).ends(0).says("Findings:");
    }
    sandbox.say("shard rows.jsonl --media img --output rows").ends(1).says("Findings:");
}

#[test]
fn stopped_run_of_another_command_is_kept_without_restart() {
    let sandbox = Sandbox::new();
    sandbox.write("in/a.txt", "1");
    sandbox.write("out.gristmill/journal", "");
    sandbox.write("out.gristmill/work/plan.yaml", "version: 1\ncommand: pack\n");
    for dry in ["", " --dry-run"] {
        let ran = sandbox.say(&format!("shard in --output out{dry}")).ends(1);
        ran.complains("a stopped run of `gristmill pack`").complains("--restart");
    }
    sandbox.say("shard in --output out --restart").ends(0);
}

#[test]
fn hints_for_repeated_keys_fit_the_input() {
    let sandbox = Sandbox::new();
    sandbox.tar("in/u.tar", ["a", "b", "a"]);
    sandbox.write("rows.jsonl", "{\"k\": \"a\"}\n{\"k\": \"a\"}\n");
    let ran = sandbox.say("shard in --output out").ends(1);
    ran.complains("at two places of this shard").complains("hint: --duplicates merge brings");
    sandbox.say("shard rows.jsonl --key k --output out").ends(1).complains("hint: --key number numbers the rows");
}

#[test]
fn hints_name_the_help_of_the_command_and_fit_existing_files() {
    let sandbox = Sandbox::new();
    sandbox.write("in/a.txt", "a");
    sandbox.say("shard in --output out --limit 0").ends(2).complains("`gristmill shard --help`");
    sandbox.write("mix.yaml", "mine");
    let ran = sandbox.say("shard in --output out --media-to media --metadataset mix.yaml").ends(1);
    ran.complains("the output exists already").complains("name another file");
}

#[test]
fn scattered_key_of_two_shards_is_not_merged() {
    let sandbox = Sandbox::new();
    super::raw_tar(&sandbox, "in/0.tar", &[b"a.txt", b"b.txt", b"a.json"]);
    super::raw_tar(&sandbox, "in/1.tar", &[b"a.txt"]);
    sandbox
        .say("prepare in --yes --split-ratio 1,0,0 --skip-dataset-yaml")
        .ends(1)
        .complains("--output NEW --duplicates prefix");
    sandbox.say("shard in --output new --duplicates prefix").ends(0);
}
