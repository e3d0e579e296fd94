//! Compression of pages.

use gristmill_core::{Failure, Outcome};
use parquet::basic::CompressionCodec;
use std::io::Write as _;

/// Compression levels that Parquet writers commonly use.
const ZSTD_LEVEL: i32 = 3;
const GZIP_LEVEL: u32 = 6;
const BROTLI_LEVEL: i32 = 5;
const BROTLI_WINDOW: i32 = 22;
const BROTLI_BUFFER_BYTES: usize = 64 << 10;
/// Name of this step in failures.
const ACTIVITY: &str = "compressing a page of Parquet";

/// Compresses pages with one codec; reuses its state.
pub(crate) struct Packer {
    codec: CompressionCodec,
    zstd: Option<zstd::bulk::Compressor<'static>>,
    out: Vec<u8>,
}

impl Packer {
    pub(crate) fn new(codec: CompressionCodec) -> Outcome<Self> {
        let zstd = match codec {
            CompressionCodec::ZSTD => Some(zstd::bulk::Compressor::new(ZSTD_LEVEL).map_err(|error| failed(&error))?),
            _ => None,
        };
        Ok(Self { codec, zstd, out: Vec::new() })
    }

    /// Whether pages are compressed.
    pub(crate) fn is_packing(&self) -> bool {
        self.codec != CompressionCodec::UNCOMPRESSED
    }

    /// Returns the content of a page after compression.
    pub(crate) fn pack<'a>(&'a mut self, content: &'a [u8]) -> Outcome<&'a [u8]> {
        self.out.clear();
        match (self.codec, &mut self.zstd) {
            (CompressionCodec::UNCOMPRESSED, _) => return Ok(content),
            (CompressionCodec::ZSTD, Some(zstd)) => {
                self.out = zstd.compress(content).map_err(|error| failed(&error))?
            }
            (CompressionCodec::SNAPPY, _) => {
                self.out = snap::raw::Encoder::new().compress_vec(content).map_err(|error| failed(&error))?;
            }
            (CompressionCodec::GZIP, _) => {
                let level = flate2::Compression::new(GZIP_LEVEL);
                let mut encoder = flate2::write::GzEncoder::new(std::mem::take(&mut self.out), level);
                encoder.write_all(content).map_err(|error| failed(&error))?;
                self.out = encoder.finish().map_err(|error| failed(&error))?;
            }
            (CompressionCodec::BROTLI, _) => {
                let params = brotli::enc::BrotliEncoderParams {
                    quality: BROTLI_LEVEL,
                    lgwin: BROTLI_WINDOW,
                    ..Default::default()
                };
                // Dropping the encoder writes the end of the data.
                let mut encoder = brotli::CompressorWriter::with_params(&mut self.out, BROTLI_BUFFER_BYTES, &params);
                encoder.write_all(content).map_err(|error| failed(&error))?;
            }
            (CompressionCodec::LZ4_RAW, _) => self.out = lz4_flex::block::compress(content),
            (CompressionCodec::LZ4, _) => {
                // Hadoop's framing: both sizes, then the block.
                let block = lz4_flex::block::compress(content);
                for size in [content.len(), block.len()] {
                    let size = u32::try_from(size).map_err(|error| failed(&error))?;
                    self.out.extend_from_slice(&size.to_be_bytes());
                }
                self.out.extend_from_slice(&block);
            }
            (codec, _) => return Err(failed(&format!("{codec:?} is not supported"))),
        }
        Ok(&self.out)
    }
}

fn failed(error: &dyn std::fmt::Display) -> Failure {
    Failure::internal(ACTIVITY, error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::Unpacker;

    #[test]
    fn packed_pages_decompress_to_the_same_content() {
        use CompressionCodec as C;
        let text = "some text that repeats; ".repeat(5_000);
        for codec in [C::SNAPPY, C::GZIP, C::BROTLI, C::LZ4, C::LZ4_RAW, C::ZSTD] {
            let mut packer = Packer::new(codec).unwrap();
            for content in [&b""[..], b"short", text.as_bytes(), b"short again"] {
                let packed = packer.pack(content).unwrap().to_vec();
                let mut unpacked = Vec::new();
                Unpacker::default().unpack(codec, &packed, content.len(), &mut unpacked).unwrap();
                assert!(unpacked == content, "{codec:?}");
            }
        }
    }
}
