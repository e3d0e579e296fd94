//! Checksums that identify the content of files on the hub.

use gristmill_core::text::hex;
use sha1::Sha1;
use sha2::{Digest as _, Sha256};

/// The checksum of a file: it is also the name of its content in the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Digest {
    /// SHA-256 of the content, for large files.
    Sha256(String),
    /// Id of the content as a Git object, for small files.
    GitBlob(String),
}

impl Digest {
    /// Returns a checksum; `None` if the text is not 64 hexadecimal digits.
    pub(super) fn sha256(hex: &str) -> Option<Self> {
        is_hex(hex, 64).then(|| Self::Sha256(hex.to_owned()))
    }

    /// Returns the id of a Git object; `None` if the text is not 40 hexadecimal digits.
    pub(super) fn git_blob(hex: &str) -> Option<Self> {
        is_hex(hex, 40).then(|| Self::GitBlob(hex.to_owned()))
    }

    /// Returns the hexadecimal digits.
    pub fn hex(&self) -> &str {
        match self {
            Self::Sha256(hex) | Self::GitBlob(hex) => hex,
        }
    }

    /// Starts to compute the checksum of a file of `size` bytes.
    pub(super) fn hasher(&self, size: u64) -> Hasher {
        match self {
            Self::Sha256(_) => Hasher::Sha256(Sha256::new()),
            Self::GitBlob(_) => {
                let mut hasher = Sha1::new();
                hasher.update(format!("blob {size}\0"));
                Hasher::GitBlob(hasher)
            }
        }
    }
}

/// Whether a text is a number of this many lower-case hexadecimal digits.
pub(super) fn is_hex(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

/// A checksum in progress.
#[derive(Clone)]
pub(super) enum Hasher {
    Sha256(Sha256),
    GitBlob(Sha1),
}

impl Hasher {
    pub(super) fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Sha256(hasher) => hasher.update(bytes),
            Self::GitBlob(hasher) => hasher.update(bytes),
        }
    }

    /// Whether the content has this checksum.
    pub(super) fn matches(&self, digest: &Digest) -> bool {
        let bytes = match self.clone() {
            Self::Sha256(hasher) => hasher.finalize().to_vec(),
            Self::GitBlob(hasher) => hasher.finalize().to_vec(),
        };
        hex(&bytes) == digest.hex()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hub_digests_match_git_and_sha256sum() {
        let fits = |digest: Digest| {
            let mut hasher = digest.hasher(6);
            hasher.update(b"hel");
            hasher.update(b"lo\n");
            hasher.matches(&digest)
        };
        assert!(fits(Digest::git_blob("ce013625030ba8dba906f756967f9e9ca394464a").unwrap()));
        let sha256 = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03";
        assert!(fits(Digest::sha256(sha256).unwrap()));
        assert!(!fits(Digest::sha256(&sha256.replace('5', "6")).unwrap()));
        assert!(Digest::sha256("../../x").is_none() && Digest::git_blob(&"A".repeat(40)).is_none());
    }
}
