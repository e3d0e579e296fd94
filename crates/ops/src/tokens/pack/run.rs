//! Runs `pack`, from opening the inputs to publication.

use super::super::formats;
use super::assemble::{Assembler, COMMIT_BYTES};
use super::feed::PassReader;
use super::inputs::{fetch_remote, find, Inputs};
use super::journal::{Journal, Record, RunInputs, Totals};
use super::layout::Layout;
use super::no_text::{has_document_selection, may_be_empty, no_text, NO_TEXT_HINT};
use super::pipeline::{self, Limits, PassEnd};
use super::publish::{publish, Outputs};
use super::record::{decide, with_absolute_paths, Decision, Recorded};
use super::{disk_space, findings, outputs, PackReport, Skipped, TargetReport, Tuning};
use crate::engine::plan::file::pack_to_yaml;
use crate::job::damage::DamagedRows;
use crate::job::finished::{clear_finished, remove_finished};
use crate::job::job_progress::{cost, Forecast};
use crate::job::layouts;
use crate::job::outputs::OutputState;
use crate::job::pool::run_both;
use crate::job::publish::{with_parent_folders, FinishedFile};
use crate::job::record::{check_running, report_before, report_earlier, RecordedPlan as _};
use crate::job::recover::recover_output;
use crate::job::task::TaskContext;
use crate::job::Phase;
use crate::tokens::check::tokenizer_warnings;
use crate::tokens::encode::{fields_of, plan_hash, EncodingSpec};
use crate::tokens::load_tokenizer;
use gristmill_core::pack::TextField;
use gristmill_core::{
    text, ExitClass, Failure, Outcome, PackPlan, Problem, ProblemKind, ProblemSink as _, Severity, Subject,
};
use gristmill_storage::files;
use gristmill_storage::lock::DatasetLock;
use gristmill_storage::publish::{recover, write_file};
use gristmill_storage::read::open_read;
use gristmill_storage::read_ahead::read_ahead;
use gristmill_tokenizer::Tokenizer;

/// Size of a block of text in bytes, unless the memory is limited.
const BLOCK_BYTES: u64 = 512 << 10;
/// Minimum size of a block of text, in bytes.
const MIN_BLOCK_BYTES: u64 = 64 << 10;
/// Maximum memory for blocks per thread, in bytes. More memory would only fill up with blocks that wait for a slow one.
const MAX_QUEUED_BYTES: u64 = 32 << 20;

/// The decisions that are made before text is read.
struct Job<'a> {
    context: &'a TaskContext,
    plan: &'a PackPlan,
    tokenizer: Tokenizer,
    specs: Vec<EncodingSpec>,
    layout: Layout,
    inputs: Inputs,
    hash: String,
    tuning: Tuning,
}

/// Runs a plan. An error does not change existing output.
pub(super) fn run(context: &TaskContext, plan: &PackPlan, tuning: Tuning) -> Outcome<PackReport> {
    context.phase_of(Phase::Open, "input file", "looking for text");
    let mut job = Job::open(context, plan, tuning)?;
    if let Decision::Nothing = decide(plan, &job.hash, &job.layout, &job.inputs)? {
        context.log("nothing to do: the same plan has run on the same files");
        let (fs, own) = (&*context.fs, &job.layout.run_folder);
        if let Err(error) = clear_finished(fs, own, &job.hash, &|| own.remove_work(fs)) {
            context.log(format!("cleaning up: {error}"));
        }
        return job.nothing();
    }
    job.check_layouts()?;
    let (output, own) = (job.layout.output.clone(), job.layout.run_folder.clone());
    with_parent_folders(context, &output, &own, || job.locked())
        .inspect_err(|_| outputs::record_leftovers(&context.outputs, &job.layout))
}

