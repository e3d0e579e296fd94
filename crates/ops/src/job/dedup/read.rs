//! First stage: reads the documents of each unit and produces text, anchor records, and the intervals found by the scan itself.

use super::anchors::{AnchorScan, Collector, Run};
use super::inputs::LineRange;
use super::job::Job;
use super::notes::Notes;
use super::recorded_passages::{passages_of, recorded_passages, RecordedPassage};
use super::source::{each_line, Line};
use super::spill_buffer::{FinishedSpill, Mark, SpillBuffer};
use super::spool::ScratchSpool;
use crate::engine::dedup::line_notes::LineNote;
use crate::engine::dedup::write_back::{Layout, TextPieces as _, WriteBack};
use crate::job::pool::run_missing_units;
use gristmill_core::dedup::Mode;
use gristmill_core::handles::MAX_LISTED_PROBLEMS;
use gristmill_core::{Outcome, Problem, ProblemSink, RecordedProblems};
use gristmill_data::source::dedup::{lines_before, Kind, TextFile};
use gristmill_dedup::Scanner;
use gristmill_storage::parts_ahead::PartsAhead;
use gristmill_storage::read::{open_part_ahead, open_read};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;

/// Number of units in stores that are prefetched while others are read, unless there are more threads.
const UNITS_AHEAD: usize = 8;
/// Documents between two progress updates.
const PROGRESS_EVERY: u64 = 256;
/// Bytes of a file between two possible boundaries of its output pieces, unless units are smaller.
const BOUNDARY_BYTES: u64 = 2 << 20;
/// Byte that precedes each document.
const SEPARATOR: &[u8] = &[0xff];

/// Facts about a file, or a part of one, after it was read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileFacts {
    /// Bytes of the text of the file including separators: the number of positions that its documents occupy.
    pub(super) bytes: u64,
    pub(super) documents: u64,
    /// Lines without usable text.
    pub(super) copied: u64,
    pub(super) lines: u64,
    /// Blank lines, or rows without a value, among the lines without usable text.
    pub(super) blank: u64,
    /// Possible boundaries of output pieces, for a file that is written in pieces.
    pub(super) seams: Vec<LineBoundary>,
}

/// A boundary between two lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LineBoundary {
    /// Offset in the file, in bytes.
    pub(super) offset: u64,
    /// Lines before the boundary, counted from the beginning of the part.
    pub(super) line: u64,
    /// Bytes of text before the boundary, including separators, counted from the beginning of the part.
    pub(super) at: u64,
}

/// Records a problem. In strict mode, it ends the run at once.
fn add_problem(recorded: &mut RecordedProblems, problem: Problem, strict: Option<&dyn ProblemSink>) -> Outcome<()> {
    if let Some(sink) = strict {
        sink.report(problem.clone())?;
    }
    recorded.add(problem, MAX_LISTED_PROBLEMS);
    Ok(())
}

/// The result of a unit, as stored in the journal.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ReadUnitRecord {
    pub(super) files: Vec<FileFacts>,
    pub(super) findings: RecordedProblems,
    text: Mark,
    anchors: Mark,
    found: Mark,
    runs: Vec<Run>,
    passages: Vec<RecordedPassage>,
}

/// A unit that was read.
pub(super) struct ReadUnit {
    pub(super) files: Vec<FileFacts>,
    pub(super) findings: RecordedProblems,
    pub(super) text: FinishedSpill,
    pub(super) collected: AnchorScan,
    /// Notes of all lines, if there was memory for them.
    pub(super) notes: Option<Arc<Notes>>,
    /// Whether the unit was read by an earlier run.
    pub(super) is_resumed: bool,
}

impl ReadUnit {
    /// Returns the bytes that the unit wrote to scratch.
    pub(super) fn on_disk(&self) -> u64 {
        let piles = [&self.text, &self.collected.anchors, &self.collected.found];
        piles.into_iter().filter_map(FinishedSpill::mark).map(|mark| mark.bytes).sum()
    }
}

/// Returns the path of a file of a unit.
fn path_of(job: &Job<'_>, number: usize, what: &str) -> PathBuf {
    job.layout.scratch.join(format!("{number}.{what}"))
}

