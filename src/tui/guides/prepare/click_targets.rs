//! Mouse areas of the fields of a step, as drawn last.

use crate::tui::screen::Ui;
use crate::tui::widgets::layout::OptionLine;
use crate::tui::widgets::{Gesture, ListState, MouseAreas};
use gristmill_data::preview::cells::Depth;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::MouseEvent;
use ratatui::layout::Rect;
use std::cell::RefCell;

/// A target of the mouse in a step. Fields are identified by their number in the order of the focus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClickTarget {
    /// A text field.
    Field(usize),
    /// An option of a field: the numbers of the field and of the option.
    Choice(usize, usize),
    Switch(usize),
    /// A text that scrolls.
    Page,
    /// The rows of a list: the number of the field, and the number of the list in the field.
    Rows(usize, usize),
}

/// The effect of the mouse on a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListGesture {
    /// A click on this line.
    Line(usize),
    /// A turn of the wheel by this number of rows; negative is up.
    Wheel(isize),
}

impl ListGesture {
    /// Applies the effect to the list; returns `false` if the list has no such row.
    pub fn apply(self, list: &mut ListState) -> bool {
        match self {
            Self::Line(line) => {
                let row = list.row_at(line);
                row.inspect(|row| list.select(*row)).is_some()
            }
            Self::Wheel(rows) => {
                list.scroll(rows);
                true
            }
        }
    }
}

/// The mouse areas of one frame, added while drawing.
#[derive(Debug, Default)]
pub struct ClickTargets(RefCell<MouseAreas<ClickTarget>>);

impl ClickTargets {
    /// Removes all areas: before drawing, and below a popup.
    pub fn clear(&self) {
        self.0.borrow_mut().clear();
    }

    /// Records the area of a target.
    pub fn add(&self, area: Rect, spot: ClickTarget) {
        self.0.borrow_mut().add(area, spot);
    }

    /// Returns the target and the kind of a mouse event.
    pub fn gesture(&self, mouse: MouseEvent) -> Option<Gesture<ClickTarget>> {
        self.0.borrow_mut().gesture(mouse)
    }
}

/// Values for drawing a step, in addition to its state.
#[derive(Clone, Copy)]
pub struct DrawContext<'a> {
    /// Styles, glyphs and keys.
    pub ui: &'a Ui<'a>,
    /// Whether the step has the focus; `false` if the list of steps has it.
    pub focused: bool,
    /// Whether shards are being scanned.
    pub is_scanning: bool,
    /// The colour depth for pictures drawn in cells.
    pub depth: Depth,
    /// Mouse areas, to which the drawn fields are added.
    pub click_targets: &'a ClickTargets,
}

/// An option of a field, or a switch, as drawn on one row.
#[derive(Clone, Copy)]
pub struct StepOption<'a> {
    /// The mouse target.
    pub target: ClickTarget,
    pub is_on: bool,
    pub label: &'a str,
    pub note: &'a str,
    /// Whether the cursor is on the option.
    pub is_focused: bool,
    /// Columns of the label, so that notes are aligned.
    pub label_columns: usize,
}

impl DrawContext<'_> {
    /// Draws an option on a row, and makes the row its mouse target.
    pub fn draw_option(&self, buffer: &mut Buffer, row: Rect, option: StepOption) {
        let glyphs = self.ui.glyphs;
        let sign = match (option.target, option.is_on) {
            (ClickTarget::Switch(_), true) => glyphs.box_on,
            (ClickTarget::Switch(_), false) => glyphs.box_off,
            (_, true) => glyphs.radio_on,
            (_, false) => glyphs.radio_off,
        };
        self.click_targets.add(row, option.target);
        let StepOption { label, note, is_focused: focused, label_columns, .. } = option;
        OptionLine { sign, label, note, focused, label_columns }.draw(buffer, row, self.focused, self.ui);
    }
}
