//! Records of the last component of each key, and the lookup of the keys of leaks.

use super::group::{Group, LeakGroups, Matcher, PartRef};
use super::LeakKind;
use crate::engine::check::PreparedDataset;
use gristmill_core::{
    Cancel, Failure, Handles, HiddenSample, NullProblemSink, Outcome, PartRow, Progress, SampleRow, ShardId,
};
use gristmill_data::source::tar::{scan_shard, ScanSink};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Maximum number of folders with the same name. A name in more folders is treated as a number within its folder.
const MAX_FOLDERS: u64 = 8;
/// Number of digits below which a name of digits alone is treated as such a number.
const MIN_NAME_DIGITS: usize = 6;

/// Writes the text of a name's record: the last component, a slash, and the folders. The last component contains no slash, so that equal
/// ones are adjacent after sorting.
pub(super) fn record(key: &str, out: &mut Vec<u8>) {
    let (folder, name) = key.rsplit_once('/').unwrap_or(("", key));
    out.clear();
    out.extend_from_slice(name.as_bytes());
    out.push(b'/');
    // Distinguishes a key without folders from a key in a folder with an empty name.
    if name.len() < key.len() {
        out.push(b'/');
    }
    out.extend_from_slice(folder.as_bytes());
}

fn name_of(record: &[u8]) -> &[u8] {
    record.split(|byte| *byte == b'/').next().unwrap_or(record)
}

/// Groups records by name, and by key within a name.
#[derive(Default)]
pub(super) struct Names {
    key: Vec<u8>,
    same_key: Group,
    folders: u64,
}

impl Names {
    fn end_key(&mut self, found: &mut LeakGroups) {
        if self.same_key.is_leak() {
            found.keep(LeakKind::Key, &self.same_key);
        }
        self.same_key.clear();
    }
}

impl Matcher<3> for Names {
    fn is_same(&self, before: &[u8], text: &[u8]) -> bool {
        name_of(before) == name_of(text)
    }

    fn add(&mut self, group: &mut Group, text: &[u8], numbers: [u64; 3], found: &mut LeakGroups) {
        if self.folders == 0 || self.key != text {
            self.end_key(found);
            self.key.clear();
            self.key.extend_from_slice(text);
            self.folders += 1;
        }
        let which = PartRef { name: 0, ordinal: 0 };
        self.same_key.add(numbers, which, 0);
        group.add(numbers, which, 0);
    }

    fn end(&mut self, group: &Group, found: &mut LeakGroups) {
        self.end_key(found);
        let folders = std::mem::take(&mut self.folders);
        if folders < 2 || !group.is_leak() {
            return;
        }
        let name = name_of(&self.key);
        let is_number = name.is_empty() || (name.len() < MIN_NAME_DIGITS && name.iter().all(u8::is_ascii_digit));
        if folders > MAX_FOLDERS || is_number {
            found.common_names += 1;
        } else {
            found.keep(LeakKind::Name, group);
        }
    }
}

/// Keys of samples, by shard and sample number.
pub(super) type SampleKeys = HashMap<(u32, u64), String>;

/// Returns the keys of all recorded leaks: from the table, or from the shard itself if the table lacks them.
pub(super) fn keys(
    found: &LeakGroups,
    prepared: &PreparedDataset,
    changed: &HashSet<u32>,
    cancel: &Cancel,
) -> Outcome<SampleKeys> {
    let mut wanted: BTreeMap<u32, BTreeSet<u64>> = BTreeMap::new();
    for (kind, group) in found.groups() {
        if kind != LeakKind::Shard {
            group.places().for_each(|place| {
                wanted.entry(place.shard).or_default().insert(place.sample);
            });
        }
    }
    let tables = prepared.tables()?;
    let mut keys = SampleKeys::new();
    for (shard, mut samples) in wanted {
        cancel.check()?;
        if let Some(tables) = tables.as_ref().filter(|_| !changed.contains(&shard)) {
            for &sample in &samples {
                if let Some(row) = tables.sample(shard, sample)? {
                    keys.insert((shard, sample), row.key);
                }
            }
            samples.retain(|sample| !keys.contains_key(&(shard, *sample)));
        }
        if !samples.is_empty() {
            read_keys(prepared, shard, samples, &mut keys, cancel)?;
        }
    }
    Ok(keys)
}

fn read_keys(
    prepared: &PreparedDataset,
    shard: u32,
    samples: BTreeSet<u64>,
    keys: &mut SampleKeys,
    cancel: &Cancel,
) -> Outcome<()> {
    let file = prepared.shard(ShardId(shard))?;
    let progress = Progress::default();
    let mut sink = Reader { shard, samples, keys };
    let scanned = scan_shard(&file, &mut sink, &Handles { progress: &progress, cancel, problems: &NullProblemSink });
    cancel.check()?;
    match scanned {
        // The scan is cancelled after the last requested sample, so that the rest of the shard is not read.
        Err(failure) if !failure.is_cancelled() => Err(failure),
        _ => Ok(()),
    }
}

struct Reader<'a> {
    shard: u32,
    samples: BTreeSet<u64>,
    keys: &'a mut SampleKeys,
}

impl ScanSink for Reader<'_> {
    fn part(&mut self, _row: PartRow<'_>) -> Outcome<()> {
        Ok(())
    }

    fn sample(&mut self, row: SampleRow<'_>) -> Outcome<()> {
        if self.samples.remove(&row.sample_index) {
            self.keys.insert((self.shard, row.sample_index), row.key.to_owned());
        }
        if self.samples.is_empty() {
            return Err(Failure::cancelled());
        }
        Ok(())
    }

    fn hidden_sample(&mut self, _row: HiddenSample) -> Outcome<()> {
        Ok(())
    }
}
