//! `index`: an index next to text, of a file or of a folder.

use super::{missing, Operation, Plan};
use crate::job::pool::run_units;
use crate::job::report::{counts_value, problem_table, OutputFile, Report, ReportLine};
use crate::job::task::{Task, TaskContext};
use crate::job::Phase;
pub use crate::tokens::formats::IndexFormat;
use crate::tokens::formats::{FILE_INDEX, FOLDER_INDEX, INDEX_ABOUT, INDEX_PATHS};
use crate::tokens::index::{ExistingFile, IndexReport, IndexRequest};
use gristmill_core::options::{Access, Choice, Group, OptionSpec};
use gristmill_core::plan::PLAN_VERSION;
use gristmill_core::text::{agree, bytes, count, display_safe, duration};
use gristmill_core::{ExitClass, Failure, Outcome, Problem, ProblemKind, ProblemSink as _, Severity, Subject};
use gristmill_data::formats::INDEX_FOLDER;
use gristmill_data::source::documents::{list_jsonl, Selection};
use gristmill_storage::files;
use gristmill_storage::fs::RealFs;
use gristmill_storage::location::{is_read_only, is_remote};
use serde::{Deserialize, Serialize};
use serde_json::{json, Map, Value};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

const ACTIVITY: &str = "indexing";
/// Name of the task that indexes one of several files.
const FILE_TASK: &str = "raw-index";
/// Number of files in a store that are indexed in parallel.
const STORE_FILES: usize = 16;

/// Plan of `index`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct IndexPlan {
    /// Version of the plan, see [`PLAN_VERSION`].
    pub version: u32,
    /// Files, or folders of files; for Forager, one folder.
    pub paths: Vec<PathBuf>,
    /// The program that reads the index; required.
    pub format: Option<IndexFormat>,
    /// Path of the raw index of a single file; `None` means next to each file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index_path: Option<PathBuf>,
    /// How an existing raw index is handled.
    #[serde(default)]
    pub file_existence_policy: ExistingFile,
    /// Whether to omit invalid JSON lines from a raw index.
    #[serde(default)]
    pub skip_bad_lines: bool,
    /// Name of the folder of Forager's index; `None` means the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index_folder: Option<String>,
    /// Whether to refuse everything that the reference program refuses.
    #[serde(default)]
    pub compat: bool,
}

impl Plan for IndexPlan {
    fn blank() -> Self {
        Self {
            version: PLAN_VERSION,
            paths: Vec::new(),
            format: None,
            index_path: None,
            file_existence_policy: ExistingFile::Error,
            skip_bad_lines: false,
            index_folder: None,
            compat: false,
        }
    }
}

type Spec = OptionSpec<IndexPlan>;

const FORMATS: &[Choice] = &[FILE_INDEX.choice, FOLDER_INDEX.choice];

const POLICIES: &[Choice] = &[
    Choice { name: "error", help: "Keep it and refuse the run" },
    Choice { name: "skip", help: "Keep it and do nothing" },
    Choice { name: "override", help: "Replace it" },
];

const MAIN: &[Spec] = &[
    Spec::new("path", "PATH", INDEX_PATHS, paths!(paths)).or_read_store().positional().required(),
    Spec::new(
        "format",
        "FORMAT",
        "The program that reads the index",
        Access::Choice {
            choices: FORMATS,
            get: |plan| plan.format.map(|format| format.info().choice.name),
            set: |plan, name| plan.format = IndexFormat::named(name),
        },
    )
    .required(),
];

const OF_FILE: &[Spec] = &[
    Spec::new("index-path", "FILE", "Index to write, of a single file", optional_path!(index_path))
        .or_store()
        .aliases(&["index_path"])
        .unset("next to the file, its last suffix replaced by .idx"),
    Spec::new(
        "file-existence-policy",
        "POLICY",
        "What to do with an existing index",
        choice!(
            POLICIES,
            ExistingFile::Error,
            [("skip", ExistingFile::Skip), ("override", ExistingFile::Override)],
            file_existence_policy
        ),
    )
    .aliases(&["file_existence_policy"])
    .replaces("override")
    .default("error"),
    Spec::new(
        "skip-bad-lines",
        "",
        "Leave out lines that are not JSON, instead of refusing the file",
        switch!(skip_bad_lines),
    ),
];

const OF_FOLDER: &[Spec] =
    &[Spec::new("index-folder", "NAME", "Name of the folder of the index", text!(index_folder)).unset(INDEX_FOLDER)];

const GLOBAL: &[Spec] = &[Spec::new("compat", "", "", switch!(compat)).global()];

/// The `index` operation.
pub struct Index;

