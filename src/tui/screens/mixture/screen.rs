//! The screen of the mixture: finds the folders, works out what the weights come to, writes the index as a job.

use super::state::{Member, MixtureState, Place, Question, Stop, Worked};
use super::view;
use crate::tui::keymap::{Action, Context};
use crate::tui::path_completer::PathCompleter;
use crate::tui::screen::{Effect, Input, Screen, Ui, UiEnv};
use crate::tui::screens::run::{orders, RunScreen};
use crate::tui::widgets::{Gesture, Level, Toast};
use crate::tui::work::Latest;
use gristmill_core::text::display_safe;
use gristmill_core::{DatasetKind, Outcome, ProblemLog};
use gristmill_ops::engine::nanosets::listing;
use gristmill_ops::engine::nanosets::mixture::{
    warnings, FolderTokenizer, Member as Indexed, MixtureIndexPlan, Outlook,
};
use gristmill_ops::formats::nanosets::Metadata;
use gristmill_ops::source::kind::token_folder_kind;
use ratatui::crossterm::event::{KeyCode, MouseEvent};
use ratatui::layout::Rect;
use ratatui::Frame;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Folders that are looked at, at most.
const MAX_FOLDERS: usize = 2_000;

type Found = Result<Vec<Member>, String>;
/// What the answers come to.
type Answer = (Question, Arc<Outcome<Worked>>);
/// The size of the vocabulary that was looked up last: a tokenizer takes a while to load.
pub(super) type LastSize = Option<(FolderTokenizer, Result<u64, String>)>;

/// The screen.
pub struct MixtureScreen {
    env: UiEnv,
    folder: PathBuf,
    state: MixtureState,
    finder: Latest<(PathBuf, Vec<PathBuf>), Found>,
    adder: Latest<PathBuf, Result<Member, String>>,
    paths: PathCompleter,
    worker: Latest<Question, Answer>,
    asked: Option<Question>,
}

impl MixtureScreen {
    /// The mixture of the folders in `folder`, those asked for chosen and in front, in their order.
    pub fn new(folder: PathBuf, given: MixtureIndexPlan, env: UiEnv) -> Self {
        let chosen: Vec<PathBuf> = given.members.iter().filter_map(place_of).collect();
        let mut finder =
            Latest::start("mixture-folders", env.wake.clone(), |(folder, also): (PathBuf, Vec<PathBuf>)| {
                find(&folder, &also)
            });
        finder.ask((folder.clone(), chosen.clone()));
        let mut size = LastSize::None;
        let worker = Latest::start("mixture", env.wake.clone(), move |question: Question| {
            let worked = work_out(&question, &mut size);
            (question, Arc::new(worked))
        });
        let base = folder.clone();
        let adder = Latest::start("mixture-folder", env.wake.clone(), move |path: PathBuf| look_at(&base, path));
        let usual = folder.join("mixture-index");
        let paths = PathCompleter::start(&env);
        Self {
            paths,
            state: MixtureState::new(&given, chosen, &usual),
            env,
            folder,
            finder,
            adder,
            worker,
            asked: None,
        }
    }

    /// Asks what the answers come to, unless that is known.
    fn ask(&mut self) {
        let Ok(question) = self.state.question() else { return };
        if self.asked.as_ref() != Some(&question) {
            self.asked = Some(question.clone());
            self.worker.ask(question);
        }
    }

    /// Whether the path of a folder to add is typed.
    fn is_adding(&self) -> bool {
        self.state.stop == Stop::Folder && !self.state.input(Stop::Folder).trim().is_empty()
    }

    fn write(&mut self) -> Vec<Effect> {
        if let Some(why) = self.state.blocker() {
            return vec![Effect::Toast(Toast::new(Level::Warn, why))];
        }
        let order = orders::mixture(self.state.plan());
        vec![Effect::Push(Box::new(RunScreen::new(order, self.env.clone())))]
    }

    fn act(&mut self, action: Action) -> Vec<Effect> {
        match action {
            Action::Close => return vec![Effect::Pop],
            Action::Run | Action::Accept if self.is_adding() => {
                let path = self.folder.join(self.state.input(Stop::Folder).trim());
                self.adder.ask(std::path::absolute(&path).unwrap_or(path).components().collect());
            }
            Action::Run | Action::Accept => return self.write(),
            Action::Copy => {
                let copied = Effect::Toast(Toast::new(Level::Ok, "copied"));
                return vec![Effect::Copy(self.state.command()), copied];
            }
            action => self.state.act(action),
        }
        Vec::new()
    }

    fn mouse(&mut self, mouse: MouseEvent) {
        match self.state.places.gesture(mouse) {
            Some(Gesture::Wheel { on: Place::Rows, rows }) => self.state.list.scroll(rows),
            Some(Gesture::Wheel { rows, .. }) => self.state.offset = self.state.offset.saturating_add_signed(rows),
            Some(Gesture::Click { on: Place::Rows, line, .. }) => {
                self.state.stop = Stop::List;
                if let Some(row) = self.state.list.row_at(line) {
                    let again = self.state.list.selected == row;
                    self.state.list.select(row);
                    if again {
                        self.state.act(Action::Toggle);
                    }
                }
            }
            Some(Gesture::Click { on: Place::Field(stop), .. }) => self.state.stop = stop,
            _ => {}
        }
    }
}

