//! The state of the page of documents with ranges: three lists, the text, and a history of jumps.

use super::highlight::{Mark, Scroll};
use super::ranges::{DisplayedCopy, DisplayedRange, DocumentText, ListKind, Ranges};
use crate::tui::keymap::Action;
use crate::tui::widgets::{ListState, MouseAreas};
use std::ops::Range;
use std::sync::Arc;

/// Maximum number of jumps that can be undone.
const MAX_JUMPS: usize = 100;

/// A part of the screen that the mouse can point at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScreenArea {
    /// The rows of the list.
    Rows,
    Text,
}

/// Cursor and scroll position of each list.
#[derive(Debug, Default)]
pub struct RangeLists {
    /// The list of documents.
    pub documents: ListState,
    passages: ListState,
    files: ListState,
}

impl RangeLists {
    /// Returns the state of one list.
    pub fn of(&mut self, listed: ListKind) -> &mut ListState {
        match listed {
            ListKind::Documents => &mut self.documents,
            ListKind::Passages => &mut self.passages,
            ListKind::Files => &mut self.files,
        }
    }
}

/// A list of documents, passages or files, and the text with marked repeats; `ranges` provides the data.
pub struct RangesPage<R: Ranges> {
    /// The data source.
    pub ranges: R,
    /// The displayed list.
    pub listed: ListKind,
    /// Cursors and scroll positions of the lists.
    pub lists: RangeLists,
    /// The displayed document and range, if any.
    pub displayed: Option<DisplayedRange<R::At>>,
    /// Whether the text has the focus.
    pub in_text: bool,
    /// Scroll position of the text.
    pub scroll: Scroll,
    /// Mouse areas of the parts, as drawn last.
    pub mouse_areas: MouseAreas<ScreenArea>,
    jumps: Vec<DisplayedRange<R::At>>,
}

impl<R: Ranges> RangesPage<R> {
    /// Creates a page whose lists are empty until the data source provides them.
    pub fn new(ranges: R) -> Self {
        Self {
            ranges,
            listed: ListKind::default(),
            lists: RangeLists::default(),
            displayed: None,
            in_text: false,
            scroll: Scroll::default(),
            mouse_areas: MouseAreas::default(),
            jumps: Vec::new(),
        }
    }

