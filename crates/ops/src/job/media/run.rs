//! The sequence of a `prepare-media` run, from opening the data set to the published database.

use super::target::{self, Target};
use super::{apply, MediaReport, PLAN_OF};
use crate::engine::media::{MediaRows, ProbeSettings};
use crate::engine::plan::file::typed_to_yaml;
use crate::job::job_progress::{cost, Forecast};
use crate::job::recover::roll_forward;
use crate::job::task::TaskContext;
use crate::job::Phase;
use gristmill_core::problem::sort_media_problems;
use gristmill_core::{text, Failure, Outcome, PrepareMediaPlan, Problem, ProblemKind, ProblemSink as _, Subject};
use gristmill_data::formats::energon::layout;
use gristmill_storage::files;
use gristmill_storage::fs::Fs;
use gristmill_storage::lock::DatasetLock;
use gristmill_storage::publish::replace_file;
use gristmill_storage::run_folder::RunFolder;
use std::path::Path;

/// Permission bits of the files of the record.
const RECORD_MODE: u32 = 0o644;

/// Executes a plan. An error leaves the data set unchanged.
pub(super) fn run(context: &TaskContext, plan: &PrepareMediaPlan) -> Outcome<MediaReport> {
    let root = Path::new(&plan.path);
    context.phase_of(Phase::Open, "input file", "looking for media");
    let own = RunFolder::for_webdataset(root);
    roll_forward(&*context.fs, root, &*context.problems)?;
    let target = target::open(plan, context.options.threads, &context.handles())?;
    let result = locked(context, plan, &own, &target);
    // For a folder without results, the run folder is removed.
    own.remove_if_empty(&*context.fs);
    result
}

fn locked(context: &TaskContext, plan: &PrepareMediaPlan, own: &RunFolder, target: &Target) -> Outcome<MediaReport> {
    let fs = &*context.fs;
    let lock = DatasetLock::acquire(fs, own, context.options.break_lock)?;
    let result = write_rows(context, plan, own, target, &lock);
    // Only temporary files remain, so an error here is logged and not reported.
    if let Err(error) = fs.remove_dir_all(&own.media_work()) {
        context.log(format!("cleaning up: {error}"));
    }
    result
}

/// Creates the work folder. A run that did not get the lock may remove the empty run folder at the same time, so this is tried several
/// times.
fn make_work(fs: &dyn Fs, own: &RunFolder, dir: &Path) -> Outcome<()> {
    for _ in 0..4 {
        if own.create(fs).and_then(|()| fs.create_dir(dir, 0o700)).is_ok() {
            return Ok(());
        }
    }
    fs.create_dir(dir, 0o700)
}

fn write_rows(
    context: &TaskContext,
    plan: &PrepareMediaPlan,
    own: &RunFolder,
    target: &Target,
    lock: &DatasetLock,
) -> Outcome<MediaReport> {
    let (fs, dir) = (&*context.fs, own.media_work());
    fs.remove_dir_all(&dir)?;
    make_work(fs, own, &dir)?;
    let rows = probe(context, plan, target, &dir)?;
    let (draft, written) = apply::fill_database(context, plan, own, target, &rows)?;
    let mut report = MediaReport {
        path: plan.path.clone(),
        entries: rows.iter().map(|unit| unit.entries).sum(),
        images: rows.iter().map(|unit| unit.images).sum(),
        av: rows.iter().map(|unit| unit.av).sum(),
        rows_written: written.rows_written,
        rows_in_all: written.rows_in_all,
        stale: written.stale,
        pruned: written.pruned,
        files: Vec::new(),
        problems: Vec::new(),
        counts: Vec::new(),
        elapsed: context.elapsed(),
    };
    if report.entries == 0 {
        let message = "the filter picks no entry of this data set";
        context.problems.report(Problem::note(ProblemKind::MatchesNothing, Subject::path(&plan.path), message))?;
    }
    context.stage(Phase::Publish, "output file", Forecast::publishing(2), "making the result visible");
    context.cancel.check()?;
    lock.check("preparing media")?;
    apply::publish(context, plan, target, &draft, &mut report)?;
    report.problems = context.problems.to_vec();
    sort_media_problems(&mut report.problems);
    report.counts = context.problems.counts();
    report.elapsed = context.elapsed();
    record(context, plan, own, &report);
    context.log(format!("described {}", text::count(report.images + report.av, "entry")));
    Ok(report)
}

/// Assumed bytes of a shard per entry, if no entry is known.
const ENTRY_BYTES: u64 = 20_000;

/// Returns the forecast for examining the entries and writing the rows.
fn forecast(plan: &PrepareMediaPlan, target: &Target) -> Forecast {
    let (read, entries) = match target {
        Target::Files(files) => (files.len() as f64 * cost::FILE_READ, files.len() as u64),
        Target::Shards(shards) => {
            let bytes: u64 = shards.list.iter().map(|(shard, _)| shard.stamp.bytes).sum();
            (cost::reading(shards.list.len() as u64, 0), bytes / ENTRY_BYTES)
        }
    };
    let database = layout::in_nv_meta(Path::new(&plan.path), layout::INDEX_SQLITE);
    let copied = files::metadata(database).map_or(0, |facts| facts.len());
    let later = cost::copying(copied) + cost::rows(entries) + cost::publishing(2);
    Forecast::new(read + entries as f64 * cost::MEDIUM, later)
}

fn probe(context: &TaskContext, plan: &PrepareMediaPlan, target: &Target, dir: &Path) -> Outcome<Vec<MediaRows>> {
    let (item, count) = match target {
        Target::Files(files) => ("file", files.len()),
        Target::Shards(shards) => ("shard", shards.list.len()),
    };
    context.stage(
        Phase::Media,
        item,
        forecast(plan, target),
        format!("looking at {}", text::count(count as u64, item)),
    );
    let probing = ProbeSettings { plan: &plan.media, compat: plan.compat, fs: &*context.fs, dir };
    target::probe(target, Path::new(&plan.path), &probing, &context.options, &context.handles())
}

/// Writes the record of the run: the plan and the report. The result is already visible, so an error here is logged and not reported.
fn record(context: &TaskContext, plan: &PrepareMediaPlan, own: &RunFolder, report: &MediaReport) {
    #[derive(serde::Serialize)]
    struct ReportFile<'a> {
        gristmill: &'a str,
        result: &'a MediaReport,
    }
    let fs = &*context.fs;
    let saved = ReportFile { gristmill: env!("CARGO_PKG_VERSION"), result: report };
    let json = serde_json::to_vec_pretty(&saved).map_err(|e| Failure::environment("writing the report", e.to_string()));
    let yaml = typed_to_yaml(PLAN_OF, "prepare-media", plan);
    let done = json
        .and_then(|json| replace_file(fs, own, &own.media_report(), &json, RECORD_MODE))
        .and_then(|()| replace_file(fs, own, &own.media_plan(), yaml?.as_bytes(), RECORD_MODE));
    if let Err(error) = done {
        context.log(format!("recording the run: {error}"));
    }
}
