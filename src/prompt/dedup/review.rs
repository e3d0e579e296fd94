//! The last look before anything is written.

use super::super::ask::Ask;
use super::super::next_action::{report_each_problem, Choice, LastLook};
use super::super::options::change_options;
use super::Guide;
use gristmill_core::dedup::{Mode, SHOWN_LENGTHS, USUAL_MIN_LENGTH};
use gristmill_core::text::{bytes, count, display_safe, grouped};
use gristmill_core::{Cancel, Outcome, Problem};
use gristmill_ops::engine::plan::dedup::missing_or_wrong;
use gristmill_ops::job::dedup::{estimates, DedupEstimate, SampleBudget};
use gristmill_ops::operations::{erase, Dedup};
use gristmill_ops::preview::text::cut_end;

/// Passages that are shown.
const PASSAGES: usize = 5;
/// Columns of a passage that are shown.
const COLUMNS: usize = 70;

/// Answers that can be changed.
#[derive(Clone, Copy)]
pub(super) enum Change {
    Length,
    Mode,
    Output,
    Settings,
}

impl LastLook for Guide {
    type Change = Change;

    fn choices(&self) -> Vec<(Choice<Change>, &'static str)> {
        vec![
            (Choice::Change(Change::Length), "another minimum length"),
            (Choice::Change(Change::Mode), "cut out, or list only"),
            (Choice::Change(Change::Output), "another folder for the result"),
            (Choice::Change(Change::Settings), "change other settings"),
            (Choice::Save, "save the plan"),
        ]
    }

    fn ask(&self) -> &Ask {
        &self.ask
    }

    fn to_yaml(&self) -> Outcome<String> {
        erase::<Dedup>(self.plan.clone()).to_yaml()
    }

    fn change(&mut self, what: Change) -> Outcome<()> {
        match what {
            Change::Length => {
                self.plan.min_length = None;
                self.length()
            }
            Change::Mode => self.mode(),
            Change::Output => {
                self.plan.output.clear();
                self.output()
            }
            Change::Settings => self.change_settings(),
        }
    }

    fn wrong(&self) -> Vec<Problem> {
        missing_or_wrong(&self.plan)
    }

    fn show(&self) -> Outcome<bool> {
        let mut lengths = SHOWN_LENGTHS.to_vec();
        let chosen = self.plan.min_length.unwrap_or(USUAL_MIN_LENGTH);
        if !lengths.contains(&chosen) {
            lengths.push(chosen);
            lengths.sort_unstable();
        }
        let found = estimates(&self.plan, &lengths, &self.options, SampleBudget::default(), &Cancel::default());
        let Some(found) = self.ask.or_refuse(found)? else { return Ok(false) };
        let figures = found.iter().flat_map(|one| one.lengths.iter().copied()).collect();
        let at = lengths.iter().position(|length| *length == chosen).unwrap_or_default();
        let Some(found) = found.into_iter().nth(at) else { return Ok(false) };
        let found = DedupEstimate { lengths: figures, ..found };
        self.show_figures(&found, chosen);
        let refused = report_each_problem(&self.ask, &found.problems);
        self.ask.print(format!("The same by flags: {}", erase::<Dedup>(self.plan.clone()).command_line().text()));
        Ok(!refused)
    }
}

impl Guide {
    fn change_settings(&mut self) -> Outcome<()> {
        let mut plan = erase::<Dedup>(self.plan.clone());
        change_options(&self.ask, &mut *plan)?;
        self.plan = plan.typed().cloned().unwrap_or_else(|| self.plan.clone());
        Ok(())
    }

    fn show_figures(&self, found: &DedupEstimate, chosen: u64) {
        self.ask.print(found.outlook());
        let verb = if self.plan.mode == Mode::Remove { "removed" } else { "listed" };
        for length in &found.lengths {
            let mark = if length.min_length == chosen { "  <- chosen" } else { "" };
            let (about, bounds) = match length.most_share.filter(|_| !length.is_exact) {
                Some(most) => {
                    ("about ", format!(" (likely {:.0} to {:.0} %)", length.least_share * 100.0, most * 100.0))
                }
                None => ("", String::new()),
            };
            self.ask.print(format!(
                "  from {} on: {about}{:.1} % {verb}{bounds}{mark}",
                count(length.min_length, "byte"),
                length.share * 100.0
            ));
        }
        let known = found.lengths.iter().find(|length| length.min_length == chosen);
        if let Some(known) = known.filter(|known| !known.is_exact) {
            self.ask.print(format!("  {}", found.basis(known)));
        }
        for passage in found.passages.iter().take(PASSAGES) {
            let text = cut_end(&display_safe(&passage.text), COLUMNS);
            self.ask.print(format!("  {} times, {}: {text}", grouped(passage.count), count(passage.length, "byte")));
        }
        if found.scratch_bytes > 0 {
            let place = display_safe(&found.scratch.to_string_lossy()).into_owned();
            self.ask.print(format!(
                "Scratch: about {} in {place}, where {} are free",
                bytes(found.scratch_bytes),
                bytes(found.scratch_free_bytes)
            ));
        }
    }
}
