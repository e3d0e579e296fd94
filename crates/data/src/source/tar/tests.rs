//! Tests the scan with archives that the tests build, that the reference wrote (golden), and that are damaged on purpose.

mod cases;
mod golden;
mod mutations;
mod oracle;
mod speed;

use super::{scan_shard, ScanSink, ShardScan};
use gristmill_core::*;
use gristmill_storage::fs::{Fs as _, RealFs};
use gristmill_storage::{files, memory_store};
use std::path::Path;

/// A sample as passed to the sink; a hidden sample has no key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ScannedSample {
    pub(super) key: Option<String>,
    pub(super) offset: u64,
    pub(super) size: u64,
    pub(super) parts: Vec<(String, u64, u64)>,
}

/// A sink that records all results.
#[derive(Default)]
pub(super) struct Recorder {
    parts: Vec<(String, u64, u64)>,
    pub(super) samples: Vec<ScannedSample>,
}

impl ScanSink for Recorder {
    fn part(&mut self, row: PartRow<'_>) -> Outcome<()> {
        self.parts.push((row.part_name.to_owned(), row.content_byte_offset, row.content_byte_size));
        Ok(())
    }
    fn sample(&mut self, row: SampleRow<'_>) -> Outcome<()> {
        assert_eq!(row.sample_index as usize, self.samples.len(), "samples come without gaps");
        let parts = std::mem::take(&mut self.parts);
        let key = Some(row.key.to_owned());
        self.samples.push(ScannedSample { key, offset: row.byte_offset, size: row.byte_size, parts });
        Ok(())
    }
    fn hidden_sample(&mut self, row: HiddenSample) -> Outcome<()> {
        assert_eq!(row.sample_index as usize, self.samples.len(), "samples come without gaps");
        assert!(self.parts.is_empty(), "a hidden sample has no parts");
        let (offset, size) = (row.byte_offset, row.byte_size);
        self.samples.push(ScannedSample { key: None, offset, size, parts: Vec::new() });
        Ok(())
    }
}

/// Result of one scan.
pub(super) struct Scanned {
    pub(super) scan: ShardScan,
    pub(super) samples: Vec<ScannedSample>,
    pub(super) problems: Vec<Problem>,
    pub(super) bytes_done: u64,
}

impl Scanned {
    pub(super) fn kinds(&self) -> Vec<(Severity, ProblemKind)> {
        let mut kinds: Vec<_> = self.problems.iter().map(|p| (p.severity, p.kind)).collect();
        kinds.sort();
        kinds
    }
    pub(super) fn keys(&self) -> Vec<&str> {
        self.samples.iter().map(|s| s.key.as_deref().unwrap_or("(hidden)")).collect()
    }
    /// Returns the kinds of problems worse than a note; also checks that excluded samples are listed individually.
    pub(super) fn damage(&self) -> Vec<ProblemKind> {
        let listed: Vec<_> = self
            .problems
            .iter()
            .filter(|p| p.kind == ProblemKind::SampleExcluded)
            .filter_map(|p| p.subject.key.as_ref())
            .collect();
        assert_eq!(listed, self.scan.damaged_keys.iter().collect::<Vec<_>>());
        let is_damage =
            |k| !matches!(k, ProblemKind::SampleExcluded | ProblemKind::LinkedPart | ProblemKind::SparseEntry);
        let worse = |&(s, k): &(Severity, ProblemKind)| s >= Severity::Problem && is_damage(k);
        self.kinds().into_iter().filter(worse).map(|(_, k)| k).collect()
    }
}

pub(super) fn shard_at(path: &Path) -> Shard {
    let name = path.file_name().unwrap().to_str().unwrap().to_owned();
    let is_tgz = name.ends_with(".tgz");
    let bytes = files::metadata(path).unwrap().len();
    Shard { name, path: path.to_owned(), stamp: FileStamp { bytes, ..FileStamp::default() }, mode: 0o644, is_tgz }
}

pub(super) fn scan_path(path: &Path) -> Scanned {
    let (progress, cancel, log) = (Progress::default(), Cancel::default(), ProblemLog::default());
    let handles = Handles { progress: &progress, cancel: &cancel, problems: &log };
    let mut sink = Recorder::default();
    let scan = scan_shard(&shard_at(path), &mut sink, &handles).unwrap();
    assert!(sink.parts.is_empty(), "every part belongs to a sample");
    assert_eq!(progress.read().items_done, 1);
    assert_eq!(scan.samples as usize, sink.samples.len());
    Scanned { scan, samples: sink.samples, problems: log.to_vec(), bytes_done: progress.read().bytes_done }
}

pub(super) fn scan_bytes(archive: &[u8]) -> Scanned {
    use std::io::Write as _;
    let mut file = tempfile::Builder::new().suffix(".tar").tempfile().unwrap();
    file.write_all(archive).unwrap();
    let scanned = scan_path(file.path());
    // A store has other limits for jumping over gaps, so both ways of reading are covered.
    let object = Path::new("mem://scans").join(file.path().file_name().unwrap());
    memory_store::put(&object, archive);
    let remote = scan_path(&object);
    assert_eq!(remote.samples, scanned.samples);
    assert_eq!(remote.problems, scanned.problems);
    assert_eq!((remote.scan.end_offset, remote.bytes_done), (scanned.scan.end_offset, scanned.bytes_done));
    RealFs.remove_file(&object).unwrap();
    scanned
}
