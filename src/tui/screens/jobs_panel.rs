//! Jobs of this process: a list with bars, and the log or the problems of the selected one.

use crate::job::{JobState, Phase};
use crate::model::text::{bytes, count, duration, grouped};
use crate::model::Severity;
use crate::tui::jobs::JobView;
use crate::tui::keymap::{Action, Context};
use crate::tui::screen::{Effect, Input, Screen, Ui, UiEnv};
use crate::tui::widgets::toast::Level;
use crate::tui::widgets::{draw_list, panel, progress_bar, text, Gesture, ListState, Places, Toast};
use ratatui::crossterm::event::MouseEvent;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::Frame;

/// The panel of `J`.
pub struct JobsPanel {
    env: UiEnv,
    views: Vec<JobView>,
    list: ListState,
    /// The lower pane shows problems in place of the log.
    problems: bool,
    /// Lines of the lower pane away from where it starts: the end of the log, the first problem.
    scrolled: usize,
    details_height: usize,
    /// The rows of jobs in view, as the list drew them.
    rows: ListState,
    places: Places<Pane>,
}

/// What the mouse can point at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pane {
    Jobs,
    Details,
}

/// Lines that one job takes in the list.
const JOB_LINES: usize = 2;

impl JobsPanel {
    /// The panel, the newest job selected.
    pub fn new(env: UiEnv) -> Self {
        let views = env.jobs.views();
        let mut list = ListState::new(views.len());
        list.select(usize::MAX);
        Self {
            env,
            views,
            list,
            problems: false,
            scrolled: 0,
            details_height: 0,
            rows: ListState::default(),
            places: Places::default(),
        }
    }

    fn selected(&self) -> Option<&JobView> {
        self.list.get().and_then(|row| self.views.get(row))
    }

    fn refresh(&mut self) {
        self.views = self.env.jobs.views();
        self.list.set_len(self.views.len());
    }

    fn cancel(&mut self) -> bool {
        let stopped = self.selected().is_some_and(|view| self.env.jobs.cancel(view.id));
        self.refresh();
        stopped
    }

    /// Scrolls the lower pane towards its end or its beginning.
    fn scroll(&mut self, down: bool, lines: usize) {
        if down == self.problems {
            self.scrolled = self.scrolled.saturating_add(lines);
        } else {
            self.scrolled = self.scrolled.saturating_sub(lines);
        }
    }

    fn act(&mut self, action: Action) {
        let page = self.details_height.max(2);
        match action {
            Action::PageDown => self.scroll(true, page),
            Action::PageUp => self.scroll(false, page),
            Action::HalfDown => self.scroll(true, page / 2),
            Action::HalfUp => self.scroll(false, page / 2),
            action if self.list.act(action) => self.scrolled = 0,
            _ => {}
        }
    }

    fn mouse(&mut self, mouse: MouseEvent) -> Vec<Effect> {
        match self.places.gesture(mouse) {
            Some(Gesture::Wheel { on: Pane::Jobs, rows }) => {
                self.act(if rows < 0 { Action::Up } else { Action::Down });
            }
            Some(Gesture::Wheel { on: Pane::Details, rows }) => self.scroll(rows > 0, rows.unsigned_abs()),
            Some(Gesture::Click { on: Pane::Jobs, line, .. }) => {
                if let Some(row) = self.rows.row_at(line) {
                    self.list.select(row / JOB_LINES);
                    self.scrolled = 0;
                }
            }
            Some(Gesture::DoubleClick { .. }) => return vec![Effect::Do(Action::ShowLog)],
            Some(Gesture::Click { .. }) | None => {}
        }
        Vec::new()
    }

