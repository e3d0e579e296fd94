//! The guide of `mix new`: finds data sets, stores their weights as typed, and writes them into the plan.

use super::view::{aux_names, bar_lines, draw_report, member_line, number, MemberRow};
use crate::tui::form::{
    draw_below, draw_fields, plan_path, Field, Form, Guide, KeyContexts, MouseTarget, PreviewGuide,
};
use crate::tui::guides::weights::{WeightedRow, WeightedRows};
use crate::tui::keymap::{Action, Context};
use crate::tui::screen::{Effect, Ui, UiEnv};
use crate::tui::screens::run::JobRequest;
use crate::tui::widgets::layout::{below, draw_lines, heading, row, stack, Section};
use crate::tui::widgets::list::draw_list;
use crate::tui::widgets::{text, ListState};
use crate::tui::work::LatestWorker;
use gristmill_core::mix::{MixKind, MixPlan};
use gristmill_core::options::Answer;
use gristmill_core::{Failure, Outcome, Problem};
use gristmill_ops::engine::mix::author::{find_members, FoundMember};
use gristmill_ops::engine::mix::MixNodeKind;
use ratatui::crossterm::event::{KeyCode, KeyEvent};
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::Frame;
use std::path::{Path, PathBuf};

/// The list of kinds of metadatasets.
pub(super) const KINDS: Field = Field::List("kinds");
/// The list of data sets.
pub(super) const MEMBERS: Field = Field::List("members");
/// The kinds, with the option that holds the members, and a description.
const OPTIONS: [(MixKind, &str, &str); 3] = [
    (MixKind::Blend, "blend", "draw by weight, indefinitely"),
    (MixKind::Epochized, "epochized", "repeat each member N times per epoch"),
    (MixKind::Join, "join", "join samples with the same key"),
];

/// Returns the row of a data set. `folder` is the searched folder.
fn row_of(member: FoundMember, folder: &Path) -> MemberRow {
    let path = member.path.clone();
    WeightedRow { weight: "1".to_owned(), ..WeightedRow::new(member, &path, folder) }
}

/// Returns whether the data set of a row is at a path of a plan, which is absolute in drafts and in saved plans.
fn is_at(row: &MemberRow, path: &str) -> bool {
    row.path == plan_path(Path::new(path))
}

/// Returns the data set of a row in the syntax of the option of a kind.
fn member_text(row: &MemberRow, kind: MixKind) -> String {
    match kind {
        MixKind::Join if row.path.contains('=') => format!("={}", row.path),
        MixKind::Join => row.path.clone(),
        MixKind::Blend | MixKind::Epochized => format!("{}={}", row.path, row.weight),
    }
}

