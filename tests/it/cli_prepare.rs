//! `prepare` and related commands with flags: written files, refusals, and exit codes.

use super::cli_support::Sandbox;

const TEXT: &str = "--yes --sample-type TextSample --field-map text=txt";

fn prepared() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.ten_shards();
    sandbox.say(&format!("prepare data --split-ratio 8,1,1 {TEXT}")).ends(0);
    sandbox
}

#[test]
fn prepare_reports_contents_equivalent_command_and_next_step() {
    let sandbox = Sandbox::new();
    sandbox.ten_shards();
    let ran = sandbox.say(&format!("prepare data --split-ratio 8,1,1 {TEXT}")).ends(0);
    let ran = ran.says("10 shards, 30 samples, 60 parts").says("80.0 %").says(".nv-meta/.info.json");
    let ran =
        ran.says("gristmill prepare data --yes --split-ratio 8,1,1 --sample-type TextSample --field-map text=txt");
    assert!(ran.out.contains("Next:") && ran.out.contains("gristmill info data"), "{}", ran.out);
    assert!(ran.err.is_empty(), "{}", ran.err);
    sandbox.say("info data").ends(0).says("samples: 30").says("TextSample");
}

#[test]
fn equivalent_command_of_prepare_writes_the_same_splits() {
    let sandbox = Sandbox::new();
    sandbox.ten_shards();
    let value =
        sandbox.say(&format!("prepare data --split-ratio 7,2,1 --exclude s_03 {TEXT} --json")).ends(0).json("ok");
    let command = value["equivalent_command"].as_str().unwrap().strip_prefix("gristmill ").unwrap();
    let splits = sandbox.read("data/.nv-meta/split.yaml");
    std::fs::remove_dir_all(sandbox.path("data/.nv-meta")).unwrap();
    sandbox.say(&format!("{command} --yes")).ends(0);
    assert_eq!(splits, sandbox.read("data/.nv-meta/split.yaml"));
}

#[test]
fn written_files_have_the_permissions_of_the_first_shard() {
    use std::os::unix::fs::PermissionsExt as _;
    let sandbox = Sandbox::new();
    sandbox.tar("data/s.tar", ["0"]);
    std::fs::set_permissions(sandbox.path("data/s.tar"), std::fs::Permissions::from_mode(0o640)).unwrap();
    sandbox.say(&format!("prepare data --split-ratio 1,0,0 {TEXT}")).ends(0);
    for name in ["split.yaml", "gristmill/report.json", "gristmill/plan.yaml"] {
        let facts = std::fs::metadata(sandbox.path(&format!("data/.nv-meta/{name}"))).unwrap();
        assert_eq!(facts.permissions().mode() & 0o777, 0o640, "{name}");
    }
}

#[test]
fn repeated_prepare_does_nothing() {
    let sandbox = prepared();
    let uuid = sandbox.read("data/.nv-meta/index.uuid");
    sandbox.say(&format!("prepare data --split-ratio 8,1,1 {TEXT}")).ends(0).says("Nothing to do");
    assert_eq!(uuid, sandbox.read("data/.nv-meta/index.uuid"));
}

#[test]
fn another_plan_on_a_prepared_data_set_is_refused() {
    let sandbox = prepared();
    let ran = sandbox.say(&format!("prepare data --split-ratio 1,1,1 {TEXT}")).ends(1);
    ran.complains("--update").complains("--force-overwrite");
    let value = sandbox.say(&format!("prepare data --split-ratio 1,1,1 {TEXT} --json")).ends(1).json("refused");
    assert_eq!(value["error"]["class"], "data");
}

#[test]
fn force_overwrite_keeps_excludes_and_a_backup() {
    let sandbox = Sandbox::new();
    sandbox.ten_shards();
    sandbox.say(&format!("prepare data --split-ratio 8,1,1 {TEXT} --exclude-sample s_00.tar/001")).ends(0);
    sandbox.say(&format!("prepare data --split-ratio 1,1,1 {TEXT} --force-overwrite")).ends(0);
    assert!(sandbox.text("data/.nv-meta/split.yaml").contains("s_00.tar/001"));
    let names: Vec<String> = std::fs::read_dir(sandbox.path("data/.nv-meta"))
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(names.iter().any(|name| name.starts_with("split.yaml.bak-")), "{names:?}");
    sandbox.say(&format!("prepare data --split-ratio 1,1,2 {TEXT} --force-overwrite --reset-excludes")).ends(0);
    assert!(!sandbox.text("data/.nv-meta/split.yaml").contains("s_00.tar/001"));
}

