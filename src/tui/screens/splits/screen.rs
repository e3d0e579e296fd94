//! The split editor: columns of shards, the list of excludes, and the handling of keys.

use super::add_exclude::AddExclude;
use super::choice::{Choice, ChoiceOption};
use super::move_dialog::{choose_split, new_split_dialog, usable_name};
use super::prompt::Prompt;
use super::session::SplitSession;
use super::state::{column, column_name, columns, SplitsState};
use super::view::{self, ScreenArea};
use super::{balance, leaks, pattern};
use crate::tui::keymap::{Action, Context};
use crate::tui::screen::{Effect, Input, Screen, Ui, UiEnv};
use crate::tui::screens::{Page, PageLine, Tone};
use crate::tui::widgets::mouse::{Gesture, MouseAreas};
use crate::tui::widgets::{Level, Toast};
use gristmill_core::text::{agree, count, grouped};
use gristmill_core::Severity;
use gristmill_ops::engine::splits::{Edit, ShardView, SplitEditor};
use ratatui::layout::Rect;
use ratatui::Frame;
use std::path::PathBuf;
use std::sync::Arc;

/// Opens the split editor of a data set. Reads nothing on this thread.
pub fn open(path: PathBuf, env: UiEnv) -> Box<dyn Screen> {
    let session = SplitSession::open(&path, &env);
    Box::new(SplitsScreen::new(session, true))
}

/// Opens the split editor on the session of another screen.
pub fn open_shared(session: SplitSession) -> Box<dyn Screen> {
    Box::new(SplitsScreen::new(session, false))
}

/// Asks for a note and passes it to `then`; an empty note is `None`.
pub fn note_dialog(
    title: &str,
    line: String,
    value: &str,
    then: impl Fn(Option<String>) -> Vec<Effect> + 'static,
) -> Box<dyn Screen> {
    Box::new(Prompt::new(title, line, value, "why; written as a comment in the file", move |note| {
        let note = note.trim();
        Ok(then((!note.is_empty()).then(|| note.to_owned())))
    }))
}

/// The split editor screen.
pub struct SplitsScreen {
    session: SplitSession,
    state: SplitsState,
    /// Whether the session belongs to this screen: closing the screen then also discards the changes, after a question if some are not
    /// written.
    is_own: bool,
    shown_version: Option<u64>,
    mouse_areas: MouseAreas<ScreenArea>,
    /// The key that writes changes, as of the last frame.
    write_key: String,
}

impl SplitsScreen {
    /// Creates the screen of a session; `is_own` is whether closing the screen also closes the session.
    pub fn new(session: SplitSession, is_own: bool) -> Self {
        let mut screen = Self {
            session,
            state: SplitsState::default(),
            is_own,
            shown_version: None,
            mouse_areas: MouseAreas::default(),
            write_key: String::new(),
        };
        screen.update();
        screen
    }

    /// Updates the state after a change by any screen that shares the session.
    fn update(&mut self) -> bool {
        let version = self.session.version();
        if self.shown_version == Some(version) {
            return false;
        }
        self.shown_version = Some(version);
        if let Some(editor) = self.session.editor() {
            self.state.update(&editor);
        }
        true
    }

    fn handle_action(&mut self, action: Action) -> Vec<Effect> {
        match action {
            Action::Close => return self.close(),
            Action::Undo => return self.session.undo(),
            Action::Redo => return self.session.redo(),
            Action::Write => return self.session.write(),
            Action::EditText => return self.session.edit_text(),
            Action::Reload => {
                self.session.reload();
                return Vec::new();
            }
            Action::Details => return self.details(),
            Action::MoveTo => return self.move_to(),
            Action::Exclude => return self.exclude(),
            Action::Note => return self.note(),
            Action::AddExclude => return vec![Effect::Push(Box::new(AddExclude::new(self.session.clone())))],
            Action::ByPattern => return vec![Effect::Push(Box::new(pattern::dialog(self.session.clone())))],
            Action::Balance => return vec![Effect::Push(Box::new(balance::dialog(self.session.clone())))],
            Action::LeakCheck => return leaks::open_choice(&self.session),
            Action::AddSplit => return vec![Effect::Push(new_split_dialog(self.session.clone(), Vec::new()))],
            Action::RenameSplit => return self.rename(),
            Action::DropSplit => return self.drop_split(),
            action => {
                self.state.handle_action(action);
            }
        }
        Vec::new()
    }

