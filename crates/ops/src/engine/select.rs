//! Selects the shards on disk that a plan uses.

use gristmill_core::{DatasetFacts, Outcome, PreparePlan, Problem, ProblemKind, Scope, Subject, Tgz};
use gristmill_pycompat::pattern::Pattern;
use std::collections::HashSet;

/// The selected shards, and the shards that are omitted for other reasons than `--exclude`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ShardSelection {
    /// Positions in `facts.shards`, ascending.
    pub positions: Vec<usize>,
    /// A note or problem for each omitted shard.
    pub left_out: Vec<Problem>,
}

/// Selects the shards of a plan.
///
/// Shards are dropped by name with `--exclude`. A `.tgz` next to a `.tar` with the same stem is dropped, because both use the same
/// `.tar.idx`. With `--tar-index-only`, only the shards in `.info.json` are selected. A pattern that does not compile is a usage failure.
pub fn select(plan: &PreparePlan, facts: &DatasetFacts) -> Outcome<ShardSelection> {
    let patterns = compile(&plan.exclude_shards)?;
    let names: HashSet<&str> = facts.shards.iter().map(|shard| shard.name.as_str()).collect();
    let indexed: Option<HashSet<&str>> = match (&facts.prepared, plan.scope) {
        (Some(prepared), Scope::TarIndexOnly) => Some(prepared.shard_counts.iter().map(|(n, _)| n.as_str()).collect()),
        _ => None,
    };
    let mut selected = ShardSelection::default();
    for (position, shard) in facts.shards.iter().enumerate() {
        if indexed.as_ref().is_some_and(|indexed| !indexed.contains(shard.name.as_str())) {
            continue;
        }
        if indexed.is_none() && patterns.iter().any(|pattern| pattern.is_found(&shard.name)) {
            continue;
        }
        let plain_twin = shard.name.strip_suffix(".tgz").map(|stem| format!("{stem}.tar"));
        if let Some(twin) = plain_twin.filter(|twin| names.contains(twin.as_str())) {
            selected.left_out.push(collision(plan, &shard.name, &twin));
            continue;
        }
        selected.positions.push(position);
    }
    Ok(selected)
}

fn collision(plan: &PreparePlan, name: &str, twin: &str) -> Problem {
    let subject = Subject::shard(name);
    if plan.tgz == Tgz::Rewrite {
        return Problem::note(ProblemKind::CompressedShard, subject, format!("{twin} is used in its place"));
    }
    Problem::problem(
        ProblemKind::IndexNameCollision,
        subject,
        format!("left out: {twin} is next to it, and both would have the same .tar.idx"),
    )
    .with_hint("remove one of the two, or drop one with --exclude")
}

fn compile(patterns: &[String]) -> Outcome<Vec<Pattern>> {
    patterns
        .iter()
        .map(|text| {
            Pattern::compile(text).map_err(|error| {
                let mut problem =
                    Problem::refusal(ProblemKind::BadPattern, Subject::field(text.clone()), error.message.clone());
                problem.hint = error.hint.clone();
                problem.into_failure()
            })
        })
        .collect()
}
