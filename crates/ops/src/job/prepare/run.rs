//! The sequence of a `prepare` run, from opening the data set to the publication.

use super::collect::{self, Selection};
use super::duplicates::{self, duplicates_refused, report_duplicates, shard_name};
use super::excludes::kept_excludes;
use super::publish::{self, Outputs};
use super::rewrite::{self, RenamedShard};
use super::summary::{report_nothing, selected_facts, shard_names, summaries};
use super::{forecast, media, rerun};
use super::{Context, MediaSummary, PrepareReport};
use crate::engine::dataset;
use crate::engine::index::{self, BuildOptions, BuiltIndex, CarriedMedia, SpooledShard};
use crate::engine::outputs::{self, Text};
use crate::engine::plan::inherit::{inherited, recorded};
use crate::engine::plan::{fields, file as plan_file, resolve_in, validate};
use crate::job::finished::{clear_finished, remove_finished};
use crate::job::job_progress::{cost, Forecast};
use crate::job::journal::Journal;
use crate::job::recover::roll_forward;
use crate::job::times;
use crate::job::Phase;
use gristmill_core::problem::sort_media_problems;
use gristmill_core::{
    text, DatasetFacts, Duplicates, ExitClass, Failure, Outcome, PreparePlan, Problem, ProblemKind, ProblemSink, Rerun,
    Scope, Severity, ShardFacts, ShardId, Subject, Tgz,
};
use gristmill_data::formats::energon::layout;
use gristmill_data::formats::energon::split_yaml::splits_without_samples;
use gristmill_storage::files;
use gristmill_storage::location::hint_for;
use gristmill_storage::lock::DatasetLock;
use gristmill_storage::run_folder::RunFolder;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::SystemTime;

/// Executes a plan. No file is visible before the end; an error leaves the data set unchanged.
pub(super) fn run(mut context: Context) -> Outcome<PrepareReport> {
    let result = run_opened(&mut context);
    if let Some(live) = context.scan_thread {
        // The adopted scan may still be active if the job fails early.
        context.shared.cancel.cancel();
        context.shared.no_more_questions.cancel();
        if live.join().is_err() {
            tracing::warn!("a scan thread panicked");
        }
    }
    result
}

fn run_opened(context: &mut Context) -> Outcome<PrepareReport> {
    context.task.board.begin_phase(None, Phase::Open, Phase::Open.item(), Forecast::default());
    context.task.log("opening the data set");
    let own = RunFolder::for_webdataset(&context.shared.root);
    open(context)?;
    let asked = context.plan.clone();
    let (selection, to_do) = decide(context, &asked, &own)?;
    if !to_do {
        let fs = &*context.shared.fs;
        if let Err(error) = clear_finished(fs, &own, &plan_file::hash(&context.plan), &|| own.remove_work(fs)) {
            context.task.log(format!("cleaning up: {error}"));
        }
        return Ok(report_nothing(context, &selection));
    }
    if let Some(lock) = context.lock.take() {
        return run_or_clear(context, (&own, &lock), selection);
    }
    let shared = Arc::clone(&context.shared);
    let lock = DatasetLock::acquire(&*shared.fs, &own, shared.options.break_lock)?;
    files::fetch_listing(&shared.root);
    if !prepared_meanwhile(context)? {
        return run_or_clear(context, (&own, &lock), selection);
    }
    // Another run finished before this one got the lock. Its result may be the requested one, or one that must not be overwritten.
    shared.set_opened(times::open(&shared.root, shared.options.threads, &shared.cancel)?);
    let (selection, to_do) = decide(context, &asked, &own)?;
    if to_do {
        run_or_clear(context, (&own, &lock), selection)
    } else {
        remove_finished(&own, &plan_file::hash(&context.plan), &|| own.remove_work(&*shared.fs))?;
        Ok(report_nothing(context, &selection))
    }
}

