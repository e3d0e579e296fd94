//! Copies tokens and their loss masks in parallel, piece by piece.

use super::output::Writer;
use gristmill_core::{Failure, Handles, Outcome, Subject};
use gristmill_data::formats::nanosets::TokenSize;
use gristmill_storage::read::ReadFile;

/// Number of tokens copied at a time.
const TOKENS_PER_COPY: u64 = 256 << 10;

/// Copies ranges of open files to a [`Writer`].
pub(super) struct Copier<'a> {
    pub data: &'a ReadFile,
    pub loss: Option<&'a ReadFile>,
    pub token_size: TokenSize,
    tokens: Vec<u8>,
    masks: Vec<u8>,
}

impl<'a> Copier<'a> {
    pub fn new(data: &'a ReadFile, loss: Option<&'a ReadFile>, token_size: TokenSize) -> Self {
        Self { data, loss, token_size, tokens: Vec::new(), masks: Vec::new() }
    }

    /// Copies the tokens in the range `first..end`.
    pub fn copy(&mut self, first: u64, end: u64, to: &mut Writer<'_>, handles: &Handles<'_>) -> Outcome<()> {
        let size = self.token_size.bytes();
        let mut at = first;
        while at < end {
            handles.cancel.check()?;
            let count = (end - at).min(TOKENS_PER_COPY);
            read_exact(self.data, at * size, count * size, &mut self.tokens)?;
            match self.loss {
                Some(loss) => read_exact(loss, at, count, &mut self.masks)?,
                None => self.masks.clear(),
            }
            to.tokens(&self.tokens, &self.masks)?;
            handles.progress.add(0, count * size);
            at += count;
        }
        Ok(())
    }
}

/// Reads exactly `count` bytes at `at`.
pub(super) fn read_exact(file: &ReadFile, at: u64, count: u64, into: &mut Vec<u8>) -> Outcome<()> {
    into.resize(count as usize, 0);
    file.read_exact_at(into, at).map_err(|error| match error.kind() {
        std::io::ErrorKind::UnexpectedEof => changed(file),
        _ => Failure::io("reading the tokens", file.path(), &error),
    })
}

/// Returns the failure for a file that has changed since it was inspected.
pub(super) fn changed(file: &ReadFile) -> Failure {
    Failure::data("reading the tokens", "the file changed while it was read").on(Subject::path(file.path()))
}
