//! Fourth stage: a file is read once more and written without what repeats, or with a list of it.

use super::export::Placed;
use super::merge::Ranges;
use super::output::Hash;
use super::pile::Mark;
use super::run::Job;
use super::source::{each_line, Line, Stretch};
use super::spool::ScratchSpool;
use super::Figures;
use crate::engine::dedup::output::PackedOutput;
use crate::engine::dedup::write_back::{Layout, WriteBack};
use crate::formats::bsade::Range;
use crate::model::{Failure, Outcome, Subject};
use crate::source::dedup::{Kind, TextFile};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Lines between two looks at the progress.
const TOLD: u64 = 256;

/// The line that a place in the text of a file is in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PlaceInLine {
    pub(super) at: u64,
    /// The file of the result.
    pub(super) file: String,
    /// Counted from 1.
    pub(super) line: u64,
    /// In the document's text.
    pub(super) offset: u64,
}

/// A file of the result.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct WrittenFile {
    pub(super) name: String,
    pub(super) input_bytes: u64,
    /// None of a file without documents.
    pub(super) mark: Option<Mark>,
    pub(super) figures: Figures,
}

/// What was written of a file: one, of a shard of an index as many as it was made of.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Written {
    pub(super) files: Vec<WrittenFile>,
    pub(super) lines: Vec<PlaceInLine>,
    #[serde(skip)]
    pub(super) is_resumed: bool,
}

/// Writes one file, unless a stopped run did and it is there. Of the places `wanted` in its text the lines are told.
pub(super) fn write_file(job: &Job<'_>, task: &Placed, mut wanted: Vec<u64>) -> Outcome<Written> {
    let name = format!("write/{}", task.file);
    let Some(file) = job.inputs.files.get(task.file) else { return Err(changed(Path::new(""))) };
    if let Some(written) = job.noted::<Written>(&name) {
        if is_there(job, task.file, &written)? {
            let documents = written.files.iter().map(|file| file.figures.documents).sum();
            job.context.progress.add(documents, file.bytes);
            return Ok(Written { is_resumed: true, ..written });
        }
    }
    wanted.sort_unstable();
    wanted.dedup();
    wanted.reverse();
    let (files, lines) = (Vec::new(), Vec::new());
    let mut writing = Writing { job, task, output: None, hash: Hash::default(), files, lines, wanted };
    if job.inputs.shard_of(task.file).is_none() {
        writing.begin(&file.name, file.bytes);
    }
    writing.file(file)?;
    writing.end()?;
    let written = Written { files: writing.files, lines: writing.lines, is_resumed: false };
    job.note(&name, &written)?;
    Ok(written)
}

/// Whether everything that a stopped run wrote of a file is still what it was.
fn is_there(job: &Job<'_>, number: usize, written: &Written) -> Outcome<bool> {
    for (part, file) in written.files.iter().enumerate() {
        if let Some(mark) = file.mark {
            if !mark.holds(&job.layout.staged(number, part))? {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

fn changed(path: &Path) -> Failure {
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
    /// The last one is being written.
    files: Vec<WrittenFile>,
    lines: Vec<PlaceInLine>,
    /// The nearest last.
    wanted: Vec<u64>,
}

impl Writing<'_> {
    fn file(&mut self, file: &TextFile) -> Outcome<()> {
        let (job, context) = (self.job, self.job.context);
        let spool = ScratchSpool::new(&context.fs, job.layout.staged(self.task.file, 0).with_extension("line"));
        let ranges = Ranges::of(job, self.task.unit, &self.task.ranges);
        let mut walk = ranges.from(self.task.base)?;
        let mut back = WriteBack::new(&Layout::of(job.plan)?);
        let (mut at, mut told, mut lines, mut documents) = (0, (0, 0), 0_u64, 0);
        let (mut found, mut spare) = (Vec::new(), String::new());
        let (key, cancel) = (&job.plan.text_key, &context.cancel);
        each_line(job.inputs, &Stretch::whole(self.task.file), key, Box::new(spool), cancel, &mut |line, read| {
            found.clear();
            let mut len = 0;
            if line.kind() == Kind::Blank {
                return Ok(true);
            }
            self.enter(&line)?;
            if line.kind() == Kind::Document {
                len = line.text_bytes(&mut spare)?;
                walk.of_document(at + 1, len, &mut found)?;
                self.place(at + 1, len, line.number() + 1);
                at += 1 + len;
                documents += 1;
            }
            let output = self.open()?;
            let written = line.write(&mut back, &found, &mut |bytes| output.write(bytes))?;
            self.count(&line, &found, (written.removed, len));
            lines += 1;
            if lines % TOLD == 0 {
                context.progress.add(documents - told.0, read.saturating_sub(told.1));
                told = (documents, read.max(told.1));
            }
            Ok(true)
        })?;
        context.progress.add(documents - told.0, file.bytes.saturating_sub(told.1));
        match at == self.task.facts.bytes {
            true => Ok(()),
            // The stamp is the same, and the text is not.
            false => Err(changed(&file.path)),
        }
    }

    /// Begins a file of the result.
    fn begin(&mut self, name: &str, input_bytes: u64) {
        self.files.push(WrittenFile { name: name.to_owned(), input_bytes, mark: None, figures: Figures::default() });
    }

    /// Ends the file that is being written.
    fn end(&mut self) -> Outcome<()> {
        let Some(output) = self.output.take() else { return Ok(()) };
        let mark = std::mem::take(&mut self.hash).close(output.end()?)?;
        if let Some(last) = self.files.last_mut() {
            last.mark = Some(mark);
        }
        Ok(())
    }

    /// Goes on to the next file where an index says so.
    fn enter(&mut self, line: &Line<'_>) -> Outcome<()> {
        match line.file() {
            Some(name) if self.files.last().is_none_or(|last| last.name != name) => {
                self.end()?;
                self.begin(name, 0);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// The output, begun with its first line: a file without any has none.
    fn open(&mut self) -> Outcome<&mut PackedOutput> {
        let output = match self.output.take() {
            Some(output) => output,
            None => {
                let number = self.files.len().saturating_sub(1);
                let path = self.job.layout.staged(self.task.file, number);
                let packing = PackedOutput::packing(self.files.last().map_or("", |file| file.name.as_str()));
                PackedOutput::new(self.hash.create(&*self.job.context.fs, &path)?, packing)?
            }
        };
        Ok(self.output.insert(output))
    }

    /// Notes the line of places that are wanted.
    fn place(&mut self, start: u64, len: u64, line: u64) {
        let name = self.files.last().map(|file| file.name.clone()).unwrap_or_default();
        while let Some(at) = self.wanted.last().copied().filter(|at| *at < start + len) {
            self.lines.push(PlaceInLine { at, file: name.clone(), line, offset: at.saturating_sub(start) });
            self.wanted.pop();
        }
    }

    fn count(&mut self, line: &Line<'_>, found: &[Range], (removed, len): (u64, u64)) {
        let Some(file) = self.files.last_mut() else { return };
        let figures = &mut file.figures;
        if line.kind() != Kind::Document {
            figures.copied_lines += 1;
            return;
        }
        if line.file().is_some() {
            // An index does not say how large the file was: its text is told.
            file.input_bytes += len;
        }
        figures.documents += 1;
        figures.text_bytes += len;
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