    fn close(&mut self) -> Vec<Effect> {
        if self.state.mark.take().is_some() {
            return Vec::new();
        }
        let pending = self.session.pending();
        if !self.is_own || pending == 0 {
            return vec![Effect::Pop];
        }
        let lines = vec![format!("{} not written.", changes_clause(pending))];
        let kept = match self.session.draft_failure() {
            None => "they are kept, and offered when it is opened again".to_owned(),
            Some(why) => format!("they are lost: the state folder cannot keep them ({why})"),
        };
        let offers = vec![
            ChoiceOption::new("write them", "shows them first"),
            ChoiceOption::new("leave", kept),
            ChoiceOption::new("discard them", "the file stays as it is"),
            ChoiceOption::new("stay", ""),
        ];
        let session = self.session.clone();
        let chosen = move |row| match row {
            0 => session.write(),
            1 => {
                session.keep_now();
                vec![Effect::Pop]
            }
            2 => {
                session.discard();
                vec![Effect::Pop]
            }
            _ => Vec::new(),
        };
        vec![Effect::Push(Box::new(Choice::new("Leave", lines, offers, chosen)))]
    }

    fn move_to(&mut self) -> Vec<Effect> {
        let Some(editor) = self.session.editor() else { return Vec::new() };
        let shards: Vec<Arc<str>> = self.state.shards(&editor).iter().map(|s| Arc::clone(&s.name)).collect();
        let from = column(&editor, self.state.at).map(|view| Arc::clone(&view.name));
        drop(editor);
        choose_split(&self.session, shards, from.as_deref())
    }

    fn exclude(&mut self) -> Vec<Effect> {
        let edit = self.session.editor().and_then(|editor| match self.state.is_on_excludes {
            true => self.state.remove_excludes(),
            false => self.state.exclude_shards(&editor, None),
        });
        edit.map(|edit| self.session.apply(edit)).unwrap_or_default()
    }

    fn note(&mut self) -> Vec<Effect> {
        if !self.state.is_on_excludes {
            return self.exclude_with_note();
        }
        let Some(index) = self.state.excludes.get() else { return Vec::new() };
        let Some(editor) = self.session.editor() else { return Vec::new() };
        let Some(exclude) = editor.excludes().get(index) else { return Vec::new() };
        let session = self.session.clone();
        let (line, value) = (exclude.item.to_string(), exclude.note.as_deref().unwrap_or_default().to_owned());
        let then = move |note| session.apply(Edit::SetNote { index, note });
        vec![Effect::Push(note_dialog("Note", line, &value, then))]
    }

    /// Excludes the selected shards with a note; if a shard is already excluded, changes its note.
    fn exclude_with_note(&mut self) -> Vec<Effect> {
        let Some(editor) = self.session.editor() else { return Vec::new() };
        let shards = self.state.shards(&editor);
        if let [ShardView { id: Some(id), is_excluded: true, .. }] = shards {
            let index = editor.excludes().iter().position(|exclude| exclude.whole_shards().contains(id));
            drop(editor);
            let Some(index) = index else { return Vec::new() };
            self.state.is_on_excludes = true;
            self.state.mark = None;
            self.state.excludes.select(index);
            return self.note();
        }
        let line = match shards {
            [] => return vec![Effect::Toast(Toast::new(Level::Info, "no shard is selected"))],
            [one] => format!("Exclude {}, because:", one.name),
            many => format!("Exclude {}, because:", count(many.len() as u64, "shard")),
        };
        let session = self.session.clone();
        let state = self.state.clone();
        let then = move |note: Option<String>| {
            let edit = session.editor().and_then(|editor| state.exclude_shards(&editor, note.clone()));
            edit.map(|edit| session.apply(edit)).unwrap_or_default()
        };
        vec![Effect::Push(note_dialog("Exclude", line, "", then))]
    }