#[test]
fn update_adds_new_shards_to_the_given_split() {
    let sandbox = prepared();
    sandbox.tar("data/s_10.tar", ["100", "101"]);
    sandbox.say("prepare data --yes --update --new-to val").ends(0).says("11 shards");
    let splits = sandbox.text("data/.nv-meta/split.yaml");
    let val = splits.split("val:").nth(1).unwrap().split("test:").next().unwrap();
    assert!(val.contains("s_10.tar"), "{splits}");
    sandbox.say("lint data").ends(0);
}

#[test]
fn bad_ratios_are_usage_errors() {
    let sandbox = Sandbox::new();
    sandbox.ten_shards();
    for ratio in ["8,1", "8,1,1,1", "a,b,c", "0,0,0", "-1,1,1", "nan,1,1", "inf,1,1", ""] {
        let ratio = format!("--split-ratio={ratio}");
        sandbox.run(["prepare", "data", "--yes", "--skip-dataset-yaml", &ratio]).ends(2).complains("error: ");
    }
    assert!(!sandbox.has("data/.nv-meta/.info.json"));
}

#[test]
fn glob_in_split_parts_is_refused_with_the_pattern_as_hint() {
    let sandbox = Sandbox::new();
    sandbox.ten_shards();
    let base = ["prepare", "data", "--yes", "--skip-dataset-yaml", "--split-parts"];
    let ran = sandbox.run(base.iter().copied().chain(["train:s_*.tar"])).ends(2);
    ran.complains("s_.*");
    sandbox.run(base.iter().copied().chain(["train:*.tar"])).ends(2).complains("hint:");
    sandbox.run(base.iter().copied().chain(["train:s_(0"])).ends(2);
}

#[test]
fn an_exclude_that_matches_nothing_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.ten_shards();
    let base = format!("prepare data --split-ratio 8,1,1 {TEXT}");
    sandbox.say(&format!("{base} --exclude nothing")).ends(2).complains("nothing");
    sandbox.say(&format!("{base} --exclude-sample gone.tar/000")).ends(2).complains("gone.tar");
}

#[test]
fn unknown_types_fields_and_parts_are_found_before_anything_is_written() {
    let sandbox = Sandbox::new();
    sandbox.ten_shards();
    let base = "prepare data --yes --split-ratio 8,1,1 --sample-type";
    sandbox.say(&format!("{base} CaptionSample --field-map a=b")).ends(2).complains("CaptionSample");
    sandbox.say(&format!("{base} TextSample --field-map txet=txt")).ends(2).complains("txet");
    sandbox.say(&format!("{base} TextSample --field-map text=jpg")).ends(2).complains("jpg");
    sandbox.say(&format!("{base} TextSample --field-map text=json[nope]")).ends(2).complains("nope");
    assert!(!sandbox.has("data/.nv-meta/.info.json") && !sandbox.has("data/s_00.tar.idx"));
}

