//! Draws a part of a sample, and stores the position in it: scrolling, folding, searching, pages.
//!
//! ```ignore
//! state.show(Arc::new(preview::part("json", &bytes, &cancel)));   // a preview from a worker
//! state.draw(buffer, area, true, &mut pixels, &options);          // body, notes and facts; the caller draws the title
//! if !state.handle_action(action) { /* the action is not for the preview */ }
//! if let Some(from) = state.take_page_request() { /* request preview::page(…, from, …) from the worker, then call show_page */ }
//! ```

mod deadline;
mod draw;
mod pixels;
mod rows;
mod search;

pub use deadline::{run_until, DECODE_DEADLINE};
pub use draw::{draw_short, token_line, PreviewOptions};
pub use pixels::{EncodedPicture, PictureRequest, Pixels};

use crate::tui::keymap::Action;
use gristmill_data::preview::tree::{self, LineKind, TreeLine};
use gristmill_data::preview::{self, Drawable, PartPreview, ReadFrom};
use rows::Rows;
use search::Search;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Whether the name of a part is that of a picture.
pub fn is_picture(name: &str) -> bool {
    let extension = name.rsplit('.').next().unwrap_or(name).to_ascii_lowercase();
    matches!(
        extension.as_str(),
        "jpg" | "jpeg" | "png" | "webp" | "gif" | "bmp" | "tif" | "tiff" | "ppm" | "pgm" | "img"
    )
}

/// The shown part, and the position in it.
#[derive(Clone, Debug, Default)]
pub struct PreviewState {
    preview: Option<Arc<PartPreview>>,
    /// First visible row.
    offset: usize,
    /// Selected row of a tree.
    selected: usize,
    /// Number of rows as drawn last.
    height: usize,
    rows: Rows,
    folded: BTreeSet<usize>,
    search: Option<Search>,
    /// Starts of the previous pages.
    earlier: Vec<u64>,
    requested_page: Option<ReadFrom>,
    /// The position to scroll to when drawn: a byte of a text, or a line of a tree.
    begin: Option<usize>,
    /// Whether the next page is shown from its end.
    from_end: bool,
}

impl PreviewState {
    /// Shows another part from its beginning. An active search is repeated in it.
    pub fn show(&mut self, preview: Arc<PartPreview>) {
        let search = self.search.take().map(|s| s.words().to_owned());
        *self = Self { preview: Some(preview), height: self.height, ..Self::default() };
        self.fold_long();
        self.begin = match self.body() {
            Some(Drawable::Reading(page)) => page.start,
            Some(Drawable::Tree(lines)) => lines.iter().position(preview::is_prose),
            _ => None,
        };
        if let Some(words) = search {
            let mut search = Search::new(&words, self.body());
            if let Some(begin) = self.begin.filter(|_| self.is_reading()) {
                search.go_from(begin);
            }
            self.search = Some(search);
        }
    }

    /// Shows another page of the same part, which [`take_page_request`](Self::take_page_request) requested.
    pub fn show_page(&mut self, preview: Arc<PartPreview>) {
        let (earlier, from_end) = (std::mem::take(&mut self.earlier), self.from_end);
        self.show(preview);
        self.earlier = earlier;
        if from_end && self.begin.is_none() {
            // Drawing limits it to the number of rows.
            self.offset = usize::MAX;
        }
    }

    /// Removes the preview.
    pub fn clear(&mut self) {
        let search = self.search.take();
        *self = Self { search, height: self.height, ..Self::default() };
    }

    /// Returns the shown preview.
    pub fn preview(&self) -> Option<&Arc<PartPreview>> {
        self.preview.as_ref()
    }

    fn body(&self) -> Option<&Drawable> {
        self.preview.as_ref().map(|p| &p.body)
    }

    /// Whether pages of the reader are shown.
    pub fn is_reading(&self) -> bool {
        matches!(self.body(), Some(Drawable::Reading(_)))
    }

    /// Whether pages of the reader are shown and there are several.
    pub fn is_reading_pages(&self) -> bool {
        let page = self.preview.as_ref().map(|p| p.page).unwrap_or_default();
        self.is_reading() && (page.from > 0 || page.has_more())
    }

    /// Returns the selected line of a tree, if it is a text.
    pub fn selected_text(&self) -> Option<usize> {
        let at = self.rows.tree_line(self.selected)?;
        self.tree()?.get(at).filter(|line| line.text.is_some()).map(|_| at)
    }

    fn tree(&self) -> Option<&[TreeLine]> {
        match self.body() {
            Some(Drawable::Tree(lines)) => Some(lines),
            _ => None,
        }
    }