impl<'a> Job<'a> {
    fn open(context: &'a TaskContext, plan: &'a PackPlan, tuning: Tuning) -> Outcome<Self> {
        let layout = Layout::of(plan)?;
        recover_output(context, layout.root(), &layout.run_folder, &layout.output)?;
        // The tokenizer is verified while the first texts are packed.
        let tokenizer = load_tokenizer(plan, &run_both)?;
        let specs = formats::encodings(plan, &tokenizer)?;
        let snapshots = fetch_remote(plan, false, context)?;
        let find = || find(plan, &layout, &specs, snapshots, &context.options, &context.cancel);
        let inputs = files::fetch_listing_during(&layout.output, find)?;
        layout.check_folders(plan)?;
        for problem in &inputs.problems {
            context.problems.report(problem.clone())?;
        }
        for warning in tokenizer_warnings(plan, &tokenizer, &specs) {
            let note = Problem::note(ProblemKind::Other, Subject::path(&plan.tokenizer), warning);
            context.problems.report(note)?;
        }
        let hash = plan_hash(&with_absolute_paths(plan), &tokenizer.facts().hash);
        Ok(Self { context, plan, tokenizer, specs, layout, inputs, hash, tuning })
    }

    /// Refuses files that do not contain lines of JSON, and reports empty files and omitted row groups.
    fn check_layouts(&mut self) -> Outcome<()> {
        let context = self.context;
        let (files, fields) = (self.inputs.checked_files(self.plan), fields_of(self.plan, &self.specs));
        let notes = layouts::check(&files, &fields, ("packing", context.options.threads), &context.cancel)?;
        let damaged = DamagedRows::find(&files, &fields, &context.options, &context.cancel)?;
        self.inputs.leave_out(&damaged);
        notes.into_iter().chain(damaged.problems).try_for_each(|problem| context.problems.report(problem))
    }

    fn locked(&mut self) -> Outcome<PackReport> {
        let (context, fs) = (self.context, &*self.context.fs);
        // Another run may have finished before this run acquired the lock.
        let look = || files::fetch_listing(&self.layout.output);
        let lock = DatasetLock::acquire_and_check(fs, &self.layout.run_folder, context.options.break_lock, &look)?;
        // Staged files that were not moved yet are hard links to spools.
        recover(fs, self.layout.root(), &self.layout.run_folder)?;
        if let Decision::Nothing = decide(self.plan, &self.hash, &self.layout, &self.inputs)? {
            let own = &self.layout.run_folder;
            remove_finished(own, &self.hash, &|| own.remove_work(fs))?;
            return self.nothing();
        }
        if context.options.restart {
            self.layout.run_folder.remove_work(fs)?;
        }
        check_running(self.plan, &self.layout.run_folder)?;
        let result = self.run_passes(&lock);
        if let Err(failure) = &result {
            self.inputs.outputs.iter().for_each(|output| output.record_failure(context, failure));
        }
        // A run that was refused because of its data cannot be resumed, and a finished run does not need its work files.
        let is_over = match &result {
            Ok(_) => true,
            Err(failure) => matches!(failure.class, ExitClass::Data | ExitClass::Usage),
        };
        if is_over {
            if let Err(error) = self.layout.run_folder.remove_work(fs) {
                context.log(format!("cleaning up: {error}"));
            }
        }
        if result.is_err() {
            context.outputs.set_state(if is_over { OutputState::Removed } else { OutputState::Kept });
        }
        result
    }

    fn run_passes(&mut self, lock: &DatasetLock) -> Outcome<PackReport> {
        let (context, fs) = (self.context, &*self.context.fs);
        self.layout.run_folder.create(fs)?;
        for folder in [self.layout.spools(), self.layout.finished()] {
            fs.create_dir(&folder, 0o700)?;
        }
        write_file(
            fs,
            &self.layout.run_folder.running_plan(),
            pack_to_yaml(&with_absolute_paths(self.plan))?.as_bytes(),
            0o600,
        )?;
        self.inputs.outputs.iter().try_for_each(|output| output.begin_run(context))?;
        let (mut journal, mut begin, mut record) = self.journal()?;
        disk_space::check(context, self.plan, &self.layout, &self.inputs, self.tuning)?;
        let resumed = record.as_ref().map_or(0, |record| record.totals.bytes);
        let mut told = None;
        loop {
            if begin.reference.is_some() {
                self.tokenizer.use_reference();
            }
            let commit_bytes = self.tuning.commit_bytes.unwrap_or(COMMIT_BYTES);
            let places = (&self.layout, &self.inputs);
            let opened = Assembler::new(context, self.plan, &self.specs, places, journal, record.take(), commit_bytes)?;
            let Some(mut assembler) = opened else {
                context.log("the work of a stopped run is damaged: starting from the beginning");
                journal = self.restart(&begin)?;
                continue;
            };
            assembler.suppress_problems_before(told);
            outputs::expect(context, &self.layout, &self.inputs, &self.specs);
            match self.passes(&mut assembler)? {
                PassEnd::Done => return self.finish(lock, &assembler, begin.reference, resumed),
                PassEnd::Mismatch(mismatch) => {
                    context.log(format!(
                        "the fast tokenizer differs from the reference: {mismatch}; the run restarts with the reference"
                    ));
                    told = Some(assembler.place());
                    begin.reference = Some(mismatch.to_string());
                    journal = self.restart(&begin)?;
                }
            }
        }
    }

