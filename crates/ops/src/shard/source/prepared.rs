//! Splits and excluded samples of a prepared input.

use super::ACTIVITY;
use gristmill_core::{Failure, Outcome, ProblemKind, ShardPlan, Subject};
use gristmill_data::formats::energon::{info::Info, split_yaml::SplitFile};
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// Metadata of a prepared data set. Empty for other inputs.
#[derive(Default)]
pub(super) struct PreparedInput {
    /// Names of the splits that contain each shard.
    splits: HashMap<String, Vec<String>>,
    /// Excluded items, as `SHARD` or `SHARD/KEY`.
    excludes: HashSet<String>,
    /// Whether excluded samples are written, too.
    keeps_excluded: bool,
    /// Number of samples of each omitted shard.
    excluded_samples: HashMap<String, u64>,
    /// Whether more than one of the chosen splits has samples.
    is_divided: bool,
    is_prepared: bool,
}

impl PreparedInput {
    pub(super) fn read(root: &Path, plan: &ShardPlan) -> Outcome<Self> {
        let choice = &plan.choice;
        let Some(info) = Info::read(root)? else {
            return match choice.splits.is_empty() {
                true => Ok(Self::default()),
                false => Err(Failure::usage(ACTIVITY, "it is not prepared, so it has no splits for --split")
                    .on(Subject::path(root))
                    .with_hint("leave out --split, or prepare it first")),
            };
        };
        let file = SplitFile::read(root)?.unwrap_or_default();
        let (lists, bad) = file.expanded();
        if let Some(bad) = bad.first() {
            let failure = Failure::data(ACTIVITY, format!("split.yaml: {}", bad.error)).of_kind(ProblemKind::BadBraces);
            return Err(failure.on(Subject::path(root)).with_hint("repair split.yaml, or write all with --one-split"));
        }
        let excludes: HashSet<String> = file.expanded_excludes().0.into_iter().collect();
        let is_left_out = |shard: &String| !choice.keep_excluded && excludes.contains(shard);
        if let Some(unknown) = choice.splits.iter().find(|name| !lists.iter().any(|(known, _)| known == *name)) {
            let known: Vec<&str> = lists.iter().map(|(name, _)| name.as_str()).collect();
            let failure = Failure::usage(ACTIVITY, format!("it has no split '{unknown}'")).on(Subject::path(root));
            return Err(failure.with_hint(format!("its splits are {}", known.join(", "))));
        }
        let counts: HashMap<&str, u64> =
            info.shard_counts.iter().map(|(name, count)| (name.as_str(), *count)).collect();
        let excluded_samples = info.shard_counts.iter().filter(|(name, _)| is_left_out(name)).cloned().collect();
        let is_chosen = |name: &String| choice.splits.is_empty() || choice.splits.contains(name);
        let has_samples = |shard: &String| counts.get(shard.as_str()) > Some(&0) && !is_left_out(shard);
        let divided = lists.iter().filter(|(name, shards)| is_chosen(name) && shards.iter().any(has_samples)).count();
        if divided > 1 && plan.inputs.len() > 1 && !choice.one_split && choice.splits.is_empty() {
            let failure = Failure::usage(ACTIVITY, "one of several inputs has several splits");
            let hint = "--split NAMES keeps these splits apart; --one-split writes everything into one";
            return Err(failure.on(Subject::path(root)).with_hint(hint));
        }
        let mut splits: HashMap<String, Vec<String>> = HashMap::new();
        for (name, shards) in lists {
            for shard in shards {
                let of_shard = splits.entry(shard).or_default();
                if !of_shard.contains(&name) {
                    of_shard.push(name.clone());
                }
            }
        }
        let (keeps_excluded, is_divided) = (choice.keep_excluded, divided > 1);
        Ok(Self { splits, excludes, keeps_excluded, excluded_samples, is_divided, is_prepared: true })
    }

    /// Returns the split of a shard: `None` if the shard is omitted, `Some(None)` if there is only one split.
    pub(super) fn split_of(&self, shard: &str, plan: &ShardPlan) -> Outcome<Option<Option<String>>> {
        if !self.keeps_excluded && self.excludes.contains(shard) {
            return Ok(None);
        }
        if !self.is_prepared || plan.choice.one_split && plan.choice.splits.is_empty() {
            return Ok(Some(None));
        }
        let chosen = &plan.choice.splits;
        let all = self.splits.get(shard).map(Vec::as_slice).unwrap_or_default();
        let of_shard: Vec<&String> = all.iter().filter(|name| chosen.is_empty() || chosen.contains(name)).collect();
        match of_shard.as_slice() {
            [split] => Ok(Some(Some((*split).clone()).filter(|_| self.is_divided && !plan.choice.one_split))),
            [] if !chosen.is_empty() => Ok(None),
            [_, ..] if plan.choice.one_split => Ok(Some(None)),
            several => {
                let (why, kind) = match several.is_empty() {
                    true => ("it is in no split".to_owned(), ProblemKind::UnassignedShards),
                    false => (format!("it is in {} splits", several.len()), ProblemKind::ShardInTwoSplits),
                };
                let failure = Failure::data(ACTIVITY, why).on(Subject::shard(shard)).of_kind(kind);
                Err(failure.with_hint("--split NAMES takes some splits; --one-split writes everything into one"))
            }
        }
    }

    /// Returns the number of samples of a shard that is excluded as a whole, if its split is chosen.
    pub(super) fn excluded_samples(&self, shard: &str, plan: &ShardPlan) -> u64 {
        let chosen = &plan.choice.splits;
        let is_chosen = || self.splits.get(shard).is_some_and(|splits| splits.iter().any(|name| chosen.contains(name)));
        let samples = self.excluded_samples.get(shard).filter(|_| chosen.is_empty() || is_chosen());
        samples.copied().unwrap_or_default()
    }

    /// Whether a sample is excluded, individually or with its shard.
    pub(super) fn is_excluded(&self, shard: &str, key: &[u8]) -> bool {
        let item = || std::str::from_utf8(key).ok().map(|key| format!("{shard}/{key}"));
        let is_listed = || item().is_some_and(|item| self.excludes.contains(&item));
        !self.excludes.is_empty() && (self.excludes.contains(shard) || is_listed())
    }
}
