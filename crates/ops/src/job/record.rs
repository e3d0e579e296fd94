//! The record of a finished plan, and how the next run with the same output uses it. The same plan on the same files has nothing to do.
//! Another plan or other files are refused, with the differences. A stopped run of another plan is refused as well, so that its work is not
//! discarded.

use super::task::TaskContext;
use crate::engine::plan::file::{command_of, read_plan_of};
use gristmill_core::text::display_safe;
use gristmill_core::{
    Failure, FileStamp, Outcome, Problem, ProblemKind, ProblemLog, ProblemSink as _, Severity, Subject,
};
use gristmill_storage::files;
use gristmill_storage::read::read_whole;
use gristmill_storage::remote::is_hub_url;
use gristmill_storage::run_folder::RunFolder;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// A plan whose runs are recorded.
pub(crate) trait RecordedPlan: Clone + Serialize + DeserializeOwned {
    /// Name of the operation in failures: `packing`.
    const ACTIVITY: &'static str;
    /// Name of the command in plan files.
    const COMMAND: &'static str;
    /// Limit of the size of a report or plan, in bytes.
    const MAX_RECORD_BYTES: u64;

    /// Returns the settings in which two plans differ, each in a few words.
    fn differences(earlier: &Self, now: &Self) -> Vec<String>;
}

/// The part of `report.json` that later runs read.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Recorded<P> {
    /// Hash of the plan and of everything that determines the result.
    pub(crate) plan_hash: String,
    pub(crate) plan: P,
    pub(crate) inputs: Vec<RecordedInput>,
    pub(crate) outputs: Vec<RecordedOutput>,
}

/// A file that was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RecordedInput {
    pub(crate) path: PathBuf,
    pub(crate) stamp: FileStamp,
}

/// A file that was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RecordedOutput {
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
}

/// The report stored in `report.json`.
#[derive(Deserialize)]
struct SavedReport<R> {
    result: R,
}

/// Findings of a finished run that are more severe than notes.
#[derive(Default, Deserialize)]
pub(crate) struct Findings {
    /// The first of these findings, as far as they were recorded.
    #[serde(default)]
    pub(crate) problems: Vec<Problem>,
    /// Counts of all of these findings.
    #[serde(default)]
    counts: Vec<(Severity, ProblemKind, u64)>,
}

impl Findings {
    /// Keeps the problems for which `holds` returns true. If one is removed, the counts of unlisted problems are dropped as unknown.
    pub(crate) fn retain(&mut self, holds: impl Fn(&Problem) -> bool) {
        let before = self.problems.len();
        self.problems.retain(holds);
        if self.problems.len() < before {
            self.counts.clear();
        }
    }

    /// Reports the findings to `log`, except those that it already contains.
    pub(crate) fn report_to(self, log: &ProblemLog) -> Outcome<()> {
        let reported = log.to_vec();
        for (severity, kind, count) in self.counts {
            let kept = self.problems.iter().filter(|problem| (problem.severity, problem.kind) == (severity, kind));
            log.count_more(severity, kind, count.saturating_sub(kept.count() as u64));
        }
        let mut missing = self.problems.into_iter().filter(|problem| !reported.contains(problem));
        missing.try_for_each(|problem| log.report(problem))
    }
}

