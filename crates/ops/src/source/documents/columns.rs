//! Columns of tables: which ones are read, and what is reported about them.

use super::jq::as_path;
use super::source::{DocumentFields, OtherFields};
use super::Layout;
use gristmill_core::pack::TextField;

/// Rows that are passed on together.
pub(super) const ROWS_TOGETHER: usize = 64;
/// Columns that a message names.
const MAX_NAMED_COLUMNS: usize = 20;
/// Reason for rows whose text has more than 64 MiB.
pub(super) const TOO_LONG: &str = "its text is longer than 64 MiB";
/// Reason for rows whose text cannot be read as one.
pub(super) const NOT_UTF8: &str = "its text is not UTF-8";

/// The columns that are read.
pub(super) enum Columns {
    /// The text at this path alone.
    Text(String),
    /// Rows as objects of JSON.
    Json {
        /// Columns at the top level; `None` means all.
        names: Option<Vec<String>>,
        /// The column of the text, which must exist; `None` if a program extracts it.
        key: Option<String>,
    },
}

impl Columns {
    /// Returns the columns that fields are read from.
    pub(super) fn of(fields: &DocumentFields) -> Self {
        let path = match &fields.text {
            TextField::Key(key) => Some(key.clone()),
            TextField::Jq(program) if fields.others == OtherFields::None => as_path(program).map(|path| path.join(".")),
            TextField::Jq(_) => None,
        };
        match (path, &fields.others) {
            (Some(path), OtherFields::None) => Self::Text(path),
            (Some(key), OtherFields::Named(others)) => {
                let names = std::iter::once(&key).chain(others).cloned().collect();
                Self::Json { names: Some(names), key: Some(key) }
            }
            (key, _) => Self::Json { names: None, key },
        }
    }
}

/// Returns `part / whole` of `of`.
pub(super) fn scale(part: u64, of: u64, whole: u64) -> u64 {
    u64::try_from(u128::from(part) * u128::from(of) / u128::from(whole.max(1))).unwrap_or(u64::MAX)
}

/// Returns the objects of JSON that each end with a newline.
pub(super) fn json_lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\n").unwrap_or(line))
}

/// Returns the layout of a file without a column of text of this name. `described` is what the column holds, with its article; `None` if
/// there is no such column.
pub(super) fn column_without_text(key: &str, described: Option<&str>, mut text_columns: Vec<String>) -> Layout {
    let why = match described {
        None => format!("it has no column `{key}`"),
        Some(described) => format!("its column `{key}` holds {described}, not text"),
    };
    text_columns.sort();
    text_columns.dedup();
    let named = text_columns.get(..MAX_NAMED_COLUMNS).unwrap_or(&text_columns).join(", ");
    let hint = match text_columns.is_empty() {
        true => "none of its columns holds text".to_owned(),
        false => format!("name one of its columns of text with --text-key: {named}"),
    };
    Layout::NoText { why, hint }
}
