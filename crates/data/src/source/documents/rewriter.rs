//! Rewriting of files with changed texts.

use super::{Row, TextFile};
use gristmill_core::Outcome;
use std::ops::Range;

/// The columns that are changed when a file is rewritten.
#[derive(Clone, Copy, Debug)]
pub struct TextEdits<'a> {
    /// The column of the text.
    pub text_key: &'a str,
    /// The new column with the list of ranges; `None` if the ranges are removed from the text.
    pub ranges_key: Option<&'a str>,
}

/// Callback that receives a row and an empty list, to which it adds the ranges of the row's text: in bytes, in order, without overlap, and
/// at character boundaries.
pub type EditRow<'a> = dyn FnMut(&Row<'_>, &mut Vec<Range<usize>>) -> Outcome<()> + 'a;

/// Rewrites files of one format with changed texts. Rows without a text are copied unchanged, and so is a file without the column.
pub trait FileRewriter: Sync {
    /// Checks that a file can be rewritten, before any work.
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
