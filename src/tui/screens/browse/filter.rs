//! The filter dialog of the browser. Pure: no I/O.

use crate::tui::keymap::Action;
use crate::tui::screen::Ui;
use crate::tui::widgets::layout::row;
use crate::tui::widgets::{padded, popup, text, Gesture, MouseAreas, TextField};
use gristmill_core::did_you_mean::nearest;
use gristmill_ops::engine::browse::{KeyQuery, SampleFilter, SplitChoice};
use ratatui::crossterm::event::{KeyEvent, MouseEvent};
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::Frame;
use std::sync::Arc;

/// A row of the dialog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Row {
    /// The split of the sample's shard.
    Split,
    /// Parts the sample must have.
    Has,
    /// Parts the sample must lack.
    Lacks,
    /// Whether the sample is excluded.
    Excluded,
    /// Minimum size in bytes.
    Least,
    /// Maximum size in bytes.
    Most,
    /// A condition on the key.
    Key,
    /// Whether the sample has a known problem.
    Problems,
}

const ROWS: [Row; 8] =
    [Row::Split, Row::Has, Row::Lacks, Row::Excluded, Row::Least, Row::Most, Row::Key, Row::Problems];

impl Row {
    fn label(self) -> &'static str {
        match self {
            Self::Split => "split",
            Self::Has => "has parts",
            Self::Lacks => "lacks parts",
            Self::Excluded => "excluded",
            Self::Least => "at least",
            Self::Most => "at most",
            Self::Key => "key",
            Self::Problems => "problems",
        }
    }

    fn placeholder(self) -> &'static str {
        match self {
            Self::Has => "e.g. jpg txt",
            Self::Lacks => "e.g. json",
            Self::Least => "e.g. 10 KiB",
            Self::Most => "e.g. 2 MiB",
            Self::Key => "text, ^beginning, /regular expression/",
            _ => "",
        }
    }
}

/// The state of the filter dialog.
#[derive(Clone, Debug, Default)]
pub struct FilterForm {
    splits: Vec<Arc<str>>,
    /// Index of the selected condition: 0 for any split, then the splits, then no split.
    split: usize,
    has: TextField,
    lacks: TextField,
    excluded: Option<bool>,
    least: TextField,
    most: TextField,
    key: TextField,
    problems: bool,
    row: usize,
    /// Mouse areas of the rows, by their numbers.
    mouse_areas: MouseAreas<usize>,
    /// The error in the invalid row. Not escaped.
    pub mistake: Option<String>,
}

impl FilterForm {
    /// Updates the list of splits.
    pub fn set_splits(&mut self, splits: Vec<Arc<str>>) {
        let chosen = self.split.checked_sub(1).and_then(|at| self.splits.get(at).cloned());
        let was_loose = self.split > self.splits.len();
        self.split = match chosen {
            Some(name) => splits.iter().position(|split| *split == name).map_or(0, |at| at + 1),
            None if was_loose => splits.len() + 1,
            None => 0,
        };
        self.splits = splits;
    }

    /// Returns the focused row.
    pub fn row(&self) -> Row {
        ROWS.get(self.row).copied().unwrap_or(Row::Split)
    }

    fn field(&self, row: Row) -> Option<&TextField> {
        match row {
            Row::Has => Some(&self.has),
            Row::Lacks => Some(&self.lacks),
            Row::Least => Some(&self.least),
            Row::Most => Some(&self.most),
            Row::Key => Some(&self.key),
            Row::Split | Row::Excluded | Row::Problems => None,
        }
    }

    fn field_mut(&mut self) -> Option<&mut TextField> {
        match self.row() {
            Row::Has => Some(&mut self.has),
            Row::Lacks => Some(&mut self.lacks),
            Row::Least => Some(&mut self.least),
            Row::Most => Some(&mut self.most),
            Row::Key => Some(&mut self.key),
            Row::Split | Row::Excluded | Row::Problems => None,
        }
    }

    /// Whether the focused row is a text field.
    pub fn wants_text(&self) -> bool {
        self.field(self.row()).is_some()
    }

    /// Passes a key to the focused field.
    pub fn key(&mut self, key: KeyEvent) {
        self.mistake = None;
        if let Some(field) = self.field_mut() {
            field.key(key);
        }
    }

    /// Inserts pasted text.
    pub fn paste(&mut self, pasted: &str) {
        self.mistake = None;
        if let Some(field) = self.field_mut() {
            field.paste(pasted);
        }
    }

    /// Moves the focus or changes a choice.
    pub fn handle_action(&mut self, action: Action) {
        let count = ROWS.len();
        match action {
            Action::Up | Action::PreviousField => self.row = (self.row + count - 1) % count,
            Action::Down | Action::NextField => self.row = (self.row + 1) % count,
            Action::Toggle if self.row() != Row::Problems => return,
            Action::Toggle | Action::Right => self.change_choice(true),
            Action::Left => self.change_choice(false),
            Action::DropRow => self.clear_row(),
            _ => return,
        }
        self.mistake = None;
    }

