//! Compressed text: the compression is detected by the first bytes, otherwise by the suffix of the name, and decompressed as a stream with
//! limits.

use super::members::Members;
use gristmill_core::text::shell_quote;
use gristmill_core::{Failure, Mutex, Outcome};
use gristmill_storage::files;
use gristmill_storage::read::ReadFile;
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

/// Compression of a text file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Packing {
    /// Not compressed.
    Plain,
    /// gzip, any number of members.
    Gzip,
    /// zstd, any number of frames.
    Zstd,
    /// bzip2, any number of streams.
    Bzip2,
    /// xz, any number of streams.
    Xz,
    /// The older format of xz, one stream.
    Lzma,
    /// The first member of a zip archive.
    Zip,
}

/// Maximum ratio of output to input. Does not apply if the reader does not store the output and calls
/// [`uncapped`](UnpackedReader::uncapped).
const RATIO_CAP: u64 = 1000;
/// Size of the output up to which [`RATIO_CAP`] does not apply, in bytes.
const RATIO_FREE: u64 = 64 << 20;
/// Maximum memory for the window of an xz stream, in bytes.
const XZ_MEMORY: u64 = 256 << 20;
/// Binary logarithm of the largest window of a zstd frame.
const ZSTD_WINDOW_LOG: u32 = 27;
/// Name of this step in failures.
pub(in crate::source) const READING: &str = "reading the text";
/// Number of bytes at the start of a file that are examined.
const EXAMINED_BYTES: usize = 40;
/// Number of compressed bytes in one read.
const INPUT: usize = 128 << 10;

/// A compression: how its files are recognized, and how they are decompressed.
#[derive(Debug)]
pub struct Compression {
    /// Name for the user.
    pub name: &'static str,
    /// Suffixes of names without the dot; the case is ignored.
    suffixes: &'static [&'static str],
    /// Whether a file that begins with these bytes has this compression.
    is_start: fn(&[u8]) -> bool,
    /// Command that decompresses standard input to standard output.
    filter: &'static str,
    /// How its documents are read; `None` if they are not.
    packing: Option<Packing>,
}

/// All compressions that are recognized.
static COMPRESSIONS: [Compression; 7] = [
    Compression {
        name: "gzip",
        suffixes: &["gz", "gzip"],
        is_start: |start| matches!(start, [0x1f, 0x8b, 8, ..]),
        filter: "gzip -dc",
        packing: Some(Packing::Gzip),
    },
    Compression {
        name: "zstd",
        suffixes: &["zst", "zstd"],
        // A skippable frame contains no text; parallel compressors write one first.
        is_start: |start| matches!(start, [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..]),
        filter: "zstd -dc",
        packing: Some(Packing::Zstd),
    },
    Compression {
        name: "bzip2",
        suffixes: &["bz2", "bzip2"],
        // The level, then the mark of the first block, or of the end of a stream without blocks.
        is_start: |start| {
            matches!(start, [b'B', b'Z', b'h', b'1'..=b'9', mark @ ..]
                if mark.starts_with(b"1AY&SY") || mark.starts_with(b"\x17rE8P\x90"))
        },
        filter: "bzip2 -dc",
        packing: Some(Packing::Bzip2),
    },
    Compression {
        name: "xz",
        suffixes: &["xz"],
        is_start: |start| start.starts_with(b"\xfd7zXZ\0"),
        filter: "xz -dc",
        packing: Some(Packing::Xz),
    },
    Compression {
        name: "lzma",
        suffixes: &["lzma"],
        // The default properties, and a window that is a multiple of 64 KiB.
        is_start: |start| matches!(start, [0x5d, 0, 0, _, _, ..]),
        filter: "xz -dc",
        packing: Some(Packing::Lzma),
    },
    Compression {
        name: "zip",
        suffixes: &["zip"],
        is_start: |start| start.starts_with(b"PK\x03\x04"),
        filter: "funzip",
        packing: Some(Packing::Zip),
    },
    Compression {
        name: "lz4",
        suffixes: &["lz4"],
        is_start: |start| start.starts_with(b"\x04\x22\x4d\x18"),
        filter: "lz4 -dc",
        packing: None,
    },
];

impl Compression {
    /// Returns the name without its suffix, and the compression that the suffix denotes; `None` if it denotes none.
    pub fn of_name(name: &str) -> Option<(&str, &'static Self)> {
        let (rest, end) = name.rsplit_once('.')?;
        let is_suffix = |suffix: &&str| end.eq_ignore_ascii_case(suffix);
        Some((rest, COMPRESSIONS.iter().find(|compression| compression.suffixes.iter().any(is_suffix))?))
    }

