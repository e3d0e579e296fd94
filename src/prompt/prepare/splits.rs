//! Asks how the shards are divided.

use super::super::prompter::read_numbers;
use super::super::review::report_each_problem;
use super::Guide;
use gristmill_core::plan::{SplitList, SplitPattern};
use gristmill_core::text::{count, display_safe};
use gristmill_core::{Outcome, ProblemKind, Severity, ShardId, SplitPlan};
use gristmill_ops::engine::plan::splits::resolve_in;
use gristmill_ops::engine::plan::suggest;

/// Maximum number of shards that are listed one by one.
const MAX_LISTED_SHARDS: usize = 60;

impl Guide {
    /// Asks for a division until it is usable.
    pub(super) fn splits(&mut self) -> Outcome<()> {
        let choices = ["by ratio", "by pattern: regular expressions on shard names", "by hand"];
        loop {
            let default = usize::from(self.suggested_patterns().is_some());
            match self.prompt.choose("How should the shards be divided?", &choices.map(str::to_owned), default)? {
                0 => self.by_ratio()?,
                1 => self.by_pattern()?,
                _ => self.by_hand()?,
            }
            let is_usable = self.show_division() || self.accept_empty()?;
            if is_usable && self.prompt.confirm("Use this division?", true)? {
                return Ok(());
            }
            self.plan.splits = SplitPlan::Unset;
            self.plan.allow_empty_splits = false;
        }
    }

    /// Asks whether splits may be empty if their patterns match no shard. Returns whether the division is usable with the answer.
    fn accept_empty(&mut self) -> Outcome<bool> {
        let refused = resolve_in(&self.plan, &self.facts()).problems;
        let mut refused = refused.iter().filter(|problem| problem.severity == Severity::Refusal);
        let is_empty = refused.all(|p| matches!(p.kind, ProblemKind::EmptySplit | ProblemKind::MatchesNothing));
        if !matches!(self.plan.splits, SplitPlan::Patterns(_)) || !is_empty {
            return Ok(false);
        }
        self.plan.allow_empty_splits = self.prompt.confirm("Accept splits without shards?", false)?;
        Ok(self.plan.allow_empty_splits && self.show_division())
    }

    fn shuffle(&mut self) -> Outcome<()> {
        let question = "Shuffle the shards before dividing them (fixed seed)?";
        self.plan.shuffle_tars = self.prompt.confirm(question, self.plan.shuffle_tars)?;
        Ok(())
    }

    fn by_ratio(&mut self) -> Outcome<()> {
        let suggested = suggest::splits(&self.facts()).into_iter().find_map(|suggestion| match suggestion.splits {
            SplitPlan::Ratio(ratio) => Some(ratio),
            _ => None,
        });
        let default = suggested.as_deref().unwrap_or("8,1,1");
        let ratio = self.prompt.text("Three numbers for train, val, test", Some(default), false)?;
        self.plan.splits = SplitPlan::Ratio(ratio);
        self.shuffle()
    }

    fn by_pattern(&mut self) -> Outcome<()> {
        self.prompt.print(
            "A pattern is matched at the start of the shard's name; a shard may match in several splits or in none.",
        );
        let suggested = self.suggested_patterns().unwrap_or_default();
        let patterns = self.each_split(|name| {
            let default = suggested.iter().find(|s| s.name == name).map(|s| s.pattern.as_str());
            let question = format!("Pattern for {} (empty: no such split)", display_safe(name));
            let pattern = self.prompt.text(&question, default, default.is_none())?;
            Ok(Some(pattern).filter(|pattern| !pattern.is_empty()))
        })?;
        let patterns = patterns.into_iter().map(|(name, pattern)| SplitPattern { name, pattern });
        self.plan.splits = SplitPlan::Patterns(patterns.collect());
        self.shuffle()
    }

    fn by_hand(&mut self) -> Outcome<()> {
        let facts = self.facts();
        for (i, shard) in facts.shards.iter().enumerate().take(MAX_LISTED_SHARDS) {
            self.prompt.print(format!("  {}  {}", i + 1, display_safe(&shard.name)));
        }
        if facts.shards.len() > MAX_LISTED_SHARDS {
            self.prompt.print(format!("  … up to {}", facts.shards.len()));
        }
        let lists = self.each_split(|name| self.numbers(name, &facts.shards))?;
        self.plan.shuffle_tars = false;
        self.plan.splits =
            SplitPlan::Listed(lists.into_iter().map(|(name, shards)| SplitList { name, shards }).collect());
        Ok(())
    }

    /// Asks for the shards of the usual splits, then of further ones until a name is empty. Splits without an answer do not exist.
    fn each_split<T>(&self, ask: impl Fn(&str) -> Outcome<Option<T>>) -> Outcome<Vec<(String, T)>> {
        let mut splits = Vec::new();
        for name in ["train", "val", "test"] {
            splits.extend(ask(name)?.map(|shards| (name.to_owned(), shards)));
        }
        loop {
            let name = self.prompt.text("Name of a further split (empty: none)", None, true)?;
            if name.is_empty() {
                return Ok(splits);
            }
            if let Some(shards) = ask(&name)? {
                splits.retain(|(known, _)| *known != name);
                splits.push((name, shards));
            }
        }
    }

    fn numbers(&self, split: &str, shards: &[gristmill_core::ShardFacts]) -> Outcome<Option<Vec<String>>> {
        loop {
            let question = format!("Shards of {} by number, like 1-5,8 (empty: none)", display_safe(split));
            let text = self.prompt.text(&question, None, true)?;
            if text.is_empty() {
                return Ok(None);
            }
            match read_numbers(&text, shards.len()) {
                Ok(numbers) => return Ok(Some(numbers.into_iter().map(|n| shards[n - 1].name.clone()).collect())),
                Err(why) => self.prompt.print(why),
            }
        }
    }

    fn suggested_patterns(&self) -> Option<Vec<SplitPattern>> {
        suggest::splits(&self.facts()).into_iter().find_map(|suggestion| match suggestion.splits {
            SplitPlan::Patterns(patterns) => Some(patterns),
            _ => None,
        })
    }

    /// Prints the resulting splits; returns `false` if they are unusable.
    pub(super) fn show_division(&self) -> bool {
        let facts = self.facts();
        let resolved = resolve_in(&self.plan, &facts);
        for (name, shards) in &resolved.splits {
            let samples = resolved.samples_of(name, &facts.shards);
            let state = if facts.scan_complete { "" } else { " so far" };
            self.prompt.print(format!(
                "  {}: {}, {}{state}{}",
                display_safe(name),
                count(shards.len() as u64, "shard"),
                count(samples, "sample"),
                self.first_and_last(shards)
            ));
        }
        if !resolved.unassigned.is_empty() {
            let number = count(resolved.unassigned.len() as u64, "shard");
            self.prompt.print(format!("  in no split: {number}{}", self.first_and_last(&resolved.unassigned)));
        }
        !report_each_problem(&self.prompt, &resolved.problems)
    }

    fn first_and_last(&self, shards: &[ShardId]) -> String {
        let facts = self.facts();
        let name = |id: &ShardId| facts.shards.get(id.0 as usize).map(|shard| display_safe(&shard.name).into_owned());
        match (shards.first().and_then(name), shards.last().and_then(name)) {
            (Some(first), Some(last)) if first != last => format!(", {first} … {last}"),
            (Some(first), _) => format!(", {first}"),
            _ => String::new(),
        }
    }
}
