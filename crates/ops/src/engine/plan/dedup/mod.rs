//! A plan of deduplicating before any work: open questions, wrong answers, the equivalent command, and whether two plans make the same
//! bytes.

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
