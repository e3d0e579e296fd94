//! Mistakes on the command line: each is reported with a hint and exit code 2, before any file is read or written.

use super::cli_support::Sandbox;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

#[test]
fn help_lists_commands_and_exit_codes() {
    let ran = Sandbox::new().say("--help").ends(0);
    for name in [
        "prepare",
        "prepare-media",
        "pack",
        "index",
        "dedup",
        "run",
        "repair",
        "mix",
        "modalities",
        "nanosets",
        "info",
        "lint",
        "verify",
        "browse",
        "splits",
        "demo",
        "jobs",
        "keys",
        "doctor",
        "bug-report",
        "completions",
        "man",
        "energon",
        "nanotron",
    ] {
        assert!(ran.out.contains(&format!("\n  {name} ")), "{name}\n{}", ran.out);
    }
    assert!(ran.out.contains("129, 130, 131, 143"), "exit codes are part of the help");
}

#[test]
fn every_command_has_help_of_its_own() {
    let sandbox = Sandbox::new();
    for name in [
        "prepare",
        "prepare-media",
        "dedup",
        "run",
        "mix",
        "info",
        "lint",
        "verify",
        "browse",
        "splits",
        "demo",
        "jobs",
        "keys",
        "doctor",
        "bug-report",
        "completions",
        "man",
    ] {
        let ran = sandbox.run([name, "--help"]).ends(0).says("Usage: gristmill");
        assert!(ran.err.is_empty());
        sandbox.run([name, "-h"]).ends(0).says("--json");
    }
}

#[test]
fn the_version_is_reported() {
    Sandbox::new().say("--version").ends(0).says(concat!("gristmill ", env!("CARGO_PKG_VERSION")));
}

#[test]
fn the_home_screen_needs_a_terminal() {
    Sandbox::new().run::<&str>([]).ends(2).complains("it needs a terminal").complains("hint:");
}

#[test]
fn unknown_command_is_refused_with_existing_commands() {
    let unknown = Sandbox::new().run(["frobnicate", "x"]).ends(2).complains("frobnicate");
    unknown.complains("prepare, prepare-media, pack, count, dedup, shard, cp, index, run");
    Sandbox::new().run(["mix", "x"]).ends(2).complains("the commands are new, index, check");
}

#[test]
fn misspelt_flag_is_refused_with_a_suggestion() {
    let ran = Sandbox::new()
        .say("prepare . --split-ratoi 8,1,1")
        .ends(2)
        .complains("--split-ratoi")
        .complains("--split-ratio");
    assert!(ran.err.starts_with("error: "), "{}", ran.err);
}

#[test]
fn prepare_without_a_path_is_refused() {
    Sandbox::new().say("prepare").ends(2).complains("PATH is not given").complains("hint: gristmill prepare --help");
}

#[test]
fn addresses_of_other_stores_are_refused() {
    let sandbox = Sandbox::new();
    for path in ["ftp://host/x", "nfs://host/x", "rclone://x/y"] {
        sandbox
            .run(["prepare", path, "--yes", "--split-ratio", "8,1,1"])
            .ends(2)
            .complains("there are no addresses of")
            .complains(path);
        sandbox.run(["energon", "prepare", path, "--non-interactive"]).ends(2).complains("there are no addresses of");
    }
    sandbox.run(["demo", "s3://b/x"]).ends(2).complains("not supported yet").complains("local folder");
    sandbox.run(["energon", "prepare", "s3://", "--non-interactive"]).ends(2).complains("it has no bucket");
    sandbox.run(["modalities", "merge", "s3:///p", "--output", "x.pbin"]).ends(2).complains("it has no bucket");
    sandbox.run(["lint", "s3://"]).ends(2).complains("it has no bucket").complains("s3://BUCKET/KEY");
    sandbox.run(["info", "s3://b/a//c"]).ends(2).complains("a part of its key is empty");
}

#[test]
fn a_signature_in_a_remote_path_is_not_shown() {
    let ran = Sandbox::new().say("prepare ftp://bucket/x?signature=topsecret --yes").ends(2);
    assert!(!ran.err.contains("topsecret"));
}

#[test]
fn files_that_cannot_be_prepared_are_distinguished_from_folders() {
    let sandbox = Sandbox::new();
    sandbox.write("meta.yaml", "x: 1\n");
    sandbox.write("notes.md", "x\n");
    sandbox.say("prepare meta.yaml --yes").ends(1).complains("line 1, column 1");
    sandbox
        .say("prepare notes.md --yes")
        .ends(2)
        .complains("neither a folder of tar shards nor a .jsonl or .yaml file");
}

#[test]
fn missing_path_is_an_environment_failure() {
    let ran = Sandbox::new().say("prepare nowhere --yes --split-ratio 8,1,1 --sample-type CrudeWebdataset").ends(3);
    ran.complains("error: opening the data set failed on nowhere: no such file or folder");
}

#[test]
fn an_empty_path_is_refused() {
    Sandbox::new().run(["prepare", "", "--yes"]).ends(2).complains("a value is required");
}

