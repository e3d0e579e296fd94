//! Divides samples into shards by number of samples and archive size.

use super::append::next_number;
use super::examples::Examples;
use super::list::InputFile;
use super::pattern::NamePattern;
use super::record::{subject_of, ListedSample, RecordWriter, Records, SpoolContext};
use super::sample::SourceFile;
use super::stores::StoredContent;
use gristmill_core::text::bytes;
use gristmill_core::{Failure, Outcome, Problem, ProblemKind, ProblemSink, ShardPlan, Subject};
use gristmill_data::formats::tar_writer::{archive_bytes, EntryHeader};
use gristmill_storage::location::is_remote;
use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use xxhash_rust::xxh3::Xxh3;

/// A shard that will be written.
#[derive(Clone, Debug)]
pub(super) struct PlannedShard {
    /// Name relative to the output, including the folder of its split.
    pub(super) name: String,
    pub(super) split: String,
    /// Byte range of the records of its samples.
    pub(super) offset: u64,
    pub(super) bytes: u64,
    pub(super) samples: u64,
    pub(super) parts: u64,
    /// Size of the finished archive, in bytes.
    pub(super) archive_bytes: u64,
    /// Hash of the written entries, their sources, and the state of the input files.
    pub(super) hash: u64,
}

/// All shards, in the order of splits and shard numbers.
pub(super) struct PlannedShards {
    pub(super) records: Records,
    pub(super) shards: Vec<PlannedShard>,
    pub(super) examples: Examples,
    /// Amount of content that is read from stores.
    pub(super) stored: StoredContent,
}

/// Receives samples in their final order.
pub(super) struct Divider<'a> {
    plan: &'a ShardPlan,
    pattern: NamePattern,
    files: &'a [InputFile],
    problems: &'a dyn ProblemSink,
    writer: RecordWriter,
    done: Vec<PlannedShard>,
    open: Option<OpenShard>,
    /// Number of the next shard of the current split.
    next: u64,
    /// Number of samples of each split, if the samples are divided evenly among shards.
    counts: BTreeMap<String, u64>,
    /// Number of the first shard of each split.
    starts: BTreeMap<String, u64>,
    /// The existing set to which shards are appended.
    extended: Option<PathBuf>,
    /// The last file that was added to the hash of the shard.
    last_file: Option<SourceFile>,
    name: Vec<u8>,
    examples: Examples,
    stored: StoredContent,
    /// Whether parts may be in stores.
    reads_stores: bool,
}

struct OpenShard {
    split: String,
    /// Index of the shard in its split.
    place: u64,
    offset: u64,
    samples: u64,
    parts: u64,
    entry_bytes: u64,
    hash: Xxh3,
}

