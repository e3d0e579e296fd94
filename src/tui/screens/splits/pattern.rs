//! Moving or excluding shards by a pattern: what it matches is shown while it is typed.

use super::screen::choose_target;
use super::session::SplitSession;
use super::state::{column_name, columns};
use crate::engine::splits::{matching, SplitEditor};
use crate::model::text::{count, grouped};
use crate::model::{Failure, Outcome};
use crate::tui::keymap::{Action, Context};
use crate::tui::screen::{Effect, Input, Screen, Ui};
use crate::tui::widgets::layout::{draw_lines, row};
use crate::tui::widgets::mouse::{Gesture, Places};
use crate::tui::widgets::popup::{growing_popup, text_columns};
use crate::tui::widgets::{draw_list, text, Level, ListState, TextField, Toast};
use crate::tui::work::Latest;
use ratatui::crossterm::event::MouseEvent;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::Frame;
use std::sync::Arc;

/// The dialog's columns and the most rows it takes, its border included.
const SIZE: (u16, u16) = (76, 18);

/// What a pattern matches.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Matched {
    /// The shards, in the order of the data set, and their samples.
    pub shards: Vec<(Arc<str>, u64)>,
    /// How many of them are in each split.
    pub by_split: Vec<(String, usize)>,
}

impl Matched {
    /// What a pattern matches; the failure of one that cannot be used or matches nothing.
    pub fn of(editor: &SplitEditor, pattern: &str) -> Outcome<Self> {
        let found = matching(editor, pattern)?;
        let all = editor.shards();
        let is_found: std::collections::HashSet<u32> = found.iter().filter_map(|id| u32::try_from(*id).ok()).collect();
        let in_split = |shards: &[crate::engine::splits::ShardView]| {
            shards.iter().filter(|shard| shard.id.is_some_and(|id| is_found.contains(&id))).count()
        };
        let by_split = columns(editor).map(|view| (column_name(view).to_owned(), in_split(&view.shards)));
        let by_split = by_split.filter(|(_, shards)| *shards > 0).collect();
        Ok(Self { shards: found.iter().filter_map(|id| all.get(*id).cloned()).collect(), by_split })
    }
}

/// The rows below the field of a dialog.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// Which of them is selected, and which are in view.
    pub list: ListState,
    /// How tall the dialog has become: it does not shrink under the hands of who types.
    pub tallest: u16,
    /// Where they were drawn last, for the mouse.
    places: Places<()>,
}

impl Rows {
    /// So many new ones.
    pub fn set(&mut self, len: usize) {
        self.list = ListState::new(len);
    }

    /// The box of the dialog for `lines` of text and the rows, border included; at most `most`.
    pub fn height(&mut self, lines: usize, most: u16) -> u16 {
        let wanted = u16::try_from(lines + self.list.len + 2).unwrap_or(u16::MAX).min(most);
        self.tallest = self.tallest.max(wanted);
        self.tallest
    }

    /// Draws them: `row` is asked for the text of one, and told the columns it may take.
    pub fn draw(&mut self, frame: &mut Frame, area: Rect, ui: &Ui, row: impl Fn(usize, usize) -> Line<'static>) {
        self.places.clear();
        self.places.put(area, ());
        draw_list(frame.buffer_mut(), area, &mut self.list, false, ui, row);
    }

    /// Does what the mouse did: a click selects, the wheel scrolls. Returns whether a row was clicked twice.
    pub fn point(&mut self, mouse: MouseEvent) -> bool {
        let Some(gesture) = self.places.gesture(mouse) else { return false };
        match gesture {
            Gesture::Wheel { rows, .. } => self.list.scroll(rows),
            Gesture::Click { line, .. } => {
                if let Some(row) = self.list.row_at(line) {
                    self.list.select(row);
                }
            }
            Gesture::DoubleClick { line, .. } => return self.list.row_at(line).is_some(),
        }
        false
    }
}

/// The dialog.
pub struct PatternDialog {
    session: SplitSession,
    field: TextField,
    rows: Rows,
    /// What was found, and for which pattern.
    found: Option<(String, Outcome<Matched>)>,
    worker: Latest<(SplitEditor, String), (String, Outcome<Matched>)>,
}

impl PatternDialog {
    /// An empty pattern.
    pub fn new(session: SplitSession) -> Self {
        let worker = Latest::start("pattern", session.env().wake, |(editor, pattern): (SplitEditor, String)| {
            let found = Matched::of(&editor, &pattern);
            (pattern, found)
        });
        Self { session, field: TextField::default(), rows: Rows::default(), found: None, worker }
    }

    fn ask(&mut self) {
        let pattern = self.field.value().to_owned();
        if pattern.is_empty() {
            self.found = None;
            self.rows.set(0);
            return;
        }
        if let Some(editor) = self.session.editor() {
            self.worker.ask((editor.clone(), pattern));
        }
    }

    /// What is found for what stands in the field now.
    fn now(&self) -> Option<&Outcome<Matched>> {
        self.found.as_ref().filter(|(pattern, _)| pattern == self.field.value()).map(|(_, found)| found)
    }

