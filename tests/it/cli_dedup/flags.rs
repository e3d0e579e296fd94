//! Effects of the flags, and combinations that they refuse.

use super::*;

const PASSAGE: &str = "a passage that comes twice, or more often than that";

fn two(sandbox: &Sandbox) {
    sandbox.write("data/a.jsonl", jsonl([PASSAGE, "one", PASSAGE]));
    sandbox.write("data/b.jsonl", jsonl([PASSAGE, "two"]));
}

#[test]
fn dedup_names_flags_of_missing_answers() {
    let sandbox = Sandbox::new();
    two(&sandbox);
    sandbox.say("dedup").ends(2).complains("--minlen").complains("--output").complains("--from-index");
    sandbox.say("dedup data --minlen 20 --yes").ends(2).complains("--output");
    sandbox.say("dedup data --output out --yes").ends(2).complains("--minlen");
    let result = sandbox.say("dedup data --output out --json").ends(2).json("error");
    assert_eq!(result["command"], "dedup");
    assert!(!sandbox.has("out"));
}

#[test]
fn invalid_dedup_flags_are_refused_before_writing() {
    let sandbox = Sandbox::new();
    two(&sandbox);
    let refused = [
        ("--minlen 0 --output out", "--minlen"),
        ("--minlen 20 --output data", "the output is the input"),
        ("--minlen 20 --output data/out", "the output is in the input"),
        ("--minlen 20 --output .", "the output holds the input"),
        ("--minlen 20 --output out --against data", "the earlier set is the input"),
        ("--minlen 20 --output out --min-count 1", "--min-count"),
        ("--minlen 20 --output out --shards 3", "--shards"),
        ("--minlen 20 --output out --table", "--table"),
        ("--minlen 20 --output out --annotate-key a.b", "--annotate-key"),
        ("--minlen 20 --output out --mode annotate --annotate-key text.b", "--annotate-key"),
        ("--minlen 20 --output out --export-index out/index", "is in the output"),
        ("--minlen 20 --output out --from-index data", "--from-index"),
        ("--minlen many --output out", "--minlen"),
    ];
    for (flags, why) in refused {
        sandbox.say(&format!("dedup data {flags}")).ends(2).complains(why);
        assert!(!sandbox.has("out") && !sandbox.has("out.gristmill"), "{flags}");
    }
    sandbox.say("dedup nowhere --minlen 20 --output out").ends(3).complains("nowhere");
    sandbox.write("none/notes.txt", "x");
    sandbox.say("dedup none --minlen 20 --output out").ends(2).complains("there is no file with .json in its name");
    assert!(!sandbox.has("out") && !sandbox.has("out.gristmill"));
}

#[test]
fn same_dedup_plan_does_nothing_and_different_plan_is_refused() {
    let sandbox = Sandbox::new();
    two(&sandbox);
    sandbox.say("dedup data --minlen 20 --output out").ends(0).says("Deduplicated 2 files").says("Repeated most");
    let before = picture(&sandbox.path(""));
    sandbox.say("dedup data --minlen 20 --output out").ends(0).says("Nothing to do");
    sandbox.say("dedup data --minlen 30 --output out").ends(1).complains("min-length: 20 → 30");
    assert_same(&picture(&sandbox.path("")), &before, "nothing was touched");
    sandbox.say("dedup data --minlen 60 --output out --force-overwrite").ends(0);
    assert_eq!(texts_of(&sandbox.read("out/b.jsonl")), [PASSAGE, "two"]);
    sandbox.write("data/b.jsonl", jsonl(["three"]));
    sandbox.say("dedup data --minlen 60 --output out").ends(1).complains("b.jsonl has changed");
    std::fs::remove_file(sandbox.path("data/b.jsonl")).unwrap();
    sandbox.say("dedup data --minlen 60 --output out --force-overwrite").ends(0);
    assert!(!sandbox.has("out/b.jsonl"), "what an earlier run made and this one does not is gone");
    // Files that the program did not write are not overwritten.
    sandbox.write("mine/a.jsonl", "mine");
    sandbox.say("dedup data --minlen 60 --output mine").ends(1).complains("there is something in it already");
    assert_eq!(sandbox.text("mine/a.jsonl"), "mine");
}

