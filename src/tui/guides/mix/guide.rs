//! The guide of `mix new`: finds data sets, stores their weights as typed, and writes them into the plan.

use super::view;
use crate::tui::form::{plan_path, Field, Form, Guide, KeyContexts, PreviewGuide};
use crate::tui::keymap::{Action, Context};
use crate::tui::screen::{Effect, Ui, UiEnv};
use crate::tui::screens::run::JobRequest;
use crate::tui::widgets::ListState;
use crate::tui::work::LatestWorker;
use gristmill_core::mix::{MixKind, MixPlan};
use gristmill_core::options::Answer;
use gristmill_core::{Failure, Outcome, Problem};
use gristmill_ops::engine::mix::author::{find_members, FoundMember};
use gristmill_ops::engine::mix::MixNodeKind;
use ratatui::crossterm::event::{KeyCode, KeyEvent};
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::Frame;
use std::path::{Path, PathBuf};

/// The list of kinds of metadatasets.
pub(super) const KINDS: Field = Field::List("kinds");
/// The list of data sets.
pub(super) const MEMBERS: Field = Field::List("members");
/// The options that hold the members, in the order of [`KINDS`].
const OPTIONS: [(MixKind, &str); 3] =
    [(MixKind::Blend, "blend"), (MixKind::Epochized, "epochized"), (MixKind::Join, "join")];
/// Columns of a row up to the end of its checkbox, where a click toggles it.
const BOX_COLUMNS: usize = 6;
/// Maximum length of a typed weight.
const MAX_AMOUNT_CHARS: usize = 12;

/// A data set that can be a member.
#[derive(Clone, Debug)]
pub(super) struct Row {
    /// The data set.
    pub(super) member: FoundMember,
    /// Path of the data set, relative to the searched folder.
    pub(super) name: String,
    /// Path of the data set in the plan.
    path: String,
    /// Whether the data set is a member.
    pub(super) is_chosen: bool,
    /// Weight of the data set, or number of repetitions, as typed.
    pub(super) amount: String,
}

impl Row {
    /// Returns the typed weight; `None` if it is not a number above 0.
    pub(super) fn number(&self) -> Option<f64> {
        self.amount.parse::<f64>().ok().filter(|number| number.is_finite() && *number > 0.0)
    }

    /// Returns whether the data set is at a path of a plan, which is absolute in drafts and in saved plans.
    fn is_at(&self, path: &str) -> bool {
        self.path == plan_path(Path::new(path))
    }

    /// Returns the member in the syntax of the option of a kind.
    fn text(&self, kind: MixKind) -> String {
        match kind {
            MixKind::Join if self.path.contains('=') => format!("={}", self.path),
            MixKind::Join => self.path.clone(),
            MixKind::Blend | MixKind::Epochized => format!("{}={}", self.path, self.amount),
        }
    }
}

/// The guide of `mix new`.
pub struct MixGuide {
    folder: PathBuf,
    /// The data set that is selected when the list appears.
    first: Option<PathBuf>,
    search: LatestWorker<PathBuf, Outcome<Vec<FoundMember>>>,
    /// The result of the search, once it has ended.
    pub(super) found: Option<Result<(), String>>,
    /// The data sets, sorted by path.
    pub(super) rows: Vec<Row>,
    pub(super) kinds: ListState,
    pub(super) members: ListState,
    pub(super) preview: PreviewGuide,
}

impl MixGuide {
    /// Starts the search for data sets below a folder. `first` becomes a member when it is found.
    pub fn start(folder: PathBuf, first: Option<PathBuf>, env: &UiEnv) -> Self {
        let mut search = LatestWorker::start("members", env.wake.clone(), |folder: PathBuf| find_members(&folder));
        search.submit(folder.clone());
        Self {
            folder,
            first,
            search,
            found: None,
            rows: Vec::new(),
            kinds: ListState::new(OPTIONS.len()),
            members: ListState::default(),
            preview: PreviewGuide::new(view::draw_report, env),
        }
    }

    /// Returns the kind of the metadataset.
    pub(super) fn kind(&self) -> MixKind {
        OPTIONS.get(self.kinds.selected).map_or(MixKind::Blend, |(kind, _)| *kind)
    }