/// A folder as the listing of the one that it lies in has it.
fn place_of(member: &Indexed) -> Option<PathBuf> {
    match member {
        Indexed::Folder(path) => {
            Some(std::path::absolute(path).unwrap_or_else(|_| path.clone()).components().collect())
        }
        Indexed::Windows(_) => None,
    }
}

/// The token folders that were asked for, in their order, and then the others directly in a folder.
fn find(folder: &Path, also: &[PathBuf]) -> Found {
    let entries = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).take(MAX_FOLDERS).collect();
    paths.sort();
    paths.retain(|path| !also.contains(path));
    paths.splice(0..0, also.iter().cloned());
    Ok(paths.into_iter().filter(|path| is_token_folder(path)).map(|path| look(folder, path)).collect())
}

fn is_token_folder(path: &Path) -> bool {
    path.is_dir() && token_folder_kind(path) == Some(DatasetKind::TokenFolder)
}

/// Looks at a folder that is added by its path.
fn look_at(folder: &Path, path: PathBuf) -> Result<Member, String> {
    match is_token_folder(&path) {
        true => Ok(look(folder, path)),
        false => Err(format!("{} is not a folder of .ds files", display_safe(&path.to_string_lossy()))),
    }
}

fn look(folder: &Path, path: PathBuf) -> Member {
    let name = path.strip_prefix(folder).unwrap_or(&path).to_string_lossy().into_owned();
    let log = ProblemLog::default();
    match listing::files(&path, &log) {
        Ok(files) => {
            let made = files.iter().find_map(|file| file.metadata.as_ref());
            let made_with = made.map(|made: &Metadata| (made.tokenizer.clone(), made.token_size.bytes()));
            Member { name, path, tokens: files.iter().map(|file| file.tokens).collect(), made_with, trouble: None }
        }
        Err(failure) => Member { name, path, tokens: Vec::new(), made_with: None, trouble: Some(failure.to_string()) },
    }
}

/// What the answers come to. Problems go before notes.
pub(super) fn work_out(question: &Question, last: &mut LastSize) -> Outcome<Worked> {
    let Question { request, names, training, made_with } = question;
    let outlook = Outlook::of_request(request, names)?;
    let mut notes = training.compare(made_with.as_ref(), |made_with| match last {
        Some((known, size)) if known == made_with => size.clone(),
        _ => last.insert((made_with.clone(), made_with.vocabulary_size())).1.clone(),
    });
    notes.extend(warnings(request, &outlook, names));
    Ok(Worked { outlook, notes })
}

impl Screen for MixtureScreen {
    fn context(&self) -> Context {
        match self.state.stop {
            Stop::List => Context::Form,
            _ => Context::FormText,
        }
    }

    fn title(&self) -> Vec<String> {
        vec!["mixture".to_owned(), self.env.short_path(&self.folder)]
    }

    fn handle(&mut self, input: Input) -> Vec<Effect> {
        let mut effects = Vec::new();
        let is_typed = !matches!(input, Input::Mouse(_));
        match input {
            Input::Action(action) => effects = self.act(action),
            Input::Key(key) => match (self.state.field(), key.code) {
                (Some(field), _) => {
                    field.key(key);
                }
                (None, KeyCode::Char(letter)) => self.state.type_weight(letter),
                (None, KeyCode::Backspace) => self.state.erase_weight(),
                (None, _) => {}
            },
            Input::Paste(words) => {
                if let Some(field) = self.state.field() {
                    field.paste(&words);
                }
            }
            Input::Mouse(mouse) => self.mouse(mouse),
        }
        if let Some(field) = self.state.path_field().filter(|_| is_typed) {
            self.paths.ask(&self.folder, field);
        }
        self.state.follow_epoch();
        self.ask();
        effects
    }

    fn tick(&mut self, effects: &mut Vec<Effect>) -> bool {
        let mut changed = false;
        if let Some(found) = self.finder.take() {
            self.state.take_found(found);
            self.ask();
            changed = true;
        }
        if let Some(added) = self.adder.take() {
            match added {
                Ok(member) => self.state.add(member),
                Err(why) => effects.push(Effect::Toast(Toast::new(Level::Warn, why))),
            }
            self.ask();
            changed = true;
        }
        if let Some(worked) = self.worker.take() {
            self.state.worked = Some(worked);
            changed = true;
        }
        self.paths.take(self.state.path_field()) || changed
    }

    fn is_busy(&self) -> bool {
        self.finder.is_waiting() || self.adder.is_waiting() || self.worker.is_waiting()
    }

    fn wants_text(&self) -> bool {
        self.state.stop != Stop::List
    }

    fn bar_right(&self) -> Option<String> {
        Some("+ - change the weight".to_owned()).filter(|_| self.state.stop == Stop::List)
    }

    fn label(&self, action: Action) -> &'static str {
        match action {
            Action::Run | Action::Accept if self.is_adding() => "add the folder",
            Action::Run => "write the index",
            Action::Toggle => "mix or not",
            Action::DropRow if self.state.stop == Stop::List => "by windows",
            Action::Left => "less",
            Action::Right => "more",
            action => action.label(),
        }
    }

    fn why_disabled(&self, action: Action) -> Option<String> {
        match action {
            Action::Toggle if self.state.stop != Stop::List => Some("the field takes letters".into()),
            Action::SavePlan | Action::AddAux => Some("there is nothing like that here".into()),
            _ => None,
        }
    }

    fn draw(&mut self, frame: &mut Frame, area: Rect, ui: &Ui) {
        view::draw(&mut self.state, frame, area, ui);
    }
}
