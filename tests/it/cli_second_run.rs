//! Second runs and excludes: new flags apply, and earlier decisions stay.

use crate::cli_support::Sandbox;

const LINE: &str = "prepare data --yes --split-ratio 8,1,1 --sample-type TextSample --field-map text=txt";

fn prepared(more: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.ten_shards();
    sandbox.say(&format!("{LINE} {more}")).ends(0);
    sandbox
}

#[test]
fn update_without_new_shards_applies_new_answers() {
    let sandbox = prepared("");
    sandbox.say("prepare data --yes --update").ends(0).says("Nothing to do");
    let dry = sandbox.say("prepare data --update --dry-run").ends(0).says("Nothing to do: data is prepared");
    assert!(!dry.out.contains("replaced"), "{}", dry.out);
    let more = "prepare data --update --exclude-sample s_03.tar/031 --dry-run";
    sandbox.say(more).ends(0).says("Would prepare data").says("replaced");
    sandbox.say("prepare data --yes --update --exclude-sample s_03.tar/031").ends(0);
    assert!(sandbox.text("data/.nv-meta/split.yaml").ends_with("exclude:\n- s_03.tar/031\n"));
    sandbox.say("prepare data --yes --update --exclude-sample s_03.tar/031").ends(0).says("Nothing to do");
    sandbox.say("prepare data --yes --update --sample-type CrudeWebdataset").ends(0);
    assert!(sandbox.text("data/.nv-meta/dataset.yaml").contains("CrudeWebdataset"));
    sandbox.say("prepare data --yes --update --exclude s_09").ends(0);
    assert!(!sandbox.text("data/.nv-meta/.info.json").contains("s_09.tar"));
    assert!(sandbox.text("data/.nv-meta/split.yaml").ends_with("exclude:\n- s_03.tar/031\n"), "earlier excludes stay");
    sandbox.say("lint data").ends(0);
}

#[test]
fn excluded_shard_is_not_a_new_shard_for_update() {
    let sandbox = prepared("--exclude s_09");
    sandbox.say("prepare data --yes --update").ends(0).says("Nothing to do");
    sandbox.say(&format!("{LINE} --exclude s_09 --dry-run")).ends(0);
    sandbox.tar("data/s_10.tar", ["new"]);
    sandbox.tar("data/t_11.tar", ["other"]);
    let ran = sandbox.say("prepare data --yes --update --exclude s_09 --exclude t_11").ends(0);
    ran.says("1 shard new: s_10.tar").leaves_out("t_11.tar:");
    let info = sandbox.text("data/.nv-meta/.info.json");
    assert!(info.contains("s_10.tar") && !info.contains("s_09.tar") && !info.contains("t_11.tar"), "{info}");
    sandbox.say("prepare data --yes --update").ends(0).says("Nothing to do");
}

#[test]
fn exclude_of_a_missing_shard_is_reported_until_it_is_removed() {
    let sandbox = prepared("--exclude-sample s_03.tar/031");
    std::fs::remove_file(sandbox.path("data/s_03.tar")).unwrap();
    let message = "'s_03.tar/031': this exclude, kept from before, matches nothing";
    sandbox.say("prepare data --yes --update").ends(1).complains(message);
    for flags in ["", "--dry-run"] {
        sandbox.say(&format!("prepare data --yes --update {flags}")).ends(1).says("Nothing to do").complains(message);
    }
    let way_out = "gristmill splits include data s_03.tar/031";
    sandbox.say("prepare data --yes --update").ends(1).complains(way_out);
    sandbox.say(&format!("{} --yes", way_out.trim_start_matches("gristmill "))).ends(0);
    sandbox.say("prepare data --yes --update").ends(0).says("Nothing to do");
}

#[test]
fn update_keeps_sample_tables_disabled() {
    let sandbox = prepared("--skip-sample-tables");
    sandbox.tar("data/s_10.tar", ["000"]);
    sandbox.say("prepare data --yes --update").ends(0);
    assert!(!sandbox.has("data/.nv-meta/index.sqlite"));
}

#[test]
fn removed_split_is_not_restored_by_update() {
    let sandbox = prepared("");
    sandbox.write("data/.nv-meta/split.yaml", "split_parts:\n  train:\n  - s_{00..07}.tar\n  val: []\nexclude: []\n");
    sandbox.tar("data/s_10.tar", ["new"]);
    sandbox.say("prepare data --yes --update").ends(0);
    let splits = sandbox.text("data/.nv-meta/split.yaml");
    assert_eq!(splits, "split_parts:\n  train:\n  - s_{00..07}.tar\n  val:\n  - s_10.tar\nexclude: []\n");
}

