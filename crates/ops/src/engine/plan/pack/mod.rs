//! A plan of packing before any work: open questions, wrong answers, and the equivalent command.

mod answers;
mod command;
pub mod flags;
mod notes;
pub(super) mod places;
mod settings;
mod values;

pub use answers::{missing_or_wrong, open_questions, refusals};
pub use command::{type_word, MASKED_BY_DEFAULT};
pub use notes::notes;
pub use settings::PackSetting;
pub use values::FIRST_SAMPLE_SIZE;

#[cfg(test)]
mod tests;
