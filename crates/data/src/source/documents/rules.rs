//! The rules in which programs differ: which files of a folder they read, and which lines they refuse.

use super::packing::{ends_in, is_text, Packing};
use super::quirks::Quirks;

/// Rules for the files of a folder: which are read, and in which order.
#[derive(Debug)]
pub struct InputRules {
    /// Whether a file with this relative name is read, unless a pattern is given.
    pub is_read: fn(&str) -> bool,
    /// Whether files whose names begin with a dot are read.
    pub reads_hidden: bool,
    /// Whether paths are sorted in natural order, in which numbers are compared by value.
    pub has_natural_order: bool,
    /// Message for a folder without input.
    pub nothing: &'static str,
    /// Hint for a folder without input.
    pub nothing_hint: &'static str,
}

impl InputRules {
    /// Selects names that end in `.jsonl`, compressed or not.
    pub const JSON_LINES: Self = Self {
        is_read: is_text,
        reads_hidden: false,
        has_natural_order: false,
        nothing: "there is no file whose name ends in .jsonl",
        nothing_hint: "name the files, or say which with --glob",
    };
    /// Selects names that end in `.jsonl` or `.JSONL`, in natural order.
    pub const PLAIN_JSON_LINES: Self = Self {
        is_read: |name| name.ends_with(".jsonl") || name.ends_with(".JSONL"),
        has_natural_order: true,
        nothing_hint: "name the files, or say which: --glob '**/*.jsonl.gz' finds compressed ones",
        ..Self::JSON_LINES
    };
    /// Like [`Self::PLAIN_JSON_LINES`], for an index, which is not of compressed files or of single files.
    pub const INDEXED_JSON_LINES: Self =
        Self { nothing_hint: "the index is of files whose names end in .jsonl or .JSONL", ..Self::PLAIN_JSON_LINES };
    /// Selects files of rows in JSON by their names, compressed or not.
    pub const JSON_ROWS: Self = Self {
        is_read: |name| is_text(name) || ends_in(Packing::strip_suffix(name), ".ndjson"),
        nothing: "there is no file whose name ends in .jsonl or .ndjson",
        ..Self::JSON_LINES
    };
    /// Selects all files.
    pub const EVERY_FILE: Self = Self {
        is_read: |_| true,
        reads_hidden: true,
        nothing: "there is no file",
        nothing_hint: "name the folder or the file that holds the documents",
        ..Self::JSON_LINES
    };
}

/// Rules for lines: which are refused, and which are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DocumentRules {
    /// JSON extensions that are refused.
    pub refused: Quirks,
    /// Whether a line without text is left out by design.
    pub skips_missing: bool,
    /// Whether an empty text is left out by design.
    pub skips_empty: bool,
    /// Whether an empty text is a document.
    pub takes_empty: bool,
    /// Whether `\r` also ends a line.
    pub cr_ends_lines: bool,
}

impl DocumentRules {
    /// Returns the rules for rows of tables. Null and empty values are common in tables, so such a row is not a document.
    #[must_use]
    pub fn of_rows(self) -> Self {
        Self { skips_missing: true, skips_empty: !self.takes_empty, ..self }
    }

    /// Rules of Python's `json`.
    pub const PYTHON: Self = Self {
        refused: Quirks::SURROGATE_IN_TEXT.with(Quirks::DEEP),
        skips_missing: false,
        skips_empty: false,
        takes_empty: false,
        cr_ends_lines: false,
    };
    /// Rules of Python's `json` on lines that are already decoded, in which a byte-order mark is not JSON.
    pub const PYTHON_TEXT: Self = Self { refused: Self::PYTHON.refused.with(Quirks::BOM), ..Self::PYTHON };
    /// Rules of the `jq` library, which accepts NaN.
    pub const JQ: Self = Self {
        refused: Quirks::SURROGATE_IN_TEXT.with(Quirks::SECOND_HALF_IN_TEXT).with(Quirks::DEEP).with(Quirks::BOM),
        takes_empty: true,
        ..Self::PYTHON
    };
    /// Rules of `orjson` on files that are opened with universal newlines.
    pub const ORJSON: Self = Self {
        refused: Quirks::NON_FINITE
            .with(Quirks::OVERFLOW)
            .with(Quirks::BOM)
            .with(Quirks::SURROGATE_IN_TEXT)
            .with(Quirks::SECOND_HALF_IN_TEXT)
            .with(Quirks::SURROGATE_IN_OTHER_FIELD),
        skips_missing: true,
        skips_empty: true,
        takes_empty: false,
        cr_ends_lines: true,
    };
}
