//! The finished units of a plan, which a resumed run does not repeat.
//!
//! The journal is a text file. Each line is a checksum and a JSON object; the first line identifies the plan. Lines are only appended, and
//! a truncated or damaged line is ignored.

use gristmill_core::{Failure, FileStamp, Mutex, Outcome};
use gristmill_storage::fs::{Fs, WriteFile};
use gristmill_storage::read::read_whole;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};
use xxhash_rust::xxh3::xxh3_64;

/// Must be increased when the meaning of a journal or of the spools changes.
const JOURNAL_VERSION: u32 = 1;
/// Limit of the size of a journal, in bytes; a line has about 300 bytes.
const MAX_JOURNAL_BYTES: u64 = 1 << 30;
/// Minimum interval between syncs of the journal. Without it, each of thousands of small shards would wait for the disk.
const SYNC_EVERY: Duration = Duration::from_secs(1);

/// Total length and hash of the spool files of a unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpoolDigest {
    /// Bytes of all files together.
    pub bytes: u64,
    /// XXH3 (64 bits) over each file's length and content, in order.
    pub xxh3: u64,
}

/// The record of a finished unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DoneUnit {
    /// Name of the unit: the name of a shard, or the path of an input with its byte range.
    pub unit: String,
    /// State of the input when it was read.
    pub input: FileStamp,
    /// Digest of its spool.
    pub spool: SpoolDigest,
    /// Additional data of the engine, in its own format.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub notes: String,
}

/// The first line: the format and the plan of the journal.
#[derive(Serialize, Deserialize, PartialEq, Eq)]
pub(crate) struct Header {
    journal: u32,
    plan: String,
}

impl Header {
    /// Returns the header for the plan with this hash.
    pub(crate) fn of(plan_hash: &str) -> Self {
        Self { journal: JOURNAL_VERSION, plan: plan_hash.to_owned() }
    }
}

/// The finished units of one plan. Shared between workers.
pub struct Journal {
    /// Units read when the journal was opened. Units recorded since then are only used by the next run and are not held in memory, as there
    /// may be very many.
    earlier: HashMap<String, DoneUnit>,
    inner: Mutex<Inner>,
}

struct Inner {
    file: Box<dyn WriteFile>,
    synced: Instant,
}

impl Journal {
    /// Opens the journal at `path` for the plan with this hash. A journal of another plan or format is replaced.
    pub fn open(fs: &dyn Fs, path: &Path, plan_hash: &str) -> Outcome<Self> {
        let header = Header::of(plan_hash);
        let bytes = read_whole(path, MAX_JOURNAL_BYTES)?.unwrap_or_default();
        let done = read_lines(&bytes, &header);
        let mut file = match done {
            Some(_) => fs.append_file(path)?,
            None => {
                fs.remove_file(path)?;
                let mut file = fs.create_file(path)?;
                file.write_all(&line(&header)?)?;
                file.sync()?;
                if let Some(folder) = path.parent() {
                    fs.sync_dir(folder)?;
                }
                file
            }
        };
        if done.is_some() && !bytes.ends_with(b"\n") {
            // After a truncated line, a newline makes the next entry start on its own line.
            file.write_all(b"\n")?;
        }
        let inner = Mutex::new(Inner { file, synced: Instant::now() });
        Ok(Self { earlier: done.unwrap_or_default(), inner })
    }

    /// Returns the number of finished units in the journal of this plan; 0 if there is no such journal. Does not change the journal.
    pub fn count_finished(path: &Path, plan_hash: &str) -> Outcome<usize> {
        let header = Header::of(plan_hash);
        let bytes = read_whole(path, MAX_JOURNAL_BYTES)?.unwrap_or_default();
        Ok(read_lines(&bytes, &header).map_or(0, |done| done.len()))
    }

