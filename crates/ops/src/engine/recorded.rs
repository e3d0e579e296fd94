//! The part of a finished run's report that the next run reads: its plan and the state of its inputs.

use gristmill_core::shard::index_name;
use gristmill_core::text::{bytes, shell_quote};
use gristmill_core::{FileStamp, Outcome, Shard};
use gristmill_data::formats::energon::tar_idx::TarIdx;
use gristmill_storage::cache::read_whole_cached;
use gristmill_storage::listing::stamps_below;
use gristmill_storage::read::read_whole;
use gristmill_storage::run_folder::RunFolder;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Limit of the size of a report that is read, in bytes; enough for a million shards.
pub const MAX_REPORT_BYTES: u64 = 1 << 28;

/// Size of the two blocks that end a tar, and of the records to which programs pad it, in bytes.
const TAR_END: u64 = 1024;
const TAR_RECORD: u64 = 10_240;

/// A shard and its state when it was indexed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedShard {
    /// Name relative to the data set's root.
    pub name: String,
    /// Size, time and inode.
    pub stamp: FileStamp,
    /// Number of indexed samples.
    pub samples: u64,
}

/// The part of `report.json` that later runs read. Other keys are for human readers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Recorded {
    /// Hash of the executed plan.
    pub plan_hash: String,
    /// All shards that were indexed, in index order.
    pub inputs: Vec<RecordedShard>,
    /// Excludes by the user that the run would also have added. A later run keeps them even if it would no longer add them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub user_excludes: Vec<String>,
}

/// Describes how the size of a shard of a prepared set differs from its size when it was indexed. Returns `None` if it does not, or if its
/// index matches the new size because another program has indexed it since.
pub fn describe_resized((root, name): (&Path, &str), then: FileStamp, now: u64) -> Option<String> {
    let end = || TarIdx::open(&root.join(index_name(name))).and_then(|index| index.end());
    // The samples are followed by two empty blocks, and by padding to a whole record.
    let fits = |end: u64| {
        let end = end.saturating_add(TAR_END);
        now == end || end.checked_next_multiple_of(TAR_RECORD) == Some(now)
    };
    let is_other = then.bytes != now && !end().is_ok_and(fits);
    is_other.then(|| format!("its size was {} when it was indexed and is {} now", bytes(then.bytes), bytes(now)))
}

/// The states of the shards of a prepared set when they were indexed.
#[derive(Debug, Default)]
pub struct IndexedShards {
    root: PathBuf,
    stamps: HashMap<String, FileStamp>,
}

impl IndexedShards {
    /// Reads the report of the last run if it has at most `limit` bytes; for a store, from the cache if possible. Without a report, no
    /// shard counts as changed.
    pub fn read(root: &Path, limit: u64) -> Self {
        let report = read_whole_cached(&RunFolder::for_webdataset(root).report(), limit).ok().flatten();
        let recorded: Recorded = report.and_then(|report| serde_json::from_slice(&report).ok()).unwrap_or_default();
        let stamps = recorded.inputs.into_iter().map(|input| (input.name, input.stamp)).collect();
        Self { root: root.to_owned(), stamps }
    }

    /// Describes how a shard that now has `now` bytes differs from the indexed one, with a hint; `None` if it does not.
    pub fn describe_change(&self, name: &str, now: u64) -> Option<String> {
        let how = describe_resized((&self.root, name), *self.stamps.get(name)?, now)?;
        Some(format!("{how}: {} indexes it again", update_command(&self.root)))
    }

    /// Returns the first shard, by name, that differs from the indexed one, with the difference. Reads the states of all shards.
    pub fn first_change(&self) -> Option<(&str, String)> {
        let mut names: Vec<&str> = self.stamps.keys().map(String::as_str).collect();
        names.sort_unstable();
        let paths: Vec<PathBuf> = names.iter().map(|name| self.root.join(name)).collect();
        let mut states = names.into_iter().zip(stamps_below(&self.root, &paths));
        states.find_map(|(name, now)| Some((name, self.describe_change(name, now.ok()?.bytes)?)))
    }
}

/// Returns the command that indexes changed shards again.
pub(crate) fn update_command(root: &Path) -> String {
    format!("gristmill prepare {} --update", shell_quote(&root.to_string_lossy()))
}

impl Recorded {
    /// Reads the report of the last finished run, if there is one.
    ///
    /// A report that cannot be parsed is ignored, because it only saves work.
    pub fn read(own: &RunFolder) -> Outcome<Option<Self>> {
        Ok(read_whole(&own.report(), MAX_REPORT_BYTES)?.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }

    /// Returns the report with its shard states replaced by `now`; `None` if none differs, or if the report cannot be parsed.
    pub fn with_stamps(report: &[u8], now: &HashMap<String, FileStamp>) -> Option<Vec<u8>> {
        let mut report: serde_json::Value = serde_json::from_slice(report).ok()?;
        let mut has_changed = false;
        for input in report.get_mut("inputs")?.as_array_mut()? {
            let recorded: RecordedShard = serde_json::from_value(input.clone()).ok()?;
            if let Some(stamp) = now.get(&recorded.name).filter(|stamp| **stamp != recorded.stamp) {
                *input.get_mut("stamp")? = serde_json::to_value(stamp).ok()?;
                has_changed = true;
            }
        }
        has_changed.then(|| serde_json::to_vec_pretty(&report).ok()).flatten()
    }

    /// Returns a map from name to stamp, for comparing many shards.
    pub fn stamps(&self) -> HashMap<&str, FileStamp> {
        self.inputs.iter().map(|input| (input.name.as_str(), input.stamp)).collect()
    }

    /// Whether exactly these shards were indexed, and none of them is in `changed`.
    pub fn matches(&self, shards: &[Shard], changed: &[String]) -> bool {
        self.inputs.len() == shards.len()
            && self.inputs.iter().zip(shards).all(|(input, shard)| {
                input.name == shard.name && (input.stamp == shard.stamp || !changed.contains(&shard.name))
            })
    }
}
