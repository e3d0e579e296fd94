//! FLAC frames: parses their headers, and finds their ends.

/// The fields of a frame header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Samples per channel.
    pub samples: u32,
    /// Samples per second; `None` if only the file header specifies it.
    pub rate: Option<u32>,
    /// Number of channels.
    pub channels: u32,
    /// Bits of a sample; `None` if only the file header specifies them.
    pub bits: Option<u32>,
    /// Whether `number` counts samples; otherwise it counts frames.
    pub counts_samples: bool,
    /// Position of the frame in the sound.
    pub number: u64,
    /// Length of the header in bytes.
    pub header_len: usize,
    /// Index of the channel that stores a difference of channels, whose samples have one more bit.
    difference: Option<u32>,
}

/// The longest header, in bytes.
pub const MAX_HEADER_BYTES: usize = 16;

impl Frame {
    /// Parses the header at the beginning of `bytes`; `None` if there is none or its checksum is wrong.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let [0xff, second, sizes, layout, rest @ ..] = bytes else { return None };
        if second & 0xfe != 0xf8 || layout & 1 != 0 {
            return None;
        }
        let (number, used) = number(rest)?;
        let mut at = 4 + used;
        let samples = match sizes >> 4 {
            0 => return None,
            1 => 192,
            code @ 2..=5 => 576 << (code - 2),
            6 => u32::from(*bytes.get(at)?) + 1,
            7 => u32::from(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?)) + 1,
            code => 256 << (code - 8),
        };
        at += match sizes >> 4 {
            6 => 1,
            7 => 2,
            _ => 0,
        };
        let (rate, used) = rate(sizes & 15, bytes.get(at..)?)?;
        at += used;
        let (channels, difference) = match layout >> 4 {
            code @ 0..=7 => (u32::from(code) + 1, None),
            8 | 10 => (2, Some(1)),
            9 => (2, Some(0)),
            _ => return None,
        };
        let bits = match layout >> 1 & 7 {
            0 => None,
            3 => return None,
            code => Some([8, 12, 0, 16, 20, 24, 32][usize::from(code) - 1]),
        };
        (crc8(bytes.get(..at)?) == *bytes.get(at)?).then_some(Self {
            samples,
            rate,
            channels,
            bits,
            counts_samples: second & 1 == 1,
            number,
            header_len: at + 1,
            difference,
        })
    }

    /// Returns the length in bytes of the frame at the beginning of `bytes`; `default_bits` is the file's bits per sample.
    ///
    /// `work` limits the number of samples that are skipped, and is reduced by them.
    ///
    /// # Errors
    /// `None` if the frame does not end within `bytes`, is invalid, or `work` is exhausted.
    pub fn len(&self, bytes: &[u8], default_bits: u32, work: &mut u64) -> Option<usize> {
        let bits = self.bits.unwrap_or(default_bits);
        let mut reader = Bits { bytes: bytes.get(self.header_len..)?, at: 0 };
        for channel in 0..self.channels {
            let wider = u32::from(self.difference == Some(channel));
            *work = work.checked_sub(u64::from(self.samples))?;
            subframe(&mut reader, bits + wider, self.samples)?;
        }
        let end = self.header_len + reader.at.div_ceil(8) + 2;
        (end <= bytes.len()).then_some(end)
    }
}

/// Returns the number of a frame or sample, coded like a UTF-8 character, and its length in bytes.
fn number(bytes: &[u8]) -> Option<(u64, usize)> {
    let first = *bytes.first()?;
    let ones = first.leading_ones();
    if ones == 0 {
        return Some((u64::from(first), 1));
    }
    if ones == 1 || ones > 7 {
        return None;
    }
    let mut value = u64::from(first) & ((1 << (7 - ones)) - 1);
    for byte in bytes.get(1..ones as usize)? {
        if byte & 0xc0 != 0x80 {
            return None;
        }
        value = value << 6 | u64::from(byte & 0x3f);
    }
    Some((value, ones as usize))
}

/// Returns the sample rate (an inner `None` if that of the file applies), and its length in bytes.
fn rate(code: u8, bytes: &[u8]) -> Option<(Option<u32>, usize)> {
    const RATES: [u32; 11] = [88_200, 176_400, 192_000, 8_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 96_000];
    let two = || Some(u32::from(u16::from_be_bytes(*bytes.first_chunk()?)));
    Some(match code {
        0 => (None, 0),
        1..=11 => (RATES.get(usize::from(code) - 1).copied(), 0),
        12 => (Some(u32::from(*bytes.first()?) * 1000), 1),
        13 => (Some(two()?), 2),
        14 => (Some(two()? * 10), 2),
        _ => return None,
    })
}

fn crc8(bytes: &[u8]) -> u8 {
    bytes
        .iter()
        .fold(0, |crc, byte| (0..8).fold(crc ^ byte, |crc, _| if crc & 0x80 != 0 { crc << 1 ^ 7 } else { crc << 1 }))
}

/// Reads bits, most significant first.
struct Bits<'a> {
    bytes: &'a [u8],
    /// Position of the next bit.
    at: usize,
}

