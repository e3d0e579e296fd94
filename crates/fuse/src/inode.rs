//! Inode numbers, which identify the file or folder themselves, so that no table of files is needed.
//!
//! Bit 63 is unset: the kernel uses inode numbers as signed positions in listings. The numbers 1 (root) and 2 are not assigned to samples.

/// Maximum number of samples that have inode numbers.
pub const MAX_NUMBER: u64 = (1 << 40) - 1;
/// Maximum number of parts of a sample that have inode numbers.
pub const MAX_PARTS: u64 = (1 << PART_BITS) - 1;
/// Maximum number of folders above a file that come from slashes in its key.
pub const MAX_DEPTH: u64 = (1 << DEPTH_BITS) - 1;

const ROOT: u64 = 1;
const PART_BITS: u32 = 20;
const DEPTH_BITS: u32 = 16;
const KEY_FOLDER: u64 = 1 << 62;
const FIXED: u64 = 1 << 61;
const LINES: u64 = 1 << 60;

/// The file or folder of an inode number. Samples are numbered from 0 in the order of the data set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Node {
    /// The folder that is mounted.
    Root,
    /// A part of a sample, by its position in the sample.
    Part {
        /// Number of the sample.
        number: u64,
        /// Position of the part.
        part: u64,
    },
    /// The folder of a sample.
    Sample {
        /// Number of the sample.
        number: u64,
    },
    /// A folder that results from slashes in keys.
    KeyFolder {
        /// Number of a sample in it: the first one by key.
        number: u64,
        /// Number of slashes of that key that are part of the folder's path; at least 1.
        depth: u64,
    },
    /// A folder of the layout, by a hash of its path.
    Fixed(u64),
    /// A folder of numbered lines or documents, by its position.
    Lines(u64),
}

impl Node {
    /// Returns the inode number; `None` if it is beyond the limits.
    pub fn inode(self) -> Option<u64> {
        let numbered = |number: u64| (number < MAX_NUMBER).then(|| (number + 1) << PART_BITS);
        match self {
            Self::Root => Some(ROOT),
            Self::Sample { number } => numbered(number),
            Self::Part { number, part } if part < MAX_PARTS => Some(numbered(number)? | (part + 1)),
            Self::Part { .. } => None,
            Self::KeyFolder { number, depth } => {
                let is_within = number < MAX_NUMBER && (1..=MAX_DEPTH).contains(&depth);
                is_within.then(|| KEY_FOLDER | (number + 1) << DEPTH_BITS | depth)
            }
            Self::Fixed(hash) => Some(FIXED | hash & (LINES - 1)),
            Self::Lines(position) => (position < LINES).then_some(FIXED | LINES | position),
        }
    }

    /// Returns the file or folder of an inode number; `None` if there is none.
    pub fn of(inode: u64) -> Option<Self> {
        let low = |bits: u32| inode & ((1 << bits) - 1);
        match inode {
            ROOT => Some(Self::Root),
            _ if inode >> 63 != 0 => None,
            _ if inode & KEY_FOLDER != 0 => {
                let number = ((inode & !KEY_FOLDER) >> DEPTH_BITS).checked_sub(1)?;
                let node = Self::KeyFolder { number, depth: low(DEPTH_BITS) };
                node.inode().map(|_| node)
            }
            _ if inode & FIXED != 0 && inode & LINES != 0 => Some(Self::Lines(inode & (LINES - 1))),
            _ if inode & FIXED != 0 => Some(Self::Fixed(inode & (LINES - 1))),
            _ => {
                let number = (inode >> PART_BITS).checked_sub(1)?;
                let node = match low(PART_BITS).checked_sub(1) {
                    Some(part) => Self::Part { number, part },
                    None => Self::Sample { number },
                };
                node.inode().map(|_| node)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn inode_numbers_of_different_nodes_differ() {
        let last = MAX_NUMBER - 1;
        let nodes = [
            Node::Root,
            Node::Part { number: 0, part: 0 },
            Node::Part { number: 0, part: MAX_PARTS - 1 },
            Node::Sample { number: 0 },
            Node::Sample { number: 1 },
            Node::Sample { number: last },
            Node::Part { number: last, part: MAX_PARTS - 1 },
            Node::KeyFolder { number: 0, depth: 1 },
            Node::KeyFolder { number: last, depth: MAX_DEPTH },
            Node::Fixed(0),
            Node::Fixed(LINES - 1),
            Node::Lines(0),
            Node::Lines(LINES - 1),
        ];
        let numbers: std::collections::BTreeSet<u64> = nodes.iter().map(|node| node.inode().unwrap()).collect();
        assert_eq!(numbers.len(), nodes.len());
        assert!(numbers.iter().all(|number| i64::try_from(*number).is_ok()));
        for node in nodes {
            assert_eq!(Node::of(node.inode().unwrap()), Some(node));
        }
    }

    #[test]
    fn nodes_beyond_the_limits_have_no_inode_number() {
        assert_eq!(Node::Part { number: 0, part: MAX_PARTS }.inode(), None);
        assert_eq!(Node::Sample { number: MAX_NUMBER }.inode(), None);
        assert_eq!(Node::KeyFolder { number: 0, depth: MAX_DEPTH + 1 }.inode(), None);
        assert_eq!(Node::KeyFolder { number: 0, depth: 0 }.inode(), None);
        assert_eq!([0, 2, u64::MAX, 1 << 63].map(Node::of), [None; 4]);
    }

    proptest! {
        #[test]
        fn inode_number_is_that_of_its_node(inode: u64) {
            if let Some(node) = Node::of(inode) {
                prop_assert_eq!(node.inode(), Some(inode));
            }
        }
    }
}
