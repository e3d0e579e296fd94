//! What a finished run leaves for the next one, and what the next one makes of it.

use super::inputs::Inputs;
use super::layout::Layout;
use crate::engine::pack::differences;
use crate::engine::plan::file::{read, PlanFile};
use crate::formats::nanosets::names;
use crate::model::pack::{DocumentShuffle, PackPlan};
use crate::model::{Failure, FileStamp, Outcome, PackFormat, Problem, ProblemKind, Subject};
use crate::storage::read::read_whole;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The largest report or plan that is read back, in bytes.
const LARGEST: u64 = 1 << 28;

/// The part of `report.json` that later runs read.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Recorded {
    /// Fingerprint of plan and tokenizer.
    pub(super) plan_hash: String,
    pub(super) plan: PackPlan,
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

impl Recorded {
    /// Of the last finished run, if there is one that can be understood.
    pub(super) fn read(layout: &Layout) -> Outcome<Option<Self>> {
        let bytes = read_whole(&layout.own.report(), LARGEST)?;
        Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }

    pub(super) fn inputs_of(inputs: &Inputs) -> Vec<RecordedInput> {
        inputs.files().into_iter().map(|file| RecordedInput { path: file.path.clone(), stamp: file.stamp }).collect()
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
pub(super) enum Decision {
    /// All of it.
    Run,
    /// The same has been done.
    Nothing,
}

/// Whether a plan may run where it wants to, and whether it has run already.
pub(super) fn decide(plan: &PackPlan, hash: &str, layout: &Layout, inputs: &Inputs) -> Outcome<Decision> {
    if inputs.passes.is_empty() && inputs.ranks.is_empty() {
        return Ok(Decision::Nothing);
    }
    if plan.overwrite {
        return Ok(Decision::Run);
    }
    let refuse = |why: String, hint: &str| {
        let problem = Problem::refusal(ProblemKind::AlreadyPrepared, Subject::path(&layout.output), why);
        let mut failure = problem.with_hint(hint).into_failure();
        "packing".clone_into(&mut failure.what);
        Err(failure)
    };
    let recorded = Recorded::read(layout)?.filter(Recorded::is_there);
    if let Some(recorded) = &recorded {
        let differ = differences(&recorded.plan, plan);
        if !differ.is_empty() {
            let why = format!("it was made by another plan: {}", differ.join("; "));
            return refuse(why, "--overwrite replaces it; or name another output");
        }
        if recorded.plan_hash != hash {
            return refuse("the tokenizer file changed since it was made".into(), "--overwrite makes it anew");
        }
        let now = Recorded::inputs_of(inputs);
        if recorded.inputs == now && recorded.is_whole() && !goes_by_ranks(plan) {
            return Ok(Decision::Nothing);
        }
        // Ranks that were left to somebody else may come to be done here.
        if recorded.inputs != now && !goes_by_ranks(plan) {
            let changed = changed_input(&recorded.inputs, &now);
            return refuse(format!("the input changed since it was made: {changed}"), "--overwrite makes it anew");
        }
    }
    let is_foreign = |path: &PathBuf| path.symlink_metadata().is_ok() && !recorded.iter().any(|known| known.has(path));
    match existing(plan, layout, inputs, &is_foreign) {
        Some(path) => refuse(
            format!("{} is there already", crate::model::text::display_safe(&path.to_string_lossy())),
            "--overwrite replaces it; or name another output",
        ),
        None => Ok(Decision::Run),
    }
}

/// Whether completion files, and nothing else, say what is done.
pub(super) fn goes_by_ranks(plan: &PackPlan) -> bool {
    plan.formats() == [PackFormat::Nanosets]
        && plan.nanosets.as_ref().is_some_and(|target| target.logging_dir.is_some())
}

impl Recorded {
    fn has(&self, path: &Path) -> bool {
        self.outputs.iter().any(|output| output.path == path)
    }
}

fn changed_input(old: &[RecordedInput], new: &[RecordedInput]) -> String {
    let is_in = |list: &[RecordedInput], input: &RecordedInput| list.iter().any(|known| known.path == input.path);
    let name = |input: &RecordedInput| crate::model::text::display_safe(&input.path.to_string_lossy()).into_owned();
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

/// A file of somebody else that stands where one would be written, if there is one.
fn existing(
    plan: &PackPlan,
    layout: &Layout,
    inputs: &Inputs,
    is_foreign: &dyn Fn(&PathBuf) -> bool,
) -> Option<PathBuf> {
    let mut wanted: Vec<PathBuf> = inputs.pbins.iter().map(|name| layout.pbin(name)).collect();
    wanted.extend(inputs.samples.iter().map(|name| layout.samples(name)));
    if plan.forager.is_some() {
        // An index of whatever files; an empty folder may be what a run left that was killed while it published.
        let index = layout.index(plan, "x");
        let first =
            index.parent().and_then(|folder| std::fs::read_dir(folder).ok()).and_then(|mut entries| entries.next());
        wanted.extend(first.and_then(Result::ok).map(|entry| entry.path()));
    }
    if let Some(found) = wanted.into_iter().find(|path| is_foreign(path)) {
        return Some(found);
    }
    // A rank without its completion file is done again there, whatever it left.
    let target = plan.nanosets.as_ref().filter(|target| target.logging_dir.is_none())?;
    let folder = layout.place(PackFormat::Nanosets);
    let is_shuffled = target.shuffle == DocumentShuffle::Documents || target.chunk_size.is_some();
    let first = |rank: u32| {
        let unshuffled = names::unshuffled(target.prefix.as_deref(), rank);
        let step = if target.chunk_size.is_some() { names::Step::Chunks } else { names::Step::Documents };
        let shuffled = names::shuffled(target.names, target.prefix.as_deref(), rank, 0, step);
        if is_shuffled {
            vec![unshuffled, shuffled]
        } else {
            vec![unshuffled]
        }
    };
    let mut names = inputs.ranks.iter().flat_map(|rank| first(*rank));
    names.find_map(|name| Some(folder.join(name)).filter(|path| is_foreign(path)))
}

/// Refuses to throw away what a stopped run of another plan has done.
pub(super) fn check_running(plan: &PackPlan, layout: &Layout, has_journal: bool) -> Outcome<()> {
    let Some(bytes) = read_whole(&layout.own.running_plan(), LARGEST)?.filter(|_| has_journal) else { return Ok(()) };
    let text = String::from_utf8_lossy(&bytes);
    let Ok(PlanFile::Pack(old)) = read(&text) else { return Ok(()) };
    let differ = differences(&old, plan);
    if differ.is_empty() {
        return Ok(());
    }
    let why = format!("a run of another plan was stopped here and can go on: {}", differ.join("; "));
    Err(Failure::data("packing", why)
        .on(Subject::path(&layout.output))
        .with_hint("run it again as it was to finish it; --restart throws its work away"))
}
