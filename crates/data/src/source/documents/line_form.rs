//! Conversion of texts whose documents are not lines.

/// Changes the bytes of a text so that each document is a line; no offset changes.
pub(super) trait LineForm: Send {
    /// Changes the next bytes of the text.
    fn apply(&mut self, bytes: &mut [u8]);

    /// Whether the text after the last line end is a line; valid at the end of the text.
    fn has_open_line(&self) -> bool;

    /// Returns the damage of the text and a hint; valid at its end. `lines` is the number of lines before the damage.
    fn damage(&self, lines: u64) -> Option<(String, &'static str)>;

    /// Resumes at the beginning of a line, given the unchanged byte before it. Returns `false` if the text before is required.
    fn resume(&mut self, _before: u8) -> bool {
        false
    }
}