    fn rename(&mut self) -> Vec<Effect> {
        let Some(from) = self.split_in_focus() else { return Vec::new() };
        let session = self.session.clone();
        let line = format!("Another name for the split '{from}':");
        let value = from.to_string();
        vec![Effect::Push(Box::new(Prompt::new("Rename split", line, &value, "", move |to| {
            let to = usable_name(&session, to)?;
            Ok(session.apply(Edit::RenameSplit { from: Arc::clone(&from), to }))
        })))]
    }

    fn drop_split(&mut self) -> Vec<Effect> {
        match self.split_in_focus() {
            Some(name) => self.session.apply(Edit::RemoveSplit { name }),
            None => Vec::new(),
        }
    }

    /// Returns the focused split; `None` if the shards without a split or the excludes have the focus.
    fn split_in_focus(&self) -> Option<Arc<str>> {
        let editor = self.session.editor()?;
        let view = column(&editor, self.state.at).filter(|_| !self.state.is_on_excludes)?;
        (!view.name.is_empty()).then(|| Arc::clone(&view.name))
    }

    /// Shows all details of the selected row, and all problems.
    fn details(&self) -> Vec<Effect> {
        let Some(editor) = self.session.editor() else { return Vec::new() };
        let mut lines = selected_lines(&self.state, &editor);
        let problems = self.session.problems();
        lines.push(PageLine::new(Tone::Plain, ""));
        lines.push(match problems.len() as u64 {
            0 => PageLine::new(Tone::Muted, "Nothing is wrong with the splits and excludes."),
            some => PageLine::new(Tone::Heading, format!("{} in the splits and excludes", count(some, "finding"))),
        });
        for problem in problems.iter() {
            let tone = match problem.severity {
                Severity::Refusal => Tone::Error,
                Severity::Problem => Tone::Warn,
                Severity::Note => Tone::Muted,
            };
            lines.push(PageLine::labelled(tone, "  ", view::problem_words(problem)));
            lines.extend(problem.hint.iter().map(|hint| PageLine::labelled(Tone::Muted, "    ", hint.clone())));
        }
        let crumbs = vec!["splits".to_owned(), self.session.name(), "details".to_owned()];
        vec![Effect::Push(Box::new(Page::new(crumbs, lines)))]
    }

    fn mouse(&mut self, gesture: Gesture<ScreenArea>) -> Vec<Effect> {
        let (spot, line, is_double) = match gesture {
            Gesture::Wheel { on, rows } => {
                let list = match on {
                    ScreenArea::Column(at) => self.state.lists.get_mut(at),
                    ScreenArea::Excludes => Some(&mut self.state.excludes),
                };
                if let Some(list) = list {
                    list.scroll(rows);
                }
                return Vec::new();
            }
            Gesture::Click { on, line, .. } => (on, line, false),
            Gesture::DoubleClick { on, line, .. } => (on, line, true),
        };
        let was = (self.state.at, self.state.is_on_excludes);
        self.state.is_on_excludes = spot == ScreenArea::Excludes;
        if let ScreenArea::Column(at) = spot {
            self.state.at = at.min(self.state.lists.len().saturating_sub(1));
        }
        if was != (self.state.at, self.state.is_on_excludes) {
            self.state.mark = None;
        }
        if let Some(list) = self.state.list() {
            if let Some(row) = list.row_at(line) {
                list.select(row);
            }
        }
        match is_double {
            true => self.details(),
            false => Vec::new(),
        }
    }
}

/// Returns `3 changes are`, for use in a sentence.
fn changes_clause(pending: usize) -> String {
    let is = agree(pending as u64, "is", "are");
    format!("{} {is}", count(pending as u64, "change"))
}

/// Returns lines with the details of the selected row.
fn selected_lines(state: &SplitsState, editor: &SplitEditor) -> Vec<PageLine> {
    let mut lines = Vec::new();
    let mut add =
        |label: &str, words: String| lines.push(PageLine::labelled(Tone::Plain, format!("{label:<10}"), words));
    if state.is_on_excludes {
        let Some(exclude) = state.excludes.get().and_then(|row| editor.excludes().get(row)) else { return lines };
        add("exclude", exclude.item.to_string());
        add("names", view::exclude_words(exclude));
        if let Some(note) = &exclude.note {
            add("note", note.to_string());
        }
        return lines;
    }
    if let (Some(view), Some(shard)) = (column(editor, state.at), state.shards(editor).first()) {
        add("shard", shard.name.to_string());
        add("samples", grouped(shard.samples));
        let homes: Vec<&str> = columns(editor)
            .filter(|other| other.shards.iter().any(|s| s.name == shard.name))
            .map(column_name)
            .collect();
        add("in", homes.join(", "));
        add("split", format!("{}, {}", column_name(view), count(view.samples, "sample")));
        if shard.is_excluded {
            add("excluded", "as a whole".to_owned());
        }
    }
    lines
}

