//! `WAVEFORMAT` and its extensions: the format of the sound in a WAV or AVI file.

use crate::{ProbeError, Reader};

/// The coding of sound, in the detail required to count its samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coding {
    /// Consecutive samples of the given number of bits.
    Pcm(u32),
    /// IMA ADPCM in blocks, with the given number of bits per sample.
    ImaAdpcm(u32),
    /// Microsoft ADPCM in blocks.
    MsAdpcm,
    /// Two samples per byte, without block headers: Yamaha ADPCM and G.722.
    TwoPerByte,
    /// G.726, with the given number of bits per sample.
    G726(u32),
    /// MPEG-1 and MPEG-2 audio of any layer, in frames that contain their length.
    Mpeg,
    /// AC-3 and Enhanced AC-3, in frames that contain their length.
    Ac3,
    /// AAC, in frames that contain their length or in packets of one frame each.
    Aac,
    /// Any other coding, by its number in the header.
    Other(u32),
}

/// The format of the sound of a stream.
#[derive(Clone, Debug)]
pub(super) struct SoundFormat {
    /// The coding.
    pub coding: Coding,
    /// Number of channels.
    pub channels: u32,
    /// Samples per second.
    pub rate: u32,
    /// Bytes of one block; for uncompressed samples, one sample of each channel.
    pub block_align: u32,
    /// Bits of one sample, according to the header.
    pub bits: u32,
    /// Bits per second, according to the header; 0 if the value is implausible.
    pub bit_rate: i64,
    /// Offset and length of the decoder configuration, if present.
    pub setup: Option<(u64, u64)>,
}

/// Length of the header with all fields that are used, in bytes.
const MAX_HEADER_BYTES: usize = 18 + 22;
/// The format number for a coding that is specified by a GUID.
const EXTENSIBLE: u32 = 0xfffe;
/// The second to the last group of GUIDs that contain a format number in their first group.
const WRAPS_A_NUMBER: [[u8; 12]; 3] = [
    [0, 0, 0x10, 0, 0x80, 0, 0, 0xaa, 0, 0x38, 0x9b, 0x71],
    [0x21, 7, 0xd3, 0x11, 0x86, 0x44, 0xc8, 0xc1, 0xca, 0, 0, 0],
    [0, 0, 0x10, 0, 0x80, 0, 0, 0, 0, 0, 0x38, 0x9b],
];
/// The first group of the GUIDs for codings without a format number.
const AC3_GUID: [u8; 4] = [0x2c, 0x80, 0x6d, 0xe0];
const MP2_GUID: [u8; 4] = [0x2b, 0x80, 0x6d, 0xe0];
const EAC3_GUID: [u8; 4] = [0xaf, 0x87, 0xfb, 0xa7];

/// Reads little-endian or big-endian numbers at offsets; bytes past the end are 0.
struct Numbers<'a> {
    bytes: &'a [u8],
    big_endian: bool,
}

impl Numbers<'_> {
    fn byte(&self, at: usize) -> u32 {
        self.bytes.get(at).copied().map_or(0, u32::from)
    }
    fn u16(&self, at: usize) -> u32 {
        let (first, second) = (self.byte(at), self.byte(at + 1));
        if self.big_endian {
            first << 8 | second
        } else {
            second << 8 | first
        }
    }
    fn u32(&self, at: usize) -> u32 {
        let (first, second) = (self.u16(at), self.u16(at + 2));
        if self.big_endian {
            first << 16 | second
        } else {
            second << 16 | first
        }
    }
}

impl SoundFormat {
    /// Reads the header of `size` bytes at `at`.
    ///
    /// # Errors
    /// [`ProbeError::Broken`] if it is too short or specifies no sample rate.
    pub fn read(reader: &mut Reader, at: u64, size: u64, big_endian: bool) -> Result<Self, ProbeError> {
        if size < 14 {
            return Err(ProbeError::broken(
                format!("the sound header has {} where it needs 14", gristmill_core::text::count(size, "byte")),
                at,
            ));
        }
        let numbers = Numbers { bytes: reader.up_to(at, MAX_HEADER_BYTES)?, big_endian };
        let declared = numbers.u16(0);
        let rate = numbers.u32(4);
        let bit_rate = i64::from(numbers.u32(8)) * 8;
        let mut bits = if size == 14 { 8 } else { numbers.u16(14) };
        let (mut kind, mut setup) = (Some(declared), None);
        if size >= 18 {
            let extra_len = u64::from(numbers.u16(16)).min(size - 18);
            setup = (extra_len > 0 && declared != EXTENSIBLE).then_some((at + 18, extra_len));
            if extra_len >= 22 && declared == EXTENSIBLE {
                let valid = numbers.u16(18);
                if valid != 0 {
                    bits = valid;
                }
                kind = guid_kind(&numbers);
            }
        }
        if rate == 0 || rate > i32::MAX as u32 {
            return Err(ProbeError::broken(format!("{rate} is not a valid sample rate"), at + 4));
        }
        let format = Self {
            coding: Coding::Other(0),
            channels: numbers.u16(2),
            rate,
            block_align: numbers.u16(12),
            bits,
            setup,
            bit_rate: if bit_rate > i64::from(i32::MAX) { 0 } else { bit_rate },
        };
        let coding =
            kind.filter(|kind| *kind != EXTENSIBLE).map_or(Coding::Other(EXTENSIBLE), |kind| format.coding(kind));
        Ok(Self { coding, ..format })
    }

    /// Returns the coding for a number in the header.
    fn coding(&self, kind: u32) -> Coding {
        let (bits, channels) = (self.bits, self.channels);
        let whole = bits.div_ceil(8) * 8;
        match kind {
            1 if matches!(whole, 8 | 16 | 24 | 32 | 64) => self.integers(whole),
            3 if matches!(bits, 32 | 64) => Coding::Pcm(bits),
            6 | 7 => Coding::Pcm(8),
            2 => Coding::MsAdpcm,
            0x11 if bits != 8 && channels > 0 => Coding::ImaAdpcm(bits),
            0x20 | 0x28f => Coding::TwoPerByte,
            0x45 | 0x14 | 0x40 | 0x64 => {
                let bits = u32::try_from(self.bit_rate / i64::from(self.rate)).unwrap_or(0);
                Coding::G726(bits)
            }
            0x50 | 0x55 => Coding::Mpeg,
            0x2000 | 0x2002 => Coding::Ac3,
            0xff | 0x1600 | 0x706d | 0x4143 | 0xa106 => Coding::Aac,
            _ => Coding::Other(kind),
        }
    }

    /// Returns the coding of integers. Some writers declare 32-bit floats as integers of 24 bits.
    fn integers(&self, bits: u32) -> Coding {
        let wide = self.block_align == self.channels * 4;
        match bits {
            24 if wide && self.bits == 24 => Coding::Pcm(32),
            _ => Coding::Pcm(bits),
        }
    }
}

fn guid_kind(numbers: &Numbers) -> Option<u32> {
    let guid = numbers.bytes.get(24..40)?;
    let (first, rest) = guid.split_at(4);
    if WRAPS_A_NUMBER.iter().any(|known| known == rest) {
        return Some(u32::from_le_bytes([first[0], first[1], first[2], first[3]]));
    }
    [(AC3_GUID, 0x2000), (EAC3_GUID, 0x2000), (MP2_GUID, 0x50)]
        .into_iter()
        .find_map(|(known, kind)| (known == first).then_some(kind))
}