#[test]
fn copies_of_an_earlier_set_are_removed_and_it_is_unchanged() {
    let sandbox = Sandbox::new();
    two(&sandbox);
    sandbox.write("old/z.jsonl", jsonl([PASSAGE, PASSAGE]));
    let before = picture(&sandbox.path("old"));
    let result = sandbox.say("dedup data --minlen 20 --output out --against old --json").ends(0).json("ok");
    assert_eq!(result["files"], 2);
    assert_eq!(result["totals"]["documents"], 5);
    assert_eq!(texts_of(&sandbox.read("out/a.jsonl")), ["", "one", ""]);
    assert_eq!(texts_of(&sandbox.read("out/b.jsonl")), ["", "two"]);
    assert_same(&picture(&sandbox.path("old")), &before, "the earlier set");
    assert!(!sandbox.has("out/z.jsonl"));
}

#[test]
fn keep_and_min_count_decide_which_copies_are_removed() {
    let sandbox = Sandbox::new();
    two(&sandbox);
    let a = |output: &str| texts_of(&sandbox.read(&format!("{output}/a.jsonl")));
    let b = |output: &str| texts_of(&sandbox.read(&format!("{output}/b.jsonl")));
    sandbox.say("dedup data --minlen 20 --output none --keep none").ends(0);
    assert_eq!((a("none"), b("none")), (vec!["".into(), "one".into(), "".into()], vec!["".into(), "two".into()]));
    sandbox.say("dedup data --minlen 20 --output three --min-count 3").ends(0);
    assert_eq!(a("three"), [PASSAGE, "one", ""]);
    sandbox.say("dedup data --minlen 20 --output four --min-count 4").ends(0);
    assert_eq!(
        (a("four"), b("four")),
        (vec![PASSAGE.into(), "one".into(), PASSAGE.into()], vec![PASSAGE.into(), "two".into()])
    );
    sandbox.say("dedup data --minlen 20 --output both --keep none --min-count 3").ends(0);
    assert_eq!(a("both"), ["", "one", ""]);
}

#[test]
fn text_key_selects_the_deduplicated_field() {
    let sandbox = Sandbox::new();
    let line = format!("{{\"id\": 1, \"body\": \"{PASSAGE}\", \"text\": \"x\"}}\n");
    sandbox.write("data/a.jsonl", line.repeat(2));
    sandbox.say("dedup data --minlen 20 --output out --text-key body").ends(0);
    let out = sandbox.text("out/a.jsonl");
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines[0], format!("{{\"body\": \"{PASSAGE}\", \"id\": 1, \"text\": \"x\"}}"));
    assert_eq!(lines[1], "{\"body\": \"\", \"id\": 1, \"text\": \"x\"}");
}

#[test]
fn annotate_key_and_variant_decide_where_ranges_are_listed() {
    let sandbox = Sandbox::new();
    two(&sandbox);
    let last = |output: &str| {
        let text = sandbox.text(&format!("{output}/b.jsonl"));
        serde_json::from_str::<Value>(text.lines().next().unwrap()).unwrap()
    };
    let length = PASSAGE.len();
    sandbox.say("dedup data --minlen 20 --output a --mode annotate --annotate-key x.y.z").ends(0).says("Listed");
    assert_eq!(last("a")["x"]["y"]["z"], serde_json::json!([[0, length]]));
    assert_eq!(last("a")["text"], PASSAGE);
    sandbox.say("dedup data --minlen 20 --output b --mode annotate --variant b").ends(0);
    assert_eq!(last("b")["sa_remove_ranges"], serde_json::json!([[0, length]]));
    sandbox.say("dedup data --minlen 20 --output c --mode annotate --variant B --compat").ends(0);
    assert!(sandbox.has("c_annotated/b.jsonl") && !sandbox.has("c"));
}

#[test]
fn a_dry_run_reports_and_writes_nothing() {
    let sandbox = Sandbox::new();
    sandbox.write("data/a.jsonl", jsonl(some_texts(300)));
    let before = picture(&sandbox.path(""));
    sandbox.say("dedup data --minlen 60 --dry-run").ends(0).says("would be removed").says("Repeated most");
    let estimate = sandbox.say("dedup data --minlen 60 --output out --dry-run --json").ends(0).json("ok");
    assert_same(&picture(&sandbox.path("")), &before, "nothing is written");
    let result = sandbox.say("dedup data --minlen 60 --output out --json").ends(0).json("ok");
    assert_eq!(estimate["lengths"][0]["removed_bytes"], result["totals"]["range_bytes"], "all of it was looked at");
    assert_eq!(estimate["documents"], 300);
    assert_eq!(estimate["equivalent_command"], result["equivalent_command"]);
    sandbox
        .say("dedup data --minlen 60 --output out --dry-run")
        .ends(0)
        .says("Nothing to do.")
        .says("At a minimum length of 60 bytes")
        .leaves_out("Would deduplicate");
    sandbox.say("dedup data --minlen 61 --output out --dry-run").ends(1).complains("another plan");
}

