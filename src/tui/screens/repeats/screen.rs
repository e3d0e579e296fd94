//! The screen of documents with repeats, and its worker.

use super::state::{Listed, Place, RepeatsState};
use super::view::{self, Told};
use super::Target;
use crate::engine::dedup::find::Rule;
use crate::engine::dedup::look::{look, Repeats, Scope};
use crate::model::dedup::{ANNOTATE_KEY, FIELD_OF_VARIANT_B, USUAL_MIN_LENGTH};
use crate::model::text::bytes;
use crate::model::{Cancel, DedupPlan, Outcome};
use crate::source::dedup::{list, TextFile};
use crate::source::text::{self as texts, Peer};
use crate::tui::keymap::{Action, Context};
use crate::tui::screen::{Effect, Input, Screen, Ui, UiEnv};
use crate::tui::widgets::{Gesture, Level, Toast};
use crate::tui::work::Latest;
use ratatui::layout::Rect;
use ratatui::Frame;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

/// Minimum lengths that one steps through, in bytes.
const LENGTHS: [u64; 9] = [20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000];
/// Bytes of text that are held at most, and at least.
const MOST_TEXT: u64 = 512 << 20;
const LEAST_TEXT: u64 = 16 << 20;
/// The part of the memory that the text may take: what is found in it takes some, too.
const SHARE: u64 = 4;

struct Question {
    target: Target,
    is_whole_folder: bool,
    plan: DedupPlan,
    length: u64,
    most_text: usize,
    read: Arc<AtomicU64>,
    cancel: Cancel,
}

/// The screen.
pub struct RepeatsScreen {
    env: UiEnv,
    state: RepeatsState,
    target: Target,
    /// The other files of the folder count, too.
    is_whole_folder: bool,
    plan: DedupPlan,
    length: u64,
    worker: Latest<Question, Arc<Outcome<Repeats>>>,
    read: Arc<AtomicU64>,
    cancel: Cancel,
}

impl RepeatsScreen {
    /// A screen whose documents are read at once, by a worker.
    pub fn new(target: Target, plan: &DedupPlan, env: UiEnv) -> Self {
        let worker = Latest::start("repeats", env.wake.clone(), |asked: Question| Arc::new(answer(&asked)));
        let mut screen = Self {
            state: RepeatsState::default(),
            length: plan.min_length.unwrap_or(USUAL_MIN_LENGTH),
            plan: plan.clone(),
            is_whole_folder: matches!(target, Target::Folder(_)),
            target,
            worker,
            read: Arc::default(),
            cancel: Cancel::default(),
            env,
        };
        screen.ask();
        screen
    }

    fn ask(&mut self) {
        self.cancel.cancel();
        self.cancel = Cancel::default();
        self.read = Arc::default();
        self.state.seen = None;
        let most = (self.env.dedup_memory / SHARE).clamp(LEAST_TEXT, MOST_TEXT);
        self.worker.ask(Question {
            target: self.target.clone(),
            is_whole_folder: self.is_whole_folder,
            plan: self.plan.clone(),
            length: self.length,
            most_text: usize::try_from(most).unwrap_or(usize::MAX),
            read: Arc::clone(&self.read),
            cancel: self.cancel.clone(),
        });
    }

    /// The next longer or shorter of the lengths that are stepped through.
    fn next_length(&self, longer: bool) -> Option<u64> {
        match longer {
            true => LENGTHS.into_iter().find(|length| *length > self.length),
            false => LENGTHS.into_iter().rev().find(|length| *length < self.length),
        }
    }

    fn folder(&self) -> &Path {
        match &self.target {
            Target::Folder(folder) => folder,
            Target::File(file, _) => file.parent().unwrap_or(file),
        }
    }

    fn act(&mut self, action: Action) -> Vec<Effect> {
        match action {
            Action::Close => {
                return if self.state.close() { Vec::new() } else { vec![Effect::Pop] };
            }
            Action::Left | Action::Right => {
                if let Some(length) = self.next_length(action == Action::Right) {
                    self.length = length;
                    self.ask();
                }
            }
            Action::Toggle => {
                self.is_whole_folder = !self.is_whole_folder;
                // Documents have other numbers then.
                self.state.spot = None;
                self.ask();
            }
            Action::Reload => {
                self.state.spot = None;
                self.ask();
            }
            Action::CopyPath => return self.copy_place(),
            action => {
                if let Err(why) = self.state.act(action) {
                    return vec![Effect::Toast(Toast::new(Level::Info, why))];
                }
            }
        }
        Vec::new()
    }

    /// The file and the line that are shown.
    fn copy_place(&self) -> Vec<Effect> {
        let place = self.state.repeats().zip(self.state.spot.as_ref()).map(|(seen, spot)| seen.place_of(spot.document));
        let Some((name, line)) = place else { return Vec::new() };
        let path = match &self.target {
            Target::File(file, _) if !self.is_whole_folder => file.clone(),
            _ => self.folder().join(name),
        };
        let copied = Effect::Toast(Toast::new(Level::Ok, "copied the place"));
        vec![Effect::Copy(format!("{}:{line}", path.display())), copied]
    }
}