    fn draw_jobs(&mut self, frame: &mut Frame, area: Rect, ui: &Ui) {
        let block = panel("Jobs", true, ui);
        let inner = block.inner(area);
        frame.render_widget(block, area);
        self.places.put(inner, Pane::Jobs);
        if self.views.is_empty() {
            let line = Line::from(Span::styled("   no jobs were started", ui.theme.muted));
            frame.render_widget(line, Rect { height: inner.height.min(1), ..inner });
            return;
        }
        // Each job has two lines: the selection covers both.
        let mut rows = ListState::new(self.views.len() * JOB_LINES);
        rows.select(self.list.selected * JOB_LINES + 1);
        rows.window(usize::from(inner.height));
        rows.select(self.list.selected * JOB_LINES);
        let views = &self.views;
        draw_list(frame.buffer_mut(), inner, &mut rows, true, ui, |row, columns| {
            let view = &views[row / JOB_LINES];
            match row % JOB_LINES {
                0 => title_line(view, columns, ui),
                _ => progress_line(view, columns, ui),
            }
        });
        self.rows = rows;
    }

    fn draw_details(&mut self, frame: &mut Frame, area: Rect, ui: &Ui) {
        let Some(view) = self.selected().cloned() else { return };
        let view = &view;
        let title = if self.problems { "Problems" } else { "Log" };
        let block = panel(title, false, ui);
        let inner = block.inner(area);
        frame.render_widget(block, area);
        self.places.put(inner, Pane::Details);
        let columns = usize::from(inner.width).saturating_sub(2);
        let lines = if self.problems { problem_lines(view, columns, ui) } else { log_lines(view, columns, ui) };
        self.details_height = usize::from(inner.height);
        let most = lines.len().saturating_sub(self.details_height);
        self.scrolled = self.scrolled.min(most);
        // The newest lines of a log are at its end; problems are read from the first one on.
        let skip = if self.problems { self.scrolled } else { most - self.scrolled };
        if skip > 0 {
            frame.buffer_mut().set_string(inner.right().saturating_sub(1), inner.y, ui.glyphs.more_up, ui.theme.muted);
        }
        if skip < most {
            let y = inner.bottom().saturating_sub(1);
            frame.buffer_mut().set_string(inner.right().saturating_sub(1), y, ui.glyphs.more_down, ui.theme.muted);
        }
        for (y, line) in (inner.y..inner.bottom()).zip(lines.into_iter().skip(skip)) {
            let place = Rect { x: inner.x.saturating_add(1), y, height: 1, width: inner.width.saturating_sub(2) };
            frame.render_widget(line, place);
        }
    }
}

fn state_word(view: &JobView, ui: &Ui) -> (String, Style) {
    match view.status.state {
        JobState::Pending => ("waiting".to_owned(), ui.theme.muted),
        JobState::Running => (format!("{} {}", ui.spinner(), phase_word(view.status.phase)), ui.theme.accent),
        JobState::Done => (format!("{} done", ui.glyphs.check), ui.theme.ok),
        JobState::Failed => (format!("{} failed", ui.glyphs.cross), ui.theme.error),
        JobState::Cancelled => (format!("{} cancelled", ui.glyphs.warn), ui.theme.warn),
    }
}

/// What a job is doing, in a person's words.
pub fn phase_word(phase: Phase) -> &'static str {
    match phase {
        Phase::Open => "opening",
        Phase::Scan => "reading",
        Phase::Media => "reading media",
        Phase::Tables => "building tables",
        Phase::Find => "finding repeats",
        Phase::Write => "rewriting",
        Phase::Publish => "publishing",
    }
}

fn title_line(view: &JobView, columns: usize, ui: &Ui) -> Line<'static> {
    let (word, style) = state_word(view, ui);
    let time = duration(view.status.elapsed);
    let right = text::width(&word) + 2 + text::width(&time);
    let title = text::fit_middle(&view.title, columns.saturating_sub(right + 3), ui.glyphs);
    let gap = columns.saturating_sub(text::width(&title) + right + 1);
    Line::from(vec![
        Span::styled(title, ui.theme.title),
        Span::raw(" ".repeat(gap)),
        Span::styled(word, style),
        Span::styled(format!("  {time}"), ui.theme.muted),
    ])
}

