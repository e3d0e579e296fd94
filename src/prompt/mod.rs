//! The guided commands as plain prompts: the same questions as the full screen, one line per state change.
//!
//! Owns the questions and their order, and stores every answer in the plan. Makes no decisions: `operations` checks plans and provides the
//! advice from the data. For screen readers, logs, and terminals without a full screen.

mod options;
mod plain;
mod prepare;
mod prompter;
mod review;

pub use options::plan;
pub use prepare::prepare;
pub use prompter::Prompter;

use gristmill_core::text::display_safe;
use gristmill_core::Outcome;
use gristmill_data::preview::text::cut_end;
use gristmill_data::source::decode::Value;

/// Maximum width of a displayed value in columns.
const SHOWN_COLUMNS: usize = 100;

/// Asks a yes-or-no question.
pub fn confirm(question: &str, default: bool) -> Outcome<bool> {
    Prompter::new()?.confirm(question, default)
}

/// Returns a value in one line, escaped.
pub fn value_line(value: &Value) -> String {
    let text = match value {
        Value::Text(text) => text.clone(),
        Value::Int(number) => number.to_string(),
        Value::Json(json) => json.to_string(),
        other => other.describe(),
    };
    cut_end(&display_safe(&text), SHOWN_COLUMNS)
}
