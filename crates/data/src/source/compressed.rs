//! Compressed archives: recognised by their first bytes, regardless of the name, and read as a stream with limits.

use crate::source::documents::packing::{Packing, UnpackedReader};
use gristmill_core::{Failure, Outcome};
use gristmill_storage::read::ReadFile;
use std::io;
use std::sync::Arc;

/// Compression of an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    Gzip,
    Bzip2,
    Xz,
}

/// Name of this step in failures.
const ACTIVITY: &str = "reading the shard";

impl Compression {
    /// Returns the compression of an archive, given its first bytes; `None` for a plain archive.
    pub(crate) fn detect(start: &[u8]) -> Option<Self> {
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
    /// Returns the name for the user.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Bzip2 => "bzip2",
            Self::Xz => "xz",
        }
    }
    /// Returns the compression of an open file.
    pub(crate) fn of(file: &ReadFile) -> Outcome<Option<Self>> {
        let mut start = [0u8; 16];
        let mut filled = 0;
        while filled < start.len() {
            match file.read_at(&mut start[filled..], filled as u64) {
                Ok(0) => break,
                Ok(n) => filled += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(Failure::io(ACTIVITY, file.path(), &e)),
            }
        }
        Ok(Self::detect(&start[..filled]))
    }
}

/// Reads the decompressed bytes of an archive once, from the start.
pub(crate) struct ArchiveReader(UnpackedReader);

impl ArchiveReader {
    /// Creates a reader that starts at the first byte.
    pub(crate) fn new(file: Arc<ReadFile>, compression: Compression) -> Outcome<Self> {
        let packing = match compression {
            Compression::Gzip => Packing::Gzip,
            Compression::Bzip2 => Packing::Bzip2,
            Compression::Xz => Packing::Xz,
        };
        Ok(Self(UnpackedReader::new(file, packing)?.named(ACTIVITY)))
    }

    /// Reads the next bytes, at least one unless the archive, or its readable part, has ended.
    pub(crate) fn read(&mut self, buf: &mut [u8]) -> Outcome<usize> {
        self.0.read(buf)
    }

    /// Returns the number of compressed bytes read so far.
    pub(crate) fn consumed(&self) -> u64 {
        self.0.consumed()
    }

    /// Returns the reason why the stream ended prematurely, if it did.
    pub(crate) fn broken(&self) -> Option<&str> {
        self.0.broken()
    }
}
