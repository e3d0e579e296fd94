//! Questions that depend on the scan: about compressed shards, and about duplicate keys.

use super::Guide;
use gristmill_core::text::{count, display_safe};
use gristmill_core::{Duplicates, Outcome, ProblemKind, Scope, Tgz};
use gristmill_ops::engine::plan::same_keys;
use std::time::Duration;

/// Maximum time to wait for the end of the scan; afterwards, the known facts are used.
const SCAN_WAIT: Duration = Duration::from_secs(20);

impl Guide {
    /// Asks how to handle compressed shards, if there are any and no flag is given.
    pub(super) fn compressed(&mut self) -> Outcome<()> {
        let compressed = self.facts().shards.iter().filter(|shard| shard.is_tgz).count();
        if compressed == 0 || self.plan.tgz != Tgz::Skip {
            return Ok(());
        }
        let number = count(compressed as u64, "compressed shard");
        let question = format!("{number} (.tgz), which the loader cannot read. What do you want to do?");
        let choices = ["index them, but exclude them from the splits", "write a plain .tar next to each and use that"];
        if self.prompt.choose(&question, &choices.map(str::to_owned), 0)? == 1 {
            self.plan.tgz = Tgz::Rewrite;
        }
        Ok(())
    }

    /// Asks how to handle duplicate keys, if the scan has found any.
    pub(super) fn duplicates(&mut self) -> Outcome<()> {
        if self.plan.scope != Scope::Full {
            return Ok(());
        }
        self.facts_when(SCAN_WAIT, |_| false);
        if self.plan.duplicates == Duplicates::Fail {
            self.prompt_duplicates()?;
        }
        Ok(())
    }

    /// Asks how to handle duplicate keys, even if there is an answer.
    pub(super) fn prompt_duplicates(&mut self) -> Outcome<()> {
        let found = same_keys(&self.plan, &self.facts());
        let Some(problem) = found.filter(|problem| problem.kind == ProblemKind::DuplicateKey) else {
            self.prompt.print("No key of several samples was found.");
            return Ok(());
        };
        self.prompt.print(format!("Warning: {}", display_safe(&problem.message)));
        let choices = [
            "stop: publish nothing; a shard can be left out",
            "keep the first sample of each key, later ones are left out of the tables",
        ];
        let default = usize::from(self.plan.duplicates == Duplicates::KeepFirst);
        let question = "Keys must be unique. What do you want to do?";
        self.plan.duplicates = match self.prompt.choose(question, &choices.map(str::to_owned), default)? {
            0 => Duplicates::Fail,
            _ => Duplicates::KeepFirst,
        };
        Ok(())
    }
}
