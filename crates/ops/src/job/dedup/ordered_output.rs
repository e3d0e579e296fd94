//! The output of one file: pieces are produced in parallel and written in order.

use super::export::{PlacedFile, PlacedPart};
use super::inputs::LineRange;
use super::job::Job;
use super::output::Hash;
use super::source::Line;
use super::written::{PlaceInLine, WrittenFile, WrittenParts, WrittenRanges};
use super::Figures;
use crate::engine::dedup::output::CompressedOutput;
use crate::engine::dedup::removed::{RangeBlocks, Section};
use gristmill_core::{Cancel, Mutex, Outcome};
use gristmill_data::source::dedup::Position;
use gristmill_storage::fs::BufferedFile;
use std::sync::{Condvar, MutexGuard, PoisonError};
use std::time::Duration;

/// Interval at which a waiting thread checks for cancellation.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A piece of a file whose output is made by one thread.
#[derive(Clone, Copy)]
pub(super) struct OutputUnit {
    /// Index of the part within the file.
    pub(super) part: usize,
    pub(super) lines: LineRange,
    /// Offset of the text of the piece in the text of the part, and its length, both including separators.
    pub(super) at: u64,
    pub(super) bytes: u64,
}

/// A file that is being written: pieces are produced in parallel and written in order.
pub(super) struct OrderedOutput {
    pub(super) pieces: Vec<OutputUnit>,
    down: Mutex<OutputState>,
    turn: Condvar,
}

#[derive(Default)]
pub(super) struct OutputState {
    /// The piece that is written next.
    pub(super) next: usize,
    output: Option<(CompressedOutput, Hash)>,
    /// Files of the result; the last one is being written.
    pub(super) files: Vec<WrittenFile>,
    pub(super) lines: Vec<PlaceInLine>,
    /// Ranges of removed text, for viewing them; the file is created with the first range.
    section: Section,
    ranges: Option<(BufferedFile, Hash)>,
    written: WrittenRanges,
}

impl OrderedOutput {
    pub(super) fn of(job: &Job<'_>, placed: &PlacedFile, is_wanted: bool) -> Self {
        // With very many files, each is one piece: an exact capacity avoids allocating space for further pieces.
        let count = |part: &PlacedPart| part.facts.seams.len() + 1;
        let mut pieces = Vec::with_capacity(if is_wanted { placed.parts.iter().map(count).sum() } else { 0 });
        for (number, part) in placed.parts.iter().enumerate().filter(|_| is_wanted) {
            let whole = OutputUnit { part: number, lines: part.lines, at: 0, bytes: part.facts.bytes };
            let mut last = whole;
            for seam in &part.facts.seams {
                let from = Position { offset: seam.offset, line: part.lines.from.line + seam.line };
                let stretch = LineRange { to: seam.offset, ..last.lines };
                pieces.push(OutputUnit { lines: stretch, bytes: seam.at - last.at, ..last });
                let stretch = LineRange { from, ..whole.lines };
                last = OutputUnit { lines: stretch, at: seam.at, bytes: whole.bytes - seam.at, ..whole };
            }
            pieces.push(last);
        }
        let mut down = OutputState::default();
        if let Some(file) = job.inputs.files.get(placed.file) {
            if job.inputs.shard_of(placed.file).is_none() {
                down.begin(&file.name, file.bytes);
            }
        }
        Self { pieces, down: Mutex::new(down), turn: Condvar::new() }
    }

    pub(super) fn into_written(self) -> WrittenParts {
        let down = self.down.into_inner();
        WrittenParts { files: down.files, lines: down.lines, ranges: down.written, is_resumed: false }
    }

    /// Wakes the threads that wait, so that the next piece can be written.
    pub(super) fn call_next(&self) {
        self.turn.notify_all();
    }

    /// Waits until a piece is next, which then has exclusive access.
    pub(super) fn wait_for(&self, piece: usize, cancel: &Cancel) -> Outcome<MutexGuard<'_, OutputState>> {
        let mut down = self.down.lock();
        while down.next != piece {
            cancel.check()?;
            down = self.turn.wait_timeout(down, POLL_INTERVAL).unwrap_or_else(PoisonError::into_inner).0;
        }
        Ok(down)
    }
}

impl OutputState {
    /// Begins a file of the result.
    fn begin(&mut self, name: &str, input_bytes: u64) {
        self.files.reserve_exact(usize::from(self.files.is_empty()));
        self.files.push(WrittenFile { name: name.to_owned(), input_bytes, mark: None, figures: Figures::default() });
    }

    /// Ends the file that is being written.
    pub(super) fn end(&mut self) -> Outcome<()> {
        let Some((output, hash)) = self.output.take() else { return Ok(()) };
        let mark = hash.close(output.end()?)?;
        if let Some(last) = self.files.last_mut() {
            last.mark = Some(mark);
        }
        Ok(())
    }

    /// Writes the collected ranges.
    pub(super) fn put_ranges(&mut self, job: &Job<'_>, file: usize, gathered: &mut RangeBlocks) -> Outcome<()> {
        if gathered.is_empty() {
            return Ok(());
        }
        let bytes = self.section.add(gathered);
        let output = match &mut self.ranges {
            Some((output, _)) => output,
            none => {
                let hash = Hash::default();
                let output = hash.create(&*job.context.fs, &job.layout.ranges_section(file))?;
                &mut none.insert((output, hash)).0
            }
        };
        output.write_all(&bytes)
    }

    /// Ends the ranges of a file.
    pub(super) fn end_ranges(&mut self) -> Outcome<WrittenRanges> {
        let (table, section) = self.section.end();
        let mark = match self.ranges.take() {
            Some((mut output, hash)) => {
                output.write_all(&table)?;
                Some(hash.close(output)?)
            }
            None => None,
        };
        self.written = WrittenRanges { section, mark };
        Ok(self.written)
    }

    /// Begins the next file if the line of an index belongs to one.
    pub(super) fn begin_next_file(&mut self, line: &Line<'_>) -> Outcome<()> {
        match line.file() {
            Some(name) if self.files.last().is_none_or(|last| last.name != name) => {
                self.end()?;
                self.begin(name, 0);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Returns the output. It is created with its first line, because a file without lines has no output.
    pub(super) fn open(&mut self, job: &Job<'_>, file: usize) -> Outcome<&mut CompressedOutput> {
        let output = match self.output.take() {
            Some(output) => output,
            None => {
                let number = self.files.len().saturating_sub(1);
                let path = job.layout.staged(file, number);
                let name = self.files.last().map_or("", |file| file.name.as_str());
                job.context.uploads.add(path.clone(), job.layout.target(name));
                let hash = Hash::default();
                let created = hash.create(&*job.context.fs, &path)?;
                let is_table = job.inputs.files.get(file).is_some_and(|file| file.source.is_table());
                let output =
                    if is_table { CompressedOutput::plain(created) } else { CompressedOutput::new(created, name)? };
                (output, hash)
            }
        };
        Ok(&mut self.output.insert(output).0)
    }
}
