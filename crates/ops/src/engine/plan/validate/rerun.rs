//! Checks a plan against an earlier preparation.

use crate::engine::plan::{compare, file, flags};
use gristmill_core::text::{agree, count_verb};
use gristmill_core::{
    DatasetFacts, PreparePlan, PreparedFacts, Problem, ProblemKind, Rerun, Scope, SplitPlan, Subject,
};

pub(super) fn check(plan: &PreparePlan, facts: &DatasetFacts, problems: &mut Vec<Problem>) {
    let root = || Subject::path(&facts.root);
    if plan.new_to.is_some() && plan.rerun != Rerun::Update {
        let message = format!("{} only means something together with {}", flags::NEW_TO, flags::UPDATE);
        problems.push(Problem::refusal(ProblemKind::MissingAnswer, Subject::field(flags::NEW_TO), message));
    }
    if plan.skip_bad_lines {
        let message = format!("{} is for .jsonl files, and this is a folder of shards", flags::SKIP_BAD_LINES);
        let subject = Subject::field(flags::SKIP_BAD_LINES);
        problems.push(Problem::refusal(ProblemKind::MissingAnswer, subject, message).with_hint("leave it out"));
    }
    if plan.reset_excludes && plan.rerun != Rerun::Overwrite {
        let message =
            format!("{} only means something together with {}", flags::RESET_EXCLUDES, flags::FORCE_OVERWRITE);
        problems.push(Problem::refusal(ProblemKind::MissingAnswer, Subject::field(flags::RESET_EXCLUDES), message));
    }
    let Some(prepared) = &facts.prepared else {
        if plan.scope == Scope::TarIndexOnly {
            let message = "only a prepared data set can be indexed again; .info.json is missing";
            problems.push(
                Problem::refusal(ProblemKind::MissingFile, root(), message)
                    .with_hint(format!("leave {} out to prepare it", flags::TAR_INDEX_ONLY)),
            );
        }
        return;
    };
    if plan.scope == Scope::TarIndexOnly && prepared.shard_counts.is_empty() {
        let message = "only what .info.json lists can be indexed again, and it lists nothing";
        let hint = format!("{} makes everything again", flags::FORCE_OVERWRITE);
        problems.push(Problem::refusal(ProblemKind::BadFile, root(), message).with_hint(hint));
    }
    if plan.rerun == Rerun::Update && plan.scope != Scope::TarIndexOnly {
        problems.extend(unreadable_splits(facts));
        let is_other = |old: &PreparePlan| plan.splits != old.splits && old.splits != SplitPlan::Unset;
        if prepared.plan.as_deref().is_some_and(is_other) {
            let message = "an update leaves shards in the splits that they are in; how to divide counts for new ones";
            let hint = format!("{} divides all of them anew", flags::FORCE_OVERWRITE);
            problems.push(Problem::note(ProblemKind::Other, root(), message).with_hint(hint));
        }
    }
    if plan.scope == Scope::TarIndexOnly || plan.rerun != Rerun::Refuse {
        return;
    }
    problems.push(earlier(plan, prepared).on_root(root()));
}

/// Returns the refusal of an update whose `split.yaml` cannot be read: it could not keep the user's splits and excludes.
pub fn unreadable_splits(facts: &DatasetFacts) -> Option<Problem> {
    let is_bad = |found: &&Problem| matches!(found.kind, ProblemKind::BadFile | ProblemKind::BadBraces);
    let broken = facts.findings.iter().find(is_bad)?;
    let message = format!("it cannot be read, and an update keeps its content: {}", broken.message);
    Some(Problem::refusal(ProblemKind::BadFile, broken.subject.clone(), message).with_hint(format!(
        "correct the file, or make it again with {} (the old split.yaml is kept next to the new one)",
        flags::FORCE_OVERWRITE
    )))
}

/// Returns the problem of a data set that is already prepared when the plan has no rerun mode.
fn earlier(plan: &PreparePlan, prepared: &PreparedFacts) -> Problem {
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

/// Returns the refusal of a data set that is already prepared, with the changes since; `how` describes by what or with which answers.
pub fn already_prepared(prepared: &PreparedFacts, how: &str) -> Problem {
    let facts: Vec<String> =
        std::iter::once(how.to_owned()).filter(|how| !how.is_empty()).chain(changes(prepared)).collect();
    let message = match facts.as_slice() {
        [] => "it is prepared already".to_owned(),
        facts => format!("it is prepared already, {}", facts.join(", and ")),
    };
    let hint = match prepared.new_shards.len() as u64 {
        0 => format!(
            "{} takes in new and changed shards, {} does everything again; excludes stay either way",
            flags::UPDATE,
            flags::FORCE_OVERWRITE
        ),
        new => format!(
            "{} takes {} in and keeps splits and excludes; {} with all answers does everything again",
            flags::UPDATE,
            agree(new, "it", "them"),
            flags::FORCE_OVERWRITE
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

trait OnRoot {
    fn on_root(self, root: Subject) -> Self;
}

impl OnRoot for Problem {
    fn on_root(mut self, root: Subject) -> Self {
        self.subject = root;
        self
    }
}
