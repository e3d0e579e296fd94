//! Media metadata in forms: the answers of the user, and an estimate of the metadata that would be recorded.

pub mod form;
pub mod preview;
pub mod tally;

#[cfg(test)]
mod tests;
