//! A trie of pieces.

/// A map from byte strings to numbers. Each byte of a lookup takes one hash-table lookup.
#[derive(Debug)]
pub(super) struct Trie {
    /// Hash table with open addressing: keys are `(node << 8 | byte) + 1`, where 0 is an empty slot; values are child nodes.
    edges: Vec<(u64, u32)>,
    mask: usize,
    /// The number of the string that ends at a node; [`NONE`] if no string ends there.
    values: Vec<u32>,
}

/// Marks a node at which no string ends.
const NONE: u32 = u32::MAX;

/// The root node.
pub(super) const ROOT: u32 = 0;

impl Trie {
    /// Builds the map. If strings are equal, the last number counts.
    pub(super) fn new<'a>(strings: impl IntoIterator<Item = (&'a [u8], u32)> + Clone) -> Self {
        let edges: usize = strings.clone().into_iter().map(|(bytes, _)| bytes.len()).sum();
        let places = (edges * 2).next_power_of_two().max(16);
        let mut trie = Self { edges: vec![(0, 0); places], mask: places - 1, values: vec![NONE] };
        for (bytes, value) in strings {
            let mut node = ROOT;
            for byte in bytes {
                let place = trie.place(node, *byte);
                if trie.edges[place].0 == 0 {
                    let below = u32::try_from(trie.values.len()).unwrap_or(u32::MAX);
                    trie.edges[place] = (key(node, *byte), below);
                    trie.values.push(NONE);
                }
                node = trie.edges[place].1;
            }
            trie.values[node as usize] = value;
        }
        trie
    }

    /// Returns the slot of an edge, or the empty slot where it would be inserted. The table is at most half full.
    fn place(&self, node: u32, byte: u8) -> usize {
        let key = key(node, byte);
        // The high bits of the product depend on all bits of the key.
        let mut place = (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize & self.mask;
        while self.edges[place].0 != 0 && self.edges[place].0 != key {
            place = (place + 1) & self.mask;
        }
        place
    }

    /// Returns the child of `node` for this byte.
    pub(super) fn step(&self, node: u32, byte: u8) -> Option<u32> {
        let (key, below) = self.edges[self.place(node, byte)];
        (key != 0).then_some(below)
    }

    /// Returns the number of the string that ends at this node.
    pub(super) fn value(&self, node: u32) -> Option<u32> {
        let value = self.values[node as usize];
        (value != NONE).then_some(value)
    }

    /// Returns the number of a string.
    pub(super) fn get(&self, bytes: &[u8]) -> Option<u32> {
        let mut node = ROOT;
        for byte in bytes {
            node = self.step(node, *byte)?;
        }
        self.value(node)
    }

    /// Returns the length and the number of the longest string in the map that is a prefix of `bytes`.
    pub(super) fn longest(&self, bytes: &[u8]) -> Option<(usize, u32)> {
        let (mut node, mut found) = (ROOT, None);
        for (at, byte) in bytes.iter().enumerate() {
            let Some(below) = self.step(node, *byte) else { break };
            node = below;
            if let Some(value) = self.value(node) {
                found = Some((at + 1, value));
            }
        }
        found
    }
}

fn key(node: u32, byte: u8) -> u64 {
    (u64::from(node) << 8 | u64::from(byte)) + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trie_finds_whole_strings_and_longest_prefixes() {
        let trie = Trie::new([(b"a".as_slice(), 1), (b"abc", 2), (b"\0", 3), (b"\xff\xfe", 4)]);
        assert_eq!((trie.get(b"a"), trie.get(b"ab"), trie.get(b"abc"), trie.get(b"")), (Some(1), None, Some(2), None));
        assert_eq!(trie.longest(b"abd"), Some((1, 1)));
        assert_eq!(trie.longest(b"abcd"), Some((3, 2)));
        assert_eq!(trie.longest(b"\0"), Some((1, 3)));
        assert_eq!(trie.longest(b"\xff"), None);
        assert_eq!(Trie::new([]).longest(b"x"), None);
    }
}