/// Executes the plan. A plan that is refused because of the data cannot be resumed, so its work is removed, unless only a shard has changed,
/// and so is the work of a failed run without finished shards. Of other work, rewritten shards are removed: they are not resumed.
fn run_or_clear(
    context: &Context,
    (own, lock): (&RunFolder, &DatasetLock),
    selection: Selection,
) -> Outcome<PrepareReport> {
    let result = run_planned(context, (own, lock), selection);
    let hash = plan_file::hash(&context.plan);
    let is_over = |failure: &Failure| match failure.class {
        ExitClass::Data | ExitClass::Usage => failure.kind != Some(ProblemKind::ChangedDuringScan),
        // The next run finishes a publication.
        _ if failure.is_cancelled() || files::exists(own.renames()) => false,
        _ => matches!(Journal::count_finished(&own.journal(), &hash), Ok(0)),
    };
    match &result {
        Err(failure) if is_over(failure) => clean_up(context, own),
        Err(_) => rewrite::discard(context, own),
        Ok(_) => {}
    }
    result
}

/// Determines the shards to process and whether there is anything to do. Fails if the plan must not run.
fn decide(context: &mut Context, asked: &PreparePlan, own: &RunFolder) -> Outcome<(Selection, bool)> {
    keep_splits(context, asked)?;
    let facts = context.shared.facts_now();
    let asked = &rerun::repair_plan(asked, &facts);
    context.recorded_plan = recorded(asked, facts.prepared.as_ref());
    context.plan = inherited(asked, facts.prepared.as_ref());
    let selection = rerun::selection(context, &facts)?;
    rerun::check_splits_readable(&context.plan, &facts)?;
    if context.plan.rerun == Rerun::Update {
        // Invalid settings are reported even if there is nothing to do.
        let refusals =
            validate(&context.plan, &facts).into_iter().filter(|p| p.severity == Severity::Refusal).collect();
        rerun::refuse(context, refusals)?;
    }
    if rerun::nothing_to_do(context, own, &facts, &selection)? {
        report_findings(context, &facts)?;
        report_earlier(context, own, &facts, &selection, true)?;
        context.task.log("nothing to do: the data set is prepared with this plan already");
        return Ok((selection, false));
    }
    // Problems that depend on the scan are checked again after it; until then, only refusals are reported.
    let mut in_the_way = validate(&context.plan, &facts);
    in_the_way.retain(|problem| problem.severity == Severity::Refusal);
    rerun::refuse(context, in_the_way)?;
    Ok((selection, true))
}

/// Lets an update of a data set without `.info.json` keep its splits and excludes.
fn keep_splits(context: &Context, asked: &PreparePlan) -> Outcome<()> {
    let shared = &context.shared;
    let now = shared.facts_now();
    if let Cow::Owned(facts) = dataset::facts_for_plan(asked, &now)? {
        shared.update(|state| {
            state.facts.prepared = facts.prepared;
            state.facts.findings.extend(facts.findings.into_iter().skip(now.findings.len()));
        });
    }
    Ok(())
}

/// Whether another run published between the opening of the data set and the acquisition of the lock.
fn prepared_meanwhile(context: &Context) -> Outcome<bool> {
    let shared = &context.shared;
    if dataset::prepared_stamp(&shared.root) == shared.lock().prepared {
        return Ok(false);
    }
    if context.scan_thread.is_none() {
        return Ok(true);
    }
    let why = "another run prepared it since it was opened";
    Err(Failure::data("preparing the data set", why)
        .on(Subject::path(&shared.root))
        .with_hint("open it again to see what is there now"))
}

fn run_planned(
    context: &Context,
    (own, lock): (&RunFolder, &DatasetLock),
    mut selection: Selection,
) -> Outcome<PrepareReport> {
    let shared = &context.shared;
    let mut facts = shared.facts_now();
    if shared.options.restart {
        own.remove_work(&*shared.fs)?;
    }
    if context.plan.tgz == Tgz::Rewrite && rewrite::unpack(context, own, &selection)? {
        facts = shared.facts_now();
        selection = rerun::selection(context, &facts)?;
    }
    let mut spools = scan(context, own, &facts, &selection)?;
    let mut facts = shared.facts_now();
    let mut problems = validate(&context.plan, &facts);
    problems.extend(fields::try_out(&context.plan, &facts));
    rerun::refuse(context, problems)?;
    let renamed = rewrite::rename_entries(context, own, &mut selection, &mut spools)?;
    if !renamed.is_empty() {
        facts = shared.facts_now();
    }
    let found = media::probe(context, own, &selection, &spools)?;
    let (built, media) = build(context, own, &selection, &spools, found)?;
    report_unmatched_excludes(context, &facts, &selection, &built)?;
    let scanned = (&selection, spools.as_slice(), renamed.as_slice());
    let mut report = finish(context, (own, lock), &facts, scanned, (&built, media))?;
    clean_up(context, own);
    report.elapsed = context.task.elapsed();
    Ok(report)
}

