//! TIFF: checks that raw pixels are present, and that packed ones decompress to the required number of bytes.

use super::super::tiff::{packed, pixels, CompressedStrip};
use super::super::ReadEnd;
use super::{decoded, truncated};
use crate::bytes::MAX_READ_BYTES;
use crate::{ProbeError, Reader};
use flate2::{Decompress, FlushDecompress, Status};
use gristmill_core::ImageFacts;
use liblzma::stream::{Action, Stream};
use ruzstd::decoding::StreamingDecoder;
use std::io::Read;

/// The maximum number of bytes of a strip, packed or not; of larger ones, only the location is checked.
const MAX_STRIP_BYTES: u64 = 64 << 20;
/// Memory limit of the LZMA decoder, in bytes.
const MAX_LZMA_BYTES: u64 = 256 << 20;

pub(super) fn check(reader: &mut Reader, facts: &ImageFacts) -> Result<(), ProbeError> {
    match pixels(reader) {
        // Offsets of a type that Pillow does not accept are not followed.
        Ok(Some(true)) | Err(ReadEnd::Other(_)) => Ok(()),
        Ok(Some(false)) => Err(truncated(reader)),
        Ok(None) => match packed(reader) {
            Ok(Some((kind @ (5 | 8 | 32_946 | 34_925 | 32_773 | 50_000), parts))) => unpack(reader, kind, &parts),
            Ok(_) | Err(ReadEnd::Other(_)) => decoded::tiff(reader, facts),
            Err(ReadEnd::Error(error)) => Err(error),
        },
        Err(ReadEnd::Error(error)) => Err(error),
    }
}

fn unpack(reader: &mut Reader, kind: i64, parts: &[CompressedStrip]) -> Result<(), ProbeError> {
    let (mut bytes, mut out) = (Vec::new(), Vec::new());
    for part in parts {
        let (Ok(len), Ok(unpacked)) = (usize::try_from(part.len), usize::try_from(part.unpacked)) else { continue };
        if part.len.max(part.unpacked) > MAX_STRIP_BYTES {
            continue;
        }
        bytes.clear();
        while bytes.len() < len {
            let count = (len - bytes.len()).min(MAX_READ_BYTES);
            bytes.extend_from_slice(reader.exactly(part.at + bytes.len() as u64, count)?);
        }
        out.resize(unpacked, 0);
        let is_whole = match kind {
            5 => lzw(&bytes, &mut out),
            34_925 => lzma(&bytes, &mut out),
            32_773 => packbits(&bytes, unpacked),
            50_000 => zstd(&bytes, &mut out),
            _ => deflate(&bytes, &mut out),
        };
        if !is_whole {
            return Err(ProbeError::broken("the pixels of the TIFF picture do not unpack", part.at));
        }
    }
    Ok(())
}

fn deflate(mut bytes: &[u8], out: &mut [u8]) -> bool {
    let mut inflate = Decompress::new(true);
    let mut done = 0;
    while done < out.len() {
        let before = (inflate.total_in(), inflate.total_out());
        let Ok(status) = inflate.decompress(bytes, &mut out[done..], FlushDecompress::None) else { return false };
        let step = |now: u64, before: u64| usize::try_from(now - before).unwrap_or_default();
        bytes = bytes.get(step(inflate.total_in(), before.0)..).unwrap_or_default();
        let made = step(inflate.total_out(), before.1);
        done += made;
        if status == Status::StreamEnd || (made == 0 && bytes.is_empty()) {
            break;
        }
    }
    done == out.len()
}

fn lzma(mut bytes: &[u8], out: &mut [u8]) -> bool {
    let Ok(mut stream) = Stream::new_stream_decoder(MAX_LZMA_BYTES, 0) else { return false };
    let mut done = 0;
    while done < out.len() {
        let before = (stream.total_in(), stream.total_out());
        let Ok(status) = stream.process(bytes, &mut out[done..], Action::Run) else { return false };
        let step = |now: u64, before: u64| usize::try_from(now - before).unwrap_or_default();
        let used = step(stream.total_in(), before.0);
        bytes = bytes.get(used..).unwrap_or_default();
        let made = step(stream.total_out(), before.1);
        done += made;
        if matches!(status, liblzma::stream::Status::StreamEnd) || (made == 0 && used == 0) {
            break;
        }
    }
    done == out.len()
}

fn zstd(bytes: &[u8], out: &mut [u8]) -> bool {
    StreamingDecoder::new(bytes).is_ok_and(|mut decoder| decoder.read_exact(out).is_ok())
}

fn lzw(bytes: &[u8], out: &mut [u8]) -> bool {
    let mut decoder = weezl::decode::Decoder::with_tiff_size_switch(weezl::BitOrder::Msb, 8);
    let (mut read, mut done) = (0, 0);
    while done < out.len() {
        let result = decoder.decode_bytes(&bytes[read..], &mut out[done..]);
        read += result.consumed_in;
        done += result.consumed_out;
        match result.status {
            Ok(weezl::LzwStatus::Ok) if result.consumed_in + result.consumed_out > 0 => {}
            _ => break,
        }
    }
    done == out.len()
}

fn packbits(bytes: &[u8], wanted: usize) -> bool {
    let (mut at, mut done) = (0, 0);
    while done < wanted {
        let Some(&first) = bytes.get(at) else { return false };
        let count = usize::from(first);
        match first {
            0x80 => at += 1,
            0x81.. => {
                at += 2;
                done += 257 - count;
            }
            _ => {
                at += count + 2;
                done += count + 1;
            }
        }
        if at > bytes.len() {
            return false;
        }
    }
    true
}
