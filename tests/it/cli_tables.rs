//! Files with tables as data sets: `info`, `lint`, `verify`, `browse` and `facts`, and commands that refuse them.

use super::cli_support::Sandbox;
use super::support::copy_folder;
use std::path::{Path, PathBuf};

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/parquet").join(name)
}

/// Returns a sandbox with the input of a golden case as `data`.
fn sandbox_of(case: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    copy_folder(&golden(case).join("input"), &sandbox.path("data"));
    sandbox
}

#[test]
fn info_describes_a_parquet_file_and_a_folder() {
    let sandbox = sandbox_of("p01_parquet_files");
    let file = sandbox.say("info data/part-0.parquet").ends(0);
    file.says("- kind: Parquet")
        .says("- rows: 20")
        .says("- row groups: 3")
        .says("- codec: snappy")
        .says("text    string");
    let facts = sandbox.say("info data --json").ends(0).json("ok");
    assert_eq!((&facts["rows"], &facts["kind"]), (&58.into(), &"parquet-folder".into()));
    assert_eq!(facts["files"].as_array().unwrap().len(), 3);
    assert_eq!(
        facts["files"][0]["columns"][2],
        serde_json::json!({
            "name": "n", "type": "int32", "bytes": facts["files"][0]["columns"][2]["bytes"],
            "unpacked_bytes": facts["files"][0]["columns"][2]["unpacked_bytes"],
        })
    );
}

#[test]
fn info_lists_column_types_and_their_differences() {
    let nested = sandbox_of("p11_chat_by_jq").say("info data").ends(0);
    nested.says("messages (list<struct<role: string, content: string>>)").says("meta.text (string)");
    let several = sandbox_of("p03_column_types").say("info data").ends(0);
    several.says("text (string), id (string), n (int32) (in 3 files)").says("text (null), x (int64) (in 1 file)");
}

#[test]
fn whole_files_pass_lint_and_verify() {
    for case in ["p01_parquet_files", "p02_codecs_and_encodings", "p03_column_types", "p08_nothing_there"] {
        for command in ["lint", "verify"] {
            sandbox_of(case).say(&format!("{command} data")).ends(0).says("No problem found");
        }
    }
    let some = sandbox_of("p02_codecs_and_encodings");
    some.say("lint data").complains("pages have no checksum");
}

#[test]
fn changed_parquet_page_and_cut_file_are_found_by_lint() {
    let sandbox = sandbox_of("p02_codecs_and_encodings");
    let path = sandbox.path("data/6-zstd.parquet");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[200] ^= 1;
    sandbox.write("data/6-zstd.parquet", bytes);
    let found = sandbox.say("lint data").ends(1);
    found.complains("6-zstd.parquet, 'text'").complains("row group 0, page: its checksum does not match");
    sandbox.say("verify data/6-zstd.parquet").ends(1);
    let cut = sandbox_of("p20_truncated");
    cut.say("lint data").ends(1).complains("b.parquet").complains("the footer is missing");
    cut.say("info data").ends(1).says("- files: 1").complains("the footer is missing");
    cut.say("lint data/b.parquet").ends(1);
    cut.say("info data/b.parquet").ends(1);
    sandbox_of("p19_pointer_not_data").say("info data/b.parquet").ends(1).complains("Git LFS pointer");
}

#[test]
fn browse_and_facts_read_rows_of_all_parquet_files() {
    let sandbox = sandbox_of("p01_parquet_files");
    sandbox.say("browse data").ends(0).says("Parquet, 58 samples, 3 files").says("0 0 in part-0.parquet: json");
    sandbox.say("browse data --number 21").ends(0).says("21 1 in part-1.parquet: json");
    sandbox.say("browse data/part-1.parquet --sample 3").ends(0).says("3 3 in part-1.parquet");
    sandbox.say("browse data --number 58").ends(2).complains("there are 58 samples");
    let facts = sandbox.say("facts data --json").ends(0).json("ok");
    let text = &facts["texts"]["texts"][0];
    assert_eq!((&text["name"], &facts["texts"]["looked_at"]), (&"json/text".into(), &58.into()));
    let cut = sandbox_of("p20_truncated");
    cut.say("browse data").ends(1).says("file b.parquet: it is cut short").says("30 samples");
}

#[test]
fn csv_and_tsv_are_described_checked_and_browsed() {
    let sandbox = Sandbox::new();
    let rows: String = (0..3_000).map(|n| format!("\"some \"\"words\"\",\nand {n}\",{n}\n")).collect();
    sandbox.write("data/train.csv", format!("text,n\n{rows}"));
    sandbox.write("data/test.tsv", "text\tn\nlast\t1\n");
    let file =
        sandbox.say("info data/train.csv").ends(0).says("- kind: CSV").says("- rows: 3,000").says("text    string");
    assert!(!file.out.contains("row groups"), "{}", file.out);
    let folder = sandbox.say("info data --json").ends(0).json("ok");
    assert_eq!((&folder["rows"], &folder["kind"]), (&3_001.into(), &"csv-folder".into()));
    sandbox.say("browse data").ends(0).says("CSV, 3,001 samples, 2 files");
    sandbox.say("browse data/train.csv --number 2999").ends(0).says("2,999 2999 in train.csv: json");
    let facts = sandbox.say("facts data --json").ends(0).json("ok");
    assert_eq!(facts["texts"]["looked_at"], 3_001);
    for command in ["lint", "verify"] {
        sandbox.say(&format!("{command} data")).ends(0).says("No problem found");
    }
    sandbox.write("data/train.csv", format!("text,n\n{rows}a,b,c\n\"x"));
    let found = sandbox.say("lint data").ends(1);
    found.complains("row 3000: the row has more cells").complains("the quotes of a cell of row 3001 have no end");
    sandbox.write("empty.csv", "");
    sandbox.say("info empty.csv").ends(0).says("- rows: 0");
    sandbox.say("lint empty.csv").ends(0);
    // Next to lines, such files are descriptions of the documents.
    sandbox.write("data/a.jsonl", "{\"text\": \"a\"}\n");
    sandbox.say("info data").ends(2).complains("it is a folder of text files, not a data set");
}

