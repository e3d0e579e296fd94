//! The guide of `mix index`: finds token folders, stores their weights as typed, and writes them into the plan.

use super::folders::{find, open, FolderRow, TokenFolder};
use super::view::{draw_report, folder_line, mixture_lines, table_header};
use crate::tui::form::{draw_below, draw_fields, plan_path, Field, Form, Guide, KeyContexts, PreviewGuide};
use crate::tui::guides::weights::{WeightedRow, WeightedRows};
use crate::tui::keymap::{Action, Context};
use crate::tui::screen::{Effect, Ui, UiEnv};
use crate::tui::screens::run::{job_requests, JobRequest};
use crate::tui::widgets::layout::{below, draw_lines, stack, Section};
use crate::tui::widgets::ListState;
use crate::tui::work::LatestWorker;
use gristmill_core::options::Answer;
use gristmill_core::{Failure, Problem};
use gristmill_ops::tokens::formats::mixture::job::MixtureIndexReport;
use gristmill_ops::tokens::formats::mixture::{Member, MixtureIndexPlan};
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
/// The suggested sequence length, in tokens.
const USUAL_LENGTH: &str = "2048";

/// The guide of `mix index`.
pub struct MixtureGuide {
    folder: PathBuf,
    /// Finds token folders: takes the folder to search, and the folders of the plan.
    finder: LatestWorker<(PathBuf, Vec<PathBuf>), Result<Vec<FolderRow>, String>>,
    adder: LatestWorker<PathBuf, Result<FolderRow, String>>,
    pub(super) folders: WeightedRows<TokenFolder>,
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
            folders: WeightedRows::new(FOLDERS),
            preview: PreviewGuide::new(draw_report, env),
        }
    }

    /// Returns whether folders are weighted by their windows.
    fn is_by_windows(&self) -> bool {
        self.folders.chosen().all(|row| row.weight.is_empty())
    }

    /// Stores the result of the search. If the plan has no folders, all usable ones become part of the mixture.
    pub(super) fn set_found(&mut self, found: Result<Vec<FolderRow>, String>, form: &mut Form) {
        if !self.folders.set_found(found) {
            return;
        }
        self.take_over(form);
        if self.folders.chosen().next().is_none() && !has_lengths(form) {
            self.folders.rows.iter_mut().for_each(|row| row.is_chosen = row.is_usable);
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
        for row in &mut self.folders.rows {
            let member = given.iter().find(|(path, _)| absolute(path) == row.item.path);
            row.is_chosen = member.is_some() && row.is_usable;
            row.weight = member.map(|(_, weight)| weight.clone()).unwrap_or_default();
            if let Some((path, _)) = member {
                row.path = path.to_string_lossy().into_owned();
            }
        }
        self.folders.list.set_len(self.folders.rows.len());
    }

    /// Makes a folder part of the mixture, and adds it to the list unless it is there.
    pub(super) fn add(&mut self, row: FolderRow, form: &mut Form) {
        let known = self.folders.rows.iter().position(|known| known.item.path == row.item.path);
        let index = known.unwrap_or_else(|| {
            let weight = if self.is_by_windows() { "" } else { "1" };
            self.folders.rows.push(FolderRow { weight: weight.to_owned(), ..row });
            self.folders.rows.len() - 1
        });
        self.folders.list.set_len(self.folders.rows.len());
        self.folders.list.select(index);
        form.inputs.remove(&ADD);
        self.change(form, |row| row.is_chosen = row.is_usable);
    }

    /// Writes the chosen folders into the plan.
    fn apply(&self, form: &mut Form) {
        let folders = self.folders.chosen().map(|row| row.path.clone()).collect();
        form.answer("folder", &Answer::List(folders));
        let weights = self.folders.chosen().map(|row| row.weight.clone()).collect();
        form.answer("weights", &if self.is_by_windows() { Answer::Unset } else { Answer::List(weights) });
        self.propose(form);
    }

    /// Suggests the sequence length, the number of windows of an epoch as the number of samples, and an output.
    fn propose(&self, form: &mut Form) {
        form.propose("sequence-length", Answer::Text(USUAL_LENGTH.to_owned()));
        form.propose("output", Answer::Text(plan_path(&self.folder.join("mixture-index"))));
        let length = form.plan_of::<MixtureIndexPlan>().and_then(|plan| plan.sequence_length);
        if let (Some(length), Some(_)) = (length, self.folders.chosen().next()) {
            let windows = self.folders.chosen().map(|row| row.item.windows(length)).fold(0, u64::saturating_add);
            form.propose("samples", Answer::Text(windows.max(1).to_string()));
        }
    }

    /// Changes the selected row and writes it into the plan.
    fn change(&mut self, form: &mut Form, change: impl FnOnce(&mut FolderRow)) {
        if let Some(row) = self.folders.selected() {
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
        let all: u64 = self.folders.chosen().map(|row| row.item.windows(length)).sum();
        for row in &mut self.folders.rows {
            let share = if row.is_chosen { row.item.windows(length) as f64 / all.max(1) as f64 } else { 1.0 };
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
        self.change(form, |row| row.type_digit(digit, begins));
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

    /// Draws the step with the folders.
    fn draw_settings(&mut self, form: &mut Form, frame: &mut Frame, area: Rect, ui: &Ui) {
        let fields: Vec<Field> = form.fields().iter().copied().filter(|field| *field != FOLDERS).collect();
        let field_rows = fields.iter().map(|field| 1 + usize::from(form.mistakes.contains_key(field))).sum();
        let result = match self.folders.found.is_some() {
            true => self.preview.result_lines(self, form, usize::from(area.width), ui, mixture_lines),
            false => Vec::new(),
        };
        let focus = |is_focused: bool, otherwise: u8| if is_focused { Section::FOCUS } else { otherwise };
        let sections = [
            Section::growing(3, self.folders.rows.len().max(2) + 1, focus(form.is_focused(FOLDERS), 5)),
            Section::fixed(1, 0),
            Section::fixed(field_rows, focus(!form.is_focused(FOLDERS), 4)),
            Section::fixed(1, 0),
            Section::growing(u16::try_from(result.len().min(3)).unwrap_or(3), result.len(), 2),
        ];
        let places = stack(area, &sections);
        self.draw_folders(form, frame, places[0], ui);
        draw_fields(form, frame, places[2], 0, &fields, ui);
        draw_below(form, frame, places[4], result, ui);
    }

    fn draw_folders(&mut self, form: &mut Form, frame: &mut Frame, area: Rect, ui: &Ui) {
        let nothing = "no folder of .ds files was found here. The guided pack makes them: key t on a .jsonl file.";
        if self.folders.draw_reason(frame, area, "searching for token folders", nothing, ui) {
            return;
        }
        draw_lines(frame.buffer_mut(), area, [table_header(usize::from(area.width), ui)]);
        let length = form.plan_of::<MixtureIndexPlan>().and_then(|plan| plan.sequence_length);
        let report = self.preview.report(form).and_then(|report| report.as_ref().ok()?.typed::<MixtureIndexReport>());
        let shares = report.map(|report| report.outlook.members.clone()).unwrap_or_default();
        let samples = shares.iter().map(|share| share.samples).sum();
        let chosen: Vec<bool> = self.folders.rows.iter().map(|row| row.is_chosen).collect();
        self.folders.draw(form, frame, below(area, 1), ui, |row, index, columns| {
            let number = chosen.iter().take(index).filter(|is_chosen| **is_chosen).count();
            let share = shares.get(number).filter(|_| row.is_chosen);
            folder_line(row, length, share.map(|share| (share, samples)), columns, ui)
        });
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
            Some(Ok(row)) => self.add(row, form),
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
            self.draw_settings(form, frame, area, ui);
        }
        has_list || self.preview.draw_step(form, frame, area, ui)
    }

    fn list(&mut self, name: &str) -> Option<&mut ListState> {
        self.folders.has_name(name).then_some(&mut self.folders.list)
    }

    fn changes_rows(&self, list: &str) -> bool {
        self.folders.has_name(list)
    }

    fn scrolls_by_wheel(&self, list: &str) -> bool {
        self.folders.has_name(list)
    }

    fn click(&mut self, form: &mut Form, list: &str, column: usize, is_double: bool) {
        if self.folders.is_toggled_by_click(list, column, is_double) {
            self.change(form, WeightedRow::toggle);
        }
    }

    fn key(&mut self, form: &mut Form, key: &KeyEvent) {
        if !form.is_focused(FOLDERS) {
            return;
        }
        match key.code {
            KeyCode::Char(digit @ ('0'..='9' | '.')) => self.type_weight(form, digit),
            KeyCode::Backspace => self.change(form, |row| _ = row.weight.pop()),
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
            Action::Toggle => self.change(form, WeightedRow::toggle),
            Action::Left | Action::Right => self.step_weight(form, action == Action::Right),
            Action::DropRow => {
                self.folders.rows.iter_mut().for_each(|row| row.weight.clear());
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
        let is_on_folders = form.is_focused(FOLDERS) && !self.folders.rows.is_empty();
        match action {
            Action::DropRow if form.wants_text() => None,
            Action::Toggle | Action::Left | Action::Right | Action::DropRow if !is_on_folders => {
                Some("no folder is selected".into())
            }
            _ => None,
        }
    }
}
