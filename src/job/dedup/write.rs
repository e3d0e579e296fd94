//! Fourth stage: a file is read once more and written without what repeats, or with a list of it.

use super::export::Placed;
use super::merge::Ranges;
use super::output::Hash;
use super::pile::Mark;
use super::run::Job;
use super::spool::ScratchSpool;
use super::Figures;
use crate::engine::dedup::output::PackedOutput;
use crate::engine::dedup::write_back::{Layout, WriteBack};
use crate::formats::bsade::Range;
use crate::model::{Failure, Outcome, Subject};
use crate::source::dedup::{Documents, Kind, Position, TextFile};
use serde::{Deserialize, Serialize};

/// Lines between two looks at the progress.
const TOLD: u64 = 256;

/// The line that a place in the text of a file is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PlaceInLine {
    pub(super) at: u64,
    /// Counted from 1.
    pub(super) line: u64,
    /// In the document's text.
    pub(super) offset: u64,
}

/// A file that was written.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Written {
    /// None of a file without documents.
    pub(super) mark: Option<Mark>,
    pub(super) figures: Figures,
    pub(super) lines: Vec<PlaceInLine>,
    #[serde(skip)]
    pub(super) is_resumed: bool,
}

/// Writes one file, unless a stopped run did and it is there. Of the places `wanted` in its text the lines are told.
pub(super) fn write_file(job: &Job<'_>, task: &Placed, mut wanted: Vec<u64>) -> Outcome<Written> {
    wanted.sort_unstable();
    wanted.dedup();
    wanted.reverse();
    let name = format!("write/{}", task.file);
    let path = job.layout.staged(task.file);
    let Some(file) = job.inputs.files.get(task.file) else { return Err(changed(&path)) };
    if let Some(written) = job.noted::<Written>(&name) {
        let is_there = written.mark.map_or(Ok(true), |mark| mark.holds(&path))?;
        if is_there {
            job.context.progress.add(written.figures.documents, file.bytes);
            return Ok(Written { is_resumed: true, ..written });
        }
    }
    let mut writing = Writing {
        job,
        task,
        output: None,
        hash: Hash::default(),
        figures: Figures::default(),
        lines: Vec::new(),
        wanted,
    };
    writing.file(file)?;
    let hash = writing.hash;
    let mark = writing.output.take().map(|output| output.end().and_then(|file| hash.close(file))).transpose()?;
    let written = Written { mark, figures: writing.figures, lines: writing.lines, is_resumed: false };
    job.note(&name, &written)?;
    Ok(written)
}

fn changed(path: &std::path::Path) -> Failure {
    Failure::data("deduplicating", "it was written to while it was read")
        .on(Subject::path(path))
        .with_hint("wait until nobody writes to it, then run the same command again")
}

/// A file while it is written.
struct Writing<'a> {
    job: &'a Job<'a>,
    task: &'a Placed,
    output: Option<PackedOutput>,
    hash: Hash,
    figures: Figures,
    lines: Vec<PlaceInLine>,
    /// The nearest last.
    wanted: Vec<u64>,
}

impl Writing<'_> {
    fn file(&mut self, file: &TextFile) -> Outcome<()> {
        let (job, context) = (self.job, self.job.context);
        let spool = ScratchSpool::new(&context.fs, job.layout.staged(self.task.file).with_extension("line"));
        let start = Position { offset: 0, line: 0 };
        let mut documents = Documents::open(file, &job.plan.text_key, start, Box::new(spool), &context.cancel)?;
        let ranges = Ranges::of(job, self.task.unit, &self.task.ranges);
        let mut walk = ranges.from(self.task.base)?;
        let mut back = WriteBack::new(&Layout::of(job.plan)?);
        let (mut at, mut told, mut lines) = (0, (0, 0), 0_u64);
        let (mut found, mut spare) = (Vec::new(), String::new());
        while let Some(record) = documents.next()? {
            found.clear();
            let mut len = 0;
            match record.kind {
                Kind::Document => {
                    len = record.each_piece(&mut spare, &mut |_| Ok(()))?;
                    walk.of_document(at + 1, len, &mut found)?;
                    self.place(at + 1, len, record.line + 1);
                    at += 1 + len;
                    self.figures.documents += 1;
                    self.figures.text_bytes += len;
                }
                Kind::Passed(_) => self.figures.copied_lines += 1,
                Kind::Blank => continue,
            }
            let output = self.open(file)?;
            let written = back.write(&record, &found, &mut |bytes| output.write(bytes))?;
            self.count(&found, written.removed, len);
            lines += 1;
            if lines % TOLD == 0 {
                let read = documents.consumed();
                context.progress.add(self.figures.documents - told.0, read.saturating_sub(told.1));
                told = (self.figures.documents, read.max(told.1));
            }
        }
        context.progress.add(self.figures.documents - told.0, file.bytes.saturating_sub(told.1));
        match at == self.task.facts.bytes {
            true => Ok(()),
            // The stamp is the same, and the text is not.
            false => Err(changed(&file.path)),
        }
    }

    /// The output, begun with its first line: a file without any has none.
    fn open(&mut self, file: &TextFile) -> Outcome<&mut PackedOutput> {
        let output = match self.output.take() {
            Some(output) => output,
            None => {
                let path = self.job.layout.staged(self.task.file);
                PackedOutput::new(self.hash.create(&*self.job.context.fs, &path)?, PackedOutput::packing(file))?
            }
        };
        Ok(self.output.insert(output))
    }

    /// Notes the line of places that are wanted.
    fn place(&mut self, start: u64, len: u64, line: u64) {
        while let Some(at) = self.wanted.last().copied().filter(|at| *at < start + len) {
            self.lines.push(PlaceInLine { at, line, offset: at.saturating_sub(start) });
            self.wanted.pop();
        }
    }

    fn count(&mut self, found: &[Range], removed: u64, len: u64) {
        let figures = &mut self.figures;
        if found.is_empty() {
            return;
        }
        figures.ranges += found.len() as u64;
        figures.range_bytes += found.iter().map(|range| range.len()).sum::<u64>();
        figures.removed_bytes += removed;
        figures.changed_documents += 1;
        figures.emptied_documents += u64::from(removed == len);
    }
}
