//! The rules in which programs differ: which files of a folder they read, and which lines they refuse.

use super::packing::is_text;
use super::verdict::Quirks;

/// Which files of a folder are read, and in which order.
#[derive(Debug)]
pub struct InputRules {
    /// Whether a relative name is read, unless a pattern is given.
    pub is_read: fn(&str) -> bool,
    /// Whether names that begin with a dot are read.
    pub reads_hidden: bool,
    /// Whether numbers in paths are compared as numbers.
    pub has_natural_order: bool,
    /// Reason why a folder has no input.
    pub nothing: &'static str,
    /// Way out of it.
    pub nothing_hint: &'static str,
}

impl InputRules {
    /// Names that end in `.jsonl`, compressed or not.
    pub const JSON_LINES: Self = Self {
        is_read: is_text,
        reads_hidden: false,
        has_natural_order: false,
        nothing: "there is no file whose name ends in .jsonl",
        nothing_hint: "name the files, or say which with --glob",
    };
    /// Names that end in `.jsonl` or `.JSONL`, in natural order.
    pub const PLAIN_JSON_LINES: Self = Self {
        is_read: |name| name.ends_with(".jsonl") || name.ends_with(".JSONL"),
        has_natural_order: true,
        nothing_hint: "name the files, or say which: --glob '**/*.jsonl.gz' finds compressed ones",
        ..Self::JSON_LINES
    };
    /// All files.
    pub const EVERY_FILE: Self = Self {
        is_read: |_| true,
        reads_hidden: true,
        nothing: "there is no file",
        nothing_hint: "name the folder or the file that holds the documents",
        ..Self::JSON_LINES
    };
}

/// Which lines are refused, and which are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DocumentRules {
    /// Peculiarities of JSON that are refused.
    pub refused: Quirks,
    /// Whether a line without text is left out by design.
    pub skips_missing: bool,
    /// Whether an empty text is left out by design.
    pub skips_empty: bool,
    /// Whether an empty text is a document.
    pub takes_empty: bool,
    /// Whether `\r` ends a line, too.
    pub cr_ends_lines: bool,
}

impl DocumentRules {
    /// Returns the rules for rows of tables, in which a value that is null or empty is usual: such a row has no document.
    #[must_use]
    pub fn of_rows(self) -> Self {
        Self { skips_missing: true, skips_empty: !self.takes_empty, ..self }
    }

    /// Python's `json`.
    pub const PYTHON: Self = Self {
        refused: Quirks::SURROGATE_IN_TEXT.with(Quirks::DEEP),
        skips_missing: false,
        skips_empty: false,
        takes_empty: false,
        cr_ends_lines: false,
    };
    /// Python's `json` on lines that were decoded before, in which a byte-order mark is no JSON.
    pub const PYTHON_TEXT: Self = Self { refused: Self::PYTHON.refused.with(Quirks::BOM), ..Self::PYTHON };
    /// The `jq` library, which accepts NaN.
    pub const JQ: Self = Self {
        refused: Quirks::SURROGATE_IN_TEXT.with(Quirks::SECOND_HALF_IN_TEXT).with(Quirks::DEEP).with(Quirks::BOM),
        takes_empty: true,
        ..Self::PYTHON
    };
    /// `orjson`, on files that are opened with universal newlines.
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
