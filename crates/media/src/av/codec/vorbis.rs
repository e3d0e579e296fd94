//! Vorbis headers and packets (Vorbis I specification §4): determines the number of samples of each packet.

/// The fields of a stream's headers that are required to count samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setup {
    /// Number of channels.
    pub channels: u32,
    /// Samples per second.
    pub rate: u32,
    /// Sizes of a short and of a long block, in samples.
    pub blocks: [u32; 2],
    /// For each mode, whether its blocks are long.
    pub modes: Vec<bool>,
}

/// The fields of an audio packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Size of the block in samples.
    pub size: u32,
    /// Whether the block is long.
    pub long: bool,
    /// Size of the previous block in samples, if the packet specifies it (long blocks do).
    pub before: Option<u32>,
}

impl Setup {
    /// Reads the identification and the setup header; `None` if a decoder would refuse them.
    pub fn from_headers(identification: &[u8], setup: &[u8]) -> Option<Self> {
        let (channels, rate, blocks) = identify(identification)?;
        let mut bits = Bits::new(setup.strip_prefix(b"\x05vorbis")?);
        let modes = modes(&mut bits, channels)?;
        Some(Self { channels, rate, blocks, modes })
    }

    /// Reads the private data of a Matroska track: a count, the lengths, and the three headers.
    pub fn from_private(private: &[u8]) -> Option<Self> {
        let (2, mut rest) = private.split_first().map(|(count, rest)| (*count, rest))? else {
            return None;
        };
        let mut lengths = [0; 2];
        for length in &mut lengths {
            loop {
                let (&byte, after) = rest.split_first()?;
                rest = after;
                *length += usize::from(byte);
                if byte != 255 {
                    break;
                }
            }
        }
        let (identification, rest) = rest.split_at_checked(lengths[0])?;
        Self::from_headers(identification, rest.get(lengths[1]..)?)
    }

    /// Reads the fields of an audio packet; `None` if it is a header or broken.
    pub fn block(&self, packet: &[u8]) -> Option<Block> {
        // There are at most 64 modes, so the mode number and the flag after it are in the first byte.
        let first = u32::from(*packet.first()?);
        if first & 1 == 1 {
            return None;
        }
        let width = log2(self.modes.len().saturating_sub(1) as u32);
        let mode = (first >> 1) & ((1 << width) - 1);
        let long = *self.modes.get(mode as usize)?;
        let before = long.then(|| self.blocks[(first >> (1 + width) & 1) as usize]);
        Some(Block { size: self.blocks[usize::from(long)], long, before })
    }

    /// Returns the samples per channel of a packet that follows a block of `before` samples; `None` if it is not an audio packet.
    ///
    /// The first packet of a stream yields no samples, whatever the result: there is no previous block to overlap with.
    pub fn samples(&self, packet: &[u8], before: u32) -> Option<u32> {
        let block = self.block(packet)?;
        Some((block.before.unwrap_or(before) + block.size) / 4)
    }
}

/// Returns channels, rate and block sizes of the identification header.
fn identify(header: &[u8]) -> Option<(u32, u32, [u32; 2])> {
    let fields = header.strip_prefix(b"\x01vorbis")?.first_chunk::<23>()?;
    let [0, 0, 0, 0, channels, a, b, c, d, .., blocks, framing] = *fields else {
        return None;
    };
    let (short, long) = (blocks & 15, blocks >> 4);
    let rate = u32::from_le_bytes([a, b, c, d]);
    let fine = channels > 0 && rate > 0 && (6..=long).contains(&short) && long <= 13 && framing & 1 == 1;
    fine.then_some((u32::from(channels), rate, [1 << short, 1 << long]))
}

/// Returns the number of bits of `value`.
fn log2(value: u32) -> u32 {
    32 - value.leading_zeros()
}

/// Reads bits, least significant first in each byte.
struct Bits<'a> {
    bytes: &'a [u8],
    at: u64,
}

