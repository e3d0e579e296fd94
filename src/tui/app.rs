//! The frame.

/// What the frame waits for.
#[derive(Debug)]
pub enum Event {
    /// A worker has something.
    Woken,
}
