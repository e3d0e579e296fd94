//! The page of ranges as a screen: keys, the mouse, and the results of background work.

use super::ranges::{FileLine, ListKind, ListPlaceholder, Ranges, RangesUpdate};
use super::state::{RangesPage, ScreenArea};
use super::view;
use crate::tui::keymap::{Action, Context};
use crate::tui::screen::{Effect, Input, Screen, Ui};
use crate::tui::widgets::{Gesture, Level, Toast};
use ratatui::layout::Rect;
use ratatui::Frame;

impl<R: Ranges> RangesPage<R> {
    fn press(&mut self, action: Action) -> Vec<Effect> {
        match action {
            Action::Close if self.ranges.stop() || self.close() => Vec::new(),
            Action::Close => vec![Effect::Pop],
            Action::Left | Action::Right | Action::Toggle | Action::Reload => {
                self.ranges.handle_action(action, &mut self.displayed)
            }
            Action::CopyPath => self.copy_place(),
            action => {
                // A copy found after the user has moved elsewhere must not move the view.
                self.ranges.stop();
                let result = self.handle_action(action).err();
                result.map(|why| Effect::Toast(Toast::new(Level::Info, why))).into_iter().collect()
            }
        }
    }

    /// Copies the displayed file and line.
    fn copy_place(&self) -> Vec<Effect> {
        let place = self.displayed.as_ref().and_then(|spot| self.ranges.place(spot.at));
        let Some(FileLine { path, line, .. }) = place else { return Vec::new() };
        let copied = Effect::Toast(Toast::new(Level::Ok, "copied the place"));
        vec![Effect::Copy(format!("{}:{line}", path.display())), copied]
    }
}

impl<R: Ranges> Screen for RangesPage<R> {
    fn context(&self) -> Context {
        Context::Repeats
    }

    fn title(&self) -> Vec<String> {
        vec!["repeats".to_owned(), self.ranges.title()]
    }

    fn handle(&mut self, input: Input) -> Vec<Effect> {
        let gesture = match input {
            Input::Action(action) => return self.press(action),
            Input::Mouse(mouse) => self.mouse_areas.gesture(mouse),
            Input::Key(_) | Input::Paste(_) => None,
        };
        if gesture.is_some() {
            self.ranges.stop();
        }
        match gesture {
            Some(Gesture::Wheel { rows, on }) => self.scroll_area(on, rows),
            Some(Gesture::Click { on: ScreenArea::Rows, line, .. }) => self.click(line),
            Some(Gesture::Click { on: ScreenArea::Text, .. }) => self.in_text = true,
            Some(Gesture::DoubleClick { on: ScreenArea::Rows, line, .. }) => {
                self.click(line);
                return self.press(Action::KeptCopy);
            }
            Some(Gesture::DoubleClick { .. }) | None => {}
        }
        Vec::new()
    }

    fn tick(&mut self, effects: &mut Vec<Effect>) -> bool {
        let updates = self.ranges.tick(effects);
        let is_new = !updates.is_empty();
        for one in updates {
            match one {
                RangesUpdate::Lists => self.take_lists(),
                RangesUpdate::Rows => {}
                RangesUpdate::Text => self.take_text(),
                RangesUpdate::Copy(found) => {
                    let arrived = found.and_then(|(at, from)| self.arrive(at, from).map_err(str::to_owned));
                    effects.extend(arrived.err().map(|why| Effect::Toast(Toast::new(Level::Warn, why))));
                }
            }
        }
        is_new
    }

    fn is_busy(&self) -> bool {
        self.ranges.is_busy()
    }

    fn status_right(&self) -> Option<String> {
        self.ranges.status()
    }

    fn label(&self, action: Action) -> &'static str {
        match (action, self.listed) {
            (Action::FindNext, _) => "next range",
            (Action::FindPrevious, _) => "previous range",
            (Action::KeptCopy, ListKind::Passages) => "its text",
            (Action::KeptCopy, ListKind::Files) => "its documents",
            (Action::Passages, ListKind::Passages) | (Action::ByFile, ListKind::Files) => "documents",
            (Action::CopyPath, _) => "copy place",
            (Action::NextPane, _) => "list, text",
            (action, _) => self.ranges.label(action).unwrap_or_else(|| action.label()),
        }
    }

    fn help(&self, action: Action) -> &'static str {
        match (action, self.listed) {
            (Action::KeptCopy, ListKind::Passages) => "Shows the text of the passage in its first document.",
            (Action::KeptCopy, ListKind::Files) => "Lists the documents of the file.",
            (Action::Passages, ListKind::Passages) | (Action::ByFile, ListKind::Files) => {
                "Lists the documents with repeated text again."
            }
            (Action::Left, _) => "Shows repeats of the next shorter length.",
            (Action::Right, _) => "Shows repeats of the next longer length.",
            (Action::NextPane, _) => "Moves between the list and the text.",
            (Action::Close, _) => "Closes the repeats.",
            (action, _) => action.help(),
        }
    }

    fn disabled_reason(&self, action: Action) -> Option<String> {
        let why = match action {
            Action::JumpBack if !self.has_jumped() => Some("there was no jump"),
            Action::FindNext | Action::FindPrevious | Action::KeptCopy if self.ranges.len(ListKind::Documents) == 0 => {
                Some("no range is shown")
            }
            Action::Passages | Action::ByFile | Action::NextPane | Action::PreviousPane
                if matches!(
                    self.ranges.placeholder(),
                    Some(ListPlaceholder::Fails(_) | ListPlaceholder::Nothing(..))
                ) =>
            {
                Some("there is nothing to be listed")
            }
            action => self.ranges.why_disabled(action),
        };
        why.map(str::to_owned)
    }

    fn draw(&mut self, frame: &mut Frame, area: Rect, ui: &Ui) {
        view::draw(self, frame, area, ui);
    }
}
