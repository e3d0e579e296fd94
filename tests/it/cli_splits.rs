//! The `splits` commands: changes of `split.yaml`, refusals, and exit codes.

use super::cli_support::{RunOutput, Sandbox};
use serde_json::{json, Value};

const YAML: &str = "data/.nv-meta/split.yaml";

/// Returns ten shards of three samples, prepared 8,1,1: `s_00.tar` has the keys `000` to `002`.
fn prepared() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.ten_shards();
    prepare(&sandbox, "");
    sandbox
}

fn prepare(sandbox: &Sandbox, more: &str) {
    let line = format!("prepare data --yes --split-ratio 8,1,1 --sample-type CrudeWebdataset {more}");
    sandbox.say(&line).ends(0);
}

/// Returns shards with these entries, in folders that are named like their splits.
fn with_contents(shards: &[(&str, &[(&str, &str)])]) -> Sandbox {
    let sandbox = Sandbox::new();
    for (name, entries) in shards {
        let entries: Vec<(String, Vec<u8>)> =
            entries.iter().map(|(name, text)| ((*name).to_owned(), text.repeat(40).into_bytes())).collect();
        sandbox.tar_of(&format!("data/{name}"), &entries);
    }
    sandbox
        .run(
            ["prepare", "data", "--yes", "--split-parts", "train:train/.*", "--split-parts", "val:val/.*"]
                .iter()
                .chain(&["--sample-type", "CrudeWebdataset"]),
        )
        .ends(0);
    sandbox
}

fn leaky() -> Sandbox {
    with_contents(&[
        ("train/a.tar", &[("t1.jpg", "one"), ("t1.txt", "x"), ("t2.jpg", "two"), ("t2.txt", "x"), ("t3.jpg", "three")]),
        ("val/b.tar", &[("v1.jpg", "one"), ("v1.txt", "x"), ("v2.jpg", "two"), ("v2.txt", "y"), ("v9.jpg", "nine")]),
    ])
}

/// Returns the names of all files next to `split.yaml`.
fn meta_files(sandbox: &Sandbox) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(sandbox.path("data/.nv-meta"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn split<'v>(value: &'v Value, name: &str) -> &'v Value {
    value["splits"].as_array().unwrap().iter().find(|split| split["name"] == name).unwrap()
}

#[track_caller]
fn refused(ran: RunOutput, subject: &str, hint: &str) {
    let ran = ran.ends(2).complains(subject).complains("hint: ").complains(hint);
    assert!(ran.out.is_empty(), "{}", ran.out);
}

#[test]
fn show_prints_splits_with_shares_and_unassigned_shards() {
    let sandbox = prepared();
    let ran = sandbox.say("splits show data").ends(0);
    ran.says("train       8       24  80.0 %").says("val         1        3  10.0 %");
    sandbox.say("splits move data s_00.tar --out").ends(0);
    sandbox.say("splits show data").ends(0).says("1 shard in no split (3 samples).");
}

#[test]
fn show_lists_shards_and_excludes_with_flags() {
    let sandbox = prepared();
    sandbox.run(["splits", "exclude", "data", "s_01.tar", "s_02.tar/020", "--note", "blurred"]).ends(0);
    let ran = sandbox.say("splits show data --shards --excludes").ends(0);
    let ran = ran.says("1  s_01.tar  3 samples, excluded").says("s_02.tar/020  (sample)  # blurred");
    assert!(ran.out.contains("2 excludes: excluded shards are not counted above"), "{}", ran.out);
}

#[test]
fn show_as_json_has_splits_and_excludes() {
    let sandbox = prepared();
    sandbox.run(["splits", "exclude", "data", "s_02.tar/02{0..1}", "--note", "twice"]).ends(0);
    let value = sandbox.say("splits show data --json").ends(0).json("ok");
    assert_eq!(value["command"], "splits show");
    assert_eq!(split(&value, "val")["shard_names"], json!(["s_08.tar"]));
    assert_eq!(value["in_no_split"]["shards"], 0);
    let exclude = &value["excludes"][0];
    assert_eq!(exclude["item"], "s_02.tar/02{0..1}");
    assert_eq!((&exclude["is"], &exclude["names"], &exclude["note"]), (&json!("range"), &json!(2), &json!("twice")));
}

#[test]
fn long_list_of_excludes_is_printed_whole() {
    let sandbox = prepared();
    let file = "data/.nv-meta/split.yaml";
    let text = String::from_utf8(sandbox.read(file)).unwrap();
    let items: Vec<String> = (0..2_000).map(|number| format!("s_02.tar/{number:020}")).collect();
    sandbox.write(file, text.replace("exclude: []", &format!("exclude:\n- {}", items.join("\n- "))));
    let value = sandbox.say("splits show data --json").ends(0).json("ok");
    let printed = value["excludes"].as_array().unwrap();
    assert!(printed.iter().map(|exclude| exclude["item"].as_str().unwrap()).eq(items.iter().map(String::as_str)));
}

