//! The sequence of a `dedup` run, from opening the inputs to publication.

use super::budget::Budget;
use super::inputs::{self, Inputs};
use super::job::{journal_key, note, recorded_unit, Job};
use super::layout::{with_absolute_paths, with_output, Layout};
use super::leftover;
use super::record::{decide_run, Decision};
use super::split::{scratch_needed, Division, MATCH_CACHE_DIVISOR};
use super::stages::run_stages;
use super::tables;
use super::{DedupReport, Figures, Tuning};
use crate::engine::plan::dedup::plan_hash;
use crate::engine::plan::file::dedup_to_yaml;
use crate::job::finished::{clear_finished, remove_finished};
use crate::job::journal::Journal;
use crate::job::layouts;
use crate::job::publish::{make_folder, with_parent_folders};
use crate::job::record::{check_running, report_before, report_earlier, RecordedPlan as _};
use crate::job::recover::recover_output;
use crate::job::task::TaskContext;
use crate::job::Phase;
use gristmill_core::{text, DedupPlan, ExitClass, Failure, Outcome, Problem, ProblemKind, ProblemSink as _, Subject};
use gristmill_data::source::documents::DocumentFields;
use gristmill_dedup::Rule;
use gristmill_storage::files;
use gristmill_storage::fs::PRIVATE_FOLDER;
use gristmill_storage::kept::ReadCache;
use gristmill_storage::location::is_remote;
use gristmill_storage::lock::DatasetLock;
use gristmill_storage::publish::{recover, write_file};
use gristmill_storage::space;

/// A run that does not hold the lock yet.
struct UnlockedRun<'a> {
    context: &'a TaskContext,
    plan: &'a DedupPlan,
    layout: Layout,
    inputs: Inputs,
    hash: String,
    tuning: Tuning,
}

/// Executes a plan. An error leaves existing output unchanged.
pub(super) fn run(context: &TaskContext, plan: &DedupPlan, tuning: Tuning) -> Outcome<DedupReport> {
    context.phase_of(Phase::Open, "input file", "looking for text");
    let plan = &with_absolute_paths(plan)?;
    let mut opened = UnlockedRun::new(context, plan, tuning)?;
    if decide_run(plan, &opened.hash, &opened.layout, &opened.inputs)? == Decision::Nothing {
        context.log("nothing to do: the same plan has run on the same files");
        let key = journal_key(&opened.hash, &opened.inputs);
        let remove = || opened.remove_all_work();
        if let Err(error) = clear_finished(&*context.fs, &opened.layout.run_folder, &key, &remove) {
            context.log(format!("cleaning up: {error}"));
        }
        return opened.nothing();
    }
    let (threads, cancel) = (context.options.threads, &context.cancel);
    // An empty file is not reported, because its output is empty as well.
    let mut problems = opened.inputs.leave_out_damage(&plan.text_key, &context.options, cancel)?;
    problems.extend(tables::check(plan, &opened.inputs, threads, cancel)?);
    for problem in problems {
        context.problems.report(problem)?;
    }
    layouts::check(&opened.inputs.files_of_lines(), &DocumentFields::default(), ("deduplicating", threads), cancel)?;
    with_parent_folders(context, &opened.layout.output, &opened.layout.run_folder, || opened.locked())
}

impl<'a> UnlockedRun<'a> {
    fn new(context: &'a TaskContext, plan: &'a DedupPlan, tuning: Tuning) -> Outcome<Self> {
        if plan.min_length.is_none_or(|length| length == 0) {
            let failure = Failure::usage("deduplicating", "no minimum length is given");
            return Err(failure.on(Subject::field("--minlen")));
        }
        let layout = Layout::of(plan, &context.options)?;
        recover_output(context, layout.root(), &layout.run_folder, &layout.output)?;
        let snapshot = inputs::fetch_remote(plan, false, context)?;
        let find = || inputs::find(plan, snapshot.as_ref(), &context.options, &context.cancel);
        let inputs = files::fetch_listing_during(&layout.output, find)?;
        for problem in &inputs.problems {
            context.problems.report(problem.clone())?;
        }
        inputs.refuse_overlap(plan, &layout)?;
        let rule = Rule::of(plan, plan.min_length.unwrap_or_default());
        inputs.check_memory(&rule, context.options.memory_bytes)?;
        Ok(Self { context, plan, layout, inputs, hash: plan_hash(plan), tuning })
    }

