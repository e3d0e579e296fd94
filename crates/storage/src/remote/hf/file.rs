//! Files of a repository: their paths, sizes and checksums.

use super::digest::Digest;

/// A file of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepositoryFile {
    /// Path in the repository, with `/` separators; never leads out of a folder.
    pub path: String,
    /// Size in bytes.
    pub size: u64,
    /// Checksum of the content.
    pub digest: Digest,
}