#[test]
fn a_shard_moves_and_nothing_but_the_file_changes() {
    let sandbox = prepared();
    let before = meta_files(&sandbox);
    let ran = sandbox.say("splits move data s_07.tar --to val").ends(0);
    ran.says("'s_07.tar' moved to 'val'.").says("Written data/.nv-meta/split.yaml.");
    assert_eq!(
        sandbox.text(YAML),
        "split_parts:\n  train:\n  - s_{00..06}.tar\n  val:\n  - s_07.tar\n  - s_08.tar\n  test:\n  - s_09.tar\nexclude: []\n"
    );
    assert_eq!(meta_files(&sandbox), before);
}

#[test]
fn edits_keep_comments_quotes_and_line_ends() {
    let sandbox = prepared();
    let text = "# ours\r\nexclude:   # bad ones\r\n- 's_00.tar/000'   # eyes closed\r\nsplit_parts:\r\n  \"val\": [s_08.tar]\r\n  train:\r\n  # the old ones\r\n  - s_{00..07}.tar\r\n  test:\r\n    - s_09.tar";
    sandbox.write(YAML, text);
    sandbox.say("splits exclude data s_03.tar/030").ends(0);
    let after = sandbox.text(YAML);
    assert_eq!(after.replace("- s_03.tar/030\r\n", ""), text);
    sandbox.say("splits include data s_03.tar/030").ends(0);
    assert_eq!(sandbox.text(YAML), text);
}

#[test]
fn move_accepts_ranges_of_names_and_numbers() {
    let sandbox = prepared();
    sandbox.say("splits move data --range s_00.tar..s_02.tar --to val").ends(0).says("3 shards moved to 'val'.");
    sandbox.say("splits move data --range 3..4 --to test").ends(0);
    let value = sandbox.say("splits show data --json").json("ok");
    assert_eq!(split(&value, "val")["shard_names"], json!(["s_00.tar", "s_01.tar", "s_02.tar", "s_08.tar"]));
    assert_eq!(split(&value, "test")["shard_names"], json!(["s_03.tar", "s_04.tar", "s_09.tar"]));
}

#[test]
fn move_accepts_patterns_and_braces() {
    let sandbox = prepared();
    sandbox.run(["splits", "move", "data", "--pattern", "s_0[01]", "--to", "val"]).ends(0);
    sandbox.run(["splits", "move", "data", "s_0{2,3}.tar", "--to", "val"]).ends(0);
    let value = sandbox.say("splits show data --json").json("ok");
    assert_eq!(split(&value, "val")["shards"], 5);
}

#[test]
fn new_split_is_added_only_with_the_new_flag() {
    let sandbox = prepared();
    refused(sandbox.say("splits move data s_00.tar --to vla"), "'vla'", "did you mean 'val'? --new adds a split");
    sandbox.say("splits move data s_00.tar --to extra --new").ends(0);
    let value = sandbox.say("splits show data --json").json("ok");
    assert_eq!(split(&value, "extra")["shard_names"], json!(["s_00.tar"]));
    sandbox.say("splits move data s_01.tar --to extra --new").ends(0);
}

#[test]
fn move_of_unknown_shards_is_refused_with_suggestions() {
    let sandbox = prepared();
    refused(sandbox.say("splits move data s_7.tar --to val"), "s_7.tar", "did you mean 's_07.tar'?");
    refused(sandbox.say("splits move data --to val"), "no shard is named", "--range FIRST..LAST");
    refused(sandbox.say("splits move data --range 3..99 --to val"), "no shard number 99", "10 shards, numbered from 0");
    refused(sandbox.say("splits move data --range 4..3 --to val"), "ends before it begins", "--range 3..4");
    refused(sandbox.say("splits move data --range s_01.tar --to val"), "not a range", "FIRST..LAST");
    refused(sandbox.say("splits move data --range s_01.tar..s_99.tar --to val"), "s_99.tar", "did you mean");
    refused(sandbox.say("splits move data s_{1.tar --to val"), "s_{1.tar", "--shards");
}

#[test]
fn unmatched_move_pattern_is_refused_with_a_hint() {
    let sandbox = prepared();
    let ran = sandbox.run(["splits", "move", "data", "--pattern", "*_01.tar", "--to", "val"]).ends(2);
    ran.complains("*_01.tar").complains("hint: ");
    refused(sandbox.say("splits move data --pattern zzz --to val"), "it matches 0 of 10 shards", "regular expressions");
}

