//! Tables with aligned columns. Widths are those of a terminal.

use unicode_width::UnicodeWidthStr;

/// The alignment of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Left alignment, for text.
    Left,
    /// Right alignment, for numbers.
    Right,
}

/// Rows of aligned cells. Cells must be escaped for display.
#[derive(Debug, Default)]
pub struct Table {
    columns: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Returns an empty table with these headings. If all headings are empty, no heading line is printed.
    pub fn new(columns: &[(&str, Align)]) -> Self {
        Self { columns: columns.iter().map(|(name, align)| ((*name).to_owned(), *align)).collect(), rows: Vec::new() }
    }

    /// Adds a row; missing cells are empty.
    pub fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the lines, indented by two columns, without trailing spaces.
    pub fn lines(&self) -> Vec<String> {
        let widths: Vec<usize> = (0..self.columns.len()).map(|i| self.width(i)).collect();
        let headings: Vec<String> = self.columns.iter().map(|(name, _)| name.clone()).collect();
        let with_heading = headings.iter().any(|h| !h.is_empty());
        let heading = with_heading.then_some(&headings);
        heading.into_iter().chain(&self.rows).map(|row| self.line(row, &widths)).collect()
    }

    fn width(&self, column: usize) -> usize {
        let heading = self.columns[column].0.width();
        self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.width()).fold(heading, usize::max)
    }

    fn line(&self, row: &[String], widths: &[usize]) -> String {
        let mut line = String::new();
        for (i, ((_, align), width)) in self.columns.iter().zip(widths).enumerate() {
            let cell = row.get(i).map_or("", String::as_str);
            let blanks = " ".repeat(width.saturating_sub(cell.width()));
            line.push_str("  ");
            match align {
                Align::Left => line.extend([cell, &blanks]),
                Align::Right => line.extend([blanks.as_str(), cell]),
            }
        }
        line.truncate(line.trim_end().len());
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_columns_align_by_display_width() {
        let mut table = Table::new(&[("split", Align::Left), ("samples", Align::Right)]);
        table.row(["日本", "1,234"]);
        table.row(["train", "7"]);
        assert_eq!(table.lines(), ["  split  samples", "  日本     1,234", "  train        7"]);
    }
}