impl Bits<'_> {
    /// Reads the next `count` bits, at most 32.
    fn read_bits(&mut self, count: u32) -> Option<u32> {
        let first = self.at / 8;
        let mut window = [0; 8];
        let rest = self.bytes.get(first..)?;
        let copied = rest.len().min(8);
        window[..copied].copy_from_slice(&rest[..copied]);
        self.skip(u64::from(count))?;
        let shifted = u64::from_be_bytes(window) << (self.at_before(count) % 8);
        Some(if count == 0 { 0 } else { (shifted >> (64 - count)) as u32 })
    }

    fn at_before(&self, count: u32) -> usize {
        self.at - count as usize
    }

    fn skip(&mut self, count: u64) -> Option<()> {
        let end = self.at.checked_add(usize::try_from(count).ok()?)?;
        (end <= self.bytes.len() * 8).then(|| self.at = end)
    }

    /// Skips a run of zeros and the one bit after it, and returns the number of zeros.
    fn zeros(&mut self) -> Option<u32> {
        let mut zeros = 0;
        loop {
            let byte = *self.bytes.get(self.at / 8)?;
            let left = byte << (self.at % 8);
            let here = left.leading_zeros().min(8 - (self.at % 8) as u32);
            zeros += here;
            self.at += here as usize;
            if left != 0 {
                self.at += 1;
                return Some(zeros);
            }
        }
    }
}

/// Skips the samples of one channel.
fn subframe(bits: &mut Bits, mut depth: u32, samples: u32) -> Option<()> {
    if bits.read_bits(1)? != 0 {
        return None;
    }
    let kind = bits.read_bits(6)?;
    if bits.read_bits(1)? == 1 {
        let wasted = bits.zeros()? + 1;
        depth = depth.checked_sub(wasted).filter(|depth| *depth > 0)?;
    }
    let (depth, count) = (u64::from(depth), u64::from(samples));
    match kind {
        0 => bits.skip(depth),
        1 => bits.skip(depth * count),
        8..=12 => {
            let order = kind - 8;
            bits.skip(depth * u64::from(order))?;
            residual(bits, order, samples)
        }
        32..=63 => {
            let order = kind - 31;
            bits.skip(depth * u64::from(order))?;
            let precision = bits.read_bits(4)? + 1;
            if precision == 16 {
                return None;
            }
            bits.skip(5 + u64::from(order * precision))?;
            residual(bits, order, samples)
        }
        _ => None,
    }
}

/// Skips the residual of a prediction.
fn residual(bits: &mut Bits, order: u32, samples: u32) -> Option<()> {
    let width = match bits.read_bits(2)? {
        0 => 4,
        1 => 5,
        _ => return None,
    };
    let partitions = 1_u32 << bits.read_bits(4)?;
    if !samples.is_multiple_of(partitions) || samples / partitions < order || order > samples {
        return None;
    }
    for partition in 0..partitions {
        let count = samples / partitions - if partition == 0 { order } else { 0 };
        let parameter = bits.read_bits(width)?;
        if parameter == (1 << width) - 1 {
            let plain = bits.read_bits(5)?;
            bits.skip(u64::from(plain) * u64::from(count))?;
            continue;
        }
        for _ in 0..count {
            bits.zeros()?;
            bits.skip(u64::from(parameter))?;
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flac_frame_header_is_parsed_and_its_checksum_verified() {
        let header = [0xff, 0xf8, 0x35, 0x08, 0x00, 0];
        let checksum = crc8(&header[..5]);
        let mut bytes = header;
        bytes[5] = checksum;
        let frame = Frame::parse(&bytes).unwrap();
        assert_eq!((frame.samples, frame.rate, frame.channels, frame.bits), (1152, Some(16_000), 1, Some(16)));
        assert_eq!((frame.number, frame.header_len, frame.counts_samples), (0, 6, false));
        bytes[5] ^= 1;
        assert_eq!(Frame::parse(&bytes), None);
    }

    #[test]
    fn flac_frame_number_is_coded_like_a_utf8_character() {
        assert_eq!(number(&[0x7f]), Some((127, 1)));
        assert_eq!(number(&[0xc2, 0x80]), Some((128, 2)));
        assert_eq!(number(&[0xfe, 0x80, 0x80, 0x80, 0x80, 0x80, 0x81]), Some((1, 7)));
        assert_eq!(number(&[0x80]), None);
        assert_eq!(number(&[0xc2]), None);
        assert_eq!(number(&[0xff; 9]), None);
    }

    #[test]
    fn flac_bits_are_read_across_bytes_up_to_the_end() {
        let mut bits = Bits { bytes: &[0b0010_1000, 0, 0b0000_0001, 0xff], at: 0 };
        assert_eq!(bits.zeros(), Some(2));
        assert_eq!(bits.read_bits(2), Some(1));
        assert_eq!(bits.zeros(), Some(18));
        assert_eq!(bits.read_bits(8), Some(0xff));
        assert_eq!(bits.read_bits(1), None);
        assert_eq!(bits.zeros(), None);
    }
}