fn read_unit(job: &Job<'_>, number: usize, stretches: &[LineRange]) -> Outcome<ReadUnit> {
    let path = |what: &str| path_of(job, number, what);
    let mut reading = UnitReader::new(job, number, stretches, &path)?;
    let mut facts = Vec::new();
    for stretch in stretches {
        if let Some(file) = job.inputs.files.get(stretch.file) {
            facts.push(reading.file(stretch, file)?);
        }
    }
    // Data in memory is lost with the process, so a unit is only recorded as done when all of its data is on disk.
    let on_disk = reading.text.is_spilled() || reading.sink.is_spilled();
    if on_disk {
        reading.text.spill()?;
    }
    let text = reading.text.finish()?;
    let collected = reading.sink.finish(on_disk)?;
    let (findings, notes) = (reading.findings, reading.notes.map(Arc::new));
    if let (Some(text), Some(anchors), Some(found)) = (text.mark(), collected.anchors.mark(), collected.found.mark()) {
        let noted = ReadUnitRecord {
            files: facts.clone(),
            findings: findings.clone(),
            text,
            anchors,
            found,
            runs: collected.runs.clone(),
            passages: recorded_passages(&collected.passages),
        };
        job.note(&name_of(number), &noted)?;
    }
    Ok(ReadUnit { files: facts, findings, text, collected, notes, is_resumed: false })
}

/// Returns a unit that a stopped run read; `None` if a part of it is missing or damaged.
fn resume_unit(job: &Job<'_>, number: usize, stretches: &[LineRange]) -> Outcome<Option<ReadUnit>> {
    let Some(noted) = job.recorded_unit::<ReadUnitRecord>(&name_of(number)) else { return Ok(None) };
    let [text, anchors, found] = ["text", "anchors", "found"].map(|what| path_of(job, number, what));
    for (mark, path) in [(noted.text, &text), (noted.anchors, &anchors), (noted.found, &found)] {
        if !mark.is_unchanged(path)? {
            return Ok(None);
        }
    }
    let collected = AnchorScan {
        anchors: FinishedSpill::of_file(anchors, noted.anchors),
        runs: noted.runs,
        found: FinishedSpill::of_file(found, noted.found),
        passages: passages_of(&noted.passages),
    };
    let text = FinishedSpill::of_file(text, noted.text);
    let (files, findings) = (noted.files, noted.findings);
    let bytes = stretches.iter().map(|stretch| job.inputs.bytes_of(stretch)).sum();
    job.context.progress.resume_from(files.iter().map(|facts| facts.documents).sum(), bytes);
    Ok(Some(ReadUnit { files, findings, text, collected, notes: None, is_resumed: true }))
}

/// A unit that is being read.
struct UnitReader<'a> {
    job: &'a Job<'a>,
    number: usize,
    scanner: Scanner,
    text: SpillBuffer<'a>,
    sink: Collector<'a>,
    findings: RecordedProblems,
    spare: String,
    write_back: WriteBack,
    /// `None` once the budget has no memory for notes.
    notes: Option<Notes>,
}

impl<'a> UnitReader<'a> {
    fn new(job: &'a Job<'a>, number: usize, stretches: &[LineRange], path: &impl Fn(&str) -> PathBuf) -> Outcome<Self> {
        let fs = &*job.context.fs;
        let pile = |what: &str| SpillBuffer::new(fs, path(what), &job.budget);
        let (division, run_bytes) = (&job.division, job.memory.run_bytes(job.division.parts));
        let sink = Collector::new(division.narrow, division.parts, run_bytes, pile("anchors"), pile("found"));
        let scanner = Scanner::new(&job.rule);
        let (findings, spare) = (RecordedProblems::default(), String::new());
        let back = WriteBack::new(&Layout::of(job.plan)?);
        // The earlier set is only compared with, so nothing is written for it.
        let is_written = stretches.first().is_some_and(|stretch| stretch.file >= job.inputs.earlier_count);
        let notes = (is_written && job.plan.mode == Mode::Remove).then(|| Notes::new(&job.budget));
        Ok(Self { job, number, scanner, text: pile("text"), sink, findings, spare, write_back: back, notes })
    }

