//! Decompresses shards into scratch, for the browser.

use super::compression::Compression;
use super::set::ListedShard;
use gristmill_core::text::bytes as size;
use gristmill_core::{Cancel, Failure, Mutex, Outcome, Subject};
use gristmill_storage::fs::{BufferedFile, Fs as _, RealFs};
use gristmill_storage::read::{open_read, ReadFile};
use gristmill_storage::scratch::Scratch;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const ACTIVITY: &str = "unpacking a shard";
/// Number of bytes that are decompressed at a time.
const BUFFER_BYTES: usize = 256 << 10;

/// The decompressed shards of a set. The most recently used ones stay in scratch, up to its size limit.
pub(super) struct UnpackedShards {
    stop: Cancel,
    kept: Mutex<KeptShards>,
}

#[derive(Default)]
struct KeptShards {
    /// The most recently used shard is last. A shard that could not be decompressed is not tried again.
    shards: Vec<(PathBuf, Outcome<Arc<ReadFile>>)>,
    unpacked: u64,
    scratch: Option<Scratch>,
}

impl UnpackedShards {
    /// Returns an empty cache. Decompression stops when `stop` is set.
    pub(super) fn new(stop: Cancel) -> Self {
        Self { stop, kept: Mutex::default() }
    }

    /// Returns the decompressed content of the shard at a path.
    ///
    /// # Errors
    /// The shard is damaged, its size differs from the index, or it does not fit into scratch.
    pub(super) fn open(&self, path: &Path, listed: &ListedShard, compression: Compression) -> Outcome<Arc<ReadFile>> {
        let mut kept = self.kept.lock();
        let known = kept.shards.iter().position(|(known, _)| known == path);
        let unpacked = match known {
            Some(at) => kept.shards.remove(at).1,
            None => kept.unpack(path, listed.raw.bytes, compression, &self.stop),
        };
        if !matches!(&unpacked, Err(failure) if failure.is_cancelled()) {
            kept.shards.push((path.to_owned(), unpacked.clone()));
        }
        unpacked
    }
}

impl KeptShards {
    fn unpack(&mut self, path: &Path, bytes: u64, compression: Compression, stop: &Cancel) -> Outcome<Arc<ReadFile>> {
        let scratch = match self.scratch.take() {
            Some(scratch) => self.scratch.insert(scratch),
            None => self.scratch.insert(Scratch::create(None)?),
        };
        let limit = scratch.cap_bytes();
        if bytes > limit {
            let why = format!("it contains {}, and {} of scratch may be used", size(bytes), size(limit));
            return Err(Failure::environment(ACTIVITY, why)
                .on(Subject::path(path))
                .with_hint("set TMPDIR to a folder with more free space"));
        }
        let held = |shards: &[(PathBuf, Outcome<Arc<ReadFile>>)]| -> u64 {
            shards.iter().filter_map(|(_, unpacked)| Some(unpacked.as_ref().ok()?.len())).sum()
        };
        while held(&self.shards) + bytes > limit {
            if let Ok(file) = self.shards.remove(0).1 {
                RealFs.remove_file(file.path())?;
            }
        }
        self.unpacked += 1;
        let target = scratch.path().join(self.unpacked.to_string());
        let written = write_unpacked(path, bytes, compression, &target, stop);
        if written.is_err() {
            RealFs.remove_file(&target)?;
        }
        written.and_then(|()| open_read(&target)).map(Arc::new)
    }
}

fn write_unpacked(path: &Path, bytes: u64, compression: Compression, target: &Path, stop: &Cancel) -> Outcome<()> {
    let failed = |why: String| {
        let failure = Failure::data(ACTIVITY, why).on(Subject::path(path));
        failure.with_hint("download or pack the shard again")
    };
    let mut packed = open_read(path)?.into_reader();
    let decoder = compression.decoder(&mut packed, bytes).map_err(|error| failed(error.to_string()))?;
    let mut decoder = decoder.take(bytes.saturating_add(1));
    let mut file = BufferedFile::new(RealFs.create_file(target)?, BUFFER_BYTES).with_cached_pages();
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        stop.check()?;
        let count = decoder.read(&mut buffer).map_err(|error| failed(error.to_string()))?;
        let Some(piece) = buffer.get(..count).filter(|piece| !piece.is_empty()) else { break };
        file.write_all(piece)?;
        if file.len() > bytes {
            return Err(failed(format!("it contains more than the {} bytes that index.json has for it", bytes)));
        }
    }
    match file.close()? {
        length if length == bytes => Ok(()),
        length => Err(failed(format!("it contains {length} bytes, and index.json has {bytes} for it"))),
    }
}
