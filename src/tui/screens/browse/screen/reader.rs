//! The reader: shows the texts of a sample on the whole screen, and moves from sample to sample.

use super::super::detail::{Detail, DetailRequest};
use super::super::state::{Mode, Pane};
use super::BrowseScreen;
use crate::tui::keymap::Action;
use crate::tui::screen::Effect;
use crate::tui::widgets::{Level, PreviewState, Toast};
use gristmill_core::text::count;
use gristmill_data::preview::{is_prose, Drawable, ReadFrom};
use gristmill_data::source::decode::{part_class, PartClass};

/// The state of the browser before the reader was opened.
pub(super) struct CoveredView {
    pane: Pane,
    detail: Option<Detail>,
    last_request: Option<DetailRequest>,
    preview: PreviewState,
}

impl BrowseScreen {
    /// Handles Enter: opens the text, folds or unfolds a tree, shows pictures on the whole screen, or closes the reader.
    pub(in super::super) fn read(&mut self) {
        if self.state.is_reading {
            return self.close_reader();
        }
        let is_in_detail = self.state.pane == Pane::Detail && self.state.mode == Mode::Parts;
        match self.preview.selected_text().filter(|_| is_in_detail) {
            Some(line) => self.open_reader(ReadFrom::Line(line)),
            None if is_in_detail && self.is_in_tree() => {
                self.preview.handle_action(Action::Toggle);
            }
            None if self.has_text() => self.open_reader(ReadFrom::Page(0)),
            None => self.zoom(),
        }
    }

    /// Returns the label for Enter.
    pub(super) fn read_label(&self) -> &'static str {
        let is_in_tree = self.is_in_tree();
        match () {
            () if self.state.is_reading => "back",
            () if is_in_tree && self.preview.selected_text().is_none() => "fold",
            () if is_in_tree || self.has_text() => "read",
            () => "large",
        }
    }

    /// Whether the shown part has text to read; before it is read, this depends on its name.
    fn has_text(&self) -> bool {
        if self.state.mode != Mode::Parts || self.is_tokens() {
            return false;
        }
        let Some(sample) = self.state.sample() else { return false };
        let part = self.state.part_index(sample);
        let is_shown = |detail: &Detail| (detail.request.at, detail.request.part) == (sample.at, part);
        let preview = self.preview.preview().filter(|_| self.detail.as_ref().is_some_and(is_shown));
        match preview.map(|preview| &preview.body) {
            Some(Drawable::Text(_)) => true,
            Some(Drawable::Tree(lines)) => lines.iter().any(is_prose),
            Some(_) => false,
            None => {
                let class = sample.parts.get(part).map(|part| part_class(&part.name));
                let is_row = self.catalog().map(|catalog| catalog.kind());
                let is_row = is_row.is_some_and(|kind| kind.is_document_file() || kind.table().is_some());
                class == Some(PartClass::Text) || is_row
            }
        }
    }

    fn open_reader(&mut self, from: ReadFrom) {
        self.covered_view = Some(CoveredView {
            pane: self.state.pane,
            detail: self.detail.take(),
            last_request: self.last_request.take(),
            preview: std::mem::take(&mut self.preview),
        });
        self.state.is_reading = true;
        self.state.pane = Pane::Detail;
        self.read_from = Some(from);
    }

    /// Closes the reader; restores the previous view, unless another sample is shown now.
    pub(in super::super) fn close_reader(&mut self) {
        self.state.is_reading = false;
        self.is_finding_words = false;
        let Some(covered) = self.covered_view.take() else { return };
        self.state.pane = covered.pane;
        let same = covered.detail.as_ref().is_some_and(|detail| {
            let part = self.state.sample().map(|sample| self.state.part_index(sample));
            Some(detail.request.at) == self.state.at
                && Some(detail.request.part) == part
                && detail.request.mode == self.state.mode
        });
        if same {
            (self.detail, self.last_request, self.preview) = (covered.detail, covered.last_request, covered.preview);
        }
    }

    /// Shows the detail of the sample on the whole screen, or restores the panes.
    pub(in super::super) fn zoom(&mut self) {
        if self.state.is_reading {
            return self.close_reader();
        }
        self.state.is_large = !self.state.is_large;
        self.state.pane = if self.state.is_large { Pane::Detail } else { Pane::Samples };
    }

    /// Searches for words in the shown part; in the reader, other pages are searched, too.
    pub(in super::super) fn find_in_part(&mut self, words: &str) -> Vec<Effect> {
        let found = self.preview.find(words);
        if words.is_empty() {
            return Vec::new();
        }
        if found == 0 && self.preview.is_reading() {
            return self.go_to_match(true);
        }
        self.report_places()
    }

    /// Goes to the next or previous match.
    pub(in super::super) fn go_to_match(&mut self, forward: bool) -> Vec<Effect> {
        if let Some((at, of)) = self.preview.find_in_pages(forward) {
            return vec![Effect::Toast(Toast::new(Level::Info, format!("{at} of {of}{}", self.page_words())))];
        }
        self.is_finding_words = self.preview.is_reading_pages();
        match self.is_finding_words {
            true => Vec::new(),
            false => self.report_places(),
        }
    }

    /// Returns a notice about the result of searching other pages.
    pub(super) fn report_word_matches(&mut self) -> Vec<Effect> {
        match std::mem::take(&mut self.is_finding_words) {
            true => self.report_places(),
            false => Vec::new(),
        }
    }

    fn report_places(&self) -> Vec<Effect> {
        let found = self.preview.matches();
        let level = if found == 0 { Level::Warn } else { Level::Info };
        let where_found = if found == 0 { "" } else { self.page_words() };
        vec![Effect::Toast(Toast::new(level, format!("{}{where_found}", count(found as u64, "place"))))]
    }

    fn page_words(&self) -> &'static str {
        if self.preview.is_reading_pages() {
            " on this page"
        } else {
            ""
        }
    }
}
