//! The ranges that a finished run removed or listed, marked in the original text. They are read from the file that the run stored next to
//! its report, so the text may have any size. Workers read rows and documents as they are viewed; the only search, for the first copy of a
//! range, is done on request.

use super::ranges::{
    DisplayedCopy, DisplayedRange, DocumentText, FileLine, ListKind, ListPlaceholder, Ranges, RangesUpdate, Row,
};
use super::{open, RepeatsTarget};
use crate::tui::keymap::Action;
use crate::tui::screen::{Effect, UiEnv};
use crate::tui::widgets::{Level, Toast};
use crate::tui::work::{LatestWorker, Stoppable};
use gristmill_core::dedup::Mode;
use gristmill_core::text::{bytes, count, percent};
use gristmill_core::{Cancel, DedupPlan, Failure, Outcome};
use gristmill_ops::engine::dedup::removed::{Directory, Document, FirstCopy, Page, RemovedRanges, Search};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

/// Maximum number of cached rows; the next constant is the number of rows per request.
const MAX_KEPT_ROWS: usize = 4_096;
const ROWS_PER_READ: usize = 128;

/// Identifies a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentAt {
    /// The index of the document among the documents with ranges.
    Number(u64),
    /// The file of the document, the byte offset of its line, and the number of the line, counted from 0.
    Line(usize, u64, u64),
}

/// A request for the first copy of a passage, with a counter of the bytes read for it.
type CopySearch = (Arc<RemovedRanges>, Search, Arc<AtomicU64>);

/// Ranges of a finished run, read by workers.
pub struct RunRanges {
    env: UiEnv,
    /// The file of the ranges; the next field is the name of the file or folder in the set to show first.
    ranges: PathBuf,
    first: String,
    /// The ranges; `None` while they are being opened.
    removed: Option<Outcome<Arc<RemovedRanges>>>,
    /// The cached documents, by number.
    pub(super) rows: BTreeMap<u64, Document>,
    /// The first row and the number of rows requested last.
    requested_rows: Option<(u64, usize)>,
    /// The document read last.
    page: Option<(DocumentAt, Outcome<Page>)>,
    /// The document being read.
    reading: Option<DocumentAt>,
    /// Number of bytes read in the search for a first copy, and the maximum number of bytes to read.
    search_progress: (Arc<AtomicU64>, u64),
    opener: LatestWorker<PathBuf, Outcome<RemovedRanges>>,
    /// Reads rows: takes the number of the first row and the number of rows.
    row_reader: LatestWorker<(Arc<RemovedRanges>, u64, usize), Outcome<Vec<Document>>>,
    page_reader: Stoppable<(Arc<RemovedRanges>, DocumentAt), (DocumentAt, Outcome<Page>)>,
    finder: Stoppable<CopySearch, Outcome<Option<FirstCopy>>>,
}

impl RunRanges {
    /// Opens a file of ranges and shows the first document with ranges in the file or folder of the set with the name `first`.
    pub fn new(ranges: PathBuf, first: String, env: UiEnv) -> Self {
        let wake = || env.wake.clone();
        let mut run = Self {
            removed: None,
            rows: BTreeMap::new(),
            requested_rows: None,
            page: None,
            reading: None,
            search_progress: Default::default(),
            opener: LatestWorker::start("ranges", wake(), |path: PathBuf| RemovedRanges::open(&path)),
            row_reader: LatestWorker::start(
                "range-rows",
                wake(),
                |(removed, from, count): (Arc<RemovedRanges>, u64, usize)| removed.documents(from, count),
            ),
            page_reader: Stoppable::start(
                "range-page",
                wake(),
                |(removed, at): (Arc<RemovedRanges>, DocumentAt), cancel| (at, page(&removed, at, cancel)),
            ),
            finder: Stoppable::start("first-copy", wake(), |(removed, search, read): CopySearch, cancel| {
                search.run(&removed, &read, cancel)
            }),
            env,
            ranges,
            first,
        };
        run.open();
        run
    }

