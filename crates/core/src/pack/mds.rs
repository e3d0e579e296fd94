//! The answers to `pack --format mds`.

use serde::{Deserialize, Serialize};

/// Options of the MDS output: shards of samples of equal length (docs/formats/mds.md).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct MdsTarget {
    /// Number of tokens per sample; 0 if not answered yet.
    pub sample_size: u64,
    /// Whether to drop the tokens of a document after the end of its sample.
    #[serde(default)]
    pub no_wrap: bool,
    /// Maximum size of a shard in bytes; `None` means 64 MiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_limit: Option<u64>,
    /// Names of the hashes of each shard.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hashes: Vec<String>,
    /// Compression of each shard, such as `zstd:7`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compression: Option<String>,
}
