//! The same bytes for any number of threads and any memory, for several formats at once, and from a saved plan.

use super::{bpe, jsonl, texts, without_own_folders, END};
use crate::cli_support::Sandbox;
use crate::support::assert_same;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Writes plain and compressed files of different lengths, one of which has lines that are not documents.
pub fn source(sandbox: &Sandbox) {
    let texts = texts(900);
    sandbox.write("data/a.jsonl", jsonl(&texts[..500]));
    sandbox.write("data/sub/b2.jsonl", jsonl(&texts[500..640]));
    sandbox.write("data/sub/b10.jsonl", jsonl(&texts[640..650]));
    let mut odd = jsonl(&texts[650..700]);
    odd.extend_from_slice(b"{\"other\": 1}\n{\"text\": \"\"}\n{bad\n\n{\"text\": 3}\n");
    odd.extend(jsonl(&texts[700..900]));
    sandbox.write("data/c.jsonl", odd);
}

/// The formats with their own flags, each with several values that differ from the defaults.
pub const FORMATS: [(&str, &str); 6] = [
    ("modalities", "--format modalities --skip-bad-lines"),
    ("nanosets", "--format nanosets --tasks 3 --shuffle documents --chunk-size 100 --max-tokens-per-file 5000"),
    ("forager", "--format forager --sample-size 64"),
    ("mds", "--format mds --sample-size 64 --no-wrap --size-limit 30000 --hashes xxh64,sha1 --compression zstd"),
    ("megatron", "--format megatron --max-tokens-per-file 5000"),
    ("olmo", "--format olmo --id-key none --max-tokens-per-file 5000 --shuffle documents"),
];

/// Returns the flags of all formats; several formats share some flags.
pub fn all_formats() -> String {
    let all: Vec<&str> = FORMATS.iter().map(|(_, flags)| *flags).collect();
    let shared = [(" --sample-size 64", 1), (" --shuffle documents", 1), (" --max-tokens-per-file 5000", 2)];
    shared.iter().fold(all.join(" "), |flags, (shared, others)| flags.replacen(shared, "", *others))
}

/// Returns the command line that packs the source into a folder.
pub fn line(flags: &str, output: &str) -> String {
    format!("pack data --glob **/*.jsonl --tokenizer {} --eos-token {END} --output {output}/ {flags}", bpe())
}

fn made(sandbox: &Sandbox, flags: &str, output: &str) -> BTreeMap<PathBuf, Vec<u8>> {
    let ran = sandbox.say(&line(flags, output)).ends(1);
    assert!(ran.err.contains("c.jsonl"), "{}", ran.err);
    without_own_folders(&sandbox.path(output))
}

#[test]
fn packed_bytes_are_independent_of_threads_and_memory() {
    let sandbox = Sandbox::new();
    source(&sandbox);
    let all = all_formats();
    let wanted = made(&sandbox, &format!("{all} --threads 1"), "one");
    assert!(wanted.len() > 12, "{:?}", wanted.keys());
    for (threads, memory) in [(2, "256M"), (7, "256M"), (2, "1M"), (7, "1M")] {
        let folder = format!("out-{threads}-{memory}");
        let ours = made(&sandbox, &format!("{all} --threads {threads} --memory {memory}"), &folder);
        assert_same(&ours, &wanted, &folder);
    }
}

#[test]
fn partitioned_pairs_are_independent_of_threads_and_memory() {
    let sandbox = Sandbox::new();
    source(&sandbox);
    let flags = "--format megatron --partitions 5 --json-key text --json-key other --empty-texts document";
    let texts: String =
        (0..3_000).map(|number| format!("{{\"other\": [\"a {number}\", \"\"], \"text\": \"{number}\"}}\n")).collect();
    sandbox.write("data/d.jsonl", texts);
    let wanted = made(&sandbox, &format!("{flags} --threads 1"), "one");
    assert_eq!(wanted.len(), 4, "{:?}", wanted.keys());
    let ours = made(&sandbox, &format!("{flags} --threads 7 --memory 1M"), "seven");
    assert_same(&ours, &wanted, "7 threads");
}

#[test]
fn formats_packed_in_one_run_equal_those_packed_separately() {
    let sandbox = Sandbox::new();
    source(&sandbox);
    let together = made(&sandbox, &all_formats(), "all");
    for (name, flags) in FORMATS {
        let alone = made(&sandbox, flags, &format!("alone/{name}"));
        let of_it: BTreeMap<PathBuf, Vec<u8>> = together
            .iter()
            .filter_map(|(path, bytes)| Some((path.strip_prefix(name).ok()?.to_path_buf(), bytes.clone())))
            .collect();
        if name == "forager" {
            // The locations of the samples relative to the base are also equal, but only the bytes are compared.
            assert!(!of_it.is_empty());
        }
        assert_same(&of_it, &alone, name);
    }
}

#[test]
fn saved_pack_plan_runs_from_any_folder() {
    let sandbox = Sandbox::new();
    source(&sandbox);
    for (name, flags) in FORMATS {
        let wanted = made(&sandbox, flags, name);
        let plan = format!("{name}.yaml");
        sandbox.say(&line(&format!("{flags} --dry-run --save-plan {plan}"), name));
        assert!(sandbox.text(&plan).contains("command: pack\n"));
        let text = sandbox.text(&plan).replace(&format!("/{name}/\n"), &format!("/replayed-{name}/\n"));
        sandbox.write(&plan, text);
        std::fs::create_dir_all(sandbox.path("elsewhere")).unwrap();
        let mut command = sandbox.command(["run", &format!("../{plan}")]);
        super::ran(command.current_dir(sandbox.path("elsewhere"))).ends(1);
        assert_same(&without_own_folders(&sandbox.path(&format!("replayed-{name}"))), &wanted, name);
    }
}

#[test]
fn same_pack_plan_does_nothing_and_different_plan_is_refused() {
    let sandbox = Sandbox::new();
    let texts = texts(60);
    sandbox.write("data/a.jsonl", jsonl(&texts[..50]));
    for (name, flags) in FORMATS {
        let first = sandbox.say(&line(flags, name)).ends(0);
        assert!(!first.out.contains("Nothing to do"), "{}", first.out);
        let before = without_own_folders(&sandbox.path(name));
        sandbox.say(&line(flags, name)).ends(0).says("Nothing to do");
        let other = format!("{flags} --text-key other");
        let refused = sandbox.say(&line(&other, name));
        assert!([1, 2].contains(&refused.code), "{}", refused.err);
        assert_same(&without_own_folders(&sandbox.path(name)), &before, name);
        // With changed input, the output is no longer the same.
        sandbox.write("data/a.jsonl", jsonl(&texts));
        let changed = sandbox.say(&line(flags, name));
        assert_ne!(changed.code, 0, "{}", changed.out);
        assert_same(&without_own_folders(&sandbox.path(name)), &before, name);
        sandbox.say(&line(&format!("{flags} --force-overwrite"), name)).ends(0);
        assert_ne!(without_own_folders(&sandbox.path(name)), before);
        sandbox.write("data/a.jsonl", jsonl(&texts[..50]));
    }
}
