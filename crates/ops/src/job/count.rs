//! Counts documents, bytes and tokens of text, and finds the longest document of each file.

use super::damage::{leave_out_files, DamagedRows};
use super::fetch::{fetch, FetchRequest};
use super::job_progress::cost;
use super::layouts;
use super::pool::{run_both, run_units};
use super::report::{Report, ReportLine, RunFindings};
use super::task::TaskContext;
use super::Phase;
use gristmill_core::pack::TextField;
use gristmill_core::text::{bytes, count, display_safe, grouped};
use gristmill_core::{Failure, Mutex, Outcome, Problem, ProblemKind, ProblemSink as _, Severity, Subject};
use gristmill_data::source::documents::{
    list_jsonl, mark_hint, plain_units, read_unit, Block, DocumentBlock, DocumentFields, DocumentRules,
    DocumentVerdict, Extractor, InputRules, Line, OtherFields, ParsedLine, Position, Row, Selection, TextFile,
    BYTE_ORDER_MARK,
};
use gristmill_data::source::jsonl;
use gristmill_storage::files;
use gristmill_storage::location::threads_for;
use gristmill_storage::publish::write_file;
use gristmill_storage::read_ahead::read_ahead;
use gristmill_tokenizer::{Encoder, Mismatch, ParityCheck, Tokenizer};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::path::PathBuf;

const ACTIVITY: &str = "counting";
/// Approximate size of a unit, in bytes of text.
const UNIT_BYTES: u64 = 8 << 20;
/// Size of a block that is read at a time, in bytes of text.
const BLOCK_BYTES: usize = 1 << 20;
/// Limit of files whose counts are printed individually.
const MAX_PRINTED_FILES: usize = 40;
/// Permission bits of the file of counts.
const FILE_MODE: u32 = 0o644;

/// Default key of the text.
pub(crate) const TEXT_KEY: &str = "text";

/// Inputs and tokenizer of a count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct CountPlan {
    /// Version of the plan format, [`PLAN_VERSION`](gristmill_core::plan::PLAN_VERSION).
    pub version: u32,
    /// Files with documents, folders of such files, and addresses of data sets of the hub.
    pub inputs: Vec<PathBuf>,
    /// The tokenizer, in any form that `pack` accepts.
    pub tokenizer: String,
    /// Key of the text.
    pub text_key: String,
    /// Pattern that selects files in folders, matched against their relative paths.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub glob: Option<String>,
    /// Path of the file for the counts; `None` writes no file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<PathBuf>,
    /// Whether an existing file is replaced.
    #[serde(default)]
    pub overwrite: bool,
}

/// Counts of the text of one file, or of all files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TextCount {
    /// Number of lines and rows with a text that is not empty.
    pub documents: u64,
    /// Bytes of these texts in UTF-8.
    pub text_bytes: u64,
    /// Tokens of these texts, without template and end tokens.
    pub tokens: u64,
    /// Tokens of the longest document.
    pub longest_tokens: u64,
    /// Line of the longest document, counted from 1, or row of a table, counted from 0; 0 if there is none.
    pub longest_line: u64,
}

/// Counts of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileCount {
    /// Path relative to the input.
    pub name: String,
    /// Size on disk in bytes.
    pub bytes: u64,
    /// Noun for the container of a document, such as `line` or `row`.
    #[serde(skip)]
    pub item: &'static str,
    /// Counts of its content.
    #[serde(flatten)]
    pub count: TextCount,
}

/// Result of a count.
#[derive(Clone, Debug, Default, Serialize)]
pub struct CountReport {
    /// Counts of each file, in the order in which `pack` reads them.
    pub files: Vec<FileCount>,
    /// Counts of all files together; `longest_line` is in `longest_file`.
    pub total: TextCount,
    /// The file with the longest document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longest_file: Option<String>,
    /// The file to which the counts were written, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<PathBuf>,
    /// Problems, notes and time of the run.
    #[serde(flatten)]
    pub findings: RunFindings,
}