    fn open(&mut self) {
        self.finder.stop();
        self.page_reader.stop();
        self.row_reader.discard_newest();
        self.rows.clear();
        (self.removed, self.requested_rows, self.page, self.reading) = (None, None, None, None);
        self.opener.submit(self.ranges.clone());
    }

    /// Returns the ranges if they have been opened without error.
    fn removed(&self) -> Option<&Arc<RemovedRanges>> {
        self.removed.as_ref()?.as_ref().ok()
    }

    fn directory(&self) -> Option<&Directory> {
        self.removed().map(|removed| removed.directory())
    }

    /// Returns the page of the document, if that document was read last.
    fn page(&self, at: DocumentAt) -> Option<&Outcome<Page>> {
        self.page.as_ref().filter(|(there, _)| *there == at).map(|(_, page)| page)
    }

    /// Returns the index of a document's file, where the files of the earlier set precede those of the set, and its line, counted from 0.
    fn location_of(&self, at: DocumentAt) -> Option<(usize, u64)> {
        match (at, self.page(at)) {
            (_, Some(Ok(page))) => Some((page.source, page.line)),
            (DocumentAt::Line(source, _, line), _) => Some((source, line)),
            (DocumentAt::Number(number), _) => {
                let known = self.rows.get(&number)?;
                Some((known.file + self.directory()?.earlier.len(), known.line))
            }
        }
    }

    /// Returns the folder that the run wrote: `OUTPUT` for `OUTPUT.gristmill/ranges`.
    fn output(&self) -> PathBuf {
        self.ranges.parent().map(|own| own.with_extension("")).unwrap_or_default()
    }

    /// Opens a search for repeats that remain in the output of the run.
    fn reload(&self) -> Vec<Effect> {
        let Some(directory) = self.directory() else { return Vec::new() };
        let output = self.output();
        let mut plan = DedupPlan::new(output.to_string_lossy(), "");
        (plan.text_key, plan.min_length) = (directory.text_key.clone(), Some(directory.min_length));
        let first = output.join(&self.first);
        let target = match directory.files.iter().any(|file| file.source.name == self.first) {
            true => RepeatsTarget::File(first, 0),
            false => RepeatsTarget::Folder(first),
        };
        vec![Effect::Push(open(target, &plan, self.env.clone()))]
    }

    /// Returns the position of the first copy, or the reason why there is none.
    fn position_of(&self, copy: Outcome<Option<FirstCopy>>) -> Result<(DocumentAt, usize), String> {
        let copy = copy.map_err(|failure| failure.to_string())?;
        let copy = copy.ok_or("no place before this one has the same text")?;
        // The displayed document keeps its identifier.
        let is_it = |page: &Page| (page.source, page.start) == (copy.source, copy.start);
        let shown = self.page.as_ref().filter(|(_, page)| page.as_ref().is_ok_and(is_it));
        let at = shown.map_or(DocumentAt::Line(copy.source, copy.start, copy.line), |(at, _)| *at);
        Ok((at, rows(copy.from)))
    }
}

fn page(removed: &RemovedRanges, at: DocumentAt, cancel: &Cancel) -> Outcome<Page> {
    match at {
        DocumentAt::Number(number) => Ok(removed.page(number, cancel)?.unwrap_or_default()),
        DocumentAt::Line(source, start, line) => removed.page_at(source, start, line, cancel),
    }
}

