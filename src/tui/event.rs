//! The events that the frame handles, from the terminal, from workers and from signals.

use ratatui::crossterm::event::{KeyEvent, MouseEvent};

/// An event handled by the frame.
#[derive(Debug)]
pub enum Event {
    /// A key was pressed or repeats.
    Key(KeyEvent),
    /// A text was pasted.
    Paste(String),
    /// The mouse was pressed, dragged, or its wheel turned.
    Mouse(MouseEvent),
    /// The size of the terminal changed.
    Resized,
    /// A worker or a job has a new result.
    Woken,
    /// The terminal accepted the last frame completely, so the next one may be drawn.
    LineIsFree,
    /// A signal arrived.
    Signal(i32),
    /// The terminal can no longer be read; holds the reason.
    InputLost(String),
    /// A worker panicked; holds the message.
    WorkerPanicked(String),
}
