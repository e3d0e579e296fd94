//! The review screen: shows the changes as a diff, asks for confirmation once, writes, and shows the result.

use super::session::SplitSession;
use crate::tui::keymap::{Action, Context};
use crate::tui::screen::{Effect, Input, Screen, Ui};
use crate::tui::widgets::layout::{draw_lines, problem_lines};
use crate::tui::widgets::{draw_list, draw_panel, padded, text, Level, ListState, Toast};
use crate::tui::work::LatestWorker;
use gristmill_core::text::{bytes, count, grouped};
use gristmill_core::{Failure, Problem, ProblemKind};
use gristmill_ops::engine::splits::{DiffKind, DiffLine, SplitEditor};
use gristmill_ops::job::splits::SplitFile;
use ratatui::crossterm::event::MouseEventKind;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::Frame;
use std::sync::Arc;

/// Maximum number of problems shown below the diff.
const MAX_PROBLEMS: usize = 3;

/// The changes to be reviewed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChangeList {
    /// The lines of the diff.
    pub lines: Vec<DiffLine>,
    /// The changes as text.
    pub titles: Vec<String>,
    /// Problems of a training run with the changed splits.
    pub problems: Vec<Problem>,
}

impl ChangeList {
    /// Returns the unwritten changes of an editor.
    pub fn of(editor: &SplitEditor) -> Self {
        let is_problem =
            |problem: &Problem| matches!(problem.kind, ProblemKind::ShardInTwoSplits | ProblemKind::BadBraces);
        let problems = editor.problems().into_iter().filter(is_problem);
        let titles = editor.log().iter().map(|edit| edit.title()).collect();
        Self { lines: editor.diff(), titles, problems: problems.collect() }
    }
}

/// The review screen.
pub struct Review {
    session: SplitSession,
    changes: Option<ChangeList>,
    list: ListState,
    worker: LatestWorker<SplitEditor, ChangeList>,
    requested_version: Option<u64>,
    written: Option<Arc<SplitFile>>,
}

impl Review {
    /// Creates the review of the unwritten changes of a session.
    pub fn new(session: SplitSession) -> Self {
        let worker = LatestWorker::start("diff", session.env().wake, |editor: SplitEditor| ChangeList::of(&editor));
        let mut review =
            Self { session, changes: None, list: ListState::default(), worker, requested_version: None, written: None };
        review.request_differences();
        review
    }

    fn request_differences(&mut self) {
        let version = self.session.version();
        if self.requested_version == Some(version) || self.written.is_some() {
            return;
        }
        if let Some(editor) = self.session.editor() {
            self.worker.submit(editor.clone());
            self.requested_version = Some(version);
        }
    }

    fn accept(&mut self) -> Vec<Effect> {
        if self.written.is_some() {
            return vec![Effect::Pop];
        }
        if let Some(why) = self.pending_reason() {
            return vec![Effect::Toast(Toast::new(Level::Warn, why))];
        }
        self.session.write_now(false);
        Vec::new()
    }

    /// Returns why the changes cannot be written now. Only changes that are on the screen can be written.
    fn pending_reason(&self) -> Option<String> {
        let is_shown = self.changes.is_some()
            && !self.worker.is_waiting()
            && self.requested_version == Some(self.session.version());
        self.session.edit_refusal().or_else(|| (!is_shown).then(|| "the changes are being compared".to_owned()))
    }
}

impl SplitSession {
    /// Returns the screen that shows the changes as a diff and writes them.
    pub fn review(&self) -> Box<dyn Screen> {
        Box::new(Review::new(self.clone()))
    }

    /// Handles `w`: opens the review, or reports that there is nothing to write.
    pub fn write(&self) -> Vec<Effect> {
        if let Some(why) = self.edit_refusal() {
            return vec![Effect::Toast(Toast::new(Level::Warn, why))];
        }
        match self.pending() {
            0 => vec![Effect::Toast(Toast::new(Level::Info, "there is nothing to write"))],
            _ => vec![Effect::Push(self.review())],
        }
    }
}

impl Screen for Review {
    fn context(&self) -> Context {
        Context::SplitsReview
    }

    fn title(&self) -> Vec<String> {
        vec!["splits".to_owned(), self.session.name(), "changes".to_owned()]
    }

    fn status_right(&self) -> Option<String> {
        let comparing = self.worker.is_waiting().then_some("comparing");
        comparing.or_else(|| self.session.doing()).map(str::to_owned)
    }

