//! `info`, `lint` and `verify` of tables, one file or all files in a folder.

use super::{CheckCounts, DatasetInfo, MAX_LISTED};
use gristmill_core::table::{Align, Table as TextTable};
use gristmill_core::text::{bytes, count, count_verb, display_safe, grouped};
use gristmill_core::{ExitClass, Failure, Handles, Outcome, Problem, ProblemKind, Severity, Subject};
use gristmill_data::source::documents::{summarize_splits, table_files, Table, TableFile, TableSummary, TableUnit};
use gristmill_storage::files;
use gristmill_storage::waiting::map_at_once;
use serde::Serialize;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

/// Limit of files that are divided into parts for checking.
const MAX_DIVIDED_FILES: usize = 16;
/// Limit of listed columns.
const MAX_LISTED_COLUMNS: usize = 100;

/// Facts of one file for `--json`.
#[derive(Serialize)]
struct FileFacts {
    name: String,
    bytes: u64,
    #[serde(flatten)]
    summary: TableSummary,
}

/// Facts of all files for `--json`.
#[derive(Default, Serialize)]
struct SetFacts {
    rows: u64,
    row_groups: u64,
    bytes: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    splits: Vec<SplitFacts>,
    /// Number of files that are in no split.
    #[serde(skip)]
    outside: u64,
    files: Vec<FileFacts>,
}

/// A split for `--json`.
#[derive(Serialize)]
struct SplitFacts {
    name: String,
    files: u64,
}

/// Describes a file or a folder of files; reads only their metadata. A file that cannot be read is a problem.
///
/// # Errors
/// The path cannot be read, a single file is damaged, or the work is cancelled.
pub fn info(path: &Path, handles: &Handles<'_>) -> Outcome<DatasetInfo> {
    let (files, mut problems) = (table_files(path)?, Vec::new());
    let is_single = !files::is_dir(path);
    let mut facts = SetFacts::default();
    if !is_single {
        add_splits(path, &mut facts, &mut problems, handles)?;
    }
    let read = |file: &TableFile| {
        handles.cancel.check()?;
        match file.format.open(&file.path) {
            Ok(table) => Ok((Some(table.summary()), table.loss())),
            Err(failure) if is_single => Err(failure),
            Err(failure) => Ok((None, Some(unreadable(failure)?))),
        }
    };
    for (file, (summary, problem)) in files.iter().zip(map_at_once(&files, read)?) {
        problems.extend(problem);
        let Some(summary) = summary else { continue };
        facts.rows = facts.rows.saturating_add(summary.rows);
        facts.row_groups += summary.row_groups;
        facts.bytes = facts.bytes.saturating_add(file.bytes);
        facts.files.push(FileFacts { name: file.name.clone(), bytes: file.bytes, summary });
    }
    let table = match is_single {
        true => columns(&facts),
        false => listing(&facts),
    };
    let mut info = DatasetInfo { table, ..DatasetInfo::of(&facts) };
    describe(&facts, is_single, &mut info);
    info.problems = problems;
    Ok(info)
}

/// Adds the splits of a folder and their problems.
fn add_splits(path: &Path, facts: &mut SetFacts, problems: &mut Vec<Problem>, handles: &Handles<'_>) -> Outcome<()> {
    match summarize_splits(path, handles.cancel) {
        Ok(Some(found)) => {
            facts.splits = found.splits.into_iter().map(|(name, files)| SplitFacts { name, files }).collect();
            facts.outside = found.outside;
            problems.extend(found.problems);
        }
        Ok(None) => {}
        // The files can be described without choosing a subset.
        Err(failure) if failure.class == ExitClass::Usage => {
            let problem = Problem::of_failure(ProblemKind::Other, failure);
            problems.push(Problem { severity: Severity::Note, ..problem });
        }
        Err(failure) => problems.push(unreadable(failure)?),
    }
    Ok(())
}

