//! Deduplicating, asked by plain prompts: what the plan leaves open, then a review.

mod review;

use super::ask::Ask;
use super::next_action::LastLook as _;
use gristmill_core::dedup::{Mode, USUAL_MIN_LENGTH};
use gristmill_core::text::{bytes, count};
use gristmill_core::{Cancel, DedupPlan, Outcome, RunOptions};
use gristmill_ops::source::dedup::list;
use std::path::Path;

/// What a guide works with: the questions, and the plan that fills up.
struct Guide {
    ask: Ask,
    plan: DedupPlan,
    options: RunOptions,
}

/// Asks for everything that the plan leaves open; `None` when the person decides to leave it.
pub fn dedup(plan: DedupPlan, options: &RunOptions) -> Outcome<Option<DedupPlan>> {
    let mut guide = Guide { ask: Ask::new()?, plan, options: options.clone() };
    guide.input()?;
    guide.length()?;
    guide.output()?;
    Ok(guide.review()?.then_some(guide.plan))
}

impl Guide {
    fn input(&mut self) -> Outcome<()> {
        while self.plan.from_index.is_none() {
            if self.plan.input.is_empty() {
                self.plan.input = self.ask.text("Folder of JSONL files, or one file", None, false)?;
            }
            if let Some(found) =
                self.ask.or_refuse(list(Path::new(&self.plan.input), self.plan.compat, &Cancel::default()))?
            {
                let size = found.files.iter().map(|file| file.bytes).sum();
                self.ask.tell(format!("{}, {}", count(found.files.len() as u64, "file"), bytes(size)));
                found.problems.iter().for_each(|problem| self.ask.tell(format!("Warning: {problem}")));
                return Ok(());
            }
            self.plan.input.clear();
        }
        Ok(())
    }

    fn length(&mut self) -> Outcome<()> {
        let usual = USUAL_MIN_LENGTH.to_string();
        while self.plan.min_length.is_none() {
            let text = self.ask.text("Shortest repeat that is removed, in bytes of text", Some(&usual), false)?;
            match text.parse() {
                Ok(number) if number > 0 => self.plan.min_length = Some(number),
                _ => self.ask.tell("A number above 0 is needed."),
            }
        }
        Ok(())
    }

    fn output(&mut self) -> Outcome<()> {
        if self.plan.output.is_empty() {
            let proposed = self.plan.proposed_output();
            let question = "Folder for the result (--output says the same)";
            self.plan.output =
                self.ask.text(question, Some(proposed.as_str()).filter(|name| !name.is_empty()), false)?;
        }
        Ok(())
    }

    fn mode(&mut self) -> Outcome<()> {
        let choices = ["cut it out of the text", "leave the text, list the ranges in each record"];
        let chosen = self.ask.choose("What happens to what repeats?", &choices.map(str::to_owned), 0)?;
        self.plan.mode = if chosen == 0 { Mode::Remove } else { Mode::Annotate };
        Ok(())
    }
}
