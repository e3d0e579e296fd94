//! The part of a finished run's report that the next run reads: the plan it carried out and the state of its inputs.

use gristmill_core::shard::index_name;
use gristmill_core::text::bytes;
use gristmill_core::{FileStamp, Outcome, Shard};
use gristmill_data::formats::energon::tar_idx::TarIdx;
use gristmill_storage::cache::read_whole_cached;
use gristmill_storage::read::read_whole;
use gristmill_storage::run_folder::RunFolder;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::Path;

/// Maximum size of a report that is read, in bytes: enough for a million shards.
pub const MAX_REPORT_BYTES: u64 = 1 << 28;

/// Size of the two blocks that end a tar, and of the records to which programs fill it up, in bytes.
const TAR_END: u64 = 1024;
const TAR_RECORD: u64 = 10_240;

/// One shard, as it was when indexed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedShard {
    /// Name relative to the data set's root.
    pub name: String,
    /// Size, time and inode.
    pub stamp: FileStamp,
    /// Samples indexed.
    pub samples: u64,
}

/// The part of `report.json` that later runs read. Unknown keys are for human readers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Recorded {
    /// Hash of the plan that was carried out.
    pub plan_hash: String,
    /// All shards that were indexed, in index order.
    pub inputs: Vec<RecordedShard>,
    /// Excludes of the user that the run would have added itself. A later run keeps them even if it no longer would.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub user_excludes: Vec<String>,
}

/// Describes how the size of a shard of a prepared set differs from what it was when it was indexed; `None` if it does not, or if its index is of
/// a shard of this size, because another program has indexed it since.
pub fn describe_resized((root, name): (&Path, &str), then: FileStamp, now: u64) -> Option<String> {
    let end = || TarIdx::open(&root.join(index_name(name))).and_then(|index| index.end());
    // The samples are followed by two empty blocks, and by more up to a whole record.
    let fits = |end: u64| {
        let end = end.saturating_add(TAR_END);
        now == end || end.checked_next_multiple_of(TAR_RECORD) == Some(now)
    };
    let is_other = then.bytes != now && !end().is_ok_and(fits);
    is_other.then(|| format!("its size was {} when it was indexed and is {} now", bytes(then.bytes), bytes(now)))
}

impl Recorded {
    /// Reads the report of the last finished run, if there is one that can be parsed.
    ///
    /// A report that cannot be parsed is ignored: it only saves work.
    pub fn read(own: &RunFolder) -> Outcome<Option<Self>> {
        Ok(Self::parse(read_whole(&own.report(), MAX_REPORT_BYTES)?))
    }

    /// Does the same by what is kept of a store, as is enough for looking at the data set.
    pub fn read_cached(own: &RunFolder) -> Outcome<Option<Self>> {
        Ok(Self::parse(read_whole_cached(&own.report(), MAX_REPORT_BYTES)?))
    }

    fn parse(bytes: Option<Vec<u8>>) -> Option<Self> {
        bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok())
    }

    /// Returns a report with these states of its shards in place of its own; `None` if none differs, or it cannot be parsed.
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

    /// Returns name → stamp, for comparing many shards.
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