impl<'a> Bits<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    fn left(&self) -> u64 {
        (self.bytes.len() as u64 * 8).saturating_sub(self.at)
    }

    /// Reads up to 32 bits.
    fn read_bits(&mut self, width: u32) -> Option<u32> {
        if u64::from(width) > self.left() {
            return None;
        }
        let start = (self.at / 8) as usize;
        let mut eight = [0; 8];
        let from = self.bytes.get(start..).unwrap_or_default();
        let count = from.len().min(8);
        eight.get_mut(..count)?.copy_from_slice(from.get(..count)?);
        let bits = u64::from_le_bytes(eight) >> (self.at % 8);
        self.at += u64::from(width);
        Some((bits & ((1 << width) - 1)) as u32)
    }

    fn flag(&mut self) -> Option<bool> {
        self.read_bits(1).map(|bit| bit == 1)
    }

    fn skip(&mut self, width: u64) -> Option<()> {
        if width > self.left() {
            return None;
        }
        self.at += width;
        Some(())
    }
}

/// Reads the modes, which have no fixed offset, and everything before them.
fn modes(bits: &mut Bits, channels: u32) -> Option<Vec<bool>> {
    let books = bits.read_bits(8)? + 1;
    for _ in 0..books {
        codebook(bits)?;
    }
    for _ in 0..=bits.read_bits(6)? {
        if bits.read_bits(16)? != 0 {
            return None;
        }
    }
    let floors = bits.read_bits(6)? + 1;
    for _ in 0..floors {
        floor(bits, books)?;
    }
    let residues = bits.read_bits(6)? + 1;
    for _ in 0..residues {
        residue(bits, books)?;
    }
    let mappings = bits.read_bits(6)? + 1;
    for _ in 0..mappings {
        mapping(bits, channels, floors, residues)?;
    }
    let mut modes = Vec::new();
    for _ in 0..=bits.read_bits(6)? {
        modes.push(bits.flag()?);
        bits.skip(32)?;
        below(bits.read_bits(8)?, mappings)?;
    }
    bits.flag()?.then_some(modes)
}

/// Returns `index` if it is less than `count`.
fn below(index: u32, count: u32) -> Option<u32> {
    (index < count).then_some(index)
}

fn codebook(bits: &mut Bits) -> Option<()> {
    if bits.read_bits(24)? != 0x56_43_42 {
        return None;
    }
    let (dimensions, entries) = (bits.read_bits(16)?, bits.read_bits(24)?);
    if bits.flag()? {
        let mut entry = 0;
        bits.skip(5)?;
        while entry < entries {
            entry += bits.read_bits(log2(entries - entry))?;
        }
        if entry > entries {
            return None;
        }
    } else {
        let sparse = bits.flag()?;
        for _ in 0..entries {
            if !sparse || bits.flag()? {
                bits.skip(5)?;
            }
        }
    }
    let values = match bits.read_bits(4)? {
        0 => return Some(()),
        1 => lattice(entries, dimensions),
        2 => u64::from(entries) * u64::from(dimensions),
        _ => return None,
    };
    bits.skip(64)?;
    let width = u64::from(bits.read_bits(4)? + 1);
    bits.skip(1 + values * width)
}

/// Returns the largest number whose power of `dimensions` is at most `entries`.
fn lattice(entries: u32, dimensions: u32) -> u64 {
    let fits = |root: u64| {
        let mut power = 1_u64;
        for _ in 0..dimensions {
            power *= root;
            if power > u64::from(entries) {
                return false;
            }
            if root < 2 {
                break;
            }
        }
        true
    };
    if dimensions == 0 {
        return 0;
    }
    let (mut low, mut high) = (0_u64, u64::from(entries) + 1);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        *(if fits(middle) { &mut low } else { &mut high }) = middle;
    }
    low
}

fn floor(bits: &mut Bits, books: u32) -> Option<()> {
    match bits.read_bits(16)? {
        0 => {
            bits.skip(8 + 16 + 16 + 6 + 8)?;
            for _ in 0..=bits.read_bits(4)? {
                below(bits.read_bits(8)?, books)?;
            }
            Some(())
        }
        1 => floor_1(bits, books),
        _ => None,
    }
}

