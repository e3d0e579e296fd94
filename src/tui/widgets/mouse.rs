//! Mouse gestures: click, double click and wheel, with the area below the pointer as drawn last.
//!
//! A screen keeps one [`MouseAreas`] with a value for each pane or row, puts the areas into it while drawing, and uses it to interpret events:
//!
//! ```
//! # use gristmill::tui::widgets::mouse::{Gesture, MouseAreas};
//! # use ratatui::crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
//! # use ratatui::layout::Rect;
//! #[derive(Clone, Copy, Debug, PartialEq)]
//! enum Pane { Shards, Samples }
//! let mut areas = MouseAreas::default();
//! areas.add(Rect::new(0, 0, 10, 5), Pane::Shards);
//! areas.add(Rect::new(10, 0, 10, 5), Pane::Samples);
//! # let kind = MouseEventKind::Down(MouseButton::Left);
//! # let event = MouseEvent { kind, column: 12, row: 3, modifiers: KeyModifiers::NONE };
//! match areas.gesture(event) {
//!     Some(Gesture::Click { on: Pane::Samples, line, .. }) => assert_eq!(line, 3), // focus the pane, select the row
//!     Some(Gesture::DoubleClick { .. }) => {} // same as Enter
//!     Some(Gesture::Wheel { on: Pane::Shards, rows }) => drop(rows), // scroll that pane, regardless of the focus
//!     _ => {}
//! }
//! ```
//!
//! Two clicks on one cell within half a second are a double click; the first of them was reported as a click. The row of something drawn by
//! [`draw_list`](super::draw_list) is found by [`ListState::row_at`](super::ListState::row_at).

use ratatui::crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::{Position, Rect};
use std::time::{Duration, Instant};

/// Maximum time between the clicks of a double click.
const DOUBLE_CLICK_TIME: Duration = Duration::from_millis(500);
/// Number of rows per step of the wheel.
const WHEEL_ROWS: isize = 3;

/// A mouse gesture on an area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gesture<T> {
    /// A press: focuses the area and selects the row in it.
    Click {
        /// The value of the area.
        on: T,
        /// Rows below the top of the area.
        line: usize,
        /// Columns right of the left edge of the area.
        column: usize,
    },
    /// A second press on the same cell: same as Enter.
    DoubleClick {
        /// The value of the area.
        on: T,
        /// Rows below the top of the area.
        line: usize,
        /// Columns right of the left edge of the area.
        column: usize,
    },
    /// A turn of the wheel.
    Wheel {
        /// The value of the area.
        on: T,
        /// Number of rows to scroll by; negative is up.
        rows: isize,
    },
}

/// The areas drawn last, each with a value that the screen defines. Later areas cover earlier ones.
#[derive(Clone, Debug)]
pub struct MouseAreas<T> {
    areas: Vec<(Rect, T)>,
    pressed: Option<(Instant, Position)>,
}

impl<T> Default for MouseAreas<T> {
    fn default() -> Self {
        Self { areas: Vec::new(), pressed: None }
    }
}

impl<T: Clone> MouseAreas<T> {
    /// Removes all areas, before drawing.
    pub fn clear(&mut self) {
        self.areas.clear();
    }

    /// Adds an area with the value `place`.
    pub fn add(&mut self, area: Rect, place: T) {
        if !area.is_empty() {
            self.areas.push((area, place));
        }
    }

    /// Returns the area at a cell of the terminal, and its value.
    pub fn at(&self, at: Position) -> Option<(Rect, T)> {
        self.areas.iter().rev().find(|(area, _)| area.contains(at)).cloned()
    }

    /// Returns the gesture of an event; `None` outside all areas, and for events that are not gestures (moves, other buttons).
    pub fn gesture(&mut self, mouse: MouseEvent) -> Option<Gesture<T>> {
        self.gesture_at(mouse, Instant::now())
    }

