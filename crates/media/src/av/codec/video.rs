//! Reads the size of the first frame from a codec's own headers.

use super::bits::{without_emulation, Bits};
use super::timing::{self, Timing};

/// Video codecs; codecs whose headers are parsed in the same way share a variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VideoCodec {
    /// ITU-T H.264.
    H264,
    /// ITU-T H.265.
    Hevc,
    /// RFC 6386.
    Vp8,
    /// VP9 bitstream specification.
    Vp9,
    /// AV1 bitstream specification.
    Av1,
    /// MPEG-4 part 2.
    Mpeg4,
    /// MPEG-1 and MPEG-2 video.
    Mpeg2,
    /// Frames that are JPEG files.
    Mjpeg,
    /// SMPTE RDD 36.
    Prores,
    /// A codec whose size comes from the container.
    Other,
    /// An unknown codec.
    Unknown,
}

/// Width and height in pixels.
pub type Size = (u32, u32);

impl VideoCodec {
    /// Reads the size from a decoder configuration (`avcC`, `hvcC`, `av1C`, an MPEG-4 header …).
    pub fn size_in_config(self, config: &[u8]) -> Option<Size> {
        match self {
            Self::Av1 => av1(config.get(4..)?),
            Self::H264 | Self::Hevc | Self::Mpeg4 | Self::Mpeg2 => self.sequence(config)?.size,
            _ => None,
        }
    }

    /// Reads the timing from a decoder configuration, or from the beginning of the first packet.
    pub fn timing(self, headers: &[u8]) -> Option<Timing> {
        self.sequence(headers).map(|sequence| sequence.timing)
    }

    fn sequence(self, headers: &[u8]) -> Option<Sequence> {
        match self {
            Self::H264 => {
                avcc(headers).or_else(|| annex_b(headers, |unit| (unit.first()? & 31 == 7).then(|| h264_sps(unit))?))
            }
            Self::Hevc => hvcc(headers)
                .or_else(|| annex_b(headers, |unit| (unit.first()? >> 1 & 63 == 33).then(|| hevc_sps(unit))?)),
            Self::Mpeg4 => mpeg4(headers),
            Self::Mpeg2 => Some(Sequence { size: mpeg2(headers), timing: timing::mpeg2(headers).unwrap_or_default() }),
            _ => None,
        }
    }

    /// Reads the size from the beginning of the first packet.
    pub fn size_in_packet(self, packet: &[u8]) -> Option<Size> {
        match self {
            Self::Vp8 => vp8(packet),
            Self::Vp9 => vp9(packet),
            Self::Av1 => av1(packet),
            Self::Mpeg4 => mpeg4(packet)?.size,
            Self::Mpeg2 => mpeg2(packet),
            Self::Mjpeg => jpeg(packet),
            Self::Prores => prores(packet),
            _ => None,
        }
    }

    /// Whether [`size_in_packet`](Self::size_in_packet) supports this codec.
    pub fn needs_packet(self) -> bool {
        matches!(self, Self::Vp8 | Self::Vp9 | Self::Av1 | Self::Mpeg4 | Self::Mpeg2 | Self::Mjpeg | Self::Prores)
    }
}

/// The fields of a sequence header.
struct Sequence {
    size: Option<Size>,
    timing: Timing,
}

fn positive(width: u32, height: u32) -> Option<Size> {
    (width > 0 && height > 0).then_some((width, height))
}

fn be16(bytes: &[u8], at: usize) -> Option<usize> {
    Some(usize::from(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?)))
}

/// Reads the first sequence parameter set of an `avcC` (ISO/IEC 14496-15 §5.3.3).
fn avcc(config: &[u8]) -> Option<Sequence> {
    if config.first() != Some(&1) || config.get(5)? & 31 == 0 {
        return None;
    }
    let len = be16(config, 6)?;
    h264_sps(config.get(8..8 + len)?)
}

/// Reads the first sequence parameter set in the arrays of an `hvcC` (ISO/IEC 14496-15 §8.3.3).
fn hvcc(config: &[u8]) -> Option<Sequence> {
    if config.first() == Some(&0) && config.get(1) == Some(&0) {
        return None;
    }
    let mut at = 23;
    for _ in 0..*config.get(22)? {
        let kind = config.get(at)? & 63;
        let count = be16(config, at + 1)?;
        at += 3;
        for _ in 0..count {
            let len = be16(config, at)?;
            let unit = config.get(at + 2..at + 2 + len)?;
            if kind == 33 {
                return hevc_sps(unit);
            }
            at += 2 + len;
        }
    }
    None
}