#[test]
fn field_map_is_refused_only_if_all_tried_samples_have_a_part_that_fails() {
    let sandbox = Sandbox::new();
    let broken = [("0.txt".to_owned(), b"abc".to_vec()), ("0.png".to_owned(), Vec::new())];
    let mut some = broken.to_vec();
    some.extend(["1.txt", "2.txt"].map(|name| (name.to_owned(), b"abc".to_vec())));
    sandbox.tar_of("some/s.tar", &some);
    let line = "--split-ratio 1,0,0 --sample-type CaptioningSample --field-map";
    let native = format!("prepare some --yes {line} image=png --field-map caption=txt");
    let ran = sandbox.say(&native).ends(1);
    assert_eq!(ran.err.matches("field 'image' fails on 1 of 3 samples that were tried").count(), 1, "{}", ran.err);
    assert!(sandbox.has("some/.nv-meta/.info.json"));
    sandbox.tar_of("all/s.tar", &broken);
    let drop_in = format!("energon prepare all --non-interactive {line}");
    let ran = sandbox.run(drop_in.split(' ').chain([r#"{"image": "png", "caption": "txt"}"#])).ends(2);
    assert_eq!(ran.err.matches("fails on every sample that was tried").count(), 1, "{}", ran.err);
}

#[test]
fn names_of_parts_are_quoted_in_hints() {
    let sandbox = Sandbox::new();
    sandbox.tar_of("data/s.tar", &["a.", "a.cls"].map(|name| (name.to_owned(), b"1".to_vec())));
    let line = "prepare data --yes --split-ratio 1,0,0 --sample-type TextSample --field-map text=png";
    sandbox.say(line).ends(2).complains("the parts are '', 'cls'");
}

#[test]
fn a_dry_run_prints_and_writes_nothing() {
    let sandbox = Sandbox::new();
    sandbox.ten_shards();
    let ran =
        sandbox.say("prepare data --dry-run --split-ratio 8,1,1 --sample-type TextSample --field-map text=txt").ends(0);
    ran.says("Would prepare data").says(".nv-meta/split.yaml").says("24").says("80.0 %");
    assert!(!sandbox.has("data/.nv-meta"));
    let value = sandbox.say("prepare data --dry-run --json --split-ratio 8,1,1 --skip-dataset-yaml").ends(0).json("ok");
    assert_eq!(value["dry_run"], true);
    assert_eq!(value["splits"][0]["samples"], 24);
    assert!(!sandbox.has("data/.nv-meta"));
    sandbox.say("prepare data --dry-run --split-ratio 8,1 --skip-dataset-yaml").ends(2);
}

#[test]
fn dry_run_on_a_prepared_data_set_counts_samples_per_split() {
    let sandbox = prepared();
    let line = "prepare data --dry-run --json --force-overwrite --split-ratio 1,1,0 --skip-dataset-yaml";
    let value = sandbox.say(line).ends(0).json("ok");
    assert_eq!((&value["splits"][0]["samples"], &value["splits"][1]["samples"]), (&15.into(), &15.into()));
}

#[test]
fn a_saved_plan_is_replayed() {
    let sandbox = Sandbox::new();
    sandbox.ten_shards();
    sandbox.say(&format!("prepare data --split-ratio 8,1,1 {TEXT} --dry-run --save-plan my.yaml")).ends(0);
    assert!(sandbox.text("my.yaml").contains("path: /"), "it runs from any folder");
    sandbox.say("run my.yaml").ends(0).says("30 samples");
    sandbox.say("run my.yaml").ends(0).says("Nothing to do");
    let ran = sandbox.say("run my.yaml --force-overwrite").ends(0).says("30 samples");
    assert!(!ran.out.contains("Nothing to do"), "{}", ran.out);
    sandbox.say("run data/.nv-meta/gristmill/plan.yaml").ends(0).says("Nothing to do");
}

#[test]
fn save_plan_replaces_only_plan_files() {
    let sandbox = Sandbox::new();
    sandbox.ten_shards();
    let save = |ratio: &str, name: &str| {
        sandbox.say(&format!("prepare data --split-ratio {ratio} {TEXT} --dry-run --save-plan {name}"))
    };
    save("8,1,1", "my.yaml").ends(0);
    save("1,1,0", "my.yaml").ends(0);
    assert!(sandbox.text("my.yaml").contains("1,1,0"));
    for (name, content) in [("notes.yaml", "x: 1\n"), ("data.bin", "\u{0}\u{1}")] {
        sandbox.write(name, content);
        save("8,1,1", name).ends(2).complains("is not a plan").complains("choose another name");
        assert_eq!(sandbox.text(name), content);
    }
    save("8,1,1", "data").ends(2).complains("is not a plan");
}

#[test]
fn plans_that_cannot_be_read_name_the_reason() {
    let sandbox = Sandbox::new();
    sandbox.say("run gone.yaml").ends(3).complains("gone.yaml");
    sandbox.write("odd.yaml", "version: 1\npath: data\nfrobnicate: 1\n");
    sandbox.say("run odd.yaml").ends(2).complains("frobnicate");
    sandbox.write("new.yaml", "version: 99\npath: data\n");
    sandbox.say("run new.yaml").ends(2).complains("99");
    sandbox.write("open.yaml", "version: 1\npath: data\n");
    sandbox.ten_shards();
    sandbox.say("run open.yaml").ends(2).complains("--split-ratio");
    sandbox.write("binary.yaml", b"\xff\xfe");
    sandbox.say("run binary.yaml").ends(2).complains("UTF-8");
}

#[test]
fn splits_from_and_exclude_from_are_written_unchanged() {
    let sandbox = Sandbox::new();
    sandbox.ten_shards();
    sandbox.write(
        "mine.yaml",
        "split_parts:\n  train:\n  - s_{00..07}.tar\n  extra:\n  - s_08.tar\nexclude:\n- s_00.tar/001\n",
    );
    sandbox.write("more.txt", "# broken pictures\ns_01.tar/010\n\ns_02.tar\n");
    sandbox.say(&format!("prepare data --splits-from mine.yaml --exclude-from more.txt {TEXT}")).ends(0);
    let text = sandbox.text("data/.nv-meta/split.yaml");
    for expected in [
        "  train:\n  - s_{00..07}.tar\n",
        "  extra:\n  - s_08.tar\n",
        "- s_00.tar/001\n",
        "- s_01.tar/010\n",
        "- s_02.tar\n",
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
}

#[test]
fn skip_sample_tables_writes_only_tar_indexes() {
    let sandbox = Sandbox::new();
    sandbox.ten_shards();
    sandbox.say(&format!("prepare data --split-ratio 8,1,1 {TEXT} --skip-sample-tables")).ends(0);
    assert!(!sandbox.has("data/.nv-meta/index.sqlite") && sandbox.has("data/s_00.tar.idx"));
    sandbox.say("info data").ends(0).says("access by name: no");
}

#[test]
fn cooker_template_is_written_for_crude_data_sets() {
    let sandbox = Sandbox::new();
    sandbox.ten_shards();
    sandbox.say("prepare data --yes --split-ratio 8,1,1 --sample-type CrudeWebdataset --cooker").ends(0);
    assert!(sandbox.has("data/.nv-meta/cooker.py") || sandbox.has("data/cooker.py"));
    sandbox.say("lint data").ends(0);
}

#[test]
fn duplicate_keys_are_refused_and_keep_first_excludes_later_copies() {
    let sandbox = Sandbox::new();
    sandbox.tar("data/a.tar", ["1", "2"]);
    sandbox.tar("data/b.tar", ["3", "1"]);
    let base = format!("prepare data --split-ratio 1,1,0 {TEXT}");
    let ran = sandbox.say(&base).ends(1);
    assert!(
        ran.err.contains("a.tar") && ran.err.contains("b.tar") && ran.err.contains("--duplicates keep-first"),
        "{}",
        ran.err
    );
    assert!(!sandbox.has("data/.nv-meta/.info.json"), "nothing is published");
    let dry = sandbox.say(&format!("{base} --duplicates keep-first --dry-run")).ends(1);
    dry.complains("1 key names more than one sample").leaves_out("compared by the run");
    let dry = sandbox.say(&format!("{base} --duplicates keep-first --dry-run --json")).ends(1).json("problems");
    sandbox.say(&format!("{base} --duplicates keep-first")).ends(1).complains("warning:");
    for file in dry["files"].as_array().unwrap() {
        let name = format!("data/{}", file["name"].as_str().unwrap());
        assert_eq!(file["bytes"], sandbox.read(&name).len() as u64, "{name}");
    }
    assert!(sandbox.text("data/.nv-meta/split.yaml").contains("b.tar/1"));
    // The exclude has no row in the index, as it should be.
    let checked = sandbox.say("splits check data");
    assert!(!checked.err.contains("b.tar/1") && !checked.out.contains("b.tar/1"), "{}{}", checked.out, checked.err);
    sandbox.say(&format!("{base} --duplicates keep-first --force-overwrite --problems-ok")).ends(0);
}

#[test]
fn problems_end_with_exit_code_1_without_problems_ok() {
    let sandbox = Sandbox::new();
    sandbox.tar("data/a.tar", ["1", "2"]);
    sandbox.tar_of("data/empty.tar", &[]);
    let base = format!("prepare data --split-ratio 1,0,0 {TEXT}");
    sandbox.say(&base).ends(1).complains("empty.tar").says("shard without samples");
    assert!(sandbox.has("data/.nv-meta/.info.json"), "it is prepared all the same");
    let value = sandbox.say(&format!("{base} --force-overwrite --problems-ok --json")).ends(0).json("problems");
    assert_eq!(value["counts"]["problem"]["empty-shard"], 1);
    sandbox.say(&format!("{base} --force-overwrite --json")).ends(1).json("problems");
}

#[test]
fn strict_stops_at_the_first_problem() {
    let sandbox = Sandbox::new();
    sandbox.tar("data/a.tar", ["1", "2"]);
    sandbox.tar_of("data/empty.tar", &[]);
    sandbox.say(&format!("prepare data --split-ratio 1,0,0 {TEXT} --strict")).ends(1).complains("error:");
    assert!(!sandbox.has("data/.nv-meta/.info.json"));
}

#[test]
fn a_folder_without_shards_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.write("data/readme.txt", "x");
    let ran = sandbox.say(&format!("prepare data --split-ratio 8,1,1 {TEXT}")).ends(1);
    ran.complains("data");
    assert!(!sandbox.has("data/.nv-meta/.info.json"));
}

#[test]
fn names_from_the_data_never_reach_the_terminal_raw() {
    let sandbox = Sandbox::new();
    sandbox.tar("data/a\x1b]0;owned\x07\u{202e}.tar", ["1"]);
    sandbox.tar_of("data/b.tar", &[]);
    sandbox.tar_of("data/c\x1b[2J.tar", &[]);
    for flags in ["", "--dry-run", "-v", "--color always"] {
        let ran = sandbox.say(&format!("prepare data --split-ratio 1,1,1 {TEXT} --force-overwrite {flags}"));
        for text in [&ran.out, &ran.err] {
            assert!(!text.contains("\x1b]") && !text.contains("\x1b[2J") && !text.contains('\u{202e}'), "{text}");
        }
    }
    for command in ["info", "lint", "verify"] {
        let ran = sandbox.run([command, "data"]);
        assert!(
            !ran.out.contains('\u{202e}') && !ran.err.contains('\u{202e}') && !ran.err.contains('\x1b'),
            "{}",
            ran.err
        );
    }
}

#[test]
fn quiet_prepare_without_problems_prints_nothing() {
    let sandbox = Sandbox::new();
    sandbox.ten_shards();
    let ran = sandbox.say(&format!("prepare data --split-ratio 8,1,1 {TEXT} -q")).ends(0);
    assert!(ran.out.is_empty() && ran.err.is_empty(), "{}{}", ran.out, ran.err);
}

#[test]
fn lint_names_changed_shards() {
    let sandbox = prepared();
    sandbox.tar("data/s_04.tar", ["040", "041", "042", "043"]);
    sandbox.say("lint data").ends(1).complains("s_04.tar");
    let value = sandbox.say("lint data --json").ends(1).json("problems");
    assert!(value["counts"]["problem"].is_object(), "{value}");
    sandbox.say("lint data --problems-ok").ends(0);
    sandbox.say("verify data").ends(1);
}

#[test]
fn unprepared_data_set_is_refused_by_info_lint_and_verify() {
    let sandbox = Sandbox::new();
    sandbox.ten_shards();
    for command in ["info", "lint", "verify"] {
        sandbox.run([command, "data"]).ends(1).complains("error:").complains("hint:");
        sandbox.run([command, "data", "--json"]).ends(1).json("refused");
        sandbox.run([command, "nowhere"]).ends(3);
    }
}

#[test]
fn read_only_folder_is_an_environment_failure() {
    if rustix::process::geteuid().is_root() {
        // Root can write to every folder.
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.ten_shards();
    let mut mode = std::fs::metadata(sandbox.path("data")).unwrap().permissions();
    mode.set_readonly(true);
    std::fs::set_permissions(sandbox.path("data"), mode).unwrap();
    sandbox.say(&format!("prepare data --split-ratio 8,1,1 {TEXT}")).ends(3).complains("hint:");
}

#[test]
fn path_with_leading_dash_is_prepared() {
    let sandbox = Sandbox::new();
    sandbox.tar("-data/-s.tar", ["1"]);
    let ran = sandbox.say("prepare --yes --split-ratio 1,0,0 --skip-dataset-yaml -- -data").ends(0);
    assert!(ran.out.contains("prepare ./-data"), "{}", ran.out);
}

#[test]
fn shards_in_two_splits_are_named_by_prepare_and_lint() {
    let sandbox = Sandbox::new();
    sandbox.ten_shards();
    let splits = "--split-parts train:.* --split-parts val:s_0[89]";
    let note = "2 shards are in both 'train' and 'val', e.g. s_08.tar";
    sandbox.say(&format!("prepare data --dry-run {splits} {TEXT}")).ends(0).complains(note);
    sandbox.say(&format!("prepare data {splits} {TEXT}")).ends(0).complains(note);
    sandbox.say("lint data").ends(0).complains(note);
}

#[test]
fn kept_excludes_without_matches_are_problems() {
    let sandbox = Sandbox::new();
    sandbox.ten_shards();
    sandbox.say(&format!("prepare data --split-ratio 8,1,1 {TEXT} --exclude-sample s_00.tar/000")).ends(0);
    std::fs::remove_file(sandbox.path("data/s_00.tar")).unwrap();
    for again in ["--update", "--force-overwrite --split-ratio 8,1,1 --skip-dataset-yaml"] {
        let ran = sandbox.say(&format!("prepare data --yes {again}")).ends(1);
        ran.complains("'s_00.tar/000': this exclude, kept from before, matches nothing");
    }
    let fine = "--force-overwrite --reset-excludes --exclude-sample s_01.tar/010";
    sandbox.say(&format!("prepare data --split-ratio 8,1,1 {TEXT} {fine}")).ends(0);
}

#[test]
fn saved_plan_has_absolute_paths_and_refused_answers_save_none() {
    let sandbox = Sandbox::new();
    sandbox.ten_shards();
    sandbox.say(&format!("prepare data --dry-run --split-ratio 8,1,x {TEXT} --save-plan bad.yaml")).ends(2);
    assert!(!sandbox.has("bad.yaml"));
    sandbox.say(&format!("prepare data --dry-run --split-ratio 8,1,1 {TEXT} --save-plan p.yaml")).ends(0);
    assert!(sandbox.text("p.yaml").contains(&format!("path: {}", sandbox.path("data").display())));
    let ran = sandbox.say("run gone.yaml").ends(3);
    ran.complains("no such file").complains("hint: give a file written by --save-plan");
}

#[test]
fn misspelt_sample_type_is_refused_before_its_field_map_is_required() {
    let sandbox = Sandbox::new();
    sandbox.ten_shards();
    let ran = sandbox.say("prepare data --yes --split-ratio 8,1,1 --sample-type CaptionSample").ends(2);
    ran.complains("did you mean 'CaptioningSample'");
    let ran = sandbox.say("prepare data --yes --split-ratio 8,1,x --skip-dataset-yaml").ends(2);
    ran.complains("reading --split-ratio failed on '8,1,x'");
}

#[test]
fn energon_lint_checks_split_names() {
    let sandbox = prepared();
    sandbox.say("energon lint data").ends(0);
    sandbox.say("energon lint data --split-parts train,val").ends(0);
    let ran = sandbox.say("energon lint data --split-parts train,bogus").ends(1);
    ran.complains("there is no split 'bogus'").complains("the splits are train, val, test");
}

#[test]
fn shares_of_prepare_and_info_omit_excluded_shards() {
    let sandbox = Sandbox::new();
    sandbox.ten_shards();
    let line = format!("prepare data --split-ratio 8,1,1 {TEXT} --exclude-sample s_0{{0..1}}.tar");
    let dry = sandbox.say(&format!("{line} --dry-run")).ends(0).says("60.0 %").says("1 exclude in force");
    let dry = dry.says("Shares are of all 30 samples; 6 samples are in excluded shards or in no split.");
    assert!(!dry.out.contains("80.0 %"), "{}", dry.out);
    let done = sandbox.say(&line).ends(0).says("60.0 %");
    assert!(!done.out.contains("80.0 %"), "{}", done.out);
    sandbox.say("info data").ends(0).says("train: 60.0 %, 18 samples, 6 shards");
}

#[test]
fn update_lists_added_and_removed_shards() {
    let sandbox = prepared();
    sandbox.tar("data/s_10.tar", ["100"]);
    for gone in ["data/s_02.tar", "data/s_03.tar"] {
        std::fs::remove_file(sandbox.path(gone)).unwrap();
    }
    for line in ["--dry-run --new-to val", "--new-to val"] {
        let ran = sandbox.say(&format!("prepare data --yes --update {line}")).ends(1);
        let ran = ran
            .complains("2 shards in split.yaml no longer exist")
            .says("Against the earlier preparation:")
            .says("into val: s_10.tar");
        ran.says("taken out, as they no longer exist: s_02.tar, s_03.tar");
    }
}

#[test]
fn verify_and_lint_find_new_shards_and_unmatched_excludes() {
    let sandbox = prepared();
    sandbox.tar("data/s_10.tar", ["100"]);
    let splits = sandbox.text("data/.nv-meta/split.yaml").replace("exclude: []", "exclude:\n- s_00.tar/nope");
    sandbox.write("data/.nv-meta/split.yaml", splits);
    for command in ["lint", "verify"] {
        let counts = &sandbox.say(&format!("{command} data --json")).ends(1).json("problems")["counts"]["problem"];
        assert_eq!((&counts["shard-not-indexed"], &counts["matches-nothing"]), (&1.into(), &1.into()), "{command}");
    }
}

#[test]
fn damage_since_preparation_is_reported_as_not_excluded() {
    let sandbox = prepared();
    let mut shard = sandbox.read("data/s_00.tar");
    let at = 1024 + 150;
    shard[at] ^= 1;
    sandbox.write("data/s_00.tar", shard);
    for command in ["lint", "verify"] {
        let ran = sandbox.say(&format!("{command} data")).ends(1);
        let ran =
            ran.complains("it touches damage and is not excluded").complains("--update --exclude-sample s_00.tar/");
        assert!(!ran.err.contains("excludes it from training"), "{}", ran.err);
    }
}

#[test]
fn lint_of_a_cut_shard_has_a_hint() {
    let sandbox = prepared();
    let shard = sandbox.read("data/s_00.tar");
    sandbox.write("data/s_00.tar", &shard[..2048]);
    sandbox.say("lint data").ends(1).complains("fetch the shard again, or leave it out");
}

#[test]
fn hints_are_commands_with_the_path_in_quotes() {
    let sandbox = Sandbox::new();
    let data = "it's data";
    sandbox.tar(&format!("{data}/a.tar"), ["one", "two"]);
    let flags = ["--yes", "--split-ratio", "1,0,0", "--sample-type", "CrudeWebdataset"];
    let ran = sandbox.run(["lint", data]).ends(1);
    ran.complains(r"gristmill prepare 'it'\''s data' prepares it");
    sandbox.run([&["prepare", data][..], &flags[..]].concat()).ends(0);
    sandbox.tar(&format!("{data}/b.tar"), ["three"]);
    let ran = sandbox.run(["lint", data]).ends(1);
    ran.complains(r"gristmill prepare 'it'\''s data' --update takes it in");
    sandbox.run(["prepare", data, "--update", "--yes"]).ends(0);
    std::fs::remove_file(sandbox.path(&format!("{data}/b.tar"))).unwrap();
    sandbox
        .run(["lint", data])
        .ends(1)
        .complains(r"remove it from the index: gristmill prepare 'it'\''s data' --update");
}

#[test]
fn shards_with_an_empty_database_are_not_prepared() {
    let sandbox = Sandbox::new();
    sandbox.tar("data/a.tar", ["one", "two"]);
    sandbox.write("data/.nv-meta/index.sqlite", "");
    sandbox.say("browse data --plain").ends(0).says("2 samples");
    for command in ["lint data", "info data"] {
        let ran = sandbox.say(command).ends(1).complains("it is not prepared").complains("gristmill facts reads");
        ran.complains("gristmill prepare data prepares it");
    }
    let prepare = "prepare data --yes --split-ratio 1,0,0 --sample-type CrudeWebdataset";
    sandbox.say(prepare).ends(0).says("database left over from a failed run");
    sandbox.say("lint data").ends(0);
}

#[test]
#[cfg(target_os = "linux")]
fn file_systems_of_the_kernel_are_not_walked() {
    let sandbox = Sandbox::new();
    let answers = "--yes --split-ratio 1,0,0 --sample-type CrudeWebdataset";
    sandbox.say(&format!("prepare /proc/self {answers}")).ends(3).complains("file system of the kernel");
    sandbox.tar("data/a.tar", ["one"]);
    std::os::unix::fs::symlink("/proc", sandbox.path("data/system")).unwrap();
    sandbox.say(&format!("prepare data {answers}")).ends(0).says("1 shard, 1 sample");
}