/// Finishes an interrupted publication, then opens the data set, unless a scan has already done so.
fn open(context: &Context) -> Outcome<()> {
    let shared = &context.shared;
    if context.scan_thread.is_some() {
        super::super::scan::wait_opened(shared)?;
        return Ok(());
    }
    roll_forward(&*shared.fs, &shared.root, &*shared.problems)?;
    let opened = times::open(&shared.root, shared.options.threads, &shared.cancel)?;
    shared.set_opened(opened);
    Ok(())
}

/// Writes the plan with absolute paths, so that an interrupted run can be resumed from any folder.
fn write_running_plan(context: &Context, own: &RunFolder) -> Outcome<()> {
    let fs = &*context.shared.fs;
    fs.create_dir(&own.work_folder(), 0o700)?;
    let path = own.running_plan();
    fs.remove_file(&path)?;
    let mut file = fs.create_file(&path)?;
    let mut plan = context.requested_plan.clone();
    if let Ok(path) = files::absolute(&plan.path) {
        plan.path = path.to_string_lossy().into_owned();
    }
    file.write_all(plan_file::to_yaml(&plan)?.as_bytes())?;
    file.close()?;
    Ok(())
}

/// Adds the findings from opening the data set to the report, once.
fn report_findings(context: &Context, facts: &DatasetFacts) -> Outcome<()> {
    let kept = context.shared.problems.to_vec();
    let concerns = dataset::concerns(Some(&context.plan));
    facts
        .findings
        .iter()
        .filter(|found| concerns(found) && !kept.contains(found))
        .try_for_each(|found| context.shared.problems.report(found.clone()))
}

/// Reports the findings of the previous run on shards that are not read again. `is_done` is set if there is nothing to do.
fn report_earlier(
    context: &Context,
    own: &RunFolder,
    facts: &DatasetFacts,
    selection: &Selection,
    is_done: bool,
) -> Outcome<()> {
    let is_update = context.plan.rerun == Rerun::Update;
    let chosen = selection.positions.iter().filter_map(|&p| facts.shards.get(p)).map(|shard| shard.name.as_str());
    let unread = chosen.filter(|name| !is_update || selection.unchanged.contains(*name)).collect();
    rerun::earlier_findings(own, facts, &unread, is_done)?.report_to(&context.shared.problems)
}

fn scan(context: &Context, own: &RunFolder, facts: &DatasetFacts, selection: &Selection) -> Outcome<Vec<SpooledShard>> {
    let shared = &context.shared;
    let shards = selection.positions.len() as u64;
    let bytes: u64 = selection.positions.iter().filter_map(|&p| facts.shards.get(p)).map(|s| s.stamp.bytes).sum();
    let forecast = Forecast::new(cost::reading(shards, bytes), forecast::after_scan(context, shards, bytes));
    // If a scan was adopted, its progress continues.
    let fresh = context.scan_thread.is_none().then_some(&*shared.progress);
    context.task.board.begin_phase(fresh, Phase::Scan, Phase::Scan.item(), forecast);
    context.task.log(format!("scanning {}, {}", text::count(shards, "shard"), text::bytes(bytes)));
    shared.progress.expect(shards, bytes);
    report_findings(context, facts)?;
    if context.plan.rerun == Rerun::Update {
        report_earlier(context, own, facts, selection, false)?;
    }
    write_running_plan(context, own)?;
    let journal = Journal::open(&*shared.fs, &own.journal(), &plan_file::hash(&context.plan))?;
    collect::collect(context, own, selection, journal)
}