#[test]
fn later_runs_ignore_rewritten_tgz() {
    let sandbox = Sandbox::new();
    sandbox.ten_shards();
    let mut gzip = std::process::Command::new("gzip");
    let packed = gzip.arg("-n").arg("-c").arg(sandbox.path("data/s_09.tar")).output();
    let Ok(packed) = packed else { return };
    std::fs::remove_file(sandbox.path("data/s_09.tar")).unwrap();
    sandbox.write("data/z.tgz", packed.stdout);
    sandbox.say(&format!("{LINE} --tgz rewrite")).ends(0);
    sandbox.say("lint data").ends(0);
    sandbox.say("prepare data --yes --update").ends(0).says("Nothing to do");
}

#[test]
fn excludes_of_missing_samples_are_reported() {
    let sandbox = Sandbox::new();
    sandbox.ten_shards();
    let line = format!("{LINE} --exclude-sample s_00.tar/nope --exclude-sample s_0{{1..2}}.tar/010");
    let value = sandbox.say(&format!("{line} --json")).ends(1).json("problems");
    assert_eq!(value["counts"]["problem"]["matches-nothing"], 1);
    assert_eq!(value["counts"]["note"]["matches-nothing"], 1, "one of two names is there");
    assert_eq!(value["problems"][0]["subject"]["field"], "s_00.tar/nope");
}

#[test]
fn equivalent_command_with_split_lists_runs_the_recorded_plan() {
    let sandbox = Sandbox::new();
    sandbox.ten_shards();
    sandbox.write("mine.yaml", "split_parts:\n  train:\n  - s_{00..08}.tar\n  val:\n  - s_09.tar\n");
    let line = "prepare data --yes --splits-from mine.yaml --skip-dataset-yaml --json";
    let dry = sandbox.say(&format!("{line} --dry-run")).ends(0).json("ok");
    assert!(dry["equivalent_files"]["splits.yaml"].as_str().unwrap().contains("s_{00..08}.tar"));
    let done = sandbox.say(line).ends(0).json("ok");
    let command = done["equivalent_command"].as_str().unwrap().to_owned();
    assert_eq!(command, "gristmill run data/.nv-meta/gristmill/plan.yaml");
    sandbox.say(command.strip_prefix("gristmill ").unwrap()).ends(0).says("Nothing to do");
}

#[test]
fn update_does_not_replace_an_invalid_split_yaml() {
    let sandbox = prepared("--exclude-sample s_00.tar/000");
    let broken = "split_parts: [\nexclude:\n- s_00.tar/000\n";
    sandbox.write("data/.nv-meta/split.yaml", broken);
    sandbox.tar("data/s_10.tar", ["new"]);
    sandbox.say("prepare data --yes --update").ends(1).complains("split.yaml").complains("--force-overwrite");
    assert_eq!(sandbox.text("data/.nv-meta/split.yaml"), broken);
    sandbox.say(&format!("{LINE} --force-overwrite")).ends(1).complains("split.yaml");
    let kept = std::fs::read_dir(sandbox.path("data/.nv-meta")).unwrap();
    assert!(kept.filter_map(Result::ok).any(|entry| entry.file_name().to_string_lossy().contains("split.yaml.bak-")));
}

#[test]
fn missing_access_by_name_without_tables_is_noted() {
    let sandbox = Sandbox::new();
    sandbox.ten_shards();
    sandbox.say(&format!("{LINE} --skip-sample-tables")).ends(0).complains("access by name");
    sandbox.say(LINE).ends(1).complains("files made: all but index.sqlite → all");
}