    fn is_busy(&self) -> bool {
        self.worker.is_waiting() || self.session.is_busy()
    }

    fn unwritten(&self) -> Option<String> {
        self.session.unwritten()
    }

    fn label(&self, action: Action) -> &'static str {
        match (action, self.written.is_some()) {
            (Action::Accept, true) => "done",
            (Action::Accept, false) => "write it",
            (action, _) => action.label(),
        }
    }

    fn disabled_reason(&self, action: Action) -> Option<String> {
        match action {
            Action::EditText if self.written.is_some() => Some("it is written already".to_owned()),
            Action::Accept if self.written.is_none() => self.pending_reason(),
            _ => None,
        }
    }

    fn handle(&mut self, input: Input) -> Vec<Effect> {
        match input {
            Input::Action(Action::Close) => return vec![Effect::Pop],
            Input::Action(Action::Accept) => return self.accept(),
            Input::Action(Action::EditText) => return self.session.edit_text(),
            Input::Action(action) => {
                self.list.handle_action(action);
            }
            Input::Mouse(mouse) => match mouse.kind {
                MouseEventKind::ScrollUp => self.list.scroll(-3),
                MouseEventKind::ScrollDown => self.list.scroll(3),
                _ => {}
            },
            Input::Key(_) | Input::Paste(_) => {}
        }
        Vec::new()
    }

    fn tick(&mut self, effects: &mut Vec<Effect>) -> bool {
        let mut changed = self.session.tick(effects);
        if self.written.is_none() {
            self.written = self.session.written();
            changed |= self.written.is_some();
        }
        self.request_differences();
        if let Some(changes) = self.worker.take() {
            self.list.set_len(changes.lines.len());
            self.changes = Some(changes);
            changed = true;
        }
        changed
    }

    fn resumed(&mut self) {
        self.session.text_returned();
        self.request_differences();
    }

    fn draw(&mut self, frame: &mut Frame, area: Rect, ui: &Ui) {
        match &self.written {
            Some(written) => draw_written(written, self.changes.as_ref(), frame, area, ui),
            None => {
                let failure = self.session.write_failure();
                draw_changes(self.changes.as_ref(), failure.as_ref(), &mut self.list, frame, area, ui);
            }
        }
    }
}

/// Draws the diff, and below it the reason why the last write failed.
pub fn draw_changes(
    changes: Option<&ChangeList>,
    failure: Option<&Failure>,
    list: &mut ListState,
    frame: &mut Frame,
    area: Rect,
    ui: &Ui,
) {
    let problems = changes.map(|changes| changes.problems.as_slice()).unwrap_or_default();
    let area = match failure {
        Some(failure) => draw_failure(failure, frame, area, ui),
        None => draw_problems(problems, frame, area, ui),
    };
    let of = |kind| changes.map_or(0, |c| c.lines.iter().filter(|line| line.kind == kind).count());
    let (added, removed) = (of(DiffKind::Added), of(DiffKind::Removed));
    let title = match changes {
        None => "What would be written".to_owned(),
        Some(changes) => {
            let edits = count(changes.titles.len() as u64, "change");
            let more = changes.lines.iter().find_map(|line| match line.kind {
                DiffKind::More(more) => Some(format!(" and {} more", grouped(more))),
                _ => None,
            });
            format!("What would be written: {edits}, lines +{added} -{removed}{}", more.unwrap_or_default())
        }
    };
    let inner = draw_panel(frame, area, &title, true, ui);
    let Some(changes) = changes else {
        let words = format!(" {} comparing", ui.spinner());
        return draw_lines(frame.buffer_mut(), inner, [Line::from(Span::styled(words, ui.theme.muted))]);
    };
    if changes.lines.is_empty() {
        let words = " The changes cancel out: the file stays as it is.";
        return draw_lines(frame.buffer_mut(), inner, [Line::from(Span::styled(words, ui.theme.muted))]);
    }
    let last = changes.lines.iter().rev().find_map(|line| line.new.max(line.old)).unwrap_or(0);
    let digits = last.to_string().len();
    draw_list(frame.buffer_mut(), inner, list, false, ui, |row, columns| {
        changes.lines.get(row).map(|line| diff_line(line, digits, columns, ui)).unwrap_or_default()
    });
}

