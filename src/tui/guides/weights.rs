//! A list of data sets or folders with weights: its rows, and their drawing. Used by the guides of mixtures.

use crate::tui::form::{plan_path, Field, Form, MouseTarget};
use crate::tui::screen::Ui;
use crate::tui::widgets::layout::draw_lines;
use crate::tui::widgets::list::draw_list;
use crate::tui::widgets::page::{reason_lines, waiting, wrapped};
use crate::tui::widgets::ListState;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::Frame;
use std::path::Path;

/// Columns of a row up to the end of its checkbox, where a click toggles it.
const BOX_COLUMNS: usize = 6;
/// Maximum length of a typed weight.
const MAX_WEIGHT_CHARS: usize = 12;

/// A row of the list.
#[derive(Clone, Debug)]
pub struct WeightedRow<T> {
    /// The facts about the data set or folder.
    pub item: T,
    /// Path relative to the searched folder, not escaped.
    pub name: String,
    /// Path in the plan.
    pub path: String,
    /// Whether the row can be part of the mixture.
    pub is_usable: bool,
    /// Whether the row is part of the mixture.
    pub is_chosen: bool,
    /// Weight as typed.
    pub weight: String,
}

impl<T> WeightedRow<T> {
    /// Creates a row that is not part of the mixture. `folder` is the searched folder.
    pub fn new(item: T, path: &Path, folder: &Path) -> Self {
        let name = path.strip_prefix(folder).unwrap_or(path).to_string_lossy().into_owned();
        Self { item, name, path: plan_path(path), is_usable: true, is_chosen: false, weight: String::new() }
    }

    /// Makes the row part of the mixture, or removes it.
    pub fn toggle(&mut self) {
        self.is_chosen = !self.is_chosen && self.is_usable;
    }

    /// Appends a digit or a point to the weight, or replaces the weight by it.
    pub fn type_digit(&mut self, digit: char, replaces: bool) {
        if replaces {
            self.weight.clear();
        }
        if self.weight.len() < MAX_WEIGHT_CHARS {
            self.weight.push(digit);
        }
    }
}

/// The list, whose rows a worker finds.
pub struct WeightedRows<T> {
    /// The list in the form.
    field: Field,
    /// The result of the search, once it has ended.
    pub found: Option<Result<(), String>>,
    pub rows: Vec<WeightedRow<T>>,
    pub list: ListState,
}

impl<T> WeightedRows<T> {
    /// Creates a list whose search is running.
    pub fn new(field: Field) -> Self {
        Self { field, found: None, rows: Vec::new(), list: ListState::default() }
    }

    /// Stores the result of the search. Returns whether it succeeded.
    pub fn set_found(&mut self, found: Result<Vec<WeightedRow<T>>, String>) -> bool {
        self.found = Some(found.map(|rows| self.rows = rows));
        self.found == Some(Ok(()))
    }

    /// Returns the rows that are part of the mixture.
    pub fn chosen(&self) -> impl Iterator<Item = &WeightedRow<T>> {
        self.rows.iter().filter(|row| row.is_chosen)
    }

    /// Returns the selected row.
    pub fn selected(&mut self) -> Option<&mut WeightedRow<T>> {
        self.list.get().and_then(|selected| self.rows.get_mut(selected))
    }

    /// Whether a click on the selected row toggles it.
    pub fn is_toggled_by_click(&self, list: &str, column: usize, is_double: bool) -> bool {
        self.has_name(list) && (is_double || column < BOX_COLUMNS)
    }

    /// Whether this is the list with the name.
    pub fn has_name(&self, list: &str) -> bool {
        matches!(self.field, Field::List(name) if name == list)
    }

    /// Draws the reason why there are no rows: the search, its failure, or `nothing`. Returns `false` if there are rows.
    pub fn draw_reason(&self, frame: &mut Frame, area: Rect, search: &str, nothing: &str, ui: &Ui) -> bool {
        let columns = usize::from(area.width);
        let lines = match &self.found {
            None => vec![waiting(search, ui)],
            Some(Err(why)) => reason_lines(why, columns, ui),
            Some(Ok(())) if self.rows.is_empty() => wrapped(nothing, columns, ui.theme.text),
            Some(Ok(())) => return false,
        };
        draw_lines(frame.buffer_mut(), area, lines);
        true
    }

    /// Draws the rows. `line` is called with a row, its index, and the available columns.
    pub fn draw(
        &mut self,
        form: &mut Form,
        frame: &mut Frame,
        area: Rect,
        ui: &Ui,
        line: impl Fn(&WeightedRow<T>, usize, usize) -> Line<'static>,
    ) {
        form.mouse_areas.add(area, MouseTarget::Field(self.field));
        let (rows, is_focused) = (&self.rows, form.is_focused(self.field));
        draw_list(frame.buffer_mut(), area, &mut self.list, is_focused, ui, |index, columns| {
            rows.get(index).map(|row| line(row, index, columns)).unwrap_or_default()
        });
    }
}