    fn change_choice(&mut self, forward: bool) {
        match self.row() {
            Row::Split => {
                let count = self.splits.len() + 2;
                self.split = (self.split + if forward { 1 } else { count - 1 }) % count;
            }
            Row::Excluded => {
                self.excluded = match (self.excluded, forward) {
                    (None, true) | (Some(false), false) => Some(true),
                    (Some(true), true) | (None, false) => Some(false),
                    (Some(false), true) | (Some(true), false) => None,
                };
            }
            Row::Problems => self.problems = !self.problems,
            _ => {}
        }
    }

    fn clear_row(&mut self) {
        match self.row() {
            Row::Split => self.split = 0,
            Row::Excluded => self.excluded = None,
            Row::Problems => self.problems = false,
            _ => {
                if let Some(field) = self.field_mut() {
                    field.clear();
                }
            }
        }
    }

    /// Returns the filter; if a row is invalid, sets `mistake` and moves the focus to that row. `parts` are the part names seen so far.
    pub fn filter(&mut self, parts: &[Arc<str>]) -> Option<SampleFilter> {
        match self.read(parts) {
            Ok(filter) => Some(filter),
            Err((row, why)) => {
                self.row = ROWS.iter().position(|other| *other == row).unwrap_or(0);
                self.mistake = Some(why);
                None
            }
        }
    }

    fn read(&self, parts: &[Arc<str>]) -> Result<SampleFilter, (Row, String)> {
        let names = |field: &TextField, row: Row| {
            let names: Vec<String> = field
                .value()
                .split(|c: char| c.is_whitespace() || c == ',')
                .filter(|name| !name.is_empty())
                .map(|name| name.trim_start_matches('.').to_owned())
                .collect();
            let known: Vec<&str> = parts.iter().map(|part| &**part).collect();
            match names.iter().find(|name| !known.is_empty() && !known.contains(&name.as_str())) {
                // A part that no visible sample has may be in other samples; only a likely typing error is reported.
                Some(name) => match nearest(name, known) {
                    Some(near) => Err((row, format!("no part {name} was seen; {near} was"))),
                    None => Ok(names),
                },
                None => Ok(names),
            }
        };
        let bytes = |field: &TextField, row: Row| match field.value().trim() {
            "" => Ok(None),
            typed => size(typed).map(Some).ok_or_else(|| (row, "a size like 10 KiB or 2M is needed".to_owned())),
        };
        let split = match self.split {
            0 => None,
            at => Some(self.splits.get(at - 1).cloned().map_or(SplitChoice::Loose, SplitChoice::Named)),
        };
        let key = match self.key.value() {
            "" => None,
            typed => Some(KeyQuery::parse(typed).map_err(|failure| (Row::Key, failure.why))?),
        };
        let filter = SampleFilter {
            split,
            has: names(&self.has, Row::Has)?,
            lacks: names(&self.lacks, Row::Lacks)?,
            excluded: self.excluded,
            min_bytes: bytes(&self.least, Row::Least)?,
            max_bytes: bytes(&self.most, Row::Most)?,
            key,
            problems: self.problems,
        };
        if matches!((filter.min_bytes, filter.max_bytes), (Some(least), Some(most)) if least > most) {
            return Err((Row::Most, "that is less than the size above".to_owned()));
        }
        Ok(filter)
    }

    fn chosen(&self, row: Row) -> String {
        match row {
            Row::Split => match self.split {
                0 => "any".to_owned(),
                at => self.splits.get(at - 1).map_or("in no split".to_owned(), |name| text::safe(name)),
            },
            Row::Excluded => match self.excluded {
                None => "both".to_owned(),
                Some(true) => "only excluded ones".to_owned(),
                Some(false) => "only those that are not".to_owned(),
            },
            Row::Problems if self.problems => "only samples with a known problem".to_owned(),
            Row::Problems => "with or without".to_owned(),
            _ => String::new(),
        }
    }

    /// Whether the focused row is a choice, which left and right change.
    pub fn is_choice(&self) -> bool {
        matches!(self.row(), Row::Split | Row::Excluded)
    }

    /// Handles the mouse: a click focuses a row, and changes its choice unless it is a text field.
    pub fn mouse(&mut self, mouse: MouseEvent) {
        match self.mouse_areas.gesture(mouse) {
            Some(Gesture::Click { on, .. } | Gesture::DoubleClick { on, .. }) => {
                let was_there = on == self.row;
                self.row = on;
                if was_there {
                    self.change_choice(true);
                }
            }
            Some(Gesture::Wheel { on, rows }) if on == self.row => self.change_choice(rows > 0),
            _ => {}
        }
    }

