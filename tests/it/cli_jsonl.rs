//! JSONL files on the command line: indexed, shown, checked, refused.

use super::cli_support::{golden_dir, RunOutput, Sandbox};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt as _;

/// Returns the commands of the golden case, and the exit code of each.
fn golden_runs() -> Vec<(String, i32)> {
    let case: Value =
        serde_json::from_slice(&std::fs::read(golden_dir("jsonl_edges").join("case.json")).unwrap()).unwrap();
    let runs = case["runs"].as_array().unwrap();
    runs.iter()
        .map(|run| (run["command"][2].as_str().unwrap().to_owned(), run["exit"].as_i64().unwrap() as i32))
        .collect()
}

#[test]
fn every_golden_file_gets_the_same_index_and_exit_code_with_any_number_of_threads() {
    for threads in [1, 2, 7] {
        for drop_in in ["", "energon "] {
            let sandbox = Sandbox::golden("jsonl_edges");
            for (name, exit) in golden_runs() {
                sandbox.say(&format!("{drop_in}prepare {name} --threads {threads}")).ends(exit);
                let index = format!("{}.jsonl.idx", name.strip_suffix(".jsonl").unwrap());
                let wanted = std::fs::read(golden_dir("jsonl_edges").join("expected").join(&index)).ok();
                assert_eq!(sandbox.has(&index).then(|| sandbox.read(&index)), wanted, "{index}");
                assert_eq!(wanted.is_some(), exit == 0);
                assert!(!sandbox.has(&format!("{index}.gristmill")), "something was left");
            }
        }
    }
}

#[test]
fn repeated_jsonl_prepare_does_nothing() {
    let sandbox = Sandbox::new();
    sandbox.write("a.jsonl", "{\"text\": \"x\"}\n\n{\"text\": \"yy\"}\n");
    let ran = sandbox.say("prepare a.jsonl").ends(0).says("Indexed a.jsonl: 2 samples");
    assert!(ran.out.contains("a.jsonl.idx (24 B)") && ran.out.contains("Next: gristmill info a.jsonl"), "{}", ran.out);
    sandbox.say("prepare a.jsonl").ends(0).says("Nothing to do.");
    sandbox.write("a.jsonl", "{\"text\": \"x\"}\n");
    let value = sandbox.say("prepare a.jsonl --json").ends(0).json("ok");
    assert_eq!(
        (&value["samples"], &value["nothing_to_do"], &value["files"][0]["replaces"]),
        (&1.into(), &false.into(), &true.into())
    );
    assert_eq!(value["equivalent_command"], "gristmill prepare a.jsonl");
    let value = sandbox.say("prepare a.jsonl --yes --json").ends(0).json("ok");
    assert_eq!(value["nothing_to_do"], true);
}

#[test]
fn jsonl_dry_run_writes_nothing_and_its_saved_plan_runs() {
    let sandbox = Sandbox::new();
    sandbox.write("a.jsonl", "{}\n{}\n");
    sandbox.say("prepare a.jsonl --dry-run --save-plan plan.yaml").ends(0).says("Would index a.jsonl: 2 samples");
    assert!(!sandbox.has("a.jsonl.idx"));
    sandbox.say("run plan.yaml --dry-run").ends(0).says("Nothing was written");
    assert!(!sandbox.has("a.jsonl.idx"));
    sandbox.say("run plan.yaml").ends(0).says("2 samples");
    assert!(sandbox.has("a.jsonl.idx"));
    assert_eq!(sandbox.say("prepare a.jsonl --dry-run --json").ends(0).json("ok")["dry_run"], true);
}

#[test]
fn jsonl_index_has_the_mode_of_its_file_plus_owner_write() {
    let sandbox = Sandbox::new();
    for (given, wanted) in [(0o640, 0o640), (0o444, 0o644), (0o777, 0o777)] {
        sandbox.write("a.jsonl", "{}\n");
        std::fs::set_permissions(sandbox.path("a.jsonl"), std::fs::Permissions::from_mode(given)).unwrap();
        sandbox.say("prepare a.jsonl").ends(0);
        let mode = sandbox.path("a.jsonl.idx").metadata().unwrap().permissions().mode() & 0o7777;
        assert_eq!(mode, wanted, "{given:o}");
        std::fs::remove_file(sandbox.path("a.jsonl")).unwrap();
    }
}

fn refused(name: &str, bytes: impl AsRef<[u8]>) -> RunOutput {
    let sandbox = Sandbox::new();
    sandbox.write(name, bytes);
    let ran = sandbox.say(&format!("prepare {name}")).ends(1);
    let names: Vec<_> = std::fs::read_dir(sandbox.path("")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, [name], "something was left");
    sandbox.say(&format!("energon prepare {name}")).ends(1);
    assert!(ran.err.contains("hint: "), "{}", ran.err);
    ran
}

