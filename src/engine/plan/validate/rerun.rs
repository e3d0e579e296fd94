//! What an earlier preparation means for a plan.

use crate::engine::plan::{compare, file, flags};
use crate::model::{DatasetFacts, PreparePlan, PreparedFacts, Problem, ProblemKind, Rerun, Scope, SplitPlan, Subject};

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

/// What an update cannot keep, since the file in which it stands cannot be read: splits and excludes that a person made.
pub fn unreadable_splits(facts: &DatasetFacts) -> Option<Problem> {
    let is_bad = |found: &&Problem| matches!(found.kind, ProblemKind::BadFile | ProblemKind::BadBraces);
    let broken = facts.findings.iter().find(is_bad)?;
    let message = format!("it cannot be read, and an update keeps what stands there: {}", broken.message);
    Some(Problem::refusal(ProblemKind::BadFile, broken.subject.clone(), message).with_hint(format!(
        "mend the file, or make it anew with {} (the old split.yaml is kept beside the new one)",
        flags::FORCE_OVERWRITE
    )))
}

/// What to say about a data set that is prepared already when nothing says to do it again.
fn earlier(plan: &PreparePlan, prepared: &PreparedFacts) -> Problem {
    let refuse = |message: String| {
        Problem::refusal(ProblemKind::AlreadyPrepared, Subject::default(), message).with_hint(format!(
            "{} takes in new and changed shards, {} does everything again; excludes stay either way",
            flags::UPDATE,
            flags::FORCE_OVERWRITE
        ))
    };
    let Some(old) = &prepared.plan else {
        let by = if prepared.by_gristmill { "an earlier run" } else { "another program" };
        return refuse(format!("this data set was prepared already, by {by}"));
    };
    if file::hash(old) != file::hash(plan) {
        let differ = compare::differences(old, plan);
        let shown = if differ.is_empty() { "the plans differ".to_owned() } else { differ.join("; ") };
        return refuse(format!("this data set was prepared already, with other answers: {shown}"));
    }
    let changed = changes(prepared);
    if changed.is_empty() {
        let message = "this data set was prepared with the same plan, and nothing has changed since";
        return Problem::note(ProblemKind::NothingToDo, Subject::default(), message);
    }
    refuse(format!("this data set was prepared already, and since then {}", changed.join(", ")))
}

fn changes(prepared: &PreparedFacts) -> Vec<String> {
    let mut out = Vec::new();
    for (names, what) in
        [(&prepared.new_shards, "new"), (&prepared.changed_shards, "changed"), (&prepared.missing_shards, "missing")]
    {
        if let Some(first) = names.first() {
            let more = if names.len() > 1 { format!(" and {} more", names.len() - 1) } else { String::new() };
            let verb = if names.len() == 1 { "is" } else { "are" };
            out.push(format!("{first}{more} {verb} {what}"));
        }
    }
    out
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