#[test]
fn move_needs_exactly_one_target() {
    let sandbox = prepared();
    sandbox.say("splits move data s_00.tar").ends(2).complains("--to <SPLIT>");
    sandbox.say("splits move data s_00.tar --to val --out").ends(2).complains("cannot be used with");
}

#[test]
fn move_into_the_current_split_does_nothing() {
    let sandbox = prepared();
    let before = sandbox.read(YAML);
    sandbox.say("splits move data s_08.tar --to val").ends(0).says("Nothing to do.");
    assert_eq!(sandbox.read(YAML), before);
    let value = sandbox.say("splits move data s_08.tar --to val --json").ends(0).json("ok");
    assert_eq!((&value["nothing_to_do"], &value["written"]), (&json!(true), &json!(false)));
}

#[test]
fn move_that_empties_a_split_is_reported_with_exit_code_0() {
    let sandbox = prepared();
    sandbox.say("splits move data s_08.tar --to train").ends(0).complains("split 'val' has no shard now");
}

#[test]
fn a_dry_run_prints_the_difference_and_writes_nothing() {
    let sandbox = prepared();
    let before = sandbox.read(YAML);
    let ran = sandbox.say("splits move data s_07.tar --to val --dry-run").ends(0);
    let ran = ran.says("- s_{00..07}.tar").says("Nothing was written.");
    assert!(ran.out.lines().any(|line| line.starts_with("+ ") && line.contains("s_{00..06}.tar")), "{}", ran.out);
    assert_eq!(sandbox.read(YAML), before);
    let value = sandbox.say("splits move data s_07.tar --to val --dry-run --json").ends(0).json("ok");
    assert_eq!((&value["dry_run"], &value["written"]), (&json!(true), &json!(false)));
    assert!(value["diff"].as_array().unwrap().iter().any(|line| line["kind"] == "added"));
    assert_eq!(sandbox.read(YAML), before);
}

#[test]
fn move_as_json_has_the_new_splits() {
    let sandbox = prepared();
    let value = sandbox.say("splits move data s_07.tar --to val --json").ends(0).json("ok");
    assert_eq!(value["command"], "splits move");
    assert_eq!((&value["written"], &value["nothing_to_do"]), (&json!(true), &json!(false)));
    assert_eq!(split(&value, "val")["samples"], 6);
    assert_eq!(split(&value, "train")["share"], 0.7);
}

#[test]
fn quiet_move_prints_nothing_and_writes() {
    let sandbox = prepared();
    let ran = sandbox.say("splits move data s_07.tar --to val -q").ends(0);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", ""));
    assert!(sandbox.text(YAML).contains("s_{00..06}"));
}

#[test]
fn exclude_notes_are_written_as_comments() {
    let sandbox = prepared();
    sandbox.run(["splits", "exclude", "data", "s_01.tar", "s_02.tar/02{0..2}", "--note", "two of: #7"]).ends(0);
    let text = sandbox.text(YAML);
    assert!(text.contains("- s_01.tar  # two of: #7\n- s_02.tar/02{0..2}  # two of: #7\n"), "{text}");
}

#[test]
fn unmatched_exclude_is_refused_with_a_suggestion() {
    let sandbox = prepared();
    let before = sandbox.read(YAML);
    refused(sandbox.say("splits exclude data s_01.tra"), "s_01.tra", "--allow-unmatched");
    refused(sandbox.say("splits exclude data s_1.tar/010"), "s_1.tar/010", "did you mean 's_01.tar/010'?");
    refused(sandbox.say("splits exclude data s_01.tar/nope"), "has no such sample", "--allow-unmatched");
    refused(sandbox.say("splits exclude data s_01.tar/x{1..9}"), "none of its names exists", "--allow-unmatched");
    assert_eq!(sandbox.read(YAML), before);
    sandbox.say("splits exclude data s_01.tar/nope --allow-unmatched").ends(0);
    assert!(sandbox.text(YAML).contains("s_01.tar/nope"));
}

#[test]
fn one_invalid_exclude_item_prevents_all_writes() {
    let sandbox = prepared();
    let before = sandbox.read(YAML);
    let value = sandbox.say("splits exclude data s_01.tar/010 s_77.tar s_88.tar --json").ends(2).json("error");
    assert_eq!(value["errors"].as_array().unwrap().len(), 2);
    assert_eq!(sandbox.read(YAML), before);
}

