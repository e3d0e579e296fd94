//! Sound and video: identifies the container, and reads the facts of its first video and first audio stream (docs/formats/energon.md §12).
//!
//! Values are identical, to the last digit, to those of FFmpeg 8 as called by the reference program.

pub mod adts;
pub mod codec;
pub mod cover;
pub mod flac;
mod frame_rate;
mod frame_span;
pub mod iso;
mod key_frame;
pub mod matroska;
pub mod mpeg_audio;
pub mod ogg;
pub mod rational;
pub mod riff;

pub use key_frame::{key_frame, KeyFrame};
pub use rational::Rational;

use super::{ProbeError, ProbeResult, Reader};
use gristmill_core::{AvFacts, MediaFacts};

/// The result of a container's reader.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AvProbeResult {
    /// Facts of the first video and the first audio stream.
    pub facts: AvFacts,
    /// Unusual findings that are not errors.
    pub remarks: Vec<String>,
}

/// A supported container.
struct Container {
    /// Whether these first bytes, after ID3v2 tags, belong to this container.
    matches: fn(&[u8]) -> bool,
    /// Reads the container; offsets count from the beginning of the entry, including tags.
    probe: fn(&mut Reader) -> Result<AvProbeResult, ProbeError>,
}

/// In the order in which they are tried: unambiguous signatures first, heuristics on frame headers last.
const CONTAINERS: &[Container] = &[
    Container { matches: matroska::matches, probe: matroska::probe },
    Container { matches: iso::matches, probe: iso::probe },
    Container { matches: ogg::matches, probe: ogg::probe },
    Container { matches: flac::matches, probe: flac::probe },
    Container { matches: riff::avi::matches, probe: riff::avi::probe },
    Container { matches: riff::wav::matches, probe: riff::wav::probe },
    Container { matches: adts::matches, probe: adts::probe },
    Container { matches: mpeg_audio::matches, probe: mpeg_audio::probe },
];

/// Number of bytes from which containers are recognised.
pub const RECOGNISED_BY: usize = 4 << 10;

/// Reads sound or video in any supported container.
///
/// # Errors
/// [`ProbeError::NotMedia`] if no container is recognised, [`ProbeError::Broken`] if one is, but cannot be read.
pub fn probe(reader: &mut Reader) -> Result<ProbeResult, ProbeError> {
    let start = after_id3(reader)?;
    let first = reader.up_to(start, RECOGNISED_BY)?.to_vec();
    let AvProbeResult { facts, remarks } = match CONTAINERS.iter().find(|container| (container.matches)(&first)) {
        Some(container) => (container.probe)(reader)?,
        None if mpeg_audio::matches_far(reader, start)? => mpeg_audio::probe(reader)?,
        None => return Err(ProbeError::NotMedia("this is not a known audio or video format".into())),
    };
    Ok(ProbeResult { facts: MediaFacts::Av(facts), remarks })
}

/// Returns the offset of the content after ID3v2 tags at the beginning, in bytes; 0 without tags.
pub fn after_id3(reader: &mut Reader) -> Result<u64, ProbeError> {
    let mut at = 0;
    // A tag has at least ten bytes; files rarely have more than two or three.
    for _ in 0..16 {
        match reader.up_to(at, 10)? {
            [b'I', b'D', b'3', major, minor, flags, a, b, c, d]
                if *major != 0xff && *minor != 0xff && (a | b | c | d) & 0x80 == 0 =>
            {
                let size = [a, b, c, d].into_iter().fold(0_u64, |size, byte| size << 7 | u64::from(*byte));
                let footer = if flags & 0x10 != 0 { 10 } else { 0 };
                at += 10 + size + footer;
            }
            _ => break,
        }
    }
    Ok(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_core::Cancel;

    fn start_of(bytes: &[u8]) -> u64 {
        after_id3(&mut Reader::new(&bytes, &Cancel::default())).unwrap()
    }

    #[test]
    fn tags_before_the_content_are_skipped() {
        assert_eq!(start_of(b""), 0);
        assert_eq!(start_of(b"RIFF"), 0);
        assert_eq!(start_of(b"ID3\x04\x00\x00\x00\x00\x01\x02rest"), 10 + 130);
        assert_eq!(start_of(b"ID3\x04\x00\x10\x00\x00\x00\x01xID3\x03\x00\x00\x00\x00\x00\x00x"), 21);
        assert_eq!(start_of(b"ID3\x04\x00\x00\x80\x00\x01\x02rest"), 0);
    }

    #[test]
    fn bytes_without_a_container_are_not_media() {
        for bytes in [b"".as_slice(), b"hello there, this is text", &[0; 5000]] {
            let error = probe(&mut Reader::new(&bytes, &Cancel::default())).unwrap_err();
            assert!(matches!(error, ProbeError::NotMedia(_)), "{error}");
        }
    }
}
