//! Runs a plan, from listing the inputs to the prepared set.

use super::gather::OpenInputs;
use super::layout::OutputLayout;
use super::lines::write_lines;
use super::planned::{listing_hash, plan_shards, PlannedRun, Purpose};
use super::publish;
use super::report::ShardReport;
use super::write::{remove_work, ShardWriter};
use crate::engine::browse::keep_for_run;
use crate::engine::dataset::recorded_plan;
use crate::engine::plan::cut_names;
use crate::engine::plan::file as plan_file;
use crate::job::finished::{clear_finished, remove_finished};
use crate::job::job_progress::{cost, Forecast};
use crate::job::journal::Journal;
use crate::job::publish::with_parent_folders;
use crate::job::record::{
    check_running, findings_before, refuse, report_before, report_earlier, stopped_run, Decision, RecordedPlan as _,
};
use crate::job::recover::recover_output;
use crate::job::task::{Task, TaskContext};
use crate::job::Phase;
use gristmill_core::shard_plan::{InputKind, KeyRule};
use gristmill_core::text::{bytes, count};
use gristmill_core::{ExitClass, Failure, Mutex, Outcome, Problem, ProblemKind, ProblemSink as _, ShardPlan, Subject};
use gristmill_storage::fs::PRIVATE_FOLDER;
use gristmill_storage::location::{is_remote, threads_for};
use gristmill_storage::lock::DatasetLock;
use gristmill_storage::publish::{recover, write_file};
use gristmill_storage::run_folder::RunFolder;
use gristmill_storage::scratch::Scratch;
use gristmill_storage::traffic::traffic;
use gristmill_storage::waiting::for_each_at_once;
use gristmill_storage::{files, space};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

const ACTIVITY: &str = "writing shards";
/// Interval at which a listing is checked for its end.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Number of shards above which file systems and stores become slow.
const MANY_SHARDS: usize = 10_000;
/// Estimated size of the spools and tables for one sample, in bytes.
const SAMPLE_BYTES: u64 = 400;

/// Returns the preview of a run. Reads no content.
pub fn preview_shards(context: &TaskContext, plan: &ShardPlan) -> Outcome<ShardReport> {
    fetch_listing(plan);
    if plan.output.is_none() && plan.apart.text_to.is_none() {
        return preview_samples(context, plan);
    }
    let layout = OutputLayout::of(plan)?;
    let is_over = layout.decide()? == Decision::Nothing && publish::are_prepared(&layout);
    if is_over && !has_other_inputs(context, plan, &layout)? {
        return nothing(context, &layout);
    }
    publish::note_interrupted(context, &layout)?;
    if let Some(stopped) = stopped_run(&layout.plan, &layout.run_folder)?.filter(|_| !context.options.restart) {
        context.problems.report(stopped)?;
    }
    let scratch = Scratch::create(context.options.scratch.as_deref())?;
    let before = traffic();
    let run = plan_shards(context, &layout, scratch.path(), Purpose::Preview)?;
    warn_of_number(context, &run)?;
    note_cut_names(context, plan, &run)?;
    for problem in publish::check_preparation(&layout.plan, &run)? {
        context.problems.report(problem)?;
    }
    let mut report = ShardReport::of_preview(&layout.plan, run, &layout.output, traffic().since(before));
    let is_local = !is_remote(&layout.output);
    report.free_bytes = is_local.then(|| space::free_bytes(&layout.output)).transpose()?;
    report.seconds = Some(cost::copying(report.bytes) + cost::rows(report.samples + report.parts));
    if let Some(why) = report.free_bytes.and_then(|free| missing_space(report.bytes, report.samples, free)) {
        context.problems.report(Problem::problem(ProblemKind::Other, Subject::path(&layout.output), why))?;
    }
    report.take_findings(context);
    Ok(report)
}

/// Returns the preview of a plan without an output, as if all samples became one set.
fn preview_samples(context: &TaskContext, plan: &ShardPlan) -> Outcome<ShardReport> {
    let layout = OutputLayout::without_output(plan)?;
    let scratch = Scratch::create(context.options.scratch.as_deref())?;
    let before = traffic();
    let run = plan_shards(context, &layout, scratch.path(), Purpose::Preview)?;
    note_cut_names(context, plan, &run)?;
    let mut report = ShardReport::of_preview(&layout.plan, run, &layout.output, traffic().since(before));
    report.take_findings(context);
    Ok(report)
}

