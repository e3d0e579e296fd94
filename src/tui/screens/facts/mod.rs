//! The facts view: distributions of sizes, formats, durations, lengths and parts, drawn as bars.
//!
//! The facts are gathered on a worker thread, group by group ([`gather`]); closing the screen cancels that.

mod gather;

use self::gather::{FactsResult, FactsSheet};
use crate::tui::keymap::{Action, Context};
use crate::tui::screen::{Effect, Input, Screen, Ui, UiEnv};
use crate::tui::widgets::layout::draw_lines;
use crate::tui::widgets::mouse::wheel;
use crate::tui::widgets::{draw_panel, padded, text, Chart, Scroll};
use crate::tui::work::Stream;
use gristmill_core::text::display_safe;
use gristmill_core::{Cancel, DatasetFacts};
use gristmill_ops::datasets::FigureGroup;
use gristmill_ops::job::scan::LiveScan;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::Frame;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Minimum width in columns for two columns of charts.
const TWO_COLUMNS: u16 = 90;
/// Maximum number of bars of a chart; further classes are only counted.
const MAX_BARS: usize = 12;

/// Opens the facts view of a path of any kind. Reads nothing on this thread.
pub fn open(path: PathBuf, env: UiEnv) -> Box<dyn Screen> {
    let cancel = Cancel::default();
    let stop = cancel.clone();
    let options = env.options.clone();
    let mut stream = Stream::start("facts", env.wake.clone(), move |(path, piece): (PathBuf, FigureGroup)| {
        gather::gather(&path, piece, &options, &stop)
    });
    stream.set_questions(FigureGroup::ALL.map(|piece| (path.clone(), piece)));
    let mut screen = FactsScreen::empty(&path);
    screen.stream = Some(stream);
    screen.waiting = FigureGroup::ALL.len();
    screen.cancel = cancel;
    Box::new(screen)
}

/// Opens the facts view of the facts that a scan has found so far.
pub fn of_scan(facts: &Arc<DatasetFacts>) -> Box<dyn Screen> {
    let mut screen = FactsScreen::empty(&facts.root);
    screen.scanned = gather::of_scan(facts);
    Box::new(screen)
}

struct FactsScreen {
    name: String,
    sheet: FactsSheet,
    /// The facts from the scan, drawn first.
    scanned: FactsSheet,
    stream: Option<Stream<(PathBuf, FigureGroup), FactsResult>>,
    /// A scan that runs while its facts are shown.
    scan: Option<LiveScan>,
    /// The facts of the scan as last drawn.
    drawn_facts: Option<Arc<DatasetFacts>>,
    /// Whether the scan has ended and all of its facts are drawn.
    is_complete: bool,
    /// Number of groups that are being gathered.
    waiting: usize,
    cancel: Cancel,
    scroll: Scroll,
}

impl FactsScreen {
    fn empty(path: &Path) -> Self {
        Self {
            name: text::last_name(path),
            sheet: FactsSheet::default(),
            scanned: FactsSheet::default(),
            stream: None,
            scan: None,
            drawn_facts: None,
            is_complete: false,
            waiting: 0,
            cancel: Cancel::default(),
            scroll: Scroll::default(),
        }
    }

    fn add(&mut self, piece: FactsSheet) {
        self.sheet.add(piece);
    }

    /// Returns everything gathered so far.
    fn all(&self) -> FactsSheet {
        let mut sheet = self.scanned.clone();
        sheet.add(self.sheet.clone());
        sheet
    }

    fn is_counting(&self) -> bool {
        self.waiting > 0 || self.scan.is_some() && !self.is_complete
    }

    /// Updates the sheet from a running scan. Returns whether it changed.
    fn follow_scan(&mut self) -> bool {
        let Some(scan) = &self.scan else { return false };
        // Read before the facts: facts found between the two calls are drawn at the next tick.
        let finished = scan.is_finished();
        let facts = scan.facts();
        let was_settled = std::mem::replace(&mut self.is_complete, finished);
        if self.drawn_facts.as_ref().is_some_and(|seen| Arc::ptr_eq(seen, &facts)) || !facts.opened && !finished {
            return finished != was_settled;
        }
        self.scanned = gather::of_scan(&facts);
        if let Some(failure) = scan.failure().filter(|f| !f.is_cancelled()) {
            self.scanned.failures.push(failure.to_string());
        }
        self.drawn_facts = Some(facts);
        true
    }

