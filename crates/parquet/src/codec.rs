//! Decompression of pages. The output is never larger than the page header states, and allocated memory is limited by what the input can
//! produce.

use crate::page_header::{DataPage, LevelLayout, PageHeader};
use parquet::basic::CompressionCodec;
use std::io::Read;

/// Decompresses pages; reuses the state of the codecs.
#[derive(Default)]
pub(crate) struct Unpacker {
    zstd: Option<zstd::bulk::Decompressor<'static>>,
    snappy: snap::raw::Decoder,
}

/// Maximum factors by which codecs that are decompressed in one call can expand their input; a larger stated size is damage.
const MAX_SNAPPY_FACTOR: usize = 32;
const MAX_LZ4_FACTOR: usize = 256;
const MAX_ZSTD_FACTOR: usize = 1 << 16;
/// Number of bytes that are reserved before decompression.
const FIRST_RESERVE: usize = 16 << 20;
const BROTLI_BUFFER_BYTES: usize = 64 << 10;
/// First bytes of an LZ4 frame.
const LZ4_FRAME: [u8; 4] = [0x04, 0x22, 0x4D, 0x18];

impl Unpacker {
    /// Replaces the content of `out` with the `size` decompressed bytes of `packed`.
    pub(crate) fn unpack(
        &mut self,
        codec: CompressionCodec,
        packed: &[u8],
        size: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), String> {
        match codec {
            // A page without values may have no compressed bytes.
            _ if size == 0 => out.clear(),
            CompressionCodec::SNAPPY => self.unpack_snappy(packed, size, out)?,
            CompressionCodec::ZSTD => self.unpack_zstd(packed, size, out)?,
            CompressionCodec::GZIP => read_all(&mut flate2::read::MultiGzDecoder::new(packed), size, out)?,
            CompressionCodec::BROTLI => {
                read_all(&mut brotli::Decompressor::new(packed, BROTLI_BUFFER_BYTES), size, out)?
            }
            CompressionCodec::LZ4_RAW => unpack_lz4_block(packed, size, out)?,
            CompressionCodec::LZ4 => unpack_old_lz4(packed, size, out)?,
            CompressionCodec::UNCOMPRESSED | CompressionCodec::LZO => {
                return Err(format!("compression with {codec:?} is not supported"));
            }
        }
        match out.len() == size {
            true => Ok(()),
            false => Err(format!("its size after decompression is not {size} bytes, as it states")),
        }
    }

    fn unpack_snappy(&mut self, packed: &[u8], size: usize, out: &mut Vec<u8>) -> Result<(), String> {
        let stated = snap::raw::decompress_len(packed).map_err(|error| unpack_error(&error))?;
        check_growth(packed, size, MAX_SNAPPY_FACTOR)?;
        if stated != size {
            return Err(format!("it decompresses to {stated} bytes, but states {size}"));
        }
        // The memory is reused, so only bytes beyond its previous size are filled with zeros.
        out.resize(size, 0);
        self.snappy.decompress(packed, out).map_err(|error| unpack_error(&error)).map(|_| ())
    }

    fn unpack_zstd(&mut self, packed: &[u8], size: usize, out: &mut Vec<u8>) -> Result<(), String> {
        check_growth(packed, size, MAX_ZSTD_FACTOR)?;
        if self.zstd.is_none() {
            self.zstd = Some(zstd::bulk::Decompressor::new().map_err(|error| unpack_error(&error))?);
        }
        out.clear();
        out.reserve_exact(size);
        match &mut self.zstd {
            Some(zstd) => zstd.decompress_to_buffer(packed, out).map_err(|error| unpack_error(&error)).map(|_| ()),
            None => Err("there is no decompressor".to_owned()),
        }
    }
}

/// Compares the body of a page with its checksum, if it has one.
pub(crate) fn verify(header: &PageHeader, body: &[u8]) -> Result<(), String> {
    match header.checksum {
        Some(checksum) if crc32fast::hash(body) != checksum => Err("its checksum does not match".to_owned()),
        _ => Ok(()),
    }
}

/// Whether the body of a page is compressed.
pub(crate) fn is_packed(codec: CompressionCodec, page: Option<&DataPage>) -> bool {
    codec != CompressionCodec::UNCOMPRESSED
        && !matches!(page, Some(DataPage { levels: LevelLayout::Separate { is_packed: false, .. }, .. }))
}

fn unpack_error(error: &dyn std::fmt::Display) -> String {
    format!("it cannot be decompressed ({error})")
}

/// Refuses a size that the input cannot produce, before memory is reserved for it.
fn check_growth(packed: &[u8], size: usize, factor: usize) -> Result<(), String> {
    match size / factor > packed.len() {
        true => Err(format!("{} bytes cannot be decompressed to {size}", packed.len())),
        false => Ok(()),
    }
}

