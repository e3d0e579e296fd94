//! The part of a form that depends on the operation: suggestions and problems from the data, steps that draw themselves, and the preview.

use super::field::Field;
use super::state::Form;
use crate::tui::keymap::{Action, Context};
use crate::tui::screen::{Effect, Ui, UiEnv};
use crate::tui::screens::run::JobRequest;
use crate::tui::widgets::{ListState, Toast};
use gristmill_core::{Failure, Problem};
use ratatui::crossterm::event::{KeyEvent, MouseEvent};
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::Frame;
use std::any::Any;
use std::path::PathBuf;

/// The key contexts of the parts of a form.
#[derive(Clone, Copy, Debug)]
pub struct KeyContexts {
    /// Key context of a step.
    pub step: Context,
    /// Key context of a text field in a step.
    pub text: Context,
    /// Key context of the list of steps.
    pub step_list: Context,
    /// Key context of the review.
    pub review: Context,
}

impl Default for KeyContexts {
    fn default() -> Self {
        Self {
            step: Context::Guided,
            text: Context::GuidedText,
            step_list: Context::GuidedRail,
            review: Context::GuidedReview,
        }
    }
}

/// The parts of a form that depend on the data, in addition to the options of its operation. Slow work runs on workers.
pub trait Guide: Any {
    /// Initializes a new form: its lists and first suggestions.
    fn begin(&mut self, _form: &mut Form) {}
    /// Returns the paths that identify a draft, in addition to the inputs of the plan.
    fn sources(&self) -> Vec<PathBuf> {
        Vec::new()
    }
    /// Submits requests to the workers for the data that the answers need.
    fn request_data(&mut self, form: &mut Form);
    /// Applies the results of the workers. Returns whether there were any.
    fn apply_results(&mut self, form: &mut Form) -> bool;
    /// Returns whether a worker is busy.
    fn is_busy(&self) -> bool;
    /// Returns a short description of the work in the background.
    fn status(&self) -> Option<String>;
    /// Returns the problems of the preview of these answers, or its failure; `None` until it is known.
    fn preview(&self, form: &Form) -> Option<Result<&[Problem], &Failure>>;
    /// Returns the preview as lines; empty until it is known.
    fn preview_lines(&self, form: &Form, columns: usize, ui: &Ui) -> Vec<Line<'static>>;
    /// Discards the preview when the form is shown again, because a run may have changed the files.
    fn resume(&mut self, form: &mut Form);
    /// Returns the request to run the plan, and stops the workers.
    fn request(&mut self, form: &Form) -> JobRequest;

    /// Returns the name of the work that the review waits for.
    fn waits_for(&self) -> &'static str {
        "checking"
    }
    /// Returns the key contexts of the parts of the form.
    fn contexts(&self, _form: &Form) -> KeyContexts {
        KeyContexts::default()
    }
    /// Returns the lines shown instead of the form while the data are being opened, or if they cannot be opened.
    fn opening_lines(&self, _columns: usize, _ui: &Ui) -> Vec<Line<'static>> {
        Vec::new()
    }
    /// Returns whether the data are open; without them, there is no form.
    fn is_open(&self) -> bool {
        true
    }
    /// Returns a message above every step.
    fn message(&self, _form: &Form) -> Option<String> {
        None
    }
    /// Removes and returns the pending notices.
    fn take_notices(&mut self) -> Vec<Toast> {
        Vec::new()
    }
    /// Returns whether the user has changed an answer; `None` if the form must compare plans instead.
    fn is_changed(&self) -> Option<bool> {
        None
    }
    /// Returns the typed answers that are not in the plan, as one line of a draft.
    fn unchosen(&self) -> Option<String> {
        None
    }
    /// Restores what [`unchosen`](Self::unchosen) returned.
    fn restore_unchosen(&mut self, _line: &str) {}
    /// Returns the fields of the step on the screen.
    fn fields(&self, form: &Form) -> Vec<Field> {
        form.option_fields()
    }
    /// Returns whether the form checks the plan when the last step is completed; otherwise, [`blocking_reason`](Self::blocking_reason)
    /// does.
    fn checks_plan(&self) -> bool {
        true
    }
    /// Returns why a step cannot be completed, apart from missing and wrong answers in its fields.
    fn blocking_reason(&self, _form: &Form, _step: usize) -> Option<String> {
        None
    }
    /// Draws the step on the screen. Returns `false` if the step consists only of fields, which the form draws.
    fn draw_step(&mut self, _form: &mut Form, _frame: &mut Frame, _area: Rect, _ui: &Ui) -> bool {
        false
    }
    /// Returns the lines below the fields of a step that the form draws.
    fn foot(&self, _form: &Form, _columns: usize, _ui: &Ui) -> Vec<Line<'static>> {
        Vec::new()
    }
    /// Returns the description of a list.
    fn list_help(&self, _list: Field) -> &'static str {
        ""
    }
    /// Returns a list by its name.
    fn list(&mut self, _name: &str) -> Option<&mut ListState> {
        None
    }
    /// Applies the selected row of a list to the plan.
    fn select(&mut self, _form: &mut Form, _list: &str) {}
    /// Handles a click on the selected row of a list; `column` counts from the start of the row.
    fn click(&mut self, _form: &mut Form, _list: &str, _column: usize, _is_double: bool) {}
    /// Handles the mouse in a step that draws its own fields. Returns `false` if the event is not on one of them.
    fn mouse(&mut self, _form: &mut Form, _mouse: MouseEvent) -> bool {
        false
    }
    /// Returns whether the focused field of the guide is a text field.
    fn wants_text(&self, _form: &Form) -> bool {
        false
    }
    /// Handles a pasted text while no text field has the focus.
    fn paste(&mut self, _form: &mut Form, _text: &str) {}
    /// Handles a typed key while no text field has the focus.
    fn key(&mut self, _form: &mut Form, _key: &KeyEvent) {}
    /// Returns whether the left and right keys change the selected row of a list.
    fn changes_rows(&self, _list: &str) -> bool {
        false
    }
    /// Returns whether the wheel scrolls a list without changing the selected row.
    fn scrolls_by_wheel(&self, _list: &str) -> bool {
        false
    }
    /// Handles an action that differs between forms; `None` for the other actions.
    fn handle_action(&mut self, _action: Action, _form: &mut Form, _env: &UiEnv) -> Option<Vec<Effect>> {
        None
    }
    /// Returns the label of an action, if this form has its own.
    fn label(&self, _action: Action) -> Option<&'static str> {
        None
    }
    /// Returns why an action is not possible now.
    fn disabled_reason(&self, _action: Action, _form: &Form) -> Option<String> {
        None
    }
}