#[test]
fn bad_lines_are_shown_safely_with_their_place_and_nothing_is_written() {
    let ran = refused("a.jsonl", b"{\"a\": 1}\n   [\x1b[31m\xe2\x80\xae, \xff]\n{}\n");
    ran.complains("a.jsonl, line 2, byte 12: column 4: the line is an array, not an object; it begins with [␛[31m<U+202E>, \\xff]")
        .complains("1 of 3 lines is not a JSON object; nothing was written");
    let ran = refused("a.jsonl", "no\n".repeat(2_000));
    assert_eq!(ran.err.matches("does not begin with {").count(), 10, "{}", ran.err);
    ran.complains("… and 1,990 more").complains("2,000 of 2,000 lines are not JSON objects");
}

#[test]
fn invalid_jsonl_files_are_refused_with_a_hint() {
    refused("a.jsonl", "").complains("the file is empty");
    refused("a.jsonl", "\n \r\n").complains("all its lines are blank");
    refused("a.jsonl", "\u{feff}{}\n").complains("byte order mark").complains("tail -c +4 a.jsonl > NEW.jsonl");
    refused("a.jsonl", "[1, 2]\n").complains("then .[] else . end' a.jsonl > NEW.jsonl");
    let utf16: Vec<u8> = "\u{feff}{}\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    refused("a.jsonl", utf16).complains("iconv -f UTF-16LE -t UTF-8 a.jsonl > NEW.jsonl");
}

#[test]
fn compressed_files_are_refused_by_name_and_by_content_with_the_command_that_unpacks_them() {
    let gzip = b"\x1f\x8b\x08\0\0\0\0\0\0\x03\xab\xae\xe5\x02\0\x06\xb0\xa1\xdd\x03\0\0\0";
    refused("a.jsonl.gz", gzip)
        .complains("compressed with gzip")
        .complains("unpack it first: gzip -dc < a.jsonl.gz > a.jsonl");
    refused("a.jsonl", gzip).complains("compressed with gzip").complains("gzip -dc < a.jsonl > NEW.jsonl");
    refused("a.jsonl.zst", b"\x28\xb5\x2f\xfd\0").complains("unpack it first: zstd -dc < a.jsonl.zst > a.jsonl");
    refused("a.jsonl", b"\x28\xb5\x2f\xfd\0").complains("compressed with zstd");
    refused("a.jsonl.bz2", "BZh9").complains("bzip2 -dc < a.jsonl.bz2");
    refused("a.jsonl.xz", b"\xfd7zXZ\0").complains("xz -dc < a.jsonl.xz");
    refused("a.jsonl.lzma", b"\x5d\0\0\x80\0").complains("xz -dc < a.jsonl.lzma");
    refused("a.jsonl.zip", b"PK\x03\x04").complains("funzip < a.jsonl.zip");
    let sandbox = Sandbox::new();
    sandbox.write("a.jsonl.gz", gzip);
    for command in ["info", "lint", "verify"] {
        sandbox.say(&format!("{command} a.jsonl.gz")).ends(1).complains("gzip -dc < a.jsonl.gz");
    }
    sandbox.write("a.jsonl", "{}\n");
    sandbox.say("info a.jsonl.gz").ends(1).complains("gzip -dc < a.jsonl.gz > NEW.jsonl");
}

#[test]
fn cr_line_ends_are_reported_by_prepare() {
    let sandbox = Sandbox::new();
    sandbox.write("old.jsonl", b"{\"a\":1}\r{\"b\":2}\r");
    sandbox.say("prepare old.jsonl").ends(0).says("1 sample").complains("CR alone").complains("tr '\\r' '\\n'");
}

#[test]
fn unsupported_jsonl_suffixes_are_refused_with_a_rename_hint() {
    let sandbox = Sandbox::new();
    for name in ["a.JSONL", "a.ndjson", "a.json"] {
        sandbox.write(name, "{}\n");
        let hint = format!("mv {name} a.jsonl");
        sandbox.say(&format!("prepare {name}")).ends(2).complains("ends in .jsonl").complains(&hint);
    }
}

