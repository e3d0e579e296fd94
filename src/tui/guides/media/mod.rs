//! Media metadata: the answers that the guided prepare asks for, and what they would record.

pub mod form;
pub mod preview;
pub mod tally;

#[cfg(test)]
mod tests;