#[test]
fn saved_dedup_plan_runs_from_any_folder() {
    let sandbox = Sandbox::new();
    two(&sandbox);
    sandbox.say("dedup data --minlen 20 --output out --mode annotate --save-plan plan.yaml --dry-run").ends(0);
    assert!(sandbox.text("plan.yaml").contains("min-length: 20"));
    let plan = sandbox.path("plan.yaml");
    let mut command = sandbox.command(["run", plan.to_str().unwrap()]);
    assert!(command.current_dir("/").status().unwrap().success());
    assert!(sandbox.text("out/b.jsonl").contains("\"sa_remove_ranges\": [[0, "));
    sandbox.say("dedup data --minlen 20 --output out --mode annotate").ends(0).says("Nothing to do");
}

#[test]
fn suffix_table_too_large_for_memory_is_refused_with_shards_hint() {
    let sandbox = Sandbox::new();
    for number in 0..8 {
        sandbox.write(&format!("data/{number}.jsonl"), jsonl(some_texts(100)));
    }
    let line = "dedup data --minlen 60 --output out --export-index index --table --memory 4M";
    let ran = sandbox.say(line).ends(2).complains("--shards");
    let hint = ran.err.split("--shards ").nth(1).unwrap().split_whitespace().next().unwrap().to_owned();
    assert!(!sandbox.has("out") && !sandbox.has("index"));
    sandbox.say(&format!("{line} --shards {hint}")).ends(0).says("Exported");
    assert!(sandbox.has("index/0/table"));
}

#[test]
fn dedup_escapes_control_characters_of_names_and_passages() {
    let sandbox = Sandbox::new();
    let text = format!("\u{1b}[2J{PASSAGE}\u{202e}");
    sandbox.write("data/\u{1b}[31m.jsonl", jsonl([&text, &text]));
    let ran = sandbox.say("dedup data --minlen 20 --output out").ends(0);
    assert!(!ran.out.contains('\u{1b}') && !ran.out.contains('\u{202e}'), "{:?}", ran.out);
    let ran = sandbox.say("dedup data --minlen 20 --dry-run").ends(0);
    assert!(!ran.out.contains('\u{1b}') && !ran.out.contains('\u{202e}'), "{:?}", ran.out);
}

#[test]
fn dedup_announces_scratch_space_and_removes_it() {
    let sandbox = Sandbox::new();
    sandbox.write("data/a.jsonl", jsonl(some_texts(3_000)));
    std::fs::create_dir(sandbox.path("scratch")).unwrap();
    let ran = sandbox.say("dedup data --minlen 60 --output out --memory 1M --scratch scratch").ends(0);
    assert!(ran.err.contains("Scratch: about"), "{}", ran.err);
    assert!(std::fs::read_dir(sandbox.path("scratch")).unwrap().next().is_none());
    let wanted = slowly(&some_texts(3_000), 60);
    assert!(texts_of(&sandbox.read("out/a.jsonl")) == wanted);
}

#[test]
fn repeated_dedup_reports_the_recorded_figures() {
    let sandbox = Sandbox::new();
    two(&sandbox);
    let line = "dedup data --minlen 20 --output out";
    let first = sandbox.say(&format!("{line} --json")).ends(0).json("ok");
    let again = sandbox.say(&format!("{line} --json")).ends(0).json("ok");
    assert_eq!((&first["nothing_to_do"], &again["nothing_to_do"]), (&false.into(), &true.into()));
    for field in ["totals", "per_file", "passages", "files"] {
        assert_eq!(first[field], again[field], "{field}");
    }
    let removed = first["totals"]["removed_bytes"].as_u64().unwrap();
    assert_eq!(removed, 2 * PASSAGE.len() as u64);
    sandbox.say(line).ends(0).says("Nothing to do").says(&format!("Removed {removed} B")).says("in 2 ranges");
    // The dry run reports the exact result of that run, regardless of the part of the text that an estimate would read.
    let dry = sandbox.say(&format!("{line} --dry-run --json")).ends(0).json("ok");
    let length = &dry["lengths"][0];
    assert_eq!((&length["removed_bytes"], &length["is_exact"]), (&removed.into(), &true.into()));
    assert_eq!(dry["passages"], first["passages"]);
}
