//! An output file, compressed according to the suffix of its name (docs/formats/bsade.md §6).

use super::zip_writer::ZipWriter;
use gristmill_core::Outcome;
use gristmill_data::source::documents::Packing;
use gristmill_storage::fs::BufferedFile;
use std::io::{self, Write as _};
use std::path::Path;

/// Compression level of zstd: its default.
const ZSTD_LEVEL: i32 = 3;
/// Preset of xz and lzma: higher presets take much more memory and time and save only a few percent.
const XZ_PRESET: u32 = 3;
/// Memory of one zstd encoder at that level with its buffers, in bytes.
const ZSTD_MEMORY: u64 = 6 << 20;
/// Memory of one gzip or zip encoder, in bytes.
const GZIP_MEMORY: u64 = 1 << 20;
/// Memory of one bzip2 encoder, in bytes.
const BZIP2_MEMORY: u64 = 8 << 20;
/// Memory of one xz or lzma encoder at that preset, in bytes.
const XZ_MEMORY: u64 = 32 << 20;

/// Writer that compresses bytes into a file.
pub struct CompressedOutput {
    encoder: OutputEncoder,
    bytes: u64,
}

enum OutputEncoder {
    Plain(BufferedFile),
    Gzip(Box<flate2::write::GzEncoder<BufferedFile>>),
    Zstd(zstd::stream::write::Encoder<'static, BufferedFile>),
    Bzip2(bzip2::write::BzEncoder<BufferedFile>),
    Xz(liblzma::write::XzEncoder<BufferedFile>),
    Zip(Box<ZipWriter<BufferedFile>>),
}

impl CompressedOutput {
    /// Returns the memory for compression in bytes, without the buffer of the file.
    pub fn memory(packing: Packing) -> u64 {
        match packing {
            Packing::Plain => 0,
            Packing::Zstd => ZSTD_MEMORY,
            Packing::Gzip | Packing::Zip => GZIP_MEMORY,
            Packing::Bzip2 => BZIP2_MEMORY,
            Packing::Xz | Packing::Lzma => XZ_MEMORY,
        }
    }

    /// Creates an output that writes to an open file without compression.
    pub fn plain(file: BufferedFile) -> Self {
        Self { encoder: OutputEncoder::Plain(file), bytes: 0 }
    }

    /// Creates an output that compresses to an open file, according to the suffix of `name`.
    pub fn new(file: BufferedFile, name: &str) -> Outcome<Self> {
        let path = file.path().to_owned();
        let failed = |error: io::Error| BufferedFile::failure("packing", &path, error);
        let encoder = match Packing::of_name(name) {
            Packing::Plain => OutputEncoder::Plain(file),
            Packing::Gzip => {
                OutputEncoder::Gzip(Box::new(flate2::write::GzEncoder::new(file, flate2::Compression::default())))
            }
            Packing::Zstd => OutputEncoder::Zstd(zstd::stream::write::Encoder::new(file, ZSTD_LEVEL).map_err(failed)?),
            Packing::Bzip2 => OutputEncoder::Bzip2(bzip2::write::BzEncoder::new(file, bzip2::Compression::default())),
            Packing::Xz => OutputEncoder::Xz(liblzma::write::XzEncoder::new(file, XZ_PRESET)),
            Packing::Lzma => {
                let stream = liblzma::stream::LzmaOptions::new_preset(XZ_PRESET)
                    .and_then(|options| liblzma::stream::Stream::new_lzma_encoder(&options))
                    .map_err(|error| failed(error.into()))?;
                OutputEncoder::Xz(liblzma::write::XzEncoder::new_stream(file, stream))
            }
            Packing::Zip => OutputEncoder::Zip(Box::new(ZipWriter::new(file, name).map_err(failed)?)),
        };
        Ok(Self { encoder, bytes: 0 })
    }

    /// Adds bytes.
    pub fn write(&mut self, bytes: &[u8]) -> Outcome<()> {
        self.bytes += bytes.len() as u64;
        let result = match &mut self.encoder {
            OutputEncoder::Plain(file) => return file.write_all(bytes),
            OutputEncoder::Gzip(encoder) => encoder.write_all(bytes),
            OutputEncoder::Zstd(encoder) => encoder.write_all(bytes),
            OutputEncoder::Bzip2(encoder) => encoder.write_all(bytes),
            OutputEncoder::Xz(encoder) => encoder.write_all(bytes),
            OutputEncoder::Zip(encoder) => encoder.write_all(bytes),
        };
        result.map_err(|error| BufferedFile::failure("packing", self.path(), error))
    }

    fn path(&self) -> &Path {
        match &self.encoder {
            OutputEncoder::Plain(file) => file.path(),
            OutputEncoder::Gzip(encoder) => encoder.get_ref().path(),
            OutputEncoder::Zstd(encoder) => encoder.get_ref().path(),
            OutputEncoder::Bzip2(encoder) => encoder.get_ref().path(),
            OutputEncoder::Xz(encoder) => encoder.get_ref().path(),
            OutputEncoder::Zip(encoder) => encoder.get_ref().path(),
        }
    }

    /// Returns the number of bytes written, before compression.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Ends the stream and returns the file, which the caller must close.
    pub fn end(self) -> Outcome<BufferedFile> {
        let path = self.path().to_owned();
        let ended = match self.encoder {
            OutputEncoder::Plain(file) => return Ok(file),
            OutputEncoder::Gzip(encoder) => encoder.finish(),
            OutputEncoder::Zstd(encoder) => encoder.finish(),
            OutputEncoder::Bzip2(encoder) => encoder.finish(),
            OutputEncoder::Xz(encoder) => encoder.finish(),
            OutputEncoder::Zip(encoder) => encoder.finish(),
        };
        ended.map_err(|error| BufferedFile::failure("packing", &path, error))
    }
}