    fn file(&mut self, stretch: &LineRange, file: &TextFile) -> Outcome<FileFacts> {
        let (job, context) = (self.job, self.job.context);
        let strict: Option<&dyn ProblemSink> = context.options.strict.then_some(&*context.problems);
        let spool = ScratchSpool::new(&context.fs, job.layout.scratch.join(format!("{}.line", self.number)));
        let mut facts = FileFacts::default();
        let (base, mut told) = (self.text.len(), (0, stretch.from.offset));
        let is_divided = job.inputs.is_divided(stretch.file, &job.division);
        let (mut seam, distance) = (stretch.from.offset, BOUNDARY_BYTES.min(job.division.unit_bytes));
        let (key, cancel) = (&job.plan.text_key, &context.cancel);
        let damage = each_line(job.inputs, stretch, key, Box::new(spool), cancel, &mut |line, read| {
            if is_divided && line.start() >= seam + distance {
                seam = line.start();
                facts.seams.push(LineBoundary { offset: seam, line: facts.lines, at: self.text.len() - base });
            }
            facts.lines += 1;
            let (mut text_bytes, mut found) = (0, None);
            match line.kind() {
                Kind::Document => {
                    text_bytes = self.document(line)?;
                    facts.documents += 1;
                    found = line.repeated_key(file).filter(|_| stretch.file >= job.inputs.earlier_count);
                }
                Kind::Passed(_) => {
                    facts.copied += 1;
                    found = line.problem(file);
                }
                Kind::Blank | Kind::Null => facts.blank += 1,
            }
            if let Some(mut problem) = found {
                if strict.is_some() && stretch.from.offset > 0 {
                    // The problem ends the run, so its line number in the file is determined now.
                    let before = lines_before(&open_read(&file.path)?, stretch.from.offset, cancel)?;
                    problem.subject.line = problem.subject.line.map(|line| line + before);
                }
                add_problem(&mut self.findings, problem, strict)?;
            }
            self.note(line, text_bytes)?;
            if facts.documents - told.0 >= PROGRESS_EVERY {
                context.progress.add(facts.documents - told.0, read.saturating_sub(told.1));
                told = (facts.documents, read.max(told.1));
            }
            Ok(true)
        })?;
        context.progress.add(facts.documents - told.0, file.bytes.min(stretch.to).saturating_sub(told.1));
        if let Some(problem) = damage {
            add_problem(&mut self.findings, problem, strict)?;
        }
        facts.bytes = self.text.len() - base;
        Ok(facts)
    }

    /// Adds a note of a line for the write stage, as long as there is memory for notes.
    fn note(&mut self, line: Line<'_>, text_bytes: u64) -> Outcome<()> {
        let Some(notes) = &mut self.notes else { return Ok(()) };
        let note = match line {
            Line::Of(record) => self.write_back.note(record, text_bytes)?,
            _ => LineNote::default(),
        };
        if !notes.add(note) {
            self.notes = None;
        }
        Ok(())
    }

    /// Appends the text of a document and returns its length in bytes.
    fn document(&mut self, line: Line<'_>) -> Outcome<u64> {
        self.text.append(SEPARATOR)?;
        let (text, scanner, sink) = (&mut self.text, &mut self.scanner, &mut self.sink);
        // A text shorter than the minimum length has no window.
        if line.most_bytes() < self.job.rule.min_length {
            return line.each_piece(&mut self.spare, &mut |piece| text.append(piece.as_bytes()));
        }
        scanner.start_document(text.len());
        let bytes = line.each_piece(&mut self.spare, &mut |piece| {
            text.append(piece.as_bytes())?;
            scanner.push(piece.as_bytes(), sink)
        })?;
        scanner.end_document(sink)?;
        Ok(bytes)
    }
}

/// Starts to prefetch a unit that is read later.
fn begin_unit(job: &Job<'_>, parts: &PartsAhead, stretches: &[LineRange]) {
    let Some(first) = stretches.first() else { return };
    if let Some(file) = job.inputs.files.get(first.file).filter(|file| file.has_plain_lines()) {
        open_part_ahead(&file.path, first.from.offset..first.to, parts);
    }
}

/// Returns the name of a unit in the journal.
fn name_of(number: usize) -> String {
    format!("read/{number}")
}

pub(super) fn read_all(job: &Job<'_>, units: &[Vec<LineRange>]) -> Outcome<Vec<ReadUnit>> {
    let parts = PartsAhead::begin();
    let begin = |number: usize| {
        if let Some(unit) =
            units.get(number).filter(|_| job.recorded_unit::<ReadUnitRecord>(&name_of(number)).is_none())
        {
            begin_unit(job, &parts, unit);
        }
    };
    let ahead = job.memory.threads.max(UNITS_AHEAD);
    (job.memory.threads..ahead).for_each(&begin);
    let numbered: Vec<(usize, &Vec<LineRange>)> = units.iter().enumerate().collect();
    let resume = |(number, stretches): &(usize, &Vec<LineRange>)| resume_unit(job, *number, stretches);
    run_missing_units(&numbered, job.memory.threads, &job.context.cancel, resume, |(number, stretches)| {
        begin(*number + ahead);
        read_unit(job, *number, stretches)
    })
}
