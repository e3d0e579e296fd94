//! Plans of `dedup`, before any work: missing and invalid answers, and whether two plans produce the same bytes.

mod answers;
mod identity;

pub use answers::{open_questions, refusals};
pub use identity::{differences, plan_hash};

#[cfg(test)]
mod tests;
