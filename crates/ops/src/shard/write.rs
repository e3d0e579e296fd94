//! Writes shards, one per unit: the archive, and at the same time the spool for its index.

use super::divide::{entry_name, PlannedShard};
use super::gather::{GatherMemory, Gatherer, OpenInputs};
use super::planned::PlannedSet;
use super::record::Records;
use super::sample::Origin;
use crate::engine::index::{SpoolSink, SpooledShard};
use crate::job::journal::{DoneUnit, Journal, SpoolDigest};
use crate::job::pool::run_missing_units;
use crate::job::task::TaskContext;
use gristmill_core::{Failure, FileStamp, Mutex, Outcome, ShardId, ShardPlan, Subject};
use gristmill_data::formats::tar_writer::EntryHeader;
use gristmill_data::source::tar::WrittenShard;
use gristmill_storage::files::{self, FolderEntry};
use gristmill_storage::files_ahead::FilesAhead;
use gristmill_storage::fs::{Fs, PRIVATE_FOLDER};
use gristmill_storage::location::is_remote;
use gristmill_storage::read_ahead::read_ahead;
use gristmill_storage::run_folder::RunFolder;
use gristmill_storage::staged;
use gristmill_storage::waiting::for_each_at_once;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::path::{Path, PathBuf};

/// Divisor of the memory limit that gives the memory for sorting keys while shards are written, and the minimum in bytes.
const KEY_SHARE: u64 = 8;
const MIN_KEY_MEMORY: u64 = 64 << 10;

/// Suffix of the record of an uploaded shard.
const RECORD_END: &str = ".upload";
/// Divisor of the memory limit that gives the memory for uploads, and the memory that one shard needs for its upload in bytes.
const UPLOAD_SHARE: u64 = 2;
const MIN_UPLOAD_MEMORY: u64 = 32 << 20;

/// The folders for unfinished shards of a set.
pub(super) struct WorkFolders {
    set: PathBuf,
    shards: PathBuf,
    spools: PathBuf,
}

impl WorkFolders {
    /// Returns the folders of the set with this number.
    pub(super) fn of(work: &Path, number: usize) -> Self {
        let set = work.join(format!("set-{number}"));
        Self { shards: set.join("shards"), spools: set.join("spools"), set }
    }

    fn create(&self, context: &TaskContext) -> Outcome<()> {
        let folders = [&self.set, &self.shards, &self.spools];
        folders.into_iter().try_for_each(|folder| context.fs.create_dir(folder, PRIVATE_FOLDER))
    }

    /// Returns the path of a shard before it is published.
    pub(super) fn shard(&self, number: usize) -> PathBuf {
        self.shards.join(number.to_string())
    }

    /// Returns the path of the record of a shard that was uploaded but is not published yet.
    pub(super) fn record(&self, number: usize) -> PathBuf {
        self.shards.join(format!("{number}{RECORD_END}"))
    }
}

/// Removes the work files of a run that will not be resumed, and aborts its uploads to stores.
pub(super) fn remove_work(fs: &dyn Fs, own: &RunFolder) -> Outcome<()> {
    let mut records = Vec::new();
    for number in 0.. {
        let Ok(entries) = files::read_dir(WorkFolders::of(&own.work_folder(), number).shards) else { break };
        let paths = entries.filter_map(Result::ok).map(FolderEntry::into_path);
        records.extend(paths.filter(|path| path.to_string_lossy().ends_with(RECORD_END)));
    }
    let discard = |record: &PathBuf| {
        staged::discard(record);
        Ok(())
    };
    for_each_at_once(&records, discard, || ())?;
    own.remove_work(fs)
}

/// Writes the shards of a run.
pub(super) struct ShardWriter<'a> {
    pub(super) context: &'a TaskContext,
    pub(super) inputs: &'a OpenInputs<'a>,
    pub(super) journal: &'a Journal,
    pub(super) plan: &'a ShardPlan,
    pub(super) threads: usize,
    /// Folder for unfinished shards.
    pub(super) work_folder: PathBuf,
    /// Buffers of finished shards, reused for the next ones.
    pub(super) spare: Mutex<Vec<GatherMemory>>,
    /// Whether shards are uploaded while they are written, if the store supports it.
    pub(super) is_sending: bool,
}

/// A written shard: its index spool, and its checksum if requested.
#[derive(Serialize, Deserialize)]
pub(super) struct FinishedShard {
    pub(super) spool: SpooledShard,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) sha256: Option<String>,
}