/// Content of the file of counts.
#[derive(Serialize)]
struct CountFile<'a> {
    tokenizer: &'a str,
    total: &'a TextCount,
    files: &'a [FileCount],
}

/// Counts according to a plan. Without `is_written`, only lists the inputs.
pub(crate) fn run_count(plan: &CountPlan, is_written: bool, context: &TaskContext) -> Outcome<CountReport> {
    context.phase_of(Phase::Open, "input file", "looking for text files");
    refuse_existing(plan)?;
    let tokenizer = Tokenizer::load_with(&plan.tokenizer, &run_both)?;
    let glob = plan.glob.as_deref();
    let selection = Selection { glob, reads_tables: true, all_splits: true, ..Selection::default() };
    let (inputs, rules) = (&plan.inputs, &[&InputRules::JSON_LINES]);
    let snapshots = fetch(
        &FetchRequest { inputs, selection, rules, byte_cost: cost::BYTE_PACKED, is_preview: !is_written },
        context,
    )?;
    let mut listing = list_jsonl(inputs, Selection { snapshots: &snapshots, ..selection }, &context.cancel)?;
    listing.problems.extend(leave_out_files(&mut listing.files, &context.options, &context.cancel)?);
    listing.problems.iter().try_for_each(|problem| context.problems.report(problem.clone()))?;
    let mut report = CountReport {
        files: listing.files.iter().map(empty_count).collect(),
        output: plan.output.clone(),
        ..CountReport::default()
    };
    if is_written {
        let (files, threads) = (listing.files.iter().collect::<Vec<_>>(), context.options.threads);
        let problems = layouts::check(&files, &plan.fields(), (ACTIVITY, threads), &context.cancel)?;
        let damaged = DamagedRows::find(&files, &plan.fields(), &context.options, &context.cancel)?;
        listing.files.iter_mut().for_each(|file| file.damaged = damaged.of(&file.path));
        let problems = problems.into_iter().chain(damaged.problems);
        problems.into_iter().try_for_each(|problem| context.problems.report(problem))?;
        tokenizer.verify_against_reference();
        count_files(plan, &listing.files, &tokenizer, context, &mut report)?;
        if let Some(output) = &plan.output {
            context.phase_of(Phase::Publish, "output file", "writing the counts");
            let file = CountFile { tokenizer: &plan.tokenizer, total: &report.total, files: &report.files };
            let json = serde_json::to_vec_pretty(&file);
            let json = json.map_err(|error| Failure::environment("writing the counts", error.to_string()))?;
            refuse_existing(plan)?;
            write_file(&*context.fs, output, &[&json[..], b"\n"].concat(), FILE_MODE)?;
        }
    }
    report.findings = context.run_findings();
    Ok(report)
}

fn refuse_existing(plan: &CountPlan) -> Outcome<()> {
    match &plan.output {
        Some(output) if !plan.overwrite && files::try_is_taken(output)? => {
            Err(Failure::data(ACTIVITY, "the file exists already")
                .on(Subject::path(output))
                .with_hint("give another --output, or --force-overwrite replaces it"))
        }
        _ => Ok(()),
    }
}

fn empty_count(file: &TextFile) -> FileCount {
    FileCount { name: file.name.clone(), bytes: file.bytes, item: file.source.item(), count: TextCount::default() }
}

impl CountPlan {
    /// Returns the fields of the documents that are read.
    fn fields(&self) -> DocumentFields {
        DocumentFields { text: TextField::Key(self.text_key.clone()), others: OtherFields::None }
    }
}

/// A piece of a file that one thread counts.
struct Unit<'a> {
    number: usize,
    file: &'a TextFile,
    part: Part,
    is_last: bool,
    /// Approximate number of bytes of the file that are read.
    bytes: u64,
}

enum Part {
    /// A range of bytes of a file of lines.
    Bytes(jsonl::Unit),
    /// Rows of a table.
    Rows(Range<u64>),
    /// A whole file, read from its beginning.
    Whole,
}

