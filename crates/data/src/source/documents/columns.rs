//! Columns of tables: the selection of those that are read, and messages about them.

use super::jq::as_path;
use super::source::{DocumentBlock, DocumentFields, DocumentSource, OtherFields, SampledBlock};
use super::{Layout, Position, TextFile};
use crate::source::jsonl::Unit;
use gristmill_arrow::BadText;
use gristmill_core::pack::TextField;
use gristmill_core::text::display_safe;
use gristmill_core::{Cancel, Outcome};

/// Number of rows that are passed to the caller together.
pub(super) const ROWS_PER_BATCH: usize = 64;
/// Maximum number of columns that a message names.
const MAX_NAMED_COLUMNS: usize = 20;
/// Message for rows whose text is larger than 64 MiB.
pub const TOO_LONG: &str = "its text is longer than 64 MiB";
/// Message for rows whose text is not UTF-8.
pub const NOT_UTF8: &str = "its text is not UTF-8";

/// Returns a reason with the column that it is about.
pub fn with_column(why: &str, column: Option<&str>) -> String {
    column.map_or_else(|| why.to_owned(), |column| format!("{why} (column `{}`)", display_safe(column)))
}

/// Returns the message for a row with a text that cannot be read.
pub(super) fn why_unreadable(bad: BadText) -> &'static str {
    match bad {
        BadText::NotUtf8 => NOT_UTF8,
        BadText::TooLong => TOO_LONG,
    }
}

/// Description of a column of lists.
const LIST: &str = "a list";

/// The columns that are read.
pub(super) enum Columns {
    /// Only the text at this path.
    Text(String),
    /// Rows as JSON objects.
    Json {
        /// Columns at the top level; `None` means all.
        names: Option<Vec<String>>,
        /// The column of the text, which must exist; `None` if a jq program extracts the text.
        key: Option<String>,
    },
}

impl Columns {
    /// Returns the columns that contain the fields. `is_text` is whether a column has text, which is then read as such even for a format
    /// whose documents may be lists.
    pub(super) fn of(fields: &DocumentFields, is_text: impl FnOnce(&str) -> bool) -> Self {
        let path = match &fields.text {
            TextField::Key(key) => Some(key.clone()),
            TextField::Jq(program) if fields.others == OtherFields::None => as_path(program).map(|path| path.join(".")),
            TextField::Jq(_) => None,
        };
        match (path, &fields.others) {
            (Some(path), OtherFields::None) => Self::Text(path),
            (Some(key), OtherFields::Named(others)) if others.iter().all(|other| *other == key) && is_text(&key) => {
                Self::Text(key)
            }
            (Some(key), OtherFields::Named(others)) => {
                let names = std::iter::once(&key).chain(others).cloned().collect();
                Self::Json { names: Some(names), key: Some(key) }
            }
            (key, _) => Self::Json { names: None, key },
        }
    }
}

/// Whether rows can have text, given the type of their column as in [`layout_of_table`]. A column of documents may hold lists, which the
/// format checks.
pub(super) fn may_have_text(column: &Result<(), Option<String>>) -> bool {
    !matches!(column, Err(described) if described.as_deref() != Some(LIST))
}

/// Returns the layout of a table. `column` looks up a text column: its error is the type of a column without text, with its article, or
/// `None` if there is no such column. `is_at_top` is whether a name is that of a column at the top level. `text_columns` are named in the
/// message.
pub(super) fn layout_of_table(
    fields: &DocumentFields,
    is_empty: bool,
    column: impl Fn(&str) -> Result<(), Option<String>>,
    is_at_top: impl FnOnce(&str) -> bool,
    text_columns: impl FnOnce() -> Vec<String>,
) -> Layout {
    let problem = match Columns::of(fields, |key| column(key).is_ok()) {
        _ if is_empty => return Layout::Empty,
        Columns::Text(key) => column(&key).err().map(|described| (key, described)),
        Columns::Json { key: Some(key), .. } => match column(&key) {
            found if may_have_text(&found) && is_at_top(&key) => None,
            Ok(()) => {
                let why = format!("its column `{key}` is part of another one, and other fields are read, too");
                return Layout::NoText { why, hint: format!("--jq '.{key}' reads its text") };
            }
            Err(described) => Some((key, described)),
        },
        Columns::Json { key: None, .. } => None,
    };
    problem.map_or(Layout::Rows, |(key, described)| column_without_text(&key, described.as_deref(), text_columns()))
}

/// Returns a block of rows that corresponds to a byte range of a table with this number of rows, and its approximate size in the file.
pub(super) fn sample_of_table(
    source: &dyn DocumentSource,
    (file, rows): (&TextFile, u64),
    fields: &DocumentFields,
    range: Unit,
    cancel: &Cancel,
) -> Outcome<SampledBlock> {
    let size = usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(usize::MAX);
    let from = Position { line: scale(range.start, rows, file.bytes), offset: 0 };
    let mut reader = source.open(file, fields, from, size, cancel)?;
    let Some(block) = reader.next(Vec::new())? else { return Ok((DocumentBlock::default(), file.bytes)) };
    let on_disk = scale(reader.position().line - from.line, file.bytes, rows);
    Ok((block, on_disk.clamp(1, file.bytes.max(1))))
}

/// Returns `of` multiplied by `part / whole`.
pub(super) fn scale(part: u64, of: u64, whole: u64) -> u64 {
    u64::try_from(u128::from(part) * u128::from(of) / u128::from(whole.max(1))).unwrap_or(u64::MAX)
}

/// Returns JSON objects that each end with a newline, without the newlines.
pub(super) fn json_lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\n").unwrap_or(line))
}

/// Returns the layout of a file without a text column of this name. `described` is the type of the column, with its article; `None` if
/// there is no such column.
fn column_without_text(key: &str, described: Option<&str>, mut text_columns: Vec<String>) -> Layout {
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
    let hint = match described {
        Some(LIST) => format!("{hint}; pack and count make text of lists with --jq"),
        _ => hint,
    };
    Layout::NoText { why, hint }
}