    /// Whether there is a journal at `path` of another plan than the one with this hash. An unreadable journal is of no plan.
    pub(crate) fn is_of_other_plan(path: &Path, plan_hash: &str) -> Outcome<bool> {
        let bytes = read_whole(path, MAX_JOURNAL_BYTES)?.unwrap_or_default();
        Ok(header_in(&bytes).is_some_and(|found| found != Header::of(plan_hash)))
    }

    /// Records a finished unit. The record survives a kill immediately, and a power failure after at most [`SYNC_EVERY`]. Lines and spools
    /// lost in a power failure are detected by checksums, and their units are repeated, so no unit has to wait for the disk.
    pub fn record(&self, done: &DoneUnit) -> Outcome<()> {
        let bytes = line(done)?;
        let mut inner = self.inner.lock();
        inner.file.write_all(&bytes)?;
        if inner.synced.elapsed() >= SYNC_EVERY {
            inner.file.sync()?;
            inner.synced = Instant::now();
        }
        Ok(())
    }

    /// Returns the record of a unit that an earlier run finished and whose input is unchanged. The spool is not checked.
    pub fn finished(&self, unit: &str, input: &FileStamp) -> Option<&DoneUnit> {
        self.earlier.get(unit).filter(|done| done.input == *input)
    }
}

/// Returns a journal line: checksum and JSON.
pub(crate) fn line(entry: &impl Serialize) -> Outcome<Vec<u8>> {
    let json = serde_json::to_string(entry).map_err(|error| Failure::environment("the journal", error.to_string()))?;
    Ok(format!("{:016x} {json}\n", xxh3_64(json.as_bytes())).into_bytes())
}

/// Returns the JSON of a line whose checksum is correct.
pub(crate) fn checked(line: &[u8]) -> Option<&[u8]> {
    let sum = std::str::from_utf8(line.get(..16)?).ok()?;
    let json = line.get(17..)?;
    (u64::from_str_radix(sum, 16).ok()? == xxh3_64(json)).then_some(json)
}

/// Returns the header of a journal; `None` if it is damaged.
fn header_in(bytes: &[u8]) -> Option<Header> {
    let first = bytes.split(|byte| *byte == b'\n').find_map(checked)?;
    serde_json::from_slice(first).ok()
}

