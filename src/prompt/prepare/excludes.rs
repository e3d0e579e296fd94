//! Asks for shards and samples to exclude.

use super::Guide;
use gristmill_core::text::{count, display_safe};
use gristmill_core::Outcome;
use gristmill_ops::engine::plan::splits::exclude_matches;

impl Guide {
    /// Asks for patterns of shard names and for single samples, until the answer is empty.
    pub(super) fn excludes(&mut self) -> Outcome<()> {
        while self.exclude_pattern()? {}
        loop {
            let item = self.prompt.text("Exclude one sample, as SHARD/KEY (empty: none)", None, true)?;
            if item.is_empty() {
                return Ok(());
            }
            self.exclude_sample(item);
        }
    }

    fn exclude_pattern(&mut self) -> Outcome<bool> {
        let question = "Leave out shards by a regular expression (empty: none)";
        let pattern = self.prompt.text(question, None, true)?;
        if pattern.is_empty() {
            return Ok(false);
        }
        match exclude_matches(&pattern, &self.facts().shards) {
            Err(problem) => self.prompt.print(format!("Invalid pattern: {problem}")),
            Ok(matches) if matches.shards.is_empty() => {
                self.prompt.print(format!("It matches none of {}.", count(matches.total as u64, "shard")));
                if let Some(meant) = &matches.meant {
                    self.prompt.print(format!("Did you mean {}? {}", display_safe(&meant.pattern), meant.why));
                }
            }
            Ok(matches) => {
                let names = matches.first.as_deref().map(display_safe).unwrap_or_default();
                let number = count(matches.shards.len() as u64, "shard");
                if self.prompt.confirm(&format!("Leave out {number}, from {names} on?"), true)? {
                    self.plan.exclude_shards.push(pattern);
                }
            }
        }
        Ok(true)
    }

    fn exclude_sample(&mut self, item: String) {
        let facts = self.facts();
        let known =
            facts.shards.iter().any(|shard| item == shard.name || item.starts_with(&format!("{}/", shard.name)));
        if known || item.contains('{') {
            self.plan.excludes.push(item);
        } else {
            self.prompt.print("No shard has this name; enter SHARD/KEY, for example shards/a_0001.tar/000032.");
        }
    }
}