    /// Draws the dialog over `area`.
    pub fn draw(&mut self, frame: &mut Frame, area: Rect, ui: &Ui) {
        const LABEL: u16 = 15;
        let height = u16::try_from(ROWS.len() + 4).unwrap_or(u16::MAX);
        let inner = popup(frame, area, 64, height, "List only samples that", ui);
        self.mouse_areas.clear();
        let first = self.row.saturating_sub(usize::from(inner.height).saturating_sub(2));
        for (line, (index, asked)) in ROWS.iter().enumerate().skip(first).enumerate() {
            let place = row(inner, line);
            if place.is_empty() || usize::from(inner.height) <= line + 1 {
                break;
            }
            self.mouse_areas.add(place, index);
            let focused = index == self.row;
            let marker = if focused { ui.glyphs.marker } else { " " };
            let style = if focused { ui.theme.title } else { ui.theme.text };
            let label = text::pad_end(asked.label(), usize::from(LABEL) - 3);
            let head = Line::from(vec![Span::raw(format!(" {marker} ")), Span::styled(label, style)]);
            frame.render_widget(head, place);
            let right =
                Rect { x: place.x.saturating_add(LABEL), width: place.width.saturating_sub(LABEL + 1), ..place }
                    .intersection(place);
            match self.field(*asked) {
                Some(field) => field.draw(frame, right, focused, asked.placeholder(), ui),
                None => {
                    let style = if focused { ui.theme.selected } else { ui.theme.text };
                    // The text of a choice begins in the column of typed texts.
                    let right = Rect { x: right.x.saturating_sub(1), width: right.width + 1, ..right };
                    frame.render_widget(Line::from(Span::styled(format!(" {} ", self.chosen(*asked)), style)), right);
                }
            }
        }
        let note = match &self.mistake {
            Some(why) => Span::styled(format!("{} {}", ui.glyphs.cross, text::safe(why)), ui.theme.error),
            None => Span::styled("Empty rows do not filter.", ui.theme.muted),
        };
        let foot = row(inner, usize::from(inner.height).saturating_sub(1));
        let foot = padded(foot);
        frame.render_widget(Line::from(note), foot);
    }
}

/// Parses a human-readable size; returns bytes.
fn size(typed: &str) -> Option<u64> {
    let end = typed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(typed.len());
    let (number, unit) = typed.split_at(end);
    let number: f64 = number.parse().ok()?;
    let shift = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" | "bytes" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        _ => return None,
    };
    let bytes = number * f64::from(1_u32 << shift);
    (0.0..=1e18).contains(&bytes).then_some(bytes as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form() -> FilterForm {
        let mut form = FilterForm::default();
        form.set_splits(vec!["train".into(), "val".into()]);
        form
    }

    fn parts() -> Vec<Arc<str>> {
        vec!["jpg".into(), "txt".into()]
    }

    #[test]
    fn empty_filter_form_makes_empty_filter() {
        assert!(form().filter(&parts()).unwrap().is_empty());
    }

    #[test]
    fn filter_split_is_stepped_through_and_kept_by_name() {
        let mut form = form();
        form.handle_action(Action::Right);
        form.handle_action(Action::Right);
        assert_eq!(form.filter(&[]).unwrap().split, Some(SplitChoice::Named("val".into())));
        form.set_splits(vec!["new".into(), "train".into(), "val".into()]);
        assert_eq!(form.filter(&[]).unwrap().split, Some(SplitChoice::Named("val".into())));
        form.handle_action(Action::Right);
        assert_eq!(form.filter(&[]).unwrap().split, Some(SplitChoice::Loose));
        form.handle_action(Action::DropRow);
        assert_eq!(form.filter(&[]).unwrap().split, None);
    }

    #[test]
    fn invalid_part_or_size_is_reported_on_its_row() {
        let mut form = form();
        form.handle_action(Action::Down);
        form.paste(".jpg, jgp");
        assert!(form.filter(&parts()).is_none());
        assert_eq!((form.row(), form.mistake.is_some()), (Row::Has, true));
        form.handle_action(Action::DropRow);
        form.paste(".jpg,txt");
        assert_eq!(form.filter(&parts()).unwrap().has, ["jpg", "txt"]);
        for _ in 0..3 {
            form.handle_action(Action::Down);
        }
        form.paste("10 KiB");
        form.handle_action(Action::Down);
        form.paste("1k");
        assert!(form.filter(&parts()).is_none());
        assert_eq!(form.row(), Row::Most);
        form.handle_action(Action::DropRow);
        form.paste("two");
        assert!(form.filter(&parts()).is_none());
        form.handle_action(Action::DropRow);
        let filter = form.filter(&parts()).unwrap();
        assert_eq!((filter.min_bytes, filter.max_bytes), (Some(10_240), None));
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(size("512"), Some(512));
        assert_eq!(size("1.5 MiB"), Some(1_572_864));
        assert_eq!(size("3 apples"), None);
        assert_eq!(size("k"), None);
        assert_eq!(size("-1"), None);
    }
}
