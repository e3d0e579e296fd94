//! Where one is in documents with repeats. Pure.

use super::shown::{Mark, Scroll};
use crate::engine::dedup::look::{RangeSeen, Repeats};
use crate::model::Outcome;
use crate::tui::keymap::Action;
use crate::tui::widgets::{ListState, Places};
use std::ops::Range;
use std::sync::Arc;

/// What is listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Listed {
    /// Documents that have ranges.
    #[default]
    Documents,
    /// The passages that repeat most.
    Passages,
    /// Files, before and after.
    Files,
}

/// What lies at a place of the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The rows of the list.
    Rows,
    /// The text.
    Text,
}

/// What is shown of the text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spot {
    /// The document.
    pub document: usize,
    /// Which of its ranges one is at.
    pub range: usize,
    /// A copy of a passage that is shown in it, in bytes of its text; and what it is.
    pub copy: Option<(Range<usize>, &'static str)>,
}

/// Jumps that can be taken back.
const JUMPS: usize = 100;

/// See the module.
#[derive(Default)]
pub struct RepeatsState {
    /// What was found; `None` while it is looked for.
    pub seen: Option<Arc<Outcome<Repeats>>>,
    /// What is listed.
    pub listed: Listed,
    /// Rows of documents, passages and files.
    pub documents: ListState,
    /// See [`documents`](Self::documents).
    pub passages: ListState,
    /// See [`documents`](Self::documents).
    pub files: ListState,
    /// What is shown of the text; `None` where there is nothing.
    pub spot: Option<Spot>,
    /// The text has the keys.
    pub in_text: bool,
    /// Where one is in the text.
    pub scroll: Scroll,
    /// Where things were drawn last.
    pub places: Places<Place>,
    jumps: Vec<Spot>,
}

impl RepeatsState {
    /// What was found, once it is there and well.
    pub fn repeats(&self) -> Option<&Repeats> {
        self.seen.as_ref().and_then(|seen| seen.as_ref().as_ref().ok())
    }

    /// Takes what was found. The document that begins at this byte of the file of this name is shown, or the first with ranges.
    pub fn take(&mut self, seen: Arc<Outcome<Repeats>>, at: Option<(&str, u64)>) {
        let before = self.spot.take();
        self.jumps.clear();
        if let Ok(repeats) = seen.as_ref() {
            self.documents.set_len(repeats.changed.len());
            self.passages.set_len(repeats.passages.len());
            self.files.set_len(repeats.files.len());
            let named = at.and_then(|(name, start)| repeats.find(name, start));
            let document = before.map(|spot| spot.document).or(named);
            let row = document.map_or(0, |document| repeats.changed.partition_point(|known| *known < document));
            self.documents.select(row.min(repeats.changed.len().saturating_sub(1)));
            let first = repeats.changed.get(self.documents.selected).copied();
            let shown = document.filter(|document| *document < repeats.len()).or(first);
            self.spot = shown.map(|document| Spot { document, ..Spot::default() });
        }
        self.seen = Some(seen);
        self.scroll.follows = true;
    }

    /// The rows of what is listed.
    pub fn rows(&mut self) -> &mut ListState {
        match self.listed {
            Listed::Documents => &mut self.documents,
            Listed::Passages => &mut self.passages,
            Listed::Files => &mut self.files,
        }
    }

    /// Lists something else; what is listed already makes way for the documents.
    fn list(&mut self, listed: Listed) {
        self.listed = if self.listed == listed { Listed::Documents } else { listed };
        self.in_text = false;
        self.follow_rows();
    }

    /// The selected row decides what is shown.
    fn follow_rows(&mut self) {
        let row = self.rows().selected;
        let Some(repeats) = self.repeats() else { return };
        let spot = match self.listed {
            Listed::Documents => {
                repeats.changed.get(row).map(|document| Spot { document: *document, ..Spot::default() })
            }
            Listed::Passages => repeats.passages.get(row).map(|passage| Spot {
                document: passage.document,
                range: 0,
                copy: Some((passage.from..passage.from + passage.bytes, "one of its places")),
            }),
            Listed::Files => {
                let is_of = |index: &&usize| repeats.document(**index).is_some_and(|d| d.file as usize == row);
                repeats.changed.iter().find(is_of).map(|document| Spot { document: *document, ..Spot::default() })
            }
        };
        (self.spot, self.scroll.follows) = (spot, true);
    }

    /// The range that one is at.
    pub fn range(&self) -> Option<RangeSeen> {
        let spot = self.spot.as_ref()?;
        self.repeats()?.ranges_of(spot.document).get(spot.range).copied()
    }