#[test]
fn arguments_that_are_not_utf8_are_refused_without_a_panic() {
    let sandbox = Sandbox::new();
    let odd = OsStr::from_bytes(b"od\xff");
    let prepare = OsStr::new("prepare");
    let ran = sandbox.run([prepare, odd, OsStr::new("--yes")]).ends(2).complains("UTF-8");
    assert!(ran.err.contains("hint:"));
    sandbox.run([odd]).ends(2);
    sandbox.run([prepare, OsStr::new("."), OsStr::new("--split-ratio"), odd]).ends(2);
    sandbox.run([OsStr::new("demo"), odd]).ends(2).complains("UTF-8");
}

#[test]
fn missing_flags_are_all_named_without_a_terminal() {
    let sandbox = Sandbox::new();
    sandbox.ten_shards();
    let ran = sandbox.say("prepare data").ends(2);
    for flag in ["--yes", "--split-ratio", "--sample-type", "--skip-dataset-yaml"] {
        assert!(ran.err.contains(flag), "{flag} is not named:\n{}", ran.err);
    }
    assert!(!sandbox.has("data/.nv-meta"), "nothing is written");
}

#[test]
fn prepare_with_yes_names_the_missing_flags() {
    let sandbox = Sandbox::new();
    sandbox.ten_shards();
    let ran = sandbox.say("prepare data --yes --sample-type TextSample").ends(2);
    assert!(ran.err.contains("--split-ratio") && ran.err.contains("--field-map text=EXPR"), "{}", ran.err);
    assert!(!ran.err.contains("not a terminal"), "--yes was given");
    sandbox.say("prepare data --non-interactive --skip-dataset-yaml").ends(2).complains("--split-parts");
}

#[test]
fn flags_that_exclude_each_other_are_refused() {
    let sandbox = Sandbox::new();
    for line in [
        "prepare . --split-ratio 8,1,1 --split-parts a:b",
        "prepare . --split-ratio 8,1,1 --splits-from x.yaml",
        "prepare . --update --force-overwrite",
        "prepare . --sample-type TextSample --skip-dataset-yaml",
        "prepare . --sample-type TextSample --sample-loader --field-map text=txt",
        "prepare . --tar-index-only --skip-sample-tables",
        "prepare . --new-to train",
        "prepare . --reset-excludes",
        "prepare . --field-map text=txt",
        "prepare . --sample-loader",
        "prepare . -q -v",
    ] {
        sandbox.say(line).ends(2);
    }
}

#[test]
fn a_crude_data_set_takes_neither_field_map_nor_loader() {
    let sandbox = Sandbox::new();
    sandbox
        .say("prepare . --yes --split-ratio 8,1,1 --sample-type CrudeWebdataset --field-map a=b")
        .ends(2)
        .complains("crude");
    sandbox
        .say("prepare . --yes --split-ratio 8,1,1 --sample-type CrudeWebdataset --sample-loader")
        .ends(2)
        .complains("crude");
    sandbox.say("prepare . --yes --split-ratio 8,1,1 --sample-type TextSample --cooker").ends(2).complains("Crude");
}

#[test]
fn bad_field_maps_are_refused_before_anything_is_read() {
    let sandbox = Sandbox::new();
    let base = ["prepare", ".", "--yes", "--split-ratio", "8,1,1", "--sample-type", "TextSample", "--field-map"];
    for bad in [
        "{\"text\": \"txt\"",
        "{\"text\": 3}",
        "{\"text\": \"txt\", \"text\": \"json\"}",
        "text",
        "=txt",
        "text=",
        "{} trailing",
    ] {
        let args: Vec<&str> = base.iter().copied().chain([bad]).collect();
        sandbox.run(args).ends(2).complains("--field-map").complains("hint: ");
    }
    let twice: Vec<&str> = base.iter().copied().chain(["text=txt", "--field-map", "text=json"]).collect();
    sandbox.run(twice).ends(2).complains("given twice");
}

#[test]
fn split_parts_need_a_name_and_a_pattern() {
    let sandbox = Sandbox::new();
    for bad in ["train", ":train/.*"] {
        sandbox.run(["prepare", ".", "--yes", "--split-parts", bad]).ends(2).complains("NAME:REGEX is needed");
    }
    let twice = ["prepare", ".", "--yes", "--split-parts", "a:x", "--split-parts", "a:y"];
    sandbox.run(twice).ends(2).complains("given twice").complains("a:(?:x|y)");
}

#[test]
fn invalid_numbers_and_sizes_are_usage_errors() {
    let sandbox = Sandbox::new();
    for flags in [
        ["--threads", "0"],
        ["--threads", "many"],
        ["--num-workers", "-1"],
        ["--memory", "lots"],
        ["--memory", "0"],
        ["--color", "pink"],
        ["--log-level", "loud"],
    ] {
        sandbox.run(["prepare", "."].into_iter().chain(flags)).ends(2);
    }
}

