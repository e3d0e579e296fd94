//! Compression of shard files: each shard is compressed as a whole into one file (docs/formats/mds.md §3).

use std::io::{self, Error, ErrorKind, Read, Write};

/// Number of bytes that are read at a time.
const BUFFER_BYTES: usize = 64 << 10;

/// A method of compression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    /// `zstd`: one Zstandard frame with the size of its content, which Python's `zstd` requires.
    Zstd,
    /// `gz`: gzip with the modification time 0.
    Gzip,
    /// `br`: Brotli.
    Brotli,
    /// `bz2`: bzip2.
    Bzip2,
    /// `snappy`: one raw block, as written by python-snappy's `compress`. Neither Snappy's framing format nor Hadoop's.
    Snappy,
}

/// Name, method, minimum level, maximum level and default level. The default levels are those of streaming 0.13.
const METHODS: [(&str, Method, u32, u32, u32); 5] = [
    ("br", Method::Brotli, 0, 11, 11),
    ("bz2", Method::Bzip2, 1, 9, 9),
    ("gz", Method::Gzip, 0, 9, 9),
    ("snappy", Method::Snappy, 0, 0, 0),
    ("zstd", Method::Zstd, 1, 22, 3),
];

/// A method and its level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Compression {
    method: Method,
    level: u32,
}

impl Compression {
    /// Parses `zstd[:L]`, `gz[:L]`, `br[:L]`, `bz2[:L]` or `snappy`. As in streaming, levels have no sign and no leading zeros.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let (name, level) = text.split_once(':').map_or((text, None), |(name, level)| (name, Some(level)));
        let found = METHODS.into_iter().find(|method| method.0 == name);
        let Some((_, method, least, greatest, default)) = found else {
            return Err(format!("{text:?} is unknown: zstd, gz, br, bz2 and snappy are known"));
        };
        let level = match level {
            None => default,
            Some(_) if method == Method::Snappy => {
                return Err("snappy has no level".into());
            }
            Some(level) => (least..=greatest)
                .find(|known| known.to_string() == level)
                .ok_or_else(|| format!("the level of {name} is a number from {least} to {greatest}"))?,
        };
        Ok(Self { method, level })
    }

    /// Returns the suffix of a compressed file after `.mds`.
    pub(super) fn suffix(self) -> &'static str {
        match self.method {
            Method::Zstd => ".zstd",
            Method::Gzip => ".gz",
            Method::Brotli => ".br",
            Method::Bzip2 => ".bz2",
            Method::Snappy => ".snappy",
        }
    }

    /// Compresses the `bytes` bytes of `reader`. Snappy reads all of them into memory.
    ///
    /// # Errors
    /// `reader` has another number of bytes, or reading or writing fails.
    pub(super) fn compress(self, reader: &mut dyn Read, bytes: u64, writer: &mut dyn Write) -> io::Result<()> {
        // Reads at most one byte more than expected, to detect an input that is too long.
        let mut input = CountingReader { reader: reader.take(bytes.saturating_add(1)), read: 0 };
        match self.method {
            Method::Zstd => {
                let level = i32::try_from(self.level).map_err(Error::other)?;
                let mut encoder = zstd::Encoder::new(writer, level)?;
                encoder.include_contentsize(true)?;
                encoder.set_pledged_src_size(Some(bytes))?;
                io::copy(&mut input, &mut encoder)?;
                encoder.finish()?.flush()?;
            }
            Method::Gzip => {
                let mut encoder = flate2::write::GzEncoder::new(writer, flate2::Compression::new(self.level));
                io::copy(&mut input, &mut encoder)?;
                encoder.finish()?.flush()?;
            }
            Method::Bzip2 => {
                let mut encoder = bzip2::write::BzEncoder::new(writer, bzip2::Compression::new(self.level));
                io::copy(&mut input, &mut encoder)?;
                encoder.finish()?.flush()?;
            }
            Method::Brotli => {
                let quality = i32::try_from(self.level).map_err(Error::other)?;
                let params = brotli::enc::BrotliEncoderParams { quality, ..Default::default() };
                let mut writer = writer;
                brotli::BrotliCompress(&mut input, &mut writer, &params)?;
                writer.flush()?;
            }
            Method::Snappy => {
                let mut whole = Vec::new();
                input.read_to_end(&mut whole)?;
                writer.write_all(&snap::raw::Encoder::new().compress_vec(&whole).map_err(Error::other)?)?;
                writer.flush()?;
            }
        }
        if input.read == bytes {
            Ok(())
        } else {
            Err(Error::new(
                ErrorKind::InvalidInput,
                format!("the shard does not have the {bytes} bytes that it had when it was written"),
            ))
        }
    }

    /// Returns a reader of the decompressed content. Snappy reads all of it into memory, at most `limit` bytes.
    ///
    /// # Errors
    /// The file cannot be read, or its header is damaged.
    pub(super) fn decoder<'a>(self, reader: &'a mut dyn Read, limit: u64) -> io::Result<Box<dyn Read + 'a>> {
        Ok(match self.method {
            Method::Zstd => Box::new(zstd::Decoder::new(reader)?),
            Method::Gzip => Box::new(flate2::read::MultiGzDecoder::new(reader)),
            Method::Bzip2 => Box::new(bzip2::read::MultiBzDecoder::new(reader)),
            Method::Brotli => Box::new(brotli::Decompressor::new(reader, BUFFER_BYTES)),
            Method::Snappy => Box::new(io::Cursor::new(decode_snappy(reader, limit)?)),
        })
    }
}

/// Maximum ratio of the decompressed size to the size of a Snappy block.
const MAX_SNAPPY_RATIO: u64 = 64 / 3 + 1;

fn decode_snappy(reader: &mut dyn Read, limit: u64) -> io::Result<Vec<u8>> {
    let invalid = |error: snap::Error| Error::new(ErrorKind::InvalidData, error);
    // Maximum length of a block of `limit` bytes of incompressible content.
    let longest = limit.saturating_add(limit / 6).saturating_add(32);
    let mut block = Vec::new();
    reader.take(longest.saturating_add(1)).read_to_end(&mut block)?;
    let bytes = snap::raw::decompress_len(&block).map_err(invalid)? as u64;
    if block.len() as u64 > longest || bytes > limit || bytes > (block.len() as u64).saturating_mul(MAX_SNAPPY_RATIO) {
        return Err(Error::new(ErrorKind::InvalidData, format!("it does not contain {limit} bytes")));
    }
    snap::raw::Decoder::new().decompress_vec(&block).map_err(invalid)
}

/// Counts the bytes that are read.
struct CountingReader<R> {
    reader: R,
    read: u64,
}

impl<R: Read> Read for CountingReader<R> {
    fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(target)?;
        self.read = self.read.saturating_add(read as u64);
        Ok(read)
    }
}