/// Reports the findings of the finished run again: it may not have processed everything, and a repeated run that has nothing to do must not
/// present its result as complete. A finding about a path that no longer exists is dropped. It is kept if the path is among `inputs`, the
/// files under the paths of this run, or is not UTF-8, because its existence is then unknown.
pub(crate) fn report_earlier<'a, P: RecordedPlan>(
    own: &RunFolder,
    inputs: impl Iterator<Item = &'a Path>,
    context: &TaskContext,
) -> Outcome<()> {
    let mut found = findings_before(own, P::MAX_RECORD_BYTES)?;
    let mut named: HashMap<Option<&OsStr>, Vec<&Path>> = HashMap::new();
    inputs.for_each(|input| named.entry(input.file_name()).or_default().push(input));
    let is_input = |path: &Path| {
        named.get(&path.file_name()).is_some_and(|inputs| inputs.iter().any(|input| input.ends_with(path)))
    };
    let is_there = |problem: &Problem| {
        let Some(path) = problem.subject.path.as_deref().map(Path::new) else { return true };
        // The report contains a replacement character for invalid UTF-8.
        let is_unknown =
            path.to_str().is_some_and(|path| is_hub_url(path) || path.contains(char::REPLACEMENT_CHARACTER));
        is_unknown || is_input(path) || files::is_taken(path)
    };
    found.retain(is_there);
    found.report_to(&context.problems)
}

/// Returns the findings of the finished run that are more severe than notes, and its notes about excluded files. Returns no findings if the
/// report is larger than `largest` bytes.
pub(crate) fn findings_before(own: &RunFolder, largest: u64) -> Outcome<Findings> {
    let mut found: Findings = report_before(own, largest)?.unwrap_or_default();
    let is_kept =
        |severity: Severity, kind: ProblemKind| severity >= Severity::Problem || kind == ProblemKind::AppleDouble;
    found.problems.retain(|problem| is_kept(problem.severity, problem.kind));
    found.counts.retain(|(severity, kind, _)| is_kept(*severity, *kind));
    Ok(found)
}

/// Returns the report of the finished run; `None` if it is missing, larger than `largest` bytes, or cannot be parsed.
pub(crate) fn report_before<R: DeserializeOwned>(own: &RunFolder, largest: u64) -> Outcome<Option<R>> {
    let bytes = read_whole(&own.report(), largest)?;
    Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).map(|saved: SavedReport<R>| saved.result))
}

/// Whether a run has anything to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// The plan must run.
    Run,
    /// There is nothing to do, because the same plan has already finished.
    Nothing,
}

impl<P: RecordedPlan> Recorded<P> {
    /// Returns the record of the last finished run; `None` if it is missing or cannot be parsed.
    pub(crate) fn read(own: &RunFolder) -> Outcome<Option<Self>> {
        let bytes = read_whole(&own.report(), P::MAX_RECORD_BYTES)?;
        Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }

    /// Returns the record of the last finished run, if at least one of its output files still exists.
    pub(crate) fn of_what_is_there(own: &RunFolder) -> Outcome<Option<Self>> {
        let is_there = |known: &Self| known.outputs.iter().any(|output| files::is_taken(&output.path));
        Ok(Self::read(own)?.filter(is_there))
    }

    /// Whether all output files exist with the recorded sizes.
    pub(crate) fn is_whole(&self) -> bool {
        self.outputs.iter().all(|output| files::metadata(&output.path).is_ok_and(|facts| facts.len() == output.bytes))
    }

    /// Whether the run wrote this file.
    pub(crate) fn has(&self, path: &Path) -> bool {
        self.outputs.iter().any(|output| output.path == path)
    }

    /// Describes how another plan differs from the recorded one, as a sentence.
    pub(crate) fn other_plan(&self, now: &P) -> Option<String> {
        let differ = P::differences(&self.plan, now);
        (!differ.is_empty()).then(|| format!("it was made by another plan: {}", differ.join("; ")))
    }

    /// Describes how the recorded inputs differ from the current ones, as a sentence.
    pub(crate) fn other_input(&self, now: &[RecordedInput]) -> Option<String> {
        let differ = (self.inputs != now).then(|| changed_input(&self.inputs, now));
        differ.map(|changed| format!("the input changed since it was made: {changed}"))
    }
}

/// Returns the failure that refuses to overwrite existing output.
pub(crate) fn refuse<P: RecordedPlan>(place: &Path, why: String, hint: &str) -> Failure {
    let problem = Problem::refusal(ProblemKind::AlreadyPrepared, Subject::path(place), why);
    let mut failure = problem.with_hint(hint).into_failure();
    P::ACTIVITY.clone_into(&mut failure.what);
    failure
}