/// Draws the problems of the splits at the bottom of an area. Returns the remaining area.
fn draw_problems(problems: &[Problem], frame: &mut Frame, area: Rect, ui: &Ui) -> Rect {
    let columns = usize::from(area.width).saturating_sub(2);
    let lines = problems.iter().take(MAX_PROBLEMS).flat_map(|problem| problem_lines(problem, columns, ui));
    let more = problems.len().checked_sub(MAX_PROBLEMS).filter(|more| *more > 0);
    let more = more.map(|more| Line::from(Span::styled(format!("and {more} more"), ui.theme.muted)));
    at_bottom(lines.chain(more).collect(), frame, area)
}

/// Draws lines at the bottom of an area, in at most half of it. Returns the remaining area.
fn at_bottom(lines: Vec<Line<'static>>, frame: &mut Frame, area: Rect) -> Rect {
    let rows = u16::try_from(lines.len()).unwrap_or(u16::MAX).min(area.height / 2);
    let left = Rect { height: area.height - rows, ..area };
    let place = Rect { x: area.x + 1, y: left.bottom(), width: area.width.saturating_sub(1), height: rows };
    draw_lines(frame.buffer_mut(), place, lines);
    left
}

/// Draws the reason why nothing was written at the bottom of an area. Returns the remaining area.
fn draw_failure(failure: &Failure, frame: &mut Frame, area: Rect, ui: &Ui) -> Rect {
    let columns = usize::from(area.width).saturating_sub(2);
    let message = text::wrap(&format!("{} {failure}", ui.glyphs.cross), columns);
    let hint = failure.hint.iter().flat_map(|hint| text::wrap(hint, columns));
    let message = message.into_iter().map(|line| Line::from(Span::styled(line, ui.theme.error)));
    let hint = hint.map(|line| Line::from(Span::styled(line, ui.theme.muted)));
    at_bottom(message.chain(hint).collect(), frame, area)
}

fn diff_line(line: &DiffLine, digits: usize, columns: usize, ui: &Ui) -> Line<'static> {
    let style = match line.kind {
        DiffKind::Added => ui.theme.ok,
        DiffKind::Removed => ui.theme.error,
        DiffKind::Context => ui.theme.text,
        DiffKind::Gap | DiffKind::More(_) => ui.theme.muted,
    };
    if matches!(line.kind, DiffKind::Gap | DiffKind::More(_)) {
        let words = format!("{} {}", ui.glyphs.ellipsis, line.text);
        return Line::from(Span::styled(text::fit_end(&words, columns, ui.glyphs), style));
    }
    // In narrow terminals, the lines need the columns of the line numbers.
    let numbers = if columns >= 50 {
        let number = |n: Option<u32>| text::pad_start(&n.map(|n| n.to_string()).unwrap_or_default(), digits);
        format!("{} {} ", number(line.old), number(line.new))
    } else {
        String::new()
    };
    let room = columns.saturating_sub(text::width(&numbers) + 2);
    Line::from(vec![
        Span::styled(numbers, ui.theme.muted),
        Span::styled(format!("{} {}", line.sign(), text::fit_end(&line.text, room, ui.glyphs)), style),
    ])
}

/// Draws the result of writing.
pub fn draw_written(written: &SplitFile, changes: Option<&ChangeList>, frame: &mut Frame, area: Rect, ui: &Ui) {
    let inner = padded(draw_panel(frame, area, "Written", true, ui));
    let columns = usize::from(inner.width);
    let path = written.path.to_string_lossy();
    let (sign, result) = if written.nothing_to_do {
        (ui.glyphs.dot, "the file already had this content".to_owned())
    } else {
        (ui.glyphs.check, format!("{}, {}", count(written.edits as u64, "change"), bytes(written.size)))
    };
    let mut lines = vec![
        Line::from(Span::styled(format!("{sign} {result}"), ui.theme.ok)),
        Line::from(format!("  {}", text::fit_middle(&path, columns.saturating_sub(2), ui.glyphs))),
        Line::default(),
    ];
    let titles = changes.map(|c| c.titles.as_slice()).unwrap_or_default();
    let room = usize::from(inner.height).saturating_sub(lines.len() + 1);
    for title in titles.iter().take(room) {
        let words = text::fit_end(title, columns.saturating_sub(2), ui.glyphs);
        lines.push(Line::from(Span::styled(format!("  {words}"), ui.theme.muted)));
    }
    if titles.len() > room {
        let words = format!("  and {} more", titles.len() - room);
        lines.push(Line::from(Span::styled(words, ui.theme.muted)));
    }
    draw_lines(frame.buffer_mut(), inner, lines);
}
