//! Reads the frame rate and the amount of reordering of a video stream from the codec's own headers.

use super::bits::Bits;
use crate::av::rational::{Rational, INT_MAX};

/// The timing information in the headers of a video codec.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timing {
    /// Frames per second according to FFmpeg's interpretation of the headers; for MPEG-4 part 2, possibly the resolution of the clock.
    pub rate: Option<Rational>,
    /// Maximum number of frames by which decoding order differs from presentation order.
    pub reorder: u32,
}

fn rate(frames: u64, seconds: u64) -> Option<Rational> {
    let (frames, seconds) = (i64::try_from(frames).ok()?, i64::try_from(seconds).ok()?);
    (frames > 0 && seconds > 0).then(|| Rational::reduced(frames, seconds, INT_MAX))
}

/// Skips the fields before the timing in the usability information of H.264 and H.265: aspect ratio and colours.
fn appearance(bits: &mut Bits) -> Option<()> {
    if bits.bit()? && bits.number(8)? == 255 {
        bits.skip(32)?;
    }
    if bits.bit()? {
        bits.skip(1)?;
    }
    if bits.bit()? {
        bits.skip(4)?;
        if bits.bit()? {
            bits.skip(24)?;
        }
    }
    if bits.bit()? {
        bits.ue()?;
        bits.ue()?;
    }
    Some(())
}

/// Reads H.264 §E.1.1, starting at the flag for its presence.
pub fn h264(bits: &mut Bits) -> Timing {
    let mut timing = Timing::default();
    let _ = h264_usability(bits, &mut timing);
    timing
}

fn h264_usability(bits: &mut Bits, timing: &mut Timing) -> Option<()> {
    if !bits.bit()? {
        return None;
    }
    appearance(bits)?;
    if bits.bit()? {
        // A frame lasts two ticks.
        let (ticks, scale) = (bits.number(32)?, bits.number(32)?);
        timing.rate = rate(u64::from(scale), 2 * u64::from(ticks));
        bits.skip(1)?;
    }
    let mut buffered = false;
    for _ in 0..2 {
        if bits.bit()? {
            buffered = true;
            buffering(bits)?;
        }
    }
    bits.skip(usize::from(buffered) + 1)?;
    if bits.bit()? {
        bits.skip(1)?;
        for _ in 0..4 {
            bits.ue()?;
        }
        timing.reorder = bits.ue()?.min(16);
    }
    Some(())
}

/// Skips H.264 §E.1.2.
fn buffering(bits: &mut Bits) -> Option<()> {
    let count = bits.ue()?;
    bits.skip(8)?;
    for _ in 0..=count.min(31) {
        bits.ue()?;
        bits.ue()?;
        bits.skip(1)?;
    }
    bits.skip(20)
}

/// Reads H.265 §7.3.2.2, starting after the conformance window. Stops at scaling lists and predicted reference sets.
pub fn hevc(bits: &mut Bits, layers: u32) -> Timing {
    let mut timing = Timing::default();
    let _ = hevc_sequence(bits, layers, &mut timing);
    timing
}

fn hevc_sequence(bits: &mut Bits, layers: u32, timing: &mut Timing) -> Option<()> {
    bits.ue()?;
    bits.ue()?;
    let order_bits = bits.ue()?.checked_add(4)?;
    let sub_layers = if bits.bit()? { layers + 1 } else { 1 };
    for _ in 0..sub_layers {
        bits.ue()?;
        timing.reorder = bits.ue()?.min(16);
        bits.ue()?;
    }
    for _ in 0..6 {
        bits.ue()?;
    }
    if bits.bit()? && bits.bit()? {
        return None;
    }
    bits.skip(2)?;
    if bits.bit()? {
        bits.skip(8)?;
        bits.ue()?;
        bits.ue()?;
        bits.skip(1)?;
    }
    reference_sets(bits)?;
    if bits.bit()? {
        for _ in 0..bits.ue()?.min(32) {
            bits.skip(order_bits as usize + 1)?;
        }
    }
    bits.skip(2)?;
    if !bits.bit()? {
        return None;
    }
    appearance(bits)?;
    bits.skip(3)?;
    if bits.bit()? {
        for _ in 0..4 {
            bits.ue()?;
        }
    }
    if bits.bit()? {
        let (ticks, scale) = (bits.number(32)?, bits.number(32)?);
        timing.rate = rate(u64::from(scale), u64::from(ticks));
    }
    Some(())
}

