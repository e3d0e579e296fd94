//! `X.ds.index`: the end of each document in tokens (docs/formats/nanosets.md §1).

use gristmill_core::problem::Subject;
use gristmill_core::{Failure, Outcome};
use gristmill_storage::read::{open_read, ReadFile};
use std::path::Path;

const ACTIVITY: &str = "reading the document index";
/// Bytes of one entry.
pub const WORD_BYTES: u64 = 8;
const ENTRIES_PER_READ: usize = 8 << 10;

/// An index file open for reading. Ends are returned unchanged: the caller must not assume that they ascend or are within the data.
#[derive(Debug)]
pub struct Index {
    file: ReadFile,
    documents: u64,
}

impl Index {
    /// Opens a file; its length must be a multiple of eight.
    pub fn open(path: &Path) -> Outcome<Self> {
        let file = open_read(path)?;
        if file.len() % WORD_BYTES != 0 {
            let why = format!(
                "its length of {} is not a multiple of {WORD_BYTES}",
                gristmill_core::text::count(file.len(), "byte")
            );
            return Err(Failure::data(ACTIVITY, why).on(Subject::path(path)));
        }
        Ok(Self { documents: file.len() / WORD_BYTES, file })
    }

    /// Returns the number of documents.
    pub fn documents(&self) -> u64 {
        self.documents
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Returns the ends of up to `count` documents from `first` on, in one read: tokens from the start of the file, exclusive.
    pub fn ends(&self, first: u64, count: usize) -> Outcome<Vec<u64>> {
        let count = usize::try_from(self.documents.saturating_sub(first)).unwrap_or(usize::MAX).min(count);
        let mut bytes = vec![0; count * WORD_BYTES as usize];
        if count > 0 {
            let at = first * WORD_BYTES;
            self.file.read_exact_at(&mut bytes, at).map_err(|e| Failure::io(ACTIVITY, self.file.path(), &e))?;
        }
        Ok(bytes.as_chunks().0.iter().map(|&word| u64::from_le_bytes(word)).collect())
    }

    /// Passes all ends to `take`, in order, in pieces.
    pub fn for_each_end(&self, mut take: impl FnMut(u64) -> Outcome<()>) -> Outcome<()> {
        let mut first = 0;
        while first < self.documents {
            let ends = self.ends(first, ENTRIES_PER_READ)?;
            first += ends.len() as u64;
            ends.into_iter().try_for_each(&mut take)?;
        }
        Ok(())
    }

    /// Returns the last end, which is the number of tokens that the data file should have; 0 without documents.
    pub fn last_end(&self) -> Outcome<u64> {
        Ok(self.ends(self.documents.saturating_sub(1), 1)?.first().copied().unwrap_or(0))
    }

    /// Returns the number of the document that contains `token`: the first that ends after it. Returns `documents()` if there is none.
    /// Reads at most a few dozen entries, one at a time. If the ends do not ascend, the result is arbitrary.
    pub fn document_of(&self, token: u64) -> Outcome<u64> {
        let (mut low, mut high) = (0, self.documents);
        while low < high {
            let middle = low + (high - low) / 2;
            let end = self.ends(middle, 1)?.first().copied().unwrap_or(u64::MAX);
            if end > token {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        Ok(low)
    }

    /// Returns the first token and end of a document. An error when its ends decrease.
    pub fn span(&self, document: u64) -> Outcome<(u64, u64)> {
        let missing = || {
            let why = format!(
                "it lists {}, not document {document}",
                gristmill_core::text::count(self.documents, "document")
            );
            Failure::data(ACTIVITY, why).on(Subject::path(self.path()))
        };
        let (start, end) = match document.checked_sub(1) {
            None => (0, *self.ends(0, 1)?.first().ok_or_else(missing)?),
            Some(before) => match self.ends(before, 2)?.as_slice() {
                &[start, end] => (start, end),
                _ => return Err(missing()),
            },
        };
        if end < start {
            let why = format!("the end {end} follows the larger {start}");
            return Err(Failure::data(ACTIVITY, why).on(Subject::path(self.path()).at(document * WORD_BYTES)));
        }
        Ok((start, end))
    }
}

/// Appends the entry of a document whose end, exclusive, is the token `end`.
pub fn push(end: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(&end.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_core::ExitClass;
    use gristmill_storage::{fs::RealFs, publish::write_file};

    fn opened(ends: &[u64]) -> (tempfile::TempDir, Index) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.ds.index");
        let mut bytes = Vec::new();
        ends.iter().for_each(|&end| push(end, &mut bytes));
        write_file(&RealFs, &path, &bytes, 0o644).unwrap();
        let index = Index::open(&path).unwrap();
        (dir, index)
    }

    #[test]
    fn document_is_found_by_number_and_by_token_position() {
        let (_dir, index) = opened(&[3, 3, 10]);
        assert_eq!((index.documents(), index.last_end().unwrap()), (3, 10));
        assert_eq!(index.span(0).unwrap(), (0, 3));
        assert_eq!(index.span(1).unwrap(), (3, 3));
        assert_eq!(index.span(2).unwrap(), (3, 10));
        assert!(index.span(3).unwrap_err().why.contains("3 documents"));
        let of = |token| index.document_of(token).unwrap();
        assert_eq!([of(0), of(2), of(3), of(9), of(10)], [0, 0, 2, 2, 3]);
        let mut all = Vec::new();
        let keep = |end| {
            all.push(end);
            Ok(())
        };
        index.for_each_end(keep).unwrap();
        assert_eq!(all, [3, 3, 10]);
        assert_eq!(index.ends(1, 100).unwrap(), [3, 10]);
        assert_eq!(index.ends(9, 100).unwrap(), [0_u64; 0]);
    }

    #[test]
    fn an_index_without_documents_is_an_empty_file() {
        let (_dir, index) = opened(&[]);
        assert_eq!((index.documents(), index.last_end().unwrap(), index.document_of(0).unwrap()), (0, 0, 0));
        assert!(index.span(0).is_err());
    }

    #[test]
    fn descending_or_misaligned_token_index_is_refused() {
        let (dir, index) = opened(&[9, 4]);
        let failure = index.span(1).unwrap_err();
        assert_eq!((failure.class, failure.subject.byte_offset), (ExitClass::Data, Some(8)));
        let path = dir.path().join("b.ds.index");
        write_file(&RealFs, &path, b"123456789", 0o644).unwrap();
        assert!(Index::open(&path).unwrap_err().why.contains("multiple of 8"));
    }
}
