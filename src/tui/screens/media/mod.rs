//! Media metadata: the answers, what they would record, and the screen of `prepare-media`.

pub mod form;
mod screen;
pub mod seen;
mod view;

pub use screen::{open, open_with, MediaScreen};

#[cfg(test)]
mod tests;