#[test]
fn partly_matching_exclude_range_is_noted() {
    let sandbox = prepared();
    sandbox
        .run(["splits", "exclude", "data", "s_01.tar/01{0..9}"])
        .ends(0)
        .complains("3 of its 10 names are in the data set");
}

#[test]
fn exclude_items_are_read_from_a_file() {
    let sandbox = prepared();
    sandbox.write("bad.txt", "# found by hand\ns_01.tar/010\r\n\ns_02.tar\n");
    sandbox.say("splits exclude data --from bad.txt s_03.tar/030").ends(0);
    let text = sandbox.text(YAML);
    for item in ["- s_01.tar/010\n", "- s_02.tar\n", "- s_03.tar/030\n"] {
        assert!(text.contains(item), "{text}");
    }
    sandbox.say("splits exclude data --from none.txt").ends(3).complains("none.txt");
    sandbox.write("empty.txt", "# nothing\n");
    refused(sandbox.say("splits exclude data --from empty.txt"), "nothing to exclude", "SHARD/KEY");
    sandbox.say("splits exclude data").ends(2).complains("ITEM");
}

#[test]
fn repeated_exclude_does_nothing() {
    let sandbox = prepared();
    sandbox.say("splits exclude data s_01.tar/010").ends(0);
    let before = sandbox.read(YAML);
    sandbox.say("splits exclude data s_01.tar/010").ends(0).says("Nothing to do.");
    assert_eq!(sandbox.read(YAML), before);
}

#[test]
fn excluding_a_whole_split_is_reported() {
    let sandbox = prepared();
    sandbox.say("splits exclude data s_08.tar --dry-run").ends(0).complains("split 'val' is empty: every shard of it");
    let value = sandbox.say("splits exclude data s_08.tar --json").ends(0).json("ok");
    assert_eq!(split(&value, "val")["excluded_shards"], 1);
    assert_eq!(split(&value, "val")["samples"], 0);
}

#[test]
fn excludes_without_sample_tables_are_unchecked_with_a_note() {
    let sandbox = Sandbox::new();
    sandbox.ten_shards();
    prepare(&sandbox, "--skip-sample-tables");
    sandbox.say("splits exclude data s_01.tar/nope").ends(0).complains("has no sample tables");
    assert!(sandbox.text(YAML).contains("s_01.tar/nope"));
    sandbox.say("splits check data").ends(0);
}

#[test]
fn including_one_sample_of_an_excluded_range_keeps_the_others_excluded() {
    let sandbox = prepared();
    sandbox.run(["splits", "exclude", "data", "s_01.tar/01{0..2}", "--note", "dark"]).ends(0);
    sandbox.say("splits include data s_01.tar/011").ends(0).says("'s_01.tar/011' is no longer excluded.");
    let text = sandbox.text(YAML);
    assert!(text.contains("s_01.tar/010  # dark\n") && text.contains("s_01.tar/012  # dark\n"), "{text}");
    assert!(!text.contains("011"), "{text}");
}

#[test]
fn including_an_exclude_item_as_written_removes_it() {
    let sandbox = prepared();
    sandbox.run(["splits", "exclude", "data", "s_0{1..3}.tar", "s_04.tar/040", "s_05.tar"]).ends(0);
    sandbox.run(["splits", "include", "data", "s_05.tar", "s_0{1..3}.tar"]).ends(0);
    let value = sandbox.say("splits show data --json").json("ok");
    assert_eq!(value["excludes"].as_array().unwrap().len(), 1);
    assert_eq!(value["excludes"][0]["item"], "s_04.tar/040");
}

#[test]
fn including_by_braces_changes_several_exclude_items() {
    let sandbox = prepared();
    sandbox.run(["splits", "exclude", "data", "s_0{1..3}.tar", "s_04.tar/04{0..2}", "s_05.tar/050"]).ends(0);
    sandbox.run(["splits", "include", "data", "s_0{2,3}.tar", "s_04.tar/04{0,1}", "s_05.tar/050"]).ends(0);
    let value = sandbox.say("splits show data --json").json("ok");
    let items: Vec<&str> =
        value["excludes"].as_array().unwrap().iter().map(|item| item["item"].as_str().unwrap()).collect();
    assert_eq!(items, ["s_01.tar", "s_04.tar/042"]);
}

#[test]
fn including_a_sample_removes_it_from_every_exclude_item() {
    let sandbox = prepared();
    sandbox.run(["splits", "exclude", "data", "s_01.tar/01{0..2}"]).ends(0);
    sandbox.run(["splits", "exclude", "data", "s_01.tar/011", "s_02.tar", "s_02.tar/020"]).ends(0);
    let ran = sandbox.run(["splits", "include", "data", "s_01.tar/011", "s_02.tar/020"]).ends(0);
    ran.complains("still excluded as a whole");
    let value = sandbox.say("splits show data --json").json("ok");
    let items: Vec<&str> =
        value["excludes"].as_array().unwrap().iter().map(|item| item["item"].as_str().unwrap()).collect();
    assert_eq!(items, ["s_01.tar/010", "s_01.tar/012", "s_02.tar"]);
}

