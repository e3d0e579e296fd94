//! Keys that name two samples: refused with both places, or told with what became of the later one.

use super::collect::Selection;
use super::Context;
use crate::engine::index::{BuiltIndex, DuplicateKey};
use crate::model::{text, Failure, Outcome, Problem, ProblemKind, ProblemSink, ShardId, Subject};

/// Both places of each duplicate are listed; the first one is the error.
pub(super) fn duplicates_refused(context: &Context, selection: &Selection, built: &BuiltIndex) -> Failure {
    let name = |place: &(ShardId, u64)| shard_name(context, selection, place.0);
    for duplicate in &built.duplicates {
        let problem = Problem::refusal(
            ProblemKind::DuplicateKey,
            Subject::shard(name(&duplicate.second)).key(&duplicate.key),
            places(duplicate, &name),
        );
        if context.shared.problems.report(problem).is_err() {
            break;
        }
    }
    let failure = match built.duplicates.first() {
        Some(first) => Failure::data(
            "preparing the data set",
            format!("{} in all; {}", text::count(built.duplicate_count, "duplicate key"), places(first, &name)),
        )
        .on(Subject::shard(name(&first.second)).key(&first.key)),
        None => Failure::data("preparing the data set", text::count(built.duplicate_count, "duplicate key")),
    };
    failure.with_hint(
        "keys must be unique over the whole data set: leave a shard out with --exclude, keep the first copy with \
         --duplicates keep-first, or do without access by name with --skip-sample-tables",
    )
}

fn places(duplicate: &DuplicateKey, name: &impl Fn(&(ShardId, u64)) -> String) -> String {
    format!(
        "the key stands in {} (sample {}) and again in {} (sample {})",
        name(&duplicate.first),
        duplicate.first.1,
        name(&duplicate.second),
        duplicate.second.1
    )
}

/// The name of a shard by its place in the index.
pub(super) fn shard_name(context: &Context, selection: &Selection, id: ShardId) -> String {
    let state = context.shared.lock();
    let position = selection.positions.get(id.0 as usize).copied().unwrap_or(usize::MAX);
    state.shards.get(position).map_or_else(String::new, |shard| shard.name.clone())
}

pub(super) fn tell_duplicates(context: &Context, selection: &Selection, built: &BuiltIndex) -> Outcome<()> {
    for duplicate in &built.duplicates {
        let name = |place: &(ShardId, u64)| shard_name(context, selection, place.0);
        let fate = if duplicate.first.0 == duplicate.second.0 {
            "only the first can be reached by name; both are trained on, since an exclude would drop both"
        } else {
            "the later one is excluded"
        };
        context.shared.problems.report(Problem::problem(
            ProblemKind::DuplicateKey,
            Subject::shard(name(&duplicate.second)).key(&duplicate.key),
            format!("{}; {fate}", places(duplicate, &name)),
        ))?;
    }
    Ok(())
}