/// Reads all bytes, or `size` and one more if there are more.
fn read_all(reader: &mut dyn Read, size: usize, out: &mut Vec<u8>) -> Result<(), String> {
    out.clear();
    // More memory is reserved as bytes are read.
    out.reserve(size.min(FIRST_RESERVE));
    let most = (size as u64).saturating_add(1);
    reader.take(most).read_to_end(out).map_err(|error| unpack_error(&error)).map(|_| ())
}

fn unpack_lz4_block(packed: &[u8], size: usize, out: &mut Vec<u8>) -> Result<(), String> {
    check_growth(packed, size, MAX_LZ4_FACTOR)?;
    out.resize(size, 0);
    let written = lz4_flex::block::decompress_into(packed, out).map_err(|error| unpack_error(&error))?;
    out.truncate(written);
    Ok(())
}

/// Decompresses the formats that writers store under the name LZ4: blocks in Hadoop's framing, an LZ4 frame, or a single bare block.
fn unpack_old_lz4(packed: &[u8], size: usize, out: &mut Vec<u8>) -> Result<(), String> {
    check_growth(packed, size, MAX_LZ4_FACTOR)?;
    out.resize(size, 0);
    if unpack_hadoop(packed, out).is_some() {
        return Ok(());
    }
    match packed.starts_with(&LZ4_FRAME) {
        true => read_all(&mut lz4_flex::frame::FrameDecoder::new(packed), size, out),
        false => unpack_lz4_block(packed, size, out),
    }
}

/// Fills `target` from blocks in Hadoop's framing, which begin with their sizes; `None` if the data has no such blocks.
fn unpack_hadoop(mut packed: &[u8], mut target: &mut [u8]) -> Option<()> {
    while !target.is_empty() {
        let (unpacked, rest) = packed.split_at_checked(4)?;
        let (stored, rest) = rest.split_at_checked(4)?;
        let unpacked = u32::from_be_bytes(unpacked.try_into().ok()?) as usize;
        let stored = u32::from_be_bytes(stored.try_into().ok()?) as usize;
        let (block, after) = rest.split_at_checked(stored)?;
        let (now, later) = target.split_at_mut_checked(unpacked)?;
        if unpacked == 0 || lz4_flex::block::decompress_into(block, now).ok()? != unpacked {
            return None;
        }
        (packed, target) = (after, later);
    }
    packed.is_empty().then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    fn unpack(codec: CompressionCodec, body: &[u8], size: usize) -> Result<Vec<u8>, String> {
        let mut out = vec![7; 50];
        Unpacker::default().unpack(codec, body, size, &mut out).map(|()| out)
    }

    #[test]
    fn gzip_members_of_one_page_are_concatenated() {
        let mut body = Vec::new();
        for part in [&b"one"[..], b"", b"two"] {
            let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            writer.write_all(part).unwrap();
            body.extend(writer.finish().unwrap());
        }
        assert_eq!(unpack(CompressionCodec::GZIP, &body, 6).unwrap(), b"onetwo");
        assert!(unpack(CompressionCodec::GZIP, &body, 5).is_err());
        assert!(unpack(CompressionCodec::GZIP, &body, 7).is_err());
        assert!(unpack(CompressionCodec::GZIP, &body[..body.len() - 9], 6).is_err());
    }

    #[test]
    fn three_legacy_lz4_framings_are_decompressed() {
        let text = b"abcabcabcabcabcabcabcabcabcabc";
        let block = lz4_flex::block::compress(text);
        let framed = |count: usize| {
            let head = [(text.len() as u32).to_be_bytes(), (block.len() as u32).to_be_bytes()].concat();
            [&head[..], &block].concat().repeat(count)
        };
        let mut frame = lz4_flex::frame::FrameEncoder::new(Vec::new());
        frame.write_all(text).unwrap();
        let frame = frame.finish().unwrap();
        for (body, count) in [(block.clone(), 1), (framed(1), 1), (framed(3), 3), (frame, 1)] {
            assert_eq!(unpack(CompressionCodec::LZ4, &body, text.len() * count).unwrap(), text.repeat(count));
            assert!(unpack(CompressionCodec::LZ4, &body, text.len() * count + 1).is_err());
        }
        assert_eq!(unpack(CompressionCodec::LZ4_RAW, &block, text.len()).unwrap(), text);
        assert!(unpack(CompressionCodec::LZ4_RAW, &framed(1), text.len()).is_err());
    }

    #[test]
    fn impossible_decompressed_sizes_are_refused() {
        let huge = i32::MAX as usize;
        for codec in
            [CompressionCodec::SNAPPY, CompressionCodec::ZSTD, CompressionCodec::LZ4, CompressionCodec::LZ4_RAW]
        {
            assert!(unpack(codec, &[1, 2, 3], huge).is_err(), "{codec:?}");
        }
        for codec in [CompressionCodec::GZIP, CompressionCodec::BROTLI, CompressionCodec::LZO] {
            assert!(unpack(codec, &[1, 2, 3], huge).is_err(), "{codec:?}");
        }
    }
}