/// Divides a file into units.
fn units_of<'f>(number: usize, file: &'f TextFile, context: &TaskContext) -> Outcome<Vec<Unit<'f>>> {
    let parts: Vec<Part> = if file.has_plain_lines() {
        plain_units(file.bytes, UNIT_BYTES).into_iter().map(Part::Bytes).collect()
    } else if file.source.is_divisible(file) {
        let (rows, _) = file.source.count_rows(file, &context.cancel)?;
        let step = usize::try_from(rows / file.bytes.div_ceil(UNIT_BYTES).max(1)).unwrap_or(usize::MAX).max(1);
        let starts = (0..rows.max(1)).step_by(step);
        starts.map(|start| Part::Rows(start..start.saturating_add(step as u64).min(rows))).collect()
    } else {
        vec![Part::Whole]
    };
    let count = parts.len();
    let bytes = |at: usize| file.bytes * (at as u64 + 1) / count as u64 - file.bytes * at as u64 / count as u64;
    let unit = |(at, part)| Unit { number, file, part, is_last: at + 1 == count, bytes: bytes(at) };
    Ok(parts.into_iter().enumerate().map(unit).collect())
}

/// Counts of a unit; line numbers are relative to its beginning.
struct UnitCount {
    file: usize,
    lines: u64,
    count: TextCount,
    /// Lines without a readable text, with the reason.
    bad_lines: Vec<(u64, String)>,
    bad_count: u64,
    damage: Option<Problem>,
    /// The first document that the fast tokenizer encodes differently from the reference tokenizer.
    mismatch: Option<Mismatch>,
}

fn count_files(
    plan: &CountPlan,
    files: &[TextFile],
    tokenizer: &Tokenizer,
    context: &TaskContext,
    report: &mut CountReport,
) -> Outcome<()> {
    let _ahead = read_ahead(files.iter().map(|file| (&*file.path, file.stamp)));
    let numbered: Vec<(usize, &TextFile)> = files.iter().enumerate().collect();
    let threads = files.first().map_or(1, |file| threads_for(&file.path, 1));
    let units = run_units(&numbered, threads, &context.cancel, |(number, file)| units_of(*number, file, context))?;
    let units: Vec<Unit<'_>> = units.into_iter().flatten().collect();
    let mut counts = count_units(plan, &units, files, tokenizer, context)?;
    if let Some(mismatch) = counts.iter().find_map(|unit| unit.mismatch.as_ref()) {
        context.log(format!("the fast tokenizer differs from the reference: {mismatch}; the reference counts again"));
        tokenizer.use_reference();
        counts = count_units(plan, &units, files, tokenizer, context)?;
    }
    let mut before = (0, 0);
    for unit in counts {
        let (Some(file), Some(counted)) = (files.get(unit.file), report.files.get_mut(unit.file)) else {
            return Err(Failure::internal(ACTIVITY, "a unit is of no file"));
        };
        if before.0 != unit.file {
            before = (unit.file, 0);
        }
        report_lines(&unit, file, before.1, context)?;
        // Rows are numbered from 0, as in all messages.
        let first = u64::from(file.source.is_table());
        let longest = (unit.count.longest_tokens, (unit.count.longest_line + before.1).saturating_sub(first));
        counted.count.add(&unit.count, longest);
        before.1 += unit.lines;
    }
    for file in &report.files {
        if file.count.longest_tokens > report.total.longest_tokens {
            report.longest_file = Some(file.name.clone());
        }
        report.total.add(&file.count, (file.count.longest_tokens, file.count.longest_line));
    }
    Ok(())
}

impl TextCount {
    fn add(&mut self, other: &Self, (longest_tokens, longest_line): (u64, u64)) {
        self.documents += other.documents;
        self.text_bytes += other.text_bytes;
        self.tokens += other.tokens;
        if longest_tokens > self.longest_tokens {
            (self.longest_tokens, self.longest_line) = (longest_tokens, longest_line);
        }
    }
}

