//! Compressed archives: recognised by their first bytes, whatever the name says, and read as a stream with limits.

use crate::model::{Failure, Outcome};
use crate::storage::read::ReadFile;
use std::io::{self, BufReader, Read};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A compression that archives come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    Gzip,
    Bzip2,
    Xz,
}

/// Output beyond this many times the input is not believed…
const RATIO_CAP: u64 = 1000;
/// …once there are this many bytes of it.
const RATIO_FREE: u64 = 64 << 20;
/// Memory that the window of an xz stream may ask for, in bytes.
const XZ_MEMORY: u64 = 256 << 20;

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
                Err(e) => return Err(Failure::io("reading the shard", file.path(), &e)),
            }
        }
        Ok(Self::sniff(&start[..filled]))
    }
}

/// What the reader below a decoder did: how far it is, and whether the disk (not the stream) failed.
#[derive(Default)]
struct Below {
    consumed: AtomicU64,
    error: Mutex<Option<io::Error>>,
}

struct Counting {
    file: Arc<ReadFile>,
    below: Arc<Below>,
}

impl Read for Counting {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let at = self.below.consumed.load(Ordering::Relaxed);
        match self.file.read_at(buf, at) {
            Ok(n) => {
                self.below.consumed.fetch_add(n as u64, Ordering::Relaxed);
                Ok(n)
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => Err(e),
            Err(e) => {
                let copy = io::Error::from(e.kind());
                *self.below.error.lock().unwrap_or_else(PoisonError::into_inner) = Some(e);
                Err(copy)
            }
        }
    }
}

/// The decompressed bytes of an archive, from the start, once.
pub(crate) struct Decompressed {
    decoder: Box<dyn Read + Send>,
    below: Arc<Below>,
    file: Arc<ReadFile>,
    produced: u64,
    broken: Option<String>,
}

impl Decompressed {
    /// Starts at the first byte.
    pub(crate) fn new(file: Arc<ReadFile>, compression: Compression) -> Outcome<Self> {
        let below = Arc::new(Below::default());
        let input =
            BufReader::with_capacity(128 << 10, Counting { file: Arc::clone(&file), below: Arc::clone(&below) });
        let decoder: Box<dyn Read + Send> = match compression {
            Compression::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(input)),
            Compression::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(input)),
            Compression::Xz => {
                let stream = liblzma::stream::Stream::new_stream_decoder(XZ_MEMORY, liblzma::stream::CONCATENATED)
                    .map_err(|e| Failure::environment("starting the xz decoder", e.to_string()))?;
                Box::new(liblzma::bufread::XzDecoder::new_stream(input, stream))
            }
        };
        Ok(Self { decoder, below, file, produced: 0, broken: None })
    }

    /// The next bytes, at least one unless the archive (or what can be read of it) is over.
    pub(crate) fn read(&mut self, buf: &mut [u8]) -> Outcome<usize> {
        if self.broken.is_some() {
            return Ok(0);
        }
        loop {
            match self.decoder.read(buf) {
                Ok(n) => {
                    self.produced += n as u64;
                    if self.produced > RATIO_FREE && self.produced / RATIO_CAP > self.consumed() {
                        self.broken = Some(format!("it unpacks to more than {RATIO_CAP} times its size"));
                        return Ok(0);
                    }
                    return Ok(n);
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => {
                    let below = self.below.error.lock().unwrap_or_else(PoisonError::into_inner).take();
                    if let Some(disk) = below {
                        return Err(Failure::io("reading the shard", self.file.path(), &disk));
                    }
                    self.broken = Some(e.to_string());
                    return Ok(0);
                }
            }
        }
    }

    /// Compressed bytes taken so far.
    pub(crate) fn consumed(&self) -> u64 {
        self.below.consumed.load(Ordering::Relaxed)
    }

    /// Why the stream ended before its time, if it did.
    pub(crate) fn broken(&self) -> Option<&str> {
        self.broken.as_deref()
    }
}
