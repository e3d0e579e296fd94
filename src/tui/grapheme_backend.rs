//! Correct drawing of characters of several code points (a letter with its vowel sign, a flag), whose width differs between terminals.
//!
//! Ratatui sends only changed cells, and assumes that the terminal's cursor and the cells that a character covers are where it computed
//! them. A terminal that uses more or fewer cells for a character would shift the text after it, and remains of the character would stay on
//! later screens. So such a character is written over blanks, the text after it begins with a cursor move, and all cells that the character
//! may cover in any terminal are sent again with it.

use ratatui::backend::{Backend, ClearType, CrosstermBackend, WindowSize};
use ratatui::buffer::{Buffer, Cell, CellDiffOption, CellWidth as _};
use ratatui::layout::{Position, Rect, Size};
use std::borrow::Cow;
use std::io::{self, Write};
use unicode_width::UnicodeWidthChar as _;

/// Whether terminals may disagree about the width of a cell. A cell with an escape sequence is part of a picture and does not count.
fn has_ambiguous_width(symbol: &str) -> bool {
    symbol.chars().nth(1).is_some() && !symbol.contains('\x1b')
}

/// Returns the maximum number of cells that a character covers in any terminal: the sum over its code points.
fn max_cells(cell: &Cell) -> usize {
    let apart: usize = cell.symbol().chars().map(|c| c.width().unwrap_or(0).max(1)).sum();
    apart.max(usize::from(cell.cell_width()))
}

/// The characters of several code points on the screen.
#[derive(Default)]
pub(super) struct GraphemeBackend {
    area: Rect,
    /// Index and content of their cells, ascending, as drawn last.
    shown: Vec<(usize, Cell)>,
}

impl GraphemeBackend {
    /// Clears the list of shown characters after the screen was cleared.
    pub(super) fn mark_cleared(&mut self) {
        self.shown.clear();
    }

    /// Marks the cells of the next screen that must be sent even if they have not changed: those that an added, removed or changed
    /// character may cover.
    pub(super) fn mark_changed(&mut self, next: &mut Buffer) {
        if self.area != next.area {
            // Ratatui clears the screen in this case.
            self.area = next.area;
            self.mark_cleared();
        }
        let unsure = next.content.iter().enumerate().filter(|(_, cell)| has_ambiguous_width(cell.symbol()));
        let coming: Vec<(usize, Cell)> = unsure.map(|(index, cell)| (index, cell.clone())).collect();
        if coming.is_empty() && self.shown.is_empty() {
            return;
        }
        let columns = usize::from(next.area.width).max(1);
        let (mut old, mut new) = (self.shown.iter().peekable(), coming.iter().peekable());
        // Cells before this index are already marked.
        let mut until = 0;
        loop {
            let at = match (old.peek(), new.peek()) {
                (None, None) => break,
                (Some((index, _)), None) | (None, Some((index, _))) => *index,
                (Some((left, _)), Some((right, _))) => *left.min(right),
            };
            let was = old.next_if(|(index, _)| *index == at).map(|(_, cell)| cell);
            let will = new.next_if(|(index, _)| *index == at).map(|(_, cell)| cell);
            if was == will && at >= until {
                continue;
            }
            let row_end = (at / columns + 1) * columns;
            let end = (at + was.map_or(0, max_cells).max(will.map_or(0, max_cells))).min(row_end);
            for cell in &mut next.content[at.max(until).min(end)..end] {
                if cell.diff_option == CellDiffOption::None {
                    cell.set_diff_option(CellDiffOption::AlwaysUpdate);
                }
            }
            until = until.max(end);
        }
        self.shown = coming;
    }
}

/// Crossterm's backend, with [characters of several code points](self) written so that the terminal's own widths do not matter.
pub(super) struct ClusterBackend<W: Write>(CrosstermBackend<W>);

impl<W: Write> ClusterBackend<W> {
    pub(super) fn new(writer: W) -> Self {
        Self(CrosstermBackend::new(writer))
    }
}

impl<W: Write> Write for ClusterBackend<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Write::flush(&mut self.0)
    }
}

impl<W: Write> Backend for ClusterBackend<W> {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        // Each call of the inner backend begins with a cursor move.
        let mut run = Vec::new();
        for (x, y, cell) in content {
            if !has_ambiguous_width(cell.symbol()) {
                run.push((x, y, Cow::Borrowed(cell)));
                continue;
            }
            let mut blank = cell.clone();
            blank.set_symbol(" ");
            run.extend((0..cell.cell_width()).map(|column| (x + column, y, Cow::Owned(blank.clone()))));
            self.send(&mut run)?;
            run.push((x, y, Cow::Borrowed(cell)));
            self.send(&mut run)?;
        }
        self.send(&mut run)
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        self.0.hide_cursor()
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        self.0.show_cursor()
    }

    fn get_cursor_position(&mut self) -> io::Result<Position> {
        self.0.get_cursor_position()
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        self.0.set_cursor_position(position)
    }

    fn clear(&mut self) -> io::Result<()> {
        self.0.clear()
    }

    fn clear_region(&mut self, clear_type: ClearType) -> io::Result<()> {
        self.0.clear_region(clear_type)
    }

    fn size(&self) -> io::Result<Size> {
        self.0.size()
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        self.0.window_size()
    }

    fn flush(&mut self) -> io::Result<()> {
        Backend::flush(&mut self.0)
    }
}

