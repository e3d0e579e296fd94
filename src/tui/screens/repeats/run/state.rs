//! Where one is in what a run removed. Pure.

use super::super::shown::{Mark, Scroll};
use super::super::state::{Listed, Place};
use crate::engine::dedup::removed::{Document, FirstCopy, Page, Removed, Search};
use crate::model::Outcome;
use crate::tui::keymap::Action;
use crate::tui::widgets::{ListState, Places};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Jumps that can be taken back.
const JUMPS: usize = 100;
/// Rows that are kept, and asked for together.
const KEPT: usize = 4_096;
const TOGETHER: usize = 128;

/// Which document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// By its number among those with ranges.
    Number(u64),
    /// By its file, where its line begins, and the number of the line from 0.
    Line(usize, u64, u64),
}

/// A copy of a passage that is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copy {
    /// Where it begins in the text, in bytes.
    pub from: u64,
    /// The text that it is a copy of; empty where only the length is known.
    pub of: Arc<str>,
    /// Its length, at most.
    pub length: u64,
    /// What it is.
    pub what: &'static str,
}

/// What is shown of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spot {
    /// The document.
    pub at: At,
    /// Which of its ranges one is at; one that is not there stands for the last.
    pub range: usize,
    /// A copy that is shown in place of a range.
    pub copy: Option<Copy>,
}

impl Spot {
    fn of(at: At) -> Self {
        Self { at, range: 0, copy: None }
    }
}

/// See the module.
#[derive(Default)]
pub struct RunState {
    /// The ranges of the run; `None` while they are opened.
    pub removed: Option<Arc<Outcome<Removed>>>,
    /// What is listed.
    pub listed: Listed,
    /// Rows of documents, passages and files.
    pub documents: ListState,
    /// See [`documents`](Self::documents).
    pub passages: ListState,
    /// See [`documents`](Self::documents).
    pub files: ListState,
    /// Documents that are known, by their numbers.
    pub known: BTreeMap<u64, Document>,
    /// What is shown of the text; `None` where there is nothing.
    pub spot: Option<Spot>,
    /// The document of the spot; `None` while it is read.
    pub page: Option<(At, Arc<Outcome<Page>>)>,
    /// The text has the keys.
    pub in_text: bool,
    /// Where one is in the text.
    pub scroll: Scroll,
    /// Where things were drawn last.
    pub places: Places<Place>,
    jumps: Vec<Spot>,
}

/// What the screen has to do for a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Nothing.
    Nothing,
    /// To look for the first place of a passage.
    FirstCopy(Search),
}

impl RunState {
    /// The ranges, once they are there and well.
    pub fn ranges_of_run(&self) -> Option<&Removed> {
        self.removed.as_ref().and_then(|removed| removed.as_ref().as_ref().ok())
    }

    /// Takes the ranges. The first document of the file of this name is shown that has some.
    pub fn take(&mut self, removed: Arc<Outcome<Removed>>, name: &str) {
        self.known.clear();
        self.jumps.clear();
        (self.page, self.spot) = (None, None);
        if let Ok(removed) = removed.as_ref() {
            let directory = removed.directory();
            self.documents.set_len(usize::try_from(removed.len()).unwrap_or(usize::MAX));
            self.passages.set_len(directory.passages.len());
            self.files.set_len(directory.files.len());
            if let Some(file) = directory.files.iter().position(|file| file.source.name == name) {
                self.documents.select(usize::try_from(removed.first_of(file)).unwrap_or(usize::MAX));
                self.files.select(file);
            }
        }
        self.removed = Some(removed);
        self.follow_rows();
    }

    /// Takes rows.
    pub fn take_rows(&mut self, rows: Vec<Document>) {
        if self.known.len() + rows.len() > KEPT {
            self.known.clear();
        }
        self.known.extend(rows.into_iter().map(|row| (row.number, row)));
    }

    /// The rows around those in view that are not known: from which one on, and how many.
    pub fn missing(&self, view: Range<usize>) -> Option<(u64, usize)> {
        let is_missing = |row: &usize| !self.known.contains_key(&(*row as u64));
        let first = view.clone().find(is_missing)?;
        Some((first.saturating_sub(TOGETHER / 4) as u64, TOGETHER.max(view.len())))
    }

    /// Takes a document; one that is not shown any more is left.
    pub fn take_page(&mut self, at: At, page: Arc<Outcome<Page>>) {
        let Some(spot) = self.spot.as_mut().filter(|spot| spot.at == at) else { return };
        if let Ok(page) = page.as_ref() {
            spot.range = spot.range.min(page.ranges.len().saturating_sub(1));
        }
        self.page = Some((at, page));
        self.scroll.follows = true;
    }