/// Converts a number of rows; saturates at `usize::MAX`.
fn rows(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

impl Ranges for RunRanges {
    type At = DocumentAt;
    const COPY: &'static str = "the first copy";

    fn placeholder(&self) -> Option<ListPlaceholder<'_>> {
        match &self.removed {
            None => Some(ListPlaceholder::Waits("opening what the run found".to_owned())),
            Some(Err(failure)) => Some(ListPlaceholder::Fails(failure)),
            Some(Ok(removed)) if removed.is_empty() => {
                let directory = removed.directory();
                let (length, files) = (count(directory.min_length, "byte"), directory.files.len() as u64);
                let files = count(files, "file");
                let words = format!("The run found nothing of {length} and more that repeats in {files}.");
                Some(ListPlaceholder::Nothing(words, &[]))
            }
            Some(Ok(_)) => None,
        }
    }

    fn range_word(&self) -> &'static str {
        match self.directory().map(|directory| directory.mode) {
            Some(Mode::Annotate) => "listed",
            _ => "removed",
        }
    }

    fn len(&self, listed: ListKind) -> usize {
        self.removed().map_or(0, |removed| match listed {
            ListKind::Documents => rows(removed.len()),
            ListKind::Passages => removed.directory().passages.len(),
            ListKind::Files => removed.directory().files.len(),
        })
    }

    fn row(&self, listed: ListKind, row: usize) -> Option<Row<'_>> {
        let directory = self.directory()?;
        match listed {
            ListKind::Documents => {
                let known = self.rows.get(&(row as u64))?;
                let name = directory.files.get(known.file).map_or("", |file| &file.source.name);
                Some(Row::Document(name, known.line.saturating_add(1), known.removed()))
            }
            ListKind::Passages => {
                let passage = directory.passages.get(row)?;
                Some(Row::Passage(passage.count, passage.length, &passage.text))
            }
            ListKind::Files => {
                let file = directory.files.get(row)?;
                Some(Row::File(&file.source.name, file.text_bytes, file.removed_bytes))
            }
        }
    }

    fn displayed_range(&self, listed: ListKind, row: usize) -> Option<DisplayedRange<DocumentAt>> {
        let removed = self.removed()?;
        let directory = removed.directory();
        match listed {
            ListKind::Documents => {
                Some(row as u64).filter(|row| *row < removed.len()).map(DocumentAt::Number).map(DisplayedRange::of)
            }
            ListKind::Passages => {
                let passage = directory.passages.get(row)?;
                let source = directory.earlier.len() + passage.file?;
                let (from, length) = (rows(passage.offset), rows(passage.length));
                let copy = Some(DisplayedCopy { from, of: Arc::from(""), length, what: "one of its places" });
                Some(DisplayedRange {
                    copy,
                    ..DisplayedRange::of(DocumentAt::Line(source, passage.start, passage.line))
                })
            }
            ListKind::Files => {
                let file = directory.files.get(row).filter(|file| file.section.documents > 0);
                file.map(|_| DisplayedRange::of(DocumentAt::Number(removed.first_of(row))))
            }
        }
    }

    fn first(&self) -> Option<(DocumentAt, usize)> {
        let removed = self.removed()?;
        let is_there = |name: &str| !self.first.is_empty() && Path::new(name).starts_with(&self.first);
        let file = removed.directory().files.iter().position(|file| is_there(&file.source.name))?;
        Some((DocumentAt::Number(removed.first_of(file).min(removed.len().checked_sub(1)?)), file))
    }

    fn row_of(&self, at: DocumentAt) -> Option<usize> {
        match at {
            DocumentAt::Number(number) => Some(rows(number)),
            DocumentAt::Line(..) => None,
        }
    }

    fn place(&self, at: DocumentAt) -> Option<FileLine<'_>> {
        let (source, line) = self.location_of(at)?;
        let source = self.removed()?.source(source)?;
        Some(FileLine { name: &source.name, path: source.path.clone(), line: line.saturating_add(1) })
    }

    fn text(&self, at: DocumentAt) -> Option<Result<DocumentText<'_>, &Failure>> {
        let page = self.page(at)?.as_ref();
        Some(page.map(|page| DocumentText { text: &page.text, ranges: page.ranges.clone() }))
    }

    fn copy_of(&mut self, at: DocumentAt, range: usize) -> Result<Option<(DocumentAt, usize)>, &'static str> {
        let (Some(Ok(page)), Some(removed)) = (self.page(at), self.removed().cloned()) else {
            return Err("there is no range here");
        };
        let Some(range) = page.ranges.get(range) else { return Err("there is no range here") };
        // Only the first window of the range is searched for: the range may consist of passages that were copied from several places.
        let mut to = range.start.saturating_add(rows(removed.directory().min_length)).min(range.end);
        while !page.text.is_char_boundary(to) {
            to -= 1;
        }
        let passage = page.text.get(range.start..to).unwrap_or_default().to_owned();
        let until = (page.source, page.start);
        self.search_progress = (Arc::default(), removed.bytes_until(until.0, until.1));
        self.finder.submit((removed, Search { passage, until }, Arc::clone(&self.search_progress.0)));
        Ok(None)
    }

    fn need(&mut self, view: std::ops::Range<usize>) {
        let Some(removed) = self.removed().cloned() else { return };
        let Some(first) = view.clone().find(|row| !self.rows.contains_key(&(*row as u64))) else { return };
        let missing = (first.saturating_sub(ROWS_PER_READ / 4) as u64, ROWS_PER_READ.max(view.len()));
        // Rows that could not be read are not requested again.
        if self.requested_rows != Some(missing) {
            self.requested_rows = Some(missing);
            self.row_reader.submit((removed, missing.0, missing.1));
        }
    }

    fn read(&mut self, at: DocumentAt) {
        let Some(removed) = self.removed().cloned() else { return };
        if self.page(at).is_some() {
            self.page_reader.stop();
        } else if self.reading != Some(at) || !self.page_reader.is_waiting() {
            self.reading = Some(at);
            self.page_reader.submit((removed, at));
        }
    }

    fn stop(&mut self) -> bool {
        self.finder.stop()
    }

    fn handle_action(&mut self, action: Action, spot: &mut Option<DisplayedRange<DocumentAt>>) -> Vec<Effect> {
        match action {
            Action::Toggle => return self.reload(),
            Action::Reload => {
                *spot = None;
                self.open();
            }
            _ => {}
        }
        Vec::new()
    }

    fn tick(&mut self, effects: &mut Vec<Effect>) -> Vec<RangesUpdate<DocumentAt>> {
        let mut updates = Vec::new();
        if let Some(removed) = self.opener.take() {
            self.removed = Some(removed.map(Arc::new));
            updates.push(RangesUpdate::Lists);
        }
        match self.row_reader.take() {
            Some(Ok(rows)) => {
                self.requested_rows = None;
                if self.rows.len() + rows.len() > MAX_KEPT_ROWS {
                    self.rows.clear();
                }
                self.rows.extend(rows.into_iter().map(|row| (row.number, row)));
                updates.push(RangesUpdate::Rows);
            }
            Some(Err(failure)) => effects.push(Effect::Toast(Toast::new(Level::Warn, failure.to_string()))),
            None => {}
        }
        if let Some(read) = self.page_reader.take() {
            self.page = Some(read);
            updates.push(RangesUpdate::Text);
        }
        if let Some(copy) = self.finder.take() {
            updates.push(RangesUpdate::Copy(self.position_of(copy)));
        }
        updates
    }

    fn is_busy(&self) -> bool {
        let reads = self.row_reader.is_waiting() || self.page_reader.is_waiting();
        reads || self.opener.is_waiting() || self.finder.is_waiting()
    }

    fn title(&self) -> String {
        self.env.short_path(&self.output())
    }

    fn status(&self) -> Option<String> {
        if self.finder.is_waiting() {
            let (read, all) = (self.search_progress.0.load(Ordering::Relaxed), self.search_progress.1);
            let (share, all) = (percent(read as f64 / all.max(1) as f64), bytes(all));
            return Some(format!("looking for the first copy: {share} of {all}, esc stops"));
        }
        let removed = self.removed()?;
        let ((text, gone), length) = (removed.totals(), removed.directory().min_length);
        let (share, text) = (percent(gone as f64 / text.max(1) as f64), bytes(text));
        Some(format!("{share} of {text} {}, by {length} bytes and more", self.range_word()))
    }

    fn label(&self, action: Action) -> Option<&'static str> {
        match action {
            Action::KeptCopy => Some("first copy"),
            Action::Toggle => Some("search again"),
            Action::Close if self.finder.is_waiting() => Some("stop looking"),
            _ => None,
        }
    }

    fn why_disabled(&self, action: Action) -> Option<&'static str> {
        match action {
            Action::Left | Action::Right => Some("the length is that of the run"),
            Action::Toggle if self.removed().is_none() => Some("nothing is known yet"),
            _ => None,
        }
    }
}