    /// What is marked in the text that is shown, and the byte that one looks at.
    pub fn marks(&self) -> (Vec<(Range<usize>, Mark)>, usize) {
        let (Some(spot), Some(repeats)) = (&self.spot, self.repeats()) else { return (Vec::new(), 0) };
        let here = |index: usize| if spot.copy.is_none() && index == spot.range { Mark::Here } else { Mark::Repeat };
        let ranges = repeats.ranges_of(spot.document);
        let mut marks: Vec<_> = ranges.iter().enumerate().map(|(i, range)| (range.from..range.to, here(i))).collect();
        let mut focus = ranges.get(spot.range).map_or(0, |range| range.from);
        if let Some((copy, _)) = &spot.copy {
            focus = copy.start;
            marks.push((copy.clone(), Mark::Kept));
        }
        (marks, focus)
    }

    /// Goes to the next or the previous range, over the borders of documents. Says why not.
    fn step(&mut self, forward: bool) -> Result<(), &'static str> {
        let row = self.documents.selected;
        let Some(repeats) = self.repeats() else { return Err("nothing is known yet") };
        let Some(document) = repeats.changed.get(row).copied() else { return Err("nothing repeats") };
        let is_here = self.listed == Listed::Documents;
        let at = self.spot.as_ref().filter(|spot| is_here && spot.copy.is_none() && spot.document == document);
        let ranges = repeats.ranges_of(document).len();
        let (row, range) = match (at, forward) {
            // From a copy one comes back to the range that led there.
            (None, _) => (row, self.jumps.last().filter(|spot| spot.document == document).map_or(0, |spot| spot.range)),
            (Some(spot), true) if spot.range + 1 < ranges => (row, spot.range + 1),
            (Some(spot), false) if spot.range > 0 => (row, spot.range - 1),
            (Some(_), true) if row + 1 < repeats.changed.len() => (row + 1, 0),
            (Some(_), false) if row > 0 => {
                let before = repeats.changed.get(row - 1).map_or(0, |index| repeats.ranges_of(*index).len());
                (row - 1, before.saturating_sub(1))
            }
            (Some(_), true) => return Err("this is the last range"),
            (Some(_), false) => return Err("this is the first range"),
        };
        let document = repeats.changed.get(row).copied().unwrap_or(document);
        self.listed = Listed::Documents;
        self.documents.select(row);
        (self.spot, self.scroll.follows) = (Some(Spot { document, range, copy: None }), true);
        Ok(())
    }

    /// Goes to the copy that stays of the range that one is at. Says why not.
    fn jump(&mut self) -> Result<(), &'static str> {
        let (Some(spot), Some(range)) = (self.spot.clone(), self.range()) else { return Err("there is no range here") };
        if spot.copy.is_some() {
            return Err("this is the copy already");
        }
        let Some((document, from)) = self.repeats().and_then(|repeats| repeats.kept(&range)) else {
            return Err("its other copy is not known");
        };
        if document == spot.document && from == range.from {
            return Err("this is the first copy itself");
        }
        let text = self.repeats().map_or("", |repeats| repeats.text_of(document));
        let mut to = from.saturating_add(range.to - range.from).min(text.len());
        while !text.is_char_boundary(to) {
            to -= 1;
        }
        if self.jumps.len() == JUMPS {
            self.jumps.remove(0);
        }
        self.jumps.push(spot);
        let copy = Some((from..to.max(from), "the copy that stays"));
        (self.spot, self.scroll.follows) = (Some(Spot { document, range: 0, copy }), true);
        Ok(())
    }

    /// Goes back to where the last jump came from.
    fn jump_back(&mut self) -> Result<(), &'static str> {
        let Some(spot) = self.jumps.pop() else { return Err("there was no jump") };
        if let Some(row) = self.repeats().and_then(|repeats| repeats.changed.binary_search(&spot.document).ok()) {
            self.documents.select(row);
        }
        self.listed = Listed::Documents;
        (self.spot, self.scroll.follows) = (Some(spot), true);
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
    pub fn act(&mut self, action: Action) -> Result<(), &'static str> {
        match action {
            Action::FindNext | Action::FindPrevious => return self.step(action == Action::FindNext),
            Action::Undo => return self.jump_back(),
            Action::Passages => self.list(Listed::Passages),
            Action::ByFile => self.list(Listed::Files),
            Action::NextPane | Action::PreviousPane => self.in_text = !self.in_text,
            Action::KeptCopy => match self.listed {
                Listed::Documents => return self.jump(),
                Listed::Passages => self.in_text = true,
                Listed::Files => {
                    let Some(spot) = self.spot.clone() else { return Err("nothing in this file repeats") };
                    let row = self.repeats().and_then(|repeats| repeats.changed.binary_search(&spot.document).ok());
                    self.listed = Listed::Documents;
                    self.documents.select(row.unwrap_or(0));
                }
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