    fn row_of(&self, member: FoundMember) -> Row {
        let name = member.path.strip_prefix(&self.folder).unwrap_or(&member.path).to_string_lossy().into_owned();
        Row { name, path: plan_path(&member.path), member, is_chosen: false, amount: "1".to_owned() }
    }

    /// Stores the result of the search, makes `first` a member, and suggests an output.
    pub(super) fn set_found(&mut self, found: Outcome<Vec<FoundMember>>, form: &mut Form) {
        let found = match found {
            Ok(found) => found,
            Err(failure) => {
                self.found = Some(Err(failure.to_string()));
                return;
            }
        };
        self.found = Some(Ok(()));
        self.rows = found.into_iter().map(|member| self.row_of(member)).collect();
        self.take_over(form);
        let chosen = self.rows.iter().position(|row| row.is_chosen);
        let first = self.rows.iter().position(|row| Some(&row.member.path) == self.first.as_ref());
        self.members.select(chosen.or(first).unwrap_or(0));
        if chosen.is_none() && first.is_some() {
            self.change(form, |row| row.is_chosen = true);
        }
        form.focus_on(MEMBERS);
        self.propose_output(form);
    }

    /// Updates the rows from the members of the plan; members that were not found get rows, too.
    fn take_over(&mut self, form: &Form) {
        let Some(plan) = form.plan_of::<MixPlan>() else { return };
        if !plan.members.is_empty() {
            self.kinds.select(OPTIONS.iter().position(|(kind, _)| *kind == plan.kind).unwrap_or(0));
        }
        for member in &plan.members {
            if self.found == Some(Ok(())) && !self.rows.iter().any(|row| row.is_at(&member.path)) {
                let row = self.row_of(FoundMember {
                    path: PathBuf::from(&member.path),
                    kind: MixNodeKind::Unusable,
                    samples: None,
                    splits: Vec::new(),
                    is_crude: false,
                });
                self.rows.push(row);
            }
        }
        for row in &mut self.rows {
            let member = plan.members.iter().find(|member| row.is_at(&member.path));
            row.is_chosen = member.is_some();
            row.amount = member.map_or(1.0, |member| member.amount).to_string();
        }
        self.members.set_len(self.rows.len());
    }

    /// Suggests the first output name that no data set has.
    fn propose_output(&self, form: &mut Form) {
        let mut names = (1..100).map(|number| match number {
            1 => self.folder.join("mix.yaml"),
            number => self.folder.join(format!("mix-{number}.yaml")),
        });
        if let Some(free) = names.find(|path| self.rows.iter().all(|row| row.member.path != *path)) {
            form.propose("output", Answer::Text(plan_path(&free)));
        }
    }

    /// Writes the chosen members into the plan.
    fn apply(&self, form: &mut Form) {
        for (_, option) in OPTIONS {
            form.mistakes.remove(&Field::Option(option));
        }
        let kind = self.kind();
        let members = self.rows.iter().filter(|row| row.is_chosen).map(|row| row.text(kind)).collect();
        if let Some((_, option)) = OPTIONS.get(self.kinds.selected) {
            form.answer(option, &Answer::List(members));
        }
    }

    /// Changes the selected row and writes it into the plan.
    fn change(&mut self, form: &mut Form, change: impl FnOnce(&mut Row)) {
        if let Some(row) = self.members.get().and_then(|selected| self.rows.get_mut(selected)) {
            change(row);
            self.apply(form);
        }
    }
}

/// Increases or decreases the weight of a row, by tenths up to 1.
fn step_amount(row: &mut Row, is_more: bool) {
    let now = row.number().unwrap_or(1.0);
    let step = if now < 1.0 || now <= 1.0 && !is_more { 0.1 } else { 1.0 };
    let next = if is_more { now + step } else { (now - step).max(0.1) };
    // Rounds to tenths, because of the errors of binary fractions.
    row.amount = format!("{}", (next * 10.0).round() / 10.0);
    row.is_chosen = true;
}

/// Appends a digit to the weight of a row, and makes the row a member. The first digit replaces a suggested weight.
fn type_amount(row: &mut Row, digit: char) {
    if !row.is_chosen || row.amount == "1" && digit != '.' {
        row.amount.clear();
    }
    if row.amount.len() < MAX_AMOUNT_CHARS {
        row.amount.push(digit);
    }
    row.is_chosen = true;
}

impl Guide for MixGuide {
    fn begin(&mut self, form: &mut Form) {
        self.take_over(form);
        if self.found.is_some() {
            self.propose_output(form);
        }
    }

