//! Areas of the fields of a step as drawn last, and the effects of the mouse on them.

use super::state::Wizard;
use crate::tui::keymap::Action;
use crate::tui::widgets::{Gesture, ListState, Places};
use ratatui::crossterm::event::MouseEvent;
use ratatui::layout::Rect;
use std::cell::RefCell;

/// A target of the mouse in a step. A field is named by its number in the order of the focus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClickTarget {
    /// A field that is typed into.
    Field(usize),
    /// One of the options of a field, by its number.
    Choice(usize, usize),
    /// A switch.
    Switch(usize),
    /// The rows of a list, and which list of the field it is.
    Rows(usize, usize),
    /// A page that scrolls.
    Page,
}

/// An effect of the mouse on a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pointed {
    /// This line of it was clicked.
    Line(usize),
    /// The wheel was turned by rows; negative is up.
    Wheel(isize),
}

impl Pointed {
    /// Does it to the list; false where there is no row.
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

/// The places of one frame. Views put into it while they draw.
#[derive(Debug, Default)]
pub struct ClickTargets(RefCell<Places<ClickTarget>>);

impl ClickTargets {
    /// Forgets all: at the beginning of drawing, and below a popup.
    pub fn clear(&self) {
        self.0.borrow_mut().clear();
    }

    /// Says where a spot is drawn.
    pub fn put(&self, area: Rect, spot: ClickTarget) {
        self.0.borrow_mut().put(area, spot);
    }

    /// Returns the effect of an event.
    pub fn gesture(&self, mouse: MouseEvent) -> Option<Gesture<ClickTarget>> {
        self.0.borrow_mut().gesture(mouse)
    }
}

impl Wizard {
    /// Does what the mouse did to the step on the screen.
    pub fn point(&mut self, gesture: Gesture<ClickTarget>) {
        let before = self.answers.plan.clone();
        let (spot, line, wheel) = match gesture {
            Gesture::Click { on, line, .. } | Gesture::DoubleClick { on, line, .. } => (on, line, None),
            Gesture::Wheel { on, rows } => (on, 0, Some(rows)),
        };
        if wheel.is_none() {
            self.rail = None;
        }
        let (state, answers) = self.current();
        match (spot, wheel) {
            (ClickTarget::Page, Some(rows)) => {
                let action = if rows < 0 { Action::Up } else { Action::Down };
                for _ in 0..rows.unsigned_abs() {
                    state.act(action, answers);
                }
            }
            (ClickTarget::Rows(..), Some(rows)) => state.point(spot, Pointed::Wheel(rows), answers),
            (ClickTarget::Page, None) | (_, Some(_)) => {}
            (ClickTarget::Field(stop), None) => state.set_focus(stop),
            (ClickTarget::Switch(stop), None) => {
                state.set_focus(stop);
                state.act(Action::Toggle, answers);
            }
            (ClickTarget::Choice(stop, _) | ClickTarget::Rows(stop, _), None) => {
                state.set_focus(stop);
                state.point(spot, Pointed::Line(line), answers);
            }
        }
        self.settle(&before);
    }
}
