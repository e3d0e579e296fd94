//! The review at the end of every dialogue: shows what a run would do, then asks whether to write, to save the plan, to change an answer,
//! or to quit.

use super::prompter::Prompter;
use gristmill_core::text::display_safe;
use gristmill_core::{Outcome, Problem, Severity};
use gristmill_ops::job::report::Report;
use gristmill_ops::operations::AnyPlan;
use gristmill_storage::fs::RealFs;
use gristmill_storage::publish::write_file;
use std::path::Path;

/// A dialogue whose questions have been answered.
pub(super) trait Review {
    /// An answer that can be changed.
    type Change: Copy;

    fn prompt(&self) -> &Prompter;
    /// Returns the plan with the answers.
    fn plan(&self) -> Box<dyn AnyPlan>;
    /// Returns the preview of a run.
    fn preview(&self) -> Outcome<Box<dyn Report>>;
    /// Returns the answers that can be changed now, with their descriptions.
    fn changes(&self) -> Vec<(Self::Change, &'static str)>;
    /// Asks again for an answer.
    fn change(&mut self, what: Self::Change) -> Outcome<()>;

    /// Shows the preview and asks what to do; returns `false` if nothing is to be written.
    fn review(&mut self) -> Outcome<bool> {
        loop {
            let plan = self.plan();
            let preview = || show(self.prompt(), &*plan, self.preview());
            let allowed = !report_each_problem(self.prompt(), &plan.check(false)) && preview()?;
            let changes = self.changes();
            // A plan that cannot run is not worth saving: the first choice is to change it.
            let first = if allowed { &["write it", "save the plan"][..] } else { &[] };
            let words = first.iter().copied().chain(changes.iter().map(|(_, words)| *words));
            let words: Vec<String> = words.chain(["quit without writing"]).map(str::to_owned).collect();
            let chosen = self.prompt().choose("What now?", &words, 0)?;
            match chosen.checked_sub(first.len()).map(|number| changes.get(number)) {
                None if allowed && chosen == 0 => return Ok(true),
                None => save(self.prompt(), plan.to_yaml())?,
                Some(Some((what, _))) => self.change(*what)?,
                Some(None) => return Ok(false),
            }
        }
    }
}

/// Prints a preview; returns whether the plan can run.
fn show(ask: &Prompter, plan: &dyn AnyPlan, preview: Outcome<Box<dyn Report>>) -> Outcome<bool> {
    let Some(preview) = ask.or_refuse(preview)? else { return Ok(false) };
    for line in preview.lines(true) {
        ask.print(line.lead + &line.rest);
    }
    let is_refused = report_each_problem(ask, preview.findings().0);
    if plan.is_expressible() {
        let command = plan.command_line();
        ask.print(format!("Equivalent command: {}", command.text()));
        for (name, _) in &command.files {
            ask.print(format!("  {} contains the lists of this plan; a saved plan has them", display_safe(name)));
        }
    }
    Ok(!is_refused)
}

/// Prints problems. Returns whether one of them prevents the run.
pub(super) fn report_each_problem<'a>(ask: &Prompter, problems: impl IntoIterator<Item = &'a Problem>) -> bool {
    let mut is_refused = false;
    for problem in problems {
        is_refused |= problem.severity == Severity::Refusal;
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
    is_refused
}

fn save(ask: &Prompter, plan: Outcome<String>) -> Outcome<()> {
    let name = ask.text("File", Some("plan.yaml"), false)?;
    match plan.and_then(|text| write_file(&RealFs, Path::new(&name), text.as_bytes(), 0o644)) {
        Ok(()) => ask.print(format!("Saved to {}.", display_safe(&name))),
        Err(failure) => ask.print(format!("Not saved: {failure}")),
    }
    Ok(())
}