impl Screen for SplitsScreen {
    fn context(&self) -> Context {
        match self.state.is_on_excludes {
            true => Context::SplitsExcludes,
            false => Context::Splits,
        }
    }

    fn title(&self) -> Vec<String> {
        vec!["splits".to_owned(), self.session.name()]
    }

    fn status_right(&self) -> Option<String> {
        if let Some(doing) = self.session.doing() {
            return Some(doing.to_owned());
        }
        match self.session.pending() {
            0 => None,
            pending => Some(format!("{} not written ({})", count(pending as u64, "change"), self.write_key)),
        }
    }

    fn is_busy(&self) -> bool {
        self.session.is_busy()
    }

    fn unwritten(&self) -> Option<String> {
        self.session.unwritten()
    }

    fn label(&self, action: Action) -> &'static str {
        match action {
            Action::Right => "split",
            Action::Exclude if self.state.is_on_excludes => "include again",
            action => action.label(),
        }
    }

    fn disabled_reason(&self, action: Action) -> Option<String> {
        let on_excludes = self.state.is_on_excludes;
        match action {
            Action::Close | Action::Reload => None,
            action if !needs_editor(action) => None,
            _ if self.session.edit_refusal().is_some() => self.session.edit_refusal(),
            Action::Write if self.session.pending() == 0 => Some("there is nothing to write".to_owned()),
            Action::Undo if self.session.pending() == 0 => Some("there is nothing to undo".to_owned()),
            Action::MoveTo if on_excludes => Some("go to a column of shards first".to_owned()),
            Action::Note | Action::Exclude if on_excludes && self.state.excludes.len == 0 => {
                Some("nothing is excluded".to_owned())
            }
            Action::RenameSplit | Action::DropSplit if self.split_in_focus().is_none() => {
                Some("no split is in focus".to_owned())
            }
            _ => None,
        }
    }

    fn handle(&mut self, input: Input) -> Vec<Effect> {
        let effects = match input {
            Input::Action(action) => self.handle_action(action),
            Input::Mouse(mouse) => match self.mouse_areas.gesture(mouse) {
                Some(gesture) => self.mouse(gesture),
                None => Vec::new(),
            },
            Input::Key(_) | Input::Paste(_) => Vec::new(),
        };
        self.update();
        effects
    }

    fn tick(&mut self, effects: &mut Vec<Effect>) -> bool {
        let changed = self.session.tick(effects);
        self.update() || changed
    }

    fn interrupt(&mut self) -> bool {
        false
    }

    fn resumed(&mut self) {
        self.session.text_returned();
        self.update();
    }

    fn closing(&mut self) {
        self.session.keep_now();
    }

    fn draw(&mut self, frame: &mut Frame, area: Rect, ui: &Ui) {
        self.update();
        self.mouse_areas.clear();
        self.write_key = ui.key(Context::Splits, Action::Write);
        let problems = self.session.problems();
        match self.session.editor() {
            Some(editor) => view::draw(&mut self.state, &editor, &problems, &mut self.mouse_areas, frame, area, ui),
            None => view::draw_nothing(self.session.failure().as_ref(), frame, area, ui),
        }
    }
}

/// Whether an action requires the splits to be open.
fn needs_editor(action: Action) -> bool {
    use Action as A;
    matches!(
        action,
        A::MoveTo
            | A::Exclude
            | A::Mark
            | A::ByPattern
            | A::Balance
            | A::LeakCheck
            | A::EditText
            | A::Undo
            | A::Redo
            | A::Write
            | A::AddExclude
            | A::Note
            | A::AddSplit
            | A::RenameSplit
            | A::DropSplit
            | A::Details
    )
}
