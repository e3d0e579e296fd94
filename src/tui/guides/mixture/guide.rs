//! The guide of `mix index`: finds token folders, stores their weights as typed, and writes them into the plan.

use super::folders::{find, open, TokenFolder};
use super::view;
use crate::tui::form::{plan_path, Field, Form, Guide, KeyContexts, PreviewGuide};
use crate::tui::keymap::{Action, Context};
use crate::tui::screen::{Effect, Ui, UiEnv};
use crate::tui::screens::run::{job_requests, JobRequest};
use crate::tui::widgets::ListState;
use crate::tui::work::LatestWorker;
use gristmill_core::options::Answer;
use gristmill_core::{Failure, Problem};
use gristmill_ops::tokens::mixture::{Member, MixtureIndexPlan};
use gristmill_storage::files;
use ratatui::crossterm::event::{KeyCode, KeyEvent};
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::Frame;
use std::path::{Path, PathBuf};

/// The list of token folders.
pub(super) const FOLDERS: Field = Field::List("folders");
/// The text field for the path of a folder to add.
pub(super) const ADD: Field = Field::Path("add a folder");
/// The options that the list replaces.
const IN_LIST: [Field; 3] = [Field::Option("folder"), Field::Option("lengths"), Field::Option("weights")];
/// Change of a weight per key press.
const WEIGHT_STEP: f64 = 0.05;
/// Maximum length of a typed weight.
const MAX_WEIGHT_CHARS: usize = 12;
/// The suggested sequence length, in tokens.
const USUAL_LENGTH: &str = "2048";

/// A row of the list.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) folder: TokenFolder,
    /// Path of the folder in the plan.
    path: String,
    /// Whether the folder is part of the mixture.
    pub(super) is_chosen: bool,
    /// Weight of the folder as typed; empty if folders are weighted by their windows.
    pub(super) weight: String,
}

/// The guide of `mix index`.
pub struct MixtureGuide {
    folder: PathBuf,
    /// Finds token folders: takes the folder to search, and the folders of the plan.
    finder: LatestWorker<(PathBuf, Vec<PathBuf>), Result<Vec<TokenFolder>, String>>,
    adder: LatestWorker<PathBuf, Result<TokenFolder, String>>,
    /// The result of the search, once it has ended.
    pub(super) found: Option<Result<(), String>>,
    pub(super) rows: Vec<Row>,
    pub(super) folders: ListState,
    pub(super) preview: PreviewGuide,
}

/// Returns the absolute path of a folder, without `.` components.
fn absolute(path: &Path) -> PathBuf {
    files::absolute_or_same(path).components().collect()
}

fn folders_of(plan: &MixtureIndexPlan) -> impl Iterator<Item = &PathBuf> {
    plan.members.iter().filter_map(|member| match member {
        Member::Folder(path) => Some(path),
        Member::Windows(_) => None,
    })
}

/// Returns whether the plan has numbers of windows instead of folders, so that there are no folders to list.
fn has_lengths(form: &Form) -> bool {
    form.plan().get("lengths") != Answer::Unset
}

impl MixtureGuide {
    /// Starts the search for token folders: in the folder that contains the first folder of the plan, or else in the current folder.
    pub fn start(plan: &MixtureIndexPlan, env: &UiEnv) -> Self {
        let given: Vec<PathBuf> = folders_of(plan).map(|path| absolute(path)).collect();
        let folder =
            given.first().and_then(|first| first.parent()).map_or_else(|| absolute(Path::new(".")), Path::to_owned);
        let search = |(folder, given): (PathBuf, Vec<PathBuf>)| find(&folder, &given);
        let mut finder = LatestWorker::start("mixture-folders", env.wake.clone(), search);
        finder.submit((folder.clone(), given));
        let base = folder.clone();
        let adder = LatestWorker::start("mixture-folder", env.wake.clone(), move |path: PathBuf| open(&base, path));
        Self {
            folder,
            finder,
            adder,
            found: None,
            rows: Vec::new(),
            folders: ListState::default(),
            preview: PreviewGuide::new(view::draw_report, env),
        }
    }

