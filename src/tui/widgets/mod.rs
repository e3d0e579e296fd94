//! Small widgets. They take a [`Ui`](crate::tui::ui::Ui) and plain values, and must not contain logic of any screen.
//!
//! Text from the data must be escaped by [`text::safe`] before it becomes a span; functions of this module that escape their arguments
//! document it.

pub mod bars;
pub mod chart;
pub mod input;
pub mod layout;
pub mod list;
pub mod mouse;
pub mod page;
pub mod panel;
pub mod popup;
pub mod preview;
pub mod report;
pub mod scroll;
pub mod table;
pub mod text;
pub mod toast;

pub use bars::{progress_bar, range_bar, split_bar};
pub use chart::{Bar, Chart, Unit};
pub use input::TextField;
pub use list::{draw_list, draw_selection, ListState};
pub use mouse::{Gesture, MouseAreas};
pub use panel::{draw_panel, padded, panel};
pub use popup::popup;
pub use preview::PreviewState;
pub use scroll::Scroll;
pub use table::{draw_table, Align, Cell, Column};
pub use toast::{Level, Toast};

#[cfg(test)]
mod tests;
