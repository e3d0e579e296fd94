//! Compressed archives: recognised by their first bytes, whatever the name says, and read as a stream with limits.

use crate::source::text::packing::{Packing, Unpacked};
use gristmill_core::{Failure, Outcome};
use gristmill_storage::read::ReadFile;
use std::io;
use std::sync::Arc;

/// A compression that archives come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    Gzip,
    Bzip2,
    Xz,
}

/// What reading an archive is called in errors.
const WHAT: &str = "reading the shard";

impl Compression {
    /// Tells the compression of an archive from its first bytes; `None` for a plain one.
    pub(crate) fn sniff(start: &[u8]) -> Option<Self> {
        if start.starts_with(b"\x1f\x8b\x08") {
            Some(Self::Gzip)
        } else if start.starts_with(b"BZh") && start.get(4..10) == Some(b"\x31\x41\x59\x26\x53\x59") {
            Some(Self::Bzip2)
        } else if start.starts_with(b"\xfd7zXZ\0") {
            Some(Self::Xz)
        } else {
            None
        }
    }
    /// In a user's words.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Bzip2 => "bzip2",
            Self::Xz => "xz",
        }
    }
    /// Tells the compression of an open file.
    pub(crate) fn of(file: &ReadFile) -> Outcome<Option<Self>> {
        let mut start = [0u8; 16];
        let mut filled = 0;
        while filled < start.len() {
            match file.read_at(&mut start[filled..], filled as u64) {
                Ok(0) => break,
                Ok(n) => filled += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(Failure::io(WHAT, file.path(), &e)),
            }
        }
        Ok(Self::sniff(&start[..filled]))
    }
}

/// The decompressed bytes of an archive, from the start, once.
pub(crate) struct Decompressed(Unpacked);

impl Decompressed {
    /// Starts at the first byte.
    pub(crate) fn new(file: Arc<ReadFile>, compression: Compression) -> Outcome<Self> {
        let packing = match compression {
            Compression::Gzip => Packing::Gzip,
            Compression::Bzip2 => Packing::Bzip2,
            Compression::Xz => Packing::Xz,
        };
        Ok(Self(Unpacked::new(file, packing)?.named(WHAT)))
    }

    /// The next bytes, at least one unless the archive (or what can be read of it) is over.
    pub(crate) fn read(&mut self, buf: &mut [u8]) -> Outcome<usize> {
        self.0.read(buf)
    }

    /// Compressed bytes taken so far.
    pub(crate) fn consumed(&self) -> u64 {
        self.0.consumed()
    }

    /// Why the stream ended before its time, if it did.
    pub(crate) fn broken(&self) -> Option<&str> {
        self.0.broken()
    }
}
