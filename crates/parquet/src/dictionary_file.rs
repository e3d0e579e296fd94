//! The texts of a dictionary that is too large for memory. They remain in a file; each row that refers to a text reads it.

use gristmill_core::{Failure, Outcome};
use gristmill_storage::read::ReadFile;
use gristmill_storage::scratch::Scratch;
use std::sync::Arc;

/// The file with the decompressed dictionary: a copy, or the Parquet file itself if the dictionary is not compressed.
#[derive(Debug)]
pub(crate) struct DictionaryFile {
    file: Arc<ReadFile>,
    /// Offset of the dictionary in the file.
    start: u64,
    /// Removes the copy when it is dropped.
    _scratch: Option<Scratch>,
}

impl DictionaryFile {
    /// Creates a dictionary that begins at offset `start` of a file. `scratch` owns the file if it is a copy.
    pub(crate) fn new(file: Arc<ReadFile>, start: u64, scratch: Option<Scratch>) -> Self {
        Self { file, start, _scratch: scratch }
    }

    /// Appends the entry at an offset to `target`.
    ///
    /// # Errors
    /// The file cannot be read. This is not damage of the data, because all entries existed when the dictionary was read.
    pub(crate) fn read(&self, at: u32, size: u32, target: &mut Vec<u8>) -> Outcome<()> {
        let begin = target.len();
        target.resize(begin + size as usize, 0);
        let read = self.file.read_exact_at(target.get_mut(begin..).unwrap_or_default(), self.start + u64::from(at));
        read.map_err(|error| Failure::io("reading an entry of a dictionary", self.file.path(), &error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_core::ExitClass;
    use gristmill_storage::read::open_read;

    #[test]
    fn unreadable_dictionary_file_is_an_environment_failure() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("dictionary");
        std::fs::write(&path, b"onetwo").unwrap();
        let dictionary = DictionaryFile::new(Arc::new(open_read(&path).unwrap()), 3, None);
        let mut text = b"> ".to_vec();
        dictionary.read(0, 3, &mut text).unwrap();
        assert_eq!(text, b"> two");
        let failure = dictionary.read(2, 3, &mut text).unwrap_err();
        assert_eq!(failure.class, ExitClass::Environment, "{failure}");
        assert!(failure.to_string().contains("reading an entry of a dictionary failed on"), "{failure}");
    }
}
