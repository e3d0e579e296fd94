//! First stage: each unit's documents become text, records of anchors, and what the scan finds by itself.

use super::anchors::{Collected, Collector, Run};
use super::pile::{Mark, Pile, Stored};
use super::run::Job;
use super::source::{each_line, Line, Stretch};
use super::spool::ScratchSpool;
use crate::engine::dedup::find::Scanner;
use crate::engine::dedup::write_back::Pieces as _;
use crate::model::handles::KEPT_PROBLEMS;
use crate::model::{text, Outcome, Problem, ProblemKind, ProblemSink, Severity, Subject};
use crate::source::dedup::{Kind, TextFile};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::path::PathBuf;

/// Documents between two looks at the progress.
const TOLD: u64 = 256;
/// What stands in front of each document.
const SEPARATOR: &[u8] = &[0xff];

/// What is known of a file after it was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileFacts {
    /// Bytes of its text with the separators: what its documents take of all positions.
    pub(super) bytes: u64,
    /// Documents.
    pub(super) documents: u64,
    /// Lines without usable text.
    pub(super) copied: u64,
}

/// Findings of a unit: told once more by a run that goes on.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Findings {
    pub(super) kept: Vec<Problem>,
    /// Findings that were not kept.
    pub(super) more: Vec<(Severity, ProblemKind, u64)>,
}

impl Findings {
    /// Takes one; with a strict sink a problem ends the run at once.
    fn add(&mut self, problem: Problem, strict: Option<&dyn ProblemSink>) -> Outcome<()> {
        if let Some(sink) = strict {
            sink.report(problem.clone())?;
        }
        if self.kept.len() < KEPT_PROBLEMS {
            self.kept.push(problem);
            return Ok(());
        }
        let known = self.more.iter_mut().find(|(s, k, _)| (*s, *k) == (problem.severity, problem.kind));
        match known {
            Some((_, _, count)) => *count += 1,
            None => self.more.push((problem.severity, problem.kind, 1)),
        }
        Ok(())
    }

    /// Tells them, those that were kept one by one.
    pub(super) fn tell(&self, sink: &dyn ProblemSink) -> Outcome<()> {
        for (severity, kind, count) in &self.more {
            sink.count_more(*severity, *kind, *count);
        }
        self.kept.iter().try_for_each(|problem| sink.report(problem.clone()))
    }
}

/// What a unit came to, as the journal keeps it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Noted {
    pub(super) files: Vec<FileFacts>,
    pub(super) findings: Findings,
    text: Mark,
    anchors: Mark,
    found: Mark,
    runs: Vec<Run>,
}

/// A unit that was read.
pub(super) struct ReadUnit {
    pub(super) files: Vec<FileFacts>,
    pub(super) findings: Findings,
    pub(super) text: Stored,
    pub(super) collected: Collected,
    /// An earlier run did it.
    pub(super) is_resumed: bool,
}

impl ReadUnit {
    /// Bytes of it that went to scratch.
    pub(super) fn on_disk(&self) -> u64 {
        let piles = [&self.text, &self.collected.anchors, &self.collected.found];
        piles.into_iter().filter_map(Stored::mark).map(|mark| mark.bytes).sum()
    }
}

/// Reads one unit, unless a stopped run did and all of it is there.
pub(super) fn read_unit(job: &Job<'_>, number: usize, files: &Range<usize>) -> Outcome<ReadUnit> {
    let name = format!("read/{number}");
    let path = |what: &str| job.layout.scratch.join(format!("{number}.{what}"));
    if let Some(noted) = job.noted::<Noted>(&name) {
        if let Some(unit) = resumed(noted, path)? {
            let bytes = job.inputs.files.get(files.clone()).unwrap_or_default().iter().map(|file| file.bytes).sum();
            job.context.progress.add(unit.files.iter().map(|facts| facts.documents).sum(), bytes);
            return Ok(unit);
        }
    }
    let mut reading = Reading::new(job, number, &path);
    let mut facts = Vec::new();
    for number in files.clone() {
        if let Some(file) = job.inputs.files.get(number) {
            facts.push(reading.file(number, file)?);
        }
    }
    // What is in memory is lost with the process; a unit is done when all of it is on disk.
    let on_disk = reading.text.is_spilled() || reading.sink.is_spilled();
    if on_disk {
        reading.text.spill()?;
    }
    let text = reading.text.finish()?;
    let collected = reading.sink.finish(on_disk)?;
    let findings = reading.findings;
    if let (Some(text), Some(anchors), Some(found)) = (text.mark(), collected.anchors.mark(), collected.found.mark()) {
        let noted = Noted {
            files: facts.clone(),
            findings: findings.clone(),
            text,
            anchors,
            found,
            runs: collected.runs.clone(),
        };
        job.note(&name, &noted)?;
    }
    Ok(ReadUnit { files: facts, findings, text, collected, is_resumed: false })
}