    /// Folds long lists initially, so that the names next to them are visible.
    fn fold_long(&mut self) {
        const LONG: u32 = 40;
        let Some(lines) = self.tree() else { return };
        let is_chat = |at: usize| lines.get(at + 1).is_some_and(|first| !first.title.is_empty());
        let is_long = |line: &TreeLine| line.kind == LineKind::Array && line.inside > LONG;
        let long = |(at, line): &(usize, &TreeLine)| is_long(line) && !is_chat(*at);
        let long: BTreeSet<usize> = lines.iter().enumerate().filter(long).map(|(at, _)| at).collect();
        self.folded = long;
    }

    /// Handles an action that moves or folds. Returns whether it is one.
    pub fn handle_action(&mut self, action: Action) -> bool {
        match action {
            Action::Toggle => self.fold(None),
            Action::Left => self.fold(Some(true)),
            Action::Right => self.fold(Some(false)),
            action => match action.rows(self.height.max(2)) {
                Some(rows) => self.step(rows),
                None => return false,
            },
        }
        true
    }

    /// Moves by rows: the selection in trees, the scroll position elsewhere. Beyond an end of a page, another page is requested.
    fn step(&mut self, by: isize) {
        let count = self.rows.len();
        let is_tree = self.tree().is_some();
        let last = if is_tree { count.saturating_sub(1) } else { count.saturating_sub(self.height.max(1)) };
        let now = if is_tree { self.selected } else { self.offset.min(last) };
        let is_far = by == isize::MIN || by == isize::MAX;
        if by > 0 && now >= last && !is_far {
            return self.request_next_page();
        }
        if by < 0 && now == 0 && !is_far {
            return self.request_previous_page();
        }
        let next = now.saturating_add_signed(by).min(last);
        if is_tree {
            self.selected = next;
        } else {
            self.offset = next;
        }
    }

    fn request_next_page(&mut self) {
        if let Some(page) = self.preview.as_ref().map(|p| p.page).filter(|p| p.has_more()) {
            self.earlier.push(page.from);
            self.from_end = false;
            self.requested_page = Some(ReadFrom::Page(page.to));
        }
    }

    fn request_previous_page(&mut self) {
        let page = self.preview.as_ref().map(|p| p.page).unwrap_or_default();
        let wanted = match self.is_reading() {
            true => (page.from > 0).then_some(ReadFrom::Before(page.from)),
            false => self.earlier.pop().map(ReadFrom::Page),
        };
        if wanted.is_some() {
            self.from_end = true;
            self.requested_page = wanted;
        }
    }

    /// Removes and returns the request for another page.
    pub fn take_page_request(&mut self) -> Option<ReadFrom> {
        self.requested_page.take()
    }

    /// Scrolls by rows, as the mouse wheel does.
    pub fn scroll(&mut self, by: isize) {
        let last = self.rows.len().saturating_sub(self.height.max(1));
        self.offset = self.offset.min(last).saturating_add_signed(by).min(last);
        let bottom = self.offset + self.height.max(1) - 1;
        self.selected = self.selected.clamp(self.offset, bottom.max(self.offset));
    }

    /// Selects the row at a line of the drawn body, counted from 0. Returns whether it was already selected, in which case the click folds
    /// it.
    pub fn click(&mut self, line: usize) -> bool {
        let row = self.offset.saturating_add(line);
        if self.tree().is_none() || row >= self.rows.len() {
            return false;
        }
        let again = self.selected == row;
        self.selected = row;
        again
    }

    /// Folds (`Some(true)`), unfolds (`Some(false)`) or toggles the selected line of a tree. For a line without children, its parent is
    /// folded.
    fn fold(&mut self, fold: Option<bool>) {
        let Some(lines) = self.tree() else { return };
        let Some(at) = self.rows.tree_line(self.selected) else { return };
        let has_inside = lines.get(at).is_some_and(|l| l.inside > 0);
        let is_folded = self.folded.contains(&at);
        let fold = fold.unwrap_or(!is_folded);
        if !has_inside || (fold && is_folded) {
            if fold {
                self.select_outer(at);
            }
            return;
        }
        if fold {
            self.folded.insert(at);
        } else {
            self.folded.remove(&at);
        }
        self.rows.clear();
    }

    /// Selects the parent of the line `at`.
    fn select_outer(&mut self, at: usize) {
        let Some(lines) = self.tree() else { return };
        let depth = lines.get(at).map_or(0, |l| l.depth);
        let outer = lines.get(..at).unwrap_or_default().iter().rposition(|l| l.depth < depth);
        if let Some(row) = outer.and_then(|outer| self.rows.row_of_line(outer)) {
            self.selected = row;
        }
    }

