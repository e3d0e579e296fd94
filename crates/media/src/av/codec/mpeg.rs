//! Frame headers of MPEG audio: MPEG 1, 2 and 2.5, layers I to III.

use super::FrameHeader;

/// Bit rates in kbit/s of MPEG 1, by layer; index 0 is free format.
const RATES_1: [[u16; 15]; 3] = [
    [0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448],
    [0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
    [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
];
/// Bit rates in kbit/s of MPEG 2 and 2.5: layer I, and layers II and III.
const RATES_2: [[u16; 15]; 2] = [
    [0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256],
    [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
];

/// The layers of MPEG audio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// Layer I: MP1.
    I,
    /// Layer II: MP2.
    II,
    /// Layer III: MP3.
    III,
}

/// The fields of an MPEG audio frame header that are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MpegHeader {
    /// The layer.
    pub layer: Layer,
    /// Whether it is MPEG 2 or 2.5: half the sampling rates.
    pub low_rate: bool,
    /// Whether it is MPEG 2.5.
    pub quarter_rate: bool,
    /// Whether a checksum of two bytes follows the header.
    pub checksum: bool,
    /// Samples per second.
    pub rate: u32,
    /// Bits per second; `None` in free format.
    pub bit_rate: Option<u32>,
    /// Whether the frame is one unit longer than the bit rate implies.
    pub padding: bool,
    /// Number of channels: one or two.
    pub channels: u32,
}

impl MpegHeader {
    /// Parses a header; `None` if the bits are invalid. The emphasis is ignored.
    pub fn parse(bytes: [u8; 4]) -> Option<Self> {
        let bits = u32::from_be_bytes(bytes);
        let field = |shift: u32, width: u32| (bits >> shift) & ((1 << width) - 1);
        if field(21, 11) != 0x7ff {
            return None;
        }
        let (low_rate, quarter_rate) = match field(19, 2) {
            0 => (true, true),
            2 => (true, false),
            3 => (false, false),
            _ => return None,
        };
        let layer = match field(17, 2) {
            1 => Layer::III,
            2 => Layer::II,
            3 => Layer::I,
            _ => return None,
        };
        let base = match field(10, 2) {
            0 => 44_100,
            1 => 48_000,
            2 => 32_000,
            _ => return None,
        };
        let table = match (low_rate, layer) {
            (false, Layer::I) => &RATES_1[0],
            (false, Layer::II) => &RATES_1[1],
            (false, Layer::III) => &RATES_1[2],
            (true, Layer::I) => &RATES_2[0],
            (true, _) => &RATES_2[1],
        };
        let kilobits = u32::from(*table.get(field(12, 4) as usize)?);
        Some(Self {
            layer,
            low_rate,
            quarter_rate,
            checksum: field(16, 1) == 0,
            rate: base >> (u32::from(low_rate) + u32::from(quarter_rate)),
            bit_rate: (kilobits > 0).then_some(kilobits * 1000),
            padding: field(9, 1) == 1,
            channels: if field(6, 2) == 3 { 1 } else { 2 },
        })
    }

    /// Returns the number of samples per channel of the frame.
    pub fn samples(&self) -> u32 {
        match self.layer {
            Layer::I => 384,
            Layer::II => 1152,
            Layer::III if self.low_rate => 576,
            Layer::III => 1152,
        }
    }

    /// Returns the length of the frame in bytes, including the header; `None` in free format.
    pub fn bytes(&self) -> Option<u32> {
        let (bit_rate, padding) = (self.bit_rate?, u32::from(self.padding));
        Some(match self.layer {
            Layer::I => (12 * bit_rate / self.rate + padding) * 4,
            Layer::III if self.low_rate => 72 * bit_rate / self.rate + padding,
            _ => 144 * bit_rate / self.rate + padding,
        })
    }
}

/// Reads the MPEG audio frame header in these bytes; `None` if it is invalid.
pub fn mp3_frame(bytes: &[u8; 4]) -> Option<FrameHeader> {
    let header = MpegHeader::parse(*bytes)?;
    Some(FrameHeader { samples: header.samples(), rate: header.rate, channels: header.channels, bytes: header.bytes() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(samples: u32, rate: u32, channels: u32, bytes: Option<u32>) -> FrameHeader {
        FrameHeader { samples, rate, channels, bytes }
    }

    #[test]
    fn mpeg_audio_headers_of_all_layers_and_versions_are_parsed() {
        let cases = [
            ([0xff, 0xfb, 0x90, 0x64], frame(1152, 44_100, 2, Some(417))),
            ([0xff, 0xfb, 0x92, 0x64], frame(1152, 44_100, 2, Some(418))),
            ([0xff, 0xf3, 0x44, 0xc4], frame(576, 24_000, 1, Some(96))),
            ([0xff, 0xe3, 0x48, 0xc4], frame(576, 8_000, 1, Some(288))),
            ([0xff, 0xfd, 0x94, 0x04], frame(1152, 48_000, 2, Some(480))),
            ([0xff, 0xff, 0x98, 0x04], frame(384, 32_000, 2, Some(432))),
            ([0xff, 0xfb, 0x00, 0x64], frame(1152, 44_100, 2, None)),
        ];
        for (bytes, expected) in cases {
            assert_eq!(mp3_frame(&bytes), Some(expected), "{bytes:x?}");
        }
    }

    #[test]
    fn invalid_mpeg_audio_frame_headers_are_refused() {
        for bytes in
            [[0; 4], [0xff, 0xdb, 0x90, 0], [0xff, 0xeb, 0x90, 0], [0xff, 0xf9, 0x90, 0], [0xff, 0xfb, 0xf0, 0]]
        {
            assert_eq!(mp3_frame(&bytes), None, "{bytes:x?}");
        }
        assert_eq!(mp3_frame(&[0xff, 0xfb, 0x9c, 0]), None, "a reserved sampling rate");
    }
}