    fn gesture_at(&mut self, mouse: MouseEvent, now: Instant) -> Option<Gesture<T>> {
        let at = Position { x: mouse.column, y: mouse.row };
        let found = self.at(at);
        let wheel = |rows| found.clone().map(|(_, on)| Gesture::Wheel { on, rows });
        match mouse.kind {
            MouseEventKind::ScrollUp => wheel(-WHEEL_ROWS),
            MouseEventKind::ScrollDown => wheel(WHEEL_ROWS),
            MouseEventKind::Down(MouseButton::Left) => {
                let before = self.pressed.take();
                let (area, on) = found?;
                let (line, column) = (usize::from(at.y - area.y), usize::from(at.x - area.x));
                if before.is_some_and(|(when, place)| place == at && now.duration_since(when) <= DOUBLE_CLICK_TIME) {
                    return Some(Gesture::DoubleClick { on, line, column });
                }
                self.pressed = Some((now, at));
                Some(Gesture::Click { on, line, column })
            }
            _ => None,
        }
    }
}

/// Returns the number of rows that a wheel event scrolls by, at any position: for screens with one pane. Negative is up.
pub fn wheel(mouse: MouseEvent) -> Option<isize> {
    match mouse.kind {
        MouseEventKind::ScrollUp => Some(-WHEEL_ROWS),
        MouseEventKind::ScrollDown => Some(WHEEL_ROWS),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::crossterm::event::KeyModifiers;

    const LEFT: MouseEventKind = MouseEventKind::Down(MouseButton::Left);

    fn event(kind: MouseEventKind, column: u16, row: u16) -> MouseEvent {
        MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE }
    }

    fn places() -> MouseAreas<&'static str> {
        let mut places = MouseAreas::default();
        places.add(Rect::new(0, 0, 10, 10), "left");
        places.add(Rect::new(10, 2, 10, 8), "right");
        places.add(Rect::new(5, 5, 10, 2), "popup");
        places.add(Rect::new(0, 0, 0, 3), "nothing");
        places
    }

    #[test]
    fn click_returns_topmost_area_and_position_within_it() {
        let mut places = places();
        assert_eq!(places.gesture(event(LEFT, 12, 4)), Some(Gesture::Click { on: "right", line: 2, column: 2 }));
        assert_eq!(places.gesture(event(LEFT, 7, 6)), Some(Gesture::Click { on: "popup", line: 1, column: 2 }));
        assert_eq!(places.gesture(event(LEFT, 12, 1)), None);
        assert_eq!(places.gesture(event(MouseEventKind::Moved, 12, 4)), None);
        assert_eq!(places.gesture(event(MouseEventKind::Down(MouseButton::Right), 12, 4)), None);
    }

    #[test]
    fn wheel_scrolls_the_area_under_the_pointer() {
        let mut places = places();
        assert_eq!(
            places.gesture(event(MouseEventKind::ScrollUp, 1, 1)),
            Some(Gesture::Wheel { on: "left", rows: -3 })
        );
        assert_eq!(
            places.gesture(event(MouseEventKind::ScrollDown, 19, 9)),
            Some(Gesture::Wheel { on: "right", rows: 3 })
        );
        assert_eq!(places.gesture(event(MouseEventKind::ScrollDown, 30, 9)), None);
    }

    #[test]
    fn third_quick_click_starts_a_new_double_click() {
        let mut places = places();
        let start = Instant::now();
        let mut press = |column, after| {
            let gesture = places.gesture_at(event(LEFT, column, 4), start + Duration::from_millis(after));
            matches!(gesture, Some(Gesture::DoubleClick { .. }))
        };
        assert!(!press(12, 0));
        assert!(press(12, 300));
        assert!(!press(12, 400), "the third click");
        assert!(!press(13, 500), "another cell");
        assert!(!press(13, 1200), "too late");
        assert!(press(13, 1300));
    }

    #[test]
    fn click_outside_areas_resets_double_click() {
        let mut places = places();
        let now = Instant::now();
        places.gesture_at(event(LEFT, 12, 4), now);
        places.gesture_at(event(LEFT, 40, 4), now);
        let gesture = places.gesture_at(event(LEFT, 12, 4), now);
        assert!(matches!(gesture, Some(Gesture::Click { .. })), "{gesture:?}");
    }
}