    /// Folds or unfolds all lines with children, for tests.
    #[cfg(test)]
    pub fn fold_all(&mut self, fold: bool) {
        self.folded.clear();
        if let Some(lines) = self.tree().filter(|_| fold) {
            let all = lines.iter().enumerate().filter(|(_, l)| l.inside > 0).map(|(at, _)| at).collect();
            self.folded = all;
        }
        self.selected = 0;
        self.offset = 0;
        self.rows.clear();
    }

    /// Returns the path of the selected line of a tree, in the syntax of field maps; escaped for display and copying.
    pub fn selected_path(&self) -> Option<String> {
        let (preview, lines) = (self.preview.as_ref()?, self.tree()?);
        Some(tree::path(&preview.name, lines, self.rows.tree_line(self.selected)?))
    }

    /// Returns the value of the selected line of a tree, or a whole short text; escaped for display and copying.
    pub fn selected_value(&self) -> Option<String> {
        match self.body()? {
            Drawable::Tree(lines) => {
                let at = self.rows.tree_line(self.selected)?;
                let line = lines.get(at)?;
                if line.inside == 0 {
                    return Some(line.value.clone());
                }
                let inside = lines.get(at + 1..at + 1 + line.inside as usize)?;
                let inside: Vec<String> = inside.iter().map(gristmill_data::preview::tree::tree_line).collect();
                Some(inside.join("\n"))
            }
            Drawable::Text(text) | Drawable::Fact(text) => Some(text.to_string()),
            Drawable::Tokens(tokens) => Some(tokens.text.to_string()),
            Drawable::Reading(page) => Some(page.text.clone()),
            Drawable::Tensors(_) => Some(self.rows.lines().join("\n")).filter(|lines| !lines.is_empty()),
            Drawable::Picture(_) | Drawable::Waveform(_) | Drawable::Hex(_) => None,
        }
    }

    /// Searches for words, ignoring case; empty words end the search. Returns the number of matches on this page, and moves to the first
    /// one at or after the visible rows.
    pub fn find(&mut self, words: &str) -> usize {
        self.search = (!words.is_empty()).then(|| Search::new(words, self.body()));
        if let Some(search) = &mut self.search {
            if !self.rows.lines().is_empty() {
                search.in_rows(self.rows.lines());
            }
        }
        let from = self.position();
        if let Some(search) = &mut self.search {
            search.go_from(from);
        }
        self.go_to_match();
        self.matches()
    }

    /// Moves to the next or previous match in the reader; beyond the matches of this page, requests the next page with the words.
    pub fn find_in_pages(&mut self, forward: bool) -> Option<(usize, usize)> {
        let page = self.preview.as_ref().map(|p| p.page).unwrap_or_default();
        let is_part = self.is_reading_pages();
        let search = self.search.as_mut()?;
        if is_part && search.is_last(forward) {
            let words = search.words().to_owned();
            self.from_end = false;
            self.requested_page = Some(ReadFrom::Find { words, page: page.from, is_forward: forward });
            return None;
        }
        self.find_next(forward)
    }

    /// Moves to the next or previous match, wrapping around. Returns its number, counted from 1, and the number of matches.
    pub fn find_next(&mut self, forward: bool) -> Option<(usize, usize)> {
        let place = self.search.as_mut()?.advance(forward)?;
        self.go_to_match();
        Some(place)
    }

    /// Whether a search is active.
    pub fn is_searching(&self) -> bool {
        self.search.is_some()
    }

    /// Returns the number of matches on this page.
    pub fn matches(&self) -> usize {
        self.search.as_ref().map_or(0, Search::len)
    }

    /// Returns the position of the first visible row: a byte of a text or of binary data, or a line of a tree.
    fn position(&self) -> usize {
        self.rows.position(if self.tree().is_some() { self.selected } else { self.offset })
    }

    fn go_to_match(&mut self) {
        let Some(position) = self.search.as_ref().and_then(Search::position) else { return };
        if let Some(lines) = self.tree() {
            let inside =
                |at: &usize| lines.get(*at).is_some_and(|l| (*at + 1..*at + 1 + l.inside as usize).contains(&position));
            let hiding: Vec<usize> = self.folded.iter().copied().filter(inside).collect();
            if !hiding.is_empty() {
                hiding.iter().for_each(|at| {
                    self.folded.remove(at);
                });
                self.rows.clear();
            }
        }
        let (preview, folded) = (self.preview.clone(), &self.folded);
        if let Some(preview) = preview {
            self.rows.prepare_as_before(&preview.body, folded);
        }
        let Some(row) = self.rows.row_at(position) else { return };
        self.selected = row;
        if row < self.offset || row >= self.offset + self.height.max(1) {
            self.offset = row.saturating_sub(self.height / 3);
        }
    }
}

#[cfg(test)]
mod tests;
