//! Frame headers of AC-3 and E-AC-3 (ATSC A/52).

use super::FrameHeader;

/// Samples per second, by code.
const RATES: [u32; 3] = [48_000, 44_100, 32_000];
/// Bit rates of AC-3 in kbit/s, by half the size code.
const KILOBITS: [u32; 19] = [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512, 576, 640];
/// Channels without the low-frequency one, by coding mode.
const CHANNELS: [u32; 8] = [2, 1, 2, 3, 3, 4, 4, 5];
/// Samples per channel of one audio block.
const BLOCK: u32 = 256;

/// Reads the AC-3 or E-AC-3 frame header at the start of `bytes` (eight bytes are enough); `None` if there is none.
pub fn ac3_frame(bytes: &[u8]) -> Option<FrameHeader> {
    let head = bytes.first_chunk::<8>()?;
    if head[..2] != [0x0b, 0x77] {
        return None;
    }
    let bits = u64::from_be_bytes(*head);
    match head[5] >> 3 {
        0..=10 => ac3(bits),
        11..=16 => eac3(bits),
        _ => None,
    }
}

/// Returns `width` bits at `at`, counted from the first bit of the frame.
fn field(bits: u64, at: u32, width: u32) -> u32 {
    ((bits >> (64 - at - width)) & ((1 << width) - 1)) as u32
}

fn ac3(bits: u64) -> Option<FrameHeader> {
    let rate = *RATES.get(field(bits, 32, 2) as usize)?;
    let size_code = field(bits, 34, 6);
    let kilobits = *KILOBITS.get((size_code / 2) as usize)?;
    // Versions 9 and 10 have half and a quarter of the rate, but are otherwise identical.
    let shift = field(bits, 40, 5).saturating_sub(8);
    let mode = field(bits, 48, 3);
    let mut at = 51;
    // Mix levels of the centre and surround channels, and the Dolby Surround flag, precede the low-frequency flag.
    at += if mode & 1 == 1 && mode != 1 { 2 } else { 0 };
    at += if mode & 4 == 4 { 2 } else { 0 };
    at += if mode == 2 { 2 } else { 0 };
    let words = kilobits * 1000 * 1536 / 16 / rate + if rate == 44_100 { size_code & 1 } else { 0 };
    Some(FrameHeader {
        samples: 6 * BLOCK,
        rate: rate >> shift,
        channels: CHANNELS[mode as usize] + field(bits, at, 1),
        bytes: Some(words * 2),
    })
}

fn eac3(bits: u64) -> Option<FrameHeader> {
    let (code, second) = (field(bits, 32, 2), field(bits, 34, 2));
    let (rate, blocks) = match RATES.get(code as usize) {
        Some(&rate) => (rate, [1, 2, 3, 6][second as usize]),
        None => (RATES.get(second as usize)? / 2, 6),
    };
    if field(bits, 16, 2) == 3 {
        return None;
    }
    Some(FrameHeader {
        samples: blocks * BLOCK,
        rate,
        channels: CHANNELS[field(bits, 36, 3) as usize] + field(bits, 39, 1),
        bytes: Some((field(bits, 21, 11) + 1) * 2),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ac3_and_eac3_headers_are_parsed() {
        let stereo = [0x0b, 0x77, 0, 0, 0x14, 0x40, 0x43, 0xe1];
        let expected = FrameHeader { samples: 1536, rate: 48_000, channels: 2, bytes: Some(768) };
        assert_eq!(ac3_frame(&stereo), Some(expected));
        let surround = [0x0b, 0x77, 0, 0, 0x5e, 0x40, 0xe3, 0];
        let expected = FrameHeader { samples: 1536, rate: 44_100, channels: 6, bytes: Some(1950) };
        assert_eq!(ac3_frame(&surround), Some(expected));
        let newer = [0x0b, 0x77, 0x01, 0x7f, 0x34, 0x80, 0, 0];
        let expected = FrameHeader { samples: 1536, rate: 48_000, channels: 2, bytes: Some(768) };
        assert_eq!(ac3_frame(&newer), Some(expected));
        assert_eq!(ac3_frame(&[0; 8]), None);
        assert_eq!(ac3_frame(&stereo[..7]), None);
    }
}
