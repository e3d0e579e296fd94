//! Division by patterns: braces are expanded, and each result is a regular expression that is matched at the start of the shard name.

use super::{check_split_names, first_and_last, last_wins, listed, Candidates};
use gristmill_core::plan::SplitPattern;
use gristmill_core::{PreparePlan, Problem, ProblemKind, ShardFacts, ShardId, Subject};
use gristmill_pycompat::braces;
use gristmill_pycompat::pattern::{regex_of_glob, Pattern};
use std::collections::BTreeSet;

/// Limit of regular expressions to which a pattern may expand.
const MAX_ALTERNATIVES: usize = 10_000;

/// The matches of a pattern.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct PatternMatches {
    /// Matching shards, in index order.
    pub shards: Vec<ShardId>,
    /// Number of shards that were compared with the pattern.
    pub total: usize,
    /// Name of the first match; `None` without matches.
    pub first: Option<String>,
    /// Name of the last match; `None` without matches.
    pub last: Option<String>,
    /// The pattern that was probably intended, with the reason; only set if no shard matches.
    pub meant: Option<MeantPattern>,
}

/// A pattern that matches shards although the given one does not.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct MeantPattern {
    /// The pattern that matches.
    pub pattern: String,
    /// Number of shards that this pattern matches.
    pub matches: usize,
    /// The mistake in the given pattern, in words.
    pub why: &'static str,
}

/// The matches of all patterns together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PatternsPreview {
    /// The result for each pattern, in order; an error is the reason why a pattern cannot be used.
    pub each: Vec<Result<PatternMatches, Problem>>,
    /// Shards that no pattern matches.
    pub unassigned: Vec<ShardId>,
}

pub(crate) struct CompiledSplitPattern(Vec<Pattern>);

impl CompiledSplitPattern {
    pub(crate) fn new(pattern: &str) -> Result<Self, Problem> {
        let expanded = braces::expand_keeping_escapes(pattern, MAX_ALTERNATIVES).map_err(|e| {
            Problem::refusal(ProblemKind::BadBraces, Subject::field(pattern), format!("braces are expanded first: {e}"))
                .with_hint("in a regular expression write \\d\\d\\d instead of \\d{3,3}")
        })?;
        let torn = expanded.len() > 1 && has_quantifier_with_comma(pattern);
        let compiled: Result<Vec<Pattern>, Problem> = expanded.iter().map(|p| compile(p, pattern, torn)).collect();
        Ok(Self(compiled?))
    }
    pub(crate) fn matches(&self, name: &str) -> bool {
        self.0.iter().any(|p| p.is_match_start(name))
    }
}

fn compile(one: &str, whole: &str, torn: bool) -> Result<Pattern, Problem> {
    Pattern::compile(one).map_err(|e| {
        let problem = Problem::refusal(ProblemKind::BadPattern, Subject::field(whole), e.message);
        match e.hint {
            _ if torn => problem.with_hint(OVERLAP_REASON),
            Some(hint) => problem.with_hint(hint),
            None => match regex_of_glob(whole) {
                Some(regex) => problem.with_hint(format!("patterns are regular expressions, did you mean '{regex}'?")),
                None => problem.with_hint(BROKEN),
            },
        }
    })
}

/// Hint for a pattern that does not compile.
const BROKEN: &str =
    "patterns are Python regular expressions: put a backslash before a character that is meant literally";

const OVERLAP_REASON: &str =
    "braces with a comma are expanded before the regular expression is read, so {2,3} becomes two patterns; \
                    write \\d\\d\\d? instead of \\d{2,3}";

/// Whether a pattern has a repeat count like `\d{2,3}`, which brace expansion splits.
fn has_quantifier_with_comma(pattern: &str) -> bool {
    pattern.match_indices('{').any(|(at, _)| {
        let inner = pattern[at + 1..].split('}').next().unwrap_or("");
        let counts = inner.split_once(',').is_some_and(|(a, b)| {
            !(a.is_empty() && b.is_empty()) && a.bytes().chain(b.bytes()).all(|c| c.is_ascii_digit())
        });
        let before = &pattern[..at];
        let repeats = before.ends_with(['.', ')', ']']) || ["\\d", "\\w", "\\s"].iter().any(|e| before.ends_with(e));
        counts && repeats
    })
}

/// Returns the matches of `pattern` among `shards`, for a preview during typing. The error is the reason why the pattern cannot be used.
pub fn pattern_matches(pattern: &str, shards: &[ShardFacts]) -> Result<PatternMatches, Problem> {
    let compiled = CompiledSplitPattern::new(pattern)?;
    Ok(matches_of(pattern, shards, &|name| compiled.matches(name), &|other, name| {
        CompiledSplitPattern::new(other).is_ok_and(|c| c.matches(name))
    }))
}

/// Returns the matches of an `--exclude` pattern among `shards`. It may match anywhere in the name.
pub fn exclude_matches(pattern: &str, shards: &[ShardFacts]) -> Result<PatternMatches, Problem> {
    let compiled = compile(pattern, pattern, false)?;
    Ok(matches_of(pattern, shards, &|name| compiled.is_found(name), &|other, name| {
        Pattern::compile(other).is_ok_and(|c| c.is_found(name))
    }))
}

