//! Estimates the result of a plan without running it: from a share of all distinct windows, in as much of the text as can be read in
//! seconds.

use super::inputs::{self, Inputs};
use super::job::journal_key;
use super::layout::{with_absolute_paths, Layout};
use super::likely::make_monotonic;
use super::no_text::wrong_field;
use super::record::{decide_run, Decision};
use super::sample::{Sample, SampleBudget};
use super::split::{anchors, scratch_needed, Division, Memory};
use super::tables;
use super::{DedupEstimate, DedupReport, LengthEstimate};
use crate::engine::plan::dedup::plan_hash;
use crate::job::journal::Journal;
use crate::job::layouts;
use crate::job::record::{report_before, stopped_run, RecordedPlan as _};
use crate::job::task::TaskContext;
use gristmill_core::dedup::{PROPOSED_MIN_LENGTH, SHOWN_LENGTHS};
use gristmill_core::{
    text, Cancel, DedupPlan, ExitClass, Failure, Outcome, Problem, ProblemKind, RunOptions, Severity, Subject,
};
use gristmill_data::source::documents::{DocumentFields, HubSnapshot, Packing, TextFile};
use gristmill_dedup::{Estimate, Rule};
use gristmill_storage::space;
use std::time::Duration;

/// Number of times that a run reads each input file.
const READS_PER_FILE: f64 = 2.0;
/// Cost of storing and writing a byte and choosing anchors for it, as a multiple of the cost of choosing anchors alone.
const COST_PER_BYTE: f64 = 3.1;
/// Cost of collecting and resolving a record, as a multiple of the cost of choosing anchors for a byte.
const COST_PER_RECORD: f64 = 170.0;
/// Assumed minimum write speed of the disk, in bytes per second.
const DISK_BYTES_PER_SECOND: f64 = 1e9;
/// Limit of reported passages.
const MAX_PASSAGES: usize = 20;

/// Space that a run needs.
#[derive(Clone, Debug)]
pub struct Needs {
    /// Approximate scratch space in bytes; 0 if everything fits into memory.
    pub scratch_bytes: u64,
    /// Scratch folder.
    pub scratch: std::path::PathBuf,
    /// Free space in the scratch folder, in bytes.
    pub scratch_free_bytes: u64,
}

/// Returns the space that a run of `plan` needs, from names and sizes only.
pub fn needs(plan: &DedupPlan, options: &RunOptions, cancel: &Cancel) -> Outcome<Needs> {
    let layout = Layout::of(plan, options)?;
    let inputs = inputs::find(plan, None, options, cancel)?;
    needs_of(plan, options, &layout, &inputs, inputs.text_bytes())
}

fn needs_of(
    plan: &DedupPlan,
    options: &RunOptions,
    layout: &Layout,
    inputs: &Inputs,
    text_bytes: u64,
) -> Outcome<Needs> {
    let rule = Rule::of(plan, plan.min_length.unwrap_or(PROPOSED_MIN_LENGTH));
    let memory = inputs.memory(&rule, options);
    let division = Division::of(&rule, inputs.bytes(), text_bytes, &memory);
    Ok(Needs {
        scratch_bytes: scratch_needed(&rule, inputs.bytes(), text_bytes, &memory, &division),
        scratch: layout.scratch.clone(),
        scratch_free_bytes: space::free_bytes(&layout.scratch)?,
    })
}

/// Estimates the result of `plan` at its minimum length, or at the usual one.
///
/// # Errors
/// See [`estimates`].
pub fn estimate(
    plan: &DedupPlan,
    options: &RunOptions,
    effort: SampleBudget,
    cancel: &Cancel,
) -> Outcome<DedupEstimate> {
    estimate_of(plan, None, options, effort, cancel)
}

fn estimate_of(
    plan: &DedupPlan,
    snapshot: Option<&HubSnapshot>,
    options: &RunOptions,
    effort: SampleBudget,
    cancel: &Cancel,
) -> Outcome<DedupEstimate> {
    let length = plan.min_length.unwrap_or(PROPOSED_MIN_LENGTH);
    let checked = CheckedPlan::new(plan, snapshot, &[length], options, cancel)?;
    let found = estimates_of(checked, &[length], options, effort, cancel)?.pop();
    found.ok_or_else(|| Failure::environment("estimating", "nothing was estimated"))
}

