//! Splits and excludes: their changes ([`SplitSession`]), their editor, and the dialogs of both.
//!
//! The browser has a session, too: `x` and `s` change it, [`SplitSession::write`] reviews and writes it.

mod add_exclude;
mod balance;
mod choice;
mod conflict;
mod draft;
mod leaks;
mod lookup_dialog;
mod move_dialog;
mod notices;
mod pattern;
mod prompt;
mod review;
mod screen;
mod session;
mod state;
mod text_edit;
mod view;
mod workers;

pub use choice::{Choice, ChoiceOption};
pub use draft::{load as load_draft, place as draft_place, FoundDraft};
pub use move_dialog::choose_split;
pub use prompt::Prompt;
pub use screen::{note_dialog, open, open_shared};
pub use session::SplitSession;
pub use workers::{marked, marker, Marker};

#[cfg(test)]
mod tests;
