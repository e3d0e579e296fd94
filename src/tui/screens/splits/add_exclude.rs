//! The dialog that excludes a typed shard, sample or range; it shows while typing what the item matches.

use super::lookup_dialog::failure_lines;
use super::session::SplitSession;
use super::view::exclude_words;
use crate::tui::keymap::{Action, Context};
use crate::tui::screen::{Effect, Input, Screen, Ui};
use crate::tui::widgets::layout::{draw_lines, row};
use crate::tui::widgets::{padded, popup, text, Gesture, Level, MouseAreas, TextField, Toast};
use crate::tui::work::Stoppable;
use gristmill_core::{Cancel, Outcome};
use gristmill_ops::engine::splits::{check_items, Edit, ExcludeItem, ExcludeView, Matches, Names, SplitEditor};
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::Frame;

type Question = (SplitEditor, String);

/// The dialog to add an exclude.
pub struct AddExclude {
    session: SplitSession,
    item: TextField,
    note: TextField,
    is_on_note: bool,
    /// The item that was looked up, and the samples that it matches.
    found: Option<(String, Outcome<Preview>)>,
    /// Whether the user was warned that the item matches nothing.
    was_warned: bool,
    worker: Stoppable<Question, (String, Outcome<Preview>)>,
    /// Mouse areas of the rows of item and note; `true` is the note.
    mouse_areas: MouseAreas<bool>,
}

/// The effect of an exclude item.
#[derive(Clone, Debug, PartialEq)]
pub enum Preview {
    /// The item is already excluded.
    Known,
    /// The item is a new exclude.
    New(ExcludeView),
}

impl Preview {
    /// Looks up an item; fails if the item cannot be written to the file.
    pub fn of(mut editor: SplitEditor, item: &str, cancel: &Cancel) -> Outcome<Self> {
        let before = editor.excludes().len();
        editor.apply(Edit::Exclude { items: vec![ExcludeItem::written(item)] })?;
        if editor.excludes().len() == before {
            return Ok(Self::Known);
        }
        let Some(new) = editor.excludes().last().map(|view| std::sync::Arc::clone(&view.item)) else {
            return Ok(Self::Known);
        };
        // Without an index, it is unknown whether the samples exist.
        if let Ok(found) = check_items(editor.root(), &[new], cancel) {
            editor.take_checked(found);
        }
        Ok(editor.excludes().last().map_or(Self::Known, |view| Self::New(view.clone())))
    }
}

impl AddExclude {
    /// Creates the dialog with empty fields.
    pub fn new(session: SplitSession) -> Self {
        let worker = Stoppable::start("exclude", session.env().wake, |(editor, item): Question, cancel| {
            let found = Preview::of(editor, &item, cancel);
            (item, found)
        });
        Self {
            session,
            item: TextField::default(),
            note: TextField::default(),
            mouse_areas: MouseAreas::default(),
            is_on_note: false,
            found: None,
            was_warned: false,
            worker,
        }
    }

    fn field(&mut self) -> &mut TextField {
        if self.is_on_note {
            &mut self.note
        } else {
            &mut self.item
        }
    }

    fn request_preview(&mut self) {
        let item = self.item.value().trim().to_owned();
        self.was_warned = false;
        self.worker.stop();
        if item.is_empty() {
            self.found = None;
            return;
        }
        if let Some(editor) = self.session.editor() {
            self.worker.submit((editor.clone(), item));
        }
    }

    fn now(&self) -> Option<&Outcome<Preview>> {
        self.found.as_ref().filter(|(item, _)| item == self.item.value().trim()).map(|(_, found)| found)
    }

    fn accept(&mut self) -> Vec<Effect> {
        let say = |words: &str| vec![Effect::Toast(Toast::new(Level::Warn, words))];
        match self.now() {
            None if self.item.value().trim().is_empty() => return say("type what to exclude first"),
            None => return say("still looking"),
            Some(Err(failure)) => return say(&failure.why.clone()),
            Some(Ok(Preview::Known)) => return say("it is excluded already"),
            Some(Ok(Preview::New(view))) if view.matches == Matches::Nothing && !self.was_warned => {
                self.was_warned = true;
                return say("it matches nothing; Enter again writes it all the same");
            }
            Some(Ok(Preview::New(_))) => {}
        }
        let item = ExcludeItem::written(self.item.value().trim()).with_note(Some(self.note.value().to_owned()));
        let mut effects = vec![Effect::Pop];
        effects.extend(self.session.apply(Edit::Exclude { items: vec![item] }));
        effects
    }
}

