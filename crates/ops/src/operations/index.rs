//! `index`: raw indexes of Modalities, and the plain index of Forager.

use super::{missing, Operation, Plan};
use crate::job::pool::run_units;
use crate::job::report::{counts_value, problem_table, Report, ReportLine};
use crate::job::task::{Task, TaskContext};
use crate::job::Phase;
use crate::tokens::formats::forager::index_job::{run as run_forager, ForagerIndexPlan};
use crate::tokens::formats::modalities::job::{run_raw, start_raw, ExistingFile, RawIndexPlan};
use crate::tokens::index::IndexReport;
use gristmill_core::options::{Access, Choice, Group, OptionSpec};
use gristmill_core::plan::PLAN_VERSION;
use gristmill_core::text::{agree, bytes, count, display_safe, duration};
use gristmill_core::{ExitClass, Failure, Outcome, Problem, ProblemKind, ProblemSink as _, Severity, Subject};
use gristmill_data::formats::forager::INDEX_FOLDER;
use gristmill_data::source::documents::{list_jsonl, Selection};
use gristmill_storage::files;
use gristmill_storage::location::{is_read_only, is_remote};
use serde::{Deserialize, Serialize};
use serde_json::{json, Map, Value};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

const ACTIVITY: &str = "indexing";
/// Number of files in a store that are indexed in parallel.
const STORE_FILES: usize = 16;

/// The program that reads an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IndexFormat {
    /// A raw index next to each file.
    Modalities,
    /// One index for a folder.
    Forager,
}

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

const FORMATS: &[Choice] = &[
    Choice { name: "modalities", help: "One .idx next to each file; every line is checked" },
    Choice { name: "forager", help: "One index/ for a folder; every line is a sample as it is" },
];

const POLICIES: &[Choice] = &[
    Choice { name: "error", help: "Keep it and refuse the run" },
    Choice { name: "skip", help: "Keep it and do nothing" },
    Choice { name: "override", help: "Replace it" },
];

const MAIN: &[Spec] = &[
    Spec::new(
        "path",
        "PATH",
        "Modalities: .jsonl files, or folders of them; Forager: the folder that contains the files",
        paths!(paths),
    )
    .or_read_store()
    .positional()
    .required(),
    Spec::new(
        "format",
        "FORMAT",
        "The program that reads the index",
        Access::Choice {
            choices: FORMATS,
            get: |plan| {
                plan.format.map(|format| match format {
                    IndexFormat::Modalities => "modalities",
                    IndexFormat::Forager => "forager",
                })
            },
            set: |plan, name| {
                plan.format = match name {
                    "modalities" => Some(IndexFormat::Modalities),
                    "forager" => Some(IndexFormat::Forager),
                    _ => None,
                }
            },
        },
    )
    .required(),
];

const RAW: &[Spec] = &[
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

const OF_FORAGER: &[Spec] =
    &[Spec::new("index-folder", "NAME", "Name of the folder of the index", text!(index_folder)).unset(INDEX_FOLDER)];

const GLOBAL: &[Spec] = &[Spec::new("compat", "", "", switch!(compat)).global()];

/// The `index` operation.
pub struct Index;

impl Operation for Index {
    type Plan = IndexPlan;
    type Preview = IndexReports;
    type Report = IndexReports;
    const NAME: &'static str = "index";
    const ABOUT: &'static str = "Write an index next to text: where each line begins, for Modalities or Forager";
    const ACTIVITY: &'static str = "indexing";
    const PLAN_OF: &'static str = "indexing text";
    const GROUPS: &'static [Group<Self::Plan>] = &[
        Group::new("", "settings", MAIN),
        Group::new("Modalities", "settings", RAW)
            .needs("--format modalities", |plan| plan.format == Some(IndexFormat::Modalities)),
        Group::new("Forager", "settings", OF_FORAGER)
            .needs("--format forager", |plan| plan.format == Some(IndexFormat::Forager)),
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
        if plan.format == Some(IndexFormat::Forager) && plan.paths.len() > 1 {
            refuse("PATH", "an index of Forager is for one folder", "");
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
    match (plan.format, plan.paths.as_slice()) {
        (Some(IndexFormat::Forager), _) => true,
        (_, [file]) => !files::is_dir(file),
        _ => false,
    }
}

fn make(plan: &IndexPlan, is_dry: bool, context: &TaskContext) -> Outcome<IndexReports> {
    let raw = |source: &PathBuf| RawIndexPlan {
        index: plan.index_path.clone(),
        existing: plan.file_existence_policy,
        skip_bad_lines: plan.skip_bad_lines,
        is_dry,
        ..RawIndexPlan::new(source)
    };
    let mut reports = IndexReports { is_single: is_single(plan), ..IndexReports::default() };
    match (plan.format, plan.paths.as_slice()) {
        (Some(IndexFormat::Forager), [folder]) => {
            let index_folder = plan.index_folder.clone().unwrap_or_else(|| INDEX_FOLDER.to_owned());
            let forager = ForagerIndexPlan { index_folder, is_dry, ..ForagerIndexPlan::new(folder) };
            reports.indexes.push((folder.clone(), run_forager(&forager, context)?));
        }
        (Some(IndexFormat::Modalities), [file]) if reports.is_single => {
            reports.indexes.push((file.clone(), run_raw(&raw(file), context)?));
        }
        (Some(IndexFormat::Modalities), paths) => {
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
            let results = index_each(&sources, &|source| start_raw(raw(source), context.options.clone()), context)?;
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
        _ => return Err(Failure::usage(ACTIVITY, "the format or the path is missing")),
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
    if report.format == "forager" {
        what.push_str(&format!(" in {}", count(report.files, "file")));
    }
    let written: Vec<String> = report
        .written
        .iter()
        .map(|file| {
            let replaces = if file.replaces { ", replacing an older one" } else { "" };
            format!("{} ({}{replaces})", display_safe(&file.name), bytes(file.bytes))
        })
        .collect();
    let written = written.join(", ");
    if is_preview {
        return vec![
            ReportLine::plain(format!("Would index {path}: {what}. Nothing was written.")),
            ReportLine::plain(format!("Would be written: {index}: {written}")),
        ];
    }
    let mut lines = vec![
        ReportLine::success(format!("Indexed {path}"), format!(": {what} in {}.", duration(report.findings.elapsed))),
        ReportLine::plain(format!("Written: {index}: {written}")),
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
