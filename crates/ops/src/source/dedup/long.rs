//! A line that is too long to be held: where it lies, and its text in pieces.

use gristmill_core::{Cancel, Failure, Outcome};
use gristmill_pycompat::json_fields::Field;
use gristmill_pycompat::json_text::{has_half_part, unescape_part};
use gristmill_storage::read::ReadFile;
use std::sync::Arc;

/// Bytes read at a time.
const PIECE: usize = 256 << 10;

/// Where long lines of packed files are kept while they are looked at: scratch space that whoever runs the reading provides.
pub trait Spool: Send {
    /// Forgets what is in it.
    fn clear(&mut self) -> Outcome<()>;
    /// Adds bytes at the end.
    fn append(&mut self, bytes: &[u8]) -> Outcome<()>;
    /// Reads up to `buf.len()` bytes at `at`; 0 at the end.
    fn read_at(&self, at: u64, buf: &mut [u8]) -> Outcome<usize>;
}

/// A spool in memory, for what is known to be small.
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

/// Where the bytes of long lines are.
pub(super) enum LongLineBytes {
    /// In the file itself, which is plain, from this byte on.
    File(Arc<ReadFile>, u64),
    /// In the spool.
    Spool,
}

/// A line that is too long to be held.
pub struct LongLine {
    pub(super) place: LongLineBytes,
    pub(super) spool: Box<dyn Spool>,
    /// Its length without the `\n`.
    pub(super) bytes: u64,
    /// Its keys one behind the other; the places of keys in its fields are places in here.
    pub(super) keys: Vec<u8>,
    pub(super) cancel: Cancel,
}

impl std::fmt::Debug for LongLine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LongLine").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

impl LongLine {
    /// The keys of its fields, which their places are in.
    pub fn keys(&self) -> &[u8] {
        &self.keys
    }

    /// Reads up to `buf.len()` bytes at `at`, counted from the beginning of the line; 0 at its end.
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

    /// Hands out the bytes `[from, to)` in pieces; `take` is told whether a piece is the last one and says how many of its bytes it took.
    /// What it did not take comes again at the beginning of the next piece.
    pub fn each_chunk(&self, from: u64, to: u64, mut take: impl FnMut(&[u8], bool) -> Outcome<usize>) -> Outcome<()> {
        let mut chunk = Vec::new();
        let mut at = from;
        while at < to || !chunk.is_empty() {
            self.cancel.check()?;
            let old = chunk.len();
            let wanted = usize::try_from(to - at).unwrap_or(usize::MAX).min(PIECE);
            chunk.resize(old + wanted, 0);
            let count = match wanted {
                0 => 0,
                _ => self.read_at(at, chunk.get_mut(old..).unwrap_or_default())?,
            };
            chunk.truncate(old + count);
            at += count as u64;
            // What was there before and is there no more: the file changed.
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

    /// Hands out the text of a string field in pieces of whole characters, and returns its length in bytes.
    pub(super) fn each_piece(
        &self,
        field: &Field,
        spare: &mut String,
        take: &mut dyn FnMut(&str) -> Outcome<()>,
    ) -> Outcome<u64> {
        let mut bytes = 0;
        self.each_chunk(field.from + 1, field.to.saturating_sub(1), |chunk, is_last| {
            // The end of a piece may cut a character; all of the line was checked to be UTF-8.
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

    /// Whether a string field holds half a character as an escape.
    pub(super) fn has_half(&self, field: &Field) -> Outcome<bool> {
        let mut is_found = false;
        if !field.has_escapes {
            return Ok(false);
        }
        self.each_chunk(field.from + 1, field.to.saturating_sub(1), |chunk, is_last| {
            let (taken, found) = has_half_part(chunk, is_last);
            is_found |= found;
            Ok(if found { chunk.len() } else { taken })
        })?;
        Ok(is_found)
    }
}
