//! Applies the answers to the data set: pattern matches, splits, problems, suggestions. Runs on a worker.

use gristmill_core::plan::FieldExpr;
use gristmill_core::shard_plan::RepeatedKeys;
use gristmill_core::{
    DatasetFacts, PreparePlan, Problem, ProblemKind, SampleMapping, Severity, ShardFacts, ShardId, SplitPlan,
};
use gristmill_ops::engine::plan;
use gristmill_ops::engine::plan::fields::{self, DecodedSample};
use gristmill_ops::engine::plan::splits::{self, PatternMatches, ResolvedSplits};
use gristmill_ops::engine::plan::suggest::{self, Suggestion};
use gristmill_ops::job::prepare::no_access;
use gristmill_pycompat::braces;
use std::borrow::Cow;
use std::cmp::Reverse;

/// A suggested division of the shards into splits.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SuggestedSplits {
    /// The suggested answer.
    pub plan: SplitPlan,
    /// A suitable ratio, even if `plan` is not a ratio.
    pub ratio: String,
    pub why: String,
    /// The shards of each split by this answer; empty if the plan has the same answer and its splits have shards.
    pub columns: Vec<(String, Vec<String>)>,
}

/// Results for one plan and one state of the facts.
#[derive(Clone, Debug, Default)]
pub struct PlanFindings {
    /// Shards that the exclude pattern matches: indexes in the list of shards, ascending.
    pub excluded: Option<Result<Vec<usize>, Problem>>,
    /// If the exclude pattern matches nothing, the pattern that was probably meant.
    pub excluded_meant: Option<String>,
    /// The division that was checked; a later answer may differ.
    pub division: SplitPlan,
    /// The splits.
    pub resolved: ResolvedSplits,
    /// Shards that each split pattern matches, in order.
    pub patterns: Vec<Result<PatternMatches, Problem>>,
    /// Problems and notes about the whole plan.
    pub problems: Vec<Problem>,
    /// The problem that the data set cannot be written to.
    pub no_access: Option<Problem>,
    /// The problem that keys occur more than once.
    pub same_keys: Option<Problem>,
    /// The problem that samples are unusable whatever the answers are.
    pub unusable_samples: Option<Problem>,
    /// How new shards treat repeated keys, if they can be prepared although these shards cannot.
    pub keys_in_new_shards: Option<RepeatedKeys>,
    /// The suggested splits.
    pub suggested_splits: SuggestedSplits,
    /// Suitable sample types, best first.
    pub suggested_types: Vec<Suggestion>,
    /// A suggested field map for the selected class, even if the class is not among the suggestions.
    pub suggested_fields: Vec<FieldExpr>,
    left_out: Vec<bool>,
}

impl PlanFindings {
    /// Computes all results. Takes milliseconds for thousands of shards.
    pub fn of(plan: &PreparePlan, facts: &DatasetFacts, samples: &[DecodedSample]) -> Self {
        let resolved = splits::resolve_in(plan, facts);
        let mut left_out = vec![false; facts.shards.len()];
        for out in &resolved.left_out {
            if let Some(slot) = left_out.get_mut(out.shard.0 as usize) {
                *slot = true;
            }
        }
        let typed = plan.exclude_shards.iter().find(|p| exact_name(p).is_none());
        let excluded = typed.map(|pattern| splits::exclude_matches(pattern, &facts.shards));
        let meant = excluded.as_ref().and_then(|m| m.as_ref().ok()).and_then(|m| m.meant.clone()).map(|m| m.pattern);
        let mut problems = plan::validate(plan, facts);
        problems.extend(fields::try_on(plan, samples));
        // Checked before any question is answered; a data set that is already prepared needs no access.
        let is_done = problems.iter().any(|problem| problem.kind == ProblemKind::NothingToDo);
        let no_access = no_access(facts).filter(|_| !is_done);
        let no_access = no_access.map(|problem| Problem { severity: Severity::Refusal, ..problem });
        problems.extend(no_access.clone());
        let patterns = match &plan.splits {
            SplitPlan::Patterns(patterns) => splits::preview_patterns(patterns, &facts.shards).each,
            _ => Vec::new(),
        };
        let mut suggested_splits = suggested_splits(facts);
        if suggested_splits.plan != plan.splits || resolved.splits.iter().all(|(_, shards)| shards.is_empty()) {
            let proposed = PreparePlan { splits: suggested_splits.plan.clone(), ..plan.clone() };
            suggested_splits.columns = names_of(&splits::resolve_in(&proposed, facts), facts);
        }
        Self {
            excluded: excluded.map(|m| m.map(|m| m.shards.iter().map(|id| id.0 as usize).collect())),
            excluded_meant: meant,
            division: plan.splits.clone(),
            patterns,
            problems,
            no_access,
            same_keys: plan::same_keys(plan, facts),
            unusable_samples: plan::unusable_samples(plan, facts),
            keys_in_new_shards: plan::keys_in_new_shards(plan, facts),
            suggested_splits,
            suggested_fields: suggested_fields(plan, facts, samples),
            suggested_types: suggest::sample_types(facts, samples),
            resolved,
            left_out,
        }
    }

