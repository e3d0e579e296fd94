//! Step Review: everything that a run would do, on one page, before anything is written.

pub(super) mod view;

use super::step::{Answers, Ask, StepState};
use crate::tui::keymap::{Action, Context, Keymap};
use crate::tui::widgets::{Level, TextField};
use gristmill_core::{PreparePlan, Problem, Severity};
use gristmill_ops::job::prepare::Preview;
use ratatui::crossterm::event::KeyEvent;
use std::path::PathBuf;
use std::sync::Arc;

/// State of the step; it has no answers of its own.
#[derive(Clone, Debug, Default)]
pub struct ReviewStep {
    /// First line in view.
    pub offset: usize,
    /// The largest offset of the page; set when it is drawn.
    pub last_offset: usize,
    /// The remaining time of the scan, as text.
    pub time: Option<String>,
    /// Lines in view; set when it is drawn.
    pub height: usize,
    /// The preview of the run; `None` until it is known.
    pub preview: Option<Arc<Preview>>,
    /// A dry run was asked for: the verdict waits for the last shard.
    pub dry_run: bool,
    /// The name of a plan file is being typed.
    pub saving: Option<TextField>,
    /// The keys in force: a refused answer is shown with the key that goes to it.
    pub keymap: Arc<Keymap>,
}

impl ReviewStep {
    fn refused<'a>(&'a self, answers: &'a Answers) -> Option<&'a Problem> {
        let of_preview = self.preview.as_ref().map_or(&[][..], |p| &p.problems);
        answers.derived.problems.iter().chain(of_preview).find(|p| p.severity == Severity::Refusal)
    }

    /// Returns the first reason that prevents a run.
    pub fn refusal(&self, answers: &Answers) -> Option<String> {
        self.refused(answers).map(|p| p.message.clone())
    }

    /// The step of the refused answer and its key: `Alt-1 goes to Source`.
    pub fn way_out(&self, answers: &Answers) -> Option<String> {
        let step = self.refused(answers).map(|p| answers.step_of(p))?;
        let key = self.keymap.key_for(Context::PrepareReview, step.action())?;
        Some(format!("{} goes to {}", key.label_in(true), step.title()))
    }

    /// The first reason against a run, and where it can be changed.
    pub fn refusal_and_way(&self, answers: &Answers) -> Option<String> {
        let why = self.refusal(answers)?;
        Some(match self.way_out(answers) {
            // A notice has one line: what to do must not be cut off by a long reason.
            Some(way) => format!("{way}: {why}"),
            None => why,
        })
    }

    fn scroll(&mut self, action: Action) {
        let page = self.height.max(2);
        self.offset = match action {
            Action::Up => self.offset.saturating_sub(1),
            Action::Down => self.offset + 1,
            Action::HalfUp => self.offset.saturating_sub(page / 2),
            Action::HalfDown => self.offset + page / 2,
            Action::PageUp => self.offset.saturating_sub(page),
            Action::PageDown => self.offset + page,
            Action::First => 0,
            Action::Last => self.last_offset,
            _ => self.offset,
        }
        .min(self.last_offset);
    }

    fn act_saving(&mut self, action: Action) -> Vec<Ask> {
        match action {
            Action::Close => self.saving = None,
            Action::Next | Action::Accept | Action::Run => {
                let name = self.saving.take().map(|f| f.value().trim().to_owned()).unwrap_or_default();
                if name.is_empty() {
                    return vec![Ask::Say(Level::Warn, "the plan needs a file name".into())];
                }
                return vec![Ask::SavePlan(PathBuf::from(name))];
            }
            _ => {}
        }
        Vec::new()
    }

    /// Asks for a file name, with one proposed.
    pub fn ask_file_name(&mut self, answers: &Answers) {
        let folder = answers.facts.root.file_name().map(|n| n.to_string_lossy().into_owned());
        let name = folder.map_or_else(|| "plan.yaml".to_owned(), |f| format!("{f}.plan.yaml"));
        self.saving = Some(TextField::new(&name));
    }

    fn start(&self, answers: &Answers) -> Vec<Ask> {
        match self.refusal_and_way(answers) {
            Some(why) => vec![Ask::Say(Level::Error, why)],
            None => vec![Ask::Start],
        }
    }
}

impl StepState for ReviewStep {
    fn focus_count(&self, _: &Answers) -> usize {
        1
    }

    fn focus(&self) -> usize {
        0
    }

    fn set_focus(&mut self, _: usize) {}

    fn context(&self, _: &Answers) -> Context {
        if self.saving.is_some() {
            Context::PrepareText
        } else {
            Context::PrepareReview
        }
    }

    fn act(&mut self, action: Action, answers: &Answers) -> Vec<Ask> {
        if self.saving.is_some() {
            return self.act_saving(action);
        }
        match action {
            Action::Run | Action::Next => return self.start(answers),
            // Everything is shown here already; what a dry run adds is that every shard was read.
            Action::DryRun => {
                self.dry_run = true;
                self.offset = 0;
            }
            Action::SavePlan => self.ask_file_name(answers),
            Action::Copy => return vec![Ask::Copy(answers.derived.command.text())],
            moving => self.scroll(moving),
        }
        Vec::new()
    }

    fn key(&mut self, key: KeyEvent, _: &Answers) {
        if let Some(field) = &mut self.saving {
            field.key(key);
        }
    }

    fn paste(&mut self, text: &str, _: &Answers) {
        if let Some(field) = &mut self.saving {
            field.paste(text);
        }
    }

    fn refresh(&mut self, _: &Answers) {}

    fn write(&self, _: &Answers, _: &mut PreparePlan) {}

    fn adopt(&mut self, _: &PreparePlan, _: &Answers) {}

    fn flags(&self, _: &Answers) -> String {
        "gristmill prepare …".into()
    }

    fn blocker(&self, answers: &Answers) -> Option<String> {
        self.refusal(answers)
    }

    fn has_inner(&self) -> bool {
        self.saving.is_some()
    }
}

#[cfg(test)]
mod tests;