/// Share of the work done, in bytes where they are known, else in items; `None` while the total is unknown.
pub fn share(view: &JobView) -> Option<f64> {
    let p = view.status.progress;
    let share = match view.status.state {
        JobState::Done => return Some(1.0),
        _ if p.bytes_total > 0 => p.bytes_done as f64 / p.bytes_total as f64,
        _ if p.items_total > 0 => p.items_done as f64 / p.items_total as f64,
        _ => return None,
    };
    // Everything is done only when everything is published.
    Some(share.min(0.99))
}

fn progress_line(view: &JobView, columns: usize, ui: &Ui) -> Line<'static> {
    let p = view.status.progress;
    let mut facts: Vec<String> = Vec::new();
    let noun = view.status.item;
    match (p.items_done, p.items_total) {
        (0, 0) => {}
        // The figures of the last phase, which one who was not there cannot make sense of.
        (done, total) if view.status.state == JobState::Done && done < total => {}
        (done, 0) => facts.push(count(done, noun)),
        (done, total) => facts.push(format!("{}/{}", grouped(done), count(total, noun))),
    }
    if p.bytes_done > 0 {
        facts.push(bytes(p.bytes_done));
    }
    if view.status.state == JobState::Running {
        if view.status.bytes_per_second >= 1.0 {
            facts.push(format!("{}/s", bytes(view.status.bytes_per_second as u64)));
        }
        if view.status.tokens_per_second >= 1.0 {
            facts.push(format!("{}/s", count(view.status.tokens_per_second as u64, "token")));
        }
        if let Some(left) = view.status.remaining {
            facts.push(format!("{} left", duration(left)));
        }
    }
    let problems: u64 = view.status.counts.iter().filter(|(s, ..)| *s >= Severity::Problem).map(|(.., n)| n).sum();
    let bar_columns = (columns / 3).min(24);
    let bar = match share(view) {
        Some(share) => format!("{} {:>3.0} %", progress_bar(share, bar_columns, ui.glyphs), (share * 100.0).floor()),
        None => " ".repeat(bar_columns + 6),
    };
    let facts = facts.join(&format!(" {} ", ui.glyphs.dot));
    let mut spans = vec![Span::styled(bar, ui.theme.bar(0)), Span::raw("  ")];
    let mut room = columns.saturating_sub(bar_columns + 8);
    if problems > 0 {
        let noted = format!("{} {}  ", ui.glyphs.warn, count(problems, "problem"));
        room = room.saturating_sub(text::width(&noted));
        spans.push(Span::styled(noted, ui.theme.warn));
    }
    spans.push(Span::styled(text::fit_end(&facts, room, ui.glyphs), ui.theme.muted));
    Line::from(spans)
}

fn log_lines(view: &JobView, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
    let wrap = |line: &String| text::wrap(line, columns);
    let lines: Vec<Line> = view.status.log.iter().flat_map(wrap).map(Line::from).collect();
    if lines.is_empty() {
        return vec![Line::from(Span::styled("nothing yet", ui.theme.muted))];
    }
    lines
}

fn problem_lines(view: &JobView, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for problem in &view.status.problems {
        let (glyph, style) = match problem.severity {
            Severity::Note => (ui.glyphs.dot, ui.theme.muted),
            Severity::Problem => (ui.glyphs.warn, ui.theme.warn),
            Severity::Refusal => (ui.glyphs.cross, ui.theme.error),
        };
        for line in text::wrap(&format!("{glyph} {problem}"), columns) {
            lines.push(Line::from(Span::styled(line, style)));
        }
        for hint in problem.hint.iter().flat_map(|h| text::wrap(&format!("  hint: {h}"), columns.saturating_sub(1))) {
            lines.push(Line::from(Span::styled(hint, ui.theme.muted)));
        }
    }
    if lines.is_empty() {
        lines.push(Line::from(Span::styled("no problems", ui.theme.muted)));
    }
    lines
}