fn count_units(
    plan: &CountPlan,
    units: &[Unit<'_>],
    files: &[TextFile],
    tokenizer: &Tokenizer,
    context: &TaskContext,
) -> Outcome<Vec<UnitCount>> {
    context.phase_of(Phase::Scan, "input file", "counting");
    context.progress.expect(files.len() as u64, files.iter().map(|file| file.bytes).sum());
    // An encoder has a cache of words of several MiB. Units use one after another, so that small files do not begin with an empty one.
    let spare: Mutex<Vec<(Encoder, ParityCheck)>> = Mutex::default();
    run_units(units, context.options.threads, &context.cancel, |unit| {
        let kept = spare.lock().pop();
        let (mut encoder, mut parity) = kept.unwrap_or_else(|| (tokenizer.encoder(), tokenizer.guard()));
        let counted = count_unit(plan, unit, (&mut encoder, &mut parity), context)?;
        spare.lock().push((encoder, parity));
        context.progress.add(u64::from(unit.is_last), unit.bytes);
        Ok(counted)
    })
}

/// Reports the lines and rows of a unit that have no text. `lines` is the number of lines of the file before the unit.
fn report_lines(unit: &UnitCount, file: &TextFile, lines: u64, context: &TaskContext) -> Outcome<()> {
    for (line, why) in &unit.bad_lines {
        let (subject, row) = match file.source.is_table() {
            true => (Subject::path(&file.path), format!("row {}: ", lines + line - 1)),
            false => (Subject::path(&file.path).line(lines + line), String::new()),
        };
        let message = format!("{row}it is not counted: {why}");
        let hint = (why == BYTE_ORDER_MARK).then(|| mark_hint(file, lines + line - 1));
        context.problems.report(Problem { hint, ..Problem::problem(ProblemKind::BadLine, subject, message) })?;
    }
    let more = unit.bad_count - unit.bad_lines.len() as u64;
    context.problems.count_more(Severity::Problem, ProblemKind::BadLine, more);
    unit.damage.iter().try_for_each(|damage| context.problems.report(damage.clone()))
}

fn count_unit(
    plan: &CountPlan,
    unit: &Unit<'_>,
    (encoder, parity): (&mut Encoder, &mut ParityCheck),
    context: &TaskContext,
) -> Outcome<UnitCount> {
    let mut counter = Counter {
        extractor: Extractor::new(&TextField::Key(plan.text_key.clone()))?,
        encoder,
        parity,
        first_number: ((unit.number as u64) << 40)
            + match &unit.part {
                Part::Bytes(range) => range.start,
                Part::Rows(rows) => rows.start,
                Part::Whole => 0,
            },
        ids: Vec::new(),
        unit: UnitCount {
            file: unit.number,
            lines: 0,
            count: TextCount::default(),
            bad_lines: Vec::new(),
            bad_count: 0,
            damage: None,
            mismatch: None,
        },
    };
    let (file, rows) = match &unit.part {
        Part::Bytes(range) => {
            let source = unit.file.open()?;
            counter.lines(&read_unit(&source, *range, Vec::new(), &context.cancel)?, context)?;
            return Ok(counter.unit);
        }
        Part::Rows(rows) => (unit.file, rows.clone()),
        Part::Whole => (unit.file, 0..u64::MAX),
    };
    let from = Position { line: rows.start, offset: 0 };
    let mut reader = file.source.open(file, &plan.fields(), from, BLOCK_BYTES, &context.cancel)?;
    let mut spare = Vec::new();
    while reader.position().line < rows.end {
        let Some(block) = reader.next(spare)? else { break };
        counter.block(&block, &rows, context)?;
        spare = block.into_memory();
    }
    if let Part::Rows(rows) = &unit.part {
        counter.unit.lines = rows.end - rows.start;
    }
    if unit.is_last {
        counter.unit.damage = reader.damage()?;
    }
    Ok(counter.unit)
}

/// Counts the lines and rows of a unit in order.
struct Counter<'e> {
    extractor: Extractor,
    encoder: &'e mut Encoder,
    parity: &'e mut ParityCheck,
    /// Number of the first line. It determines which documents are compared, independently of the number of threads.
    first_number: u64,
    ids: Vec<u32>,
    unit: UnitCount,
}