fn describe(facts: &SetFacts, is_single: bool, info: &mut DatasetInfo) {
    info.items = facts.rows;
    info.bytes = facts.bytes;
    info.add("rows", grouped(facts.rows));
    if facts.row_groups > 0 {
        info.add("row groups", grouped(facts.row_groups));
    }
    info.add("size", bytes(facts.bytes));
    let mut codecs: Vec<&str> = facts.files.iter().flat_map(|file| &file.summary.codecs).map(String::as_str).collect();
    codecs.sort_unstable();
    codecs.dedup();
    if !codecs.is_empty() {
        info.add("codec", codecs.join(", "));
    }
    if is_single {
        let writer = facts.files.first().and_then(|file| file.summary.writer.as_ref());
        writer.into_iter().for_each(|writer| info.add("written by", display_safe(writer)));
        return;
    }
    info.files = facts.files.len() as u64;
    info.add("files", grouped(info.files));
    if !facts.splits.is_empty() {
        let split = |split: &SplitFacts| format!("{} ({})", display_safe(&split.name), count(split.files, "file"));
        info.add("splits", facts.splits.iter().map(split).collect::<Vec<_>>().join(", "));
    }
    if facts.outside > 0 {
        info.add("in no split", count(facts.outside, "file"));
    }
    let mut sets: Vec<(String, u64)> = Vec::new();
    for file in &facts.files {
        let names = column_names(&file.summary);
        match sets.iter_mut().find(|(known, _)| *known == names) {
            Some((_, number)) => *number += 1,
            None => sets.push((names, 1)),
        }
    }
    match sets.as_slice() {
        [] => {}
        [(names, _)] => info.add("columns", names.clone()),
        _ => sets.iter().take(MAX_LISTED).for_each(|(names, number)| {
            info.add("columns", format!("{names} (in {})", count(*number, "file")));
        }),
    }
}

/// Returns names and types of the columns: `text (string), n (int64)`.
fn column_names(summary: &TableSummary) -> String {
    let shown = summary.columns.iter().take(MAX_LISTED_COLUMNS);
    let names: Vec<String> =
        shown.map(|column| format!("{} ({})", display_safe(&column.name), display_safe(&column.type_name))).collect();
    match summary.columns.len().checked_sub(MAX_LISTED_COLUMNS).filter(|more| *more > 0) {
        Some(more) => format!("{} … and {more} more", names.join(", ")),
        None => names.join(", "),
    }
}

/// Returns the table of the columns of a single file.
fn columns(facts: &SetFacts) -> TextTable {
    let mut table = TextTable::new(&[
        ("column", Align::Left),
        ("type", Align::Left),
        ("size", Align::Right),
        ("decompressed", Align::Right),
    ]);
    for column in facts.files.iter().flat_map(|file| &file.summary.columns).take(MAX_LISTED_COLUMNS) {
        table.row([
            display_safe(&column.name).into_owned(),
            display_safe(&column.type_name).into_owned(),
            column.bytes.map_or_else(String::new, bytes),
            column.unpacked_bytes.map_or_else(String::new, bytes),
        ]);
    }
    table
}

/// Returns the table of the files of a folder.
fn listing(facts: &SetFacts) -> TextTable {
    let right = Align::Right;
    let has_groups = facts.row_groups > 0;
    let groups = has_groups.then_some(("row groups", right));
    let columns: Vec<(&str, Align)> =
        [Some(("file", Align::Left)), Some(("rows", right)), groups, Some(("size", right))]
            .into_iter()
            .flatten()
            .collect();
    let mut table = TextTable::new(&columns);
    for file in facts.files.iter().take(MAX_LISTED) {
        let groups = has_groups.then(|| grouped(file.summary.row_groups));
        let name = display_safe(&file.name).into_owned();
        let cells = [Some(name), Some(grouped(file.summary.rows)), groups, Some(bytes(file.bytes))];
        table.row(cells.into_iter().flatten());
    }
    table
}

/// Returns the problem for a file that cannot be used. A cancellation is returned as an error.
fn unreadable(failure: Failure) -> Outcome<Problem> {
    if failure.is_cancelled() {
        return Err(failure);
    }
    let kind = if failure.class == ExitClass::Data { ProblemKind::BadFile } else { ProblemKind::Unreadable };
    Ok(Problem::of_failure(kind, failure))
}

/// A unit of the check: a file, or a part of a file.
pub struct CheckUnit {
    file: TableFile,
    part: Option<(Arc<dyn Table>, TableUnit)>,
}

impl CheckUnit {
    /// Returns the number of bytes that the unit reads.
    pub fn bytes(&self) -> u64 {
        self.part.as_ref().map_or(self.file.bytes, |(_, unit)| unit.bytes)
    }
}