impl Operation for Index {
    type Plan = IndexPlan;
    type Preview = IndexReports;
    type Report = IndexReports;
    const NAME: &'static str = "index";
    const ABOUT: &'static str = INDEX_ABOUT;
    const ACTIVITY: &'static str = "indexing";
    const PLAN_OF: &'static str = "indexing text";
    const GROUPS: &'static [Group<Self::Plan>] = &[
        Group::new("", "settings", MAIN),
        Group::new(FILE_INDEX.title, "settings", OF_FILE)
            .needs(FILE_INDEX.needs, |plan| plan.format.is_some_and(|format| !format.info().is_of_folder)),
        Group::new(FOLDER_INDEX.title, "settings", OF_FOLDER)
            .needs(FOLDER_INDEX.needs, |plan| plan.format.is_some_and(|format| format.info().is_of_folder)),
        Group::new("", "", GLOBAL),
    ];

    fn check(plan: &IndexPlan, _: bool) -> Vec<Problem> {
        let mut found = missing::<Self>(plan);
        let mut refuse = |flag: &str, why: &str, hint: &str| {
            let problem = Problem::refusal(ProblemKind::BadName, Subject::field(flag), why);
            found.push(if hint.is_empty() { problem } else { problem.with_hint(hint) });
        };
        if plan.index_path.is_some() && !is_single(plan) {
            let hint = "without it each index is next to its file";
            refuse("--index-path", "it names one index, and there may be several files", hint);
        }
        if plan.index_path.is_none() && plan.paths.iter().any(|path| is_read_only(path)) {
            let hint = "--index-path names another place, of a single file; or copy the data first, with gristmill cp";
            refuse("PATH", "the index is written next to it, and that location is not writable", hint);
        }
        if plan.skip_bad_lines && plan.compat {
            refuse("--skip-bad-lines", "the reference program, which --compat follows, refuses such files", "");
        }
        let of_folder = plan.format.map(IndexFormat::info).filter(|format| format.is_of_folder);
        if let Some(format) = of_folder.filter(|_| plan.paths.len() > 1) {
            refuse("PATH", &format!("an index of {} is for one folder", format.title), "");
        }
        found
    }

    fn preview(plan: &IndexPlan, context: &TaskContext) -> Outcome<IndexReports> {
        make(plan, true, context)
    }

    fn run(plan: &IndexPlan, context: &TaskContext) -> Outcome<IndexReports> {
        make(plan, false, context)
    }
}

/// Whether a run writes one index, instead of one for each of several files.
fn is_single(plan: &IndexPlan) -> bool {
    match plan.paths.as_slice() {
        _ if plan.format.is_some_and(|format| format.info().is_of_folder) => true,
        [file] => !files::is_dir(file),
        _ => false,
    }
}

fn make(plan: &IndexPlan, is_dry: bool, context: &TaskContext) -> Outcome<IndexReports> {
    let missing = || Failure::usage(ACTIVITY, "the format or the path is missing");
    let format = plan.format.ok_or_else(missing)?.info();
    let request = |source: &PathBuf| IndexRequest {
        source: source.clone(),
        index_path: plan.index_path.clone(),
        existing: plan.file_existence_policy,
        skip_bad_lines: plan.skip_bad_lines,
        index_folder: plan.index_folder.clone(),
        is_dry,
    };
    let mut reports = IndexReports { is_single: is_single(plan), ..IndexReports::default() };
    match plan.paths.as_slice() {
        [source] if reports.is_single => {
            reports.indexes.push((source.clone(), (format.run)(&request(source), context)?));
        }
        paths if !format.is_of_folder => {
            let selection = Selection { follows_reference: true, ..Selection::default() };
            let listing = list_jsonl(paths, selection, &context.cancel)?;
            listing.problems.into_iter().try_for_each(|problem| context.problems.report(problem))?;
            let (plain, compressed): (Vec<_>, Vec<_>) =
                listing.files.into_iter().partition(|file| file.packing.is_plain());
            for file in compressed {
                let why = "it is compressed, and a raw index is for plain text";
                context.problems.report(Problem::note(ProblemKind::Other, Subject::path(&file.path), why))?;
            }
            let sources: Vec<PathBuf> = plain.into_iter().map(|file| file.path).collect();
            let start = |source: &PathBuf| {
                let request = request(source);
                let options = context.options.clone();
                Task::start(FILE_TASK, options, Arc::new(RealFs), move |context| (format.run)(&request, context))
            };
            let results = index_each(&sources, &start, context)?;
            for (source, result) in sources.into_iter().zip(results) {
                match result {
                    Some(Ok(report)) => reports.indexes.push((source, report)),
                    Some(Err(failure)) => reports.failures.push(failure),
                    None => {}
                }
            }
            // The report lists the indexes that were written before the failure.
            let is_refusal = |failure: &Failure| failure.class == ExitClass::Data;
            if reports.indexes.is_empty() && !reports.failures.iter().all(is_refusal) {
                return reports.failures.pop().map_or_else(|| Ok(reports), Err);
            }
        }
        _ => return Err(missing()),
    }
    reports.problems = context.problems.to_vec();
    reports.counts = context.problems.counts();
    Ok(reports)
}