/// The guide of `mix new`.
pub struct MixGuide {
    folder: PathBuf,
    /// The data set that is selected when the list appears.
    first: Option<PathBuf>,
    search: LatestWorker<PathBuf, Outcome<Vec<FoundMember>>>,
    kinds: ListState,
    /// The data sets, sorted by path, with their weights or numbers of repetitions.
    pub(super) members: WeightedRows<FoundMember>,
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
            kinds: ListState::new(OPTIONS.len()),
            members: WeightedRows::new(MEMBERS),
            preview: PreviewGuide::new(draw_report, env),
        }
    }

    /// Returns the kind of the metadataset.
    fn kind(&self) -> MixKind {
        OPTIONS.get(self.kinds.selected).map_or(MixKind::Blend, |(kind, ..)| *kind)
    }

    /// Stores the result of the search, makes `first` a member, and suggests an output.
    pub(super) fn set_found(&mut self, found: Outcome<Vec<FoundMember>>, form: &mut Form) {
        let rows = |found: Vec<FoundMember>| found.into_iter().map(|member| row_of(member, &self.folder)).collect();
        if !self.members.set_found(found.map(rows).map_err(|failure| failure.to_string())) {
            return;
        }
        self.take_over(form);
        let chosen = self.members.rows.iter().position(|row| row.is_chosen);
        let first = self.members.rows.iter().position(|row| Some(&row.item.path) == self.first.as_ref());
        self.members.list.select(chosen.or(first).unwrap_or(0));
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
            self.kinds.select(OPTIONS.iter().position(|(kind, ..)| *kind == plan.kind).unwrap_or(0));
        }
        for member in &plan.members {
            if self.members.found == Some(Ok(())) && !self.members.rows.iter().any(|row| is_at(row, &member.path)) {
                let member = FoundMember {
                    path: PathBuf::from(&member.path),
                    kind: MixNodeKind::Unusable,
                    samples: None,
                    splits: Vec::new(),
                    is_crude: false,
                };
                self.members.rows.push(row_of(member, &self.folder));
            }
        }
        for row in &mut self.members.rows {
            let member = plan.members.iter().find(|member| is_at(row, &member.path));
            row.is_chosen = member.is_some();
            row.weight = member.map_or(1.0, |member| member.amount).to_string();
        }
        self.members.list.set_len(self.members.rows.len());
    }

    /// Suggests the first output name that no data set has.
    fn propose_output(&self, form: &mut Form) {
        let mut names = (1..100).map(|number| match number {
            1 => self.folder.join("mix.yaml"),
            number => self.folder.join(format!("mix-{number}.yaml")),
        });
        if let Some(free) = names.find(|path| self.members.rows.iter().all(|row| row.item.path != *path)) {
            form.propose("output", Answer::Text(plan_path(&free)));
        }
    }

    /// Writes the chosen members into the plan.
    fn apply(&self, form: &mut Form) {
        for (_, option, _) in OPTIONS {
            form.mistakes.remove(&Field::Option(option));
        }
        let kind = self.kind();
        let members = self.members.chosen().map(|row| member_text(row, kind)).collect();
        if let Some((_, option, _)) = OPTIONS.get(self.kinds.selected) {
            form.answer(option, &Answer::List(members));
        }
    }

    /// Changes the selected row and writes it into the plan.
    fn change(&mut self, form: &mut Form, change: impl FnOnce(&mut MemberRow)) {
        if let Some(row) = self.members.selected() {
            change(row);
            self.apply(form);
        }
    }

    /// Draws the step with the data sets.
    fn draw_settings(&mut self, form: &mut Form, frame: &mut Frame, area: Rect, ui: &Ui) {
        let is_list = |field: &Field| [KINDS, MEMBERS].contains(field);
        let fields: Vec<Field> = form.fields().iter().copied().filter(|field| !is_list(field)).collect();
        let field_rows = fields.iter().map(|field| 1 + usize::from(form.mistakes.contains_key(field))).sum();
        let result = match self.members.found.is_some() {
            true => self.preview.result_lines(self, form, usize::from(area.width), ui, bar_lines),
            false => Vec::new(),
        };
        let focus = |is_focused: bool, otherwise: u8| if is_focused { Section::FOCUS } else { otherwise };
        let is_field = form.field().is_some_and(|field| fields.contains(&field));
        let sections = [
            Section::fixed(3, focus(form.is_focused(KINDS), 3)),
            Section::fixed(1, 0),
            Section::growing(3, self.members.rows.len().max(1) + 1, focus(form.is_focused(MEMBERS), 5)),
            Section::fixed(1, 0),
            Section::fixed(field_rows, focus(is_field, 4)),
            Section::fixed(1, 0),
            Section::growing(u16::try_from(result.len().min(3)).unwrap_or(3), result.len(), 2),
        ];
        let places = stack(area, &sections);
        self.draw_kinds(form, frame, places[0], ui);
        self.draw_members(form, frame, places[2], ui);
        draw_fields(form, frame, places[4], 0, &fields, ui);
        draw_below(form, frame, places[6], result, ui);
    }

    fn draw_kinds(&mut self, form: &mut Form, frame: &mut Frame, area: Rect, ui: &Ui) {
        form.mouse_areas.add(area, MouseTarget::Field(KINDS));
        let selected = self.kinds.selected;
        draw_list(frame.buffer_mut(), area, &mut self.kinds, form.is_focused(KINDS), ui, |at, columns| {
            let (label, note) = OPTIONS.get(at).map(|(_, label, note)| (*label, *note)).unwrap_or_default();
            let sign = if at == selected { ui.glyphs.radio_on } else { ui.glyphs.radio_off };
            let note = text::fit_end(note, columns.saturating_sub(16), ui.glyphs);
            Line::from(vec![Span::raw(format!("{sign} {label:<10}  ")), Span::styled(note, ui.theme.muted)])
        });
    }

    fn draw_members(&mut self, form: &mut Form, frame: &mut Frame, area: Rect, ui: &Ui) {
        let key = ui.key(Context::Weights, Action::Toggle);
        let kind = self.kind();
        let keys = match kind {
            MixKind::Blend => format!("{key} to choose, digits for the weight"),
            MixKind::Epochized => format!("{key} to choose, digits for the repetitions"),
            MixKind::Join => format!("{key} to choose"),
        };
        let mut head = heading("Data sets", ui);
        let room = usize::from(area.width).saturating_sub(12);
        head.spans.push(Span::styled(format!("   {}", text::fit_end(&keys, room, ui.glyphs)), ui.theme.muted));
        draw_lines(frame.buffer_mut(), row(area, 0), [head]);
        let body = below(area, 1);
        let nothing = "no prepared data set was found below this folder, up to three levels down";
        if self.members.draw_reason(frame, body, "searching for data sets", nothing, ui) {
            return;
        }
        let aux = form.plan_of::<MixPlan>().map(aux_names).unwrap_or_default();
        self.members.draw(form, frame, body, ui, |row, _, columns| member_line(row, kind, &aux, columns, ui));
    }
}

