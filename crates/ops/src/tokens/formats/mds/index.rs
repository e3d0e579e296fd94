//! `index.json`: the shards of a set, their sizes and hashes (docs/formats/mds.md §4).

use super::shard::{json_list, json_text, Config, VERSION};
use serde::Deserialize;
use std::collections::BTreeMap;

/// Name of the index in the folder of a set.
pub(super) const INDEX: &str = gristmill_data::formats::mds::INDEX;

/// A file of a shard.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct FileInfo {
    /// Name of the file, without a folder.
    pub(super) basename: String,
    /// Size of the file in bytes.
    pub(super) bytes: u64,
    /// Hashes of the file in hexadecimal digits, by name.
    #[serde(default)]
    pub(super) hashes: BTreeMap<String, String>,
}

impl FileInfo {
    fn to_json(&self) -> String {
        let hashes: Vec<String> =
            self.hashes.iter().map(|(name, hex)| format!("{}: {}", json_text(name), json_text(hex))).collect();
        let (basename, bytes, hashes) = (json_text(&self.basename), self.bytes, hashes.join(", "));
        format!("{{\"basename\": {basename}, \"bytes\": {bytes}, \"hashes\": {{{hashes}}}}}")
    }
}

/// The description of a shard in the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shard {
    pub(super) samples: u64,
    /// The raw file. If the shard is compressed, this is the decompressed content, and the folder does not have the file.
    pub(super) raw: FileInfo,
    /// The compressed file; `None` without compression.
    pub(super) zip: Option<FileInfo>,
}

/// Returns the content of the file: one line without a final newline.
pub(super) fn index_json(config: &Config, shards: &[Shard]) -> String {
    let shards = json_list(shards.iter().map(|shard| {
        let raw = format!(", \"raw_data\": {}, \"samples\": {}", shard.raw.to_json(), shard.samples);
        let zip = shard.zip.as_ref().map_or("null".to_owned(), FileInfo::to_json);
        config.to_json_with(&raw, &format!(", \"zip_data\": {zip}"))
    }));
    format!("{{\"shards\": {shards}, \"version\": {VERSION}}}")
}