impl Screen for JobsPanel {
    fn context(&self) -> Context {
        Context::Jobs
    }
    fn title(&self) -> Vec<String> {
        vec!["jobs".to_owned()]
    }

    fn label(&self, action: Action) -> &'static str {
        match action {
            Action::ShowLog if self.problems => "log",
            Action::ShowLog => "problems",
            action => action.label(),
        }
    }

    fn why_disabled(&self, action: Action) -> Option<String> {
        let ended = |view: &JobView| !matches!(view.status.state, JobState::Pending | JobState::Running);
        match action {
            Action::Jobs => Some("they are shown already".into()),
            Action::CancelJob if self.selected().is_none_or(ended) => Some("it does not run".into()),
            Action::ShowLog if self.views.is_empty() => Some("there is no job".into()),
            Action::ClearFinished if !self.views.iter().any(ended) => Some("no job has finished".into()),
            _ => None,
        }
    }

    fn handle(&mut self, input: Input) -> Vec<Effect> {
        match input {
            Input::Action(Action::Close) => return vec![Effect::Pop],
            Input::Action(Action::ShowLog) => {
                self.problems = !self.problems;
                self.scrolled = 0;
            }
            Input::Action(Action::CancelJob) => {
                self.cancel();
                return vec![Effect::Toast(Toast::new(Level::Info, "Stopping at the next safe point"))];
            }
            Input::Action(Action::ClearFinished) => {
                self.env.jobs.clear_finished();
                self.refresh();
            }
            Input::Action(action) => self.act(action),
            Input::Mouse(mouse) => return self.mouse(mouse),
            Input::Key(_) | Input::Paste(_) => {}
        }
        Vec::new()
    }

    fn tick(&mut self, _: &mut Vec<Effect>) -> bool {
        self.refresh();
        !self.views.is_empty()
    }

    fn interrupt(&mut self) -> bool {
        self.cancel()
    }

    fn draw(&mut self, frame: &mut Frame, area: Rect, ui: &Ui) {
        self.places.clear();
        if area.height < 12 || self.views.is_empty() {
            return self.draw_jobs(frame, area, ui);
        }
        let wanted = u16::try_from(self.views.len() * JOB_LINES + 2).unwrap_or(u16::MAX);
        let top = wanted.min(area.height / 2);
        let parts = Layout::vertical([Constraint::Length(top), Constraint::Fill(1)]).split(area);
        self.draw_jobs(frame, parts[0], ui);
        self.draw_details(frame, parts[1], ui);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::JobStatus;
    use crate::model::handles::ProgressReading;
    use crate::tui::jobs::JobId;
    use crate::tui::keymap::Keymap;
    use crate::tui::theme::{ColourMode, Glyphs, Theme};

    #[test]
    fn items_are_named_by_the_phase_and_grouped() {
        let (theme, glyphs, keymap) = (Theme::new(ColourMode::None), Glyphs::new(true), Keymap::default());
        let ui = Ui { theme: &theme, glyphs: &glyphs, keymap: &keymap, frame_count: 0 };
        let line = |phase| {
            let progress = ProgressReading { items_done: 1_234, items_total: 20_000, ..ProgressReading::default() };
            let status = JobStatus { phase, progress, item: phase.item(), ..JobStatus::ended(JobState::Running) };
            let view = JobView { id: JobId(1), title: "prepare x".into(), path: "x".into(), status };
            progress_line(&view, 100, &ui).to_string()
        };
        assert!(line(Phase::Scan).contains("1,234/20,000 shards"), "{}", line(Phase::Scan));
        assert!(line(Phase::Tables).contains("1,234/20,000 samples"));
        assert!(line(Phase::Publish).contains("1,234/20,000 files"));
    }
}