#[test]
fn including_an_item_that_is_not_excluded_is_refused() {
    let sandbox = prepared();
    refused(sandbox.say("splits include data s_01.tar/010"), "no exclude names it", "--excludes lists them");
    sandbox.say("splits exclude data s_01.tar").ends(0);
    refused(sandbox.say("splits include data s_01.tar/010"), "s_01.tar/010", "the whole shard is excluded");
}

#[test]
fn balance_moves_the_fewest_shards() {
    let sandbox = prepared();
    let ran = sandbox.say("splits balance data 6,2,2").ends(0);
    ran.says("2 shards to move.").says("60.0 %").says("Written");
    let value = sandbox.say("splits show data --json").json("ok");
    let shards = |name| split(&value, name)["shards"].clone();
    assert_eq!((shards("train"), shards("val"), shards("test")), (json!(6), json!(2), json!(2)));
    sandbox.say("splits balance data 6,2,2").ends(0).says("Nothing to do.");
}

#[test]
fn balance_of_named_splits_keeps_other_splits() {
    let sandbox = prepared();
    let value = sandbox.say("splits balance data train=1,val=1 --json").ends(0).json("ok");
    assert_eq!(split(&value, "test")["shards"], 1);
    assert_eq!(
        value["balance"]["moves"].as_array().unwrap().len(),
        3 + usize::from(split(&value, "val")["shards"] == 5)
    );
    assert_eq!(value["balance"]["shares"][0]["wanted"], 0.5);
}

#[test]
fn balance_refuses_invalid_ratios() {
    let sandbox = prepared();
    let before = sandbox.read(YAML);
    for bad in ["8,1", "a,b,c", "train=8,1", "0,0,0", "8,-1,1", "train=1,train=2"] {
        sandbox.run(["splits", "balance", "data", "--", bad]).ends(2).complains("hint: ");
    }
    refused(sandbox.say("splits balance data train=8,vla=2"), "'vla'", "did you mean 'val'?");
    assert_eq!(sandbox.read(YAML), before);
    sandbox.say("splits balance data train=8,extra=2 --new").ends(0);
    assert!(sandbox.text(YAML).contains("extra:"));
}

#[test]
fn check_of_disjoint_splits_finds_no_leak() {
    let sandbox = prepared();
    sandbox.say("splits check data").ends(0).says("No leak found in 30 samples of 10 shards (names compared");
    let value = sandbox.say("splits check data --content --json").ends(0).json("ok");
    assert_eq!((&value["samples"], &value["shards"], &value["content"]), (&json!(30), &json!(10), &json!(true)));
    assert_eq!(value["leaks"], json!([]));
}

#[test]
fn check_finds_copies_and_names_both_places() {
    let sandbox = leaky();
    let ran = sandbox.say("splits check data --content").ends(1);
    let ran = ran.says("same sample in two splits: 1").says("train/a.tar/t1 [train] = val/b.tar/v1 [val]");
    let ran = ran.says("same part in two splits: 1").says("train/a.tar/t2 (jpg) [train] = val/b.tar/v2 (jpg) [val]");
    ran.says("2 leaks found in 6 samples of 2 shards").says("gristmill splits exclude data val/b.tar/v1");
    sandbox.say("splits check data").ends(0).says("--content compares what is in them");
    sandbox.say("splits check data --content --problems-ok").ends(0);
}

#[test]
fn check_as_json_lists_repairs_of_leaks() {
    let sandbox = leaky();
    let value = sandbox.say("splits check data --content --json").ends(1).json("problems");
    assert_eq!(value["command"], "splits check");
    let leak = &value["leaks"][0];
    assert_eq!(leak["kind"], "sample");
    assert_eq!(leak["places"][1], json!({ "split": "val", "shard": "val/b.tar", "key": "v1" }));
    assert_eq!(leak["repairs"][0], json!({ "way": "exclude", "keep": "train", "items": ["val/b.tar/v1"] }));
    assert_eq!(value["between"], json!([{ "splits": ["train", "val"], "leaks": 2 }]));
}

#[test]
fn leaks_are_resolved_by_exclude_and_move() {
    let sandbox = leaky();
    sandbox.say("splits exclude data val/b.tar/v1").ends(0);
    sandbox.say("splits check data --content").ends(1).says("1 leak found in 5 samples");
    sandbox.say("splits move data val/b.tar --to train").ends(0);
    sandbox.say("splits check data --content").ends(0).says("No leak found");
}