#[test]
fn deleted_or_damaged_prepared_files_are_rewritten() {
    let sandbox = prepared("");
    let whole = sandbox.read("data/s_03.tar.idx");
    let damages: [(&str, &dyn Fn()); 4] = [
        ("no index", &|| std::fs::remove_file(sandbox.path("data/s_03.tar.idx")).unwrap()),
        ("a cut index", &|| sandbox.write("data/s_03.tar.idx", &whole[..8])),
        ("no tables", &|| std::fs::remove_file(sandbox.path("data/.nv-meta/index.sqlite")).unwrap()),
        ("no splits", &|| std::fs::remove_file(sandbox.path("data/.nv-meta/split.yaml")).unwrap()),
    ];
    for (name, damage) in damages {
        for line in ["prepare data --yes --update", LINE] {
            if name == "no splits" && line != LINE {
                continue;
            }
            damage();
            // The missing splits are reported, too.
            let ran = sandbox.say(line).ends(i32::from(name == "no splits"));
            assert!(!ran.out.contains("Nothing to do"), "{name}, {line}: {}", ran.out);
            assert_eq!(sandbox.read("data/s_03.tar.idx"), whole, "{name}, {line}");
            sandbox.say("verify data").ends(0);
            sandbox.say("lint data").ends(0);
            sandbox.say(line).ends(0).says("Nothing to do");
        }
    }
}

#[test]
fn problems_of_unchanged_shards_are_repeated_by_later_runs() {
    let sandbox = Sandbox::new();
    sandbox.ten_shards();
    let bytes = sandbox.read("data/s_03.tar");
    sandbox.write("data/s_03.tar", &bytes[..bytes.len() / 2]);
    for says_nothing_to_do in [false, true, true] {
        let ran = sandbox.say(LINE).ends(1).complains("s_03.tar");
        assert_eq!(ran.out.contains("Nothing to do"), says_nothing_to_do, "{}", ran.out);
    }
    sandbox.say("prepare data --yes --update").ends(1).complains("s_03.tar").says("Nothing to do");
    for line in [LINE, "prepare data --update"] {
        let dry = sandbox.say(&format!("{line} --dry-run")).ends(1);
        assert!(format!("{}{}", dry.out, dry.err).contains("s_03.tar"), "{line}: {}{}", dry.out, dry.err);
    }
    sandbox.write("data/s_03.tar", bytes);
    for _ in 0..2 {
        sandbox.say("prepare data --yes --update").ends(0);
    }
}

#[test]
fn edited_splits_and_yaml_survive_rewriting_of_deleted_files() {
    for gone in ["data/s_02.tar.idx", "data/.nv-meta/index.sqlite", "data/.nv-meta/index.uuid"] {
        let sandbox = prepared("");
        sandbox.say("splits move data s_00.tar --to test").ends(0);
        sandbox.say("splits exclude data s_01.tar s_02.tar/021").ends(0);
        let yaml = sandbox.text("data/.nv-meta/dataset.yaml") + "# mine\n";
        sandbox.write("data/.nv-meta/dataset.yaml", &yaml);
        let splits = sandbox.text("data/.nv-meta/split.yaml");
        std::fs::remove_file(sandbox.path(gone)).unwrap();
        let dry = sandbox.say(&format!("{LINE} --dry-run")).ends(0);
        assert!(dry.out.contains("Would prepare data") && !dry.out.contains("Nothing to do"), "{gone}: {}", dry.out);
        let ran = sandbox.say(LINE).ends(0);
        assert!(!ran.out.contains("othing to do") && sandbox.has(gone), "{gone}: {}", ran.out);
        assert_eq!(sandbox.text("data/.nv-meta/dataset.yaml"), yaml, "{gone}");
        assert_eq!(sandbox.text("data/.nv-meta/split.yaml"), splits, "{gone}");
        sandbox.say(LINE).ends(0).says("Nothing to do");
        sandbox.say("lint data").ends(0);
    }
    for line in [LINE, "prepare data --yes --update"] {
        let sandbox = prepared("");
        let yaml = sandbox.text("data/.nv-meta/dataset.yaml");
        std::fs::remove_file(sandbox.path("data/.nv-meta/dataset.yaml")).unwrap();
        sandbox.say(line).ends(0);
        assert_eq!(sandbox.text("data/.nv-meta/dataset.yaml"), yaml, "{line}");
        sandbox.say(line).ends(0).says("Nothing to do");
    }
}

#[test]
fn update_reports_problems_of_unread_shards() {
    let sandbox = Sandbox::new();
    sandbox.ten_shards();
    let bytes = sandbox.read("data/s_03.tar");
    sandbox.write("data/s_03.tar", &bytes[..bytes.len() / 2]);
    sandbox.say(LINE).ends(1).complains("s_03.tar");
    sandbox.tar("data/s_10.tar", ["new"]);
    sandbox.say("prepare data --yes --update").ends(1).complains("s_03.tar");
    sandbox.say("prepare data --yes --update").ends(1).complains("s_03.tar").says("Nothing to do");
    // A sample that the user has excluded since is no longer a problem.
    sandbox.say("splits exclude data s_03.tar").ends(0);
    sandbox.say("prepare data --yes --update").ends(0).says("Nothing to do");
}

