//! What a plan would do, without doing it: from as much of the text as can be looked at in seconds.

use super::inputs::{self, Inputs};
use super::layout::{settled, Layout};
use super::record::{decide, Decision};
use super::run::{journal_key, scratch_needed};
use super::sample::{Sample, Sampled};
use super::split::{anchors, Division, Memory};
use super::{DedupEstimate, LengthEstimate, RepeatedPassage};
use crate::engine::dedup::find::Rule;
use crate::engine::plan::dedup::plan_hash;
use crate::job::journal::Journal;
use crate::model::dedup::USUAL_MIN_LENGTH;
use crate::model::{text, Cancel, DedupPlan, ExitClass, Outcome, Problem, ProblemKind, RunOptions, Subject};
use crate::storage::space;
use std::time::Duration;

/// Of what a run does, reading once takes this part: the text is read again to be written.
const READINGS: f64 = 2.5;
/// Passages that are told.
const PASSAGES: usize = 20;

/// Space that a run needs.
#[derive(Clone, Debug)]
pub struct Needs {
    /// Scratch space, in bytes, about; 0 where all fits into memory.
    pub scratch_bytes: u64,
    /// Where it would be.
    pub scratch: std::path::PathBuf,
    /// What is free there, in bytes.
    pub scratch_free_bytes: u64,
}

/// What a run of `plan` needs, told from names and sizes alone.
pub fn needs(plan: &DedupPlan, options: &RunOptions, cancel: &Cancel) -> Outcome<Needs> {
    let layout = Layout::of(plan, options)?;
    let inputs = inputs::find(plan, cancel)?;
    needs_of(plan, options, &layout, &inputs, inputs.text_bytes())
}

fn needs_of(
    plan: &DedupPlan,
    options: &RunOptions,
    layout: &Layout,
    inputs: &Inputs,
    text_bytes: u64,
) -> Outcome<Needs> {
    let rule = Rule::of(plan, plan.min_length.unwrap_or(USUAL_MIN_LENGTH));
    let memory = Memory::of(options.memory_bytes, options.threads.max(1));
    let division = Division::of(&rule, inputs.bytes(), text_bytes, &memory);
    Ok(Needs {
        scratch_bytes: scratch_needed(&rule, text_bytes, &memory, &division),
        scratch: layout.scratch.clone(),
        scratch_free_bytes: space::free_bytes(&layout.scratch)?,
    })
}

/// What `plan` would do, and how much would be removed at each of `lengths`. Reads some of the text, or all of it where that takes
/// seconds; writes nothing.
///
/// A plan that must not run as it is gives an estimate with a refusal among its problems; fails where not even that can be told.
pub fn estimate(plan: &DedupPlan, lengths: &[u64], options: &RunOptions, cancel: &Cancel) -> Outcome<DedupEstimate> {
    let somewhere = std::env::temp_dir().join("gristmill-dedup").to_string_lossy().into_owned();
    let has_output = !plan.output.is_empty();
    let plan = &DedupPlan { output: if has_output { plan.output.clone() } else { somewhere }, ..settled(plan)? };
    let layout = Layout::of(plan, options)?;
    let inputs = inputs::find(plan, cancel)?;
    let mut problems = inputs.problems.clone();
    let hash = plan_hash(plan);
    let nothing_to_do = match has_output.then(|| decide(plan, &hash, &layout, &inputs)) {
        None => false,
        Some(Ok(decision)) => decision == Decision::Nothing,
        Some(Err(failure)) if failure.class == ExitClass::Data => {
            let mut problem = Problem::refusal(ProblemKind::AlreadyPrepared, failure.subject, failure.why);
            problem.hint = failure.hint;
            problems.push(problem);
            false
        }
        Some(Err(failure)) => return Err(failure),
    };
    let chosen = plan.min_length.unwrap_or(USUAL_MIN_LENGTH);
    let least = lengths.iter().copied().chain([chosen]).min().unwrap_or(chosen);
    let sample = Sample::take(plan, &inputs, Rule::of(plan, least), options, cancel)?;
    problems.extend(sample.problems.iter().cloned());
    // More than was looked at is like what was.
    let scale = inputs.bytes() as f64 / sample.input_bytes.max(1) as f64;
    let scaled = |part: u64| (part as f64 * scale) as u64;
    let own_text = scaled(sample.own_text_bytes());
    let (mut found, mut passages, mut cost) = (Vec::new(), Vec::new(), Duration::ZERO);
    for &min_length in lengths {
        let Sampled { removed, heaviest, time } = sample.find(&Rule::of(plan, min_length), PASSAGES, cancel)?;
        let share = removed as f64 / sample.own_text_bytes().max(1) as f64;
        found.push(LengthEstimate { min_length, share, removed_bytes: (share * own_text as f64) as u64 });
        if min_length == chosen || passages.is_empty() {
            (passages, cost) = (heaviest, time);
        }
    }
    let needs = needs_of(plan, options, &layout, &inputs, scaled(sample.text.len() as u64))?;
    let rule = Rule::of(plan, chosen);
    let all_text = scaled(sample.text.len() as u64);
    let text_and_records = all_text.saturating_add(anchors(&rule, all_text).saturating_mul(16));
    let own_bytes: u64 = inputs.own().iter().map(|file| file.bytes).sum();
    let free_bytes = space::free_bytes(&layout.output)?;
    for (needed, free, place) in
        [(needs.scratch_bytes, needs.scratch_free_bytes, &needs.scratch), (own_bytes, free_bytes, &layout.output)]
    {
        if free < needed && !nothing_to_do {
            let why = format!("about {} are needed there, and {} are free", text::bytes(needed), text::bytes(free));
            problems.push(Problem::problem(ProblemKind::Other, Subject::path(place), why));
        }
    }
    let threads = Memory::of(options.memory_bytes, options.threads.max(1)).threads as f64;
    let seconds = (sample.time.as_secs_f64() * READINGS + cost.as_secs_f64() / threads) * scale;
    Ok(DedupEstimate {
        files: inputs.own().len() as u64,
        input_bytes: own_bytes,
        text_bytes: own_text,
        documents: scaled(sample.own_documents()),
        sampled_bytes: sample.own_input_bytes,
        one_in: 1,
        lengths: found,
        passages: passages.iter().map(|passage| shown(&sample, &inputs, passage)).collect(),
        estimated: Duration::from_secs_f64(seconds.clamp(0.0, 1e9)),
        memory_bytes: Memory::of(options.memory_bytes, options.threads.max(1)).most(text_and_records),
        scratch_bytes: needs.scratch_bytes,
        scratch: needs.scratch,
        scratch_free_bytes: needs.scratch_free_bytes,
        output_bytes: own_bytes,
        free_bytes,
        nothing_to_do,
        resumable_units: Journal::peek(&layout.own.journal(), &journal_key(&hash, &inputs))?.saturating_sub(1) as u64,
        problems,
    })
}

/// A passage of the sample with its place.
fn shown(sample: &Sample, inputs: &Inputs, passage: &crate::engine::dedup::find::Passage) -> RepeatedPassage {
    let place = sample.place_of(passage.at);
    RepeatedPassage {
        file: inputs.files.get(place.file).map(|file| file.name.clone()).unwrap_or_default(),
        line: place.line + 1,
        offset: passage.at.saturating_sub(place.start + 1),
        length: passage.len,
        count: passage.count,
        text: sample.shown(passage),
    }
}
