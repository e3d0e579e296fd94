//! Repeated text: inputs with every spelling of their compression, and single files.

use super::{case, entries, is_clean, names};
use crate::cli_prompts::Dialogue;
use crate::cli_support::zip;
use std::io::Write as _;
use std::path::Path;

#[test]
fn alternative_compression_suffixes_are_read_by_dedup() {
    let sandbox = case("D10");
    is_clean(&sandbox.say("dedup text --minlen 50 --output OUT --json"));
    let packed = sandbox.read("OUT/shard_00000000_processed.jsonl.zstd");
    let text = String::from_utf8(zstd::decode_all(&packed[..]).unwrap()).unwrap();
    assert!(text.lines().next().unwrap().contains("the very same passage"), "{text}");
    assert_eq!(text.lines().nth(1), Some(r#"{"text": "2"}"#));
    assert_eq!(sandbox.text("OUT/y.jsonl").trim_end(), r#"{"text": "3"}"#);
}

#[test]
fn single_file_is_deduplicated_like_a_folder_with_it() {
    let sandbox = case("D11");
    is_clean(&sandbox.say("dedup one.jsonl --minlen 50 --dry-run --json"));
    is_clean(&sandbox.say("dedup one.jsonl --minlen 50 --output OUT --json"));
    is_clean(&sandbox.say("dedup alone --minlen 50 --output OTHER --json"));
    assert_eq!(sandbox.read("OUT/one.jsonl"), sandbox.read("OTHER/one.jsonl"));
    assert_eq!(std::fs::read_dir(sandbox.path("OUT")).unwrap().count(), 1);
}

/// Returns the records of a file with one passage in two documents.
fn repeated() -> String {
    let passage = "the very same passage, which is long enough to be found again in another document of the input";
    format!("{{\"text\": \"{passage} one\"}}\n{{\"text\": \"{passage} two\"}}\n")
}

#[test]
fn every_name_that_pack_reads_is_read_by_dedup() {
    let gzip = |text: &str| {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        packed.write_all(text.as_bytes()).unwrap();
        packed.finish().unwrap()
    };
    let zstd = |text: &str| zstd::encode_all(text.as_bytes(), 3).unwrap();
    let bzip2 = |text: &str| {
        let mut packed = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::default());
        packed.write_all(text.as_bytes()).unwrap();
        packed.finish().unwrap()
    };
    let xz = |text: &str, stream: liblzma::stream::Stream| {
        let mut packed = liblzma::write::XzEncoder::new_stream(Vec::new(), stream);
        packed.write_all(text.as_bytes()).unwrap();
        packed.finish().unwrap()
    };
    let new_xz = || liblzma::stream::Stream::new_easy_encoder(6, liblzma::stream::Check::Crc64).unwrap();
    let options = liblzma::stream::LzmaOptions::new_preset(6).unwrap();
    let lzma = liblzma::stream::Stream::new_lzma_encoder(&options).unwrap();
    let text = repeated();
    for (name, content) in [
        ("a.jsonl.gz", gzip(&text)),
        ("a.jsonl.gzip", gzip(&text)),
        ("A.JSONL.GZ", gzip(&text)),
        ("a.json.Gzip", gzip(&text)),
        ("a.jsonl.zst", zstd(&text)),
        ("a.json.zstd", zstd(&text)),
        ("A.JSONL.ZST", zstd(&text)),
        ("a.jsonl.bz2", bzip2(&text)),
        ("A.json.BZIP2", bzip2(&text)),
        ("a.jsonl.xz", xz(&text, new_xz())),
        ("A.JSONL.XZ", xz(&text, new_xz())),
        ("a.jsonl.lzma", xz(&text, lzma)),
        ("a.jsonl.zip", zip(&[&text])),
        ("A.JSON.ZIP", zip(&[&text])),
        ("a.JSONL", text.clone().into_bytes()),
    ] {
        let sandbox = case("D10");
        sandbox.write(&format!("in/{name}"), &content);
        let result = is_clean(&sandbox.say("dedup in --minlen 50 --output OUT --json"));
        assert_eq!(result["totals"]["ranges"], 1, "{name}: {result:#}");
        let written = sandbox.read(&format!("OUT/{name}"));
        assert_eq!(written[..2], content[..2], "{name} keeps its packing");
        sandbox.write(&format!("old/{name}"), &content);
        sandbox.write("new/b.jsonl", &text);
        let result = is_clean(&sandbox.say("dedup new --against old --minlen 50 --output OTHER --json"));
        assert_eq!(result["totals"]["ranges"], 2, "{name}: {result:#}");
    }
}

#[test]
fn file_whose_packing_differs_from_its_suffix_is_reported() {
    let sandbox = case("D10");
    sandbox.write("in/a.jsonl", repeated());
    sandbox.write("in/b.jsonl.zstd", {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        packed.write_all(repeated().as_bytes()).unwrap();
        packed.finish().unwrap()
    });
    // Unsupported compressions: each is reported, in every spelling.
    let unread = ["c.jsonl.lz4", "d.jsonl.BR", "e.json.7z", "f.jsonl.tgz", "g.json.snappy"];
    unread.iter().for_each(|name| sandbox.write(&format!("in/{name}"), "packed"));
    let report = sandbox.say("dedup in --minlen 50 --output OUT --json").json("problems");
    let problems = entries(&report, "problem");
    names(&problems, &["b.jsonl.zstd", "left out"]);
    names(&problems, &unread);
    assert_eq!(problems.matches("are not read").count(), unread.len(), "{problems}");
}

#[test]
fn an_archive_of_several_files_is_named_by_every_command_that_reads_it() {
    let sandbox = case("D10");
    sandbox.write("in/a.jsonl", repeated());
    sandbox.write("in/b.jsonl.zip", zip(&[&repeated(), "{}\n"]));
    let report = sandbox.say("dedup in --minlen 50 --output OUT --json").json("problems");
    names(&entries(&report, "problem"), &["b.jsonl.zip", "left out", "an archive of 2 files"]);
}

#[test]
fn one_file_is_deduplicated_by_prompts_without_a_home_folder() {
    let sandbox = case("D11");
    is_clean(&sandbox.say("dedup one.jsonl --minlen 50 --output EXPECTED --json"));
    let home = Path::new("/proc/none");
    let mut dialogue = Dialogue::start_in(&sandbox, "dedup one.jsonl --plain", "xterm", home);
    dialogue.expect("1 file").expect("The shortest repeat").answer("50");
    dialogue.expect("output: ").answer("OUT");
    dialogue.expect("Equivalent command: gristmill dedup one.jsonl").expect("What now?").expect("Number").answer("1");
    let text = dialogue.ends(0);
    assert!(!text.contains("/proc/none"), "{text}");
    assert_eq!(sandbox.read("OUT/one.jsonl"), sandbox.read("EXPECTED/one.jsonl"));
}