#[test]
fn duplicates_are_rechecked_when_the_first_copies_change() {
    for leaves in ["gone", "another", "renamed"] {
        let sandbox = Sandbox::new();
        sandbox.ten_shards();
        sandbox.tar("data/s_10.tar", ["001", "new", "002"]);
        let line = format!("{LINE} --duplicates keep-first");
        sandbox.say(&line).ends(1).complains("the later one is excluded");
        assert!(sandbox.text("data/.nv-meta/split.yaml").contains("s_10.tar/001"));
        sandbox.say("splits exclude data s_05.tar/051").ends(0);
        let first = sandbox.path("data/s_00.tar");
        match leaves {
            "gone" => std::fs::remove_file(first).unwrap(),
            "another" => sandbox.tar("data/s_00.tar", ["other"]),
            _ => std::fs::rename(first, sandbox.path("data/z.tar")).unwrap(),
        }
        sandbox
            .say("prepare data --update --dry-run")
            .says("2 exclude items of damaged or doubled samples decided again");
        let code = i32::from(leaves != "another");
        let ran = sandbox.say("prepare data --yes --update").ends(code);
        assert!(
            !ran.err.contains("matches nothing") && !ran.err.contains("stands in s_00.tar"),
            "{leaves}: {}",
            ran.err
        );
        let splits = sandbox.text("data/.nv-meta/split.yaml");
        // If the same samples are in a later shard, too, those are now excluded.
        let excludes: &[&str] = match leaves {
            "renamed" => &["s_05.tar/051", "z.tar/001", "z.tar/002"],
            _ => &["s_05.tar/051"],
        };
        let found: Vec<&str> = splits.lines().filter_map(|line| line.strip_prefix("- ")).collect();
        assert_eq!(found, excludes, "{leaves}: {splits}");
        sandbox.say("lint data").ends(0);
        sandbox.say("verify data").ends(0);
    }
}

#[test]
fn manual_exclude_of_a_duplicate_key_is_kept() {
    let sandbox = Sandbox::new();
    sandbox.ten_shards();
    sandbox.tar("data/s_10.tar", ["twice", "between", "twice"]);
    sandbox.say(&format!("{LINE} --duplicates keep-first")).ends(1).complains("neither is excluded");
    sandbox.say("splits exclude data s_10.tar/twice").ends(0);
    sandbox.tar("data/s_10.tar", ["twice", "between", "twice", "more"]);
    sandbox.say("prepare data --yes --update").ends(1).says("1 exclude item kept");
    assert!(sandbox.text("data/.nv-meta/split.yaml").ends_with("exclude:\n- s_10.tar/twice\n"));
}

#[test]
fn manual_exclude_that_equals_an_automatic_one_is_kept() {
    for by_plan in [false, true] {
        let sandbox = Sandbox::new();
        sandbox.ten_shards();
        match by_plan {
            true => {
                sandbox.tar("data/s_10.tar", ["new", "001"]);
                sandbox.say(&format!("{LINE} --exclude-sample s_10.tar/001 --duplicates keep-first")).ends(1);
                sandbox.say(&format!("{LINE} --force-overwrite --duplicates keep-first")).ends(1);
            }
            false => {
                sandbox.tar("data/s_10.tar", ["new", "last"]);
                sandbox.say(LINE).ends(0);
                sandbox.say("splits exclude data s_10.tar/last").ends(0);
                sandbox.tar("data/s_00.tar", ["000", "last"]);
                sandbox.say("prepare data --yes --update --duplicates keep-first").ends(1);
            }
        }
        let excluded = if by_plan { "s_10.tar/001" } else { "s_10.tar/last" };
        let splits = || sandbox.text("data/.nv-meta/split.yaml");
        assert!(splits().ends_with(&format!("exclude:\n- {excluded}\n")), "{}", splits());
        // Another update reads neither of the shards again.
        sandbox.tar("data/s_11.tar", ["another"]);
        sandbox.say("prepare data --yes --update");
        // The first duplicate no longer exists, so no run needs the exclude.
        sandbox.tar("data/s_00.tar", ["other"]);
        sandbox.say("prepare data --yes --update").ends(0).says("1 exclude item kept");
        assert!(splits().ends_with(&format!("exclude:\n- {excluded}\n")), "{}", splits());
    }
}

