//! Lists the text files that a run reads.

use crate::tui::screen::Ui;
use crate::tui::widgets::page::{failure_lines, waiting};
use crate::tui::widgets::text;
use gristmill_core::text::bytes;
use gristmill_core::Outcome;
use gristmill_data::source::documents::TextFile;
use ratatui::text::{Line, Span};

/// Returns lines about the files that a run reads: the result of `lines_of` once the files are known.
pub fn listing_lines<T>(
    files: Option<&Outcome<T>>,
    columns: usize,
    ui: &Ui,
    lines_of: impl FnOnce(&T) -> Vec<Line<'static>>,
) -> Vec<Line<'static>> {
    match files {
        None => vec![waiting("looking for files", ui)],
        Some(Err(failure)) => failure_lines(failure, columns, ui),
        Some(Ok(files)) => lines_of(files),
    }
}

/// Returns the line of a text file: its name, compression and size.
pub fn file_line(file: &TextFile, columns: usize, ui: &Ui) -> Line<'static> {
    let size = text::pad_start(&bytes(file.bytes), 11);
    let packing = text::pad_end(file.source.title(file), 10);
    let room = columns.saturating_sub(24).max(8);
    let name = text::pad_end(&text::fit_middle(&file.name, room, ui.glyphs), room);
    Line::from(vec![Span::raw(format!(" {name} ")), Span::styled(format!("{packing}{size}"), ui.theme.muted)])
}
