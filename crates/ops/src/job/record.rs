//! The record of a finished plan: what the next run on the same output makes of it. The same plan on the same files has nothing to
//! do; another plan, or other files, are refused and told; a run that was stopped is not thrown away for another plan.

use super::task::TaskContext;
use crate::engine::plan::file::{read, PlanFile};
use gristmill_core::text::display_safe;
use gristmill_core::{
    Failure, FileStamp, Outcome, Problem, ProblemKind, ProblemLog, ProblemSink as _, Severity, Subject,
};
use gristmill_storage::read::read_whole;
use gristmill_storage::run_folder::RunFolder;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// A plan whose runs are recorded.
pub(super) trait RecordedPlan: Clone + Serialize + DeserializeOwned {
    /// What a run of it does, as a failure says it: `packing`.
    const DOING: &'static str;
    /// The largest report or plan that is read back, in bytes.
    const LARGEST: u64;

    /// The answers in which two plans differ, each in a few words.
    fn differences(earlier: &Self, now: &Self) -> Vec<String>;
    /// The plan of a plan file, if it is one of this kind.
    fn of_file(file: PlanFile) -> Option<Self>;
}

/// The part of `report.json` that later runs read.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Recorded<P> {
    /// Fingerprint of the plan and of what it depends on.
    pub(super) plan_hash: String,
    pub(super) plan: P,
    pub(super) inputs: Vec<RecordedInput>,
    pub(super) outputs: Vec<RecordedOutput>,
}

/// A file that was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RecordedInput {
    pub(super) path: PathBuf,
    pub(super) stamp: FileStamp,
}

/// A file that was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RecordedOutput {
    pub(super) path: PathBuf,
    pub(super) bytes: u64,
}

/// The report in `report.json`.
#[derive(Deserialize)]
struct SavedReport<R> {
    result: R,
}

/// What a finished run found that is more than a note.
#[derive(Default, Deserialize)]
pub(super) struct Findings {
    /// The first ones, as far as they were kept.
    #[serde(default)]
    pub(super) problems: Vec<Problem>,
    /// All of them.
    #[serde(default)]
    counts: Vec<(Severity, ProblemKind, u64)>,
}

impl Findings {
    /// Keeps those that still hold. Where one does not, nothing is known of those that were only counted.
    pub(super) fn retain(&mut self, holds: impl Fn(&Problem) -> bool) {
        let before = self.problems.len();
        self.problems.retain(holds);
        if self.problems.len() < before {
            self.counts.clear();
        }
    }

    /// Reports them to `log`, unless it has them already.
    pub(super) fn report_to(self, log: &ProblemLog) -> Outcome<()> {
        let reported = log.kept();
        for (severity, kind, count) in self.counts {
            let kept = self.problems.iter().filter(|problem| (problem.severity, problem.kind) == (severity, kind));
            log.count_more(severity, kind, count.saturating_sub(kept.count() as u64));
        }
        let mut missing = self.problems.into_iter().filter(|problem| !reported.contains(problem));
        missing.try_for_each(|problem| log.report(problem))
    }
}

/// Tells once more what the finished run found that did not do everything: whoever runs it again, and has nothing to do, must not take
/// its result for more than it is. Of files that were left out, and are gone, there is nothing left to tell: all others are among
/// `inputs`, under the path of this run.
pub(super) fn tell_again<'a, P: RecordedPlan>(
    own: &RunFolder,
    inputs: impl Iterator<Item = &'a Path>,
    context: &TaskContext,
) -> Outcome<()> {
    let mut found = findings_before(own, P::LARGEST)?;
    let inputs: Vec<&Path> = inputs.collect();
    let is_there = |problem: &Problem| {
        let Some(path) = problem.subject.path.as_deref().map(Path::new) else { return true };
        inputs.iter().any(|input| input.ends_with(path)) || path.symlink_metadata().is_ok()
    };
    found.retain(is_there);
    found.report_to(&context.problems)
}

/// What the finished run found that is more than a note, and the notes of what it excluded; of a report larger than so many bytes
/// nothing.
pub(super) fn findings_before(own: &RunFolder, largest: u64) -> Outcome<Findings> {
    let mut found: Findings = report_before(own, largest)?.unwrap_or_default();
    let is_kept =
        |severity: Severity, kind: ProblemKind| severity >= Severity::Problem || kind == ProblemKind::AppleDouble;
    found.problems.retain(|problem| is_kept(problem.severity, problem.kind));
    found.counts.retain(|(severity, kind, _)| is_kept(*severity, *kind));
    Ok(found)
}