/// A unit that a stopped run read; `None` when something of it is gone or damaged.
fn resumed(noted: Noted, path: impl Fn(&str) -> PathBuf) -> Outcome<Option<ReadUnit>> {
    let (text, anchors, found) = (path("text"), path("anchors"), path("found"));
    for (mark, path) in [(noted.text, &text), (noted.anchors, &anchors), (noted.found, &found)] {
        if !mark.holds(path)? {
            return Ok(None);
        }
    }
    let collected = Collected {
        anchors: Stored::of_file(anchors, noted.anchors),
        runs: noted.runs,
        found: Stored::of_file(found, noted.found),
    };
    let text = Stored::of_file(text, noted.text);
    Ok(Some(ReadUnit { files: noted.files, findings: noted.findings, text, collected, is_resumed: true }))
}

/// A unit while it is read.
struct Reading<'a> {
    job: &'a Job<'a>,
    number: usize,
    scanner: Scanner,
    text: Pile<'a>,
    sink: Collector<'a>,
    findings: Findings,
    spare: String,
}

impl<'a> Reading<'a> {
    fn new(job: &'a Job<'a>, number: usize, path: &impl Fn(&str) -> PathBuf) -> Self {
        let fs = &*job.context.fs;
        let pile = |what: &str| Pile::new(fs, path(what), &job.budget);
        let (division, run_bytes) = (&job.division, job.memory.run_bytes());
        let sink = Collector::new(division.narrow, division.parts, run_bytes, pile("anchors"), pile("found"));
        let scanner = Scanner::new(&job.rule);
        let (findings, spare) = (Findings::default(), String::new());
        Self { job, number, scanner, text: pile("text"), sink, findings, spare }
    }

    fn file(&mut self, number: usize, file: &TextFile) -> Outcome<FileFacts> {
        let (job, context) = (self.job, self.job.context);
        let strict: Option<&dyn ProblemSink> = context.options.strict.then_some(&context.problems);
        let spool = ScratchSpool::new(&context.fs, job.layout.scratch.join(format!("{}.line", self.number)));
        let mut facts = FileFacts::default();
        let (base, mut blank, mut told) = (self.text.len(), 0_u64, (0, 0));
        let (key, cancel) = (&job.plan.text_key, &context.cancel);
        let damage = each_line(job.inputs, &Stretch::whole(number), key, Box::new(spool), cancel, &mut |line, read| {
            match line.kind() {
                Kind::Document => {
                    self.document(line)?;
                    facts.documents += 1;
                }
                Kind::Passed(_) => {
                    facts.copied += 1;
                    if let Some(problem) = line.problem(file) {
                        self.findings.add(problem, strict)?;
                    }
                }
                Kind::Blank => blank += 1,
            }
            if facts.documents - told.0 >= TOLD {
                context.progress.add(facts.documents - told.0, read.saturating_sub(told.1));
                told = (facts.documents, read.max(told.1));
            }
            Ok(true)
        })?;
        context.progress.add(facts.documents - told.0, file.bytes.saturating_sub(told.1));
        if let Some(problem) = damage {
            self.findings.add(problem, strict)?;
        }
        if blank > 0 {
            let message = format!("{} left out", text::count(blank, "blank line"));
            self.findings.add(Problem::note(ProblemKind::BlankLine, Subject::path(&file.path), message), None)?;
        }
        facts.bytes = self.text.len() - base;
        Ok(facts)
    }

    fn document(&mut self, line: Line<'_>) -> Outcome<()> {
        self.text.append(SEPARATOR)?;
        let (text, scanner, sink) = (&mut self.text, &mut self.scanner, &mut self.sink);
        // Shorter than any window.
        if line.most_bytes() < self.job.rule.min_length {
            return line.each_piece(&mut self.spare, &mut |piece| text.append(piece.as_bytes())).map(drop);
        }
        scanner.start_document(text.len());
        line.each_piece(&mut self.spare, &mut |piece| {
            text.append(piece.as_bytes())?;
            scanner.push(piece.as_bytes(), sink)
        })?;
        scanner.end_document(sink)
    }
}

/// Reads all units.
pub(super) fn read_all(job: &Job<'_>, units: &[Range<usize>]) -> Outcome<Vec<ReadUnit>> {
    let numbered: Vec<(usize, Range<usize>)> = units.iter().cloned().enumerate().collect();
    crate::job::pool::run_units(&numbered, job.memory.threads, &job.context.cancel, |(number, files)| {
        read_unit(job, *number, files)
    })
}
