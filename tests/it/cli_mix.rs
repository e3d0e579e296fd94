//! Metadatasets on the command line.

use super::cli_support::{golden_dir, Sandbox};
use std::path::Path;

fn copy(from: &Path, to: &Path) {
    for entry in walkdir::WalkDir::new(from).min_depth(1).into_iter().filter_map(Result::ok) {
        let target = to.join(entry.path().strip_prefix(from).unwrap());
        if entry.path().is_dir() {
            std::fs::create_dir_all(&target).unwrap();
        } else {
            std::fs::copy(entry.path(), &target).unwrap();
        }
    }
}

/// Returns a sandbox with the data sets that the reference prepared and joined.
fn joins() -> Sandbox {
    let sandbox = Sandbox::new();
    copy(&golden_dir("join_index").join("input"), &sandbox.path("."));
    sandbox
}

/// Returns two prepared data sets of 20 samples each, one typed, one crude, and a JSONL file of three lines.
fn house() -> Sandbox {
    let sandbox = Sandbox::new();
    for (root, sample_type) in
        [("a", "--sample-type TextSample --field-map text=txt"), ("b", "--sample-type CrudeWebdataset")]
    {
        for (shard, first) in [("x0.tar", 0), ("x1.tar", 10)] {
            sandbox.tar(&format!("{root}/{shard}"), (first..first + 10).map(|n| format!("k{n:03}")));
        }
        sandbox.say(&format!("prepare {root} --yes --split-ratio 1,1,0 {sample_type}")).ends(0);
    }
    sandbox.write("c.jsonl", "{\"image\": \"k001.txt\"}\n{\"image\": \"lost.jpg\"}\n{}\n");
    sandbox.say("prepare c.jsonl").ends(0);
    sandbox
}

/// Returns the rows of an index of two columns, sorted.
fn sorted_rows(bytes: &[u8]) -> Vec<&[u8]> {
    let mut rows: Vec<&[u8]> = bytes[16..].chunks(48).collect();
    rows.sort();
    rows
}

#[test]
fn the_join_indexes_of_the_reference_are_written_byte_for_byte() {
    let sandbox = joins();
    for name in ["skip", "none", "all", "two_ways"] {
        sandbox.say(&format!("prepare {name}.yaml")).ends(0);
        let cache = format!("{name}.yaml.cache");
        let expected = golden_dir("join_index").join("expected").join(&cache);
        let files = |dir: &Path| {
            let mut names: Vec<_> = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            names.sort();
            names
        };
        assert_eq!(files(&sandbox.path(&cache)), files(&expected), "{name}");
        for file in files(&expected) {
            let ours = std::fs::read(sandbox.path(&cache).join(&file)).unwrap();
            let theirs = std::fs::read(expected.join(&file)).unwrap();
            if name == "skip" {
                // The reference does not define the order within a shard: it depends on SQLite, which here follows the excludes of the
                // second member.
                assert_eq!(sorted_rows(&ours), sorted_rows(&theirs), "{name}");
            } else {
                assert_eq!(ours, theirs, "{name}");
            }
        }
        assert!(!sandbox.has(&format!("{name}.yaml.gristmill")));
        sandbox.say(&format!("prepare {name}.yaml")).ends(0).says("Nothing to do");
        sandbox.say(&format!("verify {name}.yaml")).ends(0).says("No problem found in 1 join");
        sandbox.say(&format!("energon prepare {name}.yaml")).ends(0);
    }
    sandbox.say("prepare none.yaml --force-overwrite").ends(0).says("10 samples without three");
}

#[test]
fn verify_finds_missing_or_damaged_join_indexes() {
    let sandbox = joins();
    sandbox.say("prepare all.yaml").ends(0).says("Prepared all.yaml");
    let index = std::fs::read_dir(sandbox.path("all.yaml.cache")).unwrap().next().unwrap().unwrap().path();
    let mut bytes = std::fs::read(&index).unwrap();
    bytes[30] ^= 1;
    std::fs::write(&index, &bytes).unwrap();
    sandbox.say("verify all.yaml").ends(1).complains("row 0 differs");
    std::fs::write(&index, b"JIDX").unwrap();
    sandbox.say("verify all.yaml").ends(1).complains("its header alone has 16");
    std::fs::remove_file(&index).unwrap();
    sandbox.say("verify all.yaml").ends(1).complains("the index of the join is not there");
    sandbox.say("lint all.yaml").ends(1).complains("not there yet");
}