    /// Returns the folders of the mixture.
    pub(super) fn chosen(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| row.is_chosen)
    }

    /// Returns whether folders are weighted by their windows.
    fn is_by_windows(&self) -> bool {
        self.chosen().all(|row| row.weight.is_empty())
    }

    /// Stores the result of the search. If the plan has no folders, all usable ones become part of the mixture.
    pub(super) fn set_found(&mut self, found: Result<Vec<TokenFolder>, String>, form: &mut Form) {
        let found = match found {
            Ok(found) => found,
            Err(why) => {
                self.found = Some(Err(why));
                return;
            }
        };
        self.found = Some(Ok(()));
        let row = |folder: TokenFolder| {
            let path = plan_path(&folder.path);
            Row { folder, path, is_chosen: false, weight: String::new() }
        };
        self.rows = found.into_iter().map(row).collect();
        self.take_over(form);
        if self.chosen().next().is_none() && !has_lengths(form) {
            self.rows.iter_mut().for_each(|row| row.is_chosen = row.folder.failure.is_none());
            self.apply(form);
        }
        form.focus_on(FOLDERS);
        self.propose(form);
    }

    /// Updates the rows from the folders and weights of the plan.
    fn take_over(&mut self, form: &Form) {
        let Some(plan) = form.plan_of::<MixtureIndexPlan>() else { return };
        let weights = plan.weights.iter().flatten().map(f64::to_string);
        let given: Vec<(&PathBuf, String)> =
            folders_of(plan).zip(weights.chain(std::iter::repeat(String::new()))).collect();
        for row in &mut self.rows {
            let member = given.iter().find(|(path, _)| absolute(path) == row.folder.path);
            row.is_chosen = member.is_some() && row.folder.failure.is_none();
            row.weight = member.map(|(_, weight)| weight.clone()).unwrap_or_default();
            if let Some((path, _)) = member {
                row.path = path.to_string_lossy().into_owned();
            }
        }
        self.folders.set_len(self.rows.len());
    }

    /// Makes a folder part of the mixture, and adds it to the list unless it is there.
    pub(super) fn add(&mut self, folder: TokenFolder, form: &mut Form) {
        let known = self.rows.iter().position(|row| row.folder.path == folder.path);
        let index = known.unwrap_or_else(|| {
            let weight = if self.is_by_windows() { "" } else { "1" };
            let path = plan_path(&folder.path);
            self.rows.push(Row { folder, path, is_chosen: false, weight: weight.to_owned() });
            self.rows.len() - 1
        });
        self.folders.set_len(self.rows.len());
        self.folders.select(index);
        form.inputs.remove(&ADD);
        self.change(form, |row| row.is_chosen = row.folder.failure.is_none());
    }

    /// Writes the chosen folders into the plan.
    fn apply(&self, form: &mut Form) {
        let folders = self.chosen().map(|row| row.path.clone()).collect();
        form.answer("folder", &Answer::List(folders));
        let weights = self.chosen().map(|row| row.weight.clone()).collect();
        form.answer("weights", &if self.is_by_windows() { Answer::Unset } else { Answer::List(weights) });
        self.propose(form);
    }

    /// Suggests the sequence length, the number of windows of an epoch as the number of samples, and an output.
    fn propose(&self, form: &mut Form) {
        form.propose("sequence-length", Answer::Text(USUAL_LENGTH.to_owned()));
        form.propose("output", Answer::Text(plan_path(&self.folder.join("mixture-index"))));
        let length = form.plan_of::<MixtureIndexPlan>().and_then(|plan| plan.sequence_length);
        if let (Some(length), Some(_)) = (length, self.chosen().next()) {
            let windows = self.chosen().map(|row| row.folder.windows(length)).fold(0, u64::saturating_add);
            form.propose("samples", Answer::Text(windows.max(1).to_string()));
        }
    }

    /// Changes the selected row and writes it into the plan.
    fn change(&mut self, form: &mut Form, change: impl FnOnce(&mut Row)) {
        if let Some(row) = self.folders.get().and_then(|selected| self.rows.get_mut(selected)) {
            change(row);
            self.apply(form);
        }
    }

    /// Sets explicit weights equal to the shares of the windows.
    fn make_weights(&mut self, form: &Form) {
        if !self.is_by_windows() {
            return;
        }
        let length = form.plan_of::<MixtureIndexPlan>().and_then(|plan| plan.sequence_length).unwrap_or(1);
        let all: u64 = self.chosen().map(|row| row.folder.windows(length)).sum();
        for row in &mut self.rows {
            let share = if row.is_chosen { row.folder.windows(length) as f64 / all.max(1) as f64 } else { 1.0 };
            row.weight = weight_text(share);
        }
    }

    /// Increases or decreases the weight of the selected folder by a step.
    fn step_weight(&mut self, form: &mut Form, is_more: bool) {
        self.make_weights(form);
        self.change(form, |row| {
            let step = if is_more { WEIGHT_STEP } else { -WEIGHT_STEP };
            row.weight = weight_text((row.weight.parse::<f64>().unwrap_or(0.0) + step).max(0.0));
        });
    }

    /// Appends a digit to the weight of the selected folder; the first digit replaces the share of its windows.
    fn type_weight(&mut self, form: &mut Form, digit: char) {
        let begins = self.is_by_windows();
        self.make_weights(form);
        self.change(form, |row| {
            if begins {
                row.weight.clear();
            }
            if row.weight.len() < MAX_WEIGHT_CHARS {
                row.weight.push(digit);
            }
        });
    }

    /// Adds the folder whose path has been typed. Returns whether a path was typed.
    fn add_typed(&mut self, form: &mut Form) -> bool {
        let typed = form.value(ADD);
        form.mistakes.remove(&ADD);
        match form.accepted("folder", &Answer::List(vec![typed.clone()])) {
            _ if typed.is_empty() => {}
            Ok(answer) => {
                let path = if let Answer::List(paths) = answer { paths.into_iter().next() } else { None };
                self.adder.submit(absolute(&self.folder.join(path.unwrap_or(typed))));
            }
            Err(why) => _ = form.mistakes.insert(ADD, why),
        }
        !form.value(ADD).is_empty()
    }
}