impl Counter<'_> {
    fn block(&mut self, block: &DocumentBlock, rows: &Range<u64>, context: &TaskContext) -> Outcome<()> {
        match block {
            DocumentBlock::Lines(block) => self.lines(block, context),
            DocumentBlock::Rows(block) => block.decode(&mut |found| {
                context.cancel.check()?;
                found.iter().filter(|row| rows.contains(&row.number)).try_for_each(|row| {
                    // Numbers of rows may have gaps, because damaged row groups are excluded.
                    self.unit.lines = row.number - rows.start;
                    let counted = self.row(row)?;
                    self.add(counted);
                    Ok(())
                })
            }),
            DocumentBlock::Spans { .. } => Err(Failure::internal(ACTIVITY, "a file is read by an index")),
        }
    }

    fn lines(&mut self, block: &Block, context: &TaskContext) -> Outcome<()> {
        for line in block.lines() {
            context.cancel.check()?;
            let counted = self.line(&line)?;
            self.add(counted);
        }
        Ok(())
    }

    /// Adds a line or row, or the reason why it has no text.
    fn add(&mut self, counted: Result<(), String>) {
        if let Err(why) = counted {
            self.unit.bad_count += 1;
            if self.unit.bad_lines.len() < gristmill_core::handles::MAX_LISTED_PROBLEMS {
                self.unit.bad_lines.push((self.unit.lines, why));
            }
        }
    }

    /// Counts a line. The inner error is the reason why it has no text.
    fn line(&mut self, line: &Line<'_>) -> Outcome<Result<(), String>> {
        self.unit.lines += 1;
        if line.is_overlong() {
            return Ok(Err(format!("it has {}, which is more than is read", bytes(line.len))));
        }
        let held = self.extractor.document_in_batch(line.bytes);
        let counted = match held.document(&self.extractor).usable_text() {
            Ok(_) => self.text(held)?,
            Err(why) => Err(why.to_owned()),
        };
        self.extractor.clear();
        Ok(counted)
    }

    /// Like [`line`](Self::line), for a row, which may lack a text.
    fn row(&mut self, row: &Row<'_>) -> Outcome<Result<(), String>> {
        self.unit.lines += 1;
        let held = match row.text {
            Some(text) => self.extractor.text_in_batch(text),
            None => self.extractor.document_in_batch(row.line),
        };
        let counted = match held.document(&self.extractor).verdict(DocumentRules::PYTHON.of_rows()) {
            DocumentVerdict::Take(_) => self.text(held)?,
            DocumentVerdict::Skip(_) => Ok(()),
            DocumentVerdict::Refuse(why) => Err(why.to_owned()),
        };
        self.extractor.clear();
        Ok(counted)
    }

    /// Counts the text of a document, if it is not empty.
    fn text(&mut self, held: ParsedLine<'_>) -> Outcome<Result<(), String>> {
        let text = held.document(&self.extractor).text.as_str();
        if text.is_empty() {
            return Ok(Ok(()));
        }
        self.ids.clear();
        if let Err(failure) = self.encoder.encode(text, &mut self.ids) {
            return Ok(Err(failure.why));
        }
        if self.unit.mismatch.is_none() && self.parity.wants(self.first_number + self.unit.lines - 1) {
            self.unit.mismatch = self.parity.check(text, &self.ids)?;
        }
        let (tokens, count) = (self.ids.len() as u64, &mut self.unit.count);
        count.documents += 1;
        count.text_bytes += text.len() as u64;
        count.tokens += tokens;
        if tokens > count.longest_tokens {
            (count.longest_tokens, count.longest_line) = (tokens, self.unit.lines);
        }
        Ok(Ok(()))
    }
}