#[test]
fn flags_without_effect_on_jsonl_are_refused_or_noted_under_energon() {
    let sandbox = Sandbox::new();
    sandbox.write("a.jsonl", "{}\n");
    for flag in ["--split-ratio 8,1,1", "--sample-type CrudeWebdataset", "--exclude x", "--tar-index-only", "--update"]
    {
        let name = flag.split(' ').next().unwrap();
        sandbox.say(&format!("prepare a.jsonl {flag}")).ends(2).complains(&format!("'{name}': it has no effect"));
    }
    assert!(!sandbox.has("a.jsonl.idx"));
    let ran = sandbox.say("energon prepare a.jsonl --split-ratio 8,1,1 --force-overwrite --non-interactive").ends(0);
    ran.complains("--split-ratio changes nothing for a JSONL file");
    assert_eq!(sandbox.say("energon prepare a.jsonl --num-workers 4").ends(0).err, "");
    sandbox.say("energon prepare a.jsonl --media-metadata-by-extension").ends(1).complains("no media metadata");
    sandbox.say("prepare a.jsonl --force-overwrite").ends(0);
}

#[test]
fn info_shows_samples_index_lengths_and_keys() {
    let sandbox = Sandbox::new();
    let lines: String = (0..100).map(|n| format!("{{\"text\": \"{}\", \"n\": {n}}}\n", "é".repeat(n))).collect();
    sandbox.write("a.jsonl", &lines);
    let ran = sandbox.say("info a.jsonl").ends(0).says("samples: 100").says("index: none");
    assert!(ran.out.contains("text: string, 50 characters on average, 99 at most"), "{}", ran.out);
    sandbox.say("prepare a.jsonl").ends(0);
    sandbox.say("info a.jsonl").ends(0).says("index: fits (808 B)");
    let value = sandbox.say("info a.jsonl --json").ends(0).json("ok");
    assert_eq!(
        (&value["kind"], &value["samples"], &value["index"]["state"]),
        (&"jsonl".into(), &100.into(), &"fits".into())
    );
    assert_eq!((&value["text_key"], &value["keys"][1]["name"]), (&"text".into(), &"n".into()));
    sandbox.write("a.jsonl", format!("{lines}{{}}\n"));
    sandbox.say("info a.jsonl").ends(1).says("out of date").complains("gristmill prepare a.jsonl makes it again");
    sandbox.say("energon info a.jsonl").ends(1);
}

#[test]
fn jsonl_lint_and_verify_find_what_the_index_misses() {
    let sandbox = Sandbox::golden("jsonl_edges");
    sandbox.say("prepare plain.jsonl").ends(0);
    sandbox.say("lint plain.jsonl").ends(0).says("No problem found in 5 samples");
    sandbox.say("verify plain.jsonl").ends(0).says("No problem found in 5 samples");
    sandbox.say("energon lint plain.jsonl").ends(0);
    sandbox.say("prepare bad_json_inside.jsonl").ends(0);
    sandbox.say("verify bad_json_inside.jsonl").ends(0);
    let ran = sandbox.say("lint bad_json_inside.jsonl").ends(1);
    ran.complains("bad_json_inside.jsonl, line 1, byte 1: ").complains("column ");
    sandbox.say("lint crlf.jsonl").ends(1).complains("the file is not indexed");
    sandbox.say("verify crlf.jsonl").ends(1).complains("the file is not indexed");
    let mut index = sandbox.read("plain.jsonl.idx");
    index[8] ^= 1;
    sandbox.write("plain.jsonl.idx", index);
    sandbox.say("verify plain.jsonl").ends(1).complains("value 1, the place of sample 1, is ");
    sandbox.say("lint plain.jsonl").ends(1).complains("value 1, the place of sample 1, is ");
    let value = sandbox.say("lint plain.jsonl --json").ends(1).json("problems");
    assert_eq!(value["problems"][0]["kind"], "index-mismatch");
}

