//! What a finished run leaves for the next one, and what the next one makes of it.

use super::inputs::Inputs;
use super::layout::Layout;
use crate::engine::plan::dedup::differences;
use crate::engine::plan::file::{read, PlanFile};
use crate::model::text::display_safe;
use crate::model::{DedupPlan, Failure, FileStamp, Outcome, Problem, ProblemKind, Subject};
use crate::storage::read::read_whole;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The largest report or plan that is read back, in bytes.
const LARGEST: u64 = 1 << 30;

/// The part of `report.json` that later runs read.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Recorded {
    pub(super) plan_hash: String,
    pub(super) plan: DedupPlan,
    pub(super) inputs: Vec<RecordedInput>,
    pub(super) outputs: Vec<RecordedOutput>,
}

/// A file that was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RecordedInput {
    path: PathBuf,
    stamp: FileStamp,
}

/// A file that was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RecordedOutput {
    pub(super) path: PathBuf,
    pub(super) bytes: u64,
}

impl Recorded {
    /// Of the last finished run, if there is one that can be understood.
    pub(super) fn read(layout: &Layout) -> Outcome<Option<Self>> {
        let bytes = read_whole(&layout.own.report(), LARGEST)?;
        Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }

    pub(super) fn inputs_of(inputs: &Inputs) -> Vec<RecordedInput> {
        inputs.stamps().map(|(path, stamp)| RecordedInput { path: path.to_owned(), stamp }).collect()
    }

    /// Whether any of its files is still there.
    fn is_there(&self) -> bool {
        self.outputs.iter().any(|output| output.path.symlink_metadata().is_ok())
    }

    /// Whether all of its files are there, as long as they were.
    fn is_whole(&self) -> bool {
        self.outputs.iter().all(|output| std::fs::metadata(&output.path).is_ok_and(|facts| facts.len() == output.bytes))
    }
}

/// What there is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// All of it.
    Run,
    /// The same has been done.
    Nothing,
}

/// Whether a plan may run where it wants to, and whether it has run already.
pub(super) fn decide(plan: &DedupPlan, hash: &str, layout: &Layout, inputs: &Inputs) -> Outcome<Decision> {
    if plan.overwrite {
        return Ok(Decision::Run);
    }
    let refuse = |place: &Path, why: String, hint: &str| {
        let problem = Problem::refusal(ProblemKind::AlreadyPrepared, Subject::path(place), why);
        let mut failure = problem.with_hint(hint).into_failure();
        "deduplicating".clone_into(&mut failure.what);
        Err(failure)
    };
    let recorded = Recorded::read(layout)?.filter(Recorded::is_there);
    if let Some(recorded) = &recorded {
        let differ = differences(&recorded.plan, plan);
        if !differ.is_empty() {
            let why = format!("it was made by another plan: {}", differ.join("; "));
            return refuse(&layout.output, why, "--force-overwrite replaces it; or name another output");
        }
        let now = Recorded::inputs_of(inputs);
        if recorded.inputs != now {
            let why = format!("the input changed since it was made: {}", changed_input(&recorded.inputs, &now));
            return refuse(&layout.output, why, "--force-overwrite makes it anew");
        }
        if recorded.plan_hash == hash && recorded.is_whole() {
            return Ok(Decision::Nothing);
        }
        return Ok(Decision::Run);
    }
    for place in [Some(&layout.output), layout.index.as_ref(), layout.ranges.as_ref()].into_iter().flatten() {
        if holds_something(place) {
            let why = match place.is_dir() {
                true => "there is something in it already",
                false => "there is something of that name already",
            };
            return refuse(
                place,
                why.into(),
                "name another folder; --force-overwrite replaces files of the same names",
            );
        }
    }
    Ok(Decision::Run)
}

/// Whether there is anything but empty folders: those may be what a run left that was killed just before it moved its files.
fn holds_something(place: &Path) -> bool {
    let Ok(entries) = std::fs::read_dir(place) else { return place.symlink_metadata().is_ok() };
    let mut folders = vec![entries];
    while let Some(mut entries) = folders.pop() {
        let Some(Ok(entry)) = entries.next() else { continue };
        folders.push(entries);
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => match std::fs::read_dir(entry.path()) {
                Ok(below) => folders.push(below),
                Err(_) => return true,
            },
            _ => return true,
        }
    }
    false
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

/// Refuses to throw away what a stopped run of another plan has done.
pub(super) fn check_running(plan: &DedupPlan, layout: &Layout, has_journal: bool) -> Outcome<()> {
    let Some(bytes) = read_whole(&layout.own.running_plan(), LARGEST)?.filter(|_| has_journal) else { return Ok(()) };
    let text = String::from_utf8_lossy(&bytes);
    let Ok(PlanFile::Dedup(old)) = read(&text) else { return Ok(()) };
    let differ = differences(&old, plan);
    if differ.is_empty() {
        return Ok(());
    }
    let why = format!("a run of another plan was stopped here and can go on: {}", differ.join("; "));
    Err(Failure::data("deduplicating", why)
        .on(Subject::path(&layout.output))
        .with_hint("run it again as it was to finish it; --restart throws its work away"))
}
