//! A plan of deduplicating before any work: what is still to be answered, what cannot be right, the command that says it, and when two
//! plans make the same bytes.

mod answers;
mod command;
pub mod flags;
mod identity;
mod settings;

pub use answers::{missing_or_wrong, open_questions, refusals};
pub use identity::{differences, plan_hash};
pub use settings::DedupSetting;

#[cfg(test)]
mod tests;
