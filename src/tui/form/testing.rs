//! A form and its guide without a screen, for tests.

use super::steps::{blocking_reason, first_blocker, handle_action};
use super::{view, Field, Form, Guide};
use crate::tui::keymap::Action;
use crate::tui::screen::UiEnv;
use crate::tui::testing;
use gristmill_core::RunOptions;
use gristmill_ops::operations::AnyPlan;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// A form with a guide whose facts are set by tests.
pub struct FormTest<G> {
    /// The form with the answers.
    pub form: Form,
    /// The guide of the form.
    pub guide: G,
}

impl<G: Guide> FormTest<G> {
    /// Creates the form of a plan.
    pub fn new(plan: Box<dyn AnyPlan>, guide: G) -> Self {
        let mut test = Self { form: Form::new(plan), guide };
        test.guide.begin(&mut test.form);
        test.refresh();
        test
    }

    /// Updates the fields of the step.
    pub fn refresh(&mut self) {
        self.form.set_fields(self.guide.fields(&self.form));
    }

    /// Handles an action as the screen of a form does.
    pub fn act(&mut self, action: Action) {
        handle_action(&mut self.form, &mut self.guide, action);
        self.refresh();
    }

    /// Handles actions: first by the guide, then as in all forms.
    pub fn act_in_guide(&mut self, actions: &[Action]) {
        let env = UiEnv::new(RunOptions::default(), "/nonexistent".into());
        for action in actions {
            if self.guide.handle_action(*action, &mut self.form, &env).is_none() {
                self.act(*action);
            }
            self.guide.request_data(&mut self.form);
            self.refresh();
        }
    }

    /// Presses keys that are not typed into a field; `\u{8}` is Backspace.
    pub fn press(&mut self, keys: &str) {
        for key in keys.chars() {
            let code = if key == '\u{8}' { KeyCode::Backspace } else { KeyCode::Char(key) };
            self.guide.key(&mut self.form, &KeyEvent::new(code, KeyModifiers::NONE));
            self.refresh();
        }
    }

    /// Goes to a step.
    pub fn go_to(&mut self, step: &str) {
        self.form.go_to(step);
        self.refresh();
    }

    /// Types into the field of an option, replacing its text.
    pub fn type_into(&mut self, option: &'static str, text: &str) {
        self.form.type_into(option, text);
        self.refresh();
    }

    /// Toggles a field.
    pub fn toggle(&mut self, field: Field) {
        self.form.focus_on(field);
        self.act(Action::Toggle);
    }

    /// Returns why a step cannot be completed.
    pub fn blocker(&self, step: &str) -> Option<String> {
        let number = self.form.steps().iter().position(|known| known.id == step)?;
        blocking_reason(&self.form, &self.guide, number)
    }

    /// Returns the first step that cannot be completed, and why.
    pub fn first_blocker(&self) -> Option<(&'static str, String)> {
        let (step, why) = first_blocker(&self.form, &self.guide)?;
        Some((self.form.steps()[step].id, why))
    }

    /// Returns the form as drawn.
    pub fn shown(&mut self, size: (u16, u16, bool)) -> String {
        self.refresh();
        testing::shown(size, |frame, area, ui| view::draw(&mut self.form, &mut self.guide, frame, area, ui))
    }

    /// Compares the form with its snapshots at all sizes.
    pub fn compare(&mut self, name: &str) {
        testing::compare(name, &testing::SCREENS, |size| self.shown(size));
    }
}
