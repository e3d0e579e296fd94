//! Checks a plan against an earlier preparation.

use crate::engine::plan::{compare, file};
use gristmill_core::text::{agree, count_verb};
use gristmill_core::{
    DatasetFacts, PreparePlan, PreparedFacts, Problem, ProblemKind, Rerun, Scope, SplitPlan, Subject,
};

pub(super) fn check(plan: &PreparePlan, facts: &DatasetFacts, problems: &mut Vec<Problem>) {
    let root = || Subject::path(&facts.root);
    if plan.new_to.is_some() && plan.rerun != Rerun::Update {
        let message = "--new-to requires --update";
        problems.push(Problem::refusal(ProblemKind::MissingAnswer, Subject::field("--new-to"), message));
    }
    if plan.skip_bad_lines {
        let message = "--skip-bad-lines is for .jsonl files, and this is a folder of shards";
        let subject = Subject::field("--skip-bad-lines");
        problems.push(Problem::refusal(ProblemKind::MissingAnswer, subject, message).with_hint("leave it out"));
    }
    if plan.reset_excludes && plan.rerun != Rerun::Overwrite {
        let message = "--reset-excludes requires --force-overwrite";
        problems.push(Problem::refusal(ProblemKind::MissingAnswer, Subject::field("--reset-excludes"), message));
    }
    let Some(prepared) = &facts.prepared else {
        if plan.scope == Scope::TarIndexOnly {
            let message = "only a prepared data set can be indexed again; .info.json is missing";
            problems.push(
                Problem::refusal(ProblemKind::MissingFile, root(), message)
                    .with_hint("leave --tar-index-only out to prepare it"),
            );
        }
        return;
    };
    if plan.scope == Scope::TarIndexOnly && prepared.shard_counts.is_empty() {
        let message = "only what .info.json lists can be indexed again, and it lists nothing";
        let hint = "--force-overwrite makes everything again";
        problems.push(Problem::refusal(ProblemKind::BadFile, root(), message).with_hint(hint));
    }
    if plan.rerun == Rerun::Update && plan.scope != Scope::TarIndexOnly {
        problems.extend(unreadable_splits(facts));
        let is_other = |old: &PreparePlan| plan.splits != old.splits && old.splits != SplitPlan::Unset;
        if prepared.plan.as_deref().is_some_and(is_other) {
            let message = "an update leaves shards in the splits that they are in; how to divide counts for new ones";
            let hint = "--force-overwrite divides all of them again";
            problems.push(Problem::note(ProblemKind::Other, root(), message).with_hint(hint));
        }
    }
    if plan.scope == Scope::TarIndexOnly || plan.rerun != Rerun::Refuse {
        return;
    }
    problems.push(rerun_problem(plan, prepared).on_root(root()));
}

/// Returns the refusal of an update whose `split.yaml` cannot be read, because the user's splits and excludes would be lost.
pub fn unreadable_splits(facts: &DatasetFacts) -> Option<Problem> {
    let is_bad = |found: &&Problem| matches!(found.kind, ProblemKind::BadFile | ProblemKind::BadBraces);
    let broken = facts.findings.iter().find(is_bad)?;
    let message = format!("it cannot be read, and an update keeps its content: {}", broken.message);
    Some(Problem::refusal(ProblemKind::BadFile, broken.subject.clone(), message).with_hint(
        "correct the file, or make it again with --force-overwrite (the old split.yaml is kept next to the new one)",
    ))
}

/// Returns the problem of a data set that is already prepared, for a plan without a rerun mode.
fn rerun_problem(plan: &PreparePlan, prepared: &PreparedFacts) -> Problem {
    let Some(old) = &prepared.plan else {
        let by = if prepared.by_gristmill { "by an earlier run" } else { "by another program" };
        return already_prepared(prepared, by);
    };
    if file::hash(old) != file::hash(plan) {
        let differ = compare::differences(old, plan);
        let shown = if differ.is_empty() { "the plans differ".to_owned() } else { differ.join("; ") };
        return already_prepared(prepared, &format!("with other answers: {shown}"));
    }
    if changes(prepared).is_empty() {
        let message = "this data set was prepared with the same plan, and nothing has changed since";
        return Problem::note(ProblemKind::NothingToDo, Subject::default(), message);
    }
    already_prepared(prepared, "with the same answers")
}

/// Returns the refusal of a data set that is already prepared, with the changes since. `how` describes the program or the answers of that
/// preparation.
pub fn already_prepared(prepared: &PreparedFacts, how: &str) -> Problem {
    let facts: Vec<String> =
        std::iter::once(how.to_owned()).filter(|how| !how.is_empty()).chain(changes(prepared)).collect();
    let message = match facts.as_slice() {
        [] => "it is already prepared".to_owned(),
        facts => format!("it is already prepared, {}", facts.join(", and ")),
    };
    let hint = match prepared.new_shards.len() as u64 {
        0 => "--update takes in new and changed shards, --force-overwrite does everything again; excludes stay either way"
            .to_owned(),
        new => format!(
            "--update takes {} in and keeps splits and excludes; --force-overwrite with all answers does everything again",
            agree(new, "it", "them")
        ),
    };
    Problem::refusal(ProblemKind::AlreadyPrepared, Subject::default(), message).with_hint(hint)
}

fn changes(prepared: &PreparedFacts) -> Vec<String> {
    let kinds = [
        (&prepared.new_shards, "new shard", "is not indexed", "are not indexed"),
        (&prepared.changed_shards, "shard", "has changed since", "have changed since"),
        (&prepared.missing_shards, "shard", "is missing", "are missing"),
    ];
    let listed = kinds.into_iter().filter_map(|(names, noun, one, many)| {
        let first = match names.as_slice() {
            [] => return None,
            [only] => only.clone(),
            [first, ..] => format!("the first: {first}"),
        };
        Some(format!("{} ({first})", count_verb(names.len() as u64, noun, one, many)))
    });
    listed.collect()
}

trait WithRoot {
    fn on_root(self, root: Subject) -> Self;
}

impl WithRoot for Problem {
    fn on_root(mut self, root: Subject) -> Self {
        self.subject = root;
        self
    }
}