    /// The document that is shown, once it is there and well.
    pub fn shown(&self) -> Option<&Page> {
        let (at, page) = self.page.as_ref()?;
        let spot = self.spot.as_ref().filter(|spot| spot.at == *at)?;
        page.as_ref().as_ref().ok().filter(|_| spot.at == *at)
    }

    /// The document that is to be read, where it is not the one that is there.
    pub fn wanted(&self) -> Option<At> {
        let spot = self.spot.as_ref()?;
        self.page.as_ref().is_none_or(|(at, _)| *at != spot.at).then_some(spot.at)
    }

    /// The rows of what is listed.
    pub fn rows(&mut self) -> &mut ListState {
        match self.listed {
            Listed::Documents => &mut self.documents,
            Listed::Passages => &mut self.passages,
            Listed::Files => &mut self.files,
        }
    }

    fn list(&mut self, listed: Listed) {
        self.listed = if self.listed == listed { Listed::Documents } else { listed };
        self.in_text = false;
        self.follow_rows();
    }

    fn show(&mut self, spot: Option<Spot>) {
        (self.spot, self.scroll.follows) = (spot, true);
    }

    /// The selected row decides what is shown.
    fn follow_rows(&mut self) {
        let row = self.rows().selected;
        let Some(removed) = self.ranges_of_run() else { return };
        let directory = removed.directory();
        let spot = match self.listed {
            Listed::Documents => (!removed.is_empty()).then(|| Spot::of(At::Number(row as u64))),
            Listed::Passages => directory.passages.get(row).and_then(|passage| {
                let source = directory.earlier.len() + passage.file?;
                let (of, what) = (Arc::from(""), "one of its places");
                let copy = Some(Copy { from: passage.offset, of, length: passage.length, what });
                Some(Spot { at: At::Line(source, passage.start, passage.line), range: 0, copy })
            }),
            Listed::Files => {
                let file = directory.files.get(row).filter(|file| file.section.documents > 0);
                file.map(|_| Spot::of(At::Number(removed.first_of(row))))
            }
        };
        self.show(spot);
    }

    /// What is marked in the text that is shown, and the byte that one looks at.
    pub fn marks(&self) -> (Vec<(Range<usize>, Mark)>, usize) {
        let (Some(spot), Some(page)) = (&self.spot, self.shown()) else { return (Vec::new(), 0) };
        let here = |index: usize| if spot.copy.is_none() && index == spot.range { Mark::Here } else { Mark::Repeat };
        let mut marks: Vec<_> = page.ranges.iter().enumerate().map(|(i, range)| (range.clone(), here(i))).collect();
        let mut focus = page.ranges.get(spot.range).map_or(0, |range| range.start);
        if let Some(copy) = &spot.copy {
            let range = copy.range(&page.text);
            focus = range.start;
            marks.push((range, Mark::Kept));
        }
        (marks, focus)
    }