/// Returns a weight with at most three decimals.
fn weight_text(weight: f64) -> String {
    let text = format!("{weight:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

impl Guide for MixtureGuide {
    fn begin(&mut self, form: &mut Form) {
        self.take_over(form);
        self.propose(form);
    }

    fn sources(&self) -> Vec<PathBuf> {
        vec![self.folder.clone()]
    }

    fn request_data(&mut self, form: &mut Form) {
        self.propose(form);
        self.preview.request_data(form);
    }

    fn apply_results(&mut self, form: &mut Form) -> bool {
        let found = self.finder.take();
        let added = self.adder.take();
        let is_changed = found.is_some() || added.is_some();
        if let Some(found) = found {
            self.set_found(found, form);
        }
        match added {
            Some(Ok(folder)) => self.add(folder, form),
            Some(Err(why)) => {
                form.mistakes.insert(ADD, why);
            }
            None => {}
        }
        self.preview.apply_results(form) || is_changed
    }

    fn is_busy(&self) -> bool {
        self.finder.is_waiting() || self.adder.is_waiting() || self.preview.is_busy()
    }

    fn status(&self) -> Option<String> {
        match self.finder.is_waiting() || self.adder.is_waiting() {
            true => Some("searching for token folders".to_owned()),
            false => self.preview.status(),
        }
    }

    fn preview(&self, form: &Form) -> Option<Result<&[Problem], &Failure>> {
        self.preview.preview(form)
    }

    fn preview_lines(&self, form: &Form, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
        self.preview.preview_lines(form, columns, ui)
    }

    fn resume(&mut self, form: &mut Form) {
        self.preview.resume(form);
    }

    fn request(&mut self, form: &Form) -> JobRequest {
        let request = self.preview.request(form);
        match form.plan_of::<MixtureIndexPlan>() {
            Some(plan) => JobRequest { words: job_requests::mixture_texts(&plan.output), ..request },
            None => request,
        }
    }

    fn contexts(&self, _: &Form) -> KeyContexts {
        KeyContexts { step: Context::Weights, ..KeyContexts::default() }
    }

    fn fields(&self, form: &Form) -> Vec<Field> {
        let mut fields = form.option_fields();
        if form.step_id() == "settings" && !has_lengths(form) {
            fields.retain(|field| !IN_LIST.contains(field));
            fields.splice(0..0, [FOLDERS, ADD]);
        }
        fields
    }

    fn blocking_reason(&self, form: &Form, step: usize) -> Option<String> {
        let is_settings = form.steps().get(step).is_some_and(|step| step.id == "settings");
        let is_empty = form.plan_of::<MixtureIndexPlan>().is_none_or(|plan| plan.members.is_empty());
        (is_settings && is_empty).then(|| "choose the token folders of the mixture with Space".to_owned())
    }

    fn draw_step(&mut self, form: &mut Form, frame: &mut Frame, area: Rect, ui: &Ui) -> bool {
        let has_list = form.fields().contains(&FOLDERS);
        if has_list {
            view::draw_settings(self, form, frame, area, ui);
        }
        has_list || self.preview.draw_step(form, frame, area, ui)
    }

    fn list(&mut self, name: &str) -> Option<&mut ListState> {
        (name == "folders").then_some(&mut self.folders)
    }

    fn changes_rows(&self, list: &str) -> bool {
        list == "folders"
    }

    fn scrolls_by_wheel(&self, list: &str) -> bool {
        list == "folders"
    }

    fn click(&mut self, form: &mut Form, list: &str, column: usize, is_double: bool) {
        /// Columns of a row up to the end of its checkbox.
        const BOX_COLUMNS: usize = 6;
        if list == "folders" && (is_double || column < BOX_COLUMNS) {
            self.change(form, |row| row.is_chosen = !row.is_chosen && row.folder.failure.is_none());
        }
    }

    fn key(&mut self, form: &mut Form, key: &KeyEvent) {
        if !form.is_focused(FOLDERS) {
            return;
        }
        match key.code {
            KeyCode::Char(digit @ ('0'..='9' | '.')) => self.type_weight(form, digit),
            KeyCode::Backspace => self.change(form, |row| {
                row.weight.pop();
            }),
            _ => {}
        }
    }

    fn handle_action(&mut self, action: Action, form: &mut Form, _: &UiEnv) -> Option<Vec<Effect>> {
        if form.is_focused(ADD) {
            return (action == Action::Next && self.add_typed(form)).then(Vec::new);
        }
        if !form.is_focused(FOLDERS) {
            return None;
        }
        match action {
            Action::Toggle => {
                self.change(form, |row| row.is_chosen = !row.is_chosen && row.folder.failure.is_none());
            }
            Action::Left | Action::Right => self.step_weight(form, action == Action::Right),
            Action::DropRow => {
                self.rows.iter_mut().for_each(|row| row.weight.clear());
                self.apply(form);
            }
            _ => return None,
        }
        Some(Vec::new())
    }

    fn label(&self, action: Action) -> Option<&'static str> {
        match action {
            Action::DropRow => Some("by windows"),
            Action::Left => Some("less"),
            Action::Right => Some("more"),
            _ => None,
        }
    }

    fn disabled_reason(&self, action: Action, form: &Form) -> Option<String> {
        let is_on_folders = form.is_focused(FOLDERS) && !self.rows.is_empty();
        match action {
            Action::DropRow if form.wants_text() => None,
            Action::Toggle | Action::Left | Action::Right | Action::DropRow if !is_on_folders => {
                Some("no folder is selected".into())
            }
            _ => None,
        }
    }
}
