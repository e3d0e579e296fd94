//! Last stage before publication: writes the index of the reference program, shard by shard (docs/formats/bsade.md §3 and §5).

use super::forecast;
use super::inputs::LineRange;
use super::job::Job;
use super::merge::{Ranges, UnitRanges};
use super::notes::Notes;
use super::read::FileFacts;
use super::source::{each_line, Line};
use super::spool::ScratchSpool;
use crate::engine::dedup::export::{shards_that_fit, write_table, RangesExport, ShardExport};
use crate::engine::dedup::line_notes::LineNote;
use crate::engine::dedup::write_back::TextPieces as _;
use crate::job::pool::run_units;
use crate::job::publish::FinishedFile;
use crate::job::Phase;
use gristmill_core::{text, Failure, Outcome, Subject};
use gristmill_data::formats::bsade::{
    ranges_folder, shard_files, shard_folder, Shortener, KEPT_LENGTHS, METADATA, METAOFF, OFFSET, REMOVE_RANGES, TABLE,
    TOKENIZED,
};
use gristmill_data::source::dedup::Kind;
use gristmill_storage::fs::PRIVATE_FOLDER;
use std::path::PathBuf;
use std::sync::Arc;

/// Lines between two progress updates.
const PROGRESS_EVERY: u64 = 256;

/// A file of the set.
pub(super) struct PlacedFile {
    /// Index among all files.
    pub(super) file: usize,
    /// Parts in which the file was read.
    pub(super) parts: Vec<PlacedPart>,
    /// Bytes of the text of the file, including separators.
    pub(super) bytes: u64,
}

/// A file, or a part of one, with the location of its ranges.
pub(super) struct PlacedPart {
    /// Lines of the part, counted from the beginning of the file.
    pub(super) lines: LineRange,
    pub(super) unit: usize,
    pub(super) ranges: UnitRanges,
    /// Offset of the text of the part in the text of the unit.
    pub(super) base: u64,
    /// Offset of the text of the part in the text of the file.
    pub(super) at: u64,
    pub(super) facts: FileFacts,
    /// Notes of the lines of the unit, and how many of them precede the lines of this part.
    pub(super) notes: Option<(Arc<Notes>, usize)>,
}

impl PlacedPart {
    /// Returns the notes of the lines from the beginning of `piece` on.
    pub(super) fn notes_from(&self, piece: &LineRange) -> impl Iterator<Item = LineNote> + '_ {
        let before = usize::try_from(piece.from.line - self.lines.from.line).unwrap_or(usize::MAX);
        self.notes.iter().flat_map(move |(notes, first)| notes.from(first.saturating_add(before)))
    }
}

/// Refuses the run if there is not enough memory for a suffix table, before anything is written.
pub(super) fn check_table(job: &Job<'_>, files: &[PlacedFile]) -> Outcome<()> {
    if !job.plan.table {
        return Ok(());
    }
    let sizes: Vec<u64> = files.iter().map(|placed| placed.bytes).collect();
    let memory = job.context.options.memory_bytes;
    let hint = match shards_that_fit(&sizes, job.plan.shards, memory) {
        Some(shards) if shards == job.plan.shards => return Ok(()),
        Some(shards) => format!("--shards {shards} fits, or give more --memory"),
        None => "give more --memory; one file alone is too large for what is allowed".into(),
    };
    let why = format!("the suffix table of a shard needs more than the {} that are allowed", text::bytes(memory));
    Err(Failure::usage("deduplicating", why).on(Subject::field("--table")).with_hint(hint))
}