/// A set that is being written.
struct OpenSet<'a> {
    folders: WorkFolders,
    output: &'a Path,
    records: &'a Records,
    number: usize,
    /// Number of shards that are written at the same time, and the memory for the upload of each in bytes.
    threads: usize,
    upload_memory: u64,
}

impl ShardWriter<'_> {
    /// Writes the shards of a set that a stopped run has not finished. Returns all shards, and the number of those that were already
    /// finished.
    pub(super) fn write_set(&self, number: usize, set: &PlannedSet) -> Outcome<(Vec<FinishedShard>, u64)> {
        let context = self.context;
        let open = self.open_set(number, set);
        open.folders.create(context)?;
        let units: Vec<(usize, &PlannedShard)> = set.planned.shards.iter().enumerate().collect();
        let resume = |&(number, shard): &(usize, &PlannedShard)| -> Outcome<Option<(FinishedShard, bool)>> {
            let finished = self.finished(&open, number, shard)?;
            if finished.is_some() {
                context.progress.resume_from(1, shard.archive_bytes);
            }
            Ok(finished.map(|finished| (finished, true)))
        };
        let finished = run_missing_units(&units, open.threads, &context.cancel, resume, |&(number, shard)| {
            let finished = self.write(&open, number, shard)?;
            self.record(&open, shard, &finished)?;
            context.progress.add(1, 0);
            Ok((finished, false))
        })?;
        let resumed = finished.iter().filter(|(_, is_resumed)| *is_resumed).count() as u64;
        Ok((finished.into_iter().map(|(shard, _)| shard).collect(), resumed))
    }

    fn open_set<'s>(&self, number: usize, set: &'s PlannedSet) -> OpenSet<'s> {
        let memory = self.context.options.memory_bytes / UPLOAD_SHARE;
        let sent = set.planned.shards.iter().filter(|shard| self.is_sent(&set.output, shard));
        // An upload needs at most as much memory as the shard has bytes.
        let needed = sent.map(|shard| shard.archive_bytes).max().map_or(1, |bytes| bytes.clamp(1, MIN_UPLOAD_MEMORY));
        let threads = self.threads.min(usize::try_from(memory / needed).unwrap_or(usize::MAX)).max(1);
        let at_once = threads.min(set.planned.shards.len()).max(1);
        OpenSet {
            folders: WorkFolders::of(&self.work_folder, number),
            output: &set.output,
            records: &set.planned.records,
            number,
            threads,
            upload_memory: memory / at_once as u64,
        }
    }

    /// Whether a shard is uploaded while it is written.
    fn is_sent(&self, output: &Path, shard: &PlannedShard) -> bool {
        let memory = (self.context.options.memory_bytes / UPLOAD_SHARE).max(MIN_UPLOAD_MEMORY);
        self.is_sending && staged::can_stage(&output.join(&shard.name), shard.archive_bytes, memory)
    }

    /// Returns the total size of the unfinished shards that are written to local disks.
    pub(super) fn missing_bytes(&self, sets: &[PlannedSet]) -> u64 {
        let missing = |(number, set): (usize, &PlannedSet)| {
            let folders = WorkFolders::of(&self.work_folder, number);
            let is_missing = |(number, shard): &(usize, &PlannedShard)| {
                !self.is_sent(&set.output, shard)
                    && !files::metadata(folders.shard(*number)).is_ok_and(|info| info.len() == shard.archive_bytes)
            };
            set.planned
                .shards
                .iter()
                .enumerate()
                .filter(is_missing)
                .map(|(_, shard)| shard.archive_bytes)
                .fold(0, u64::saturating_add)
        };
        sets.iter().enumerate().map(missing).fold(0, u64::saturating_add)
    }

    /// Returns the name of a shard in the journal.
    fn unit(set: &OpenSet<'_>, shard: &PlannedShard) -> String {
        format!("{}/{}", set.number, shard.name)
    }

    /// Returns the stamp that the journal records for a shard.
    fn state(shard: &PlannedShard) -> FileStamp {
        FileStamp { bytes: shard.archive_bytes, modified_ns: 0, inode: shard.hash }
    }

    /// Returns a shard that a stopped run has finished, if its files have not changed.
    fn finished(&self, set: &OpenSet<'_>, number: usize, shard: &PlannedShard) -> Outcome<Option<FinishedShard>> {
        let Some(done) = self.journal.finished(&Self::unit(set, shard), &Self::state(shard)) else { return Ok(None) };
        let Ok(finished) = serde_json::from_str::<FinishedShard>(&done.notes) else { return Ok(None) };
        let spool = SpooledShard { dir: set.folders.spools.clone(), ..finished.spool };
        let record = set.folders.record(number);
        let is_whole = match files::is_file(&record) {
            true => staged::is_kept(&set.output.join(&shard.name), &record, shard.archive_bytes)?,
            false => files::metadata(set.folders.shard(number)).is_ok_and(|info| info.len() == shard.archive_bytes),
        };
        Ok((is_whole && spool.id.0 as usize == number && spool.is_intact()?)
            .then_some(FinishedShard { spool, ..finished }))
    }

    fn record(&self, set: &OpenSet<'_>, shard: &PlannedShard, finished: &FinishedShard) -> Outcome<()> {
        let (bytes, xxh3) = finished.spool.fingerprint();
        let notes = serde_json::to_string(finished).map_err(|error| {
            Failure::environment("writing the journal", error.to_string()).on(Subject::shard(&shard.name))
        })?;
        let spool = SpoolDigest { bytes, xxh3 };
        self.journal.record(&DoneUnit { unit: Self::unit(set, shard), input: Self::state(shard), spool, notes })
    }

    fn write(&self, set: &OpenSet<'_>, number: usize, shard: &PlannedShard) -> Outcome<FinishedShard> {
        let fs = &*self.context.fs;
        let (path, record) = (set.folders.shard(number), set.folders.record(number));
        // Removes the unfinished shard of a killed run.
        fs.remove_file(&path)?;
        staged::discard(&record);
        fs.remove_file(&record)?;
        let target = set.output.join(&shard.name);
        let out = match self.is_sent(set.output, shard) {
            true => staged::create(fs, &target, record, (shard.archive_bytes, set.upload_memory))?,
            false => fs.create_file(&path)?,
        };
        let id = ShardId(u32::try_from(number).unwrap_or(u32::MAX));
        let memory = (self.context.options.memory_bytes / (KEY_SHARE * self.threads.max(1) as u64)).max(MIN_KEY_MEMORY);
        let memory = usize::try_from(memory).unwrap_or(usize::MAX);
        let mut sink = SpoolSink::create(fs, &set.folders.spools, (id, &shard.name), memory)?;
        let mut groups = WrittenShard::new(&shard.name, &mut sink);
        let memory = self.spare.lock().pop().unwrap_or_default();
        let mut archive = Gatherer::new(self.inputs, self.context, out, memory);
        archive.hash = self.plan.checksums.then(Sha256::new);
        let _ahead = self.read_files_ahead(set, shard)?;
        let mut samples = set.records.open_range(shard.offset, shard.bytes)?;
        let mut name = Vec::new();
        while let Some(listed) = samples.next_sample()? {
            for part in &listed.sample.parts {
                entry_name(&mut name, &listed.sample.key, &part.name);
                let offset = archive.position();
                EntryHeader { name: &name, size: part.bytes, mtime: self.plan.mtime }.write(archive.header());
                groups.entry(&name, (offset, archive.position()), part.bytes, b"")?;
                archive.content(part)?;
            }
        }
        let scan = groups.finish(archive.position())?;
        let (memory, sha256) = archive.finish(shard.archive_bytes)?;
        self.spare.lock().push(memory);
        Ok(FinishedShard { spool: sink.finish(scan)?, sha256 })
    }

    /// Starts to fetch the files in a store from which a shard gets its content.
    fn read_files_ahead(&self, set: &OpenSet<'_>, shard: &PlannedShard) -> Outcome<Option<FilesAhead>> {
        if !self.plan.inputs.iter().any(|input| is_remote(input)) {
            return Ok(None);
        }
        let mut samples = set.records.open_range(shard.offset, shard.bytes)?;
        let mut files = Vec::new();
        while let Some(listed) = samples.next_sample()? {
            files.extend(listed.sample.parts.into_iter().filter_map(|part| match part.origin {
                Origin::File { path, stamp } => Some((path, stamp)),
                _ => None,
            }));
        }
        Ok(Some(read_ahead(files.iter().map(|(path, stamp)| (&**path, *stamp)))))
    }
}