    /// Returns the compression of a file that begins with these bytes; `None` if they are those of no compression.
    pub(in crate::source) fn of_start(start: &[u8]) -> Option<&'static Self> {
        COMPRESSIONS.iter().find(|compression| (compression.is_start)(start))
    }

    /// Returns the command that decompresses a file, keeps the original and replaces no other file.
    pub fn unpack_command(&self, path: &Path) -> String {
        let text = path.to_string_lossy();
        let named = Self::of_name(&text).filter(|(rest, named)| named.name == self.name && !files::exists(rest));
        let target = named.map_or("NEW.jsonl", |(rest, _)| rest);
        format!("{} < {} > {}", self.filter, shell_quote(&text), shell_quote(target))
    }
}

/// Returns the name without its suffix, and how the compression is read; `None` if the suffix denotes no compression that is read.
pub(super) fn packed_name(name: &str) -> Option<(&str, Packing)> {
    Compression::of_name(name).and_then(|(rest, compression)| Some((rest, compression.packing?)))
}

impl Packing {
    fn compression(self) -> Option<&'static Compression> {
        COMPRESSIONS.iter().find(|compression| compression.packing == Some(self))
    }

    /// Returns the name for the user.
    pub fn title(self) -> &'static str {
        self.compression().map_or("plain text", |compression| compression.name)
    }

    /// Returns the command that writes the decompressed text of its standard input to its standard output.
    pub fn filter(self) -> Option<&'static str> {
        self.compression().map(|compression| compression.filter)
    }

    /// Whether offsets in the file equal offsets in its text.
    pub fn is_plain(self) -> bool {
        self == Self::Plain
    }

    /// Returns a name without the suffix of a compression that is read.
    pub fn strip_suffix(name: &str) -> &str {
        packed_name(name).map_or(name, |(rest, _)| rest)
    }

    /// Returns the compression that the suffix of a name denotes.
    pub fn of_name(name: &str) -> Self {
        packed_name(name).map_or(Self::Plain, |(_, packing)| packing)
    }

    /// Detects the compression from the first bytes of an open file; `None` if they match none that is read.
    pub(in crate::source) fn of_start(file: &ReadFile, activity: &str) -> Outcome<Option<Self>> {
        Ok(Compression::of_start(&first_bytes(file, activity)?).and_then(|compression| compression.packing))
    }

    /// Detects the compression of an open file by its first bytes, or by its name if they match none. An empty file is plain.
    pub fn of(file: &ReadFile) -> Outcome<Self> {
        let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        Ok(match Self::of_start(file, READING)? {
            Some(packing) => packing,
            None if file.is_empty() => Self::Plain,
            None => Self::of_name(&name(file.path())),
        })
    }
}

/// Whether a name denotes JSON lines, compressed or not.
pub(in crate::source) fn is_text(name: &str) -> bool {
    ends_in(Packing::strip_suffix(name), ".jsonl")
}

/// Whether a name ends in a suffix, in upper or lower case. All kinds of files are recognized by their names in this way.
pub(in crate::source) fn ends_in(name: &str, suffix: &str) -> bool {
    let end = name.len().checked_sub(suffix.len()).and_then(|at| name.get(at..));
    end.is_some_and(|end| end.eq_ignore_ascii_case(suffix))
}

/// Returns the first bytes of a file, at most [`EXAMINED_BYTES`].
pub(in crate::source) fn first_bytes(file: &ReadFile, activity: &str) -> Outcome<Vec<u8>> {
    let (mut start, mut filled) = (vec![0; EXAMINED_BYTES], 0);
    while let Some(space) = start.get_mut(filled..).filter(|space| !space.is_empty()) {
        match file.read_at(space, filled as u64) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Failure::io(activity, file.path(), &error)),
        }
    }
    start.truncate(filled);
    Ok(start)
}

/// State of the input of a decoder: its position, and whether reading the file (not decoding) failed.
#[derive(Default)]
struct PackedInput {
    consumed: AtomicU64,
    error: Mutex<Option<io::Error>>,
}

struct CountingReader {
    file: Arc<ReadFile>,
    below: Arc<PackedInput>,
}

impl Read for CountingReader {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let at = self.below.consumed.load(Ordering::Relaxed);
        match self.file.read_at(buf, at) {
            Ok(count) => {
                self.below.consumed.fetch_add(count as u64, Ordering::Relaxed);
                Ok(count)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            Err(error) => {
                let copy = io::Error::from(error.kind());
                *self.below.error.lock() = Some(error);
                Err(copy)
            }
        }
    }
}