/// Returns the first result of `read` for a NAL unit between start codes.
fn annex_b(bytes: &[u8], read: impl Fn(&[u8]) -> Option<Sequence>) -> Option<Sequence> {
    let starts: Vec<usize> =
        bytes.windows(3).enumerate().filter(|(_, three)| *three == [0, 0, 1]).map(|(at, _)| at + 3).take(64).collect();
    starts.iter().enumerate().find_map(|(index, &start)| {
        let end = starts.get(index + 1).map_or(bytes.len(), |next| next - 3);
        read(bytes.get(start..end)?)
    })
}

/// H.264 §7.3.2.1.1, cropped.
fn h264_sps(unit: &[u8]) -> Option<Sequence> {
    let plain = without_emulation(unit.get(1..)?);
    let mut bits = Bits::new(&plain);
    let profile = bits.number(8)?;
    bits.skip(16)?;
    bits.ue()?;
    let mut chroma = 1;
    let mut separate = false;
    if matches!(profile, 100 | 110 | 122 | 244 | 44 | 83 | 86 | 118 | 128 | 138 | 139 | 134 | 135) {
        chroma = bits.ue()?;
        if chroma == 3 {
            separate = bits.bit()?;
        }
        bits.ue()?;
        bits.ue()?;
        bits.skip(1)?;
        if bits.bit()? {
            for list in 0..if chroma == 3 { 12 } else { 8 } {
                if bits.bit()? {
                    scaling_list(&mut bits, if list < 6 { 16 } else { 64 })?;
                }
            }
        }
    }
    bits.ue()?;
    match bits.ue()? {
        0 => drop(bits.ue()?),
        1 => {
            bits.skip(1)?;
            bits.se()?;
            bits.se()?;
            for _ in 0..bits.ue()?.min(255) {
                bits.se()?;
            }
        }
        _ => {}
    }
    bits.ue()?;
    bits.skip(1)?;
    let width = bits.ue()?.checked_add(1)?.checked_mul(16)?;
    let rows = bits.ue()?.checked_add(1)?;
    let frames = u32::from(bits.bit()?);
    let height = rows.checked_mul(16)?.checked_mul(2 - frames)?;
    if frames == 0 {
        bits.skip(1)?;
    }
    bits.skip(1)?;
    let crop = window(&mut bits)?;
    let chroma = if separate { 0 } else { chroma };
    let across = if matches!(chroma, 1 | 2) { 2 } else { 1 };
    let down = (if chroma == 1 { 2 } else { 1 }) * (2 - frames);
    Some(Sequence { size: cropped(width, height, crop, across, down), timing: timing::h264(&mut bits) })
}

/// Returns the cropping: left, right, top, bottom.
fn window(bits: &mut Bits) -> Option<[u32; 4]> {
    match bits.bit()? {
        true => Some([bits.ue()?, bits.ue()?, bits.ue()?, bits.ue()?]),
        false => Some([0; 4]),
    }
}

/// Returns the size after cropping, in units of `across` × `down` pixels. A crop that leaves nothing is ignored.
fn cropped(width: u32, height: u32, crop: [u32; 4], across: u32, down: u32) -> Option<Size> {
    let [left, right, above, below] = crop;
    let cut = |one: u32, other: u32, unit: u32| one.checked_add(other)?.checked_mul(unit);
    let less = cut(left, right, across).and_then(|cut| width.checked_sub(cut));
    let lower = cut(above, below, down).and_then(|cut| height.checked_sub(cut));
    match (less, lower) {
        (Some(less), Some(lower)) if less > 0 && lower > 0 => Some((less, lower)),
        _ => positive(width, height),
    }
}

fn scaling_list(bits: &mut Bits, count: usize) -> Option<()> {
    let (mut last, mut next) = (8_i32, 8_i32);
    for _ in 0..count {
        if next != 0 {
            next = (last + bits.se()?.clamp(-256, 256)).rem_euclid(256);
        }
        last = if next == 0 { last } else { next };
    }
    Some(())
}

