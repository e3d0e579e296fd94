//! Divides shards into splits: by ratio, by patterns, by lists, and again for an update with new shards.
//!
//! Shards are identified by their position in the given list ([`ShardId`]). `--exclude` is applied here, so that the list may include
//! excluded shards.

mod listed;
mod patterns;
mod ratio;
#[cfg(test)]
mod tests;
mod update;

pub(crate) use patterns::CompiledSplitPattern;
pub use patterns::{exclude_matches, pattern_matches, preview_patterns, PatternMatches, PatternsPreview};
pub use ratio::fixing_ratio;

use gristmill_core::{
    DatasetFacts, PreparePlan, Problem, ProblemKind, Rerun, ShardFacts, ShardId, ShardState, SplitPlan, Subject, Tgz,
};
use gristmill_pycompat::pattern::Pattern;
use gristmill_pycompat::random;
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

/// The reason why a shard cannot be in a split.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LeftOutReason {
    /// `--exclude` matches the name, so that the shard is not indexed either.
    Excluded,
    /// A `.tgz`, which is indexed, but which the loader cannot read.
    Compressed,
    /// A `.tgz` whose `.tar` also exists.
    TarIsThere,
    /// The name cannot be written in a form that the loader resolves.
    UnusableName,
}

impl LeftOutReason {
    /// Returns a description of the reason.
    pub fn title(self) -> &'static str {
        match self {
            Self::Excluded => "excluded by pattern",
            Self::Compressed => "compressed: the loader cannot read it",
            Self::TarIsThere => "compressed, and its .tar is there",
            Self::UnusableName => "the loader cannot find this name",
        }
    }
}

/// A shard that cannot be in a split.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct SkippedShard {
    /// Position of the shard.
    pub shard: ShardId,
    /// Reason why the shard cannot be in a split.
    pub reason: LeftOutReason,
}

/// The result of a division.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct ResolvedSplits {
    /// Splits with their shards, in the order in which they are written.
    pub splits: Vec<(String, Vec<ShardId>)>,
    /// Shards that could be in a split but are in none, in index order.
    pub unassigned: Vec<ShardId>,
    /// Shards that cannot be in a split, in index order.
    pub left_out: Vec<SkippedShard>,
    /// Notes, and refusals if the answers cannot be used.
    pub problems: Vec<Problem>,
}

impl ResolvedSplits {
    /// Returns the shards of a split.
    pub fn shards_of(&self, split: &str) -> &[ShardId] {
        self.splits.iter().find(|(name, _)| name == split).map_or(&[], |(_, shards)| shards)
    }
    /// Returns the number of samples in a split's shards, as far as they have been counted.
    pub fn samples_of(&self, split: &str, shards: &[ShardFacts]) -> u64 {
        self.shards_of(split).iter().filter_map(|id| shards.get(id.0 as usize)).map(|s| s.samples).sum()
    }
    /// Whether a problem prevents the run.
    pub fn is_refused(&self) -> bool {
        self.problems.iter().any(|p| p.severity == gristmill_core::Severity::Refusal)
    }
}

/// The shards of a plan, with the decisions that precede any division.
pub(crate) struct Candidates<'a> {
    pub(crate) shards: &'a [ShardFacts],
    /// Shards that can be in a split, in index order or shuffled.
    pub(crate) eligible: Vec<ShardId>,
    pub(crate) left_out: Vec<SkippedShard>,
}

