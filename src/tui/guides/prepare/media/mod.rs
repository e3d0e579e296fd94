//! Step Media: whether metadata of pictures, sound and video are recorded, and of which entries.

pub(super) mod view;

use super::click_targets::{ClickTarget, ListGesture};
use super::step::{Answers, StepState};
use crate::tui::guides::media::form::{is_typed, media_parts, MediaForm, Strategy};
use crate::tui::guides::media::tally::MediaTally;
use crate::tui::keymap::{Action, Context};
use crate::tui::widgets::Toast;
use gristmill_core::text::count;
use gristmill_core::{MediaPlan, PreparePlan};
use gristmill_ops::engine::plan::fields::Share;
use ratatui::crossterm::event::KeyEvent;
use std::sync::Arc;

/// A field of this step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FocusStop {
    /// How media are recognized.
    Strategy,
    /// Shell patterns.
    Patterns,
    /// Whether each picture is decoded completely.
    Decode,
}

/// Answers of the step.
#[derive(Clone, Debug, Default)]
pub struct MediaStep {
    /// The answers about media metadata.
    pub form: MediaForm,
    /// The media that a plan would record, and that plan; updated with a delay after changes.
    pub tally: Option<(MediaPlan, Arc<MediaTally>)>,
    focus: usize,
}

impl MediaStep {
    /// Returns the fields that apply to the answers, in order.
    pub fn stop_list(&self) -> Vec<FocusStop> {
        match self.form.strategy {
            Strategy::None => vec![FocusStop::Strategy],
            Strategy::Glob => vec![FocusStop::Strategy, FocusStop::Patterns, FocusStop::Decode],
            Strategy::Extension | Strategy::Header => vec![FocusStop::Strategy, FocusStop::Decode],
        }
    }

    /// Returns the focused field.
    pub fn stop(&self) -> FocusStop {
        let stops = self.stop_list();
        stops.get(self.focus).or(stops.last()).copied().unwrap_or(FocusStop::Strategy)
    }

    /// Returns the media that the current answers would record; `None` until they are known.
    pub fn current_tally(&self) -> Option<&MediaTally> {
        let plan = self.form.plan()?;
        self.tally.as_ref().filter(|(of, _)| of.filter == plan.filter).map(|(_, seen)| seen.as_ref())
    }

    /// Returns a suggestion about media in the data set, if the answers record none.
    pub fn proposal(&self, answers: &Answers) -> Option<String> {
        let parts = media_parts(&answers.facts);
        let first = parts.first()?;
        let share = Share::of_any(parts.iter().map(|part| part.name.as_str()), &answers.facts).text();
        let rows: u64 = parts.iter().map(|p| p.samples).sum();
        let more = match parts.len() {
            1 => String::new(),
            n => format!(" and {} more", n - 1),
        };
        let about = if answers.is_counting() { "about " } else { "" };
        let name = &first.name;
        Some(format!("{name}{more} in {share} of samples: by extension would record {about}{}", count(rows, "row")))
    }

    fn matches_nothing(&self, answers: &Answers) -> bool {
        !answers.is_counting() && self.current_tally().is_some_and(|seen| seen.candidates == 0 && !seen.is_counting)
    }
}

impl StepState for MediaStep {
    fn focus_count(&self, _: &Answers) -> usize {
        self.stop_list().len()
    }

    fn focus(&self) -> usize {
        self.focus
    }

    fn set_focus(&mut self, stop: usize) {
        self.focus = stop;
    }

    fn context(&self, _: &Answers) -> Context {
        match self.stop() {
            FocusStop::Patterns => Context::PrepareText,
            _ => Context::Prepare,
        }
    }

    fn handle_action(&mut self, action: Action, answers: &Answers) -> Option<Toast> {
        match (self.stop(), action) {
            (FocusStop::Strategy, Action::Up) => {
                self.form.step(false, Strategy::None);
            }
            (FocusStop::Strategy, Action::Down) => {
                let is_last = !self.form.step(true, Strategy::None);
                if is_last {
                    self.focus_next(answers);
                }
            }
            (FocusStop::Strategy, Action::First) => self.form.strategy = Strategy::None,
            (FocusStop::Strategy, Action::Last) => self.form.strategy = Strategy::Glob,
            (FocusStop::Decode, Action::Toggle) => self.form.decode = !self.form.decode,
            (FocusStop::Patterns, Action::DropRow) => self.form.patterns.clear(),
            (_, Action::Up) => self.focus_previous(),
            (_, Action::Down) => self.focus_next(answers),
            _ => {}
        }
        None
    }

    fn point(&mut self, spot: ClickTarget, _: ListGesture, _: &Answers) {
        if let ClickTarget::Choice(_, option) = spot {
            self.form.strategy = Strategy::ALL.get(option).copied().unwrap_or_default();
        }
    }

    fn key(&mut self, key: KeyEvent, _: &Answers) {
        // Text that is typed in the list is a pattern if the strategy needs one and there is none.
        if self.stop() == FocusStop::Strategy && self.form.blocking_reason().is_some() && is_typed(&key) {
            self.set_focus(1);
        }
        if self.stop() == FocusStop::Patterns {
            self.form.patterns.key(key);
        }
    }

    fn paste(&mut self, text: &str, _: &Answers) {
        if self.stop() == FocusStop::Patterns {
            self.form.patterns.paste(text);
        }
    }

    fn refresh(&mut self, _: &Answers) {
        self.focus = self.focus.min(self.stop_list().len().saturating_sub(1));
    }

    fn write(&self, _: &Answers, plan: &mut PreparePlan) {
        // Without a pattern, nothing is recorded; `blocking_reason` prevents leaving the step like that by mistake.
        plan.media = self.form.plan();
    }

    fn adopt(&mut self, plan: &PreparePlan, _: &Answers) {
        self.form.adopt(plan.media.as_ref());
    }

    fn blocking_reason(&self, answers: &Answers) -> Option<String> {
        if let Some(why) = self.form.blocking_reason() {
            return Some(why);
        }
        let globs = self.form.strategy == Strategy::Glob && self.matches_nothing(answers);
        globs.then(|| "the patterns match no entry seen; they are matched against whole names".to_owned())
    }
}

#[cfg(test)]
mod tests;
