//! Rows of the table of documents (docs/formats/olmo.md §3).

use std::borrow::Cow;
use std::fmt::Write as _;

/// A row of the table.
pub(super) struct TableRow<'a> {
    /// Number of the first token in the file, and of the one after the last.
    pub(super) tokens: (u64, u64),
    pub(super) id: &'a str,
    pub(super) source: &'a str,
    /// Number of the line, counted from 1.
    pub(super) line: u64,
}

impl TableRow<'_> {
    /// Appends the row with its end, as Python's `csv` writes it.
    pub(super) fn append_to(&self, rows: &mut String) {
        // Writing to a String does not fail.
        let _ = write!(rows, "{},{},", self.tokens.0, self.tokens.1);
        append_field(self.id, rows);
        rows.push(',');
        append_field(self.source, rows);
        let _ = write!(rows, ",{}\r\n", self.line);
    }
}

/// Appends a field; in quotes, and with quotes doubled, where Python's `csv` does so.
fn append_field(field: &str, rows: &mut String) {
    if !field.contains([',', '"', '\r', '\n']) {
        rows.push_str(field);
        return;
    }
    rows.push('"');
    for part in field.split_inclusive('"') {
        rows.push_str(part);
        if part.ends_with('"') {
            rows.push('"');
        }
    }
    rows.push('"');
}

/// Returns a field with a space for each line break: OLMo-core reads tables line by line.
pub(super) fn without_line_breaks(field: &str) -> Cow<'_, str> {
    match field.contains(['\r', '\n']) {
        true => Cow::Owned(field.replace(['\r', '\n'], " ")),
        false => Cow::Borrowed(field),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: &str) -> String {
        let mut rows = String::new();
        TableRow { tokens: (3, 17), id, source: "a/b c.jsonl", line: 9 }.append_to(&mut rows);
        rows
    }

    #[test]
    fn fields_are_quoted_as_by_python() {
        let cases = [
            ("plain", "plain"),
            ("", ""),
            ("it's; a\tb", "it's; a\tb"),
            ("a,b", "\"a,b\""),
            ("\"", "\"\"\"\""),
            ("say \"a\" now", "\"say \"\"a\"\" now\""),
            ("a\nb", "\"a\nb\""),
            ("a\r", "\"a\r\""),
        ];
        for (id, field) in cases {
            assert_eq!(row(id), format!("3,17,{field},a/b c.jsonl,9\r\n"));
        }
    }

    #[test]
    fn line_breaks_become_spaces() {
        assert_eq!(without_line_breaks("a\r\nb\nc"), "a  b c");
        assert!(matches!(without_line_breaks("a b"), Cow::Borrowed(_)));
    }
}