impl Report for CountReport {
    fn lines(&self, is_preview: bool) -> Vec<ReportLine> {
        let files = count(self.files.len() as u64, "file");
        if is_preview {
            let size = bytes(self.files.iter().map(|file| file.bytes).sum());
            let lines = format!("Would count the tokens of {files} of {size}. Nothing was written.");
            return vec![ReportLine::plain(lines)];
        }
        let mut lines: Vec<ReportLine> = Vec::new();
        if self.files.len() > 1 {
            let shown = self.files.iter().take(MAX_PRINTED_FILES);
            lines.extend(shown.map(|file| ReportLine::plain(sentence(&file.name, &file.count, (file.item, None)))));
            if self.files.len() > MAX_PRINTED_FILES {
                let more = count((self.files.len() - MAX_PRINTED_FILES) as u64, "more file");
                lines.push(ReportLine::plain(format!("… and {more}: --output or --json lists all of them")));
            }
        }
        let longest = self.files.iter().find(|file| self.longest_file.as_ref() == Some(&file.name));
        let item = longest.map_or("line", |file| file.item);
        let of = longest.filter(|_| self.files.len() > 1).map(|file| file.name.as_str());
        lines.push(ReportLine::success("Counted", format!(" {}", sentence(&files, &self.total, (item, of)))));
        let written = self.output.iter().map(|path| display_safe(&path.to_string_lossy()).into_owned());
        lines.extend(written.map(|path| ReportLine::plain(format!("The counts are in {path}."))));
        lines
    }

    crate::run_report!(; findings);
}

/// Formats the counts of a file as a sentence. `item` is the noun for the container of the longest document, and `of` is its file.
fn sentence(name: &str, figures: &TextCount, (item, of): (&str, Option<&str>)) -> String {
    let longest = match (figures.documents, of) {
        (0, _) => String::new(),
        (_, None) => format!(
            "; the longest has {} ({item} {})",
            count(figures.longest_tokens, "token"),
            grouped(figures.longest_line)
        ),
        (_, Some(of)) => format!(
            "; the longest has {} ({}, {item} {})",
            count(figures.longest_tokens, "token"),
            display_safe(of),
            grouped(figures.longest_line)
        ),
    };
    format!(
        "{}: {} with {} and {}{longest}",
        display_safe(name),
        count(figures.documents, "document"),
        count(figures.tokens, "token"),
        bytes(figures.text_bytes)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operations::{start, Count};
    use gristmill_core::RunOptions;
    use gristmill_storage::fs::RealFs;
    use gristmill_tokenizer::DIFFERENCE_MARK;
    use std::sync::Arc;
    use std::time::Duration;

    #[test]
    fn difference_from_the_reference_makes_the_reference_count_all_tokens() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.jsonl");
        let tokenizer = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/tokenizers/gpt2.json");
        for (text, is_logged) in
            [(format!("some words, and {DIFFERENCE_MARK}"), true), ("some words".to_owned(), false)]
        {
            write_file(&RealFs, &path, format!("{}\n", serde_json::json!({ "text": text })).as_bytes(), FILE_MODE)
                .unwrap();
            let plan = CountPlan {
                version: gristmill_core::plan::PLAN_VERSION,
                inputs: vec![path.clone()],
                tokenizer: tokenizer.to_owned(),
                text_key: TEXT_KEY.to_owned(),
                glob: None,
                output: None,
                overwrite: false,
            };
            let task = start::<Count, _>(plan, false, RunOptions::default(), Arc::new(RealFs)).unwrap();
            while !task.ends_within(Duration::from_millis(10)) {}
            let log = task.status().log.join("\n");
            assert_eq!(log.contains("differs from the reference"), is_logged, "{log}");
            let report = task.wait().unwrap();
            let mut ids = Vec::new();
            let reference = Tokenizer::load(tokenizer).unwrap();
            reference.encoder().encode_by_reference(&text, &mut ids).unwrap();
            assert_eq!((report.total.documents, report.total.tokens), (1, ids.len() as u64));
        }
    }
}
