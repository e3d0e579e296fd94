//! A plan of deduplicating before any work: open questions, wrong answers, the equivalent command, and whether two plans make the same
//! bytes.

mod answers;
mod identity;

pub use answers::{open_questions, refusals};
pub use identity::{differences, plan_hash};

#[cfg(test)]
mod tests;