/// Like [`estimate`], also for a data set of the Hugging Face hub, read at one commit.
pub(crate) fn preview(plan: &DedupPlan, context: &TaskContext) -> Outcome<DedupEstimate> {
    let snapshot = inputs::fetch_remote(plan, true, context)?;
    let effort = SampleBudget::default();
    let mut found = estimate_of(plan, snapshot.as_ref(), &context.options, effort, &context.cancel)?;
    found.problems.iter_mut().for_each(|problem| context.problems.rename(&mut problem.subject));
    found.problems.extend(context.problems.to_vec());
    Ok(found)
}

/// Estimates the result of `plan` at each of `lengths`, in their order. The text is read once for all lengths: as much of it as `effort`
/// allows, evenly spread. Writes nothing.
///
/// For a plan that must not run, the estimates contain a refusal among their problems. Fails if no estimate is possible.
pub fn estimates(
    plan: &DedupPlan,
    lengths: &[u64],
    options: &RunOptions,
    effort: SampleBudget,
    cancel: &Cancel,
) -> Outcome<Vec<DedupEstimate>> {
    let checked = CheckedPlan::new(plan, None, lengths, options, cancel)?;
    estimates_of(checked, lengths, options, effort, cancel)
}

fn estimates_of(
    checked: CheckedPlan,
    lengths: &[u64],
    options: &RunOptions,
    effort: SampleBudget,
    cancel: &Cancel,
) -> Outcome<Vec<DedupEstimate>> {
    let min_length = checked.plan.min_length;
    let rules_of = |lengths: &[u64]| lengths.iter().map(|length| Rule::of(&checked.plan, *length)).collect::<Vec<_>>();
    let is_searched = effort.search_budget(&checked.inputs, &rules_of(lengths), options.memory_bytes).is_some();
    // Lengths that are not requested are estimated too, because a longer length must never have a higher estimate than a shorter one.
    let others = SHOWN_LENGTHS.into_iter().filter(|other| !is_searched && !lengths.contains(other));
    let all_lengths: Vec<u64> = lengths.iter().copied().chain(others).collect();
    let mut sample =
        Sample::read_sample(&checked.plan, &checked.inputs, rules_of(&all_lengths), options, effort, cancel)?;
    let estimator = Estimator::new(checked, &all_lengths, options, &sample, cancel)?;
    let found = sample.estimates(MAX_PASSAGES, estimator.memory.threads, cancel)?;
    let mut all = Vec::new();
    for (index, (&min_length, found)) in all_lengths.iter().zip(found).enumerate() {
        all.push(estimator.at_length(min_length, sample.one_in[index], &found, &sample, cancel)?);
    }
    make_estimates_consistent(&mut all, estimator.own_text_bytes);
    if estimator.checked.nothing_to_do {
        estimator.use_figures_of_run(&mut all, min_length)?;
    }
    all.truncate(lengths.len());
    Ok(all)
}

/// A plan whose inputs were found and checked, before any text is read.
struct CheckedPlan {
    plan: DedupPlan,
    /// Whether the plan names an output; otherwise, a folder for temporary files is assumed.
    has_output: bool,
    layout: Layout,
    inputs: Inputs,
    /// Hash of the settings that determine the output.
    hash: String,
    nothing_to_do: bool,
    /// Whether the inputs contain a line for which a run would be refused.
    is_refused: bool,
    problems: Vec<Problem>,
}

impl CheckedPlan {
    fn new(
        plan: &DedupPlan,
        snapshot: Option<&HubSnapshot>,
        lengths: &[u64],
        options: &RunOptions,
        cancel: &Cancel,
    ) -> Outcome<Self> {
        let assumed = std::env::temp_dir().join("gristmill-dedup").to_string_lossy().into_owned();
        let has_output = !plan.output.is_empty();
        let plan =
            DedupPlan { output: if has_output { plan.output.clone() } else { assumed }, ..with_absolute_paths(plan)? };
        let layout = Layout::of(&plan, options)?;
        let inputs = inputs::find(&plan, snapshot, options, cancel)?;
        inputs.refuse_overlap(&plan, &layout)?;
        for length in lengths {
            inputs.check_memory(&Rule::of(&plan, *length), options.memory_bytes)?;
        }
        let (hash, mut problems) = (plan_hash(&plan), inputs.problems.clone());
        let nothing_to_do = match has_output.then(|| decide_run(&plan, &hash, &layout, &inputs)) {
            None => false,
            Some(Ok(decision)) => decision == Decision::Nothing,
            Some(Err(failure)) if failure.class == ExitClass::Data => {
                let problem = Problem::of_failure(ProblemKind::AlreadyPrepared, failure);
                problems.push(Problem { severity: Severity::Refusal, ..problem });
                false
            }
            Some(Err(failure)) => return Err(failure),
        };
        problems.extend(tables::check(&plan, &inputs, options.threads, cancel)?);
        let lines = layouts::preview(
            &inputs.files_of_lines(),
            &DocumentFields::default(),
            ("deduplicating", options.threads),
            cancel,
        )?;
        let refused = lines.into_iter().filter(|problem| problem.severity == Severity::Refusal);
        let count = problems.len();
        problems.extend(refused);
        let is_refused = problems.len() > count;
        Ok(Self { plan, has_output, layout, inputs, hash, nothing_to_do, is_refused, problems })
    }

