//! Finds the shards that match a pattern.

use super::editor::SplitEditor;
use crate::engine::plan::pattern_matches;
use crate::engine::plan::splits::CompiledSplitPattern;
use gristmill_core::{Failure, Outcome, ShardFacts, Subject};

const ACTIVITY: &str = "choosing shards by a pattern";

/// Returns the shards that match a pattern, as positions in [`SplitEditor::shards`].
///
/// Patterns have the format of `--split-parts`: braces are expanded, and each result is a regular expression that is matched at the start
/// of the name. A pattern that cannot be used, or that matches no shard, is an error whose hint contains the pattern that was probably
/// intended.
pub fn matching(editor: &SplitEditor, pattern: &str) -> Outcome<Vec<usize>> {
    let compiled = CompiledSplitPattern::new(pattern).map_err(|problem| {
        let mut failure = Failure::usage(ACTIVITY, problem.message).on(problem.subject);
        failure.hint = problem.hint;
        failure
    })?;
    let names = editor.shards().iter().enumerate();
    let found: Vec<usize> = names.filter(|(_, (name, _))| compiled.matches(name)).map(|(id, _)| id).collect();
    if !found.is_empty() {
        return Ok(found);
    }
    let facts: Vec<ShardFacts> = editor
        .shards()
        .iter()
        .map(|(name, _)| ShardFacts { name: name.to_string(), ..ShardFacts::default() })
        .collect();
    let why = format!("it matches 0 of {}", gristmill_core::text::count(facts.len() as u64, "shard"));
    let failure = Failure::usage(ACTIVITY, why).on(Subject::field(pattern));
    Err(match pattern_matches(pattern, &facts).ok().and_then(|matches| matches.meant) {
        Some(meant) => failure.with_hint(format!(
            "{}; did you mean '{}'? It matches {}",
            meant.why,
            meant.pattern,
            gristmill_core::text::count(meant.matches as u64, "shard")
        )),
        None => failure.with_hint("patterns are regular expressions matched from the start of the name"),
    })
}