fn changed_input(old: &[RecordedInput], new: &[RecordedInput]) -> String {
    let name = |input: &RecordedInput| display_safe(&input.path.to_string_lossy()).into_owned();
    if let Some(input) = new.iter().zip(old).find(|(new, old)| new.path == old.path && new != old) {
        return format!("{} has changed", name(input.0));
    }
    let before: HashMap<&Path, &RecordedInput> = old.iter().map(|input| (input.path.as_path(), input)).collect();
    if let Some(input) = new.iter().find(|input| !before.contains_key(input.path.as_path())) {
        return format!("{} is new", name(input));
    }
    let now: HashSet<&Path> = new.iter().map(|input| input.path.as_path()).collect();
    if let Some(input) = old.iter().find(|input| !now.contains(input.path.as_path())) {
        return format!("{} no longer exists", name(input));
    }
    match new.iter().find(|input| before.get(input.path.as_path()) != Some(input)) {
        Some(input) => format!("{} has changed", name(input)),
        None => "its files are in another order".into(),
    }
}

/// Returns a problem if a stopped run of another plan with this output can be resumed. Its subject is the output of the run folder.
pub(crate) fn stopped_run<P: RecordedPlan>(plan: &P, own: &RunFolder) -> Outcome<Option<Problem>> {
    let has_journal = files::exists(own.journal());
    let Some(bytes) = read_whole(&own.running_plan(), P::MAX_RECORD_BYTES)?.filter(|_| has_journal) else {
        return Ok(None);
    };
    let text = String::from_utf8_lossy(&bytes);
    let why = match read_plan_of::<P>(&text, P::COMMAND) {
        Some(old) => {
            let differ = P::differences(&old, plan);
            if differ.is_empty() {
                return Ok(None);
            }
            format!("a stopped run of another plan can be resumed here: {}", differ.join("; "))
        }
        None => match command_of(&text) {
            Ok(Some(other)) if other != P::COMMAND => {
                format!("a stopped run of `gristmill {}` can be resumed here", display_safe(&other))
            }
            // A run whose plan cannot be read cannot be resumed.
            _ => return Ok(None),
        },
    };
    let output = RunFolder::output_of(own.shown()).unwrap_or_default();
    let problem = Problem::refusal(ProblemKind::StoppedRun, Subject::path(output), why);
    Ok(Some(problem.with_hint("run it again unchanged to finish it; --restart discards its work")))
}

/// Refuses a run that would discard the work of a stopped run of another plan.
pub(crate) fn check_running<P: RecordedPlan>(plan: &P, own: &RunFolder) -> Outcome<()> {
    let Some(problem) = stopped_run(plan, own)? else { return Ok(()) };
    let mut failure = problem.into_failure();
    P::ACTIVITY.clone_into(&mut failure.what);
    Err(failure)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inputs(list: &[(&str, u64)]) -> Vec<RecordedInput> {
        let stamp = |bytes| FileStamp { bytes, ..FileStamp::default() };
        list.iter().map(|(path, bytes)| RecordedInput { path: path.into(), stamp: stamp(*bytes) }).collect()
    }

    #[test]
    fn first_changed_input_is_named() {
        let old = inputs(&[("a", 1), ("b", 2), ("c", 3)]);
        for (new, words) in [
            (inputs(&[("a", 1), ("b", 9), ("c", 3)]), "b has changed"),
            (inputs(&[("0", 1), ("a", 1), ("b", 2), ("c", 3)]), "0 is new"),
            (inputs(&[("b", 2), ("c", 3)]), "a no longer exists"),
            (inputs(&[("b", 2), ("a", 1), ("c", 3)]), "its files are in another order"),
            (inputs(&[("b", 2), ("a", 9), ("c", 3)]), "a has changed"),
        ] {
            assert_eq!(changed_input(&old, &new), words);
        }
    }
}