#[test]
fn the_dataset_yaml_stays_inside_its_folder() {
    let sandbox = Sandbox::new();
    for name in ["../x.yaml", "split.yaml", ".info.json", "", "a/b.yaml"] {
        let name = format!("--dataset-yaml-name={name}");
        sandbox.run(["prepare", ".", "--yes", &name]).ends(2).complains("--dataset-yaml-name");
    }
}

#[test]
fn missing_splits_and_exclude_files_are_named() {
    let sandbox = Sandbox::new();
    sandbox.ten_shards();
    sandbox.say("prepare data --yes --splits-from gone.yaml --skip-dataset-yaml").ends(3).complains("gone.yaml");
    sandbox
        .say("prepare data --yes --exclude-from gone.txt --split-ratio 8,1,1 --skip-dataset-yaml")
        .ends(3)
        .complains("gone.txt");
}

#[test]
fn terminal_escapes_in_arguments_are_made_visible() {
    let ran = Sandbox::new()
        .run(["prepare", "x\x1b[31my\u{202e}", "--yes", "--split-ratio", "1,0,0", "--skip-dataset-yaml"])
        .ends(3);
    assert!(!ran.err.contains('\x1b') && !ran.err.contains('\u{202e}'), "{}", ran.err);
    assert!(ran.err.contains("x␛[31my<U+202E>"), "{}", ran.err);
}

#[test]
fn colour_is_used_only_with_color_always() {
    let sandbox = Sandbox::new();
    assert!(!sandbox.say("prepare").err.contains('\x1b'), "a pipe gets none");
    assert!(sandbox.say("--color always info nowhere").err.contains("\x1b[1;31merror:"));
    assert!(!sandbox.say("--color never info nowhere").err.contains('\x1b'));
    let output = sandbox.command(["info", "nowhere"]).env("NO_COLOR", "1").output().unwrap();
    assert!(!output.stderr.contains(&0x1b));
}

#[test]
fn usage_errors_are_printed_as_json() {
    let sandbox = Sandbox::new();
    for line in ["--json frobnicate", "prepare --json", "prepare . --json --threads 0", "--json"] {
        let ran = sandbox.say(line).ends(2);
        let value = ran.json("error");
        assert_eq!(value["error"]["class"], "usage", "{line}");
        assert!(value["error"]["hint"].is_string(), "{line}");
    }
}

#[test]
fn json_error_lists_every_missing_answer() {
    let sandbox = Sandbox::new();
    sandbox.ten_shards();
    let value = sandbox.say("prepare data --json").ends(2).json("error");
    assert_eq!(value["command"], "prepare");
    assert_eq!(value["errors"].as_array().unwrap().len(), 3, "splits, sample type, and --yes");
}

#[test]
fn save_plan_is_refused_by_commands_without_a_plan() {
    let sandbox = Sandbox::new();
    for command in ["info x", "repair x", "splits show x", "mix check m.yaml", "jobs"] {
        sandbox.say(&format!("{command} --save-plan p.yaml")).ends(2).complains("has no plan to save");
    }
    assert!(!sandbox.has("p.yaml"));
}

#[test]
fn empty_folder_is_named_by_every_command_that_describes_data() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("empty")).unwrap();
    for command in ["info", "lint", "verify"] {
        sandbox.say(&format!("{command} empty")).ends(2).complains("it is a folder, not a data set");
    }
    let ran = sandbox.say("facts empty").ends(2).complains("this kind of data has no figures");
    assert!(!ran.err.contains("gristmill info"), "info would fail, too: {}", ran.err);
}

#[test]
fn file_that_is_no_plan_is_named() {
    let sandbox = Sandbox::new();
    sandbox.write("tokenizer.json", "{\n  \"version\": \"1.0\"\n}\n");
    sandbox.say("run tokenizer.json").ends(2).complains("failed on tokenizer.json: it is not a plan");
    sandbox.write("plan.yaml", "version: 1\ncommand: [\n");
    let ran = sandbox.say("run plan.yaml").ends(2).complains("plan.yaml, line ");
    assert!(!ran.err.contains(", column"), "the line is named once: {}", ran.err);
}

#[test]
fn overwrite_of_modalities_has_the_name_of_all_commands() {
    let sandbox = Sandbox::new();
    for flag in ["--force-overwrite", "--overwrite"] {
        let line = format!("modalities filter p.pbin -o p.pbin --documents 0 {flag}");
        sandbox.say(&line).ends(3).complains("no such file or folder");
    }
    sandbox.say("modalities filter --help").ends(0).says("--force-overwrite");
}

#[test]
fn synopsis_of_the_manual_page_lists_no_options() {
    let page = Sandbox::new().say("man").ends(0).out.clone();
    let synopsis = page.split(".SH ").find(|section| section.starts_with("SYNOPSIS")).unwrap();
    assert_eq!(synopsis, "SYNOPSIS\n\\fBgristmill\\fR [\\fIOPTIONS\\fR] [\\fICOMMAND\\fR]\n");
}
