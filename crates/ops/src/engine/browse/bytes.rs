//! Sources of the bytes of a JSONL file: the file itself, or the text unpacked from it.

use gristmill_core::{Failure, Outcome};
use gristmill_data::source::documents::{Packing, UnpackedReader};
use gristmill_storage::fs::{Fs as _, RealFs, WriteFile};
use gristmill_storage::read::ReadFile;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Name of the operation in read failures.
pub(super) const ACTIVITY: &str = "reading the lines";

/// A source of the bytes of the lines, from the first byte to the last.
pub(super) trait LineBytes {
    /// Reads the next bytes and returns their number; 0 at the end.
    fn next(&mut self, buffer: &mut [u8]) -> Outcome<usize>;
    /// Returns why the bytes ended too early; `None` if they are complete.
    fn cut_short(&self) -> Option<String> {
        None
    }
}

/// The bytes of the file itself.
pub(super) struct PlainBytes {
    file: Arc<ReadFile>,
    at: u64,
}

impl PlainBytes {
    /// Creates a source that starts at the first byte.
    pub(super) fn new(file: Arc<ReadFile>) -> Self {
        Self { file, at: 0 }
    }
}

impl LineBytes for PlainBytes {
    fn next(&mut self, buffer: &mut [u8]) -> Outcome<usize> {
        let failed = |error| Failure::io(ACTIVITY, self.file.path(), &error);
        let count = self.file.read_at(buffer, self.at).map_err(failed)?;
        self.at += count as u64;
        Ok(count)
    }
}

/// Text that is written to a file while it is unpacked, so that it can be read at any offset.
pub(super) struct SpilledText {
    unpacked: UnpackedReader,
    out: Box<dyn WriteFile>,
    /// Number of bytes that may still be written.
    left: u64,
    path: PathBuf,
}

impl SpilledText {
    /// Starts to unpack a file into `text`. Writes at most `room` bytes.
    pub(super) fn new(file: Arc<ReadFile>, packing: Packing, text: &Path, room: u64) -> Outcome<Self> {
        let path = file.path().to_owned();
        let out = RealFs.create_file(text)?;
        Ok(Self { unpacked: UnpackedReader::new(file, packing)?.named(ACTIVITY), out, left: room, path })
    }
}

impl LineBytes for SpilledText {
    fn next(&mut self, buffer: &mut [u8]) -> Outcome<usize> {
        let room = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        let space = buffer.get_mut(..room).unwrap_or_default();
        if space.is_empty() {
            return Ok(0);
        }
        let count = self.unpacked.read(space)?;
        self.out.write_all(space.get(..count).unwrap_or_default())?;
        self.left -= count as u64;
        Ok(count)
    }

    fn cut_short(&self) -> Option<String> {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        if self.left == 0 {
            return Some(format!(
                "the scratch folder is full; set TMPDIR to a folder with more space, or decompress {name}"
            ));
        }
        self.unpacked.broken().map(|why| format!("it cannot be unpacked further: {why}"))
    }
}
