//! Writes a metadataset from a plan.

pub mod tree;

use super::task::TaskContext;
use super::Phase;
use crate::engine::mix::author::{facts_of_plan, render};
use crate::engine::mix::{MixFacts, NOT_JOINED_YET, NO_MEMBER};
use gristmill_core::mix::MixPlan;
use gristmill_core::text::count;
use gristmill_core::{ExitClass, Failure, Outcome, Problem, ProblemKind, ProblemSink, Severity, Subject};
use gristmill_storage::files;
use gristmill_storage::publish::write_file;
use serde::Serialize;
use std::path::{Path, PathBuf};

const ACTIVITY: &str = "writing the metadataset";

/// Result of writing a metadataset.
#[derive(Clone, Debug, Serialize)]
pub struct MixReport {
    /// Path of the file.
    pub path: PathBuf,
    /// Text of the file.
    pub text: String,
    /// Whether an earlier file was replaced.
    pub replaces: bool,
    /// Whether the same file already existed and nothing was written.
    pub nothing_to_do: bool,
    /// Facts of the resulting metadataset.
    pub facts: MixFacts,
    /// Whether the metadataset has joins, which must be prepared before use.
    pub needs_prepare: bool,
    /// Counts of all problems and notes.
    #[serde(skip)]
    pub counts: Vec<(Severity, ProblemKind, u64)>,
}

/// Checks a plan and writes its file. Without `is_written`, only checks the plan. Refuses a plan that the loader would reject, and an
/// existing file with different content unless the plan allows overwriting.
///
/// # Errors
/// The plan is invalid, the loader would reject a member, or the output exists or cannot be written.
pub fn run_mix(plan: &MixPlan, is_written: bool, context: &TaskContext) -> Outcome<MixReport> {
    context.phase_of(Phase::Open, "member", "opening the members");
    let text = render(plan)?;
    let path = Path::new(&plan.output);
    let old = gristmill_storage::read::read_whole(path, 64 << 20);
    let nothing_to_do = matches!(&old, Ok(Some(old)) if old == text.as_bytes());
    let replaces = files::try_is_taken(path)?;
    if files::is_dir(path) {
        return Err(Failure::usage(ACTIVITY, "there is a folder of that name").on(Subject::path(path)));
    }
    if replaces && !plan.overwrite && !nothing_to_do {
        return Err(Failure::data(ACTIVITY, "there is another file of that name")
            .on(Subject::path(path))
            .with_hint("--force-overwrite replaces it"));
    }
    let facts = facts_of_plan(plan, context.handles())?;
    let facts =
        MixFacts { problems: facts.problems.into_iter().filter(|problem| !is_expected(problem)).collect(), ..facts };
    for problem in &facts.problems {
        context.problems.report(problem.clone())?;
    }
    refuse(&facts, path)?;
    if is_written && !nothing_to_do {
        context.phase_of(Phase::Publish, "output file", "writing the metadataset");
        context.cancel.check()?;
        let mode = files::metadata(path).map_or(0o644, |facts| facts.mode & 0o777);
        write_file(&*context.fs, path, text.as_bytes(), mode)?;
    }
    let needs_prepare = facts.joins.iter().any(|join| !join.is_prepared);
    let counts = context.problems.counts();
    Ok(MixReport { path: path.to_owned(), text, replaces, nothing_to_do, facts, needs_prepare, counts })
}

/// Whether a problem is expected: a join that has just been written has no index yet.
fn is_expected(problem: &Problem) -> bool {
    problem.kind == ProblemKind::MissingFile && problem.message == NOT_JOINED_YET
}

fn refuse(facts: &MixFacts, path: &Path) -> Outcome<()> {
    let refusals: Vec<&Problem> = facts.problems.iter().filter(|p| p.severity == Severity::Refusal).collect();
    let Some(first) = refusals.first() else { return Ok(()) };
    let why = match refusals.len() {
        1 => first.message.clone(),
        n => format!("the loader would stop at {} of it; the first: {}", count(n as u64, "place"), first.message),
    };
    let class = if first.message.starts_with(NO_MEMBER) { ExitClass::Environment } else { ExitClass::Data };
    let why = format!("{why} (nothing was written)");
    let mut failure = Failure::new(class, ACTIVITY, why).on(Subject::path(path));
    failure.hint = first.hint.clone();
    Err(failure)
}