/// Lists the files, reads them and looks for what repeats.
fn answer(asked: &Question) -> Outcome<Repeats> {
    let files: Vec<TextFile> = match &asked.target {
        Target::Folder(folder) => list(folder, &asked.cancel)?.files,
        Target::File(file, _) if asked.is_whole_folder => list(file.parent().unwrap_or(file), &asked.cancel)?.files,
        Target::File(file, _) => {
            let inputs: [PathBuf; 1] = [file.clone()];
            texts::list(&inputs, None, None, Peer::Modalities, &asked.cancel)?.files
        }
    };
    let listed_under = [asked.plan.annotate_key.as_str(), ANNOTATE_KEY, FIELD_OF_VARIANT_B];
    let scope = Scope {
        listed_under: &listed_under,
        files: &files,
        text_key: &asked.plan.text_key,
        rule: Rule::of(&asked.plan, asked.length),
        most_text: asked.most_text,
    };
    look(&scope, &asked.read, &asked.cancel)
}

impl Drop for RepeatsScreen {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

impl Screen for RepeatsScreen {
    fn context(&self) -> Context {
        Context::Repeats
    }

    fn title(&self) -> Vec<String> {
        let shown = match &self.target {
            Target::File(file, _) if !self.is_whole_folder => file,
            _ => self.folder(),
        };
        vec!["repeats".to_owned(), self.env.short_path(shown)]
    }

    fn handle(&mut self, input: Input) -> Vec<Effect> {
        match input {
            Input::Action(action) => self.act(action),
            Input::Mouse(mouse) => {
                match self.state.places.gesture(mouse) {
                    Some(Gesture::Wheel { rows, on }) => self.state.turn(on, rows),
                    Some(Gesture::Click { on: Place::Rows, line, .. }) => self.state.click(line),
                    Some(Gesture::Click { on: Place::Text, .. }) => self.state.in_text = true,
                    Some(Gesture::DoubleClick { on: Place::Rows, line, .. }) => {
                        self.state.click(line);
                        return self.act(Action::KeptCopy);
                    }
                    Some(Gesture::DoubleClick { .. }) | None => {}
                }
                Vec::new()
            }
            Input::Key(_) | Input::Paste(_) => Vec::new(),
        }
    }

    fn tick(&mut self, effects: &mut Vec<Effect>) -> bool {
        let Some(seen) = self.worker.take() else { return false };
        if matches!(seen.as_ref(), Err(failure) if failure.is_cancelled()) {
            return false;
        }
        let at = match &self.target {
            Target::Folder(_) => None,
            Target::File(file, start) => file.file_name().map(|name| (name.to_string_lossy().into_owned(), *start)),
        };
        self.state.take(seen, at.as_ref().map(|(name, start)| (name.as_str(), *start)));
        if let Some((text, _)) = self.state.repeats().filter(|seen| seen.is_cut).map(Repeats::totals) {
            let why = format!(
                "only the first {} of text are looked at here; of all of it, run dedup and press D in its output",
                bytes(text)
            );
            effects.push(Effect::Toast(Toast::new(Level::Info, why)));
        }
        true
    }

    fn is_busy(&self) -> bool {
        self.worker.is_waiting()
    }

    fn status_right(&self) -> Option<String> {
        let Some(repeats) = self.state.repeats() else {
            return Some(format!("repeats of {} bytes and more", self.length));
        };
        let (text, removed) = repeats.totals();
        let share = removed as f64 * 100.0 / text.max(1) as f64;
        let of = if repeats.is_cut { "the first " } else { "" };
        if repeats.is_listed {
            return Some(format!("{share:.1} % of {of}{} repeat, as the records list it", bytes(text)));
        }
        Some(format!("{share:.1} % of {of}{} repeat, by {} bytes and more", bytes(text), self.length))
    }

    fn label(&self, action: Action) -> &'static str {
        match (action, self.state.listed) {
            (Action::FindNext, _) => "next range",
            (Action::FindPrevious, _) => "previous range",
            (Action::KeptCopy, Listed::Passages) => "its text",
            (Action::KeptCopy, Listed::Files) => "its documents",
            (Action::Passages, Listed::Passages) | (Action::ByFile, Listed::Files) => "documents",
            (Action::Left, _) => "shorter repeats",
            (Action::Right, _) => "longer repeats",
            (Action::Undo, _) => "jump back",
            (Action::Toggle, _) if self.is_whole_folder => "this file alone",
            (Action::Toggle, _) => "whole folder",
            (Action::CopyPath, _) => "copy place",
            (Action::NextPane, _) => "list, text",
            (action, _) => action.label(),
        }
    }

    fn why_disabled(&self, action: Action) -> Option<String> {
        match action {
            Action::Left | Action::Right if self.next_length(action == Action::Right).is_none() => {
                Some("there is no further length that way".into())
            }
            Action::Toggle if matches!(self.target, Target::Folder(_)) => Some("the whole folder is looked at".into()),
            Action::Undo if !self.state.has_jumped() => Some("there was no jump".into()),
            Action::FindNext | Action::FindPrevious | Action::KeptCopy if self.state.spot.is_none() => {
                Some("no range is shown".into())
            }
            _ => None,
        }
    }

    fn draw(&mut self, frame: &mut Frame, area: Rect, ui: &Ui) {
        let told =
            Told { length: self.length, read: self.read.load(Ordering::Relaxed), text_key: self.plan.text_key.clone() };
        view::draw(&mut self.state, &told, frame, area, ui);
    }
}