impl Screen for AddExclude {
    fn context(&self) -> Context {
        Context::SplitsText
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
            Action::Accept => "exclude",
            action => action.label(),
        }
    }

    fn handle(&mut self, input: Input) -> Vec<Effect> {
        let changed = match input {
            Input::Action(Action::Close) => return vec![Effect::Pop],
            Input::Action(Action::Accept) => return self.accept(),
            Input::Action(Action::NextField | Action::PreviousField | Action::Up | Action::Down) => {
                self.is_on_note = !self.is_on_note;
                false
            }
            Input::Key(key) => self.field().key(key),
            Input::Paste(words) => self.field().paste(&words),
            Input::Mouse(mouse) => {
                if let Some(Gesture::Click { on, .. } | Gesture::DoubleClick { on, .. }) =
                    self.mouse_areas.gesture(mouse)
                {
                    self.is_on_note = on;
                }
                false
            }
            Input::Action(_) => false,
        };
        if changed && !self.is_on_note {
            self.request_preview();
        }
        Vec::new()
    }

    fn tick(&mut self, _: &mut Vec<Effect>) -> bool {
        self.worker.take_into(&mut self.found)
    }

    fn draw(&mut self, frame: &mut Frame, area: Rect, ui: &Ui) {
        let rows = draw((&self.item, &self.note), self.is_on_note, self.now(), frame, area, ui);
        self.mouse_areas.clear();
        for (row, is_note) in rows.into_iter().zip([false, true]) {
            self.mouse_areas.add(row, is_note);
        }
    }
}

/// Draws the dialog: the item, the note, and the matches. Returns the areas of item and note.
pub fn draw(
    (item, note): (&TextField, &TextField),
    is_on_note: bool,
    found: Option<&Outcome<Preview>>,
    frame: &mut Frame,
    area: Rect,
    ui: &Ui,
) -> [Rect; 2] {
    let inner = padded(popup(frame, area, area.width.saturating_sub(2).min(76), 8, "Exclude", ui));
    let columns = usize::from(inner.width);
    let fields =
        [("item", item, "SHARD, SHARD/KEY, or a range: shard_0001.tar/{001..009}"), ("note", note, "why (optional)")];
    for (at, (label, field, placeholder)) in fields.into_iter().enumerate() {
        let line = row(inner, at);
        draw_lines(frame.buffer_mut(), line, [Line::from(Span::styled(label, ui.theme.muted))]);
        let field_area = Rect { x: line.x + 6.min(line.width), width: line.width.saturating_sub(6), ..line };
        field.draw(frame, field_area, is_on_note == (at == 1), placeholder, ui);
    }
    let lines = match found {
        None if item.value().trim().is_empty() => Vec::new(),
        None => vec![Line::from(Span::styled(format!("{} looking", ui.spinner()), ui.theme.muted))],
        Some(Err(failure)) => failure_lines(failure, columns, ui),
        Some(Ok(Preview::Known)) => vec![Line::from(Span::styled("it is excluded already", ui.theme.muted))],
        Some(Ok(Preview::New(view))) => {
            let words = match (view.names, view.matches) {
                (Names::Shard, _) => "the whole shard".to_owned(),
                (Names::Sample, Matches::Some(_)) => "the sample is there".to_owned(),
                (Names::Range(_), Matches::Some(found)) if found > 0 => format!("{} there", exclude_words(view)),
                _ => exclude_words(view),
            };
            let (sign, style) = match view.matches {
                Matches::Nothing => (ui.glyphs.warn, ui.theme.warn),
                _ => (ui.glyphs.check, ui.theme.ok),
            };
            vec![Line::from(Span::styled(text::fit_end(&format!("{sign} {words}"), columns, ui.glyphs), style))]
        }
    };
    let below = Rect { y: inner.y + 3.min(inner.height), height: inner.height.saturating_sub(3), ..inner };
    draw_lines(frame.buffer_mut(), below, lines);
    [row(inner, 0), row(inner, 1)]
}
