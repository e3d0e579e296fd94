//! `X.ds`: the concatenated tokens, with access to the files next to it.

use super::{index_path, loss_path, Index, TokenSize};
use gristmill_core::problem::Subject;
use gristmill_core::{Failure, Outcome};
use gristmill_storage::read::{open_read, ReadFile};
use std::path::Path;

const ACTIVITY: &str = "reading the tokens";

/// The tokens of one `.ds` file, open for reading at arbitrary positions.
#[derive(Debug)]
pub struct Shard {
    data: ReadFile,
    token_size: TokenSize,
}

impl Shard {
    /// Opens a data file with a known token size. Bytes after the last whole token are ignored.
    pub fn open(path: &Path, token_size: TokenSize) -> Outcome<Self> {
        Ok(Self { data: open_read(path)?, token_size })
    }

    /// Returns the number of tokens in the file.
    pub fn tokens(&self) -> u64 {
        self.data.len() / self.token_size.bytes()
    }

    /// Returns the number of bytes after the last whole token, which is 0 in a valid file.
    pub fn rest(&self) -> u64 {
        self.data.len() % self.token_size.bytes()
    }

    /// Returns the size of one token.
    pub fn token_size(&self) -> TokenSize {
        self.token_size
    }

    /// Returns the open file.
    pub fn file(&self) -> &ReadFile {
        &self.data
    }

    /// Opens the document index; an error when it is missing.
    pub fn index(&self) -> Outcome<Index> {
        Index::open(&index_path(self.data.path()))
    }

    /// Opens the loss masks, one byte per token; `None` when they are missing.
    pub fn loss(&self) -> Outcome<Option<ReadFile>> {
        let path = loss_path(self.data.path());
        match open_read(&path) {
            Ok(file) => Ok(Some(file)),
            Err(failure) if failure.is_missing() => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// Fills `bytes` with the encoded tokens from `first` on. An error when the file is shorter.
    pub fn read_raw(&self, first: u64, bytes: &mut [u8]) -> Outcome<()> {
        let at = first.checked_mul(self.token_size.bytes()).ok_or_else(|| self.range_failure(first))?;
        self.data.read_exact_at(bytes, at).map_err(|error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => self.range_failure(first),
            _ => Failure::io(ACTIVITY, self.data.path(), &error),
        })
    }

    fn range_failure(&self, first: u64) -> Failure {
        let why = format!(
            "it has {}, and those from token {first} on are requested",
            gristmill_core::text::count(self.tokens(), "token")
        );
        Failure::data(ACTIVITY, why).on(Subject::path(self.data.path()))
    }

    /// Returns the bytes of `count` tokens from `first` on. Fails, before memory is allocated, if the file is shorter.
    pub fn raw(&self, first: u64, count: u64) -> Outcome<Vec<u8>> {
        let is_there = first.checked_add(count).is_some_and(|end| end <= self.tokens());
        let bytes = usize::try_from(count.saturating_mul(self.token_size.bytes())).ok().filter(|_| is_there);
        let mut bytes = vec![0; bytes.ok_or_else(|| self.range_failure(first))?];
        self.read_raw(first, &mut bytes)?;
        Ok(bytes)
    }

    /// Returns the ids of `count` tokens from `first` on; fewer at the end of the file.
    pub fn ids(&self, first: u64, count: usize) -> Outcome<Vec<u32>> {
        let there = usize::try_from(self.tokens().saturating_sub(first)).unwrap_or(usize::MAX);
        let mut bytes = vec![0; count.min(there) * self.token_size.bytes() as usize];
        if !bytes.is_empty() {
            self.read_raw(first, &mut bytes)?;
        }
        let mut ids = Vec::new();
        self.token_size.decode(&bytes, &mut ids);
        Ok(ids)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_storage::{fs::RealFs, publish::write_file};

    #[test]
    fn tokens_are_read_by_position_and_a_partial_last_token_is_ignored() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.ds");
        write_file(&RealFs, &path, &[1, 0, 2, 0, 3, 0, 4, 0, 9], 0o644).unwrap();
        let shard = Shard::open(&path, TokenSize::Two).unwrap();
        assert_eq!((shard.tokens(), shard.rest()), (4, 1));
        assert_eq!(shard.ids(1, 2).unwrap(), [2, 3]);
        assert_eq!(shard.ids(3, usize::MAX).unwrap(), [4]);
        assert_eq!(shard.ids(4, 1).unwrap(), [0_u32; 0]);
        assert!(shard.read_raw(4, &mut [0; 2]).unwrap_err().why.contains("4 tokens"));
        assert!(shard.read_raw(u64::MAX, &mut [0; 2]).unwrap_err().why.contains("4 tokens"));
        assert!(shard.loss().unwrap().is_none() && shard.index().unwrap_err().is_missing());
        let shard = Shard::open(&path, TokenSize::Four).unwrap();
        assert_eq!((shard.tokens(), shard.rest()), (2, 1));
        assert_eq!(shard.ids(0, 9).unwrap(), [0x0002_0001, 0x0004_0003]);
    }
}
