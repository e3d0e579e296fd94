//! Text from CSV, TSV and plain text: the documents of the reference program, refusals, omissions and losses.

use super::{golden, Case, END};
use crate::cli_support::{RunOutput, Sandbox};
use crate::support::copy_folder;
use serde_json::Value;
use std::io::Write as _;
use std::path::Path;

const DS: &str = "00000_unshuffled.ds";

#[test]
fn delimited_tokens_equal_reference_for_any_threads_and_memory() {
    for case in ["csv_rows", "csv_gzip_rows", "tsv_rows", "text_rows"] {
        let name = format!("csv/{case}");
        let facts: Value = serde_json::from_slice(&std::fs::read(golden(&name).join("case.json")).unwrap()).unwrap();
        let words = facts["gristmill"][0].as_array().unwrap();
        for (threads, memory) in [("1", "64M"), ("2", "256M"), ("7", "1G")] {
            let mut words: Vec<&str> = words.iter().map(|word| word.as_str().unwrap()).collect();
            words.splice(0..0, ["--threads", threads, "--memory", memory]);
            let case = Case::new(&name);
            copy_folder(&golden("parquet/tokenizers"), &case.sandbox.path("tokenizers"));
            case.run(&words).ends(0);
            case.is_as_expected("expected");
        }
    }
}

/// Returns a sandbox with a tokenizer.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("t.json", std::fs::read(golden("parquet/tokenizers/bpe1k.json")).unwrap());
    sandbox
}

