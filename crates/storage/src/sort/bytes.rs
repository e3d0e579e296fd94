//! Byte-level access to spool files: a writer that hashes what it writes, a reader that validates what it reads, and short integers.

use crate::fs::{Fs, WriteFile};
use crate::read::{open_read, ReadFile};
use gristmill_core::problem::Subject;
use gristmill_core::{Failure, Outcome};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;
use xxhash_rust::xxh3::Xxh3;

/// Bytes collected before a write.
const WRITE_BYTES: usize = 64 * 1024;

/// Name, length and hash of a finished spool file: enough to detect later changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpoolFile {
    /// File name inside the spool folder.
    pub name: String,
    /// Length in bytes.
    pub bytes: u64,
    /// XXH3, 64 bits, of the whole content.
    pub xxh3: u64,
}

impl SpoolFile {
    /// Whether the file in `dir` exists and has this length and content.
    pub fn is_intact(&self, dir: &Path) -> Outcome<bool> {
        let path = dir.join(&self.name);
        if std::fs::metadata(&path).map_or(true, |facts| facts.len() != self.bytes) {
            return Ok(false);
        }
        let file = open_read(&path)?;
        let mut hash = Xxh3::new();
        let mut buffer = vec![0; 4 * WRITE_BYTES];
        let mut offset = 0;
        loop {
            let count = file.read_at(&mut buffer, offset).map_err(|e| Failure::io("reading the spool", &path, &e))?;
            if count == 0 {
                return Ok(hash.digest() == self.xxh3 && offset == self.bytes);
            }
            hash.update(&buffer[..count]);
            offset += count as u64;
        }
    }
}

/// A new file; small writes are collected and hashed.
pub struct SpoolWriter {
    file: Box<dyn WriteFile>,
    name: String,
    waiting: Vec<u8>,
    hash: Box<Xxh3>,
    written: u64,
}

impl SpoolWriter {
    /// Creates the file, replacing one that a killed run left.
    pub fn create(fs: &dyn Fs, dir: &Path, name: String) -> Outcome<Self> {
        let path = dir.join(&name);
        if path.symlink_metadata().is_ok() {
            fs.remove_file(&path)?;
        }
        let mut file = fs.create_file(&path)?;
        file.keep_in_page_cache();
        let waiting = Vec::with_capacity(WRITE_BYTES + 4096);
        Ok(Self { file, name, waiting, hash: Box::new(Xxh3::new()), written: 0 })
    }

    /// Returns the bytes written so far.
    #[inline]
    pub fn position(&self) -> u64 {
        self.written + self.waiting.len() as u64
    }

    /// Returns the buffer for the next bytes; call [`check`](Self::check) after each record.
    #[inline]
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.waiting
    }

    /// Writes the collected bytes once there are enough.
    #[inline]
    pub fn check(&mut self) -> Outcome<()> {
        if self.waiting.len() >= WRITE_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Outcome<()> {
        self.hash.update(&self.waiting);
        self.file.write_all(&self.waiting)?;
        self.written += self.waiting.len() as u64;
        self.waiting.clear();
        Ok(())
    }

    /// Closes the file without waiting for the disk: its hash is checked before another run uses it.
    pub fn finish(mut self) -> Outcome<SpoolFile> {
        self.flush()?;
        self.file.close()?;
        Ok(SpoolFile { name: self.name, bytes: self.written, xxh3: self.hash.digest() })
    }
}

/// Reads a range of a spool file sequentially.
pub struct SpoolReader {
    file: Arc<ReadFile>,
    buffer: Vec<u8>,
    at: usize,
    offset: u64,
    end: u64,
}

impl SpoolReader {
    /// Reads `bytes` bytes from `offset` on, `chunk` bytes at a time.
    pub fn new(file: Arc<ReadFile>, offset: u64, bytes: u64, chunk: usize) -> Self {
        Self { file, buffer: Vec::with_capacity(chunk.max(64)), at: 0, offset, end: offset.saturating_add(bytes) }
    }

    /// Whether everything was read.
    #[inline]
    pub fn at_end(&self) -> bool {
        self.at == self.buffer.len() && self.offset >= self.end
    }

    fn refill(&mut self) -> Outcome<()> {
        let wanted = (self.end - self.offset).min(self.buffer.capacity() as u64) as usize;
        if wanted == 0 {
            return Err(self.damaged());
        }
        self.buffer.resize(wanted, 0);
        self.at = 0;
        self.file
            .read_exact_at(&mut self.buffer, self.offset)
            .map_err(|e| Failure::io("reading the spool", self.file.path(), &e))?;
        self.offset += wanted as u64;
        Ok(())
    }

    /// Returns the failure for a spool that breaks its own format.
    pub fn damaged(&self) -> Failure {
        Failure::environment("reading the spool", "its content is not what was written")
            .on(Subject::path(self.file.path()).at(self.offset))
            .with_hint("run again with --restart; if it comes back, the disk or the memory is failing")
    }

    #[inline]
    fn byte(&mut self) -> Outcome<u8> {
        if self.at == self.buffer.len() {
            self.refill()?;
        }
        let byte = self.buffer[self.at];
        self.at += 1;
        Ok(byte)
    }

    /// Reads what [`push_int`] wrote.
    #[inline]
    pub fn int(&mut self) -> Outcome<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(self.damaged())
    }

    /// Reads an integer that [`push_delta`] wrote as its difference from `expected`.
    #[inline]
    pub fn delta(&mut self, expected: u64) -> Outcome<u64> {
        let code = self.int()?;
        let difference = (code >> 1) ^ (code & 1).wrapping_neg();
        Ok(expected.wrapping_add(difference))
    }

    /// Appends `count` bytes to `out`.
    #[inline]
    pub fn take(&mut self, count: u64, out: &mut Vec<u8>) -> Outcome<()> {
        let left = (self.buffer.len() - self.at) as u64 + (self.end - self.offset);
        if count > left {
            return Err(self.damaged());
        }
        let mut count = count as usize;
        while count > 0 {
            if self.at == self.buffer.len() {
                self.refill()?;
            }
            let now = count.min(self.buffer.len() - self.at);
            out.extend_from_slice(&self.buffer[self.at..self.at + now]);
            self.at += now;
            count -= now;
        }
        Ok(())
    }

    /// Reads what [`push_text`] wrote into `text`, which must still hold the previous text.
    #[inline]
    pub fn text(&mut self, text: &mut Vec<u8>) -> Outcome<()> {
        let shared = self.int()?;
        if shared > text.len() as u64 {
            return Err(self.damaged());
        }
        text.truncate(shared as usize);
        let rest = self.int()?;
        self.take(rest, text)
    }
}

/// Appends an integer: 7 bits per byte, least significant first.
#[inline]
pub fn push_int(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends an integer as its signed difference from the expected value.
#[inline]
pub fn push_delta(out: &mut Vec<u8>, expected: u64, value: u64) {
    let difference = value.wrapping_sub(expected) as i64;
    push_int(out, ((difference << 1) ^ (difference >> 63)) as u64);
}

/// Appends a text as its difference from the previous text.
#[inline]
pub fn push_text(out: &mut Vec<u8>, before: &[u8], text: &[u8]) {
    let shared = before.iter().zip(text).take_while(|(a, b)| a == b).count();
    push_int(out, shared as u64);
    push_int(out, (text.len() - shared) as u64);
    out.extend_from_slice(&text[shared..]);
}
