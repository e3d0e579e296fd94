//! Maps the codec of a track, given by its ID or by an embedded header of another container.

use crate::av::codec::{AudioCodec, VideoCodec};

/// Video codecs that are known by name only.
const OTHER_VIDEO: [&str; 12] = [
    "V_DIRAC",
    "V_FFV1",
    "V_MPEG4/MS/V3",
    "V_REAL/RV",
    "V_SNOW",
    "V_THEORA",
    "V_UNCOMPRESSED",
    "V_QUICKTIME",
    "V_AVS2",
    "V_AVS3",
    "V_MPEGI/ISO/VVC",
    "V_CAVS",
];
/// Audio codecs that are known by name only.
const OTHER_AUDIO: [&str; 6] = ["A_DTS", "A_MLP", "A_TRUEHD", "A_QUICKTIME", "A_REAL", "A_ATRAC"];

/// Length of a bitmap header, in bytes; the codec configuration follows it.
const BITMAP_HEADER_BYTES: usize = 40;
/// Length of a WAVEFORMATEX, in bytes; the codec configuration follows it.
const WAVE_FORMAT_BYTES: usize = 18;

/// Returns the video codec, and the offset of its configuration in the private data.
pub fn video(id: &str, private: &[u8]) -> (VideoCodec, usize) {
    let codec = match id {
        _ if id.starts_with("V_MPEG4/ISO/AVC") => VideoCodec::H264,
        _ if id.starts_with("V_MPEGH/ISO/HEVC") => VideoCodec::Hevc,
        _ if id.starts_with("V_VP8") => VideoCodec::Vp8,
        _ if id.starts_with("V_VP9") => VideoCodec::Vp9,
        _ if id.starts_with("V_AV1") => VideoCodec::Av1,
        _ if id.starts_with("V_MPEG4/ISO/") => VideoCodec::Mpeg4,
        _ if id.starts_with("V_MPEG1") || id.starts_with("V_MPEG2") => VideoCodec::Mpeg2,
        _ if id.starts_with("V_MJPEG") => VideoCodec::Mjpeg,
        _ if id.starts_with("V_PRORES") => VideoCodec::Prores,
        _ if id.starts_with("V_MS/VFW/FOURCC") => return (bitmap(private), BITMAP_HEADER_BYTES),
        _ if OTHER_VIDEO.iter().any(|known| id.starts_with(known)) => VideoCodec::Other,
        _ => VideoCodec::Unknown,
    };
    (codec, 0)
}

/// Returns the codec of a bitmap header.
fn bitmap(header: &[u8]) -> VideoCodec {
    let Some(code) = header.get(16..20).map(<[u8]>::to_ascii_uppercase) else { return VideoCodec::Unknown };
    match code.as_slice() {
        b"H264" | b"X264" | b"AVC1" | b"DAVC" => VideoCodec::H264,
        b"HEVC" | b"H265" => VideoCodec::Hevc,
        b"MP4V" | b"XVID" | b"DIVX" | b"DX50" | b"FMP4" => VideoCodec::Mpeg4,
        b"MJPG" => VideoCodec::Mjpeg,
        b"MPG1" | b"MPG2" | b"MPEG" => VideoCodec::Mpeg2,
        b"VP80" => VideoCodec::Vp8,
        b"VP90" => VideoCodec::Vp9,
        b"AV01" => VideoCodec::Av1,
        _ => VideoCodec::Other,
    }
}

/// Returns the audio codec for samples of `bits` bits, and the offset of its configuration in the private data.
pub fn audio(id: &str, private: &[u8], bits: u64) -> (AudioCodec, usize) {
    let bytes = u32::try_from(bits.div_ceil(8)).unwrap_or(0).max(1);
    let codec = match id {
        _ if id.starts_with("A_AAC") => AudioCodec::Aac,
        _ if id.starts_with("A_MPEG/L") => AudioCodec::Mpeg,
        _ if id.starts_with("A_AC3") => AudioCodec::Ac3,
        _ if id.starts_with("A_EAC3") => AudioCodec::Eac3,
        _ if id.starts_with("A_ALAC") => AudioCodec::Alac,
        _ if id.starts_with("A_OPUS") => AudioCodec::Opus,
        _ if id.starts_with("A_VORBIS") => AudioCodec::Vorbis,
        _ if id.starts_with("A_FLAC") => AudioCodec::Flac,
        _ if id.starts_with("A_WAVPACK4") => AudioCodec::Wavpack,
        _ if id.starts_with("A_TTA1") => AudioCodec::Tta,
        "A_PCM/FLOAT/IEEE" | "A_PCM/INT/BIG" | "A_PCM/INT/LIT" => AudioCodec::Pcm(bytes),
        _ if id.starts_with("A_MS/ACM") => return (wave(private), WAVE_FORMAT_BYTES),
        _ if OTHER_AUDIO.iter().any(|known| id.starts_with(known)) => AudioCodec::Other,
        _ => AudioCodec::Unknown,
    };
    (codec, 0)
}

/// Returns the codec of a WAVEFORMATEX.
fn wave(header: &[u8]) -> AudioCodec {
    let word = |at: usize| match header.get(at..at + 2) {
        Some(&[low, high]) => u16::from_le_bytes([low, high]),
        _ => 0,
    };
    match word(0) {
        1 | 3 => AudioCodec::Pcm(u32::from(word(14)).div_ceil(8)),
        6 | 7 => AudioCodec::Pcm(1),
        0x50 | 0x55 => AudioCodec::Mpeg,
        0xff | 0x1600 => AudioCodec::Aac,
        0x2000 => AudioCodec::Ac3,
        0 => AudioCodec::Unknown,
        _ => AudioCodec::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matroska_codec_is_identified_by_its_id_or_embedded_header() {
        assert_eq!(video("V_MPEG4/ISO/ASP", &[]), (VideoCodec::Mpeg4, 0));
        let mut header = [0; 40];
        header[16..20].copy_from_slice(b"xvid");
        assert_eq!(video("V_MS/VFW/FOURCC", &header), (VideoCodec::Mpeg4, 40));
        assert_eq!(audio("A_PCM/INT/LIT", &[], 24), (AudioCodec::Pcm(3), 0));
        let mut header = [0; 18];
        (header[0], header[14]) = (1, 16);
        assert_eq!(audio("A_MS/ACM", &header, 0), (AudioCodec::Pcm(2), 18));
    }

    #[test]
    fn unlisted_matroska_codec_is_unknown() {
        assert_eq!(video("V_XPEG4", &[]).0, VideoCodec::Unknown);
        assert_eq!(video("V_MS/VFW/FOURCC", &[]).0, VideoCodec::Unknown);
        assert_eq!(audio("A_XAC", &[], 0).0, AudioCodec::Unknown);
        assert_eq!(audio("A_MS/ACM", &[], 0).0, AudioCodec::Unknown);
    }
}
