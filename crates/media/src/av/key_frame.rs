//! Extracts the first key frame of a video, as its container stores it.

use super::codec::VideoCodec;
use super::frame_span::FrameSpan;
use super::{after_id3, iso, matroska, RECOGNISED_BY};
use crate::bytes::MAX_READ_BYTES;
use crate::{ProbeError, Reader};

/// A complete frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyFrame {
    /// The configuration of its codec, as the container stores it.
    pub config: Vec<u8>,
    /// The frame as output by its encoder.
    pub bytes: Vec<u8>,
}

/// Returns the first key frame of the first video of an MP4, MOV, Matroska or WebM file; `None` for another container, a video that is not
/// of `codec`, or one without a key frame. A frame of more than `limit` bytes is refused.
///
/// # Errors
/// [`ProbeError::Broken`] if the structures needed to locate the frame cannot be read, or the file ends within the frame.
pub fn key_frame(reader: &mut Reader, codec: VideoCodec, limit: u64) -> Result<Option<KeyFrame>, ProbeError> {
    let start = after_id3(reader)?;
    let first = reader.up_to(start, RECOGNISED_BY)?.to_vec();
    let place = if matroska::matches(&first) {
        matroska::key_frame(reader, codec)?
    } else if iso::matches(&first) {
        iso::key_frame(reader, codec)?
    } else {
        None
    };
    let Some(FrameSpan { config, stripped: mut bytes, at, len }) = place else { return Ok(None) };
    if len > limit {
        return Err(ProbeError::broken(
            format!("its first picture takes {}", gristmill_core::text::count(len, "byte")),
            at,
        ));
    }
    let mut done = 0;
    while done < len {
        let count = usize::try_from(len - done).unwrap_or(MAX_READ_BYTES).min(MAX_READ_BYTES);
        bytes.extend_from_slice(reader.exactly(at.saturating_add(done), count)?);
        done += count as u64;
    }
    Ok(Some(KeyFrame { config, bytes }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_core::Cancel;

    const NAMES: [&str; 8] = [
        "420_limited.mp4",
        "420_10_full.webm",
        "422_12.mp4",
        "444_10.mkv",
        "fragments.mp4",
        "grey_8.webm",
        "group.mov",
        "large.mkv",
    ];

    fn golden(name: &str) -> Vec<u8> {
        std::fs::read(format!("{}/../../tests/golden/media/av1/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
    }

    fn key_frame_of(bytes: &[u8], limit: u64) -> Result<Option<KeyFrame>, ProbeError> {
        key_frame(&mut Reader::new(&bytes, &Cancel::default()), VideoCodec::Av1, limit)
    }

    #[test]
    fn the_first_key_frame_is_found_in_every_container() {
        for name in NAMES {
            let bytes = golden(name);
            let frame = key_frame_of(&bytes, 1 << 20).unwrap().unwrap();
            // A temporal delimiter, or a sequence header, which occurs only in key frames.
            let is_begin = frame.bytes.starts_with(&[0x12, 0]) || frame.bytes.first() == Some(&0x0a);
            assert!(is_begin && frame.config.first() == Some(&0x81), "{name}: {frame:?}");
            assert!(memchr::memmem::find(&bytes, &frame.bytes).is_some());
        }
    }

    #[test]
    fn frames_before_the_first_key_frame_are_skipped() {
        let mut bytes = golden("422_12.mp4");
        let sizes = memchr::memmem::find(&bytes, b"stsz").unwrap();
        let size = u32::from_be_bytes(bytes[sizes + 16..sizes + 20].try_into().unwrap()) as usize;
        // Only the second of the two frames is listed as a key frame.
        let first = key_frame_of(&bytes, 1 << 20).unwrap().unwrap();
        let at = memchr::memmem::find(&bytes, &first.bytes).unwrap();
        bytes[at] = 0xff;
        let listed = [0, 0, 0, 20, b's', b't', b's', b's', 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2];
        let table = memchr::memmem::find(&bytes, b"stbl").unwrap();
        bytes.splice(table + 4..table + 4, listed);
        for name in [&b"moov"[..], b"trak", b"mdia", b"minf", b"stbl"] {
            let at = memchr::memmem::find(&bytes, name).unwrap() - 4;
            let grown = u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap()) + 20;
            bytes[at..at + 4].copy_from_slice(&grown.to_be_bytes());
        }
        let second = key_frame_of(&bytes, 1 << 20).unwrap().unwrap();
        assert_eq!((second.bytes.len(), &second), (size, &first));
    }

    #[test]
    fn key_frame_of_other_codec_is_none_and_too_long_or_cut_frame_is_refused() {
        let bytes = golden("420_limited.mp4");
        let source = bytes.as_slice();
        let cancel = Cancel::default();
        let other = key_frame(&mut Reader::new(&source, &cancel), VideoCodec::H264, 1 << 20);
        assert_eq!(other.unwrap(), None);
        assert_eq!(key_frame_of(b"RIFF\x20\0\0\0AVI LIST", 1 << 20).unwrap(), None);
        assert!(matches!(key_frame_of(&bytes, 10), Err(ProbeError::Broken { .. })));
        let mkv = golden("large.mkv");
        assert!(!matches!(key_frame_of(&mkv[..mkv.len() - 200], 1 << 20), Ok(Some(_))));
    }
}