#[test]
fn unsupported_commands_for_tables_name_an_alternative() {
    let sandbox = sandbox_of("p01_parquet_files");
    let prepare = "prepare data --split-ratio 8,1,1 --sample-type CrudeWebdataset --yes";
    sandbox.say(prepare).ends(2).complains("it has rows of a table, and no tar shards").complains("pack");
    let media = "prepare-media data --media-metadata-by-extension --yes";
    sandbox.say(media).ends(2).complains("it holds rows of text, no media");
    sandbox.say("repair data").ends(2).complains("files of rows are not repaired").complains("lint");
    sandbox.say("splits show data").ends(2).complains("has no splits");
    sandbox.write("data/picture.jpg", "");
    sandbox.say("info data").ends(2).complains("it is a media folder, not a data set").complains("prepare-media");
}

#[test]
fn browse_reports_missing_and_skipped_files_of_a_folder() {
    let sandbox = Sandbox::new();
    let file = std::fs::read(golden("p01_parquet_files").join("input/part-0.parquet")).unwrap();
    sandbox.write("data/train-00000-of-00002.parquet", &file);
    sandbox.write("data/b.jsonl", "{}\n");
    let ran = sandbox.say("browse data").ends(1);
    ran.complains("1 file of 2 missing: train-00001-of-00002.parquet").complains("the first is b.jsonl");
}

#[test]
fn browse_follows_the_order_of_a_saved_data_set() {
    let sandbox = Sandbox::new();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/arrow/layouts/plain.arrow");
    for name in ["a.arrow", "b.arrow"] {
        sandbox.write(&format!("data/{name}"), std::fs::read(&file).unwrap());
    }
    sandbox.write("data/dataset_info.json", "{}");
    let state = |first: &str, second: &str| {
        format!(
            "{{\"_data_files\": [{{\"filename\": \"{first}\"}}, {{\"filename\": \"{second}\"}}], \"_split\": null}}"
        )
    };
    sandbox.write("data/state.json", state("b.arrow", "a.arrow"));
    let listed = sandbox.say("browse data --json").ends(0).json("ok");
    assert_eq!(listed["listed"][0]["group"], "b.arrow");
    sandbox.write("data/state.json", state("b.arrow", "c.arrow"));
    sandbox.say("browse data").ends(1).complains("c.arrow").complains("it does not exist");
}

#[test]
fn incomplete_token_sets_are_reported_with_the_missing_file() {
    let sandbox = Sandbox::new();
    sandbox.write("pair/a_text_document.bin", [0; 8]);
    for path in ["pair", "pair/a_text_document", "pair/a_text_document.bin"] {
        for command in ["info", "lint"] {
            let ran = sandbox.say(&format!("{command} {path}")).ends(1);
            ran.complains("the .idx file that belongs to it is missing");
        }
        sandbox.say(&format!("browse {path}")).ends(1).says("the .idx file that belongs to it is missing");
    }
    sandbox.write("pair/a_text_document.idx", [1; 64]);
    for path in ["pair", "pair/a_text_document", "pair/a_text_document.idx"] {
        sandbox.say(&format!("lint {path}")).ends(1).complains("does not begin like an index of Megatron");
    }
    sandbox.write("x.bin", [0; 8]);
    for path in ["x.bin", "x"] {
        assert!(sandbox.say(&format!("info {path}")).complains("its index x.idx is missing").code > 0);
    }
    sandbox.write("mds/shard.00000.mds", [0; 8]);
    sandbox.say("info mds").ends(1).complains("mds/index.json").complains("it is missing");
    sandbox.write("mds/index.json", "{\"sha");
    assert!(sandbox.say("browse mds").complains("mds/index.json").code > 0);
    sandbox.write("olmo/part-0-00000.npy", [0; 8]);
    for command in ["info", "lint"] {
        sandbox.say(&format!("{command} olmo")).ends(1).complains("the .csv.gz file that belongs to it is missing");
    }
    let browsed = sandbox.say("browse olmo");
    assert!(browsed.code > 0 && (browsed.out + &browsed.err).contains(".csv.gz"));
}

#[test]
fn lint_checks_every_subset_of_a_card() {
    let sandbox = Sandbox::new();
    copy_folder(&golden("p01_parquet_files").join("input"), &sandbox.path("data/train"));
    let card = |default: &str| {
        format!(
            "---\nconfigs:\n- config_name: a\n  data_files: train/*.parquet\n{default}- config_name: b\n  data_files: gone/*.parquet\n---\n"
        )
    };
    for default in ["", "  default: true\n"] {
        sandbox.write("data/README.md", card(default));
        let linted = sandbox.say("lint data").ends(1);
        linted.complains("README.md: subset b cannot be read: no file with documents matches").complains("configs");
    }
}
