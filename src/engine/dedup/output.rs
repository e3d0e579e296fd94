//! A file of output, packed by the end of its name (docs/formats/bsade.md §6).

use crate::model::Outcome;
use crate::source::text::Packing;
use crate::storage::fs::BufferedFile;
use std::io::Write as _;
use std::path::Path;

/// How hard zstd tries: its own default.
const ZSTD_LEVEL: i32 = 3;
/// Memory of one zstd encoder at that level with its buffers, in bytes.
const ZSTD_MEMORY: u64 = 6 << 20;
/// The same for gzip.
const GZIP_MEMORY: u64 = 1 << 20;

/// Packs what it is given into a file.
pub struct PackedOutput {
    way: OutputEncoder,
    bytes: u64,
}

enum OutputEncoder {
    Plain(BufferedFile),
    Gzip(Box<flate2::write::GzEncoder<BufferedFile>>),
    Zstd(zstd::stream::write::Encoder<'static, BufferedFile>),
}

impl PackedOutput {
    /// How the output of this name is packed.
    pub fn packing(name: &str) -> Packing {
        match Packing::of_name(name) {
            packing @ (Packing::Gzip | Packing::Zstd) => packing,
            _ => Packing::Plain,
        }
    }

    /// Memory that packing takes, in bytes, without the buffer of the file.
    pub fn memory(packing: Packing) -> u64 {
        match packing {
            Packing::Zstd => ZSTD_MEMORY,
            Packing::Gzip => GZIP_MEMORY,
            _ => 0,
        }
    }

    /// Packs into a file that is open.
    pub fn new(file: BufferedFile, packing: Packing) -> Outcome<Self> {
        let path = file.path().to_owned();
        let way = match packing {
            Packing::Gzip => {
                OutputEncoder::Gzip(Box::new(flate2::write::GzEncoder::new(file, flate2::Compression::default())))
            }
            Packing::Zstd => OutputEncoder::Zstd(
                zstd::stream::write::Encoder::new(file, ZSTD_LEVEL)
                    .map_err(|error| BufferedFile::failure("packing", &path, error))?,
            ),
            _ => OutputEncoder::Plain(file),
        };
        Ok(Self { way, bytes: 0 })
    }

    /// Adds bytes.
    pub fn write(&mut self, bytes: &[u8]) -> Outcome<()> {
        self.bytes += bytes.len() as u64;
        let result = match &mut self.way {
            OutputEncoder::Plain(file) => return file.write_all(bytes),
            OutputEncoder::Gzip(encoder) => encoder.write_all(bytes),
            OutputEncoder::Zstd(encoder) => encoder.write_all(bytes),
        };
        result.map_err(|error| BufferedFile::failure("packing", self.path(), error))
    }

    fn path(&self) -> &Path {
        match &self.way {
            OutputEncoder::Plain(file) => file.path(),
            OutputEncoder::Gzip(encoder) => encoder.get_ref().path(),
            OutputEncoder::Zstd(encoder) => encoder.get_ref().path(),
        }
    }

    /// Bytes that were given, before they were packed.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Ends the stream and returns the file, which is still to be finished.
    pub fn end(self) -> Outcome<BufferedFile> {
        let path = self.path().to_owned();
        let ended = match self.way {
            OutputEncoder::Plain(file) => return Ok(file),
            OutputEncoder::Gzip(encoder) => encoder.finish(),
            OutputEncoder::Zstd(encoder) => encoder.finish(),
        };
        ended.map_err(|error| BufferedFile::failure("packing", &path, error))
    }
}
