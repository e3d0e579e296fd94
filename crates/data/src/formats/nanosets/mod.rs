//! Token folders written by datatrove and read by nanotron: `X.ds`, `X.ds.index`, `X.ds.metadata`, `X.ds.loss` (docs/formats/nanosets.md).

pub mod index;
pub mod kind;
pub mod metadata;
pub mod names;
pub mod shard;
pub mod windows;

pub use index::Index;
pub use metadata::Metadata;
pub use shard::Shard;

use std::path::{Path, PathBuf};

/// Suffix of a data file's name.
pub const DS: &str = ".ds";

/// Size of one token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(into = "u64")]
pub enum TokenSize {
    /// Two bytes: up to 65,536 entries in the vocabulary.
    Two,
    /// Four bytes: a larger vocabulary.
    Four,
}

impl From<TokenSize> for u64 {
    fn from(size: TokenSize) -> Self {
        size.bytes()
    }
}

impl TokenSize {
    /// Returns the size for a vocabulary of this many entries, added tokens included.
    pub fn of_vocabulary(entries: u64) -> Self {
        if entries > 1 << 16 {
            Self::Four
        } else {
            Self::Two
        }
    }
    /// Returns the size for 2 or 4 bytes; `None` for any other number.
    pub fn from_bytes(bytes: u64) -> Option<Self> {
        match bytes {
            2 => Some(Self::Two),
            4 => Some(Self::Four),
            _ => None,
        }
    }
    /// Returns the bytes of one token.
    pub fn bytes(self) -> u64 {
        match self {
            Self::Two => 2,
            Self::Four => 4,
        }
    }
    /// Returns the largest id that fits.
    pub fn greatest(self) -> u32 {
        match self {
            Self::Two => u32::from(u16::MAX),
            Self::Four => u32::MAX,
        }
    }
    /// Appends ids in the encoding of the file. The upper half of ids above [`greatest`](Self::greatest) is lost, so they must not be
    /// passed.
    pub fn encode(self, ids: &[u32], out: &mut Vec<u8>) {
        out.reserve(ids.len() * self.bytes() as usize);
        match self {
            Self::Two => ids.iter().for_each(|&id| out.extend_from_slice(&(id as u16).to_le_bytes())),
            Self::Four => ids.iter().for_each(|&id| out.extend_from_slice(&id.to_le_bytes())),
        }
    }
    /// Appends the ids encoded in `bytes`; an incomplete id at the end is ignored.
    pub fn decode(self, bytes: &[u8], out: &mut Vec<u32>) {
        match self {
            Self::Two => out.extend(bytes.as_chunks().0.iter().map(|&token| u32::from(u16::from_le_bytes(token)))),
            Self::Four => out.extend(bytes.as_chunks().0.iter().map(|&token| u32::from_le_bytes(token))),
        }
    }
}

/// Returns `X.ds.index` for `X.ds`.
pub fn index_path(ds: &Path) -> PathBuf {
    companion_path(ds, ".index")
}

/// Returns `X.ds.metadata` for `X.ds`.
pub fn metadata_path(ds: &Path) -> PathBuf {
    companion_path(ds, ".metadata")
}

/// Whether a path is the metadata file of a `.ds` file, or of the total of several.
pub fn is_metadata(path: &Path) -> bool {
    let ds = path.with_extension("");
    ds.extension().is_some_and(|end| end == "ds") && metadata_path(&ds) == path
}

/// Returns `X.ds.loss` for `X.ds`.
pub fn loss_path(ds: &Path) -> PathBuf {
    companion_path(ds, ".loss")
}

fn companion_path(ds: &Path, end: &str) -> PathBuf {
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
    fn token_ids_are_decoded_as_they_were_encoded() {
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
    fn companion_files_append_their_suffix_to_the_ds_path() {
        let ds = Path::new("/d/a.b.ds");
        assert_eq!(index_path(ds), Path::new("/d/a.b.ds.index"));
        assert_eq!(metadata_path(ds), Path::new("/d/a.b.ds.metadata"));
        assert_eq!(loss_path(ds), Path::new("/d/a.b.ds.loss"));
    }
}
