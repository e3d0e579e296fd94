//! Texts whose documents are not lines, changed so that they are.

/// Changes a text so that each document is a line, byte by byte: no offset changes.
pub(super) trait LineForm: Send {
    /// Changes the next bytes of the text.
    fn apply(&mut self, bytes: &mut [u8]);

    /// Whether what follows the last line end is a line; valid at the end of the text.
    fn has_open_line(&self) -> bool;

    /// Returns what is wrong with the text and the way out; valid at its end. `lines` is the number of lines before.
    fn damage(&self, lines: u64) -> Option<(String, &'static str)>;

    /// Continues at the beginning of a line, after a byte of the text that is not changed. Returns `false` if the text before is needed.
    fn resume(&mut self, _before: u8) -> bool {
        false
    }
}