/// Reports a note on file names that the key rule may divide too early.
fn note_cut_names(context: &TaskContext, plan: &ShardPlan, run: &PlannedRun) -> Outcome<()> {
    let has_files = run.inputs.iter().any(|input| input.kind == InputKind::Files);
    let (Some(input), true) = (plan.inputs.first(), has_files && plan.key_rule == KeyRule::FirstDot) else {
        return Ok(());
    };
    let note = cut_names(input, &run.parts.facts());
    let note = note.map(|note| note.with_hint("--key-rule last-dot divides names at their last dot"));
    note.map_or(Ok(()), |note| context.problems.report(note))
}

/// Writes the shards of a plan and prepares them. Publishes nothing before all shards are written.
pub fn run_shard(context: &TaskContext, plan: &ShardPlan) -> Outcome<ShardReport> {
    fetch_listing(plan);
    let layout = OutputLayout::of(plan)?;
    if recover_output(context, layout.root(), &layout.run_folder, &layout.output)? {
        files::fetch_listing(&layout.output);
    }
    let is_over = layout.decide()? == Decision::Nothing && publish::are_prepared(&layout);
    if is_over && !has_other_inputs(context, plan, &layout)? {
        clear_left(context, &layout);
        return nothing(context, &layout);
    }
    with_parent_folders(context, &layout.output, &layout.run_folder, || run_locked(context, &layout, is_over))
}

/// Lists the inputs and outputs that are in stores, in parallel.
fn fetch_listing(plan: &ShardPlan) {
    let places: Vec<&PathBuf> = plan.inputs.iter().chain(&plan.output).chain(&plan.apart.media_to).collect();
    let look = |place: &&PathBuf| {
        files::fetch_listing(place);
        Ok(())
    };
    if places.iter().any(|place| is_remote(place)) {
        // A failed listing is requested again when it is needed.
        let _ = for_each_at_once(&places, look, || ());
    }
}

/// Whether the inputs have changed since the same plan ran, so that `--append` has more samples to add.
///
/// # Errors
/// The inputs have changed and the plan has no `--append`, so it needs another output.
fn has_other_inputs(context: &TaskContext, plan: &ShardPlan, layout: &OutputLayout) -> Outcome<bool> {
    let before = report_before::<ShardReport>(&layout.run_folder, ShardPlan::MAX_RECORD_BYTES)?;
    let Some(before) = before.map(|report| report.listing).filter(|listing| !listing.is_empty()) else {
        return Ok(false);
    };
    let (plan, scratch) = (plan.clone(), context.options.scratch.clone());
    let list = move |inner: &TaskContext| {
        let scratch = Scratch::create(scratch.as_deref())?;
        listing_hash(inner, &OutputLayout::of(&plan)?, scratch.path())
    };
    // The previous run has already reported the problems of the listing.
    let task = Task::start("listing", context.options.clone(), Arc::clone(&context.fs), list)?;
    while !task.ends_within(POLL_INTERVAL) {
        if context.cancel.is_cancelled() {
            task.cancel();
        }
    }
    match task.wait() {
        Ok(now) if now == before => Ok(false),
        Err(failure) if failure.is_cancelled() => Err(failure),
        _ if layout.plan.append => Ok(true),
        _ => Err(refuse::<ShardPlan>(&layout.output, "the inputs have changed".to_owned(), "name another output")),
    }
}

/// Returns the report of a run that has nothing to do, and reports the findings of the previous run again.
fn nothing(context: &TaskContext, layout: &OutputLayout) -> Outcome<ShardReport> {
    context.log("nothing to do: the same plan has run");
    report_earlier::<ShardPlan>(&layout.run_folder, layout.plan.inputs.iter().map(PathBuf::as_path), context)?;
    for (_, output) in layout.sets.iter().filter(|_| !layout.plan.preparation.no_prepare) {
        let own = RunFolder::for_webdataset(output);
        findings_before(&own, ShardPlan::MAX_RECORD_BYTES)?.report_to(&context.problems)?;
    }
    let before = report_before::<ShardReport>(&layout.run_folder, ShardPlan::MAX_RECORD_BYTES)?;
    let mut report = before.unwrap_or_else(|| ShardReport { output: layout.output.clone(), ..ShardReport::default() });
    report.nothing_to_do = true;
    report.resumed_shards = 0;
    report.take_findings(context);
    Ok(report)
}