/// Skips the reference sets of H.265 §7.3.7; `None` if one is predicted from another.
fn reference_sets(bits: &mut Bits) -> Option<()> {
    for set in 0..bits.ue()?.min(64) {
        if set > 0 && bits.bit()? {
            return None;
        }
        let (before, after) = (bits.ue()?.min(16), bits.ue()?.min(16));
        for _ in 0..before + after {
            bits.ue()?;
            bits.skip(1)?;
        }
    }
    Some(())
}

/// Reads ISO/IEC 13818-2 §6.2.2: the code in the sequence header, scaled by its extension.
pub fn mpeg2(bytes: &[u8]) -> Option<Timing> {
    let at = bytes.windows(4).position(|four| four == [0, 0, 1, 0xb3])?;
    let mut bits = Bits::new(bytes.get(at + 4..)?);
    bits.skip(28)?;
    let (mut frames, mut seconds) = match bits.number(4)? {
        1 => (24_000, 1001),
        2 => (24, 1),
        3 => (25, 1),
        4 => (30_000, 1001),
        5 => (30, 1),
        6 => (50, 1),
        7 => (60_000, 1001),
        8 => (60, 1),
        _ => return None,
    };
    let mut reorder = 1;
    if let Some(at) = bytes.windows(5).position(|five| matches!(five, [0, 0, 1, 0xb5, 0x10..=0x1f])) {
        let mut bits = Bits::new(bytes.get(at + 4..)?);
        bits.skip(40)?;
        reorder = u32::from(!bits.bit()?);
        frames *= u64::from(bits.number(2)?) + 1;
        seconds *= u64::from(bits.number(5)?) + 1;
    }
    Some(Timing { rate: rate(frames, seconds), reorder })
}

/// Reads ISO/IEC 14496-2 §6.2.3: ticks per second, and ticks per frame if they are fixed.
pub fn mpeg4(bits: &mut Bits, resolution: u32, fixed: bool) -> Option<Timing> {
    let width = 32 - resolution.saturating_sub(1).leading_zeros().min(31);
    let ticks = if fixed { bits.number(width)? } else { 1 };
    Some(Timing { rate: rate(u64::from(resolution), u64::from(ticks)), reorder: 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mpeg2_sequence_header_gives_the_frame_rate() {
        let header = [0, 0, 1, 0xb3, 0x04, 0x00, 0x30, 0x14, 0xff, 0xff, 0xe0, 0x18];
        assert_eq!(mpeg2(&header), Some(Timing { rate: Some(Rational::new(30_000, 1001)), reorder: 1 }));
        assert_eq!(mpeg2(&header[..7]), None);
    }

    #[test]
    fn mpeg4_clock_with_fixed_increment_gives_the_frame_rate() {
        let rate = |ticks: &[u8], fixed| mpeg4(&mut Bits::new(ticks), 30_000, fixed).and_then(|timing| timing.rate);
        assert_eq!(rate(&[0b0000_0111, 0b1101_0010], true), Some(Rational::new(30_000, 1001)));
        assert_eq!(rate(&[], false), Some(Rational::new(30_000, 1)));
        assert_eq!(rate(&[0], true), None);
    }

    #[test]
    fn truncated_usability_information_gives_the_fields_before_the_end() {
        // No aspect ratio or colours, one tick of 1/50 s.
        let bits = [0b1000_0100, 0, 0, 0, 0b0000_1000, 0, 0, 0b0000_0001, 0b1001_0000];
        assert_eq!(h264(&mut Bits::new(&bits)).rate, Some(Rational::new(25, 1)));
        assert_eq!(h264(&mut Bits::new(&bits[..6])), Timing::default());
        assert_eq!(h264(&mut Bits::new(&[0])), Timing::default());
    }
}
