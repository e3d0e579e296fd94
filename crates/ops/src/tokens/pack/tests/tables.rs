//! Rows of tables: block sizes, threads and kills do not affect the output.

use super::rerun::LINE_BY_LINE;
use super::*;
use gristmill_storage::fs::fault::{Fault, FaultFs};

/// The input files of one kind of table, and the column with the text.
struct Table {
    inputs: &'static [&'static str],
    column: &'static str,
}

const TABLES: [Table; 5] = [
    // Uses every codec and encoding.
    Table { inputs: &["parquet/p02_codecs_and_encodings/input"], column: "text" },
    Table {
        inputs: &["arrow/layouts/plain.arrow", "arrow/layouts/deltas_file.arrow", "arrow/layouts/lz4.arrow"],
        column: "string",
    },
    // A run resumes between elements of an array.
    Table { inputs: &["json/array.json"], column: "text" },
    // Plain files resume at a row; compressed files are read from the beginning.
    Table {
        inputs: &[
            "csv/csv_rows/input/train-0.csv",
            "csv/csv_rows/input/train-2.csv",
            "csv/csv_gzip_rows/input/data/train-00001-of-00002.csv.gz",
            "csv/tsv_rows/input/train/b.tsv",
        ],
        column: "text",
    },
    Table { inputs: &["csv/text_rows/input/train/a.txt", "csv/text_rows/input/train/b.txt"], column: "text" },
];

fn rows(table: &Table, text: TextField, output: &Path) -> PackPlan {
    let mut plan = plan(&case(table.inputs[0]), "modalities/tokenizers/wl200", output);
    plan.inputs = table.inputs.iter().map(|input| case(input).to_str().unwrap().to_owned()).collect();
    plan.text = text;
    plan.nanosets = Some(NanosetsTarget { tasks: Some(2), ..NanosetsTarget::default() });
    plan.modalities = Some(ModalitiesTarget::default());
    plan
}

fn pack(plan: &PackPlan, threads: usize, tuning: Tuning, fs: Arc<dyn Fs>) -> Outcome<PackReport> {
    start_on(plan.clone(), options(threads), tuning, fs)?.wait()
}

/// Returns two text fields with the same texts: the column, and a jq program on the row as JSON.
fn fields(table: &Table) -> [TextField; 2] {
    [TextField::Key(table.column.into()), TextField::Jq(format!(".{} // \"\"", table.column))]
}

#[test]
fn killed_table_run_resumes_at_a_row_to_the_same_bytes() {
    TABLES.iter().for_each(kill_and_continue);
}

fn kill_and_continue(table: &Table) {
    let mut outputs = Vec::new();
    for field in fields(table) {
        let dir = tempfile::tempdir().unwrap();
        let whole = rows(table, field.clone(), &dir.path().join("whole"));
        let report = pack(&whole, 1, LINE_BY_LINE, Arc::new(RealFs)).unwrap();
        let expected = files(&dir.path().join("whole"));
        let counting = FaultFs::new(Fault::Nothing);
        pack(&rows(table, field.clone(), &dir.path().join("count")), 1, LINE_BY_LINE, Arc::new(counting.clone()))
            .unwrap();
        let ops = counting.ops();
        let mut resumed = 0;
        for (round, at) in (0..ops).step_by(usize::try_from(ops / 50).unwrap().max(1)).enumerate() {
            let output = dir.path().join(format!("out-{round}"));
            let plan = rows(table, field.clone(), &output);
            let killed = pack(&plan, 1, LINE_BY_LINE, Arc::new(FaultFs::new(Fault::Kill { at })));
            // The second run uses other block sizes.
            let again = pack(&plan, 2, Tuning { block_bytes: Some(300), ..LINE_BY_LINE }, Arc::new(RealFs)).unwrap();
            if killed.is_err() && !again.nothing_to_do {
                resumed += u64::from(again.resumed_bytes > 0);
                assert_eq!(
                    (again.documents, again.tokens),
                    (report.documents, report.tokens),
                    "killed at {at} of {ops}"
                );
            }
            assert_same(&files(&output), &expected, &format!("{field:?} killed at {at} of {ops}"));
        }
        assert!(resumed > 10, "{resumed}");
        outputs.push(expected);
    }
    assert_same(&outputs[1], &outputs[0], "the program and the column have the same texts");
}

#[test]
fn table_output_does_not_depend_on_threads_and_blocks() {
    for (table, field) in TABLES.iter().flat_map(|table| fields(table).map(|field| (table, field))) {
        let dir = tempfile::tempdir().unwrap();
        pack(&rows(table, field.clone(), &dir.path().join("whole")), 1, Tuning::default(), Arc::new(RealFs)).unwrap();
        let expected = files(&dir.path().join("whole"));
        for (threads, block) in [(2, 1), (7, 100), (3, 4_000)] {
            let output = dir.path().join(format!("out-{block}"));
            let tuning = Tuning { block_bytes: Some(block), ..Tuning::default() };
            pack(&rows(table, field.clone(), &output), threads, tuning, Arc::new(RealFs)).unwrap();
            assert_same(&files(&output), &expected, &format!("{field:?} {threads} {block}"));
        }
    }
}