impl<'a> Candidates<'a> {
    pub(crate) fn new(plan: &PreparePlan, shards: &'a [ShardFacts]) -> Self {
        let excluded = excluded(&plan.exclude_shards, shards);
        let names: BTreeSet<&str> =
            if plan.tgz == Tgz::Rewrite { shards.iter().map(|s| s.name.as_str()).collect() } else { BTreeSet::new() };
        let (mut eligible, mut left_out) = (Vec::new(), Vec::new());
        for (position, shard) in shards.iter().enumerate() {
            let id = ShardId(position as u32);
            match reason(plan, shard, excluded[position], &names) {
                Some(reason) => left_out.push(SkippedShard { shard: id, reason }),
                None => eligible.push(id),
            }
        }
        // The reference program shuffles only for a ratio; shards of patterns and lists keep their order.
        if plan.shuffle_tars && !matches!(plan.splits, SplitPlan::Patterns(_) | SplitPlan::Listed(_)) {
            random::shuffle(&mut eligible);
        }
        Self { shards, eligible, left_out }
    }
    pub(crate) fn facts(&self, id: ShardId) -> Option<&'a ShardFacts> {
        self.shards.get(id.0 as usize)
    }
    /// Returns the name of a shard in `split.yaml`.
    pub(crate) fn name(&self, id: ShardId) -> Cow<'a, str> {
        self.facts(id).map_or(Cow::Borrowed(""), written_name)
    }
    /// Returns the eligible shards by their written names.
    pub(crate) fn by_name(&self) -> HashMap<Cow<'a, str>, ShardId> {
        self.eligible.iter().map(|&id| (self.name(id), id)).collect()
    }
    fn finish(self, splits: Vec<(String, Vec<ShardId>)>, problems: Vec<Problem>) -> ResolvedSplits {
        let assigned: BTreeSet<ShardId> = splits.iter().flat_map(|(_, shards)| shards.iter().copied()).collect();
        let mut unassigned: Vec<ShardId> = self.eligible.iter().copied().filter(|id| !assigned.contains(id)).collect();
        unassigned.sort_unstable();
        ResolvedSplits { splits, unassigned, left_out: self.left_out, problems }
    }
}

fn reason(plan: &PreparePlan, shard: &ShardFacts, excluded: bool, names: &BTreeSet<&str>) -> Option<LeftOutReason> {
    if excluded {
        return Some(LeftOutReason::Excluded);
    }
    if shard.is_tgz && !plan.compat && plan.tgz == Tgz::Skip {
        return Some(LeftOutReason::Compressed);
    }
    if shard.is_tgz && plan.tgz == Tgz::Rewrite && names.contains(&*written_name(shard)) {
        return Some(LeftOutReason::TarIsThere);
    }
    shard.unusable.then_some(LeftOutReason::UnusableName)
}

/// Returns the name of a shard in `split.yaml`: its own name, or the name of the `.tar` for a `.tgz` that is unpacked.
fn written_name(shard: &ShardFacts) -> Cow<'_, str> {
    match shard.name.strip_suffix(".tgz") {
        Some(stem) if shard.is_tgz => Cow::Owned(format!("{stem}.tar")),
        _ => Cow::Borrowed(&shard.name),
    }
}

/// Returns which shards `--exclude` drops. Patterns that cannot be used match no shard.
pub fn excluded(patterns: &[String], shards: &[ShardFacts]) -> Vec<bool> {
    let patterns: Vec<Pattern> = patterns.iter().filter_map(|p| Pattern::compile(p).ok()).collect();
    shards.iter().map(|shard| patterns.iter().any(|p| p.is_found(&shard.name))).collect()
}

/// Divides shards according to the plan, as if the data set had never been prepared.
pub fn resolve(plan: &PreparePlan, shards: &[ShardFacts]) -> ResolvedSplits {
    let candidates = Candidates::new(plan, shards);
    let mut problems = Vec::new();
    let splits = match &plan.splits {
        SplitPlan::Unset => Vec::new(),
        SplitPlan::Ratio(text) => ratio::divide(plan, text, &candidates, &mut problems),
        SplitPlan::Patterns(patterns) => patterns::divide(plan, patterns, &candidates, &mut problems),
        SplitPlan::Listed(lists) => listed::divide(plan, lists, &candidates, &mut problems),
    };
    let unset = matches!(plan.splits, SplitPlan::Unset | SplitPlan::Ratio(_));
    let resolved = candidates.finish(splits, problems);
    if unset {
        resolved
    } else {
        with_unassigned_note(resolved, shards)
    }
}