fn build(
    context: &Context,
    own: &RunFolder,
    selection: &Selection,
    spools: &[SpooledShard],
    found: Option<media::MediaTotals>,
) -> Outcome<(BuiltIndex, Option<MediaSummary>)> {
    let shared = &context.shared;
    let samples: u64 = spools.iter().map(|spool| spool.scan.samples).sum();
    let forecast = forecast::tables(context, samples, spools.len() as u64);
    let line = format!("sorting {}, building the tables", text::count(samples, "key"));
    context.task.stage(Phase::Tables, Phase::Tables.item(), forecast, line);
    shared.progress.expect(samples, 0);
    if context.plan.scope == Scope::WithoutSampleTables {
        duplicates::refuse_scattered(context, selection, spools)?;
        let database = media::copy_media_tables(context, own)?;
        return Ok((
            BuiltIndex { database, duplicates: Vec::new(), duplicate_count: 0, samples, parts: 0, bytes: 0 },
            None,
        ));
    }
    let untrained = duplicates::untrained(context, selection, spools);
    let options = BuildOptions { duplicates: context.plan.duplicates, untrained, ..BuildOptions::default() };
    let fs = &*shared.fs;
    let built = index::build(fs, spools, &own.work_folder(), context.scratch.path(), &options, &shared.handles())?;
    if built.duplicate_count > 0 {
        duplicates::refuse_scattered(context, selection, spools)?;
    }
    if built.duplicate_count > 0 && context.plan.duplicates != Duplicates::KeepFirst {
        return Err(duplicates_refused(context, selection, &built));
    }
    let old = layout::in_nv_meta(&shared.root, layout::INDEX_SQLITE);
    let mut carried = CarriedMedia::Nothing;
    if let Some(database) = &built.database {
        carried = index::carry_media_tables(fs, &old, database, &shared.cancel)?;
        media::report_carried(context, &carried)?;
    }
    let described = match found {
        Some(found) => media::write(context, own, selection, spools, found, (&built, &carried))?,
        None => {
            media::report_outdated(context, selection, &carried)?;
            None
        }
    };
    Ok((built, described))
}

/// Returns the excludes of this run: kept ones, those of the plan, and the `required` ones. Also returns the kept excludes by the user that
/// are among the required ones.
fn all_excludes(
    context: &Context,
    selection: &Selection,
    facts: &DatasetFacts,
    required: Vec<String>,
) -> (Vec<String>, Vec<String>) {
    let mut items = kept_excludes(&context.plan, facts, &selection.redecided);
    let needed: HashSet<&String> = required.iter().collect();
    let known: HashSet<&String> = facts.prepared.iter().flat_map(|prepared| &prepared.user_excludes).collect();
    // Shards that are not read again do not contribute to the required excludes.
    let is_of_user = |item: &&String| known.contains(item) || needed.contains(item) && !selection.added.contains(*item);
    let of_user = items.iter().filter(is_of_user).cloned().collect();
    items.extend(context.plan.excludes.iter().cloned());
    items.extend(required);
    let mut seen = HashSet::new();
    items.retain(|item| seen.insert(item.clone()));
    (items, of_user)
}

/// Returns the excludes required by damage, AppleDouble files and duplicates.
fn required_excludes(
    context: &Context,
    selection: &Selection,
    spools: &[SpooledShard],
    shards: &[ShardFacts],
    built: &BuiltIndex,
) -> Vec<String> {
    let mut items = Vec::new();
    for (spool, shard) in spools.iter().zip(shards) {
        items.extend(spool.scan.damaged_start.then(|| outputs::exclude_item(&shard.name, None)));
        let keys = spool.scan.damaged_keys.iter().chain(&spool.scan.apple_double_keys);
        items.extend(keys.map(|key| outputs::exclude_item(&shard.name, Some(key))));
    }
    if context.plan.duplicates == Duplicates::KeepFirst {
        let is_out = |id: ShardId| shards.get(id.0 as usize).is_some_and(|shard| shard.unusable || shard.is_tgz);
        for duplicate in built.duplicates.iter().filter(|d| d.first.0 != d.second.0 && !is_out(d.second.0)) {
            items
                .push(outputs::exclude_item(&shard_name(context, selection, duplicate.second.0), Some(&duplicate.key)));
        }
    }
    items
}