#[test]
fn join_with_missing_samples_is_refused_with_the_first_key() {
    let sandbox = joins();
    sandbox.write("bad.yaml", sandbox.text("skip.yaml").replace(", nonmatch: skip", ""));
    let ran = sandbox.say("prepare bad.yaml").ends(1).complains("'two' lacks 1 of the 16 samples of 'one': 'k017'");
    ran.complains("nonmatch: skip");
    assert!(!sandbox.has("bad.yaml.cache"));
    assert!(!sandbox.has("bad.yaml.gristmill"));
}

#[test]
fn a_blend_is_written_checked_and_shown_with_bars() {
    let sandbox = house();
    let written = sandbox.say("mix new --blend a=3 --blend b --blend c.jsonl=1 --output out.yaml --ascii").ends(0);
    written.says("Written out.yaml").says("60.0 % #######.....").says("20.0 %");
    let text = sandbox.text("out.yaml");
    assert!(text.starts_with("__module__: megatron.energon\n__class__: MetadatasetV2\nsplits:\n  train:\n    blend:\n    - path: a\n      weight: 3\n"), "{text}");
    assert!(text.contains("  val:\n") && !text.contains("  test:\n"), "{text}");
    let found = sandbox.say("mix check out.yaml --json").ends(0).json("ok");
    assert_eq!(found["command"], "mix check");
    assert_eq!(found["splits"][0]["root"]["children"][0]["share"], 0.6);
    assert_eq!(found["splits"][0]["root"]["samples_per_epoch"], 23);
    sandbox.say("lint out.yaml").ends(0).says("No problem found in out.yaml, version 2");
    sandbox.say("info out.yaml").ends(0).says("version: 2").says("60.0 %");
    sandbox.say("prepare out.yaml").ends(0).says("no join");
}

#[test]
fn an_epochized_blend_counts_samples_per_epoch() {
    let sandbox = house();
    sandbox.say("mix new --epochized a=2.5 --epochized b --subset b=0%,50% --split train --output out.yaml").ends(0);
    let found = sandbox.say("mix check out.yaml --json").ends(0).json("ok");
    assert_eq!(found["splits"][0]["root"]["samples_per_epoch"], 30);
    sandbox.say("mix check out.yaml").ends(0).says("train: 30 samples an epoch").says("2.5 times, 25 an epoch");
}

#[test]
fn different_metadataset_is_replaced_only_with_force_overwrite() {
    let sandbox = house();
    sandbox.say("mix new --blend a --output out.yaml").ends(0);
    sandbox.say("mix new --blend a --output out.yaml").ends(0).says("Nothing to do");
    sandbox
        .say("mix new --blend b --output out.yaml")
        .ends(1)
        .complains("another file of that name")
        .complains("--force-overwrite");
    assert!(sandbox.text("out.yaml").contains("path: a\n"));
    sandbox.say("mix new --blend b --output out.yaml --force-overwrite").ends(0).says("replacing");
    assert!(sandbox.text("out.yaml").contains("path: b\n"));
}

#[test]
fn member_paths_are_relative_to_the_metadataset() {
    let sandbox = house();
    std::fs::create_dir_all(sandbox.path("deep/er")).unwrap();
    sandbox
        .say("mix new --blend a --blend c.jsonl --output deep/er/m.yaml --dry-run")
        .ends(0)
        .says("path: ../../a")
        .says("Nothing was written");
    assert!(!sandbox.has("deep/er/m.yaml"));
    sandbox.say("mix new --blend a --blend c.jsonl --output deep/er/m.yaml").ends(0);
    assert!(sandbox.text("deep/er/m.yaml").contains("path: ../../c.jsonl"));
}