    /// Opens the journal and returns the recorded state of a stopped run.
    fn journal(&self) -> Outcome<(Journal, RunInputs, Option<Record>)> {
        let (context, fs) = (self.context, &*self.context.fs);
        let path = self.layout.run_folder.journal();
        let inputs = self.inputs.fingerprint_of_rows();
        let (journal, begin, record) = Journal::open(fs, &path, &self.hash, &inputs)?;
        if let Some(record) = &record {
            context.log(format!("resuming after {} of text", text::bytes(record.totals.bytes)));
            for problem in &record.problems {
                context.problems.report(problem.clone())?;
            }
            for (severity, kind, count) in &record.more {
                context.problems.count_more(*severity, *kind, *count);
            }
        }
        Ok((journal, begin, record))
    }

    /// Creates a new journal, and removes all spools.
    fn restart(&self, begin: &RunInputs) -> Outcome<Journal> {
        let fs = &*self.context.fs;
        let journal = Journal::create(fs, &self.layout.run_folder.journal(), &self.hash, begin)?;
        fs.remove_dir_all(&self.layout.spools())?;
        fs.create_dir(&self.layout.spools(), 0o700)?;
        Ok(journal)
    }

    fn limits(&self) -> Limits {
        let options = &self.context.options;
        let threads = options.threads.max(1);
        let share = options.memory_bytes / (threads as u64 * 8);
        let block = usize::try_from(share.clamp(MIN_BLOCK_BYTES, BLOCK_BYTES)).unwrap_or(BLOCK_BYTES as usize);
        Limits {
            threads,
            block_bytes: self.tuning.block_bytes.unwrap_or(block),
            memory: usize::try_from(options.memory_bytes.min(threads as u64 * MAX_QUEUED_BYTES)).unwrap_or(usize::MAX),
            words: usize::try_from(share).unwrap_or(usize::MAX),
        }
    }

