//! A file of the result, hashed while it is written.

use super::spill_buffer::Mark;
use gristmill_core::{Mutex, Outcome};
use gristmill_storage::fs::{BufferedFile, Fs, WriteFile};
use std::path::Path;
use std::sync::Arc;
use xxhash_rust::xxh3::Xxh3;

/// Bytes that are buffered before they are written.
const BUFFER_BYTES: usize = 256 << 10;

/// The hash of a file that is being written.
#[derive(Clone, Default)]
pub(super) struct Hash(Arc<Mutex<Xxh3>>);

impl Hash {
    /// Creates the hashed file at `path`; replaces a file left by a stopped run.
    pub(super) fn create(&self, fs: &dyn Fs, path: &Path) -> Outcome<BufferedFile> {
        fs.remove_file(path)?;
        let file = HashingWriter { inner: fs.create_file(path)?, hash: self.clone() };
        Ok(BufferedFile::new(Box::new(file), BUFFER_BYTES))
    }

    /// Closes the file and returns its mark.
    pub(super) fn close(&self, file: BufferedFile) -> Outcome<Mark> {
        let bytes = file.close()?;
        Ok(Mark { bytes, xxh3: self.0.lock().digest() })
    }
}

/// Writer that passes all data on and hashes the written bytes.
struct HashingWriter {
    inner: Box<dyn WriteFile>,
    hash: Hash,
}

impl WriteFile for HashingWriter {
    fn write_all(&mut self, bytes: &[u8]) -> Outcome<()> {
        self.hash.0.lock().update(bytes);
        self.inner.write_all(bytes)
    }
    fn overwrite(&mut self, bytes: &[u8], offset: u64) -> Outcome<()> {
        self.inner.overwrite(bytes, offset)
    }
    fn start_sync(&mut self) {
        self.inner.start_sync();
    }
    fn keep_in_page_cache(&mut self) {
        self.inner.keep_in_page_cache();
    }
    fn sync(&mut self) -> Outcome<()> {
        self.inner.sync()
    }
    fn set_mode(&mut self, mode: u32) -> Outcome<()> {
        self.inner.set_mode(mode)
    }
    fn len(&self) -> u64 {
        self.inner.len()
    }
    fn path(&self) -> &Path {
        self.inner.path()
    }
    fn finish(self: Box<Self>) -> Outcome<u64> {
        self.inner.finish()
    }
    fn close(self: Box<Self>) -> Outcome<u64> {
        self.inner.close()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::dedup::output::CompressedOutput;
    use gristmill_storage::fs::RealFs;

    #[test]
    fn output_mark_matches_the_written_file_for_every_compression() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let text: Vec<u8> = (0..1_000_000_u32).map(|number| (number % 97 + number / 5_000) as u8).collect();
        for name in ["a", "a.gz", "a.zst", "a.bz2", "a.xz", "a.lzma", "a.zip"] {
            let hash = Hash::default();
            let mut output = CompressedOutput::new(hash.create(&RealFs, &path).unwrap(), name).unwrap();
            text.chunks(9_999).for_each(|piece| output.write(piece).unwrap());
            let mark = hash.close(output.end().unwrap()).unwrap();
            assert!(mark.is_unchanged(&path).unwrap(), "{name}");
        }
    }
}