    /// Updates the lists. The displayed document stays; otherwise shows the document of [`Ranges::first`], or of the selected row.
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
        let at = self.displayed.take().map(|spot| spot.at).or_else(first);
        match at.and_then(|at| Some((at, self.ranges.row_of(at)?))) {
            Some((at, row)) => {
                self.lists.documents.select(row);
                self.show(Some(DisplayedRange::of(at)));
            }
            None => self.follow_rows(),
        }
    }

    /// Updates the view for the text of the displayed document.
    pub fn take_text(&mut self) {
        let ranges = self.text().map(|text| text.ranges.len());
        if let (Some(spot), Some(ranges)) = (self.displayed.as_mut(), ranges) {
            spot.range = spot.range.min(ranges.saturating_sub(1));
        }
        self.scroll.scrolls_to_focus = true;
    }

    fn show(&mut self, spot: Option<DisplayedRange<R::At>>) {
        if let Some(spot) = &spot {
            self.ranges.read(spot.at);
        }
        self.displayed = spot;
        self.take_text();
    }

    /// Returns the displayed text, if it has been read without error.
    pub fn text(&self) -> Option<DocumentText<'_>> {
        self.ranges.text(self.displayed.as_ref()?.at)?.ok()
    }

    /// Returns the cursor of the displayed list.
    pub fn rows(&mut self) -> &mut ListState {
        self.lists.of(self.listed)
    }

    /// Switches to another list; from that list itself, back to the documents.
    fn list(&mut self, listed: ListKind) {
        self.listed = if self.listed == listed { ListKind::Documents } else { listed };
        self.in_text = false;
        self.follow_rows();
    }

    /// Shows the document or passage of the selected row.
    fn follow_rows(&mut self) {
        // Before the lists arrive, the previous document stays, for `take_lists`.
        if self.ranges.len(ListKind::Documents) > 0 {
            let row = self.rows().selected;
            let spot = self.ranges.displayed_range(self.listed, row);
            self.show(spot);
        }
    }

    /// Switches to the list of documents and selects the row of `at`.
    fn list_document(&mut self, at: R::At) {
        self.listed = ListKind::Documents;
        if let Some(row) = self.ranges.row_of(at) {
            self.lists.documents.select(row);
        }
    }

    /// Returns the marked byte ranges of the displayed text, and the focused byte offset.
    pub fn marks(&self) -> (Vec<(Range<usize>, Mark)>, usize) {
        let (Some(spot), Some(text)) = (&self.displayed, self.text()) else { return (Vec::new(), 0) };
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

    /// Goes to the next or previous range, across documents. The error is the reason why it did not move.
    fn step(&mut self, forward: bool) -> Result<(), &'static str> {
        let (row, rows) = (self.lists.documents.selected, self.ranges.len(ListKind::Documents));
        let Some(document) = self.ranges.displayed_range(ListKind::Documents, row) else {
            return Err("no range is known");
        };
        let is_here = self.listed == ListKind::Documents;
        let here = self.displayed.as_ref().filter(|spot| is_here && spot.copy.is_none() && spot.at == document.at);
        // The ranges of a document that is being read are unknown: the step goes to the next document.
        let ranges = self.text().map_or(0, |text| text.ranges.len());
        let (row, range) = match (here, forward) {
            // From a copy, a step returns to the range from which the user jumped to it.
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
        let spot = self.ranges.displayed_range(ListKind::Documents, row).unwrap_or(document);
        self.show(Some(DisplayedRange { range, ..spot }));
        Ok(())
    }

    /// Goes to the kept copy of the current range, or starts a search for it. The error is the reason why it did not.
    fn jump(&mut self) -> Result<(), &'static str> {
        let Some((at, range)) = self.displayed.as_ref().map(|spot| (spot.at, spot.range)) else {
            return Err("there is no range here");
        };
        if self.displayed.as_ref().is_some_and(|spot| spot.copy.is_some()) {
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

    /// Goes to the copy of the current range, at byte `from` of document `at`. The error is the reason why it did not.
    pub fn arrive(&mut self, at: R::At, from: usize) -> Result<(), &'static str> {
        let (Some(spot), Some(text)) = (self.displayed.clone(), self.text()) else { return Ok(()) };
        let Some(range) = text.ranges.get(spot.range).cloned() else { return Ok(()) };
        if spot.at == at && range.start == from {
            return Err("this is the first copy itself");
        }
        let of: Arc<str> = Arc::from(text.text.get(range).unwrap_or_default());
        let copy = Some(DisplayedCopy { from, length: of.len(), of, what: R::COPY });
        if self.jumps.len() == MAX_JUMPS {
            self.jumps.remove(0);
        }
        self.jumps.push(spot);
        self.show(Some(DisplayedRange { at, range: 0, copy }));
        Ok(())
    }

    /// Undoes the last jump.
    fn jump_back(&mut self) -> Result<(), &'static str> {
        let Some(spot) = self.jumps.pop() else { return Err("there was no jump") };
        self.list_document(spot.at);
        self.show(Some(spot));
        Ok(())
    }

    /// Whether a jump can be undone.
    pub fn has_jumped(&self) -> bool {
        !self.jumps.is_empty()
    }

    /// Goes back from a copy, from the text or from the current list, in that order. Returns `false` if there is nowhere to go back to.
    pub fn close(&mut self) -> bool {
        let is_jump =
            self.listed == ListKind::Documents && self.displayed.as_ref().is_some_and(|spot| spot.copy.is_some());
        if is_jump && self.jump_back().is_ok() || std::mem::take(&mut self.in_text) {
            return true;
        }
        let is_other = self.listed != ListKind::Documents;
        if is_other {
            self.list(ListKind::Documents);
        }
        is_other
    }

    /// Runs an action. The error is the reason why it had no effect.
    pub fn handle_action(&mut self, action: Action) -> Result<(), &'static str> {
        match action {
            Action::FindNext | Action::FindPrevious => return self.step(action == Action::FindNext),
            Action::JumpBack => return self.jump_back(),
            Action::Passages => self.list(ListKind::Passages),
            Action::ByFile => self.list(ListKind::Files),
            Action::NextPane | Action::PreviousPane => self.in_text = !self.in_text,
            Action::KeptCopy => match (self.listed, self.displayed.as_ref().map(|spot| spot.at)) {
                (ListKind::Documents, _) => return self.jump(),
                (ListKind::Passages, Some(_)) => self.in_text = true,
                (ListKind::Passages, None) if self.rows().len == 0 => return Err("no passage is known"),
                (ListKind::Passages, None) => return Err("its places are in the earlier set"),
                (ListKind::Files, Some(at)) => self.list_document(at),
                (ListKind::Files, None) => return Err("nothing in this file repeats"),
            },
            moving if self.in_text => self.scroll.handle_action(moving),
            moving => {
                if self.rows().handle_action(moving) {
                    self.follow_rows();
                }
            }
        }
        Ok(())
    }

    /// Selects the row at a clicked line.
    pub fn click(&mut self, line: usize) {
        self.in_text = false;
        if let Some(row) = self.rows().row_at(line) {
            self.rows().select(row);
            self.follow_rows();
        }
    }

    /// Scrolls the list or the text by the mouse wheel.
    pub fn scroll_area(&mut self, place: ScreenArea, rows: isize) {
        match place {
            ScreenArea::Text => self.scroll.top = self.scroll.top.saturating_add_signed(rows),
            ScreenArea::Rows => {
                self.rows().scroll(rows);
                self.follow_rows();
            }
        }
    }
}