/// Returns all finished units; `None` if the journal belongs to another plan or format.
fn read_lines(bytes: &[u8], header: &Header) -> Option<HashMap<String, DoneUnit>> {
    if header_in(bytes)? != *header {
        return None;
    }
    let lines = bytes.split(|byte| *byte == b'\n').filter_map(checked).skip(1);
    let done = lines.filter_map(|json| serde_json::from_slice::<DoneUnit>(json).ok());
    Some(done.map(|done| (done.unit.clone(), done)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_storage::fs::fault::{Fault, FaultFs};
    use gristmill_storage::fs::RealFs;
    use gristmill_storage::publish::write_file;
    use std::path::PathBuf;

    fn unit(name: &str, spool: SpoolDigest) -> DoneUnit {
        let input = FileStamp { bytes: 10, modified_ns: -5, inode: u64::MAX };
        DoneUnit { unit: name.into(), input, spool, notes: "three\nlines\n€".into() }
    }

    struct JournalFolder {
        dir: tempfile::TempDir,
    }

    impl JournalFolder {
        fn new() -> Self {
            Self { dir: tempfile::tempdir().unwrap() }
        }
        fn path(&self) -> PathBuf {
            self.dir.path().join("journal")
        }
        fn open(&self, plan: &str) -> Journal {
            Journal::open(&RealFs, &self.path(), plan).unwrap()
        }
        fn put(&self, name: &str, bytes: &[u8]) -> PathBuf {
            let path = self.dir.path().join(name);
            write_file(&RealFs, &path, bytes, 0o600).unwrap();
            path
        }
    }

    #[test]
    fn finished_units_are_found_only_by_the_next_run_of_the_same_plan() {
        let place = JournalFolder::new();
        let journal = place.open("plan a");
        let done = unit("x/1.tar", SpoolDigest::default());
        journal.record(&done).unwrap();
        drop(journal);
        assert_eq!(Journal::count_finished(&place.path(), "plan a").unwrap(), 1);
        assert_eq!(Journal::count_finished(&place.path(), "plan b").unwrap(), 0);
        let journal = place.open("plan a");
        assert_eq!(journal.finished("x/1.tar", &done.input), Some(&done));
        let changed = FileStamp { bytes: 11, ..done.input };
        assert_eq!(journal.finished("x/1.tar", &changed), None);
        assert_eq!(journal.finished("x/2.tar", &done.input), None);
        drop(journal);
        assert!(place.open("plan b").earlier.is_empty());
        assert!(place.open("plan a").earlier.is_empty());
    }

    #[test]
    fn journal_cut_at_any_byte_keeps_whole_lines_and_accepts_new_ones() {
        let place = JournalFolder::new();
        let journal = place.open("p");
        for name in ["a", "b"] {
            journal.record(&unit(name, SpoolDigest::default())).unwrap();
        }
        drop(journal);
        let whole = std::fs::read(place.path()).unwrap();
        let ends: Vec<usize> = (0..whole.len()).filter(|i| whole[*i] == b'\n').collect();
        for cut in 0..=whole.len() {
            place.put("journal", &whole[..cut]);
            let journal = place.open("p");
            let expected = ends.iter().filter(|end| **end <= cut).count().saturating_sub(1);
            assert_eq!(journal.earlier.len(), expected, "cut at {cut}");
            journal.record(&unit("new", SpoolDigest::default())).unwrap();
            drop(journal);
            assert_eq!(place.open("p").earlier.len(), expected + 1, "cut at {cut}");
        }
    }

    #[test]
    fn damaged_journal_line_is_ignored_and_other_lines_are_read() {
        let place = JournalFolder::new();
        let journal = place.open("p");
        for name in ["a", "b", "c"] {
            journal.record(&unit(name, SpoolDigest::default())).unwrap();
        }
        drop(journal);
        let text = std::fs::read_to_string(place.path()).unwrap();
        place.put("journal", text.replace("\"unit\":\"b\"", "\"unit\":\"x\"").as_bytes());
        let journal = place.open("p");
        assert_eq!(journal.earlier.len(), 2);
        assert!(journal.finished("x", &unit("x", SpoolDigest::default()).input).is_none());
    }

    #[test]
    fn several_workers_record_at_once() {
        let place = JournalFolder::new();
        let journal = place.open("p");
        std::thread::scope(|scope| {
            for worker in 0..4 {
                let journal = &journal;
                scope.spawn(move || {
                    for i in 0..10 {
                        journal.record(&unit(&format!("{worker}-{i}"), SpoolDigest::default())).unwrap();
                    }
                });
            }
        });
        drop(journal);
        assert_eq!(place.open("p").earlier.len(), 40);
    }

    #[test]
    fn journal_killed_at_any_operation_loses_at_most_one_unit_and_survives_a_power_cut() {
        let run = |place: &JournalFolder, fault: Fault| {
            let fs = FaultFs::new(fault);
            let mut recorded = 0;
            let _ = Journal::open(&fs, &place.path(), "p").and_then(|journal| {
                for i in 0..3 {
                    journal.record(&unit(&i.to_string(), SpoolDigest::default()))?;
                    recorded += 1;
                }
                Ok(())
            });
            (fs.ops(), recorded)
        };
        let (ops, _) = run(&JournalFolder::new(), Fault::Nothing);
        for at in 0..ops {
            for fault in [Fault::Kill { at }, Fault::PowerCut { at }] {
                let place = JournalFolder::new();
                let (_, recorded) = run(&place, fault);
                let kept = place.open("p").earlier.len();
                // A power failure may lose lines recorded since the last sync; the rest must still be a valid journal.
                let least = if matches!(fault, Fault::Kill { .. }) { recorded } else { 0 };
                assert!(kept >= least && kept <= 3, "{fault:?}: {kept} of {recorded}");
            }
        }
    }
}