#[test]
fn aux_sources_are_written_for_crude_members_and_missing_media_reported() {
    let sandbox = house();
    let ran = sandbox.say("mix new --blend c.jsonl --blend a --aux m=b --output out.yaml").ends(1);
    ran.complains("1 of 2 names of media in 3 of its records are in none of its aux sources, for example 'lost.jpg'");
    let text = sandbox.text("out.yaml");
    assert_eq!(text.matches("aux:").count(), 1, "a JSONL file is part of train alone: {text}");
    assert!(text.contains("  val:\n    blend:\n    - path: a\n"), "{text}");
    sandbox.say("mix new --blend a --aux m=b --output x.yaml").ends(2).complains("no member is crude or JSONL");
    sandbox.say("mix new --blend nope.jsonl --aux m=b --output x.yaml").ends(3).complains("nope.jsonl");
    sandbox.say("mix new --blend b --aux m --output x.yaml").ends(2).complains("not of the form NAME=PATH");
}

#[test]
fn join_is_written_prepared_and_rewritten_from_its_plan() {
    let sandbox = joins();
    let line = "mix new --join text=one --join more=two --joiner my.module:join_them --nonmatch more=none --output j.yaml --save-plan plan.yaml";
    sandbox.say(line).ends(0).says("gristmill prepare j.yaml makes the join");
    let text = sandbox.text("j.yaml");
    assert!(text.contains("      text:\n        path: one\n") && text.contains("nonmatch: none"), "{text}");
    sandbox.say("prepare j.yaml").ends(0).says("16 samples joined of 16 samples, 1 sample without two");
    std::fs::remove_file(sandbox.path("j.yaml")).unwrap();
    sandbox.say("run plan.yaml").ends(0);
    assert_eq!(sandbox.text("j.yaml").matches("path: ").count(), 2);
    assert!(sandbox.text("plan.yaml").contains("command: mix"));
    sandbox.say("mix new --join one --join two --output k.yaml").ends(2).complains("--joiner");
}

#[test]
fn saved_mix_plan_writes_the_same_file_from_any_folder() {
    let sandbox = house();
    let whole = sandbox.path("b");
    std::fs::create_dir_all(sandbox.path("media")).unwrap();
    std::fs::create_dir_all(sandbox.path("elsewhere")).unwrap();
    let line = format!(
        "mix new --blend ./a=2 --blend {} --blend c.jsonl --aux m=b --aux f=filesystem://media --aux w=filesystem://{} --output mixes/out.yaml --save-plan plan.yaml",
        whole.display(),
        sandbox.path("media").display()
    );
    std::fs::create_dir_all(sandbox.path("mixes")).unwrap();
    sandbox.say(&line);
    let text = sandbox.text("mixes/out.yaml");
    assert!(text.contains("path: ../a\n") && text.contains(&format!("path: {}\n", whole.display())), "{text}");
    assert!(text.contains("filesystem://../media\n") && text.contains("m: ../b\n"), "{text}");
    std::fs::remove_file(sandbox.path("mixes/out.yaml")).unwrap();
    let mut command = sandbox.command(["run", "../plan.yaml"]);
    command.current_dir(sandbox.path("elsewhere"));
    command.output().unwrap();
    assert_eq!(sandbox.text("mixes/out.yaml"), text);
}

#[test]
fn saved_plan_of_a_metadataset_prepare_runs() {
    let sandbox = joins();
    sandbox
        .say(
            "mix new --join text=one --join more=two --joiner my.module:join_them --nonmatch more=none --output k.yaml",
        )
        .ends(0);
    let dry = sandbox.say("prepare k.yaml --dry-run --save-plan again.yaml --json").ends(0).json("ok");
    assert_eq!(dry["plan"]["path"], "k.yaml");
    assert!(!sandbox.path("k.yaml.cache").exists());
    sandbox.say("run again.yaml").ends(0).says("joined of");
    assert!(sandbox.path("k.yaml.cache").is_dir());
    sandbox.say("run again.yaml").ends(0).says("Nothing to do.");
}