#[test]
fn automatic_excludes_are_removed_when_the_damage_is_repaired() {
    let sandbox = Sandbox::new();
    sandbox.ten_shards();
    let sound = sandbox.read("data/s_03.tar");
    let mut damaged = sound.clone();
    // The header of the second sample.
    damaged[1024 + 10] ^= 0xff;
    sandbox.write("data/s_03.tar", &damaged);
    sandbox.say(LINE).ends(1).complains("s_03.tar");
    assert!(sandbox.text("data/.nv-meta/split.yaml").contains("- s_03.tar/031"));
    sandbox.say("splits exclude data s_05.tar/051").ends(0);
    for flags in ["--update", "--update"] {
        // Nothing changes until the shard is repaired.
        sandbox.say(&format!("prepare data --yes {flags}")).ends(1).says("Nothing to do");
    }
    sandbox.write("data/s_03.tar", &sound);
    sandbox.say("prepare data --yes --update").ends(0).says("decided again").says("1 exclude item kept");
    let splits = sandbox.text("data/.nv-meta/split.yaml");
    assert!(splits.ends_with("exclude:\n- s_05.tar/051\n"), "{splits}");
    sandbox.say("lint data").ends(0);
}

#[test]
fn edited_yaml_files_are_kept_as_backups() {
    let sandbox = prepared("");
    let edited = format!("{}subflavors:\n  kind: mine\n", sandbox.text("data/.nv-meta/dataset.yaml"));
    sandbox.write("data/.nv-meta/dataset.yaml", &edited);
    sandbox.say(&format!("{LINE} --force-overwrite")).ends(0).says(".nv-meta/dataset.yaml.bak-");
    let kept = |start: &str| -> Vec<String> {
        let names = std::fs::read_dir(sandbox.path("data/.nv-meta")).unwrap().map(|entry| entry.unwrap().file_name());
        let names = names.map(|name| name.to_str().unwrap().to_owned()).filter(|name| name.starts_with(start));
        names.map(|name| sandbox.text(&format!("data/.nv-meta/{name}"))).collect()
    };
    assert_eq!(kept("dataset.yaml.bak-"), [edited]);
    // An unchanged file is not backed up.
    sandbox.say(&format!("{LINE} --force-overwrite")).ends(0);
    assert_eq!(kept("dataset.yaml.bak-").len(), 1);
    // Counts that another program also wrote as YAML are not backed up either, because users do not edit them.
    sandbox.write("data/.nv-meta/.info.yaml", "shard_counts:\n  s_00.tar: 1\n");
    sandbox.say(&format!("{LINE} --force-overwrite")).ends(0);
    assert!(sandbox.text("data/.nv-meta/.info.yaml").contains("s_09.tar") && kept(".info.yaml.bak-").is_empty());
    std::fs::remove_file(sandbox.path("data/.nv-meta/.info.yaml")).unwrap();
    // Without the counts the data set is not prepared, but its splits are still backed up.
    sandbox.say("splits exclude data s_05.tar/051").ends(0);
    std::fs::remove_file(sandbox.path("data/.nv-meta/.info.json")).unwrap();
    sandbox.say(LINE).ends(0).says(".nv-meta/split.yaml.bak-");
    assert!(kept("split.yaml.bak-").iter().any(|text| text.contains("s_05.tar/051")));
}

#[test]
fn deleted_split_yaml_is_rewritten_by_update() {
    let sandbox = prepared("");
    let splits = sandbox.text("data/.nv-meta/split.yaml");
    std::fs::remove_file(sandbox.path("data/.nv-meta/split.yaml")).unwrap();
    let ran = sandbox.say("prepare data --yes --update");
    assert!(!ran.out.contains("Nothing to do"), "{}", ran.out);
    assert_eq!(sandbox.text("data/.nv-meta/split.yaml"), splits);
    sandbox.say("prepare data --yes --update").ends(0).says("Nothing to do");
}

#[test]
fn update_reports_that_split_ratio_moves_no_shards() {
    let sandbox = prepared("");
    let splits = sandbox.text("data/.nv-meta/split.yaml");
    let message = "an update leaves shards in the splits that they are in";
    for flags in ["--dry-run", ""] {
        sandbox.say(&format!("prepare data --yes --update --split-ratio 1,1,0 {flags}")).ends(0).complains(message);
        assert_eq!(sandbox.text("data/.nv-meta/split.yaml"), splits);
    }
    assert!(!sandbox.say("prepare data --yes --update").ends(0).err.contains(message));
}