fn matches_of(
    pattern: &str,
    shards: &[ShardFacts],
    matches: &dyn Fn(&str) -> bool,
    other_matches: &dyn Fn(&str, &str) -> bool,
) -> PatternMatches {
    let ids = || (0u32..).zip(shards);
    let found: Vec<ShardId> = ids().filter(|(_, s)| matches(&s.name)).map(|(id, _)| ShardId(id)).collect();
    let name = |id: Option<&ShardId>| id.and_then(|id| shards.get(id.0 as usize)).map(|s| s.name.clone());
    let meant = if found.is_empty() { meant(pattern, shards, other_matches) } else { None };
    PatternMatches { first: name(found.first()), last: name(found.last()), total: shards.len(), shards: found, meant }
}

/// Returns the first variation of a pattern that matches a shard.
fn meant(pattern: &str, shards: &[ShardFacts], matches: &dyn Fn(&str, &str) -> bool) -> Option<MeantPattern> {
    let candidates = [
        (regex_of_glob(pattern), "patterns are regular expressions, not globs"),
        (Some(format!(".*{pattern}")), "patterns are matched from the start of the name"),
        (
            regex_of_glob(pattern).map(|p| format!(".*{p}")),
            "patterns are regular expressions, matched from the start of the name",
        ),
        (Some(format!("(?i){pattern}")), "upper and lower case count"),
        (pattern.strip_prefix("./").map(str::to_owned), "names are relative to the data set's folder, without ./"),
        (pattern.strip_prefix('/').map(str::to_owned), "names are relative to the data set's folder"),
    ];
    candidates.into_iter().find_map(|(candidate, why)| {
        let pattern = candidate?;
        let matches = shards.iter().filter(|s| matches(&pattern, &s.name)).count();
        (matches > 0).then_some(MeantPattern { pattern, matches, why })
    })
}

/// Returns the matches of every pattern, and the shards that remain unassigned.
pub fn preview_patterns(patterns: &[SplitPattern], shards: &[ShardFacts]) -> PatternsPreview {
    let each: Vec<_> = patterns.iter().map(|p| pattern_matches(&p.pattern, shards)).collect();
    let taken: BTreeSet<ShardId> = each.iter().flatten().flat_map(|m| m.shards.iter().copied()).collect();
    let unassigned = (0u32..shards.len() as u32).map(ShardId).filter(|id| !taken.contains(id)).collect();
    PatternsPreview { each, unassigned }
}

pub(super) fn divide(
    plan: &PreparePlan,
    patterns: &[SplitPattern],
    candidates: &Candidates<'_>,
    problems: &mut Vec<Problem>,
) -> Vec<(String, Vec<ShardId>)> {
    check_split_names(patterns.iter().map(|p| p.name.as_str()), problems);
    let mut splits = Vec::new();
    for (name, pattern) in last_wins(patterns.iter().map(|p| (p.name.as_str(), p.pattern.as_str()))) {
        let shards = match CompiledSplitPattern::new(pattern) {
            Ok(compiled) => {
                candidates.eligible.iter().copied().filter(|&id| compiled.matches(&candidates.name(id))).collect()
            }
            Err(mut problem) => {
                problem.message = format!("pattern '{pattern}' of split '{name}': {}", problem.message);
                problem.subject = Subject::field(name);
                problems.push(problem);
                Vec::new()
            }
        };
        if shards.is_empty() && !problems.iter().any(|p| p.subject.field.as_deref() == Some(name) && is_broken(p)) {
            problems.push(matches_nothing(plan, name, pattern, candidates));
        }
        splits.push((name.to_owned(), shards));
    }
    listed::note_shared(&splits, candidates, problems);
    splits
}

fn is_broken(problem: &Problem) -> bool {
    matches!(problem.kind, ProblemKind::BadPattern | ProblemKind::BadBraces)
}

fn matches_nothing(plan: &PreparePlan, name: &str, pattern: &str, candidates: &Candidates<'_>) -> Problem {
    let mut eligible = candidates.eligible.clone();
    eligible.sort_unstable();
    let shards: Vec<ShardFacts> = eligible.iter().filter_map(|&id| candidates.facts(id)).cloned().collect();
    let message = format!(
        "pattern '{pattern}' of split '{name}' matches 0 of {}",
        gristmill_core::text::count(shards.len() as u64, "shard")
    );
    if plan.compat {
        let message = format!("{message}; written as an empty split");
        return Problem::note(ProblemKind::CompatLoss, Subject::field(name), message);
    }
    if plan.allow_empty_splits {
        return Problem::note(ProblemKind::EmptySplit, Subject::field(name), message);
    }
    let meant = pattern_matches(pattern, &shards).ok().and_then(|m| m.meant);
    let mut hint = match meant {
        Some(meant) => format!(
            "{}; did you mean '{}'? It matches {}",
            meant.why,
            meant.pattern,
            gristmill_core::text::count(meant.matches as u64, "shard")
        ),
        None if has_quantifier_with_comma(pattern) => OVERLAP_REASON.to_owned(),
        None => "patterns are regular expressions matched from the start of the name".to_owned(),
    };
    if let Some(names) = first_and_last(&eligible, candidates.shards) {
        hint.push_str(&format!("; shards are named {names}"));
    }
    hint.push_str("; --allow-empty-splits accepts it");
    Problem::refusal(ProblemKind::MatchesNothing, Subject::field(name), message).with_hint(hint)
}