    fn head(&self, sheet: &FactsSheet, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
        let mut lines = Vec::new();
        if !sheet.figures.is_empty() {
            let figures = sheet.figures.join(&format!(" {} ", ui.glyphs.dot));
            lines.extend(text::wrap(&figures, columns).into_iter().map(Line::from));
        }
        if self.is_counting() {
            lines.push(Line::from(Span::styled(format!("{} counting", ui.spinner()), ui.theme.accent)));
        }
        for trouble in &sheet.failures {
            let words = text::wrap(&format!("{} {trouble}", ui.glyphs.warn), columns).into_iter();
            lines.extend(words.map(|l| Line::from(Span::styled(l, ui.theme.warn))));
        }
        if sheet.charts.is_empty() && !self.is_counting() && sheet.failures.is_empty() {
            lines.push(Line::from(Span::styled("there is nothing to be drawn", ui.theme.muted)));
        }
        lines.push(Line::default());
        lines
    }

    fn page(&self, columns: u16, ui: &Ui) -> Vec<Line<'static>> {
        let sheet = self.all();
        let mut lines = self.head(&sheet, usize::from(columns), ui);
        if columns < TWO_COLUMNS {
            for (at, chart) in sheet.charts.iter().enumerate() {
                lines.extend(chart.lines(usize::from(columns), MAX_BARS, at, ui));
                lines.push(Line::default());
            }
        } else {
            lines.extend(two_columns(&sheet.charts, usize::from(columns), ui));
        }
        while lines.last().is_some_and(|l| l.width() == 0) {
            lines.pop();
        }
        lines
    }
}

/// Lays out charts in two columns, each chart in the shorter column.
fn two_columns(charts: &[Chart], columns: usize, ui: &Ui) -> Vec<Line<'static>> {
    let half = (columns - 3) / 2;
    let mut sides: [Vec<Line<'static>>; 2] = [Vec::new(), Vec::new()];
    for (at, chart) in charts.iter().enumerate() {
        let [left, right] = &mut sides;
        let side = if left.len() <= right.len() { left } else { right };
        side.extend(chart.lines(half, MAX_BARS, at, ui));
        side.push(Line::default());
    }
    let [left, right] = sides;
    let rows = left.len().max(right.len());
    let mut rights = right.into_iter();
    let mut lefts = left.into_iter();
    (0..rows)
        .map(|_| {
            let mut line = lefts.next().unwrap_or_default();
            let gap = (half + 3).saturating_sub(line.width());
            if let Some(other) = rights.next() {
                line.spans.push(Span::raw(" ".repeat(gap)));
                line.spans.extend(other.spans);
            }
            line
        })
        .collect()
}

impl Drop for FactsScreen {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

impl Screen for FactsScreen {
    fn context(&self) -> Context {
        Context::Page
    }

    fn title(&self) -> Vec<String> {
        vec!["facts".to_owned(), self.name.clone()]
    }

    fn handle(&mut self, input: Input) -> Vec<Effect> {
        match input {
            Input::Action(Action::Close) => return vec![Effect::Pop],
            Input::Action(action) => self.scroll.handle_action(action),
            Input::Mouse(mouse) => self.scroll.scroll(wheel(mouse).unwrap_or(0)),
            Input::Key(_) | Input::Paste(_) => {}
        }
        Vec::new()
    }

    fn tick(&mut self, _: &mut Vec<Effect>) -> bool {
        let pieces = self.stream.as_mut().map(Stream::take).unwrap_or_default();
        self.waiting = self.waiting.saturating_sub(pieces.len());
        let mut changed = !pieces.is_empty();
        for piece in pieces {
            match piece {
                FactsResult::Sheet(sheet) => self.add(*sheet),
                FactsResult::Scan(scan) => self.scan = Some(*scan),
            }
        }
        changed |= self.follow_scan();
        changed
    }

    fn is_busy(&self) -> bool {
        self.is_counting()
    }

    fn draw(&mut self, frame: &mut Frame, area: Rect, ui: &Ui) {
        let inner = padded(draw_panel(frame, area, &format!("Facts: {}", display_safe(&self.name)), true, ui));
        let lines = self.page(inner.width, ui);
        self.scroll.set_size(lines.len(), usize::from(inner.height));
        draw_lines(frame.buffer_mut(), inner, lines.into_iter().skip(self.scroll.top));
        self.scroll.draw_marks(frame, inner, ui);
    }
}

#[cfg(test)]
mod tests;