    /// Returns the report of a run that has nothing to do, and reports again the problems of the previous run.
    fn nothing(&self) -> Outcome<DedupReport> {
        report_earlier::<DedupPlan>(&self.layout.run_folder, self.inputs.stamps().map(|(path, _)| path), self.context)?;
        let now = self.report(Figures::default(), true);
        let Some(before) = report_before::<DedupReport>(&self.layout.run_folder, DedupPlan::MAX_RECORD_BYTES)? else {
            return Ok(now);
        };
        let DedupReport { output, files, problems, counts, elapsed, .. } = now;
        let (resumed_units, scratch_bytes, nothing_to_do) = (0, 0, true);
        Ok(DedupReport {
            output,
            files,
            nothing_to_do,
            resumed_units,
            scratch_bytes,
            problems,
            counts,
            elapsed,
            ..before
        })
    }

    /// Returns a report without problems.
    fn report(&self, totals: Figures, nothing_to_do: bool) -> DedupReport {
        DedupReport {
            output: self.layout.output.clone(),
            files: self.inputs.written_files().len() as u64,
            totals,
            per_file: Vec::new(),
            passages: Vec::new(),
            exported: Vec::new(),
            nothing_to_do,
            resumed_units: 0,
            scratch_bytes: 0,
            problems: self.context.problems.to_vec(),
            counts: self.context.problems.counts(),
            elapsed: self.context.elapsed(),
        }
    }

    fn remove_all_work(&self) -> Outcome<()> {
        self.remove_scratch()?;
        self.layout.run_folder.remove_work(&*self.context.fs)
    }

    fn remove_scratch(&self) -> Outcome<()> {
        self.context.fs.remove_dir_all(&self.layout.scratch)
    }

    fn locked(&self) -> Outcome<DedupReport> {
        let (context, fs, own) = (self.context, &*self.context.fs, &self.layout.run_folder);
        // Another run may have finished before this one got the lock.
        let look = || files::fetch_listing(&self.layout.output);
        let lock = DatasetLock::acquire_and_check(fs, own, context.options.break_lock, &look)?;
        recover(fs, self.layout.root(), own)?;
        if decide_run(self.plan, &self.hash, &self.layout, &self.inputs)? == Decision::Nothing {
            remove_finished(own, &journal_key(&self.hash, &self.inputs), &|| self.remove_all_work())?;
            return self.nothing();
        }
        if context.options.restart {
            leftover::remove_previous(fs, &self.layout)?;
            self.remove_all_work()?;
        }
        check_running(self.plan, own)?;
        leftover::remove_previous(fs, &self.layout)?;
        leftover::check_leftovers(fs, &self.layout, &context.problems, &|line| context.log(line))?;
        let result = self.run_locked(&lock);
        // A cancelled run is resumed later, so all of its files stay. A run that was refused because of its data cannot be resumed, and a
        // finished one is complete, so all of its work is removed. After an environment error, only the scratch is removed, as it may be
        // large.
        let (is_stopped, is_over) = match &result {
            Ok(_) => (false, true),
            Err(failure) => (failure.is_cancelled(), matches!(failure.class, ExitClass::Data | ExitClass::Usage)),
        };
        let cleared = match (is_stopped, is_over) {
            (true, _) => Ok(()),
            (false, true) => self.remove_all_work(),
            (false, false) => self.remove_scratch(),
        };
        if let Err(error) = cleared {
            context.log(format!("cleaning up: {error}"));
        }
        result
    }

    fn run_locked(&self, lock: &DatasetLock) -> Outcome<DedupReport> {
        let (context, fs, own) = (self.context, &*self.context.fs, &self.layout.run_folder);
        own.create(fs)?;
        for folder in self.layout.folders() {
            fs.create_dir(&folder, PRIVATE_FOLDER)?;
        }
        write_file(fs, &own.running_plan(), dedup_to_yaml(&with_output(self.plan)?)?.as_bytes(), 0o600)?;
        let job = self.job()?;
        run_stages(&job, lock, |totals| self.report(totals, false), &self.hash)
            .inspect(|report| context.log(format!("deduplicated {}", text::count(report.totals.documents, "document"))))
    }

