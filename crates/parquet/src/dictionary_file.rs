//! The texts of a dictionary that is too large for memory: they stay in a file, and a row that refers to one reads it.

use gristmill_storage::read::ReadFile;
use gristmill_storage::scratch::Scratch;
use std::sync::Arc;

/// The file with the decompressed dictionary, or that of the column if it is stored as it is.
#[derive(Debug)]
pub(crate) struct DictionaryFile {
    file: Arc<ReadFile>,
    /// Position of the dictionary in the file.
    start: u64,
    /// Removes the file at the end.
    _scratch: Option<Scratch>,
}

impl DictionaryFile {
    /// Opens the dictionary that begins at a position of a file. `scratch` holds the file if it is a copy.
    pub(crate) fn new(file: Arc<ReadFile>, start: u64, scratch: Option<Scratch>) -> Self {
        Self { file, start, _scratch: scratch }
    }

    /// Appends the entry at a position to `target`.
    pub(crate) fn read(&self, at: u32, size: u32, target: &mut Vec<u8>) -> Result<(), String> {
        let begin = target.len();
        target.resize(begin + size as usize, 0);
        let read = self.file.read_exact_at(target.get_mut(begin..).unwrap_or_default(), self.start + u64::from(at));
        read.map_err(|error| format!("an entry of its dictionary cannot be read ({error})"))
    }
}