    /// Whether the results were computed when all shards were listed.
    pub fn knows_all_shards(&self, facts: &DatasetFacts) -> bool {
        facts.opened && self.left_out.len() == facts.shards.len()
    }

    /// Whether a shard is not left out, so that it can be in a split.
    pub fn is_usable(&self, at: usize) -> bool {
        !self.left_out.get(at).copied().unwrap_or(false)
    }

    /// Returns the splits with the names of their shards.
    pub fn split_names(&self, facts: &DatasetFacts) -> Vec<(String, Vec<String>)> {
        names_of(&self.resolved, facts)
    }

    /// Returns the problems of the splits, the most severe first.
    pub fn split_problems(&self) -> impl Iterator<Item = &Problem> {
        let mut all: Vec<&Problem> = self.resolved.problems.iter().collect();
        all.sort_by_key(|p| Reverse(p.severity));
        all.into_iter()
    }

    /// Returns the problems of the field map.
    pub fn field_problems(&self) -> impl Iterator<Item = &Problem> {
        use ProblemKind::{FieldFails, MissingField, NoSuchPart, UnknownField};
        self.problems.iter().filter(|p| matches!(p.kind, FieldFails | MissingField | NoSuchPart | UnknownField))
    }

    /// Returns the names of the parts, the most frequent first.
    pub fn parts_by_share<'f>(&self, facts: &'f DatasetFacts) -> Vec<&'f str> {
        let mut parts: Vec<_> = facts.parts.iter().collect();
        parts.sort_by_key(|(name, part)| (Reverse(part.samples), name.as_str()));
        parts.into_iter().map(|(name, _)| name.as_str()).collect()
    }
}

fn names_of(resolved: &ResolvedSplits, facts: &DatasetFacts) -> Vec<(String, Vec<String>)> {
    let name = |id: &ShardId| facts.shards.get(id.0 as usize).map(|s| written_name(s).into_owned());
    resolved.splits.iter().map(|(n, ids)| (n.clone(), ids.iter().filter_map(name).collect())).collect()
}

/// Returns the best suggestion, and a suitable ratio, which is filled in when the user changes from patterns to a ratio.
fn suggested_splits(facts: &DatasetFacts) -> SuggestedSplits {
    let mut found = SuggestedSplits::default();
    for suggestion in suggest::splits(facts) {
        if let SplitPlan::Ratio(text) = &suggestion.splits {
            found.ratio.clone_from(text);
        }
        if found.plan == SplitPlan::Unset {
            found.plan = suggestion.splits;
            found.why = suggestion.why;
        }
    }
    found
}

fn suggested_fields(plan: &PreparePlan, facts: &DatasetFacts, samples: &[DecodedSample]) -> Vec<FieldExpr> {
    match &plan.loading {
        SampleMapping::FieldMap { sample_type, .. } => suggest::field_map_for(sample_type, facts, samples),
        _ => Vec::new(),
    }
}

/// Returns the name of a shard in lists of splits: for a `.tgz`, the name of the `.tar` that is unpacked from it.
pub fn written_name(shard: &ShardFacts) -> Cow<'_, str> {
    match shard.name.strip_suffix(".tgz").filter(|_| shard.is_tgz) {
        Some(stem) => Cow::Owned(format!("{stem}.tar")),
        None => Cow::Borrowed(&shard.name),
    }
}

/// Expands the braces in shard expressions; an expression that cannot be expanded stays as it is.
pub fn expand_all(items: &[String]) -> Vec<String> {
    let expand = |item: &String| braces::expand(item, braces::MAX_RESULTS).unwrap_or_else(|_| vec![item.clone()]);
    items.iter().flat_map(expand).collect()
}

/// Returns the pattern that matches exactly one shard name.
pub fn exact_pattern(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 8);
    out.push('^');
    for c in name.chars() {
        if matches!(c, '\\' | '.' | '+' | '*' | '?' | '(' | ')' | '|' | '[' | ']' | '{' | '}' | '^' | '$') {
            out.push('\\');
        }
        out.push(c);
    }
    out.push('$');
    out
}

/// Returns the shard name of a pattern from [`exact_pattern`]; `None` for any other pattern.
pub fn exact_name(pattern: &str) -> Option<String> {
    let inner = pattern.strip_prefix('^')?.strip_suffix('$')?;
    let mut name = String::with_capacity(inner.len());
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        name.push(if c == '\\' { chars.next()? } else { c });
    }
    (exact_pattern(&name) == pattern).then_some(name)
}