/// Writes all shards; their files become visible together with the result.
pub(super) fn export_all(job: &Job<'_>, files: &[PlacedFile]) -> Outcome<Vec<FinishedFile>> {
    let (plan, context) = (job.plan, job.context);
    if job.layout.index.is_none() && job.layout.ranges.is_none() {
        return Ok(Vec::new());
    }
    let shards = u64::from(job.inputs.shards().unwrap_or(plan.shards));
    let line = format!("exporting {}", text::count(shards, "shard"));
    context.stage(Phase::Write, "document", forecast::exporting(job), line);
    context.progress.expect(0, forecast::own_bytes(job));
    let count = job.inputs.shards().unwrap_or(plan.shards);
    let shards: Vec<u32> = (0..count).collect();
    let made = run_units(&shards, job.memory.threads, &context.cancel, |shard| {
        let own = files.get(shard_files(files.len(), count, *shard)).unwrap_or_default();
        export(job, *shard, own)
    })?;
    let mut made: Vec<FinishedFile> = made.into_iter().flatten().collect();
    if let (true, Some(index)) = (plan.table, &job.layout.index) {
        // One shard at a time, as each may use all the memory.
        for shard in shards {
            let folder = job.layout.shard(shard);
            write_table(&*context.fs, &folder, context.options.memory_bytes, &context.cancel)?;
            let (written, target) = (folder.join(TABLE), shard_folder(index, shard).join(TABLE));
            made.push(FinishedFile::of(written, target)?);
        }
    }
    Ok(made)
}

fn export(job: &Job<'_>, shard: u32, files: &[PlacedFile]) -> Outcome<Vec<FinishedFile>> {
    let (fs, plan) = (&*job.context.fs, job.plan);
    let folder = job.layout.shard(shard);
    fs.remove_dir_all(&folder)?;
    fs.create_dir(&folder, PRIVATE_FOLDER)?;
    let mut index = job.layout.index.as_ref().map(|_| ShardExport::create(fs, &folder)).transpose()?;
    let mut ranges = RangesExport::create(fs, &folder)?;
    let mut separator = 0;
    for part in files.iter().flat_map(|placed| &placed.parts) {
        let Some(file) = job.inputs.files.get(part.lines.file) else { continue };
        let spool = ScratchSpool::new(&job.context.fs, folder.join("line"));
        let known = Ranges::of(job, part.unit, &part.ranges);
        let mut walk = known.from(part.base)?;
        let (mut at, mut told, mut count) = (0, (0, part.lines.from.offset), 0);
        let (mut found, mut shortened, mut spare) = (Vec::new(), Vec::new(), String::new());
        let (key, cancel) = (&plan.text_key, &job.context.cancel);
        each_line(job.inputs, &part.lines, key, Box::new(spool), cancel, &mut |line, read| {
            if line.kind() != Kind::Document {
                return Ok(true);
            }
            let len = line.text_bytes(&mut spare)?;
            walk.of_document(at + 1, len, &mut found)?;
            shortened.clear();
            if !found.is_empty() {
                let mut shortener = Shortener::new(&found);
                line.each_piece(&mut spare, &mut |piece| {
                    shortener.push(piece, &mut shortened);
                    Ok(())
                })?;
            }
            ranges.add(separator + at, &found, &shortened)?;
            if let (Some(index), Line::Of(record)) = (&mut index, line) {
                index.add(&file.name, record)?;
            }
            at += 1 + len;
            count += 1;
            if count % PROGRESS_EVERY == 0 {
                job.context.progress.add(count - told.0, read.saturating_sub(told.1));
                told = (count, read.max(told.1));
            }
            Ok(true)
        })?;
        job.context.progress.add(count - told.0, file.bytes.min(part.lines.to).saturating_sub(told.1));
        separator += at;
    }
    ranges.finish(fs, &folder)?;
    let mut made = Vec::new();
    let mut add = |name: &str, target: PathBuf| -> Outcome<()> {
        made.push(FinishedFile::of(folder.join(name), target.join(name))?);
        Ok(())
    };
    if let (Some(index), Some(to)) = (index, &job.layout.index) {
        index.finish()?;
        for name in [TOKENIZED, OFFSET, METADATA, METAOFF] {
            add(name, shard_folder(to, shard))?;
        }
    }
    let length = plan.min_length.unwrap_or_default();
    for to in [&job.layout.index, &job.layout.ranges].into_iter().flatten() {
        for name in [REMOVE_RANGES, KEPT_LENGTHS] {
            add(name, ranges_folder(to, shard, length))?;
        }
    }
    Ok(made)
}