/// Removes what a killed run of the plan has left. Errors are logged and not reported.
fn clear_left(context: &TaskContext, layout: &OutputLayout) {
    let (fs, own) = (&*context.fs, &layout.run_folder);
    let mut cleared = vec![clear_finished(fs, own, &layout.hash(), &|| remove_work(fs, own))];
    for (_, output) in &layout.sets {
        let own = RunFolder::for_webdataset(output);
        // The plan is requested only for a journal to compare.
        let recorded = if files::exists(own.journal()) { recorded_plan(&own).ok().flatten() } else { None };
        let hash = recorded.as_ref().map(plan_file::hash).unwrap_or_default();
        cleared.push(clear_finished(fs, &own, &hash, &|| own.remove_work(fs)));
    }
    for error in cleared.into_iter().filter_map(Result::err) {
        context.log(format!("cleaning up: {error}"));
    }
}

/// Runs a plan while holding the lock. `has_other_inputs` is set if the same plan has already run with different inputs.
fn run_locked(context: &TaskContext, layout: &OutputLayout, has_other_inputs: bool) -> Outcome<ShardReport> {
    let (fs, own) = (&*context.fs, &layout.run_folder);
    // Another run may have finished before this run acquired the lock.
    let look = || fetch_listing(&layout.plan);
    let lock = DatasetLock::acquire_and_check(fs, own, context.options.break_lock, &look)?;
    recover(fs, layout.root(), own)?;
    if !has_other_inputs && layout.decide()? == Decision::Nothing {
        let is_prepared_now = !publish::are_prepared(layout);
        if is_prepared_now {
            context.phase(Phase::Tables, "preparing");
            publish::prepare_published(context, layout)?;
        }
        remove_finished(own, &layout.hash(), &|| remove_work(fs, own))?;
        return Ok(ShardReport { nothing_to_do: !is_prepared_now, ..nothing(context, layout)? });
    }
    if context.options.restart {
        remove_work(fs, own)?;
    }
    if publish::index_interrupted(context, layout)? {
        // The stopped run can no longer be resumed.
        remove_work(fs, own)?;
    }
    check_running(&layout.plan, own)?;
    let mut set_locks = Vec::new();
    let result = write_and_publish(context, layout, &lock, &mut set_locks);
    let is_over = match &result {
        Ok(_) => true,
        // Keeps finished shards if inputs have changed during the run.
        Err(failure) if failure.kind == Some(ProblemKind::ChangedDuringScan) => false,
        Err(failure) if matches!(failure.class, ExitClass::Data | ExitClass::Usage) => true,
        Err(failure) => !failure.is_cancelled() && Journal::count_finished(&own.journal(), &layout.hash())? == 0,
    };
    if is_over {
        // A finished run has no pending uploads, but a killed run may have uploaded other shards.
        if let Err(error) = remove_work(fs, own) {
            context.log(format!("cleaning up: {error}"));
        }
    }
    DatasetLock::release(set_locks.into_iter().flatten().filter_map(Arc::into_inner).chain([lock]));
    result
}