#[test]
fn metadataset_mistakes_are_reported_with_line_column_and_hint() {
    let sandbox = house();
    sandbox.write("bad.yaml", "__module__: megatron.energon\n__class__: MetadatasetV2\nsplits:\n  train:\n    blend:\n    - {path: a, wieght: 2}\n    - path: nowhere\n");
    let ran = sandbox.say("mix check bad.yaml").ends(1).complains("line 6, column 17");
    ran.complains("no key 'wieght'").complains("did you mean 'weight'?").says("The loader stops at 1 place");
    sandbox.write("bad.yaml", "__module__: megatron.energon\n__class__: MetadatasetV2\nsplits:\n  train:\n    blend:\n    - {path: a, weight: 0}\n    - {path: b, weight: 0}\n");
    sandbox.say("mix check bad.yaml").ends(1).complains("'weight' is 0");
    let ran = sandbox.say("prepare bad.yaml").ends(1).complains("line 6, column 25").complains("line 7, column 25");
    assert_eq!(ran.err.matches("error: ").count(), 2, "each once: {}", ran.err);
    let found = sandbox.say("prepare bad.yaml --json").ends(1).json("refused");
    assert_eq!(found["errors"].as_array().unwrap().len(), 2);
    assert_eq!(found["problems"][0]["subject"]["line"], 6);
    assert_eq!(found["problems"][0]["subject"]["column"], 25);
}

#[test]
fn alias_bombs_cycles_and_non_utf8_metadatasets_are_refused() {
    let sandbox = house();
    let bomb: String = (0..9)
        .map(|n| {
            format!(
                "a{n}: &a{n} [{}]\n",
                ["x"; 9].map(|x| if n == 0 { x.to_owned() } else { format!("*a{}", n - 1) }).join(", ")
            )
        })
        .collect();
    sandbox.write("bomb.yaml", bomb);
    sandbox.say("mix check bomb.yaml").ends(1).complains("an alias");
    sandbox.write(
        "circle.yaml",
        "__module__: megatron.energon\n__class__: MetadatasetV2\nsplits:\n  train: {path: circle.yaml}\n",
    );
    sandbox.say("mix check circle.yaml").ends(1).complains("in a cycle");
    sandbox.write("not.yaml", [0xff, 0xfe, b'a']);
    sandbox.say("mix check not.yaml").ends(1).complains("no UTF-8 text");
    sandbox.say("mix check none.yaml").ends(3).complains("no such file");
    sandbox.say("mix check a").ends(2).complains("ends in .yaml");
    sandbox.say("prepare circle.yaml --media-metadata-by-header").ends(2).complains("no media metadata");
    sandbox.say("prepare circle.yaml --split-ratio 8,1,1").ends(2).complains("has no effect for a metadataset");
    sandbox.say("energon prepare circle.yaml --media-metadata-by-header").ends(1).complains("no media metadata");
}

#[test]
fn invalid_flags_of_mix_new_are_refused() {
    let sandbox = house();
    for (line, why) in [
        ("mix new --output x.yaml", "members not given"),
        ("mix new --blend a", "--output"),
        ("mix new --blend a --epochized b --output x.yaml", "cannot be used with"),
        ("mix new --blend a=none --output x.yaml", "is not a number"),
        ("mix new --blend a=0 --output x.yaml", "above 0"),
        ("mix new --blend a --output x.yml", "must end in .yaml"),
        ("mix new --blend a --split-part z=val --output x.yaml", "is not a member"),
        ("mix new --blend a --subset a=5 --output x.yaml", "is not a range"),
        ("mix new --blend a --subset a=5,3 --output x.yaml", "ends before it begins"),
    ] {
        sandbox.say(line).ends(2).complains(why);
    }
    sandbox.say("mix new --blend a --blend nowhere --output x.yaml").ends(3).complains("no such file or folder");
    sandbox
        .say("mix new --blend a --split test --output x.yaml")
        .ends(1)
        .complains("split 'test' of")
        .complains("is empty");
    assert!(!sandbox.has("x.yaml"));
}

#[test]
fn join_that_omits_member_splits_reports_them() {
    let sandbox = house();
    let line = "mix new --join text=a --join more=b --joiner my.module:join_them --output j.yaml";
    let ran = sandbox.say(line).ends(0);
    ran.complains("only the split train is written; the members have val too").complains("--split NAME");
    let value = sandbox.say(&format!("{line} --json")).ends(0).json("ok");
    assert_eq!(value["notes"].as_array().unwrap().len(), 1);
    let ran = sandbox.say(&format!("{line} --split val --force-overwrite")).ends(0);
    assert!(!ran.err.contains("only the split"), "{}", ran.err);
}