    /// Returns the size on disk of the files whose output is written, in bytes.
    fn own_bytes(&self) -> u64 {
        self.inputs.written_files().iter().map(|file| file.bytes).sum()
    }
}

/// Values shared by the estimates of all lengths.
struct Estimator<'a> {
    checked: CheckedPlan,
    options: &'a RunOptions,
    memory: Memory,
    /// Bytes of text in all files, and in those whose output is written, estimated from the sample.
    text_bytes: u64,
    own_text_bytes: u64,
    documents: u64,
    free_bytes: u64,
    /// Seconds for reading all input once, and for choosing all anchors once.
    reading: f64,
    choosing: f64,
    /// Units that a stopped run has finished.
    resumable_units: u64,
}

impl<'a> Estimator<'a> {
    fn new(
        mut checked: CheckedPlan,
        lengths: &[u64],
        options: &'a RunOptions,
        sample: &Sample,
        cancel: &Cancel,
    ) -> Outcome<Self> {
        let (plan, inputs, layout) = (&checked.plan, &checked.inputs, &checked.layout);
        if !checked.is_refused {
            checked.problems.extend(sample.problems.iter().cloned());
            if sample.own_documents == 0 && sample.own_input_bytes > 0 {
                checked.problems.extend(wrong_field(plan, inputs, cancel)?);
            }
        }
        // The unread text is assumed to be like the text that was read.
        let scale = inputs.bytes() as f64 / sample.input_bytes.max(1) as f64;
        let scaled = |part: u64| (part as f64 * scale) as u64;
        let least = lengths.iter().copied().min().unwrap_or(PROPOSED_MIN_LENGTH);
        let memory = inputs.memory(&Rule::of(plan, least), options);
        let each = scale / memory.threads as f64;
        let journal = Journal::count_finished(&layout.run_folder.journal(), &journal_key(&checked.hash, inputs))?;
        Ok(Self {
            options,
            memory,
            text_bytes: scaled(sample.text_bytes),
            own_text_bytes: scaled(sample.own_text_bytes),
            documents: scaled(sample.own_documents),
            free_bytes: space::free_bytes(&layout.output)?,
            reading: sample.reading * each,
            choosing: sample.choosing * each,
            resumable_units: journal.saturating_sub(1) as u64,
            checked,
        })
    }

    fn at_length(
        &self,
        min_length: u64,
        one_in: u64,
        found: &Estimate,
        sample: &Sample,
        cancel: &Cancel,
    ) -> Outcome<DedupEstimate> {
        let CheckedPlan { layout, inputs, .. } = &self.checked;
        let plan = &DedupPlan { min_length: Some(min_length), ..self.checked.plan.clone() };
        let own_bytes = self.checked.own_bytes();
        let needs = needs_of(plan, self.options, layout, inputs, self.text_bytes)?;
        let records = anchors(&Rule::of(plan, min_length), self.text_bytes);
        let share = |bytes: u64| bytes as f64 / sample.own_text_bytes.max(1) as f64;
        let of_all = |share: f64| (share.min(1.0) * self.own_text_bytes as f64).round() as u64;
        let share_removed = share(found.removable);
        let length = LengthEstimate {
            min_length,
            share: share_removed,
            removed_bytes: of_all(share_removed),
            margin_bytes: of_all(share(found.margin)),
            least_share: share(found.least).min(1.0),
            most_share: found.most.map(|most| share(most).min(1.0)),
            is_exact: sample.is_exact(own_bytes),
        };
        Ok(DedupEstimate {
            files: inputs.written_files().len() as u64,
            input_bytes: own_bytes,
            text_bytes: self.own_text_bytes,
            documents: self.documents,
            sampled_bytes: sample.own_input_bytes,
            one_in,
            lengths: vec![length],
            passages: sample.shown(plan, inputs, &found.passages, cancel)?,
            estimated: Duration::from_secs_f64(self.seconds(records).clamp(0.0, 1e9)),
            memory_bytes: self.memory.most(self.text_bytes.saturating_add(records.saturating_mul(16))),
            problems: self.problems(plan, &needs)?,
            scratch_bytes: needs.scratch_bytes,
            scratch: needs.scratch,
            scratch_free_bytes: needs.scratch_free_bytes,
            output_bytes: own_bytes,
            free_bytes: self.free_bytes,
            nothing_to_do: self.checked.nothing_to_do,
            resumable_units: self.resumable_units,
        })
    }

