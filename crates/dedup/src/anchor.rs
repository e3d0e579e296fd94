//! Anchors: positions of a text, chosen by its content, by which repeated windows are found. Records store them until equal anchors are
//! compared.

/// One anchor and the windows it owns: those that start in `[at - far, at - near]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Anchor {
    /// Hash of the anchor's bytes. Anchors of equal windows have equal keys; the converse need not hold.
    pub key: u64,
    /// Position of the anchor's first byte.
    pub at: u64,
    /// Distance in bytes from the last window it owns to the anchor.
    pub near: u32,
    /// Distance in bytes from the first window it owns to the anchor.
    pub far: u32,
    /// Number of anchors in this run, which own the same windows and are `period` bytes apart, the first at `at`. Greater than 1 only if
    /// windows are counted.
    pub copies: u32,
    /// Distance in bytes between two copies; 0 if there is a single copy.
    pub period: u32,
}

/// Returns the partition of all anchors with this key.
pub fn partition_of(key: u64, partitions: u32) -> u32 {
    ((u128::from(key) * u128::from(partitions)) >> 64) as u32
}

/// The stored form of an anchor, in memory and in spilled files.
pub trait Record: Copy + Send {
    /// Size of a record in a file, in bytes.
    const BYTES: usize;
    /// Packs an anchor, which must fit ([`Rule::fits_narrow`](super::Rule::fits_narrow)).
    fn pack(anchor: &Anchor) -> Self;
    /// Returns the packed anchor.
    fn unpack(&self) -> Anchor;
    /// Returns the anchor's key.
    fn key(&self) -> u64;
    /// Returns the anchor's position.
    fn at(&self) -> u64;
    /// Returns the record with its position increased by `bytes`, which converts positions in a file to positions in the whole text.
    #[must_use]
    fn moved(self, bytes: u64) -> Self;
    /// Appends the bytes of the record.
    fn write(&self, out: &mut Vec<u8>);
    /// Reads a record from the first [`BYTES`](Self::BYTES) of `bytes`; missing bytes are zero.
    fn read(bytes: &[u8]) -> Self;
}

/// A record of 16 bytes: the key, 40 bits of position, 12 bits of `far`, 12 bits of `near`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompactAnchor {
    key: u64,
    place: u64,
}

const DISTANCE_BITS: u32 = 12;
const DISTANCE: u64 = (1 << DISTANCE_BITS) - 1;

impl CompactAnchor {
    /// The maximum window length whose distances fit, in bytes.
    pub const MAX_WINDOW_BYTES: u64 = DISTANCE;
    /// The maximum length of a text whose positions fit, in bytes: 1 TiB.
    pub const MAX_TEXT_BYTES: u64 = 1 << (64 - 2 * DISTANCE_BITS);
}

/// Returns the eight bytes from `at` as a little-endian number; missing bytes are zero.
fn word(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    for (to, from) in word.iter_mut().zip(bytes.iter().skip(at)) {
        *to = *from;
    }
    u64::from_le_bytes(word)
}

impl Record for CompactAnchor {
    const BYTES: usize = 16;
    fn pack(anchor: &Anchor) -> Self {
        let distances = u64::from(anchor.far) << DISTANCE_BITS | u64::from(anchor.near);
        Self { key: anchor.key, place: anchor.at << (2 * DISTANCE_BITS) | distances }
    }
    fn unpack(&self) -> Anchor {
        let far = (self.place >> DISTANCE_BITS & DISTANCE) as u32;
        Anchor { key: self.key, at: self.at(), near: (self.place & DISTANCE) as u32, far, copies: 1, period: 0 }
    }
    fn key(&self) -> u64 {
        self.key
    }
    fn at(&self) -> u64 {
        self.place >> (2 * DISTANCE_BITS)
    }
    fn moved(self, bytes: u64) -> Self {
        Self { place: self.place + (bytes << (2 * DISTANCE_BITS)), ..self }
    }
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.key.to_le_bytes());
        out.extend_from_slice(&self.place.to_le_bytes());
    }
    fn read(bytes: &[u8]) -> Self {
        match bytes.first_chunk::<16>() {
            Some(bytes) => {
                let both = u128::from_le_bytes(*bytes);
                Self { key: both as u64, place: (both >> 64) as u64 }
            }
            None => Self { key: word(bytes, 0), place: word(bytes, 8) },
        }
    }
}

impl Record for Anchor {
    const BYTES: usize = 32;
    fn pack(anchor: &Anchor) -> Self {
        *anchor
    }
    fn unpack(&self) -> Anchor {
        *self
    }
    fn key(&self) -> u64 {
        self.key
    }
    fn at(&self) -> u64 {
        self.at
    }
    fn moved(self, bytes: u64) -> Self {
        Self { at: self.at + bytes, ..self }
    }
    fn write(&self, out: &mut Vec<u8>) {
        let distances = u64::from(self.far) << 32 | u64::from(self.near);
        let run = u64::from(self.period) << 32 | u64::from(self.copies);
        for word in [self.key, self.at, distances, run] {
            out.extend_from_slice(&word.to_le_bytes());
        }
    }
    fn read(bytes: &[u8]) -> Self {
        let [key, at, distances, run] = [0, 8, 16, 24].map(|at| word(bytes, at));
        Self {
            key,
            at,
            near: distances as u32,
            far: (distances >> 32) as u32,
            copies: run as u32,
            period: (run >> 32) as u32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anchor_records_hold_the_greatest_values() {
        let narrow = Anchor {
            key: u64::MAX,
            at: CompactAnchor::MAX_TEXT_BYTES - 1,
            near: 4094,
            far: 4095,
            copies: 1,
            period: 0,
        };
        let wide = Anchor { at: u64::MAX - 5, far: u32::MAX, near: 7, copies: 9, period: 3, ..narrow };
        let mut bytes = Vec::new();
        CompactAnchor::pack(&narrow).write(&mut bytes);
        assert_eq!(bytes.len(), CompactAnchor::BYTES);
        assert_eq!(CompactAnchor::read(&bytes).unpack(), narrow);
        bytes.clear();
        wide.write(&mut bytes);
        assert_eq!(bytes.len(), Anchor::BYTES);
        assert_eq!(Anchor::read(&bytes), wide);
        assert_eq!(CompactAnchor::pack(&Anchor { at: 5, ..narrow }).moved(7).unpack().at, 12);
    }

    #[test]
    fn first_and_last_hash_are_in_first_and_last_partition() {
        for partitions in [1, 2, 7, 1000] {
            assert_eq!(partition_of(0, partitions), 0);
            assert_eq!(partition_of(u64::MAX, partitions), partitions - 1);
        }
    }
}
