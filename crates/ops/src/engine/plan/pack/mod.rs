//! A plan of packing before any work: open questions, wrong answers, and the equivalent command.

mod answers;
mod notes;
pub(super) mod places;

pub use answers::{missing_or_wrong, open_questions, refusals};
pub use notes::notes;

/// The number of tokens in a sample of Forager that forms and prompts propose.
pub const FIRST_SAMPLE_SIZE: u64 = 4_096;
/// The types of parts that are not trained on by default (docs/formats/forager.md §3.4).
pub const MASKED_BY_DEFAULT: [&str; 2] = ["system", "prompt"];

#[cfg(test)]
mod tests;
