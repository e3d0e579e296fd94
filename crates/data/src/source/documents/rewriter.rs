//! Files that are written again with other texts.

use super::{Row, TextFile};
use gristmill_core::Outcome;
use std::ops::Range;

/// What changes in a file.
#[derive(Clone, Copy, Debug)]
pub struct TextEdits<'a> {
    /// The column of the text.
    pub text_key: &'a str,
    /// The new column that lists the ranges; `None` if they are removed from the text.
    pub ranges_key: Option<&'a str>,
}

/// Receives a row, and a list, empty at first, for the ranges of its text: in bytes, in order, not overlapping, between characters.
pub type EditRow<'a> = dyn FnMut(&Row<'_>, &mut Vec<Range<usize>>) -> Outcome<()> + 'a;

/// Writes files of one kind again. Rows whose text is no text stay as they are, and so does a file without the column.
pub trait FileRewriter: Sync {
    /// Checks that a file can be written, before any work.
    ///
    /// # Errors
    /// The file is damaged, its column cannot be changed, or the new column cannot be added.
    fn check(&self, file: &TextFile, edits: &TextEdits<'_>) -> Outcome<()>;

    /// Passes the rows to `edit` in order, and the bytes of the new file to `write`.
    fn rewrite(
        &self,
        file: &TextFile,
        edits: &TextEdits<'_>,
        edit: &mut EditRow<'_>,
        write: &mut dyn FnMut(&[u8]) -> Outcome<()>,
    ) -> Outcome<()>;
}