    /// Creates the job. A resumed run keeps the division of the stopped run; a new one is divided by the inputs and the memory.
    fn job(&self) -> Outcome<Job<'_>> {
        let (context, fs) = (self.context, &*self.context.fs);
        let key = journal_key(&self.hash, &self.inputs);
        let path = self.layout.run_folder.journal();
        let is_known = Journal::count_finished(&path, &key)? > 0;
        if !is_known {
            // Existing work files belong to other inputs or to another plan.
            self.remove_scratch()?;
            for folder in self.layout.folders() {
                fs.remove_dir_all(&folder)?;
                fs.create_dir(&folder, PRIVATE_FOLDER)?;
            }
        }
        let journal = Journal::open(fs, &path, &key)?;
        let rule = Rule::of(self.plan, self.plan.min_length.unwrap_or_default());
        let mut memory = self.inputs.memory(&rule, &context.options);
        memory.spill_bytes = self.tuning.spill_bytes.unwrap_or(memory.spill_bytes);
        let (bytes, text_bytes) = (self.inputs.bytes(), self.inputs.text_bytes());
        let division = match recorded_unit::<Division>(&journal, "division") {
            Some(division) => {
                context.log("resuming a stopped run");
                division
            }
            None => {
                let mut division = Division::of(&rule, bytes, text_bytes, &memory);
                division.parts = self.tuning.parts.unwrap_or(division.parts).max(1);
                division.unit_bytes = self.tuning.unit_bytes.unwrap_or(division.unit_bytes);
                note(&journal, "division", &division)?;
                division
            }
        };
        let needed = scratch_needed(&rule, bytes, text_bytes, &memory, &division);
        // The size of the text in compressed files is only an estimate.
        let least = scratch_needed(&rule, bytes, bytes, &memory, &division).min(needed);
        self.check_space(needed, least)?;
        if self.layout.is_on_other_disk {
            if let Some(parent) = self.layout.scratch.parent() {
                make_folder(fs, parent, PRIVATE_FOLDER, &mut Vec::new())?;
            }
        }
        fs.create_dir(&self.layout.scratch, PRIVATE_FOLDER)?;
        leftover::note(fs, &self.layout)?;
        let match_cache_bytes = if needed > 0 { memory.spill_bytes / MATCH_CACHE_DIVISOR } else { 0 };
        let lists = division.lists(&rule, bytes, text_bytes, &memory).min(memory.spill_bytes / 2);
        let budget = Budget::new(memory.spill_bytes - match_cache_bytes - lists);
        let (plan, layout, inputs) = (self.plan, &self.layout, &self.inputs);
        // Objects in stores are cached, because all text is read twice.
        let files = inputs.files.iter().map(|file| (file.path.as_path(), file.bytes));
        let files = files.filter(|(path, _)| is_remote(path));
        // Leaves space for the result, which may be as large as the text, on the same disk.
        let free = space::free_bytes(&self.layout.scratch)?.saturating_sub(needed.saturating_add(bytes));
        let kept = ReadCache::begin(&self.layout.scratch, free / 2, files)?;
        Ok(Job {
            context,
            plan,
            layout,
            inputs,
            rule,
            memory,
            division,
            budget,
            match_cache_bytes,
            journal,
            _kept: kept,
        })
    }

    /// Refuses a run that is certain to exceed the scratch space, and warns of one that may exceed it.
    fn check_space(&self, scratch: u64, least: u64) -> Outcome<()> {
        let refuse = |needed: u64, free: u64, place: &std::path::Path, hint: &str| {
            let why = format!("about {} are needed there, and {} are free", text::bytes(needed), text::bytes(free));
            Err(Failure::environment("deduplicating", why).on(Subject::path(place)).with_hint(hint))
        };
        self.note_space_of_output()?;
        let scratch_free = space::free_bytes(&self.layout.scratch)?;
        if scratch > 0 {
            self.context.log(format!(
                "scratch: about {} in {}, where {} are free",
                text::bytes(scratch),
                text::display_safe(&self.layout.scratch.to_string_lossy()),
                text::bytes(scratch_free)
            ));
        }
        if scratch > scratch_free && least <= scratch_free {
            let why = format!(
                "scratch may not be enough: about {} are needed, and {} are free",
                text::bytes(scratch),
                text::bytes(scratch_free)
            );
            let note = Problem::note(ProblemKind::Other, Subject::path(&self.layout.scratch), why);
            let hint = "if space runs out, no partial output remains; --scratch DIR names another folder";
            return self.context.problems.report(note.with_hint(hint));
        }
        if scratch > scratch_free {
            let hint = "name a folder with more space with --scratch DIR, or give more --memory";
            return refuse(scratch, scratch_free, &self.layout.scratch, hint);
        }
        Ok(())
    }
}

impl UnlockedRun<'_> {
    /// Warns if the output may not fit. Its size is only known once all repeats are found.
    fn note_space_of_output(&self) -> Outcome<()> {
        let most: u64 = self.inputs.written_files().iter().map(|file| file.bytes).sum();
        let folder = space::folder_of_drafts(&self.layout.output);
        let free = space::free_bytes(&folder)?;
        if most <= free {
            return Ok(());
        }
        let why = format!(
            "the space may not be enough for the output: up to {} are needed, and {} are free",
            text::bytes(most),
            text::bytes(free)
        );
        let note = Problem::note(ProblemKind::Other, Subject::path(&folder), why);
        self.context.problems.report(note.with_hint(space::hint_for_space(&self.layout.output)))
    }
}