    /// Returns the estimated duration, in seconds, of a run that collects this many records.
    fn seconds(&self, records: u64) -> f64 {
        let for_records = COST_PER_RECORD * records as f64 / self.text_bytes.max(1) as f64;
        self.reading * READS_PER_FILE
            + self.choosing * (COST_PER_BYTE + for_records + packing_of(&self.checked.inputs))
            + self.checked.own_bytes() as f64 / DISK_BYTES_PER_SECOND
    }

    fn problems(&self, plan: &DedupPlan, needs: &Needs) -> Outcome<Vec<Problem>> {
        let CheckedPlan { layout, nothing_to_do, .. } = &self.checked;
        let mut problems = self.checked.problems.clone();
        if self.checked.has_output && !self.options.restart && !nothing_to_do {
            problems.extend(stopped_run(plan, &layout.run_folder)?);
        }
        let scratch = (needs.scratch_bytes, needs.scratch_free_bytes, &needs.scratch);
        for (needed, free, place) in [scratch, (self.checked.own_bytes(), self.free_bytes, &layout.output)] {
            if free < needed && !nothing_to_do {
                let why = format!("about {} are needed there, and {} are free", text::bytes(needed), text::bytes(free));
                problems.push(Problem::problem(ProblemKind::Other, Subject::path(place), why));
            }
        }
        Ok(problems)
    }

    /// Replaces the estimate of the length that was already run with the figures of its report.
    fn use_figures_of_run(&self, all: &mut [DedupEstimate], min_length: Option<u64>) -> Outcome<()> {
        let made = report_before::<DedupReport>(&self.checked.layout.run_folder, DedupPlan::MAX_RECORD_BYTES)?;
        let of_plan = all.iter_mut().filter(|one| one.lengths.iter().any(|l| Some(l.min_length) == min_length));
        of_plan.zip(&made).for_each(|(one, made)| one.take_figures(made));
        Ok(())
    }
}

/// Makes the shares of all lengths consistent, and sets their bounds.
fn make_estimates_consistent(all: &mut [DedupEstimate], own_text_bytes: u64) {
    let mut lengths: Vec<LengthEstimate> = all.iter().flat_map(|one| one.lengths.iter().copied()).collect();
    make_monotonic(&mut lengths, |length| length.margin_bytes as f64 / own_text_bytes.max(1) as f64);
    for (one, mut length) in all.iter_mut().zip(lengths) {
        if !length.is_exact {
            length.removed_bytes = (length.share * one.text_bytes as f64).round() as u64;
        }
        one.lengths = vec![length];
    }
}

/// Returns the cost of compressing the output, per byte of text, as a multiple of the cost of hashing a byte.
fn packing_of(inputs: &Inputs) -> f64 {
    let cost = |packing: Packing| match packing {
        Packing::Plain => 0.0,
        Packing::Zstd => 4.0,
        Packing::Gzip | Packing::Zip => 15.0,
        Packing::Bzip2 => 60.0,
        Packing::Xz | Packing::Lzma => 90.0,
    };
    // Most tables are compressed with Zstandard or a faster method.
    let packing = |file: &TextFile| if file.source.is_table() { Packing::Zstd } else { Packing::of_name(&file.name) };
    let sum: f64 = inputs.written_files().iter().map(|file| cost(packing(file)) * file.bytes as f64).sum();
    sum / (inputs.written_files().iter().map(|file| file.bytes).sum::<u64>().max(1)) as f64
}
