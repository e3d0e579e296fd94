//! The guided commands as plain prompts: the same questions as the full screen, one line per state change.
//!
//! Owns questions and their order. Decides nothing itself: every answer is stored in the plan. What a plan means, and what the data say about
//! it, comes from `operations`. For screen readers, logs, and terminals without a full screen.

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

/// A shown value is cut here, in columns.
const SHOWN_COLUMNS: usize = 100;

/// Asks one question that is answered by yes or no.
pub fn confirm(question: &str, default: bool) -> Outcome<bool> {
    Prompter::new()?.confirm(question, default)
}

/// A value in one line, safe to print.
pub fn value_line(value: &Value) -> String {
    let text = match value {
        Value::Text(text) => text.clone(),
        Value::Int(number) => number.to_string(),
        Value::Json(json) => json.to_string(),
        other => other.describe(),
    };
    cut_end(&display_safe(&text), SHOWN_COLUMNS)
}