/// The report of the finished run, if there is one that can be understood and is not larger than `largest`, in bytes.
pub(super) fn report_before<R: DeserializeOwned>(own: &RunFolder, largest: u64) -> Outcome<Option<R>> {
    let bytes = read_whole(&own.report(), largest)?;
    Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).map(|saved: SavedReport<R>| saved.result))
}

/// What there is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// All of it.
    Run,
    /// The same has been done.
    Nothing,
}

impl<P: RecordedPlan> Recorded<P> {
    /// Of the last finished run, if there is one that can be understood.
    pub(super) fn read(own: &RunFolder) -> Outcome<Option<Self>> {
        let bytes = read_whole(&own.report(), P::LARGEST)?;
        Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }

    /// Of the last finished run of which a file is still there.
    pub(super) fn of_what_is_there(own: &RunFolder) -> Outcome<Option<Self>> {
        let is_there = |known: &Self| known.outputs.iter().any(|output| output.path.symlink_metadata().is_ok());
        Ok(Self::read(own)?.filter(is_there))
    }

    /// Whether all of its files are there, as long as they were.
    pub(super) fn is_whole(&self) -> bool {
        self.outputs.iter().all(|output| std::fs::metadata(&output.path).is_ok_and(|facts| facts.len() == output.bytes))
    }

    /// Whether it wrote a file.
    pub(super) fn has(&self, path: &Path) -> bool {
        self.outputs.iter().any(|output| output.path == path)
    }

    /// In what another plan differs from the one that was run, as a sentence.
    pub(super) fn other_plan(&self, now: &P) -> Option<String> {
        let differ = P::differences(&self.plan, now);
        (!differ.is_empty()).then(|| format!("it was made by another plan: {}", differ.join("; ")))
    }

    /// How the files that were read differ from those that would be read now, as a sentence.
    pub(super) fn other_input(&self, now: &[RecordedInput]) -> Option<String> {
        let differ = (self.inputs != now).then(|| changed_input(&self.inputs, now));
        differ.map(|changed| format!("the input changed since it was made: {changed}"))
    }
}

/// Refuses to go over what is there.
pub(super) fn refuse<P: RecordedPlan>(place: &Path, why: String, hint: &str) -> Failure {
    let problem = Problem::refusal(ProblemKind::AlreadyPrepared, Subject::path(place), why);
    let mut failure = problem.with_hint(hint).into_failure();
    P::DOING.clone_into(&mut failure.what);
    failure
}

fn changed_input(old: &[RecordedInput], new: &[RecordedInput]) -> String {
    let is_in = |list: &[RecordedInput], input: &RecordedInput| list.iter().any(|known| known.path == input.path);
    let name = |input: &RecordedInput| display_safe(&input.path.to_string_lossy()).into_owned();
    if let Some(input) = new.iter().zip(old).find(|(new, old)| new.path == old.path && new != old) {
        return format!("{} is not what it was", name(input.0));
    }
    if let Some(input) = new.iter().find(|input| !is_in(old, input)) {
        return format!("{} is new", name(input));
    }
    if let Some(input) = old.iter().find(|input| !is_in(new, input)) {
        return format!("{} is gone", name(input));
    }
    match new.iter().find(|input| !old.contains(input)) {
        Some(input) => format!("{} is not what it was", name(input)),
        None => "its files come in another order".into(),
    }
}

/// A run of another plan that was stopped at an output and can go on. Its subject is what its own folder lies beside.
pub(super) fn stopped_run<P: RecordedPlan>(plan: &P, own: &RunFolder) -> Outcome<Option<Problem>> {
    let has_journal = own.journal().exists();
    let Some(bytes) = read_whole(&own.running_plan(), P::LARGEST)?.filter(|_| has_journal) else { return Ok(None) };
    let Some(old) = read(&String::from_utf8_lossy(&bytes)).ok().and_then(P::of_file) else { return Ok(None) };
    let differ = P::differences(&old, plan);
    if differ.is_empty() {
        return Ok(None);
    }
    let why = format!("a run of another plan was stopped here and can go on: {}", differ.join("; "));
    let output = RunFolder::output_beside(own.path()).unwrap_or_default();
    let problem = Problem::refusal(ProblemKind::StoppedRun, Subject::path(output), why);
    Ok(Some(problem.with_hint("run it again as it was to finish it; --restart throws its work away")))
}

/// Refuses to throw away what a stopped run of another plan has done.
pub(super) fn check_running<P: RecordedPlan>(plan: &P, own: &RunFolder) -> Outcome<()> {
    let Some(problem) = stopped_run(plan, own)? else { return Ok(()) };
    let mut failure = problem.into_failure();
    P::DOING.clone_into(&mut failure.what);
    Err(failure)
}