/// H.265 §7.3.2.2, cropped by the conformance window.
fn hevc_sps(unit: &[u8]) -> Option<Sequence> {
    let plain = without_emulation(unit.get(2..)?);
    let mut bits = Bits::new(&plain);
    bits.skip(4)?;
    let layers = bits.number(3)?;
    bits.skip(1 + 96 - 8)?;
    bits.skip(8)?;
    let mut present = Vec::with_capacity(8);
    for _ in 0..layers {
        present.push((bits.bit()?, bits.bit()?));
    }
    if layers > 0 {
        bits.skip(2 * (8 - layers as usize))?;
    }
    for (profile, level) in present {
        bits.skip(if profile { 88 } else { 0 } + if level { 8 } else { 0 })?;
    }
    bits.ue()?;
    let chroma = bits.ue()?;
    if chroma == 3 {
        bits.skip(1)?;
    }
    let (width, height) = (bits.ue()?, bits.ue()?);
    let crop = window(&mut bits)?;
    let across = if matches!(chroma, 1 | 2) { 2 } else { 1 };
    let down = if chroma == 1 { 2 } else { 1 };
    Some(Sequence { size: cropped(width, height, crop, across, down), timing: timing::hevc(&mut bits, layers) })
}

/// RFC 6386 §9.1: the header of a key frame.
fn vp8(packet: &[u8]) -> Option<Size> {
    if packet.first()? & 1 != 0 || packet.get(3..6)? != [0x9d, 0x01, 0x2a] {
        return None;
    }
    let side = |at: usize| Some(u32::from(u16::from_le_bytes(packet.get(at..at + 2)?.try_into().ok()?)) & 0x3fff);
    positive(side(6)?, side(8)?)
}

/// VP9 §6.2: the uncompressed header of a key frame.
fn vp9(packet: &[u8]) -> Option<Size> {
    let mut bits = Bits::new(packet);
    if bits.number(2)? != 2 {
        return None;
    }
    let profile = u32::from(bits.bit()?) | u32::from(bits.bit()?) << 1;
    if profile == 3 {
        bits.skip(1)?;
    }
    let (repeated, other_frame) = (bits.bit()?, bits.bit()?);
    bits.skip(2)?;
    if repeated || other_frame || bits.number(24)? != 0x49_83_42 {
        return None;
    }
    if profile >= 2 {
        bits.skip(1)?;
    }
    if bits.number(3)? != 7 {
        bits.skip(1)?;
        if profile & 1 == 1 {
            bits.skip(3)?;
        }
    } else if profile & 1 == 1 {
        bits.skip(1)?;
    }
    positive(bits.number(16)? + 1, bits.number(16)? + 1)
}

/// AV1 §5.5: the sequence header, which must be among the first 16 units.
fn av1(units: &[u8]) -> Option<Size> {
    let mut rest = units;
    for _ in 0..16 {
        let (&head, after) = rest.split_first()?;
        let after = if head & 4 != 0 { after.get(1..)? } else { after };
        let (len, after) = if head & 2 != 0 { leb128(after)? } else { (after.len(), after) };
        if head >> 3 & 15 == 1 {
            return av1_sequence(after.get(..len.min(after.len()))?);
        }
        rest = after.get(len..)?;
    }
    None
}

fn leb128(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let mut value = 0_u64;
    for (index, &byte) in bytes.iter().take(8).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            return Some((usize::try_from(value).ok()?, bytes.get(index + 1..)?));
        }
    }
    None
}

fn av1_sequence(unit: &[u8]) -> Option<Size> {
    let mut bits = Bits::new(unit);
    bits.skip(4)?;
    if bits.bit()? {
        bits.skip(5)?;
    } else {
        let mut decoder_model = None;
        if bits.bit()? {
            bits.skip(64)?;
            if bits.bit()? {
                uvlc(&mut bits)?;
            }
            if bits.bit()? {
                decoder_model = Some(bits.number(5)? as usize + 1);
                bits.skip(32 + 10)?;
            }
        }
        let delays = bits.bit()?;
        for _ in 0..=bits.number(5)? {
            bits.skip(12)?;
            if bits.number(5)? > 7 {
                bits.skip(1)?;
            }
            if let Some(len) = decoder_model {
                if bits.bit()? {
                    bits.skip(2 * len + 1)?;
                }
            }
            if delays && bits.bit()? {
                bits.skip(4)?;
            }
        }
    }
    let (across, down) = (bits.number(4)? + 1, bits.number(4)? + 1);
    positive(bits.number(across)?.checked_add(1)?, bits.number(down)?.checked_add(1)?)
}

fn uvlc(bits: &mut Bits) -> Option<()> {
    let mut zeros = 0;
    while !bits.bit()? {
        zeros += 1;
        if zeros >= 32 {
            return Some(());
        }
    }
    bits.skip(zeros)
}

