//! Where one is in documents with ranges: three lists, the text, and jumps that can be taken back.

use super::ranges::{CopyShown, ListKind, Ranges, ShownRange, Text};
use super::shown::{Mark, Scroll};
use crate::tui::keymap::Action;
use crate::tui::widgets::{ListState, Places};
use std::ops::Range;
use std::sync::Arc;

/// Jumps that can be taken back.
const JUMPS: usize = 100;

/// What lies at a place of the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScreenArea {
    /// The rows of the list.
    Rows,
    /// The text.
    Text,
}

/// The rows of what can be listed.
#[derive(Debug, Default)]
pub struct Lists {
    /// Of documents.
    pub documents: ListState,
    passages: ListState,
    files: ListState,
}

impl Lists {
    /// The rows of one list.
    pub fn of(&mut self, listed: ListKind) -> &mut ListState {
        match listed {
            ListKind::Documents => &mut self.documents,
            ListKind::Passages => &mut self.passages,
            ListKind::Files => &mut self.files,
        }
    }
}

/// A list of documents, passages or files, and the text with what repeats marked; filled from `ranges`.
pub struct RangesPage<R: Ranges> {
    /// What it is filled from.
    pub ranges: R,
    /// What is listed.
    pub listed: ListKind,
    /// Where one is in the lists.
    pub lists: Lists,
    /// What is shown of the text; `None` where there is nothing.
    pub spot: Option<ShownRange<R::At>>,
    /// The text has the keys.
    pub in_text: bool,
    /// Where one is in the text.
    pub scroll: Scroll,
    /// Where things were drawn last.
    pub places: Places<ScreenArea>,
    jumps: Vec<ShownRange<R::At>>,
}

impl<R: Ranges> RangesPage<R> {
    /// A page whose lists are empty until they come.
    pub fn new(ranges: R) -> Self {
        Self {
            ranges,
            listed: ListKind::default(),
            lists: Lists::default(),
            spot: None,
            in_text: false,
            scroll: Scroll::default(),
            places: Places::default(),
            jumps: Vec::new(),
        }
    }

    /// Takes lists that came. The document is shown that was shown before, or the one that one came for, or that of the selected row.
    pub fn take_lists(&mut self) {
        self.jumps.clear();
        for listed in [ListKind::Documents, ListKind::Passages, ListKind::Files] {
            self.lists.of(listed).set_len(self.ranges.len(listed));
        }
        let first = || {
            let (at, file) = self.ranges.first()?;
            self.lists.files.select(file);
            Some(at)
        };
        let at = self.spot.take().map(|spot| spot.at).or_else(first);
        match at.and_then(|at| Some((at, self.ranges.row_of(at)?))) {
            Some((at, row)) => {
                self.lists.documents.select(row);
                self.show(Some(ShownRange::of(at)));
            }
            None => self.follow_rows(),
        }
    }

    /// Takes the text that came of the document that is shown.
    pub fn take_text(&mut self) {
        let ranges = self.text().map(|text| text.ranges.len());
        if let (Some(spot), Some(ranges)) = (self.spot.as_mut(), ranges) {
            spot.range = spot.range.min(ranges.saturating_sub(1));
        }
        self.scroll.follows = true;
    }

    fn show(&mut self, spot: Option<ShownRange<R::At>>) {
        if let Some(spot) = &spot {
            self.ranges.read(spot.at);
        }
        self.spot = spot;
        self.take_text();
    }

