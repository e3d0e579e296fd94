//! Text from Arrow files: the documents of the reference program, refusals, and losses.

use super::{golden, Case, END};
use crate::cli_support::Sandbox;
use crate::support::copy_folder;

fn packed(sandbox: &Sandbox, folder: &str) -> Vec<u8> {
    std::fs::read(sandbox.path(folder).join("00000_unshuffled.ds")).unwrap()
}

fn pack<'a>(input: &'a str, output: &'a str) -> Vec<&'a str> {
    let words = ["--format", "nanosets", "--tokenizer", "../tokenizers/bpe1k.json", "--eos-token", END];
    [&["pack", input], &words[..], &["--tasks", "1", "--shuffle", "none", "--output", output, "--yes"]].concat()
}

fn case(name: &str) -> Case {
    let case = Case::new(&format!("arrow/{name}"));
    copy_folder(&golden("parquet/tokenizers"), &case.sandbox.path("tokenizers"));
    case
}

#[test]
fn packed_arrow_documents_equal_the_reference_for_all_threads_and_memory() {
    // The reference program distributes blocks of rows to two tasks.
    let expected = ["00000_unshuffled.ds", "00001_unshuffled.ds"]
        .map(|name| std::fs::read(golden("arrow/p15_arrow_files/expected").join(name)).unwrap());
    for (threads, memory) in [("1", "64M"), ("2", "256M"), ("7", "1G")] {
        let case = case("p15_arrow_files");
        case.run(&[pack("input", "out"), vec!["--threads", threads, "--memory", memory]].concat()).ends(0);
        assert!(packed(&case.sandbox, "case/out") == expected.concat(), "{threads} {memory}");
    }
}

#[test]
fn arrow_stream_without_end_mark_is_packed_with_a_problem() {
    let case = case("p15_arrow_files");
    let stream = case.sandbox.path("case/input/train-0.arrow");
    let bytes = std::fs::read(&stream).unwrap();
    std::fs::write(&stream, &bytes[..bytes.len() - 20]).unwrap();
    let result = case.run(&pack("input", "out")).ends(1);
    assert!(result.err.contains("the stream has no end mark"), "{}", result.err);
    assert!(case.sandbox.has("case/out"));
}

#[test]
fn arrow_file_without_footer_ends_the_run() {
    let case = case("p15_arrow_files");
    let file = case.sandbox.path("case/input/train-1.arrow");
    let bytes = std::fs::read(&file).unwrap();
    std::fs::write(&file, &bytes[..bytes.len() - 20]).unwrap();
    let result = case.run(&pack("input", "out")).ends(1);
    assert!(result.err.contains("the footer is missing") && result.err.contains("tail -c +9"), "{}", result.err);
    assert!(!case.sandbox.has("case/out"));
}

#[test]
fn unusable_arrow_rows_are_named_with_their_record_batch() {
    let case = case("p15_arrow_files");
    let result = case.run(&[pack("input", "out"), vec!["--text-key", "absent"]].concat()).ends(2);
    assert!(result.err.contains("name one of its columns of text with --text-key: id, text"), "{}", result.err);
    let words = ["pack", "input", "--format", "modalities", "--tokenizer", "../tokenizers/bpe1k.json"];
    let result = case.run(&[&words[..], &["--eod-token", END, "--output", "o"]].concat()).ends(1);
    assert!(result.err.contains("row 1 (in record batch 0) is left out: "), "{}", result.err);
}