fn finish(
    context: &Context,
    (own, lock): (&RunFolder, &DatasetLock),
    facts: &DatasetFacts,
    (selection, spools, renamed): (&Selection, &[SpooledShard], &[RenamedShard]),
    (built, media): (&BuiltIndex, Option<MediaSummary>),
) -> Outcome<PrepareReport> {
    let shared = &context.shared;
    let forecast = Forecast::publishing(spools.len() as u64);
    context.task.stage(Phase::Publish, Phase::Publish.item(), forecast, "making the result visible");
    let shards: Vec<ShardFacts> = selection.positions.iter().filter_map(|&p| facts.shards.get(p).cloned()).collect();
    let counts = shards.iter().zip(spools).map(|(shard, spool)| (shard.name.clone(), spool.scan.samples)).collect();
    let resolved = resolve_in(&context.plan, &selected_facts(facts, shards.clone()));
    let named = shard_names(&resolved, &shards);
    let required = required_excludes(context, selection, spools, &shards, built);
    let (excludes, user_excludes) = all_excludes(context, selection, facts, required);
    if context.plan.duplicates == Duplicates::KeepFirst {
        report_duplicates(context, selection, built)?;
    }
    super::excludes::report_stale(context, facts, (&shards, spools), built, &selection.redecided)?;
    // Stale excludes can only be reported here, when the content of the shards is known.
    let reported = shared.problems.to_vec();
    for problem in resolved.problems.iter().filter(|p| p.kind == ProblemKind::EmptySplit && !reported.contains(p)) {
        shared.problems.report(problem.clone())?;
    }
    let counted = shards.iter().map(|shard| (shard.name.as_str(), shard.samples)).collect();
    for problem in splits_without_samples(&named, &excludes, &counted) {
        shared.problems.report(problem)?;
    }
    let many_excludes = excludes.len() as u64;
    let splits = summaries(&named, &shards, &excludes);
    let texts = match context.plan.scope {
        Scope::TarIndexOnly => corrected_counts(context, counts)?,
        _ => publish::texts(context, counts, &named, excludes, facts)?,
    };
    let mut report = PrepareReport {
        shards: spools.len() as u64,
        samples: spools.iter().map(|spool| spool.scan.samples).sum(),
        parts: (context.plan.scope != Scope::WithoutSampleTables).then_some(built.parts),
        bytes: shards.iter().map(|shard| shard.stamp.bytes).sum(),
        splits,
        excludes: many_excludes,
        media,
        files: Vec::new(),
        nothing_to_do: false,
        problems: shared.problems.to_vec(),
        counts: shared.problems.counts(),
        elapsed: context.task.elapsed(),
    };
    sort_media_problems(&mut report.problems);
    let outputs = Outputs {
        selection,
        spools,
        renamed,
        built,
        texts,
        user_excludes,
        now: SystemTime::now(),
        drop_database: rerun::drops_database(&context.plan),
    };
    // The originals of rewritten shards are compared when these are staged.
    if renamed.is_empty() {
        collect::check_unchanged(context, selection, spools)?;
    }
    publish::publish(context, (own, lock), outputs, &mut report)?;
    context.task.log(format!(
        "prepared: {}, {}",
        text::count(report.shards, "shard"),
        text::count(report.samples, "sample")
    ));
    Ok(report)
}