    /// The text that is shown, once it is there and well.
    pub fn text(&self) -> Option<Text<'_>> {
        self.ranges.text(self.spot.as_ref()?.at)?.ok()
    }

    /// The rows of what is listed.
    pub fn rows(&mut self) -> &mut ListState {
        self.lists.of(self.listed)
    }

    /// Lists something else; what is listed already makes way for the documents.
    fn list(&mut self, listed: ListKind) {
        self.listed = if self.listed == listed { ListKind::Documents } else { listed };
        self.in_text = false;
        self.follow_rows();
    }

    /// The selected row decides what is shown.
    fn follow_rows(&mut self) {
        // Until the lists are there it is remembered what was shown before.
        if self.ranges.len(ListKind::Documents) > 0 {
            let row = self.rows().selected;
            let spot = self.ranges.spot(self.listed, row);
            self.show(spot);
        }
    }

    /// Lists documents, the row selected of this one.
    fn list_document(&mut self, at: R::At) {
        self.listed = ListKind::Documents;
        if let Some(row) = self.ranges.row_of(at) {
            self.lists.documents.select(row);
        }
    }

    /// What is marked in the text that is shown, and the byte that one looks at.
    pub fn marks(&self) -> (Vec<(Range<usize>, Mark)>, usize) {
        let (Some(spot), Some(text)) = (&self.spot, self.text()) else { return (Vec::new(), 0) };
        let here = |index: usize| if spot.copy.is_none() && index == spot.range { Mark::Here } else { Mark::Repeat };
        let mut focus = text.ranges.get(spot.range).map_or(0, |range| range.start);
        let mut marks: Vec<_> = text.ranges.into_iter().enumerate().map(|(i, range)| (range, here(i))).collect();
        if let Some(copy) = &spot.copy {
            let range = copy.range(text.text);
            focus = range.start;
            marks.push((range, Mark::Kept));
        }
        (marks, focus)
    }

    /// Goes to the next or the previous range, over the borders of documents. Says why not.
    fn step(&mut self, forward: bool) -> Result<(), &'static str> {
        let (row, rows) = (self.lists.documents.selected, self.ranges.len(ListKind::Documents));
        let Some(document) = self.ranges.spot(ListKind::Documents, row) else { return Err("no range is known") };
        let is_here = self.listed == ListKind::Documents;
        let here = self.spot.as_ref().filter(|spot| is_here && spot.copy.is_none() && spot.at == document.at);
        // None are known of a document that is still read: whoever does not wait goes on to the next one.
        let ranges = self.text().map_or(0, |text| text.ranges.len());
        let (row, range) = match (here, forward) {
            // From a copy one comes back to the range that led there.
            (None, _) => {
                let led = self.jumps.last().filter(|spot| spot.at == document.at);
                (row, led.map_or(0, |spot| spot.range))
            }
            (Some(spot), true) if spot.range.saturating_add(1) < ranges => (row, spot.range + 1),
            (Some(spot), false) if spot.range > 0 && ranges > 0 => (row, spot.range - 1),
            (Some(_), true) if row + 1 < rows => (row + 1, 0),
            (Some(_), false) if row > 0 => (row - 1, usize::MAX),
            (Some(_), true) => return Err("this is the last range"),
            (Some(_), false) => return Err("this is the first range"),
        };
        self.listed = ListKind::Documents;
        self.lists.documents.select(row);
        let spot = self.ranges.spot(ListKind::Documents, row).unwrap_or(document);
        self.show(Some(ShownRange { range, ..spot }));
        Ok(())
    }

    /// Goes to the copy that stays of the range that one is at, or has it looked for. Says why not.
    fn jump(&mut self) -> Result<(), &'static str> {
        let Some((at, range)) = self.spot.as_ref().map(|spot| (spot.at, spot.range)) else {
            return Err("there is no range here");
        };
        if self.spot.as_ref().is_some_and(|spot| spot.copy.is_some()) {
            return Err("this is the copy already");
        }
        if self.text().is_none_or(|text| range >= text.ranges.len()) {
            return Err("there is no range here");
        }
        match self.ranges.copy_of(at, range)? {
            Some((at, from)) => self.arrive(at, from),
            None => Ok(()),
        }
    }

    /// Goes to the copy of the range that one is at. Says why not.
    pub fn arrive(&mut self, at: R::At, from: usize) -> Result<(), &'static str> {
        let (Some(spot), Some(text)) = (self.spot.clone(), self.text()) else { return Ok(()) };
        let Some(range) = text.ranges.get(spot.range).cloned() else { return Ok(()) };
        if spot.at == at && range.start == from {
            return Err("this is the first copy itself");
        }
        let of: Arc<str> = Arc::from(text.text.get(range).unwrap_or_default());
        let copy = Some(CopyShown { from, length: of.len(), of, what: R::COPY });
        if self.jumps.len() == JUMPS {
            self.jumps.remove(0);
        }
        self.jumps.push(spot);
        self.show(Some(ShownRange { at, range: 0, copy }));
        Ok(())
    }

    /// Goes back to where the last jump came from.
    fn jump_back(&mut self) -> Result<(), &'static str> {
        let Some(spot) = self.jumps.pop() else { return Err("there was no jump") };
        self.list_document(spot.at);
        self.show(Some(spot));
        Ok(())
    }

    /// Whether a jump can be taken back.
    pub fn has_jumped(&self) -> bool {
        !self.jumps.is_empty()
    }

    /// One step back: from the copy, from the text, from another list. `false` when there is none.
    pub fn close(&mut self) -> bool {
        let is_jump = self.listed == ListKind::Documents && self.spot.as_ref().is_some_and(|spot| spot.copy.is_some());
        if is_jump && self.jump_back().is_ok() || std::mem::take(&mut self.in_text) {
            return true;
        }
        let is_other = self.listed != ListKind::Documents;
        if is_other {
            self.list(ListKind::Documents);
        }
        is_other
    }

    /// Does what a key means. Says why it did nothing.
    pub fn act(&mut self, action: Action) -> Result<(), &'static str> {
        match action {
            Action::FindNext | Action::FindPrevious => return self.step(action == Action::FindNext),
            Action::JumpBack => return self.jump_back(),
            Action::Passages => self.list(ListKind::Passages),
            Action::ByFile => self.list(ListKind::Files),
            Action::NextPane | Action::PreviousPane => self.in_text = !self.in_text,
            Action::KeptCopy => match (self.listed, self.spot.as_ref().map(|spot| spot.at)) {
                (ListKind::Documents, _) => return self.jump(),
                (ListKind::Passages, Some(_)) => self.in_text = true,
                (ListKind::Passages, None) if self.rows().len == 0 => return Err("no passage is known"),
                (ListKind::Passages, None) => return Err("its places are in the earlier set"),
                (ListKind::Files, Some(at)) => self.list_document(at),
                (ListKind::Files, None) => return Err("nothing in this file repeats"),
            },
            moving if self.in_text => self.scroll.act(moving),
            moving => {
                if self.rows().act(moving) {
                    self.follow_rows();
                }
            }
        }
        Ok(())
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
    pub fn turn(&mut self, place: ScreenArea, rows: isize) {
        match place {
            ScreenArea::Text => self.scroll.top = self.scroll.top.saturating_add_signed(rows),
            ScreenArea::Rows => {
                self.rows().scroll(rows);
                self.follow_rows();
            }
        }
    }
}