    fn passes<'b>(&'b self, assembler: &mut Assembler<'b>) -> Outcome<PassEnd> {
        let context = self.context;
        let start = assembler.place();
        let files = self.inputs.files().len() as u64;
        let forecast = self.forecast();
        context.stage(Phase::Scan, "document", forecast, format!("packing {}", text::count(files, "file")));
        context.progress.expect(0, self.inputs.bytes());
        let bytes = self.done_before(start.pass, start.file, start.consumed);
        context.progress.resume_from(assembler.totals().documents, bytes);
        for (number, pass) in self.inputs.passes.iter().enumerate().skip(start.pass) {
            assembler.begin_pass(pass);
            let specs: Vec<EncodingSpec> = pass.specs().filter_map(|spec| self.specs.get(spec)).cloned().collect();
            let index = pass.index.as_deref().map(open_read).transpose()?;
            let limits = self.limits();
            debug_assert_eq!(number, assembler.place().pass);
            let fields = fields_of(self.plan, &specs);
            let place = assembler.place();
            let left = pass.files.get(place.file..).unwrap_or_default();
            let _ahead = read_ahead(left.iter().map(|file| (&*file.path, file.stamp)));
            let feed = PassReader::new(pass, index.as_ref(), &fields, place, limits.block_bytes, &context.cancel);
            let ended = pipeline::run(feed, assembler, &specs, self.plan, &self.tokenizer, limits, &context.cancel);
            match ended {
                Ok(PassEnd::Done) => assembler.end_pass(pass)?,
                Ok(mismatch) => return Ok(mismatch),
                Err(failure) => {
                    // Records the complete blocks, so that the next run does not repeat them.
                    let _ = assembler.rest().and_then(|()| assembler.commit());
                    return Err(failure);
                }
            }
        }
        assembler.rest()?;
        Ok(PassEnd::Done)
    }

    /// Returns the forecast for packing and the later stages.
    fn forecast(&self) -> Forecast {
        Forecast::new(
            self.inputs.bytes() as f64 * cost::BYTE_PACKED,
            self.finishing() + cost::publishing(self.inputs.output_count()),
        )
    }

    /// Returns the expected time of the last stage in seconds, assuming as many bytes of tokens as of text.
    fn finishing(&self) -> f64 {
        cost::reading(self.inputs.output_count(), 0) + cost::copying(self.inputs.bytes())
    }

    /// Returns the number of bytes on disk before a position.
    fn done_before(&self, pass: usize, file: usize, consumed: u64) -> u64 {
        let passes = self.inputs.passes.iter().take(pass).flat_map(|pass| &pass.files);
        let files = self.inputs.passes.get(pass).map_or(&[][..], |pass| pass.files.get(..file).unwrap_or_default());
        passes.chain(files).map(|file| file.bytes).sum::<u64>() + consumed
    }

    fn finish(
        &self,
        lock: &DatasetLock,
        assembler: &Assembler<'_>,
        reference: Option<String>,
        resumed: u64,
    ) -> Outcome<PackReport> {
        let (context, fs) = (self.context, &*self.context.fs);
        let totals = assembler.totals();
        self.refuse_without_documents(totals)?;
        fs.remove_dir_all(&self.layout.finished())?;
        fs.create_dir(&self.layout.finished(), 0o700)?;
        let files = self.inputs.output_count();
        let forecast = Forecast::new(self.finishing(), cost::publishing(files));
        context.stage(Phase::Tables, "file", forecast, "finishing the files");
        context.progress.expect(files, 0);
        let mut made: Vec<Vec<FinishedFile>> = Vec::new();
        let mut side_files = Vec::new();
        let mut report = self.report(totals, reference, resumed, false);
        for (number, (spec, target)) in self.specs.iter().zip(&mut report.targets).enumerate() {
            let finished = assembler.finish(number, &self.layout, self.tokenizer.padding())?;
            (target.documents, target.tokens) = (finished.items, finished.tokens);
            target.dropped_tokens = finished.dropped_tokens;
            made.push(finished.files);
            side_files.extend(finished.side_files);
            let before = totals.targets.get(number).cloned().unwrap_or_default();
            // A format pads documents either while they are packed or in the last stage.
            let padded = if finished.padded.documents > 0 { finished.padded } else { before.padded };
            for problem in finished.problems {
                context.problems.report(problem)?;
            }
            for problem in findings::length_changes(self.plan, spec, before.truncated, padded) {
                context.problems.report(problem)?;
            }
        }
        outputs::complete(&context.outputs, &self.layout, &made);
        if let Some(note) = findings::special_tokens(totals, &self.tokenizer) {
            context.problems.report(note)?;
        }
        if let ([target], true) = (report.targets.as_slice(), has_document_selection(self.plan)) {
            (report.documents, report.tokens) = (target.documents, target.tokens);
        }
        let forecast = Forecast::publishing(made.iter().map(Vec::len).sum::<usize>() as u64);
        context.stage(Phase::Publish, "output file", forecast, "making the result visible");
        context.cancel.check()?;
        context.uploads.send_rest();
        // Lists the existing files of the output at the same time.
        files::fetch_listing_during(&self.layout.output, || self.inputs.check_unchanged(&context.cancel))?;
        context.uploads.stop();
        report.problems = context.problems.to_vec();
        report.counts = context.problems.counts();
        report.elapsed = context.elapsed();
        let outputs = Outputs { finished_files: &made, side_files, plan_hash: &self.hash, lock };
        publish(context, self.plan, &self.layout, &self.inputs, outputs, &mut report)?;
        context.outputs.set_state(OutputState::Published);
        report.elapsed = context.elapsed();
        context.log(format!("packed {}", text::count(report.documents, "document")));
        Ok(report)
    }

    /// Refuses a run in which no document was found because there is no text or the text field is wrong.
    fn refuse_without_documents(&self, totals: &Totals) -> Outcome<()> {
        if totals.documents > 0 {
            return Ok(());
        }
        let skipped: u64 = totals.targets.iter().flat_map(|target| &target.skipped).map(|(_, _, count)| count).sum();
        if skipped == 0 {
            return match no_text(self.plan, &self.inputs, self.context.problems.count_from(Severity::Problem) > 0) {
                Some((subject, why)) => Err(Failure::data("packing", why).on(subject).with_hint(NO_TEXT_HINT)),
                None => Ok(()),
            };
        }
        let has_field = match &self.plan.text {
            TextField::Key(key) => totals.keys.is_empty() || totals.keys.contains(key),
            TextField::Jq(_) => totals.keys.is_empty(),
        };
        if self.plan.compat || has_field && may_be_empty(self.plan) {
            return Ok(());
        }
        let mut reasons: Vec<&(String, bool, u64)> = totals.targets.iter().flat_map(|target| &target.skipped).collect();
        reasons.sort_by_key(|(_, _, count)| std::cmp::Reverse(*count));
        let most = reasons.first().map_or("", |(reason, _, _)| reason);
        let files = self.inputs.line_files();
        let has_rows = !files.is_empty() && files.iter().all(|file| file.source.is_table());
        let unit = if has_rows { "row" } else { "line" };
        // With a raw index, the text is the input of the plan.
        let subject = match files.first() {
            Some(file) => Subject::path(&file.path),
            None => self.plan.inputs.first().map_or_else(Subject::default, Subject::path),
        };
        let failure = Failure::data("packing", format!("no {unit} gave a document ({most})")).on(subject);
        Err(match (totals.keys.is_empty(), &self.plan.text) {
            (true, TextField::Key(_)) => failure.with_hint("another field may hold the text: --text-key NAME"),
            (true, TextField::Jq(_)) => failure.with_hint(JQ_HINT),
            (false, _) => {
                failure.with_hint(format!("wrong field? The {unit}s have the keys: {}", totals.keys.join(", ")))
            }
        })
    }

    /// Returns the report of a run that has nothing to do, and reports the findings of the previous run again.
    fn nothing(&self) -> Outcome<PackReport> {
        let inputs = Recorded::inputs_of(&self.inputs);
        report_earlier::<PackPlan>(
            &self.layout.run_folder,
            inputs.iter().map(|input| input.path.as_path()),
            self.context,
        )?;
        let now = self.report(&Totals::default(), None, 0, true);
        let Some(before) = report_before::<PackReport>(&self.layout.run_folder, PackPlan::MAX_RECORD_BYTES)? else {
            return Ok(now);
        };
        let PackReport { files, problems, counts, elapsed, .. } = now;
        Ok(PackReport { files, nothing_to_do: true, resumed_bytes: 0, problems, counts, elapsed, ..before })
    }

    fn report(&self, totals: &Totals, reference: Option<String>, resumed: u64, nothing: bool) -> PackReport {
        let (context, plan) = (self.context, self.plan);
        let target = |(number, spec): (usize, &EncodingSpec)| {
            let place = self.inputs.outputs.get(number).map(|output| output.path()).unwrap_or_default();
            let skipped = totals.targets.get(number).map_or(&[][..], |target| &target.skipped);
            let of = |(reason, is_by_design, documents): &(String, bool, u64)| Skipped {
                reason: reason.clone(),
                is_by_design: *is_by_design,
                documents: *documents,
            };
            TargetReport {
                format: spec.format.to_owned(),
                path: place.to_string_lossy().into_owned(),
                outputs: Vec::new(),
                documents: 0,
                tokens: 0,
                dropped_tokens: 0,
                token_bytes: u8::try_from(spec.token.bytes()).unwrap_or(u8::MAX),
                vocab_size: formats::named(spec.format).and_then(|format| format.vocab_size(&self.tokenizer)),
                skipped: skipped.iter().map(of).collect(),
            }
        };
        debug_assert_eq!(self.specs.len(), formats::chosen(plan).len());
        PackReport {
            files: self.inputs.files().len() as u64,
            // Text that two formats read is counted for both of them.
            documents: totals.targets.iter().map(|target| target.documents).max().unwrap_or(0),
            tokens: totals.targets.iter().map(|target| target.tokens).max().unwrap_or(0),
            bytes: totals.bytes,
            targets: self.specs.iter().enumerate().map(target).collect(),
            nothing_to_do: nothing,
            resumed_bytes: resumed,
            switched_to_reference: reference,
            problems: context.problems.to_vec(),
            counts: context.problems.counts(),
            elapsed: context.elapsed(),
        }
    }
}

/// Hint for a run whose jq program gives no text.
pub(crate) const JQ_HINT: &str = "the jq program selects the text: --jq, or jq_pattern";