#[test]
fn run_with_nothing_to_do_counts_samples_without_excludes() {
    let sandbox = prepared("");
    sandbox.say("splits exclude data s_00.tar").ends(0);
    let count = |flags: &str| {
        let report = sandbox.say(&format!("prepare data --yes --update --json {flags}")).ends(0).json("ok");
        (report["splits"][0]["shards"].clone(), report["splits"][0]["samples"].clone(), report["excludes"].clone())
    };
    assert_eq!(count(""), count("--dry-run"));
    assert_eq!(count("").2, 1);
}

/// Checks a run, and the same run again with the reason for its exit code, which `--problems-ok` changes.
fn assert_earlier_problems_are_repeated(sandbox: &Sandbox, line: &str, problems: u64, first: &str) {
    sandbox.say(line).ends(1).leaves_out("The run that made it");
    let all = gristmill_core::text::count(problems, "problem");
    let reason = format!("{all} found; the first: ");
    let again = sandbox.say(line).ends(1).says("Nothing to do").says(&reason).says("hint: with --problems-ok");
    assert!(again.out.lines().any(|text| text.starts_with(&reason) && text.contains(first)), "{}", again.out);
    let lenient = sandbox.say(&format!("{line} --problems-ok")).ends(0).says(&reason);
    assert!(!lenient.out.contains("hint: with --problems-ok"), "{}", lenient.out);
    let report = sandbox.say(&format!("{line} --json")).ends(1).json("problems");
    let earlier = &report["earlier_problems"];
    assert_eq!(earlier["count"], problems, "{report}");
    assert!(earlier["first"].to_string().contains(first) && earlier["hint"].as_str().is_some(), "{report}");
}

#[test]
fn run_with_nothing_to_do_reports_the_problems_that_decide_its_exit_code() {
    let sandbox = Sandbox::new();
    sandbox.ten_shards();
    let bytes = sandbox.read("data/s_03.tar");
    sandbox.write("data/s_03.tar", &bytes[..bytes.len() / 2]);
    sandbox.say(&format!("{LINE} --save-plan plan.yaml")).ends(1);
    let found = sandbox.say("run plan.yaml --json").ends(1).json("problems");
    let kinds = found["counts"]["problem"].as_object().unwrap();
    let problems: u64 = kinds.values().filter_map(serde_json::Value::as_u64).sum();
    assert_eq!((&found["earlier_problems"]["count"], problems > 0), (&problems.into(), true), "{found}");
    let reason = format!("{problems} problem");
    for line in ["run plan.yaml", "prepare data --yes --update", LINE] {
        sandbox.say(line).ends(1).says("Nothing to do").says(&reason).says("s_03.tar").says("hint: with --problems-ok");
        sandbox.say(&format!("{line} --problems-ok")).ends(0).says(&reason);
    }
}

#[test]
fn pack_dedup_and_saved_plans_repeat_earlier_problems() {
    let sandbox = Sandbox::new();
    // More problems than are listed individually.
    let lines = format!("{{\"text\": \"whole\"}}\n{}", "no json\n".repeat(1_234));
    sandbox.write("in/a.jsonl", lines);
    sandbox.write("one/a.jsonl", "{\"text\": \"whole\"}\nno json\n");
    let tokenizer = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/modalities/tokenizers/bpe1k/tokenizer.json");
    let flags = "--format nanosets --eos-token <|endoftext|> --output packed";
    let pack = format!("pack in/a.jsonl {flags} --tokenizer {tokenizer}");
    assert_earlier_problems_are_repeated(&sandbox, &pack, 1_234, "a.jsonl");
    assert_earlier_problems_are_repeated(&sandbox, "dedup one --minlen 20 --output out", 1, "a.jsonl");
    assert_earlier_problems_are_repeated(&sandbox, "dedup in --minlen 20 --output many", 1_234, "a.jsonl");
    sandbox.say("dedup one --minlen 20 --output out --save-plan plan.yaml").ends(1);
    std::fs::remove_dir_all(sandbox.path("out")).unwrap();
    assert_earlier_problems_are_repeated(&sandbox, "run plan.yaml", 1, "a.jsonl");
}
