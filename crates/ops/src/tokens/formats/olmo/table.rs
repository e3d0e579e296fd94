//! Rows of the table of documents (docs/formats/olmo.md §3).

use super::files::table_name;
use crate::tokens::format::FinishContext;
use flate2::write::GzEncoder;
use gristmill_core::{Failure, Outcome};
use gristmill_storage::fs::BufferedFile;
use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// A row of the table, without the positions of its tokens.
pub(super) struct TableRow<'a> {
    pub(super) id: &'a str,
    /// Name of the file that contains the document.
    pub(super) source: &'a str,
    /// Line number, counted from 1.
    pub(super) line: u64,
}

/// Appends the first two fields of a row: the index of the document's first token in the file, and the index after its last token.
pub(super) fn append_tokens(first: u64, end: u64, rows: &mut String) {
    // Writing to a String does not fail.
    let _ = write!(rows, "{first},{end},");
}

impl TableRow<'_> {
    /// Appends the other fields and the line end, as Python's `csv` writes them.
    pub(super) fn append_to(&self, rows: &mut String) {
        append_field(self.id, rows);
        rows.push(',');
        append_field(self.source, rows);
        let _ = write!(rows, ",{}\r\n", self.line);
    }
}

/// Appends a field. Quotes it if Python's `csv` does, with inner quotes doubled.
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

/// Replaces each line break of a field with a space, because OLMo-core reads tables line by line.
pub(super) fn without_line_breaks(field: &str) -> Cow<'_, str> {
    match field.contains(['\r', '\n']) {
        true => Cow::Owned(field.replace(['\r', '\n'], " ")),
        false => Cow::Borrowed(field),
    }
}

/// A compressed table that is being written. Its gzip header has no time and no name, so equal rows produce equal bytes.
pub(super) struct TableFile {
    path: PathBuf,
    file: BufferedFile,
    encoder: GzEncoder<Vec<u8>>,
}

impl TableFile {
    /// Creates the table of a file in the folder of new files.
    pub(super) fn create(finishing: &FinishContext<'_>, number: u64) -> Outcome<Self> {
        let path = finishing.folder.join(table_name(number));
        let file = finishing.create(&path)?;
        Ok(Self { path, file, encoder: GzEncoder::new(Vec::new(), flate2::Compression::default()) })
    }

    /// Appends the bytes of rows.
    pub(super) fn append(&mut self, rows: &[u8]) -> Outcome<()> {
        self.encoder.write_all(rows).map_err(|error| failed(&self.path, &error))?;
        self.file.write_all(self.encoder.get_ref())?;
        self.encoder.get_mut().clear();
        Ok(())
    }

    /// Finishes the table and returns its path.
    pub(super) fn finish(mut self) -> Outcome<PathBuf> {
        self.file.write_all(&self.encoder.finish().map_err(|error| failed(&self.path, &error))?)?;
        self.file.close()?;
        Ok(self.path)
    }
}

fn failed(path: &Path, error: &std::io::Error) -> Failure {
    Failure::io("compressing a table", path, error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: &str) -> String {
        let mut rows = String::new();
        append_tokens(3, 17, &mut rows);
        TableRow { id, source: "a/b c.jsonl", line: 9 }.append_to(&mut rows);
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
    fn line_breaks_of_file_names_become_spaces() {
        assert_eq!(without_line_breaks("a\r\nb\nc"), "a  b c");
        assert!(matches!(without_line_breaks("a b"), Cow::Borrowed(_)));
    }
}