/// Reads the decompressed bytes of a file once, from the start.
pub struct UnpackedReader {
    decoder: Box<dyn Read + Send>,
    below: Arc<PackedInput>,
    file: Arc<ReadFile>,
    /// Name of this step in failures.
    what: &'static str,
    produced: u64,
    is_capped: bool,
    broken: Option<String>,
}

impl UnpackedReader {
    /// Creates a reader that starts at the first byte.
    pub fn new(file: Arc<ReadFile>, packing: Packing) -> Outcome<Self> {
        let below = Arc::new(PackedInput::default());
        let input = CountingReader { file: Arc::clone(&file), below: Arc::clone(&below) };
        let input = BufReader::with_capacity(INPUT, input);
        let failed = |name: &str, why: String| Failure::environment(format!("starting the {name} decoder"), why);
        let mut broken = None;
        let decoder: Box<dyn Read + Send> = match packing {
            Packing::Plain => Box::new(input),
            Packing::Gzip => Box::new(Members::new(input)),
            Packing::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(input)),
            Packing::Zstd => {
                let mut decoder = zstd::stream::read::Decoder::with_buffer(input)
                    .map_err(|error| failed("zstd", error.to_string()))?;
                decoder.window_log_max(ZSTD_WINDOW_LOG).map_err(|error| failed("zstd", error.to_string()))?;
                Box::new(decoder)
            }
            Packing::Xz | Packing::Lzma => {
                let is_xz = first_bytes(&file, READING)?.first() == Some(&0xfd);
                let stream = match is_xz {
                    true => liblzma::stream::Stream::new_stream_decoder(XZ_MEMORY, liblzma::stream::CONCATENATED),
                    false => liblzma::stream::Stream::new_lzma_decoder(XZ_MEMORY),
                };
                let stream = stream.map_err(|error| failed("xz", error.to_string()))?;
                Box::new(liblzma::bufread::XzDecoder::new_stream(input, stream))
            }
            Packing::Zip => match super::zip::first_member(input) {
                Ok(decoder) => decoder,
                Err(error) => {
                    broken = Some(error.to_string());
                    Box::new(io::empty())
                }
            },
        };
        Ok(Self { decoder, below, file, what: READING, produced: 0, is_capped: true, broken })
    }

    /// Reads the next bytes, at least one unless the text, or its readable part, has ended.
    pub fn read(&mut self, buf: &mut [u8]) -> Outcome<usize> {
        if self.broken.is_some() {
            return Ok(0);
        }
        loop {
            match self.decoder.read(buf) {
                Ok(count) => {
                    self.produced += count as u64;
                    if self.is_capped && self.produced > RATIO_FREE && self.produced / RATIO_CAP > self.consumed() {
                        self.broken = Some(format!("it decompresses to more than {RATIO_CAP} times its size"));
                        return Ok(0);
                    }
                    return Ok(count);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    let below = self.below.error.lock().take();
                    if let Some(disk) = below {
                        return Err(Failure::io(self.what, self.file.path(), &disk));
                    }
                    self.broken = Some(reason(&error));
                    return Ok(0);
                }
            }
        }
    }

    /// Sets the name of this step in failures.
    pub fn named(mut self, what: &'static str) -> Self {
        self.what = what;
        self
    }

    /// Removes the limit on the ratio of output to input. Use it only if the output is processed piece by piece: equal documents compress
    /// very well.
    pub(in crate::source) fn uncapped(mut self) -> Self {
        self.is_capped = false;
        self
    }

    /// Moves to an offset of a file that is not compressed. Must be called before the first read.
    pub(in crate::source) fn seek(&mut self, offset: u64) {
        self.below.consumed.store(offset, Ordering::Relaxed);
    }

    /// Returns the number of compressed bytes read so far.
    pub(in crate::source) fn consumed(&self) -> u64 {
        self.below.consumed.load(Ordering::Relaxed)
    }

    /// Returns the reason why the stream ended prematurely, if it did.
    pub fn broken(&self) -> Option<&str> {
        self.broken.as_deref()
    }
}

/// Returns the reason why a decoder failed, with a hint if there is one.
fn reason(error: &io::Error) -> String {
    let message = error.to_string();
    match message.contains("requires too much memory") {
        // This is the message of the zstd decoder for a window beyond the limit.
        true => format!(
            "its window is larger than {} MiB, and such are not read (zstd packs with a smaller one by --long={ZSTD_WINDOW_LOG})",
            1 << (ZSTD_WINDOW_LOG - 20)
        ),
        false => message,
    }
}