/// Reports excludes of the plan that match no sample, as the user expects them to have an effect.
fn report_unmatched_excludes(
    context: &Context,
    facts: &DatasetFacts,
    selection: &Selection,
    built: &BuiltIndex,
) -> Outcome<()> {
    let Some(database) = built.database.as_ref().filter(|_| context.plan.scope == Scope::Full) else { return Ok(()) };
    let shards = selection.positions.iter().filter_map(|&p| facts.shards.get(p));
    let names: Vec<String> = shards.map(|shard| shard.name.clone()).collect();
    let (plan, cancel) = (&context.plan, &context.shared.cancel);
    for lost in index::unmatched_excludes(database, &names, &plan.excludes, plan.duplicates, cancel)? {
        let subject = Subject::field(lost.item.as_str());
        context.shared.problems.report(if lost.lost == lost.all {
            let message = "the exclude matches nothing: its shard has no sample with this key";
            Problem::problem(ProblemKind::MatchesNothing, subject, message).with_hint(
                "an item is SHARD/KEY, the key without the part's name; gristmill lint lists what is in force",
            )
        } else {
            let message = format!(
                "{} of {} of the exclude {} nothing, such as {}",
                lost.lost,
                text::count(lost.all as u64, "name"),
                text::agree(lost.lost as u64, "matches", "match"),
                lost.example
            );
            Problem::note(ProblemKind::MatchesNothing, subject, message)
        })?;
    }
    Ok(())
}

/// Returns `.info.json` for a run with `--tar-index-only`: a lone `.info.yaml` is converted, and wrong shard counts are corrected, because
/// the loader would omit samples or search for missing ones. Otherwise the content is unchanged.
fn corrected_counts(context: &Context, counts: Vec<(String, u64)>) -> Outcome<Vec<Text>> {
    let root = &context.shared.root;
    let path = root.join(layout::NV_META).join(layout::INFO_JSON);
    let recorded = gristmill_data::formats::energon::info::Info::read(root)?.ok_or_else(|| {
        Failure::data("making the tar indexes again", "the data set is not prepared")
            .on(Subject::path(root))
            .with_hint("run prepare without --tar-index-only first")
    })?;
    let as_it_is = match files::read_to_string(&path) {
        Ok(content) => content,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => recorded.to_json(),
        Err(error) => return Err(Failure::io("reading the shard counts", &path, &error)),
    };
    let info = |content| Ok(vec![Text { name: layout::INFO_JSON.to_owned(), content, keep_existing: false }]);
    if recorded.shard_counts == counts {
        return info(as_it_is);
    }
    for wrong in wrong_counts(&recorded.shard_counts, &counts) {
        let message = match wrong {
            (_, Some(then), Some(now)) => format!("{} in .info.json, {now} in the shard", text::count(then, "sample")),
            (_, None, _) => "the index has this shard now, .info.json did not".to_owned(),
            (_, _, None) => ".info.json had this shard, the index has it no more".to_owned(),
        };
        let told = if context.plan.compat {
            let hint = "the loader goes by .info.json; without --compat the count is corrected";
            Problem::problem(ProblemKind::IndexMismatch, Subject::shard(wrong.0), message).with_hint(hint)
        } else {
            let hint = "splits stay as they are: gristmill prepare PATH --update puts new shards into them";
            let hint = hint_for(root, hint);
            Problem::note(ProblemKind::IndexMismatch, Subject::shard(wrong.0), format!("{message}; corrected"))
                .with_hint(hint)
        };
        context.shared.problems.report(told)?;
    }
    if context.plan.compat {
        return info(as_it_is);
    }
    info(gristmill_data::formats::energon::info::Info { shard_counts: counts, ..recorded }.to_json())
}

/// Returns the shards whose count differs from the recorded one, with the old and the new count.
fn wrong_counts<'c>(
    recorded: &'c [(String, u64)],
    counts: &'c [(String, u64)],
) -> Vec<(&'c str, Option<u64>, Option<u64>)> {
    let then: HashMap<&str, u64> = recorded.iter().map(|(name, n)| (name.as_str(), *n)).collect();
    let now: HashMap<&str, u64> = counts.iter().map(|(name, n)| (name.as_str(), *n)).collect();
    let names = counts.iter().chain(recorded.iter().filter(|(name, _)| !now.contains_key(name.as_str())));
    let both =
        names.map(|(name, _)| (name.as_str(), then.get(name.as_str()).copied(), now.get(name.as_str()).copied()));
    both.filter(|(_, then, now)| then != now).collect()
}

/// Removes temporary files of the run. The result is already visible, so an error here is logged and not reported.
fn clean_up(context: &Context, own: &RunFolder) {
    if let Err(error) = own.remove_work(&*context.shared.fs) {
        context.task.log(format!("cleaning up: {error}"));
    }
}