/// Divides shards according to the plan. With `--update` on a prepared data set, existing assignments are kept, and only new shards are
/// assigned.
pub fn resolve_in(plan: &PreparePlan, facts: &DatasetFacts) -> ResolvedSplits {
    let resolved = match &facts.prepared {
        Some(prepared) if plan.rerun == Rerun::Update && !prepared.splits.is_empty() => {
            with_unassigned_note(update::resolve(plan, &facts.shards, prepared), &facts.shards)
        }
        _ => resolve(plan, &facts.shards),
    };
    with_sampleless_notes(resolved, &facts.shards)
}

/// Adds notes on splits that have shards but no samples; a trainer fails on them as on a split without shards.
fn with_sampleless_notes(mut resolved: ResolvedSplits, shards: &[ShardFacts]) -> ResolvedSplits {
    let is_read = |shard: &&ShardFacts| matches!(shard.state, ShardState::Scanned | ShardState::Failed);
    for (name, ids) in &resolved.splits {
        let of: Vec<&ShardFacts> = ids.iter().filter_map(|id| shards.get(id.0 as usize)).collect();
        let is_empty = !of.is_empty() && of.iter().all(|shard| is_read(shard) && shard.samples == 0);
        // A data set without any samples is reported by another check.
        if is_empty && shards.iter().any(|shard| shard.samples > 0) {
            let message = format!("it has no samples in {}", gristmill_core::text::count(of.len() as u64, "shard"));
            let problem = Problem::note(ProblemKind::EmptySplit, Subject::field(name.as_str()), message);
            let hint = "exclude shards that hold nothing, or divide them otherwise: a trainer that uses it fails";
            resolved.problems.push(problem.with_hint(hint));
        }
    }
    resolved
}

fn with_unassigned_note(mut resolved: ResolvedSplits, shards: &[ShardFacts]) -> ResolvedSplits {
    if resolved.is_refused() || resolved.splits.is_empty() {
        return resolved;
    }
    if let Some(names) = first_and_last(&resolved.unassigned, shards) {
        let noun = gristmill_core::text::count(resolved.unassigned.len() as u64, "shard");
        let verb = gristmill_core::text::agree(resolved.unassigned.len() as u64, "is", "are");
        let message = format!("{noun} {verb} indexed but in no split: {names}");
        resolved.problems.push(Problem::note(ProblemKind::UnassignedShards, Subject::default(), message));
    }
    resolved
}

/// Returns the first and last name: `a.tar`, or `a.tar … z.tar`.
pub(crate) fn first_and_last(ids: &[ShardId], shards: &[ShardFacts]) -> Option<String> {
    let name = |id: &ShardId| shards.get(id.0 as usize).map_or("", |s| s.name.as_str());
    match ids {
        [] => None,
        [one] => Some(name(one).to_owned()),
        [first, .., last] => Some(format!("{} … {}", name(first), name(last))),
    }
}

/// Checks the names of splits: refuses an empty name, and adds a note on an unusual one.
pub(crate) fn check_split_names<'n>(names: impl Iterator<Item = &'n str>, problems: &mut Vec<Problem>) {
    let mut seen = BTreeSet::new();
    for name in names {
        let subject = || Subject::field(name);
        if name.is_empty() || name.chars().any(char::is_control) {
            let message = "a split needs a name of printable characters, such as train, val or test";
            problems.push(Problem::refusal(ProblemKind::BadName, subject(), message));
        } else if name.trim() != name {
            let message = "the name of this split starts or ends with a space; the trainer has to ask for exactly that";
            problems.push(Problem::note(ProblemKind::BadName, subject(), message));
        }
        if !seen.insert(name) {
            let message = format!("split '{name}' is given more than once; the last one is used");
            problems.push(
                Problem::note(ProblemKind::Other, subject(), message)
                    .with_hint(format!("join the patterns: --split-parts '{name}:(?:A|B)'")),
            );
        }
    }
}

/// Returns entries in the order of a Python dict: the position of the first, the value of the last with the same name.
pub(crate) fn last_wins<'n, V>(entries: impl Iterator<Item = (&'n str, V)>) -> Vec<(&'n str, V)> {
    let mut out: Vec<(&str, V)> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (name, value) in entries {
        match places.get(name) {
            Some(&place) => out[place].1 = value,
            None => {
                places.insert(name, out.len());
                out.push((name, value));
            }
        }
    }
    out
}