#[test]
fn excludes_of_leak_check_can_be_read_by_exclude() {
    let sandbox = leaky();
    let ran = sandbox.say("splits check data --content --excludes-to bad.txt").ends(1);
    ran.says("2 excludes written to bad.txt");
    refused(sandbox.say("splits check data --content --excludes-to bad.txt"), "bad.txt", "a new file");
    sandbox.say("splits exclude data --from bad.txt").ends(0);
    sandbox.say("splits check data --content").ends(0).says("No leak found in 4 samples");
}

#[test]
fn leak_check_can_be_limited_by_part_and_size() {
    let sandbox = leaky();
    let ran = sandbox.say("splits check data --content --part txt --smallest-part 8").ends(1);
    ran.says("train/a.tar/t1 (txt)");
    sandbox.say("splits check data --content --smallest-part 1K").ends(0);
    sandbox.say("splits check data --part txt").ends(2).complains("--content");
}

#[test]
fn check_shows_mistakes_in_the_file() {
    let sandbox = prepared();
    sandbox.write(
        YAML,
        "split_parts:\n  train:\n  - s_{00..08}.tar\n  val:\n  - s_08.tar\n  - s_99.tar\n  test: []\nexclude:\n- s_01.tar/zz\n",
    );
    let ran = sandbox.say("splits check data").ends(1);
    let ran =
        ran.complains("s_99.tar").complains("names no sample that is there").complains("in both 'train' and 'val'");
    ran.says("same shard in two splits: 1").says("s_08.tar [train] = s_08.tar [val]");
    let value = sandbox.say("splits check data --json").ends(1).json("problems");
    let kinds: Vec<&str> =
        value["problems"].as_array().unwrap().iter().map(|problem| problem["kind"].as_str().unwrap()).collect();
    assert!(kinds.contains(&"matches-nothing") && kinds.contains(&"shard-in-two-splits"), "{kinds:?}");
}

#[test]
fn shared_names_of_different_folders_are_reported_without_failure() {
    let sandbox =
        with_contents(&[("train/a.tar", &[("one/img_4711.jpg", "a")]), ("val/b.tar", &[("two/img_4711.jpg", "b")])]);
    let ran = sandbox.say("splits check data").ends(0);
    ran.says("same name: 1, in different folders").says("train/a.tar/one/img_4711 [train]").says("No leak found");
}

#[test]
fn diff_compares_with_the_newest_backup_or_a_file() {
    let sandbox = prepared();
    refused(sandbox.say("splits diff data"), "no backup", "gristmill splits diff data FILE");
    sandbox.write("data/.nv-meta/split.yaml.bak-20250101T000000Z", "split_parts: {}\nexclude: []\n");
    sandbox.write("data/.nv-meta/split.yaml.bak-20260101T000000Z", sandbox.read(YAML));
    sandbox.say("splits diff data").ends(0).says("No difference.");
    sandbox.say("splits move data s_07.tar --to val").ends(0);
    sandbox.say("splits exclude data s_01.tar").ends(0);
    let ran = sandbox.say("splits diff data").ends(0);
    ran.says("s_07.tar: train -> val").says("1 exclude added, 0 excludes removed.");
    let file = "data/.nv-meta/split.yaml.bak-20250101T000000Z";
    let value = sandbox.run(["splits", "diff", "data", file, "--json"]).ends(0).json("ok");
    assert_eq!(value["moved"].as_array().unwrap().len(), 10);
    assert_eq!(value["excludes_added"], json!(["s_01.tar"]));
    sandbox.say("splits diff data none.yaml").ends(3).complains("none.yaml");
}

#[test]
fn splits_editor_without_a_terminal_names_the_commands() {
    let sandbox = prepared();
    let value = sandbox.say("splits data --json").ends(2).json("error");
    assert_eq!(value["command"], "splits");
    refused(sandbox.say("splits data"), "not a terminal", "gristmill splits show data prints them");
    sandbox.say("splits").ends(2).complains("<PATH>");
}

#[test]
fn splits_of_unprepared_data_are_refused_with_their_kind() {
    let sandbox = Sandbox::new();
    sandbox.ten_shards();
    sandbox.say("splits show data").ends(1).complains("not prepared").complains("gristmill prepare");
    sandbox.write("x.jsonl", "{\"text\": \"a\"}\n");
    sandbox.say("splits show x.jsonl").ends(2).complains("a JSONL file has no splits");
    sandbox.write("m.yaml", "__module__: megatron.energon\n__class__: MetadatasetV2\nsplits: {}\n");
    sandbox.say("splits check m.yaml").ends(2).complains("metadataset");
    std::fs::create_dir(sandbox.path("empty")).unwrap();
    sandbox.say("splits show empty").ends(2).complains("without tar shards");
    sandbox.say("splits show nowhere").ends(3).complains("nowhere");
    sandbox.say("splits show s3://").ends(2).complains("it has no bucket");
}