/// Writes, publishes and prepares all shards. Appends the locks of the new sets that are not released.
fn write_and_publish(
    context: &TaskContext,
    layout: &OutputLayout,
    lock: &DatasetLock,
    set_locks: &mut publish::SetLocks,
) -> Outcome<ShardReport> {
    let (fs, own, plan) = (&*context.fs, &layout.run_folder, &layout.plan);
    own.create(fs)?;
    write_file(fs, &own.running_plan(), plan_file::typed_to_yaml(publish::PLAN_OF, "shard", plan)?.as_bytes(), 0o600)?;
    let elsewhere = context.options.scratch.as_deref().map(|folder| Scratch::create(Some(folder))).transpose()?;
    let scratch =
        elsewhere.as_ref().map_or_else(|| own.work_folder().join("lists"), |scratch| scratch.path().to_owned());
    fs.create_dir(&scratch, PRIVATE_FOLDER)?;
    let journal = Journal::open(fs, &own.journal(), &layout.hash())?;
    let run = plan_shards(context, layout, &scratch, Purpose::Writing)?;
    warn_of_number(context, &run)?;
    // The preparation itself reports the returned problems.
    publish::check_preparation(&layout.plan, &run)?;
    let mut report = ShardReport { listing: run.hash()?, ..ShardReport::of(&layout.plan, &run, &layout.output) };
    let inputs = OpenInputs::new(&run.files);
    let forecast = Forecast::new(cost::copying(report.bytes), cost::rows(report.samples + report.parts));
    let line = format!("writing {}, {}", count(report.shards, "shard"), bytes(report.bytes));
    context.stage(Phase::Write, "shard", forecast, line);
    context.progress.expect(report.shards, report.bytes);
    let places = plan.inputs.iter().chain(layout.places());
    let threads = places.map(|place| threads_for(place, context.options.threads)).max().unwrap_or(1);
    let work = own.work_folder();
    let (spare, is_sending) = (Mutex::default(), is_remote(layout.root()));
    let writer = ShardWriter {
        context,
        inputs: &inputs,
        journal: &journal,
        plan,
        threads,
        work_folder: work,
        spare,
        is_sending,
    };
    check_space(layout, writer.missing_bytes(&run.sets), report.samples)?;
    let (mut written, mut checksums) = (Vec::new(), Vec::new());
    for (number, set) in run.sets.iter().enumerate() {
        let (shards, resumed) = writer.write_set(number, set)?;
        report.resumed_shards += resumed;
        let (spools, of_set): (Vec<_>, Vec<_>) = shards.into_iter().map(|shard| (shard.spool, shard.sha256)).unzip();
        written.push(spools);
        checksums.extend(of_set);
    }
    report.files.iter_mut().zip(checksums).for_each(|(file, sha256)| file.sha256 = sha256);
    if let Some(lines) = &run.lines {
        let path = publish::lines_path(layout);
        report.lines = Some(write_lines(context, &inputs, &lines.records, &path)?);
    }
    if report.resumed_shards > 0 {
        context.log(format!("{} taken over from an interrupted run", count(report.resumed_shards, "shard")));
    }
    check_before_publishing(context, layout, &inputs)?;
    for list in plan.choice.keep_keys.iter().chain(&plan.choice.drop_keys) {
        keep_for_run(fs, list, own.path())?;
    }
    context.phase(Phase::Publish, "making the shards visible");
    report.take_findings(context);
    *set_locks = publish::publish(context, layout, &run, (&report, lock))?;
    for ((number, set), spools) in run.sets.iter().enumerate().zip(written).filter(|_| !plan.preparation.no_prepare) {
        context.phase(Phase::Tables, "preparing");
        let lock = set_locks.get(number).cloned().flatten();
        publish::prepare(context, layout, (set, lock), spools)?;
    }
    publish::complete(context, layout)?;
    report.take_findings(context);
    context.log(format!("wrote {}, {}", count(report.shards, "shard"), count(report.samples, "sample")));
    Ok(report)
}

/// Checks that no input has changed, and lists the outputs, all in parallel.
fn check_before_publishing(context: &TaskContext, layout: &OutputLayout, inputs: &OpenInputs<'_>) -> Outcome<()> {
    // `None` is the check of the inputs.
    let outputs = layout.places().filter(|place| is_remote(place)).map(Some);
    let checks: Vec<Option<&PathBuf>> = std::iter::once(None).chain(outputs).collect();
    let check = |output: &Option<&PathBuf>| match output {
        None => inputs.check_unchanged(&context.cancel),
        Some(place) => {
            files::fetch_listing(place);
            Ok(())
        }
    };
    for_each_at_once(&checks, check, || ())
}

fn warn_of_number(context: &TaskContext, run: &PlannedRun) -> Outcome<()> {
    for set in &run.sets {
        let shards = &set.planned.shards;
        if shards.len() <= MANY_SHARDS {
            continue;
        }
        let samples: u64 = shards.iter().map(|shard| shard.samples).sum();
        let sum: u64 = shards.iter().map(|shard| shard.archive_bytes).sum();
        let why =
            format!("{}: file systems and stores are slow with more than 10,000", count(shards.len() as u64, "shard"));
        let hint = format!(
            "--max-count {} or --max-size {} gives fewer",
            samples.div_ceil(MANY_SHARDS as u64),
            sum.div_ceil(MANY_SHARDS as u64)
        );
        context
            .problems
            .report(Problem::note(ProblemKind::ManyShards, Subject::path(&set.output), why).with_hint(hint))?;
    }
    Ok(())
}

fn check_space(layout: &OutputLayout, missing: u64, samples: u64) -> Outcome<()> {
    let Some(why) = missing_space(missing, samples, space::free_bytes(&layout.output)?) else { return Ok(()) };
    Err(Failure::environment(ACTIVITY, why)
        .on(Subject::path(&layout.output))
        .with_hint("free some space, or name another folder"))
}

/// Returns the reason why the free space is too small for the archives and the tables of their samples; `None` if it is sufficient.
fn missing_space(archive_bytes: u64, samples: u64, free: u64) -> Option<String> {
    let needed = archive_bytes.saturating_add(samples.saturating_mul(SAMPLE_BYTES));
    (needed > free).then(|| format!("{} are needed, and {} are free", bytes(needed), bytes(free)))
}