fn pack(sandbox: &Sandbox, words: &[&str]) -> RunOutput {
    let same = ["--format", "nanosets", "--tokenizer", "t.json", "--eos-token", END, "--tasks", "1", "--yes"];
    sandbox.run([&["pack"], words, &same].concat())
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

/// Whether two folders have the same tokens.
fn is_same(sandbox: &Sandbox, one: &str, other: &str) -> bool {
    sandbox.read(&format!("{one}/{DS}")) == sandbox.read(&format!("{other}/{DS}"))
}

#[test]
fn csv_rows_give_the_documents_of_equal_jsonl_lines() {
    let sandbox = sandbox();
    sandbox.write("a.csv", "id,words\nx1,\"one, \"\"two\"\"\nthree\"\nx2,\nx3,four\n");
    sandbox.write(
        "a.jsonl",
        "{\"id\": \"x1\", \"words\": \"one, \\\"two\\\"\\nthree\"}\n{\"id\": \"x3\", \"words\": \"four\"}\n",
    );
    let formats = ["modalities", "nanosets", "forager", "megatron", "olmo", "mds"];
    for format in formats {
        let more: &[&str] = match format {
            "olmo" => &["--id-key", "id"],
            "forager" | "mds" => &["--sample-size", "4"],
            _ => &[],
        };
        let run = |input: &str, output: &str| {
            let same = ["--format", format, "--tokenizer", "t.json", "--eos-token", END, "--output", output, "--yes"];
            sandbox.run([&["pack", input, "--text-key", "words"], &same[..], more].concat()).ends(0);
        };
        let (csv, lines) = (format!("csv-{format}"), format!("lines-{format}"));
        // Output files are named like the input.
        run("a.csv", &csv);
        run("a.jsonl", &lines);
        // An output is a folder, a file or a prefix of names.
        let tokens = |output: &str| {
            let prefix = sandbox.path(output);
            let files = walkdir::WalkDir::new(prefix.parent().unwrap()).sort_by_file_name().into_iter();
            let files =
                files.map(Result::unwrap).filter(|entry| entry.file_type().is_file()).map(walkdir::DirEntry::into_path);
            let files = files.filter(|path| path.to_string_lossy().starts_with(&*prefix.to_string_lossy()));
            let is_data =
                |path: &Path| [".bin", ".ds", ".npy", ".mds"].iter().any(|end| path.to_string_lossy().ends_with(end));
            let files = files.filter(|path| is_data(path) || *path == prefix);
            files.map(|path| std::fs::read(path).unwrap()).collect::<Vec<_>>()
        };
        assert!(!tokens(&csv).is_empty() && tokens(&csv) == tokens(&lines), "{format}");
    }
}

#[test]
fn invalid_csv_rows_are_reported_and_the_others_packed() {
    let sandbox = sandbox();
    sandbox.write("a.csv", [&b"text,n\none,1\n\xff,2\na,b,c\nnull,4\ntwo,5\n\"three,6\n"[..]].concat());
    let ran = pack(&sandbox, &["a.csv", "--output", "out"]).ends(1);
    let ran = ran
        .complains("row 1 is left out")
        .complains("its text is not UTF-8 (column `text`)")
        .complains("row 2 is left out");
    ran.complains("the row has more cells than the header has names")
        .complains("the quotes of a cell of row 5 have no end");
    sandbox.write("same.jsonl", "{\"text\": \"one\"}\n{\"text\": \"two\"}\n");
    pack(&sandbox, &["same.jsonl", "--output", "same"]).ends(0);
    assert!(is_same(&sandbox, "out", "same"));

    let packed = gzip(format!("text\n{}", (0..20_000).map(|n| format!("row {n}\n")).collect::<String>()).as_bytes());
    sandbox.write("cut.csv.gz", &packed[..packed.len() / 2]);
    pack(&sandbox, &["cut.csv.gz", "--output", "cut"]).ends(1).complains("the gzip stream cannot be read");
}

#[test]
fn non_text_columns_are_refused_with_text_key_or_jq_hint() {
    let sandbox = sandbox();
    sandbox.write("a.csv", "name,n,is\none,001,True\ntwo,002,False\n");
    let no = pack(&sandbox, &["a.csv", "--output", "out"]).ends(2);
    no.complains("it has no column `text`").complains("--text-key: name");
    let number = pack(&sandbox, &["a.csv", "--text-key", "n", "--output", "out"]).ends(2);
    number.complains("its column `n` holds numbers, not text").complains("--jq");
    pack(&sandbox, &["a.csv", "--jq", ".n | tostring", "--output", "out"]).ends(0);
    sandbox.write("same.jsonl", "{\"text\": \"001\"}\n{\"text\": \"002\"}\n");
    pack(&sandbox, &["same.jsonl", "--output", "same"]).ends(0);
    assert!(is_same(&sandbox, "out", "same"));
    sandbox.write("b.csv", "text,n\none,1,\ntwo,2,\n");
    pack(&sandbox, &["b.csv", "--output", "b"])
        .ends(2)
        .complains("its first row has more cells than the header has names, 2");
    sandbox.write("c.csv", "");
    pack(&sandbox, &["c.csv", "--output", "c"]).ends(1);
    sandbox.say("dedup a.csv --output d --minlen 10").ends(2).complains("files of CSV are not written back");
}

#[test]
fn folders_of_csv_and_tsv_are_packed_unless_jsonl_files_exist() {
    let sandbox = sandbox();
    sandbox.write("in/a.csv", "text\none\n");
    sandbox.write("in/b.tsv.gz", gzip(b"n\ttext\n1\ttwo\n"));
    sandbox.write("in/README.md", "about");
    sandbox.write("in/notes.txt", "notes");
    pack(&sandbox, &["in", "--output", "tables"]).ends(0);
    sandbox.write("same.jsonl", "{\"text\": \"one\"}\n{\"text\": \"two\"}\n");
    pack(&sandbox, &["same.jsonl", "--output", "same"]).ends(0);
    assert!(is_same(&sandbox, "tables", "same"));
    sandbox.write("in/c.jsonl", "{\"text\": \"three\"}\n");
    let ran = pack(&sandbox, &["in", "--output", "lines"]).ends(0);
    ran.complains("2 files of tables next to other documents left out, the first is a.csv")
        .complains("the first is README.md");
    sandbox.write("three.jsonl", "{\"text\": \"three\"}\n");
    pack(&sandbox, &["three.jsonl", "--output", "three"]).ends(0);
    assert!(is_same(&sandbox, "lines", "three"));
    pack(&sandbox, &["in", "--glob", "*.csv", "--output", "chosen"]).ends(0);
}

#[test]
fn named_txt_files_are_read_and_their_json_lines_are_documents() {
    let sandbox = sandbox();
    sandbox.write("in/train.txt", "one\r\n\r\ntwo");
    sandbox.write("in/test.txt", "three\n");
    pack(&sandbox, &["in", "--output", "out"]).ends(1).complains("--split NAME reads one of them");
    let lines = ["pack", "in", "--format", "modalities", "--tokenizer", "t.json", "--eos-token", END, "--output", "m"];
    sandbox.run([&lines[..], &["--yes"]].concat()).ends(2).complains("no file of Parquet, Arrow, CSV, TSV");
    pack(&sandbox, &["in", "--split", "train", "--output", "split"]).ends(0);
    pack(&sandbox, &["in/train.txt", "--output", "named"]).ends(0);
    pack(&sandbox, &["in", "--glob", "train*", "--output", "chosen"]).ends(0);
    sandbox.write("in/lines.txt", "{\"text\": \"one\"}\n{\"text\": \"two\"}\n");
    pack(&sandbox, &["in/lines.txt", "--output", "lines"]).ends(0);
    for output in ["split", "named", "chosen"] {
        assert!(is_same(&sandbox, output, "lines"), "{output}");
    }
    let other = pack(&sandbox, &["in/train.txt", "--text-key", "body", "--output", "other"]).ends(2);
    other.complains("--text-key: text");
    sandbox.write("in/lines.txt.gz", gzip(b"{\"text\": \"one\"}\n"));
    pack(&sandbox, &["in/lines.txt.gz", "--output", "json"]).ends(2).complains("its lines are JSON");
}

#[test]
fn the_nanotron_command_reads_tables_by_their_splits() {
    let sandbox = sandbox();
    copy_folder(&golden("csv/csv_rows/input"), &sandbox.path("in"));
    let tool =
        ["nanotron", "preprocess_data", "--tokenizer-name-or-path", "t.json", "--eos-token", END, "--n-tasks", "4"];
    sandbox.run([&tool[..], &["--output-folder", "tool", "hf", "--dataset", "in"]].concat()).ends(0);
    let same =
        ["--format", "nanosets", "--tokenizer", "t.json", "--eos-token", END, "--tasks", "4", "--deal", "blocks"];
    sandbox.run([&["pack", "in", "--split", "train", "--output", "ours", "--yes"], &same[..]].concat()).ends(0);
    let mut sizes = Vec::new();
    for task in 0..4 {
        let name = format!("0000{task}_unshuffled.ds");
        let tokens = sandbox.read(&format!("tool/{name}"));
        assert!(tokens == sandbox.read(&format!("ours/{name}")), "{task}");
        sizes.push(tokens.len());
    }
    assert!(sizes.iter().all(|size| *size > 100), "{sizes:?}");
    // For a slice, the rows are counted first.
    pack(&sandbox, &["in", "--split", "train[20:25]", "--output", "slice"]).ends(0);
    assert!(sandbox.has(&format!("slice/{DS}")));
}

#[test]
fn dry_run_of_csv_estimates_the_number_of_rows() {
    let sandbox = sandbox();
    let rows: String = (0..3_000).map(|n| format!("\"some words, and number {n}\",{n}\n")).collect();
    sandbox.write("a.csv", format!("text,n\n{rows}"));
    sandbox.write("a.csv.gz", gzip(format!("text,n\n{rows}").as_bytes()));
    for input in ["a.csv", "a.csv.gz"] {
        let plan = pack(&sandbox, &[input, "--output", "out", "--dry-run", "--json"]).ends(0).json("ok");
        let documents = plan.to_string();
        assert!(documents.contains("3000"), "{documents}");
    }
}