    fn sources(&self) -> Vec<PathBuf> {
        vec![self.folder.clone()]
    }

    fn request_data(&mut self, form: &mut Form) {
        self.preview.request_data(form);
    }

    fn apply_results(&mut self, form: &mut Form) -> bool {
        let found = self.search.take();
        let is_found = found.is_some();
        if let Some(found) = found {
            self.set_found(found, form);
        }
        self.preview.apply_results(form) || is_found
    }

    fn is_busy(&self) -> bool {
        self.search.is_waiting() || self.preview.is_busy()
    }

    fn status(&self) -> Option<String> {
        match self.search.is_waiting() {
            true => Some("searching for data sets".to_owned()),
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
        self.preview.request(form)
    }

    fn contexts(&self, _: &Form) -> KeyContexts {
        KeyContexts { step: Context::Weights, ..KeyContexts::default() }
    }

    fn fields(&self, form: &Form) -> Vec<Field> {
        let mut fields = form.option_fields();
        if form.step_id() == "settings" {
            let is_list = |field: &Field| OPTIONS.iter().any(|(_, option)| *field == Field::Option(option));
            fields.retain(|field| !is_list(field));
            fields.splice(0..0, [KINDS, MEMBERS]);
        }
        fields
    }

    fn blocking_reason(&self, form: &Form, step: usize) -> Option<String> {
        let is_settings = form.steps().get(step).is_some_and(|step| step.id == "settings");
        let is_empty = form.plan_of::<MixPlan>().is_none_or(|plan| plan.members.is_empty());
        (is_settings && is_empty).then(|| "choose the data sets of the mixture with Space".to_owned())
    }

    fn draw_step(&mut self, form: &mut Form, frame: &mut Frame, area: Rect, ui: &Ui) -> bool {
        let is_settings = form.step_id() == "settings";
        if is_settings {
            view::draw_settings(self, form, frame, area, ui);
        }
        is_settings
    }

    fn list(&mut self, name: &str) -> Option<&mut ListState> {
        match name {
            "kinds" => Some(&mut self.kinds),
            "members" => Some(&mut self.members),
            _ => None,
        }
    }

    fn select(&mut self, form: &mut Form, list: &str) {
        if list == "kinds" {
            self.apply(form);
        }
    }

    fn changes_rows(&self, list: &str) -> bool {
        list == "members"
    }

    fn scrolls_by_wheel(&self, list: &str) -> bool {
        list == "members"
    }

    fn click(&mut self, form: &mut Form, list: &str, column: usize, is_double: bool) {
        if list == "members" && (is_double || column < BOX_COLUMNS) {
            self.change(form, |row| row.is_chosen = !row.is_chosen);
        }
    }

    fn key(&mut self, form: &mut Form, key: &KeyEvent) {
        if !form.is_focused(MEMBERS) || self.kind() == MixKind::Join {
            return;
        }
        match key.code {
            KeyCode::Char(digit @ ('0'..='9' | '.')) => self.change(form, |row| type_amount(row, digit)),
            KeyCode::Backspace => self.change(form, |row| {
                row.amount.pop();
            }),
            _ => {}
        }
    }

    fn handle_action(&mut self, action: Action, form: &mut Form, _: &UiEnv) -> Option<Vec<Effect>> {
        if !form.is_focused(MEMBERS) {
            return None;
        }
        match action {
            Action::Toggle => self.change(form, |row| row.is_chosen = !row.is_chosen),
            Action::Left | Action::Right if self.kind() != MixKind::Join => {
                self.change(form, |row| step_amount(row, action == Action::Right));
            }
            _ => return None,
        }
        Some(Vec::new())
    }

    fn label(&self, action: Action) -> Option<&'static str> {
        match action {
            Action::Left => Some("less"),
            Action::Right => Some("more"),
            _ => None,
        }
    }

    fn disabled_reason(&self, action: Action, form: &Form) -> Option<String> {
        let is_on_members = form.is_focused(MEMBERS) && !self.rows.is_empty();
        match action {
            Action::Toggle | Action::Left | Action::Right if !is_on_members => Some("no data set is selected".into()),
            Action::DropRow if form.rail.is_some() || !form.wants_text() => {
                Some("there is nothing to remove here".into())
            }
            _ => None,
        }
    }
}