impl<'a> Divider<'a> {
    /// Creates the divider of the set with this number.
    pub(super) fn create(
        (plan, pattern): (&'a ShardPlan, NamePattern),
        files: &'a [InputFile],
        problems: &'a dyn ProblemSink,
        context: &SpoolContext<'_>,
        number: usize,
    ) -> Outcome<Self> {
        Ok(Self {
            plan,
            pattern,
            files,
            problems,
            writer: RecordWriter::create(context, &format!("set-{number}"))?,
            done: Vec::new(),
            open: None,
            next: 0,
            counts: BTreeMap::new(),
            starts: BTreeMap::new(),
            extended: plan.output.clone().filter(|_| plan.append),
            last_file: None,
            name: Vec::new(),
            examples: Examples::default(),
            stored: StoredContent::default(),
            reads_stores: plan.inputs.iter().chain(&plan.rows.media_root).any(|path| is_remote(path)),
        })
    }

    /// Sets the number of samples of each split.
    pub(super) fn expect(&mut self, counts: &BTreeMap<String, u64>) {
        self.counts.clone_from(counts);
    }

    /// Adds the next sample. All samples of a split must be added before those of the next.
    pub(super) fn push(&mut self, split: &str, listed: &ListedSample, record: &[u8]) -> Outcome<()> {
        let added = self.entry_bytes(listed);
        self.examples.add_sample(listed, self.files);
        if self.reads_stores {
            listed.sample.parts.iter().for_each(|part| self.stored.add(part, self.files));
        }
        let is_new_split = self.open.as_ref().is_some_and(|open| open.split != split);
        if is_new_split || self.open.as_ref().is_some_and(|open| self.is_full(open, added)) {
            self.close()?;
        }
        if is_new_split {
            self.next = 0;
        }
        let limit = self.plan.division.max_size;
        if archive_bytes(added) > limit && !self.is_even() {
            let why = format!("the sample needs an archive of {}, more than --max-size", bytes(archive_bytes(added)));
            self.problems.report(Problem::note(ProblemKind::Other, subject_of(&listed.sample), why))?;
        }
        if self.open.is_none() {
            let (offset, place) = (self.writer.begin_range(), self.next);
            let (samples, parts, entry_bytes, hash) = (0, 0, 0, Xxh3::new());
            self.open = Some(OpenShard { split: split.to_owned(), place, offset, samples, parts, entry_bytes, hash });
            self.next += 1;
            self.last_file = None;
        }
        if let Some(open) = &mut self.open {
            open.samples += 1;
            open.parts += listed.sample.parts.len() as u64;
            open.entry_bytes = open.entry_bytes.saturating_add(added);
            open.hash.update(record);
            for part in &listed.sample.parts {
                let Some(file) = part.origin.file() else { continue };
                if self.last_file.replace(file) == Some(file) {
                    continue;
                }
                if let Some(input) = self.files.get(file.0 as usize) {
                    let (path, stamp) = input.of_input();
                    open.hash.update(path.as_os_str().as_bytes());
                    [stamp.bytes, stamp.modified_ns as u64, stamp.inode]
                        .iter()
                        .for_each(|number| open.hash.update(&number.to_le_bytes()));
                }
            }
        }
        self.writer.push(record)
    }

    fn is_even(&self) -> bool {
        self.plan.division.even || self.plan.division.shards.is_some()
    }

    fn is_full(&self, open: &OpenShard, added: u64) -> bool {
        let division = &self.plan.division;
        if !self.is_even() {
            return open.samples >= division.max_count
                || archive_bytes(open.entry_bytes.saturating_add(added)) > division.max_size;
        }
        let total = self.counts.get(&open.split).copied().unwrap_or_default().max(1);
        let shards = division.shards.unwrap_or_else(|| total.div_ceil(division.max_count)).clamp(1, total);
        open.samples >= total / shards + u64::from(open.place < total % shards)
    }

    /// Returns the size of the archive entries of a sample, in bytes.
    fn entry_bytes(&mut self, listed: &ListedSample) -> u64 {
        let mut sum = 0u64;
        for part in &listed.sample.parts {
            entry_name(&mut self.name, &listed.sample.key, &part.name);
            let header = EntryHeader { name: &self.name, size: part.bytes, mtime: self.plan.mtime };
            sum = sum.saturating_add(header.entry_bytes());
        }
        sum
    }

    /// Returns the number of the first shard of a split.
    fn start_of(&mut self, split: &str) -> Outcome<u64> {
        if let Some(start) = self.starts.get(split) {
            return Ok(*start);
        }
        let start = match &self.extended {
            Some(set) => next_number(&set.join(split), &self.pattern, self.plan.division.start)?,
            None => self.plan.division.start,
        };
        self.starts.insert(split.to_owned(), start);
        Ok(start)
    }

    fn close(&mut self) -> Outcome<()> {
        let Some(open) = self.open.take() else { return Ok(()) };
        let start = self.start_of(&open.split)?;
        let Some(number) = start.checked_add(open.place) else {
            let failure = Failure::usage("dividing samples into shards", "the numbers of shards are too large");
            return Err(failure.on(Subject::field("--start")).with_hint("begin with a smaller number"));
        };
        let file = self.pattern.name(number);
        let name = if open.split.is_empty() { file } else { format!("{}/{file}", open.split) };
        self.done.push(PlannedShard {
            name,
            split: open.split,
            offset: open.offset,
            bytes: self.writer.begin_range() - open.offset,
            samples: open.samples,
            parts: open.parts,
            archive_bytes: archive_bytes(open.entry_bytes),
            hash: open.hash.digest(),
        });
        Ok(())
    }

    pub(super) fn finish(mut self) -> Outcome<PlannedShards> {
        self.close()?;
        let (shards, examples, stored) = (self.done, self.examples, self.stored);
        Ok(PlannedShards { records: self.writer.finish()?, shards, examples, stored })
    }
}

/// Sets `name` to the entry name of a part.
pub(super) fn entry_name(name: &mut Vec<u8>, key: &[u8], part: &[u8]) {
    name.clear();
    name.extend_from_slice(key);
    name.push(b'.');
    name.extend_from_slice(part);
}