    /// Goes to the next or the previous range, over the borders of documents. Says why not.
    fn step(&mut self, forward: bool) -> Result<(), &'static str> {
        let row = self.documents.selected as u64;
        let Some(count) = self.ranges_of_run().map(Removed::len) else { return Err("nothing is known yet") };
        if count == 0 {
            return Err("nothing was found");
        }
        let is_here = self.listed == Listed::Documents;
        let here = self.spot.as_ref().filter(|spot| is_here && spot.copy.is_none() && spot.at == At::Number(row));
        let ranges = self.shown().map(|page| page.ranges.len());
        let (row, range) = match (here, forward, ranges) {
            // From a copy one comes back to the range that led there.
            (None, ..) => {
                let led = self.jumps.last().filter(|spot| spot.at == At::Number(row));
                (row, led.map_or(0, |spot| spot.range))
            }
            (Some(spot), true, Some(ranges)) if spot.range + 1 < ranges => (row, spot.range + 1),
            (Some(spot), false, Some(_)) if spot.range > 0 => (row, spot.range - 1),
            (Some(_), true, _) if row + 1 < count => (row + 1, 0),
            (Some(_), false, _) if row > 0 => (row - 1, usize::MAX),
            (Some(_), true, _) => return Err("this is the last range"),
            (Some(_), false, _) => return Err("this is the first range"),
        };
        self.listed = Listed::Documents;
        self.documents.select(usize::try_from(row).unwrap_or(usize::MAX));
        self.show(Some(Spot { at: At::Number(row), range, copy: None }));
        Ok(())
    }

    /// What has to be looked for to find the copy that stays of the range that one is at. Says why not.
    fn search(&self) -> Result<Search, &'static str> {
        let (Some(spot), Some(page), Some(removed)) = (&self.spot, self.shown(), self.ranges_of_run()) else {
            return Err("there is no range here");
        };
        if spot.copy.is_some() {
            return Err("this is the copy already");
        }
        let Some(range) = page.ranges.get(spot.range) else { return Err("there is no range here") };
        // The window that begins there; the range may hold passages of several places.
        let length = usize::try_from(removed.directory().min_length).unwrap_or(usize::MAX);
        let mut to = range.start.saturating_add(length).min(range.end);
        while !page.text.is_char_boundary(to) {
            to -= 1;
        }
        let passage = page.text.get(range.start..to).unwrap_or_default().to_owned();
        Ok(Search { passage, until: (page.source, page.start) })
    }

    /// Goes to the first place of the range that one is at, which was looked for. Says why not.
    pub fn found(&mut self, copy: Option<FirstCopy>) -> Result<(), &'static str> {
        let Some(copy) = copy else { return Err("no place before this one has the same text") };
        let (Some(spot), Some(page)) = (self.spot.clone(), self.shown()) else { return Ok(()) };
        let Some(range) = page.ranges.get(spot.range).cloned() else { return Ok(()) };
        if (copy.source, copy.start, copy.from) == (page.source, page.start, range.start as u64) {
            return Err("this is the first copy itself");
        }
        let of: Arc<str> = Arc::from(page.text.get(range).unwrap_or_default());
        let length = of.len() as u64;
        let at = At::Line(copy.source, copy.start, copy.line);
        if self.jumps.len() == JUMPS {
            self.jumps.remove(0);
        }
        self.jumps.push(spot);
        let copy = Copy { from: copy.from, of, length, what: "the first copy" };
        self.show(Some(Spot { at, range: 0, copy: Some(copy) }));
        Ok(())
    }

    fn jump_back(&mut self) -> Result<(), &'static str> {
        let Some(spot) = self.jumps.pop() else { return Err("there was no jump") };
        if let At::Number(row) = spot.at {
            self.documents.select(usize::try_from(row).unwrap_or(usize::MAX));
        }
        self.listed = Listed::Documents;
        self.show(Some(spot));
        Ok(())
    }

    /// Whether a jump can be taken back.
    pub fn has_jumped(&self) -> bool {
        !self.jumps.is_empty()
    }

    /// One step back: from the copy, from another list. `false` when there is none.
    pub fn close(&mut self) -> bool {
        if self.spot.as_ref().is_some_and(|spot| spot.copy.is_some()) && self.jump_back().is_ok() {
            return true;
        }
        if self.listed != Listed::Documents {
            self.list(Listed::Documents);
            return true;
        }
        std::mem::take(&mut self.in_text)
    }

    /// Does what a key means. Says why it did nothing.
    pub fn act(&mut self, action: Action) -> Result<Asked, &'static str> {
        match action {
            Action::FindNext | Action::FindPrevious => self.step(action == Action::FindNext)?,
            Action::Undo => self.jump_back()?,
            Action::Passages => self.list(Listed::Passages),
            Action::ByFile => self.list(Listed::Files),
            Action::NextPane | Action::PreviousPane => self.in_text = !self.in_text,
            Action::KeptCopy => match self.listed {
                Listed::Documents => return self.search().map(Asked::FirstCopy),
                Listed::Passages if self.spot.is_none() => return Err("its places are in the earlier set"),
                Listed::Passages => self.in_text = true,
                Listed::Files => {
                    let Some(At::Number(row)) = self.spot.as_ref().map(|spot| spot.at) else {
                        return Err("nothing in this file repeats");
                    };
                    self.listed = Listed::Documents;
                    self.documents.select(usize::try_from(row).unwrap_or(usize::MAX));
                }
            },
            moving if self.in_text => self.scroll.act(moving),
            moving => {
                if self.rows().act(moving) {
                    self.follow_rows();
                }
            }
        }
        Ok(Asked::Nothing)
    }

    /// Selects the row that was clicked.
    pub fn click(&mut self, line: usize) {
        self.in_text = false;
        if let Some(row) = self.rows().row_at(line) {
            self.rows().select(row);
            self.follow_rows();
        }
    }

    /// Turns the wheel over the list or the text.
    pub fn turn(&mut self, place: Place, rows: isize) {
        match place {
            Place::Text => self.scroll.top = self.scroll.top.saturating_add_signed(rows),
            Place::Rows => {
                self.rows().scroll(rows);
                self.follow_rows();
            }
        }
    }
}

impl Copy {
    /// Its bytes in a text: as far as both are the same, cut to whole characters.
    fn range(&self, text: &str) -> Range<usize> {
        let mut from = usize::try_from(self.from).unwrap_or(usize::MAX).min(text.len());
        while !text.is_char_boundary(from) {
            from += 1;
        }
        let rest = text.get(from..).unwrap_or_default();
        let same = match self.of.is_empty() {
            true => usize::try_from(self.length).unwrap_or(usize::MAX).min(rest.len()),
            false => rest.bytes().zip(self.of.bytes()).take_while(|(a, b)| a == b).count(),
        };
        let mut to = from + same;
        while !text.is_char_boundary(to) {
            to -= 1;
        }
        from..to.max(from)
    }
}