impl<W: Write> ClusterBackend<W> {
    fn send(&mut self, run: &mut Vec<(u16, u16, Cow<'_, Cell>)>) -> io::Result<()> {
        if !run.is_empty() {
            self.0.draw(run.iter().map(|(x, y, cell)| (*x, *y, cell.as_ref())))?;
            run.clear();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use ratatui::{Terminal, TerminalOptions, Viewport};
    use std::num::NonZeroU16;
    use std::sync::{Arc, Mutex};

    const AREA: Rect = Rect { x: 0, y: 0, width: 12, height: 3 };

    /// An emulator that gives each code point its own cells, as many terminals do, including vowel signs.
    #[derive(Clone)]
    struct Screen(Arc<Mutex<vt100::Parser>>);

    impl Write for Screen {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().process(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    struct DrawTest {
        terminal: Terminal<ClusterBackend<Screen>>,
        clusters: GraphemeBackend,
        screen: Screen,
    }

    impl DrawTest {
        fn new() -> Self {
            let size = |cells: u16| NonZeroU16::new(cells).unwrap();
            let screen = Screen(Arc::new(Mutex::new(vt100::Parser::new(size(AREA.height), size(AREA.width), 0))));
            let options = TerminalOptions { viewport: Viewport::Fixed(AREA) };
            let terminal = Terminal::with_options(ClusterBackend::new(screen.clone()), options).unwrap();
            Self { terminal, clusters: GraphemeBackend::default(), screen }
        }

        fn draw(&mut self, lines: &[String]) {
            let clusters = &mut self.clusters;
            let drawn = self.terminal.draw(|frame| {
                for (y, line) in (0..).zip(lines) {
                    frame.buffer_mut().set_string(0, y, line, ratatui::style::Style::new());
                }
                clusters.mark_changed(frame.buffer_mut());
            });
            drawn.unwrap();
        }

        fn shown(&self) -> Vec<String> {
            let parser = self.screen.0.lock().unwrap();
            parser.screen().rows(0, AREA.width).map(|row| row.trim_end().to_owned()).collect()
        }
    }

    /// Generates lines of letters with vowel signs that take a cell of their own in the emulator, marks that take none, wide letters and
    /// plain letters.
    fn line() -> impl Strategy<Value = String> {
        const PIECES: [&str; 12] = ["ਜਾ", "नी", "ொ", "e\u{301}", "❤\u{fe0f}", "🇩🇪", "語", "a", "b", " ", " ", "│"];
        proptest::collection::vec(proptest::sample::select(&PIECES[..]), 0..6).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn redrawn_screen_has_no_leftover_characters(screens in proptest::collection::vec(proptest::collection::vec(line(), 3), 1..5)) {
            let mut drawn = DrawTest::new();
            for lines in &screens {
                drawn.draw(lines);
            }
            drawn.draw(&["plain".into(), String::new(), "text │ here".into()]);
            prop_assert_eq!(drawn.shown(), ["plain", "", "text │ here"]);
        }

        #[test]
        fn border_after_any_text_is_in_its_column(screens in proptest::collection::vec(proptest::collection::vec(line(), 3), 1..5)) {
            let mut drawn = DrawTest::new();
            for lines in screens {
                // A border in the last column, after the text.
                let lines: Vec<_> = lines.iter().map(|line| {
                    let blanks = usize::from(AREA.width - 1).saturating_sub(usize::from(line.cell_width()));
                    format!("{line}{}│", " ".repeat(blanks))
                }).filter(|line| line.cell_width() == AREA.width).collect();
                drawn.draw(&lines);
                let parser = drawn.screen.0.lock().unwrap();
                for y in (0..).take(lines.len()) {
                    let cell = parser.screen().cell(y, AREA.width - 1).map(vt100::Cell::contents);
                    prop_assert_eq!(cell, Some("│"), "row {} of {:?}", y, lines);
                }
            }
        }
    }

    #[test]
    fn unchanged_cells_are_not_marked_as_changed() {
        let lines = ["ਜਾ ab".to_owned(), "नी".to_owned()];
        let mut drawn = DrawTest::new();
        drawn.draw(&lines);
        // Marked cells count as changed.
        drawn.draw(&lines);
        let mut buffer = drawn.terminal.current_buffer_mut().clone();
        for (y, line) in (0..).zip(&lines) {
            buffer.set_string(0, y, line, ratatui::style::Style::new());
        }
        drawn.clusters.mark_changed(&mut buffer);
        assert!(buffer.content.iter().all(|cell| cell.diff_option == CellDiffOption::None));
    }

    #[test]
    fn picture_escapes_are_not_ambiguous_characters() {
        assert!(!has_ambiguous_width("\x1b_Ga=T,U=1\x1b\\\u{10eeee}\u{305}"));
        assert!(
            !has_ambiguous_width("x")
                && !has_ambiguous_width("語")
                && !has_ambiguous_width("")
                && has_ambiguous_width("e\u{301}")
        );
    }
}