/// A check of tables. Its units may run in any order.
pub struct TableCheck {
    is_deep: bool,
    without_checksum: AtomicU64,
}

impl TableCheck {
    /// Creates a check; with `is_deep`, all rows are decoded as well.
    pub fn new(is_deep: bool) -> Self {
        Self { is_deep, without_checksum: AtomicU64::default() }
    }

    /// Returns the units of a file or a folder. If there are few files, they are divided into parts, so that all threads have work.
    ///
    /// # Errors
    /// The path cannot be read, or a single file cannot be opened.
    pub fn units(path: &Path, handles: &Handles<'_>) -> Outcome<Vec<CheckUnit>> {
        let files = table_files(path)?;
        if files::is_dir(path) {
            let mut problems = Vec::new();
            add_splits(path, &mut SetFacts::default(), &mut problems, handles)?;
            problems.into_iter().try_for_each(|problem| handles.problems.report(problem))?;
        }
        if files.len() > MAX_DIVIDED_FILES {
            return Ok(files.into_iter().map(|file| CheckUnit { file, part: None }).collect());
        }
        let mut units = Vec::new();
        for file in files {
            let table: Arc<dyn Table> = match file.format.open(&file.path) {
                Ok(table) => Arc::from(table),
                Err(failure) if !files::is_dir(path) => return Err(failure),
                Err(failure) => {
                    handles.problems.report(unreadable(failure)?)?;
                    continue;
                }
            };
            let parts = table.check_units();
            report_file(&file, table.as_ref(), &parts, handles)?;
            units.extend(parts.into_iter().map(|unit| {
                let file = TableFile { path: file.path.clone(), name: file.name.clone(), ..file };
                CheckUnit { file, part: Some((Arc::clone(&table), unit)) }
            }));
        }
        Ok(units)
    }

    /// Checks a unit. Findings are reported to the handles.
    ///
    /// # Errors
    /// The file cannot be read, or the work is cancelled.
    pub fn run(&self, unit: &CheckUnit, handles: &Handles<'_>) -> Outcome<CheckCounts> {
        if let Some((table, part)) = &unit.part {
            return self.run_part(table.as_ref(), part, handles);
        }
        let table = match unit.file.format.open(&unit.file.path) {
            Ok(table) => table,
            Err(failure) => {
                handles.problems.report(unreadable(failure)?)?;
                return Ok(CheckCounts::default());
            }
        };
        let (parts, mut all) = (table.check_units(), CheckCounts::default());
        report_file(&unit.file, table.as_ref(), &parts, handles)?;
        for part in parts {
            all.add(self.run_part(table.as_ref(), &part, handles)?);
        }
        Ok(all)
    }

    fn run_part(&self, table: &dyn Table, part: &TableUnit, handles: &Handles<'_>) -> Outcome<CheckCounts> {
        let findings = table.check(part, self.is_deep, handles.cancel)?;
        self.without_checksum.fetch_add(findings.without_checksum, Ordering::Relaxed);
        handles.progress.add(0, part.bytes);
        findings.problems.into_iter().try_for_each(|problem| handles.problems.report(problem))?;
        Ok(CheckCounts { shards: 0, samples: findings.rows, parts: findings.pages, bytes: part.bytes })
    }

    /// Reports how many pages have no checksum.
    pub fn finish(&self, path: &Path, handles: &Handles<'_>) -> Outcome<()> {
        let pages = self.without_checksum.load(Ordering::Relaxed);
        if pages == 0 {
            return Ok(());
        }
        let why =
            format!("{} no checksum: damage in them may remain unnoticed", count_verb(pages, "page", "has", "have"));
        handles.problems.report(Problem::note(ProblemKind::Other, Subject::path(path), why))
    }
}

/// Reports problems that are known from the metadata of a file, before its parts are read.
fn report_file(file: &TableFile, table: &dyn Table, parts: &[TableUnit], handles: &Handles<'_>) -> Outcome<()> {
    table.loss().into_iter().try_for_each(|loss| handles.problems.report(loss))?;
    if parts.is_empty() {
        let subject = Subject::path(&file.path);
        handles.problems.report(Problem::note(ProblemKind::EmptyFile, subject, "it has no rows"))?;
    }
    Ok(())
}