    fn accept(&mut self) -> Vec<Effect> {
        let say = |words: String| vec![Effect::Toast(Toast::new(Level::Warn, words))];
        match self.now() {
            None if self.field.is_empty() => say("type a pattern first".to_owned()),
            None => say("still looking".to_owned()),
            Some(Err(failure)) => say(failure.why.clone()),
            Some(Ok(matched)) => {
                let shards = matched.shards.iter().map(|(name, _)| Arc::clone(name)).collect();
                let mut effects = vec![Effect::Pop];
                effects.extend(choose_target(&self.session, shards, None, true));
                effects
            }
        }
    }
}

impl Screen for PatternDialog {
    fn context(&self) -> Context {
        Context::SplitsText
    }
    fn title(&self) -> Vec<String> {
        Vec::new()
    }
    fn is_popup(&self) -> bool {
        true
    }
    fn wants_text(&self) -> bool {
        true
    }
    fn is_busy(&self) -> bool {
        self.worker.is_waiting()
    }

    fn label(&self, action: Action) -> &'static str {
        match action {
            Action::Accept => "move or exclude them",
            action => action.label(),
        }
    }

    fn why_disabled(&self, action: Action) -> Option<String> {
        matches!(action, Action::NextField | Action::PreviousField).then(|| "there is one field only".to_owned())
    }

    fn handle(&mut self, input: Input) -> Vec<Effect> {
        match input {
            Input::Action(Action::Close) => return vec![Effect::Pop],
            Input::Action(Action::Accept) => return self.accept(),
            Input::Action(action) => {
                self.rows.list.act(action);
            }
            Input::Key(key) => {
                if self.field.key(key) {
                    self.ask();
                }
            }
            Input::Paste(words) => {
                self.field.paste(&words);
                self.ask();
            }
            Input::Mouse(mouse) => {
                if self.rows.point(mouse) {
                    return self.accept();
                }
            }
        }
        Vec::new()
    }

    fn tick(&mut self, _: &mut Vec<Effect>) -> bool {
        let Some(found) = self.worker.take() else { return false };
        self.rows.set(found.1.as_ref().map_or(0, |matched| matched.shards.len()));
        self.found = Some(found);
        true
    }

    fn draw(&mut self, frame: &mut Frame, area: Rect, ui: &Ui) {
        let found = self.found.as_ref().filter(|(pattern, _)| pattern == self.field.value()).map(|(_, found)| found);
        draw(&self.field, found, &mut self.rows, frame, area, ui);
    }
}

/// Draws the dialog.
pub fn draw(
    field: &TextField,
    found: Option<&Outcome<Matched>>,
    rows: &mut Rows,
    frame: &mut Frame,
    area: Rect,
    ui: &Ui,
) {
    let columns = text_columns(area, SIZE.0);
    let muted = |words: &str| vec![Line::from(Span::styled(text::fit_end(words, columns, ui.glyphs), ui.theme.muted))];
    let lines = match found {
        None if field.is_empty() => muted("what it matches is shown here, before anything is moved"),
        None => muted(&format!("{} looking", ui.spinner())),
        Some(Err(failure)) => failure_lines(failure, columns, ui),
        Some(Ok(matched)) => {
            vec![Line::from(Span::styled(text::fit_end(&matched_words(matched), columns, ui.glyphs), ui.theme.ok))]
        }
    };
    let used = lines.len() + 1;
    let height = rows.height(used, SIZE.1);
    let inner = growing_popup(frame, area, (SIZE.0, height, SIZE.1), "Shards by pattern", ui);
    let text_area = Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner };
    field.draw(frame, row(text_area, 0), true, "a regular expression from the start of the name: shard_00[01].*", ui);
    for (at, line) in lines.into_iter().enumerate() {
        draw_lines(frame.buffer_mut(), row(text_area, at + 1), [line]);
    }
    let used = u16::try_from(used).unwrap_or(u16::MAX).min(inner.height);
    let below = Rect { y: inner.y + used, height: inner.height - used, ..inner };
    let Some(Ok(matched)) = found else { return };
    rows.draw(frame, below, ui, |at, columns| {
        let Some((name, samples)) = matched.shards.get(at) else { return Line::default() };
        let samples = grouped(*samples);
        let room = columns.saturating_sub(samples.len() + 2);
        let name = text::pad_end(&text::fit_middle(name, room, ui.glyphs), room);
        Line::from(vec![Span::raw(format!("{name} ")), Span::styled(samples, ui.theme.muted)])
    });
}

fn matched_words(matched: &Matched) -> String {
    let parts: Vec<String> =
        matched.by_split.iter().map(|(name, shards)| format!("{} in {name}", grouped(*shards as u64))).collect();
    format!("{}: {}", count(matched.shards.len() as u64, "shard"), parts.join(", "))
}

/// Why a text cannot be used, and the way out.
pub fn failure_lines(failure: &Failure, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
    let why = text::wrap(&format!("{} {}", ui.glyphs.warn, failure.why), columns);
    let hint = failure.hint.iter().flat_map(|hint| text::wrap(hint, columns));
    let why = why.into_iter().map(|line| Line::from(Span::styled(line, ui.theme.warn)));
    why.chain(hint.map(|line| Line::from(Span::styled(line, ui.theme.muted)))).collect()
}