/// Increases or decreases the weight of a row, by tenths up to 1.
fn step_weight(row: &mut MemberRow, is_more: bool) {
    let now = number(row).unwrap_or(1.0);
    let step = if now < 1.0 || now <= 1.0 && !is_more { 0.1 } else { 1.0 };
    let next = if is_more { now + step } else { (now - step).max(0.1) };
    // Rounds to tenths, because of the errors of binary fractions.
    row.weight = format!("{}", (next * 10.0).round() / 10.0);
    row.is_chosen = true;
}

/// Appends a digit to the weight of a row, and makes the row a member. The first digit replaces a suggested weight.
fn type_weight(row: &mut MemberRow, digit: char) {
    row.type_digit(digit, !row.is_chosen || row.weight == "1" && digit != '.');
    row.is_chosen = true;
}

impl Guide for MixGuide {
    fn begin(&mut self, form: &mut Form) {
        self.take_over(form);
        if self.members.found.is_some() {
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
            let is_list = |field: &Field| OPTIONS.iter().any(|(_, option, _)| *field == Field::Option(option));
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
            self.draw_settings(form, frame, area, ui);
        }
        is_settings
    }

    fn list(&mut self, name: &str) -> Option<&mut ListState> {
        match name {
            "kinds" => Some(&mut self.kinds),
            "members" => Some(&mut self.members.list),
            _ => None,
        }
    }

    fn select(&mut self, form: &mut Form, list: &str) {
        if list == "kinds" {
            self.apply(form);
        }
    }

    fn changes_rows(&self, list: &str) -> bool {
        self.members.has_name(list)
    }

    fn scrolls_by_wheel(&self, list: &str) -> bool {
        self.members.has_name(list)
    }

    fn click(&mut self, form: &mut Form, list: &str, column: usize, is_double: bool) {
        if self.members.is_toggled_by_click(list, column, is_double) {
            self.change(form, WeightedRow::toggle);
        }
    }

    fn key(&mut self, form: &mut Form, key: &KeyEvent) {
        if !form.is_focused(MEMBERS) || self.kind() == MixKind::Join {
            return;
        }
        match key.code {
            KeyCode::Char(digit @ ('0'..='9' | '.')) => self.change(form, |row| type_weight(row, digit)),
            KeyCode::Backspace => self.change(form, |row| _ = row.weight.pop()),
            _ => {}
        }
    }

    fn handle_action(&mut self, action: Action, form: &mut Form, _: &UiEnv) -> Option<Vec<Effect>> {
        if !form.is_focused(MEMBERS) {
            return None;
        }
        match action {
            Action::Toggle => self.change(form, WeightedRow::toggle),
            Action::Left | Action::Right if self.kind() != MixKind::Join => {
                self.change(form, |row| step_weight(row, action == Action::Right));
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
        let is_on_members = form.is_focused(MEMBERS) && !self.members.rows.is_empty();
        match action {
            Action::Toggle | Action::Left | Action::Right if !is_on_members => Some("no data set is selected".into()),
            Action::DropRow if form.rail.is_some() || !form.wants_text() => {
                Some("there is nothing to remove here".into())
            }
            _ => None,
        }
    }
}
