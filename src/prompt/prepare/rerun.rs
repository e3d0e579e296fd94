//! Asks how to handle an earlier preparation.

use super::Guide;
use gristmill_core::text::{count, display_safe};
use gristmill_core::{Outcome, PreparedFacts, Rerun, Scope};

impl Guide {
    /// Asks how to handle an earlier preparation, if there is one and no flag is given; returns `false` if it must not be changed.
    pub(super) fn confirm_rerun(&mut self) -> Outcome<bool> {
        let facts = self.facts();
        let Some(prepared) = &facts.prepared else { return Ok(true) };
        if self.plan.rerun != Rerun::Refuse || self.plan.scope == Scope::TarIndexOnly {
            return Ok(true);
        }
        self.prompt.print(format!("It is already prepared ({}).", prepared_text(prepared)));
        let choices = [
            "take in new and changed shards; excludes and splits stay",
            "prepare it again from the beginning; excludes stay, split.yaml is kept as a backup",
            "prepare it again and remove the excludes",
            "leave it as it is",
        ];
        let default = if prepared.new_shards.is_empty() && prepared.changed_shards.is_empty() { 3 } else { 0 };
        match self.prompt.choose("What do you want to do?", &choices.map(str::to_owned), default)? {
            0 => {
                self.plan.rerun = Rerun::Update;
                self.new_to(prepared)?;
            }
            1 => self.plan.rerun = Rerun::Overwrite,
            2 => {
                self.plan.rerun = Rerun::Overwrite;
                self.plan.reset_excludes = true;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Asks for the split of new shards; prints a message if there are no new shards or no splits.
    pub(super) fn new_to(&mut self, prepared: &PreparedFacts) -> Outcome<()> {
        if prepared.new_shards.is_empty() || prepared.splits.is_empty() {
            self.prompt.print("No shard is new; the splits stay as they are.");
            return Ok(());
        }
        let mut choices = Vec::new();
        if prepared.by_gristmill {
            choices.push("by the recorded rule".to_owned());
        }
        choices.extend(prepared.splits.iter().map(|(name, shards)| {
            format!("all to {} ({} now)", display_safe(name), count(shards.len() as u64, "shard"))
        }));
        let chosen = self.prompt.choose("Which split do new shards join?", &choices, 0)?;
        self.plan.new_to = match (chosen, prepared.by_gristmill) {
            (0, true) => None,
            (number, by_rule) => prepared.splits.get(number - usize::from(by_rule)).map(|(name, _)| name.clone()),
        };
        Ok(())
    }
}

fn prepared_text(prepared: &PreparedFacts) -> String {
    let mut words = vec![count(prepared.shard_counts.len() as u64, "shard")];
    let mut add = |number: usize, what: &str| {
        if number > 0 {
            words.push(format!("{number} {what}"));
        }
    };
    add(prepared.new_shards.len(), "new");
    add(prepared.changed_shards.len(), "changed");
    add(prepared.missing_shards.len(), "gone");
    add(prepared.excludes.len(), "excludes");
    words.join(", ")
}