/// ISO/IEC 14496-2 §6.2.3: the header of a video object layer.
fn mpeg4(bytes: &[u8]) -> Option<Sequence> {
    let at = bytes.windows(4).position(|four| matches!(four, [0, 0, 1, 0x20..=0x2f]))?;
    let mut bits = Bits::new(bytes.get(at + 4..)?);
    bits.skip(9)?;
    let version = if bits.bit()? {
        let version = bits.number(4)?;
        bits.skip(3)?;
        version
    } else {
        1
    };
    if bits.number(4)? == 15 {
        bits.skip(16)?;
    }
    if bits.bit()? {
        bits.skip(3)?;
        if bits.bit()? {
            bits.skip(79)?;
        }
    }
    let shape = bits.number(2)?;
    if shape == 3 && version != 1 {
        bits.skip(4)?;
    }
    bits.skip(1)?;
    let resolution = bits.number(16)?;
    bits.skip(1)?;
    let fixed = bits.bit()?;
    let timing = timing::mpeg4(&mut bits, resolution, fixed)?;
    if shape != 0 {
        return Some(Sequence { size: None, timing });
    }
    bits.skip(1)?;
    let width = bits.number(13)?;
    bits.skip(1)?;
    Some(Sequence { size: positive(width, bits.number(13)?), timing })
}

/// ISO/IEC 13818-2 §6.2.2: the sequence header and, in MPEG-2, its extension.
fn mpeg2(bytes: &[u8]) -> Option<Size> {
    let at = bytes.windows(4).position(|four| four == [0, 0, 1, 0xb3])?;
    let mut bits = Bits::new(bytes.get(at + 4..)?);
    let (mut width, mut height) = (bits.number(12)?, bits.number(12)?);
    if let Some(at) = bytes.windows(5).position(|five| matches!(five, [0, 0, 1, 0xb5, 0x10..=0x1f])) {
        let mut bits = Bits::new(bytes.get(at + 4..)?);
        bits.skip(15)?;
        width |= bits.number(2)? << 12;
        height |= bits.number(2)? << 12;
    }
    positive(width, height)
}

/// ITU-T T.81 §B.2.2: the frame header.
fn jpeg(bytes: &[u8]) -> Option<Size> {
    if bytes.get(..2)? != [0xff, 0xd8] {
        return None;
    }
    let mut at = 2;
    for _ in 0..256 {
        if *bytes.get(at)? != 0xff {
            return None;
        }
        let marker = *bytes.get(at + 1)?;
        match marker {
            0xff => at += 1,
            0xc0..=0xc3 | 0xc5..=0xc7 | 0xc9..=0xcb | 0xcd..=0xcf => {
                let side = |at: usize| u32::try_from(be16(bytes, at)?).ok();
                return positive(side(at + 7)?, side(at + 5)?);
            }
            0xd8 | 0xd0..=0xd7 | 0x01 => at += 2,
            _ => at += 2 + be16(bytes, at + 2)?,
        }
    }
    None
}

/// SMPTE RDD 36 §5.1: the frame header.
fn prores(bytes: &[u8]) -> Option<Size> {
    if bytes.get(4..8)? != b"icpf" {
        return None;
    }
    let side = |at: usize| u32::try_from(be16(bytes, at)?).ok();
    positive(side(16)?, side(18)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPS: [u8; 24] = [
        0x67, 0x64, 0x00, 0x1f, 0xac, 0xd9, 0x40, 0x50, 0x05, 0xbb, 0x01, 0x10, 0x00, 0x00, 0x03, 0x00, 0x10, 0x00,
        0x00, 0x03, 0x03, 0xc0, 0xf1, 0x83,
    ];

    #[test]
    fn picture_size_is_read_from_codec_headers() {
        let sequence = h264_sps(&SPS).unwrap();
        assert_eq!(sequence.size, Some((1280, 720)));
        assert_eq!(sequence.timing.rate, Some(crate::av::Rational::new(30, 1)));
        assert_eq!(vp8(&[0x10, 2, 0, 0x9d, 0x01, 0x2a, 61, 0, 47, 0x40]), Some((61, 47)));
        assert_eq!(jpeg(&[0xff, 0xd8, 0xff, 0xe0, 0, 4, 1, 2, 0xff, 0xc0, 0, 17, 8, 0, 48, 0, 64]), Some((64, 48)));
    }

    #[test]
    fn truncated_video_headers_do_not_panic() {
        let codecs = [
            VideoCodec::H264,
            VideoCodec::Hevc,
            VideoCodec::Vp9,
            VideoCodec::Av1,
            VideoCodec::Mpeg4,
            VideoCodec::Mpeg2,
        ];
        for codec in codecs {
            for len in 0..SPS.len() {
                let _ = codec.size_in_config(&SPS[..len]);
                let _ = codec.size_in_packet(&SPS[..len]);
            }
        }
        assert!(h264_sps(&SPS[..6]).is_none());
    }
}
