//! `create_raw_index`: acquires the lock, checks the lines, and publishes the index (docs/formats/modalities.md §2).

use crate::job::exclusive_output::{folder_of, still_the_same, ExclusiveOutput};
use crate::job::ordered_results::OrderedResults;
use crate::job::pool::run_units;
use crate::job::report::OutputFile;
use crate::job::task::{Task, TaskContext};
use crate::job::Phase;
use crate::tokens::formats::modalities::engine::raw_index::{
    index_unit, open, refusal, report_bad, units, RawIndexCounts, RawIndexMerge, UnitIndex, ACTIVITY,
};
use crate::tokens::index::{ExistingFile, IndexReport};
use gristmill_core::text::bytes as size;
use gristmill_core::{Failure, Mutex, Outcome, Problem, ProblemKind, ProblemSink as _, RunOptions, Subject};
use gristmill_data::formats::modalities::raw_index::default_path;
use gristmill_storage::files;
use gristmill_storage::fs::{BufferedFile, RealFs};
use gristmill_storage::publish::place_file;
use gristmill_storage::read::ReadFile;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Name of the unfinished index in the work folder.
const DRAFT: &str = "index";
/// Bytes of the index that are written at a time.
const WRITE_BYTES: usize = 1 << 20;
/// Permission bits of folders created for the index.
const FOLDER_MODE: u32 = 0o755;

/// The file to index, and the path of the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawIndexPlan {
    /// The JSONL file.
    pub source: PathBuf,
    /// Path of the index; by default next to the source.
    pub index: Option<PathBuf>,
    /// The treatment of an existing index.
    pub existing: ExistingFile,
    /// Whether lines that are not JSON are omitted, each with a problem, instead of refused.
    pub skip_bad_lines: bool,
    /// Whether nothing is written.
    pub is_dry: bool,
}

impl RawIndexPlan {
    /// Creates a plan with the defaults of the reference program.
    pub fn new(source: impl Into<PathBuf>) -> Self {
        Self { source: source.into(), index: None, existing: ExistingFile::Error, skip_bad_lines: false, is_dry: false }
    }

    /// Returns the path of the index.
    pub fn target(&self) -> PathBuf {
        self.index.clone().unwrap_or_else(|| default_path(&self.source))
    }
}

/// Runs [`run`] in the background.
///
/// # Errors
/// No thread can be started.
pub fn start(plan: RawIndexPlan, options: RunOptions) -> Outcome<Task<IndexReport>> {
    Task::start("raw-index", options, Arc::new(RealFs), move |context| run(&plan, context))
}

/// Builds the index. Lines that are not JSON are reported as problems. Unless they are skipped, they end the run with a data failure, and
/// nothing is written.
///
/// # Errors
/// The plan is invalid, the input cannot be read, or the output exists or cannot be written.
pub fn run(plan: &RawIndexPlan, context: &TaskContext) -> Outcome<IndexReport> {
    context.phase_of(Phase::Open, "input file", "opening the file");
    let target = plan.target();
    let is_there = files::try_is_taken(&target)?;
    let is_same = match (files::canonicalize(&plan.source), files::canonicalize(&target)) {
        (Ok(source), Ok(target)) => source == target,
        _ => plan.source == target,
    };
    if is_same {
        return Err(Failure::usage(ACTIVITY, "the file and its index have the same path").on(Subject::path(&target)));
    }
    let mut report = IndexReport { format: "modalities", index: target.clone(), files: 1, ..IndexReport::default() };
    match plan.existing {
        ExistingFile::Error if is_there => {
            return Err(Failure::data(ACTIVITY, "the file exists already")
                .on(Subject::path(&target))
                .with_hint("--file-existence-policy override replaces it, skip leaves it alone"));
        }
        ExistingFile::Skip if is_there => {
            report.left_alone = true;
            return Ok(IndexReport { findings: context.run_findings(), ..report });
        }
        _ => {}
    }
    if files::is_dir(&target) {
        return Err(Failure::usage(ACTIVITY, "there is a folder of that name").on(Subject::path(&target)));
    }
    let file = open(&plan.source)?;
    report.bytes = file.len();
    let (counts, written) = match plan.is_dry {
        true => {
            let mut written = 0;
            let counts = check_lines(&file, plan, context, |piece| {
                written += piece.len() as u64;
                Ok(())
            })?;
            (counts, written)
        }
        false => make(&file, plan, &target, context)?,
    };
    report.samples = counts.items;
    report.skipped_lines = counts.bad_count;
    let name = target.file_name().unwrap_or_default().to_string_lossy().into_owned();
    report.written = vec![OutputFile { name, bytes: written, replaces: is_there }];
    Ok(IndexReport { findings: context.run_findings(), ..report })
}

fn make(file: &ReadFile, plan: &RawIndexPlan, target: &Path, context: &TaskContext) -> Outcome<(RawIndexCounts, u64)> {
    let fs = &*context.fs;
    fs.create_folders(folder_of(target), FOLDER_MODE)?;
    let place = ExclusiveOutput::create(fs, target, &context.options)?;
    let draft = place.work_folder().join(DRAFT);
    let out = Mutex::new(BufferedFile::new(fs.create_file(&draft)?, WRITE_BYTES));
    let lock = || out.lock();
    let counts = check_lines(file, plan, context, |piece| lock().write_all(piece))?;
    context.phase_of(Phase::Publish, "output file", "writing the index");
    context.progress.expect(1, 0);
    context.cancel.check()?;
    let written = out.into_inner().finish()?;
    place_file(fs, &draft, target, (file.mode() & 0o777) | 0o600)?;
    context.progress.add(1, 0);
    Ok((counts, written))
}

/// Checks every line and passes the bytes of the index to a sink. Lines that are not JSON end the run unless they are skipped.
fn check_lines(
    file: &ReadFile,
    plan: &RawIndexPlan,
    context: &TaskContext,
    sink: impl FnMut(&[u8]) -> Outcome<()> + Send,
) -> Outcome<RawIndexCounts> {
    context.phase_of(Phase::Scan, "input file", format!("reading {}", size(file.len())));
    context.progress.expect(1, file.len());
    let before = file.stamp().map_err(|error| Failure::io("opening", file.path(), &error))?;
    let handles = context.handles();
    let mut merge = RawIndexMerge::new(sink);
    let threads = context.options.threads;
    let line = OrderedResults::new(threads, |unit: UnitIndex| merge.append_unit(&unit));
    let numbered: Vec<_> = units(file.len()).into_iter().enumerate().collect();
    // Buffers are reused, so that there is one per thread.
    let memory: Mutex<Vec<Vec<u8>>> = Mutex::default();
    let spare = || memory.lock();
    run_units(&numbered, threads, handles.cancel, |(number, unit)| {
        line.wait_for_slot(*number, handles.cancel)?;
        let mut buffer = spare().pop().unwrap_or_default();
        let index = index_unit(file, *unit, &mut buffer, &handles)?;
        spare().push(buffer);
        line.hand_in(*number, index)
    })?;
    drop(line);
    let counts = merge.finish()?;
    still_the_same(file, before, handles.problems)?;
    context.progress.add(1, 0);
    report_bad(&plan.source, &counts, handles.problems)?;
    match refusal(&plan.source, &counts) {
        Some(failure) if !plan.skip_bad_lines => return Err(failure),
        _ => {}
    }
    if counts.items == 0 {
        let why = "no line is left: the index has 0 entries";
        context.problems.report(Problem::problem(ProblemKind::EmptyResult, Subject::path(&plan.source), why))?;
    }
    Ok(counts)
}