#[test]
fn invalid_split_yaml_is_reported_with_its_line_and_unchanged() {
    let sandbox = prepared();
    sandbox.write(YAML, "split_parts:\n  train:\n  - [\n");
    sandbox.say("splits show data").ends(1).complains("split.yaml").complains("line");
    sandbox.say("splits move data s_01.tar --to val").ends(1).complains("split.yaml");
    assert_eq!(sandbox.text(YAML), "split_parts:\n  train:\n  - [\n");
    std::fs::remove_file(sandbox.path(YAML)).unwrap();
    sandbox.say("splits show data").ends(1).complains("no such file").complains("--update");
}

#[test]
fn a_split_json_is_shown_and_not_edited() {
    let sandbox = prepared();
    std::fs::remove_file(sandbox.path(YAML)).unwrap();
    sandbox.write("data/.nv-meta/split.json", r#"{"split_parts": {"train": ["s_{00..09}.tar"]}, "exclude": []}"#);
    sandbox.say("splits show data").ends(0).says("train      10       30");
    sandbox.say("splits exclude data s_01.tar").ends(2).complains("split.json").complains("rename it to split.yaml");
}

#[test]
fn splits_locked_by_another_process_are_not_written() {
    let sandbox = prepared();
    let before = sandbox.read(YAML);
    let lock = r#"{"process":{"host":"elsewhere","pid":7,"boot_id":"x","started":1}}"#;
    sandbox.write("data/.nv-meta/gristmill/lock", lock);
    // Splits wait for a lock that was written recently.
    let file = std::fs::File::options().write(true).open(sandbox.path("data/.nv-meta/gristmill/lock")).unwrap();
    file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    sandbox.say("splits exclude data s_01.tar").ends(3).complains("--break-lock");
    assert_eq!(sandbox.read(YAML), before);
    sandbox.say("splits exclude data s_01.tar --break-lock").ends(0);
}

#[test]
fn a_folder_without_write_access_is_an_environment_failure() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = prepared();
    let meta = sandbox.path("data/.nv-meta");
    // An obstacle for every user, including root.
    std::fs::remove_dir_all(meta.join("gristmill")).unwrap();
    sandbox.write("data/.nv-meta/gristmill", "in the way");
    sandbox.say("splits exclude data s_01.tar").ends(3);
    std::fs::remove_file(meta.join("gristmill")).unwrap();
    let mode = std::fs::metadata(sandbox.path(YAML)).unwrap().permissions().mode();
    std::fs::set_permissions(sandbox.path(YAML), PermissionsExt::from_mode(0o640)).unwrap();
    sandbox.say("splits exclude data s_01.tar").ends(0);
    assert_eq!(std::fs::metadata(sandbox.path(YAML)).unwrap().permissions().mode() & 0o777, 0o640, "was {mode:o}");
}

#[test]
fn names_with_braces_blanks_and_quotes_are_escaped_and_found() {
    let sandbox = Sandbox::new();
    sandbox.tar("data/odd {1}/it's.tar", ["k{2}", "#3", "a: b", "{c,d}", "back\\slash"]);
    sandbox.tar("data/plain.tar", ["p"]);
    sandbox.run(["prepare", "data", "--yes", "--split-ratio", "1,1,0", "--sample-type", "CrudeWebdataset"]).ends(0);
    let shard = "odd {1}/it's.tar";
    sandbox.run(["splits", "move", "data", shard, "--to", "val"]).ends(0);
    for key in ["k{2}", "#3", "a: b", "{c,d}", "back\\slash"] {
        sandbox.run(["splits", "exclude", "data", &format!("{shard}/{key}")]).ends(0);
    }
    let value = sandbox.say("splits show data --json").json("ok");
    assert!(split(&value, "val")["shard_names"].as_array().unwrap().contains(&json!(shard)), "{value:#}");
    assert_eq!(value["excludes"].as_array().unwrap().len(), 5);
    sandbox.say("splits check data").ends(0);
    for key in ["k{2}", "{c,d}", "back\\slash"] {
        sandbox.run(["splits", "include", "data", &format!("{shard}/{key}")]).ends(0);
    }
    let value = sandbox.say("splits show data --json").json("ok");
    assert_eq!(value["excludes"].as_array().unwrap().len(), 2);
}

