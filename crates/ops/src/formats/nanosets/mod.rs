//! Token folders as datatrove writes and nanotron reads them: `X.ds`, `X.ds.index`, `X.ds.metadata`, `X.ds.loss`
//! (docs/formats/nanosets.md).

pub mod index;
pub mod metadata;
pub mod names;
pub mod shard;
pub mod windows;

pub use index::Index;
pub use metadata::Metadata;
pub use shard::Shard;

use std::path::{Path, PathBuf};

/// The end of a data file's name.
pub const DS: &str = ".ds";

/// Bytes of one token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(into = "u64")]
pub enum TokenSize {
    /// Up to 65,536 entries in the vocabulary.
    Two,
    /// More.
    Four,
}

impl From<TokenSize> for u64 {
    fn from(size: TokenSize) -> Self {
        size.bytes()
    }
}

impl TokenSize {
    /// The size for a vocabulary of this many entries, added tokens included.
    pub fn of_vocabulary(entries: u64) -> Self {
        if entries > 1 << 16 {
            Self::Four
        } else {
            Self::Two
        }
    }
    /// 2 or 4; anything else is no token size.
    pub fn from_bytes(bytes: u64) -> Option<Self> {
        match bytes {
            2 => Some(Self::Two),
            4 => Some(Self::Four),
            _ => None,
        }
    }
    /// Bytes of one token.
    pub fn bytes(self) -> u64 {
        match self {
            Self::Two => 2,
            Self::Four => 4,
        }
    }
    /// The greatest id that fits.
    pub fn greatest(self) -> u32 {
        match self {
            Self::Two => u32::from(u16::MAX),
            Self::Four => u32::MAX,
        }
    }
    /// Appends ids as they stand in the file. Ids above [`greatest`](Self::greatest) do not belong here: their upper half is lost.
    pub fn encode(self, ids: &[u32], out: &mut Vec<u8>) {
        out.reserve(ids.len() * self.bytes() as usize);
        match self {
            Self::Two => ids.iter().for_each(|&id| out.extend_from_slice(&(id as u16).to_le_bytes())),
            Self::Four => ids.iter().for_each(|&id| out.extend_from_slice(&id.to_le_bytes())),
        }
    }
    /// Appends the ids that stand in `bytes`; a cut last one is left out.
    pub fn decode(self, bytes: &[u8], out: &mut Vec<u32>) {
        match self {
            Self::Two => out.extend(bytes.as_chunks().0.iter().map(|&token| u32::from(u16::from_le_bytes(token)))),
            Self::Four => out.extend(bytes.as_chunks().0.iter().map(|&token| u32::from_le_bytes(token))),
        }
    }
}

/// `X.ds` → `X.ds.index`.
pub fn index_path(ds: &Path) -> PathBuf {
    beside(ds, ".index")
}

/// `X.ds` → `X.ds.metadata`.
pub fn metadata_path(ds: &Path) -> PathBuf {
    beside(ds, ".metadata")
}

/// `X.ds` → `X.ds.loss`.
pub fn loss_path(ds: &Path) -> PathBuf {
    beside(ds, ".loss")
}

fn beside(ds: &Path, end: &str) -> PathBuf {
    let mut name = ds.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_of_a_token_follows_the_number_of_entries() {
        assert_eq!(TokenSize::of_vocabulary(0), TokenSize::Two);
        assert_eq!(TokenSize::of_vocabulary(65_536), TokenSize::Two);
        assert_eq!(TokenSize::of_vocabulary(65_537), TokenSize::Four);
        assert_eq!(TokenSize::from_bytes(3), None);
    }

    #[test]
    fn ids_come_back_as_they_were_given() {
        let ids = [0, 1, 255, 256, 65_535];
        for size in [TokenSize::Two, TokenSize::Four] {
            let (mut bytes, mut back) = (Vec::new(), Vec::new());
            size.encode(&ids, &mut bytes);
            assert_eq!(bytes.len() as u64, 5 * size.bytes());
            bytes.push(7);
            size.decode(&bytes, &mut back);
            assert_eq!(back, ids);
        }
    }

    #[test]
    fn files_of_a_shard_lie_beside_each_other() {
        let ds = Path::new("/d/a.b.ds");
        assert_eq!(index_path(ds), Path::new("/d/a.b.ds.index"));
        assert_eq!(metadata_path(ds), Path::new("/d/a.b.ds.metadata"));
        assert_eq!(loss_path(ds), Path::new("/d/a.b.ds.loss"));
    }
}
