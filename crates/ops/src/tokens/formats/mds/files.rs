//! Names of the files of a set.

use super::shard::{basename, Config};
use std::path::PathBuf;

/// The shards of a run, and their index.
pub(super) struct ShardFolder {
    pub(super) place: PathBuf,
    pub(super) config: Config,
    /// Number of tokens per sample.
    pub(super) sample_size: u64,
    pub(super) no_wrap: bool,
}

impl ShardFolder {
    /// Returns the path of the file of a shard.
    pub(super) fn shard(&self, number: u64) -> PathBuf {
        self.place.join(self.file_name(number))
    }

    /// Returns the name of the file of a shard.
    pub(super) fn file_name(&self, number: u64) -> String {
        let suffix = self.config.compression().map_or("", |compression| compression.suffix());
        format!("{}{suffix}", basename(number))
    }
}
