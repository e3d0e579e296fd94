//! Finds the problems of the current splits and excludes.

use super::editor::SplitEditor;
use super::view::{Matches, Names};
use crate::engine::plan::nearest;
use gristmill_core::text::{agree, count, count_verb};
use gristmill_core::{Problem, ProblemKind, Subject};
use gristmill_data::formats::energon::split_yaml::repeated_excludes;
use gristmill_pycompat::braces;
use std::collections::{BTreeMap, HashMap};

/// Limit of items of one kind that are reported individually; further items are counted.
const MAX_NAMED_ITEMS: usize = 20;

impl SplitEditor {
    /// Returns all known problems: expressions that cannot be expanded, shards that the data set does not have, empty splits, shards in two
    /// splits or in none, and excludes that match nothing.
    pub fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        if self.doc.has_nothing() {
            let message = "a list is left out or null, and the loader stops at it; the next edit writes [] there";
            problems.push(Problem::problem(ProblemKind::BadFile, Subject::path(self.path()), message));
        }
        problems.extend(repeated_excludes(self.doc.exclude_lines(), self.path()));
        broken(self, &mut problems);
        unknown(self, &mut problems);
        empty(self, &mut problems);
        shared(self, &mut problems);
        excludes(self, &mut problems);
        problems
    }
}

fn broken(editor: &SplitEditor, problems: &mut Vec<Problem>) {
    for split in editor.doc.splits() {
        for item in split.items().iter().map(|item| item.value()).filter(|item| item.contains(['{', '}'])) {
            if let Err(error) = braces::count(item) {
                let message = format!("'{item}' cannot be expanded: {error}");
                problems.push(Problem::problem(ProblemKind::BadBraces, Subject::field(split.name().as_ref()), message));
            }
        }
    }
}

fn unknown(editor: &SplitEditor, problems: &mut Vec<Problem>) {
    for split in editor.splits() {
        let mut lost = split.shards.iter().filter(|shard| shard.id.is_none());
        for shard in lost.by_ref().take(MAX_NAMED_ITEMS) {
            let message =
                format!("split '{}' names a shard that the index does not have; the loader does not start", split.name);
            let problem = Problem::problem(ProblemKind::MatchesNothing, Subject::shard(shard.name.as_ref()), message);
            let known = editor.shards().iter().take(10_000).map(|(name, _)| name.as_ref());
            problems.push(match nearest(&shard.name, known) {
                Some(near) => problem.with_hint(format!("did you mean '{near}'?")),
                None => problem.with_hint("take it out of the split, or prepare the data set again with --update"),
            });
        }
        let more = lost.count();
        if more > 0 {
            let message = format!(
                "{} of this split {} not in the index",
                count(more as u64, "more name"),
                agree(more as u64, "is", "are")
            );
            let subject = Subject::field(split.name.as_ref());
            problems.push(Problem::problem(ProblemKind::MatchesNothing, subject, message));
        }
    }
}

fn empty(editor: &SplitEditor, problems: &mut Vec<Problem>) {
    for split in editor.splits() {
        if split.shards.iter().any(|shard| shard.id.is_some() && !shard.is_excluded) {
            continue;
        }
        let why = if split.shards.is_empty() { "it has no shard" } else { "every shard of it is excluded or unknown" };
        let message = format!("split '{}' is empty: {why}; a trainer that uses it fails", split.name);
        problems.push(Problem::note(ProblemKind::EmptySplit, Subject::field(split.name.as_ref()), message));
    }
    let loose = editor.loose().shards.iter().filter(|shard| !shard.is_excluded);
    let samples: u64 = loose.clone().map(|shard| shard.samples).sum();
    let shards = loose.count() as u64;
    if shards > 0 {
        let verb = agree(shards, "is", "are");
        let message = format!("{} ({}) {verb} in no split", count(shards, "shard"), count(samples, "sample"));
        problems.push(Problem::note(ProblemKind::UnassignedShards, Subject::default(), message));
    }
}

fn shared(editor: &SplitEditor, problems: &mut Vec<Problem>) {
    let mut first: HashMap<&str, &str> = HashMap::new();
    let mut pairs: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for split in editor.splits() {
        for shard in split.shards.iter() {
            match first.get(shard.name.as_ref()) {
                Some(&other) => pairs.entry((other, &split.name)).or_default().push(&shard.name),
                None => {
                    first.insert(&shard.name, &split.name);
                }
            }
        }
    }
    for ((a, b), shards) in pairs {
        let place = if a == b { format!("twice in split '{a}'") } else { format!("in both '{a}' and '{b}'") };
        let verb = agree(shards.len() as u64, "is", "are");
        let example = shards.first().copied().unwrap_or_default();
        let message = format!("{} {verb} {place}, e.g. {example}", count(shards.len() as u64, "shard"));
        problems.push(Problem::problem(ProblemKind::ShardInTwoSplits, Subject::field(b), message));
    }
}

fn excludes(editor: &SplitEditor, problems: &mut Vec<Problem>) {
    let mut lost = editor.excludes().iter().filter(|view| view.matches == Matches::Nothing);
    for view in lost.by_ref().take(MAX_NAMED_ITEMS) {
        let subject = Subject::field("exclude");
        problems.push(match view.names {
            Names::Broken => {
                let message = format!("the exclude '{}' cannot be expanded; the loader does not start", view.item);
                Problem::problem(ProblemKind::BadBraces, subject, message)
                    .with_hint("write \\{ and \\} for braces that are part of a name")
            }
            Names::NoShard => {
                let message = format!("the exclude '{}' names no shard of the index; it excludes nothing", view.item);
                Problem::problem(ProblemKind::MatchesNothing, subject, message)
                    .with_hint("an item is SHARD or SHARD/KEY; correct it, or remove it")
            }
            _ => {
                let message = format!("the exclude '{}' names no sample that is there; it excludes nothing", view.item);
                Problem::problem(ProblemKind::MatchesNothing, subject, message)
            }
        });
    }
    let more = lost.count();
    if more > 0 {
        let message = format!("{} nothing", count_verb(more as u64, "more exclude", "matches", "match"));
        problems.push(Problem::problem(ProblemKind::MatchesNothing, Subject::field("exclude"), message));
    }
}
