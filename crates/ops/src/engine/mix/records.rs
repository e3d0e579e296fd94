//! Some records of a member: JSON from a JSONL file, or from the `json` parts of a crude WebDataset.

use super::sets::{MemberSource, SplitView, WebSet};
use gristmill_core::{Cancel, FileStamp, Outcome, Shard};
use gristmill_data::formats::energon::jsonl_idx::{index_path, JsonlIdx};
use gristmill_data::formats::energon::layout;
use gristmill_data::formats::energon::tables::Tables;
use gristmill_data::source::contents::read_part;
use gristmill_data::source::decode::{decode_part, Value};
use gristmill_storage::files;
use gristmill_storage::read::open_read;
use std::path::Path;

/// Maximum number of records that are read, evenly spread over the member.
const MAX_RECORDS: u64 = 100;
/// Maximum length of a record that is read, in bytes.
const MAX_RECORD_BYTES: u64 = 1 << 20;

/// Reads some records of a member. Records that cannot be read are omitted.
pub(super) fn read_records(
    opened: &MemberSource,
    view: Option<&SplitView>,
    path: &Path,
    cancel: &Cancel,
) -> Outcome<Vec<serde_json::Value>> {
    match (opened, view) {
        (MemberSource::Jsonl(samples), _) => of_jsonl(path, *samples, cancel),
        (MemberSource::Web(set), Some(view)) => of_web(set, view, cancel),
        _ => Ok(Vec::new()),
    }
}

/// Returns at most [`MAX_RECORDS`] numbers below `count`, evenly spread, 0 first.
fn spread(count: u64) -> impl Iterator<Item = u64> {
    let taken = count.min(MAX_RECORDS);
    (0..taken).map(move |n| (u128::from(n) * u128::from(count) / u128::from(taken.max(1))) as u64)
}

fn of_jsonl(path: &Path, samples: u64, cancel: &Cancel) -> Outcome<Vec<serde_json::Value>> {
    let index = JsonlIdx::open(&index_path(path))?;
    let file = open_read(path)?;
    let mut records = Vec::new();
    for number in spread(samples.min(index.samples())) {
        cancel.check()?;
        let (start, end) = index.span(number)?;
        if end > file.len() || end - start > MAX_RECORD_BYTES {
            continue;
        }
        let mut bytes = vec![0; (end - start) as usize];
        if file.read_exact_at(&mut bytes, start).is_ok() {
            records.extend(json(&bytes));
        }
    }
    Ok(records)
}

fn of_web(set: &WebSet, view: &SplitView, cancel: &Cancel) -> Outcome<Vec<serde_json::Value>> {
    let database = layout::in_nv_meta(&set.root, layout::INDEX_SQLITE);
    if !files::is_file(&database) {
        return Ok(Vec::new());
    }
    let tables = Tables::open(&database)?;
    let mut records = Vec::new();
    for number in spread(view.declared()) {
        cancel.check()?;
        let Some((id, index)) = place(view, number) else { continue };
        let parts = tables.parts(id, index, 1)?;
        let is_json = |name: &str| name == "json" || name.ends_with(".json");
        let Some(part) = parts.iter().find(|part| is_json(&part.part_name)) else { continue };
        let Some((name, _)) = set.info.shard_counts.get(id as usize) else { continue };
        if part.content_byte_size > MAX_RECORD_BYTES || name.ends_with(".tgz") {
            continue;
        }
        let path = set.root.join(name);
        let shard = Shard { name: name.clone(), path, stamp: FileStamp::default(), mode: 0, is_tgz: false };
        let limit = part.content_byte_size as usize;
        if let Ok(bytes) = read_part(&shard, part.content_byte_offset, part.content_byte_size, limit) {
            records.extend(json(&bytes));
        }
    }
    Ok(records)
}

/// Returns the shard, and the position in it, of a sample of the split.
fn place(view: &SplitView, number: u64) -> Option<(u32, u64)> {
    let mut left = number;
    for (id, count, _) in view.shards.iter().filter(|(_, _, is_excluded)| !is_excluded) {
        if left < *count {
            return Some((*id, left));
        }
        left -= count;
    }
    None
}

fn json(bytes: &[u8]) -> Option<serde_json::Value> {
    match decode_part("json", bytes) {
        Ok(Value::Json(value)) => Some(value),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checked_records_are_spread_over_the_whole_file() {
        assert_eq!(spread(0).count(), 0);
        assert_eq!(spread(3).collect::<Vec<_>>(), [0, 1, 2]);
        let many: Vec<u64> = spread(u64::MAX).collect();
        assert_eq!((many.len(), many[0]), (100, 0));
        assert!(many[99] > u64::MAX / 100 * 98);
    }
}