#[test]
fn splits_commands_escape_control_characters_of_names() {
    let sandbox = Sandbox::new();
    sandbox.tar("data/a\u{1b}[31m.tar", ["k\u{1b}]0;x\u{7}"]);
    sandbox.tar("data/b.tar", ["q"]);
    sandbox.run(["prepare", "data", "--yes", "--split-ratio", "1,1,0", "--sample-type", "CrudeWebdataset"]).ends(0);
    for line in [
        "splits show data --shards --excludes",
        "splits check data --content -v",
        "splits move data b.tar --to train --dry-run",
    ] {
        let ran = sandbox.say(line).ends(0);
        assert!(!ran.out.contains('\u{1b}') && !ran.err.contains('\u{1b}'), "{line}: {:?} {:?}", ran.out, ran.err);
    }
}

#[test]
fn every_command_has_help() {
    let sandbox = Sandbox::new();
    sandbox.say("splits --help").ends(0).says("balance").says("Without a command the editor opens");
    for command in ["show", "move", "exclude", "include", "balance", "check", "diff"] {
        sandbox.say(&format!("splits {command} --help")).ends(0).says("Prepared data set").says("--dry-run");
    }
}

#[test]
fn an_unknown_command_or_flag_is_named() {
    let sandbox = prepared();
    sandbox.say("splits move data s_00.tar --too val").ends(2).complains("--too").complains("--to");
    let value = sandbox.say("splits move data --json --too val").ends(2).json("error");
    assert_eq!(value["command"], "splits move");
}

#[test]
fn diff_with_draft_shows_unwritten_changes_of_the_editor() {
    let sandbox = prepared();
    refused(sandbox.say("splits diff data --draft"), "has no unwritten changes", "without --draft");
    let before = sandbox.text(YAML);
    let root = sandbox.path("data").canonicalize().unwrap();
    let hash = xxhash_rust::xxh3::xxh3_128(root.as_os_str().as_encoded_bytes());
    let mut editor = gristmill_ops::engine::splits::SplitEditor::open(&root, None).unwrap();
    editor
        .apply(gristmill_ops::engine::splits::Edit::MoveShards {
            shards: vec!["s_07.tar".into()],
            to: Some("val".into()),
        })
        .unwrap();
    let draft = serde_json::to_string(&editor.draft().unwrap()).unwrap();
    sandbox.write(&format!("../home/state/gristmill/drafts/{hash:032x}.splits.json"), &draft);
    let ran = sandbox.say("splits diff data --draft").ends(0);
    ran.says("1 change not written yet").says("s_07.tar: train -> val");
    sandbox.say("splits exclude data s_01.tar").ends(0);
    let value = sandbox.say("splits diff data --draft --json").ends(0).json("ok");
    assert_eq!(value["is_stale"], json!(true));
    assert_eq!(value["not_applied"], json!(0));
    assert_eq!(value["moved"][0]["shard"], json!("s_07.tar"));
    assert_eq!(value["excludes_added"], json!([]));
    assert!(!sandbox.text(YAML).contains("val:\n- s_07"), "browsing writes nothing");
    assert_ne!(sandbox.text(YAML), before, "the exclude was");
}

#[test]
fn a_split_whose_samples_are_all_excluded_is_a_problem() {
    let sandbox = prepared();
    let lint = || sandbox.say("lint data");
    lint().ends(0);
    // The last of the ten shards.
    sandbox.say("splits exclude data s_09.tar/{090..092}").ends(0);
    lint().ends(1).complains("every sample of split 'test' is excluded");
}

#[test]
fn leaks_of_single_parts_write_no_excludes() {
    let sandbox = Sandbox::new();
    let picture = Sandbox::jpeg(9, 9);
    for (split, texts) in [("train", 0..60), ("val", 60..62)] {
        let parts = |text: u8| [(format!("{text:02}.jpg"), picture.clone()), (format!("{text:02}.txt"), vec![text])];
        sandbox.tar_of(&format!("data/{split}/a.tar"), &texts.flat_map(parts).collect::<Vec<_>>());
    }
    let patterns = "--split-parts train:train/.* --split-parts val:val/.*";
    sandbox.say(&format!("prepare data --yes {patterns} --skip-dataset-yaml")).ends(0);
    let ran = sandbox.say("splits check data --content --smallest-part 1 --excludes-to bad.txt");
    assert!(ran.out.contains("and 58 more") && !ran.out.contains("Next:"), "{}", ran.out);
    ran.says("bad.txt is not written");
    assert!(!sandbox.has("bad.txt"));
}