#[test]
fn line_of_64_mib_is_indexed() {
    let sandbox = Sandbox::new();
    let long = format!("{{\"text\": \"{}\"}}\n", "x".repeat(64 << 20));
    sandbox.write("a.jsonl", format!("{{}}\n{long}{{}}"));
    sandbox.say("prepare a.jsonl --threads 2").ends(0).says("3 samples");
    let values: Vec<u64> =
        sandbox.read("a.jsonl.idx").chunks(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect();
    assert_eq!(values, [0, 3, 3 + long.len() as u64, 5 + long.len() as u64]);
    sandbox.say("verify a.jsonl").ends(0);
    sandbox.say("lint a.jsonl -v").ends(0).complains("longer than 64 MiB");
    sandbox.say("info a.jsonl").ends(0);
}

/// Nine lines, five of which `lint` reports: not an object, not JSON, a repeated key, not UTF-8, a byte order mark.
const BAD_LINES: &[u8] =
    b"{\"text\": \"a\"}\nno\n{\"text\": \"b\"}\n{\"text\": }\n\n{\"t\": 1, \"t\": 2}\n{\"text\": \"\xff\"}\n\
                           \xef\xbb\xbf{\"text\": \"c\"}\n{\"text\": \"d\"}";
const GOOD_LINES: &str = "{\"text\": \"a\"}\n{\"text\": \"b\"}\n\n{\"text\": \"d\"}";

#[test]
fn bad_lines_are_left_out_of_a_copy_that_is_indexed() {
    let sandbox = Sandbox::new();
    sandbox.write("my docs.jsonl", BAD_LINES);
    sandbox.run(["prepare", "my docs.jsonl"]).ends(1).complains("gristmill prepare 'my docs.jsonl' --skip-bad-lines");
    let dry = sandbox.run(["prepare", "my docs.jsonl", "--skip-bad-lines", "--dry-run"]).ends(1);
    dry.says("my docs.clean.jsonl").says("gristmill prepare 'my docs.jsonl' --skip-bad-lines");
    assert!(!sandbox.has("my docs.clean.jsonl"));
    let ran = sandbox.run(["prepare", "my docs.jsonl", "--skip-bad-lines", "--json"]).ends(1);
    let report = ran.json("problems");
    let problems = report["problems"].as_array().unwrap();
    let lines: Vec<u64> = problems.iter().filter_map(|problem| problem["subject"]["line"].as_u64()).collect();
    assert_eq!(lines, [2, 4, 6, 7, 8], "{report:#}");
    assert!(problems.iter().all(|problem| problem["message"].as_str().unwrap().ends_with("the line is left out")));
    assert_eq!((report["samples"].as_u64(), report["lines_left_out"].as_u64()), (Some(3), Some(5)));
    assert_eq!(sandbox.read("my docs.jsonl"), BAD_LINES, "the file stays as it is");
    assert_eq!(sandbox.text("my docs.clean.jsonl"), GOOD_LINES);
    assert!(!sandbox.has("my docs.jsonl.idx"));
    sandbox.run(["lint", "my docs.clean.jsonl"]).ends(0);
    sandbox.run(["verify", "my docs.clean.jsonl"]).ends(0);
    let again = sandbox.run(["prepare", "my docs.jsonl", "--skip-bad-lines"]).ends(1);
    again.says("Nothing to do").complains("the line is left out");
}

#[test]
fn existing_clean_copy_is_replaced_only_with_force_overwrite() {
    let sandbox = Sandbox::new();
    sandbox.write("a.jsonl", BAD_LINES);
    sandbox.write("a.clean.jsonl", "mine\n");
    let flags = "prepare a.jsonl --skip-bad-lines";
    sandbox.say(flags).ends(1).complains("a.clean.jsonl").complains("--force-overwrite");
    assert_eq!(sandbox.text("a.clean.jsonl"), "mine\n");
    assert!(!sandbox.has("a.clean.jsonl.idx") && !sandbox.has("a.clean.jsonl.idx.gristmill"));
    sandbox.say(&format!("{flags} --force-overwrite --problems-ok")).ends(0).says("5 bad lines");
    assert_eq!(sandbox.text("a.clean.jsonl"), GOOD_LINES);
    sandbox.write("b.jsonl", "no\n[]\n");
    sandbox.say("prepare b.jsonl --skip-bad-lines").ends(1).complains("no line is left");
    assert!(!sandbox.has("b.clean.jsonl"));
}

#[test]
fn skip_bad_lines_writes_a_copy_only_for_files_with_bad_lines() {
    let sandbox = Sandbox::new();
    sandbox.write("a.jsonl", GOOD_LINES);
    sandbox.say("prepare a.jsonl --skip-bad-lines --save-plan plan.yaml").ends(0);
    assert!(sandbox.has("a.jsonl.idx") && !sandbox.has("a.clean.jsonl"));
    sandbox.write("a.jsonl", BAD_LINES);
    sandbox.say("run plan.yaml").ends(1).says("5 bad lines");
    assert_eq!(sandbox.text("a.clean.jsonl"), GOOD_LINES);
    sandbox.tar("data/a.tar", ["one"]);
    let flags = "--split-ratio 1,0,0 --sample-type CrudeWebdataset --skip-bad-lines";
    sandbox.say(&format!("prepare data --yes {flags}")).complains("--skip-bad-lines is for .jsonl files");
}

#[test]
fn jsonl_facts_continue_after_bad_lines() {
    let sandbox = Sandbox::new();
    sandbox.write("a.jsonl", BAD_LINES);
    let facts = gristmill_ops::engine::jsonl::facts_of(&sandbox.path("a.jsonl"), 1_000).unwrap();
    assert!(facts.is_complete);
    assert_eq!((facts.bad_lines, facts.problems.len()), (2, 2));
    assert_eq!(facts.records.last().map(|record| record.line), Some(9));
    assert_eq!(facts.text_lengths().map(|lengths| lengths.count), Some(3));
}