/// Indexes each file. Returns `None` for files that were not started. A refused file does not stop the run; any other failure does. Several
/// files in a store are read in parallel, because each needs several sequential requests.
fn index_each(
    sources: &[PathBuf],
    start: &(dyn Fn(&PathBuf) -> Outcome<Task<IndexReport>> + Sync),
    context: &TaskContext,
) -> Outcome<Vec<Option<Outcome<IndexReport>>>> {
    let at_once = if sources.iter().any(|source| is_remote(source)) { STORE_FILES } else { 1 };
    let handles = context.handles();
    if at_once > 1 {
        context.phase_of(Phase::Scan, "input file", format!("indexing {}", count(sources.len() as u64, "file")));
        context.progress.expect(sources.len() as u64, 0);
    }
    let is_stopped = AtomicBool::new(false);
    run_units(sources, at_once, &context.cancel, |source| {
        if is_stopped.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let part = start(source)?;
        let result = match at_once {
            1 => context.run_part(part),
            _ => part.wait_reporting(&handles).inspect(|report| context.progress.add(1, report.bytes)),
        };
        match result {
            Err(failure) if failure.is_cancelled() => Err(failure),
            Err(failure) if failure.class != ExitClass::Data => {
                is_stopped.store(true, Ordering::Relaxed);
                Ok(Some(Err(failure)))
            }
            result => Ok(Some(result)),
        }
    })
}

/// The indexes that a run wrote, or would write.
#[derive(Clone, Debug, Default)]
pub struct IndexReports {
    /// Each file or folder, and its index.
    indexes: Vec<(PathBuf, IndexReport)>,
    /// The failures for the other files.
    failures: Vec<Failure>,
    /// Whether one index was requested, instead of one for each of several files.
    is_single: bool,
    problems: Vec<Problem>,
    counts: Vec<(Severity, ProblemKind, u64)>,
}

impl Report for IndexReports {
    fn lines(&self, is_preview: bool) -> Vec<ReportLine> {
        let of_each = |(path, report): &(PathBuf, IndexReport)| lines(&path.to_string_lossy(), report, is_preview);
        self.indexes.iter().flat_map(of_each).chain(problem_table(&self.counts)).collect()
    }

    fn to_json(&self) -> Value {
        let of_each = |(path, report): &(PathBuf, IndexReport)| {
            let mut value = serde_json::to_value(report).unwrap_or_default();
            value["path"] = json!(path.to_string_lossy());
            value["counts"] = counts_value(&report.findings.counts);
            value
        };
        let mut values: Vec<Value> = self.indexes.iter().map(of_each).collect();
        match self.is_single {
            true => values.pop().unwrap_or_else(|| Value::Object(Map::new())),
            false => json!({ "indexes": values }),
        }
    }

    fn is_nothing_to_do(&self) -> bool {
        self.failures.is_empty() && self.indexes.iter().all(|(_, report)| report.left_alone)
    }

    fn findings(&self) -> (&[Problem], &[(Severity, ProblemKind, u64)]) {
        (&self.problems, &self.counts)
    }

    fn failures(&self) -> &[Failure] {
        &self.failures
    }
}

fn lines(path: &str, report: &IndexReport, is_preview: bool) -> Vec<ReportLine> {
    let index = report.index.to_string_lossy();
    let (path, index) = (display_safe(path), display_safe(&index));
    if report.left_alone {
        return vec![ReportLine::success("Nothing to do.", format!(" {index} already exists and was left alone."))];
    }
    let mut what = format!("{}, {}", count(report.samples, "sample"), bytes(report.bytes));
    if IndexFormat::named(report.format).is_some_and(|format| format.info().is_of_folder) {
        what.push_str(&format!(" in {}", count(report.files, "file")));
    }
    let facts = |file: &OutputFile| {
        let replaces = if file.replaces { ", replacing an older one" } else { "" };
        format!("({}{replaces})", bytes(file.bytes))
    };
    let written = match report.written.as_slice() {
        // The index is the file itself.
        [file] if report.index.ends_with(&file.name) => format!("{index} {}", facts(file)),
        files => {
            let named = files.iter().map(|file| format!("{} {}", display_safe(&file.name), facts(file)));
            format!("{index}: {}", named.collect::<Vec<_>>().join(", "))
        }
    };
    if is_preview {
        return vec![
            ReportLine::plain(format!("Would index {path}: {what}. Nothing was written.")),
            ReportLine::plain(format!("Would be written: {written}")),
        ];
    }
    let mut lines = vec![
        ReportLine::success(format!("Indexed {path}"), format!(": {what} in {}.", duration(report.findings.elapsed))),
        ReportLine::plain(format!("Written: {written}")),
    ];
    if report.skipped_lines > 0 {
        lines.push(ReportLine::plain(format!(
            "Left out: {} that {} not JSON.",
            count(report.skipped_lines, "line"),
            agree(report.skipped_lines, "is", "are")
        )));
    }
    lines
}
