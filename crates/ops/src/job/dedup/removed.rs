//! Writes the ranges of all files to one file next to the report, for viewing the removed text.

use super::job::Job;
use super::report::RepeatedPassage;
use super::written::WrittenParts;
use crate::engine::dedup::removed::{end, Directory, KnownPassage, RangesOfFile, Source, MAGIC};
use gristmill_core::{Failure, Outcome};
use gristmill_data::source::dedup::TextFile;
use gristmill_storage::fs::BufferedFile;
use gristmill_storage::read::open_read;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Bytes copied at a time.
const COPY_BYTES: usize = 256 << 10;

/// A passage with its position.
#[derive(Serialize, Deserialize)]
pub(super) struct PlacedPassage {
    pub(super) file: usize,
    /// Offset in the text of the file, including separators.
    pub(super) at: u64,
    pub(super) passage: RepeatedPassage,
}

fn source_of(file: &TextFile) -> Source {
    let (bytes, modified_ns) = (file.stamp.bytes, file.stamp.modified_ns);
    Source { name: file.name.clone(), path: file.path.clone(), bytes, modified_ns }
}

/// Concatenates the sections of all files into one file; `None` for an index, whose text is not in files. Can be repeated.
pub(super) fn assemble(
    job: &Job<'_>,
    passages: &[PlacedPassage],
    written: &[WrittenParts],
) -> Outcome<Option<PathBuf>> {
    if job.inputs.shards().is_some() {
        return Ok(None);
    }
    let (fs, path) = (&*job.context.fs, job.layout.all_ranges());
    fs.remove_file(&path)?;
    let mut output = BufferedFile::new(fs.create_file(&path)?, COPY_BYTES);
    output.write_all(&MAGIC)?;
    let mut at = MAGIC.len() as u64;
    let mut directory = Directory::new(&job.plan.text_key, job.rule.min_length, job.plan.keep, job.plan.mode);
    let (earlier, own) = job.inputs.files.split_at(job.inputs.earlier_count.min(job.inputs.files.len()));
    directory.earlier = earlier.iter().map(source_of).collect();
    for (number, (file, written)) in own.iter().zip(written).enumerate() {
        job.context.cancel.check()?;
        let section = written.ranges.section;
        if section.blocks > 0 {
            copy(&job.layout.ranges_section(job.inputs.earlier_count + number), &mut output)?;
        }
        let figures = written.files.first().map(|file| file.figures).unwrap_or_default();
        let (text_bytes, removed_bytes) = (figures.text_bytes, figures.removed_bytes);
        directory.files.push(RangesOfFile { source: source_of(file), text_bytes, removed_bytes, at, section });
        at += section.bytes();
    }
    directory.passages = known_passages(job, passages, written);
    output.write_all(&end(&directory, at)?)?;
    output.close()?;
    Ok(Some(path))
}

fn copy(path: &Path, output: &mut BufferedFile) -> Outcome<()> {
    let file = open_read(path)?;
    let (mut buffer, mut at) = (vec![0; COPY_BYTES], 0);
    loop {
        let count = file.read_at(&mut buffer, at).map_err(|error| Failure::io("reading", path, &error))?;
        let Some(bytes) = buffer.get(..count).filter(|bytes| !bytes.is_empty()) else { return Ok(()) };
        output.write_all(bytes)?;
        at += count as u64;
    }
}

/// Returns the most repeated passages, with the line numbers found during writing.
fn known_passages(job: &Job<'_>, passages: &[PlacedPassage], written: &[WrittenParts]) -> Vec<KnownPassage> {
    let of = |placed: &PlacedPassage| {
        let passage = placed.passage.clone();
        let own = placed.file.checked_sub(job.inputs.earlier_count);
        let lines = own.and_then(|file| written.get(file)).map(|written| &written.lines);
        let line = lines.and_then(|lines| lines.iter().find(|line| line.at == placed.at));
        KnownPassage {
            file: own.filter(|_| line.is_some()),
            start: line.map_or(0, |line| line.start),
            line: line.map_or(0, |line| line.line.saturating_sub(1)),
            offset: line.map_or(0, |line| line.offset),
            length: passage.length,
            count: passage.count,
            text: passage.text,
        }
    };
    passages.iter().map(of).collect()
}
