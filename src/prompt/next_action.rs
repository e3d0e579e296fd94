//! The question at the end of every guide: write it, save the plan, change an answer, or leave it.

use super::ask::Ask;
use gristmill_core::text::display_safe;
use gristmill_core::{Outcome, Problem, Severity};
use gristmill_storage::fs::RealFs;
use gristmill_storage::publish::write_file;
use std::path::Path;

/// A choice in addition to writing and leaving.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice<C> {
    /// Save the plan into a file.
    Save,
    /// Answer something again.
    Change(C),
}

/// A guide whose questions are answered.
pub(super) trait LastLook {
    /// Answers that can be changed.
    type Change: Copy + 'static;
    /// Choices between writing and leaving, in order.
    fn choices(&self) -> Vec<(Choice<Self::Change>, &'static str)>;

    /// The prompt.
    fn ask(&self) -> &Ask;
    /// Returns the problems of the answers alone.
    fn wrong(&self) -> Vec<Problem> {
        Vec::new()
    }
    /// Shows the preview; returns `false` if a problem prevents the run.
    fn show(&self) -> Outcome<bool>;
    /// The text of a plan file.
    fn to_yaml(&self) -> Outcome<String>;
    /// Asks for something again.
    fn change(&mut self, what: Self::Change) -> Outcome<()>;

    /// Shows the preview and asks what to do; returns `false` if nothing is to be written.
    fn review(&mut self) -> Outcome<bool> {
        loop {
            let wrong = self.wrong();
            report_each_problem(self.ask(), &wrong);
            let allowed = wrong.is_empty() && self.show()?;
            let first = allowed.then_some("write it").into_iter();
            let choices = self.choices();
            let words = first.chain(choices.iter().map(|(_, words)| *words)).chain(["leave, write nothing"]);
            let words: Vec<String> = words.map(str::to_owned).collect();
            let chosen = self.ask().choose("What now?", &words, 0)?;
            let chosen = match chosen.checked_sub(usize::from(allowed)) {
                None => return Ok(true),
                Some(number) => choices.get(number).map(|(choice, _)| *choice),
            };
            match chosen {
                Some(Choice::Save) => save(self.ask(), self.to_yaml())?,
                Some(Choice::Change(what)) => self.change(what)?,
                None => return Ok(false),
            }
        }
    }
}

/// Prints problems. Returns whether one of them prevents the run.
pub(super) fn report_each_problem(ask: &Ask, problems: &[Problem]) -> bool {
    for problem in problems {
        let word = match problem.severity {
            Severity::Note => "Note",
            Severity::Problem => "Warning",
            Severity::Refusal => "Not possible",
        };
        ask.print(format!("{word}: {problem}"));
        if let Some(hint) = &problem.hint {
            ask.print(format!("  {}", display_safe(hint)));
        }
    }
    problems.iter().any(|problem| problem.severity == Severity::Refusal)
}

fn save(ask: &Ask, plan: Outcome<String>) -> Outcome<()> {
    let name = ask.text("File", Some("plan.yaml"), false)?;
    match plan.and_then(|text| write_file(&RealFs, Path::new(&name), text.as_bytes(), 0o644)) {
        Ok(()) => ask.print(format!("Saved to {}.", display_safe(&name))),
        Err(failure) => ask.print(format!("Not saved: {failure}")),
    }
    Ok(())
}
