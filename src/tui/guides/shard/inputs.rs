//! The list of inputs, with the kind of each; inputs can be added, removed and moved.

use crate::tui::form::{Field, Form, MouseTarget};
use crate::tui::keymap::Action;
use crate::tui::screen::Ui;
use crate::tui::widgets::list::draw_list;
use crate::tui::widgets::{text, ListState};
use gristmill_core::options::Answer;
use gristmill_core::shard_plan::InputKind;
use gristmill_core::text::{count, display_safe};
use gristmill_core::ShardPlan;
use gristmill_ops::shard::examples::InputExample;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::Frame;

pub(super) const INPUTS: Field = Field::List("inputs");
/// The text field for the path of an input to add.
pub(super) const ADD: Field = Field::Path("add an input");
/// The option that the list replaces.
pub(super) const OPTION: &str = "input";
/// Width of the description of an input, in columns.
const ABOUT_COLUMNS: usize = 22;

pub(super) fn plan_of(form: &Form) -> ShardPlan {
    form.plan_of().cloned().unwrap_or_default()
}

/// Returns the inputs as they were given.
fn inputs_of(form: &Form) -> Vec<String> {
    plan_of(form).inputs.iter().map(|input| input.to_string_lossy().into_owned()).collect()
}

pub(super) fn input_fields(form: &Form) -> Vec<Field> {
    let list = (!plan_of(form).inputs.is_empty()).then_some(INPUTS);
    list.into_iter().chain([ADD]).collect()
}

/// Returns why the inputs are incomplete.
pub(super) fn blocking_reason(form: &Form) -> Option<String> {
    let typed = form.value(ADD);
    match plan_of(form).inputs.is_empty() {
        _ if !typed.is_empty() => Some(format!("Enter in its field adds {}", display_safe(&typed))),
        true => Some("an input is needed".to_owned()),
        false => None,
    }
}

/// Adds the input whose path has been typed, unless it is invalid. Returns whether a path was typed.
pub(super) fn add_typed(form: &mut Form, list: &mut ListState) -> bool {
    let typed = form.value(ADD);
    if typed.is_empty() {
        return false;
    }
    let added = match form.accepted(OPTION, &Answer::List(vec![typed])) {
        Ok(Answer::List(added)) => added,
        Ok(_) => Vec::new(),
        Err(why) => {
            form.mistakes.insert(ADD, why);
            return true;
        }
    };
    let mut inputs = inputs_of(form);
    inputs.extend(added);
    form.inputs.remove(&ADD);
    list.set_len(inputs.len());
    list.select(inputs.len());
    form.answer(OPTION, &Answer::List(inputs));
    true
}

/// Runs an action on the selected input. Returns whether the action applies to inputs.
pub(super) fn change(action: Action, form: &mut Form, list: &mut ListState) -> bool {
    let mut inputs = inputs_of(form);
    let Some(at) = list.get().filter(|at| *at < inputs.len()) else { return false };
    match action {
        Action::DropRow => _ = inputs.remove(at),
        Action::MoveUp | Action::MoveDown => {
            let Some(to) = neighbour(action, at, inputs.len()) else { return true };
            inputs.swap(at, to);
            list.select(to);
        }
        _ => return false,
    }
    list.set_len(inputs.len());
    form.answer(OPTION, &if inputs.is_empty() { Answer::Unset } else { Answer::List(inputs) });
    true
}

fn neighbour(action: Action, at: usize, len: usize) -> Option<usize> {
    match action {
        Action::MoveUp => at.checked_sub(1),
        _ => Some(at + 1).filter(|to| *to < len),
    }
}

/// Returns why an action on the selected input is unavailable.
pub(super) fn why_disabled(action: Action, list: &ListState) -> Option<String> {
    let is_at_end = || list.get().and_then(|at| neighbour(action, at, list.len)).is_none();
    match action {
        Action::MoveUp if is_at_end() => Some("it is the first input".to_owned()),
        Action::MoveDown if is_at_end() => Some("it is the last input".to_owned()),
        Action::Toggle => Some("there is nothing to choose here".to_owned()),
        _ => None,
    }
}

/// Draws the inputs, each with its kind once that is known.
pub(super) fn draw(
    form: &mut Form,
    list: &mut ListState,
    known: &[InputExample],
    frame: &mut Frame,
    area: Rect,
    ui: &Ui,
) {
    form.mouse_areas.add(area, MouseTarget::Field(INPUTS));
    let inputs = inputs_of(form);
    draw_list(frame.buffer_mut(), area, list, form.is_focused(INPUTS), ui, |at, room| {
        let Some(input) = inputs.get(at) else { return Line::default() };
        let columns = room.saturating_sub(ABOUT_COLUMNS + 1);
        let name = text::pad_end(&text::fit_middle(&display_safe(input), columns, ui.glyphs), columns);
        let about = known.get(at).map(describe_input).unwrap_or_default();
        let about = text::fit_end(&about, ABOUT_COLUMNS, ui.glyphs);
        Line::from(vec![Span::raw(name), Span::styled(format!(" {about}"), ui.theme.muted)])
    });
}

fn describe_input(input: &InputExample) -> String {
    let kind = match input.kind {
        InputKind::Files => "files",
        InputKind::Rows => "rows",
        InputKind::Auto | InputKind::Tars => "shards",
    };
    format!("{kind}, {}", count(input.samples, "sample"))
}
