//! A line that is too long for memory: its location, and reading its text in pieces.

use gristmill_core::{Cancel, Failure, Outcome};
use gristmill_pycompat::json_fields::Field;
use gristmill_pycompat::json_text::{has_unpaired_surrogate_part, unescape_part};
use gristmill_storage::read::ReadFile;
use std::sync::Arc;

/// Size of one read in bytes.
const READ_BYTES: usize = 256 << 10;

/// Storage for long lines of compressed files while they are processed, on scratch space of the caller.
pub trait Spool: Send {
    /// Removes the content.
    fn clear(&mut self) -> Outcome<()>;
    /// Appends bytes.
    fn append(&mut self, bytes: &[u8]) -> Outcome<()>;
    /// Reads up to `buf.len()` bytes at offset `at`; returns 0 at the end.
    fn read_at(&self, at: u64, buf: &mut [u8]) -> Outcome<usize>;
}

/// A spool in memory, for input that is known to be small.
impl Spool for Vec<u8> {
    fn clear(&mut self) -> Outcome<()> {
        Vec::clear(self);
        Ok(())
    }

    fn append(&mut self, bytes: &[u8]) -> Outcome<()> {
        self.extend_from_slice(bytes);
        Ok(())
    }

    fn read_at(&self, at: u64, buf: &mut [u8]) -> Outcome<usize> {
        let rest = usize::try_from(at).ok().and_then(|at| self.get(at..)).unwrap_or_default();
        let count = rest.len().min(buf.len());
        if let (Some(to), Some(from)) = (buf.get_mut(..count), rest.get(..count)) {
            to.copy_from_slice(from);
        }
        Ok(count)
    }
}

/// Location of the bytes of a long line.
pub(super) enum LongLineBytes {
    /// In the file itself, which is not compressed, from this offset on.
    File(Arc<ReadFile>, u64),
    /// In the spool.
    Spool,
}

/// A line that is too long for memory.
pub struct LongLine {
    pub(super) place: LongLineBytes,
    pub(super) spool: Box<dyn Spool>,
    /// Length without the `\n`, in bytes.
    pub(super) bytes: u64,
    /// The keys, concatenated; the key positions of fields are offsets into these bytes.
    pub(super) keys: Vec<u8>,
    pub(super) cancel: Cancel,
}

impl std::fmt::Debug for LongLine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LongLine").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

impl LongLine {
    /// Returns the concatenated keys, to which the key positions of fields refer.
    pub fn keys(&self) -> &[u8] {
        &self.keys
    }

    /// Reads up to `buf.len()` bytes at `at`, counted from the beginning of the line; returns 0 at its end.
    pub fn read_at(&self, at: u64, buf: &mut [u8]) -> Outcome<usize> {
        let left = usize::try_from(self.bytes.saturating_sub(at)).unwrap_or(usize::MAX);
        let wanted = left.min(buf.len());
        let buf = buf.get_mut(..wanted).unwrap_or_default();
        match &self.place {
            LongLineBytes::File(file, start) => {
                file.read_at(buf, start + at).map_err(|error| Failure::io("reading the text", file.path(), &error))
            }
            LongLineBytes::Spool => self.spool.read_at(at, buf),
        }
    }

    /// Passes the bytes `[from, to)` to `take` in pieces. Its second argument is whether the piece is the last one; it returns the number
    /// of bytes that it consumed. The remaining bytes are passed again at the beginning of the next piece.
    pub fn each_chunk(&self, from: u64, to: u64, mut take: impl FnMut(&[u8], bool) -> Outcome<usize>) -> Outcome<()> {
        let mut chunk = Vec::new();
        let mut at = from;
        while at < to || !chunk.is_empty() {
            self.cancel.check()?;
            let old = chunk.len();
            let wanted = usize::try_from(to - at).unwrap_or(usize::MAX).min(READ_BYTES);
            chunk.resize(old + wanted, 0);
            let count = match wanted {
                0 => 0,
                _ => self.read_at(at, chunk.get_mut(old..).unwrap_or_default())?,
            };
            chunk.truncate(old + count);
            at += count as u64;
            // The bytes existed in the first pass, so the file has changed.
            let is_last = at == to;
            if count == 0 && !is_last {
                return Err(Failure::data("reading a long line", "it is shorter than it was"));
            }
            let taken = take(&chunk, is_last)?;
            if is_last {
                return Ok(());
            }
            chunk.drain(..taken.min(chunk.len()));
        }
        Ok(())
    }

    /// Passes the text of a string field to `take` in pieces of whole characters, and returns its length in bytes.
    pub(super) fn each_piece(
        &self,
        field: &Field,
        spare: &mut String,
        take: &mut dyn FnMut(&str) -> Outcome<()>,
    ) -> Outcome<u64> {
        let mut bytes = 0;
        self.each_chunk(field.from + 1, field.to.saturating_sub(1), |chunk, is_last| {
            // A piece may end inside a character, because only the whole line was checked to be UTF-8.
            let whole = match std::str::from_utf8(chunk) {
                Ok(whole) => whole,
                Err(error) => {
                    std::str::from_utf8(chunk.get(..error.valid_up_to()).unwrap_or_default()).unwrap_or_default()
                }
            };
            spare.clear();
            let taken = unescape_part(whole, is_last, spare);
            bytes += spare.len() as u64;
            if !spare.is_empty() {
                take(spare)?;
            }
            Ok(taken)
        })?;
        Ok(bytes)
    }

    /// Whether a string field contains an escaped unpaired surrogate.
    pub(super) fn has_half(&self, field: &Field) -> Outcome<bool> {
        let mut is_found = false;
        if !field.has_escapes {
            return Ok(false);
        }
        self.each_chunk(field.from + 1, field.to.saturating_sub(1), |chunk, is_last| {
            let (taken, found) = has_unpaired_surrogate_part(chunk, is_last);
            is_found |= found;
            Ok(if found { chunk.len() } else { taken })
        })?;
        Ok(is_found)
    }
}