fn floor_1(bits: &mut Bits, books: u32) -> Option<()> {
    let mut partitions = Vec::new();
    for _ in 0..bits.read_bits(5)? {
        partitions.push(bits.read_bits(4)? as usize);
    }
    let mut dimensions = [0; 16];
    let classes = partitions.iter().max().map_or(0, |highest| highest + 1);
    for dimension in dimensions.iter_mut().take(classes) {
        *dimension = bits.read_bits(3)? + 1;
        let subclasses = bits.read_bits(2)?;
        if subclasses > 0 {
            below(bits.read_bits(8)?, books)?;
        }
        for _ in 0..1 << subclasses {
            // The value is the number of a book plus one, or 0 for no book.
            below(bits.read_bits(8)?, books + 1)?;
        }
    }
    bits.skip(2)?;
    let width = u64::from(bits.read_bits(4)?);
    for class in partitions {
        bits.skip(u64::from(*dimensions.get(class)?) * width)?;
    }
    Some(())
}

fn residue(bits: &mut Bits, books: u32) -> Option<()> {
    if bits.read_bits(16)? > 2 {
        return None;
    }
    bits.skip(24 + 24 + 24)?;
    let classes = bits.read_bits(6)? + 1;
    below(bits.read_bits(8)?, books)?;
    let mut used = 0;
    for _ in 0..classes {
        used += bits.read_bits(3)?.count_ones();
        if bits.flag()? {
            used += bits.read_bits(5)?.count_ones();
        }
    }
    for _ in 0..used {
        below(bits.read_bits(8)?, books)?;
    }
    Some(())
}

fn mapping(bits: &mut Bits, channels: u32, floors: u32, residues: u32) -> Option<()> {
    if bits.read_bits(16)? != 0 {
        return None;
    }
    let submaps = if bits.flag()? { bits.read_bits(4)? + 1 } else { 1 };
    if bits.flag()? {
        let width = log2(channels - 1);
        for _ in 0..=bits.read_bits(8)? {
            below(bits.read_bits(width)?, channels)?;
            below(bits.read_bits(width)?, channels)?;
        }
    }
    bits.skip(2)?;
    if submaps > 1 {
        for _ in 0..channels {
            below(bits.read_bits(4)?, submaps)?;
        }
    }
    for _ in 0..submaps {
        bits.skip(8)?;
        below(bits.read_bits(8)?, floors)?;
        below(bits.read_bits(8)?, residues)?;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setup(modes: &[bool]) -> Setup {
        Setup { channels: 2, rate: 48_000, blocks: [256, 2048], modes: modes.to_vec() }
    }

    #[test]
    fn vorbis_packet_samples_follow_from_its_block_and_the_previous_block() {
        let setup = setup(&[false, true]);
        assert_eq!(setup.samples(&[0b0000], 2048), Some(576));
        assert_eq!(setup.samples(&[0b0000], 256), Some(128));
        assert_eq!(setup.samples(&[0b0110], 256), Some(1024), "a long block names its neighbour");
        assert_eq!(setup.samples(&[0b0010], 2048), Some(576));
        assert_eq!(setup.samples(&[0b0001], 2048), None, "a header");
        assert_eq!(setup.samples(&[], 2048), None);
    }

    #[test]
    fn single_vorbis_mode_needs_no_bits_and_an_invalid_mode_is_refused() {
        assert_eq!(setup(&[true]).samples(&[0b10], 256), Some(1024));
        assert_eq!(setup(&[true, true, true]).samples(&[0b110], 256), None);
    }

    #[test]
    fn vorbis_identification_header_is_validated() {
        let mut header = b"\x01vorbis\0\0\0\0\x02\x80\xbb\0\0".to_vec();
        header.extend([0; 12]);
        header.extend([0xb8, 1]);
        assert_eq!(identify(&header), Some((2, 48_000, [256, 2048])));
        for (at, byte) in [(0, 3), (7, 1), (11, 0), (28, 0x8b), (28, 0xe8), (29, 0)] {
            let mut broken = header.clone();
            broken[at] = byte;
            assert_eq!(identify(&broken), None, "byte {at}");
        }
    }

    #[test]
    fn vorbis_lattice_size_is_an_integer_root() {
        assert_eq!(lattice(625, 4), 5);
        assert_eq!(lattice(624, 4), 4);
        assert_eq!(lattice(100, 1), 100);
        assert_eq!(lattice(1 << 24, 65_535), 1);
        assert_eq!(lattice(0, 3), 0);
    }
}
