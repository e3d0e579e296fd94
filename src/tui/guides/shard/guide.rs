//! The guide of `shard`: the fields of a step, facts about the data, and samples as they will be written.

use super::columns::{image_columns, missing_media_line, read_columns, rule_lines, Mark, RowColumn};
use super::costs::{media_lines, order_lines};
use super::inputs::{self, input_fields, plan_of, ADD, INPUTS};
use super::parts::{PartList, PARTS};
use super::samples::{preview_part, shown_samples, SamplePreviews, SampleTexts};
use super::size::{estimate, shard_lines, Slider};
use super::types::{new_type_words, TypeList, TYPES};
use crate::tui::form::{
    draw_below, draw_fields, draw_printed, from_row, Field, Form, Guide, KeyContexts, MouseTarget, PreviewGuide,
};
use crate::tui::keymap::{Action, Context};
use crate::tui::screen::{Effect, Ui, UiEnv};
use crate::tui::screens::run::JobRequest;
use crate::tui::widgets::layout::{draw_lines, heading};
use crate::tui::widgets::list::draw_list;
use crate::tui::widgets::page::{failure_lines, waiting, wrapped};
use crate::tui::widgets::{text, ListState};
use crate::tui::work::Stoppable;
use gristmill_core::options::Answer;
use gristmill_core::shard_plan::{InputKind, Preparation};
use gristmill_core::text::{count, display_safe, grouped, shell_quote};
use gristmill_core::{Failure, Outcome, Problem, SampleMapping, ShardPlan};
use gristmill_ops::operations::shard::proposed_output;
use gristmill_ops::shard::examples::{FuturePart, FutureSample};
use gristmill_ops::shard::ShardReport;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{KeyCode, KeyEvent};
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::Frame;
use std::path::PathBuf;

/// The list of columns of rows.
pub(super) const COLUMNS: Field = Field::List("columns");
/// The list of sliders for the size of shards.
pub(super) const SIZE: Field = Field::List("size");

/// Minimum width of a window that shows samples next to the fields; the next constant is the width of the samples.
const WIDE: u16 = 76;
const SAMPLE_COLUMNS: u16 = 34;
/// Minimum height in rows of the content below the fields.
const MIN_BELOW_ROWS: u16 = 4;
/// Height of the list of columns in rows; the next constant is the width of a mark and a name.
const LIST_ROWS: usize = 6;
const NAME_COLUMNS: usize = 14;
/// Description of the preview's work in the background.
const SAMPLE_ACTIVITY: &str = "looking for samples";

type ReadColumns = (PathBuf, Outcome<Vec<RowColumn>>);

/// The guide of `shard`.
pub struct ShardGuide {
    /// The guide that requests the preview, which has the samples.
    pub(super) preview: PreviewGuide,
    reader: Stoppable<PathBuf, ReadColumns>,
    /// The input whose columns were requested last.
    requested_input: PathBuf,
    /// The columns of the first input.
    pub(super) columns: Vec<RowColumn>,
    /// Number of columns that cannot be named in an option.
    unnamed: usize,
    /// Cursor of the list of columns.
    pub(super) list: ListState,
    /// Cursor of the list of inputs.
    pub(super) inputs: ListState,
    pub(super) parts: PartList,
    /// The list of sample types.
    pub(super) types: TypeList,
    /// The kinds of the inputs in the last preview of these inputs.
    kinds: (Vec<PathBuf>, Vec<InputKind>),
    /// Cursor of the list of sliders.
    pub(super) sliders: ListState,
    /// Number of samples and bytes in the last preview.
    amount: Option<(u64, u64)>,
    /// The number of the random sample that is shown.
    pub(super) random: usize,
    /// Pictures and texts of the shown samples.
    pub(super) previews: SamplePreviews,
}

impl ShardGuide {
    /// Starts the workers.
    pub fn start(env: &UiEnv) -> Self {
        let reader = Stoppable::start("columns", env.wake.clone(), |path: PathBuf, cancel| {
            let columns = read_columns(&path, cancel);
            (path, columns)
        });
        let preview = PreviewGuide::new(draw_printed, env);
        Self {
            preview,
            reader,
            requested_input: PathBuf::new(),
            columns: Vec::new(),
            unnamed: 0,
            list: ListState::new(0),
            inputs: ListState::new(0),
            parts: PartList::default(),
            types: TypeList::default(),
            kinds: Default::default(),
            sliders: ListState::new(0),
            amount: None,
            random: 0,
            previews: SamplePreviews::start(env),
        }
    }

    /// Sets the columns of the first input. The preview has the problems of the input.
    pub(super) fn set_columns(&mut self, mut columns: Vec<RowColumn>) {
        let all = columns.len();
        columns.retain(|column| !column.name.contains(':'));
        self.unnamed = all - columns.len();
        self.list.set_len(columns.len());
        self.columns = columns;
    }

    /// Returns the preview of the current answers, ignoring the output.
    pub(super) fn report<'a>(&'a self, form: &Form) -> Option<Result<&'a ShardReport, &'a Failure>> {
        report_of(&self.preview, form)
    }

    /// Whether an option applies to an input of the kinds of the last preview; `true` while they are unknown.
    fn applies_to_inputs(&self, form: &Form, field: Field) -> bool {
        let Field::Option(name) = field else { return true };
        let (inputs, kinds) = &self.kinds;
        let has = |kind| kinds.is_empty() || *inputs != plan_of(form).inputs || kinds.contains(&kind);
        match form.table.row(name).map(|row| row.heading) {
            _ if form.plan().get(name) != Answer::Unset => true,
            Some("Rows") => has(InputKind::Rows),
            _ if name == "key-rule" => has(InputKind::Files),
            _ => true,
        }
    }

    /// Returns the selected slider.
    fn slider(&self, form: &Form) -> Option<Slider> {
        self.sliders.get().and_then(|at| Slider::of_plan(&plan_of(form)).get(at).copied())
    }

    /// Changes the mark of the selected column to the next or previous one.
    fn mark(&mut self, form: &mut Form, is_next: bool) {
        let plan = plan_of(form);
        let Some(column) = self.list.get().and_then(|at| self.columns.get(at)) else { return };
        let now = Mark::of(&plan, &column.name);
        let marks = Mark::of_column(&column.name);
        let at = marks.iter().position(|mark| *mark == now).unwrap_or_default();
        let step = if is_next { 1 } else { marks.len() - 1 };
        let next = marks.get((at + step) % marks.len()).copied().unwrap_or_default();
        for (option, answer) in next.answers(&plan, &column.name) {
            form.answer(option, &answer);
        }
    }
}

fn propose_output(form: &mut Form) {
    let output = proposed_output(&plan_of(form)).map_or(Answer::Unset, Answer::Text);
    form.propose("output", output);
}

/// Returns the last preview if it has the same answers except the output and the sample type, so that it stays while these are typed.
fn report_of<'a>(preview: &'a PreviewGuide, form: &Form) -> Option<Result<&'a ShardReport, &'a Failure>> {
    let (plan, last) = preview.last()?;
    let listed = |plan: &ShardPlan| {
        let preparation = Preparation { loading: SampleMapping::Unset, ..plan.preparation.clone() };
        ShardPlan { output: None, preparation, ..plan.clone() }
    };
    let is_same = plan.typed::<ShardPlan>().is_some_and(|plan| listed(plan) == listed(&plan_of(form)));
    match &**last {
        Ok(report) => report.typed().filter(|_| is_same).map(Ok),
        Err(failure) => Some(Err(failure)).filter(|_| plan.is_same(form.plan())),
    }
}

/// Returns why no samples can be shown for these answers; a missing output is no reason.
fn missing_samples_reason(form: &Form) -> Option<String> {
    let refusal = || form.plan().check(false).into_iter().find(|problem| !problem.message.starts_with("--output"));
    let is_empty = plan_of(form).inputs.is_empty();
    let no_input = is_empty.then(|| "Samples are shown here once there is an input.".to_owned());
    no_input.or_else(|| form.mistakes.values().next().cloned()).or_else(|| refusal().map(|problem| problem.message))
}

impl Guide for ShardGuide {
    fn begin(&mut self, form: &mut Form) {
        propose_output(form);
        let inputs = plan_of(form).inputs.len();
        self.inputs.set_len(inputs);
        // The first missing answer has the focus.
        form.set_fields(self.fields(form));
        form.focus_on(if inputs == 0 { ADD } else { Field::Option("output") });
    }

    fn request_data(&mut self, form: &mut Form) {
        propose_output(form);
        let known = report_of(&self.preview, form).and_then(Result::ok);
        if let Some(inputs) = known.map(|report| &report.examples.inputs) {
            self.kinds = (plan_of(form).inputs, inputs.iter().map(|input| input.kind).collect());
        }
        self.types.update(form, known.map(|report| &report.examples));
        if missing_samples_reason(form).is_none() {
            self.preview.request_preview(form.plan());
        }
        let plan = plan_of(form);
        self.inputs.set_len(plan.inputs.len());
        self.sliders.set_len(Slider::of_plan(&plan).len());
        let known = report_of(&self.preview, form).and_then(Result::ok);
        self.parts.update(&plan, known.map(|report| &report.examples.parts));
        self.amount = known.map(|report| (report.samples, report.bytes)).or(self.amount);
        let input = plan.inputs.first().cloned().unwrap_or_default();
        if form.step_id() == "samples" && self.requested_input != input {
            self.requested_input.clone_from(&input);
            self.set_columns(Vec::new());
            self.reader.submit(input);
        }
        if form.step_id() == "samples" && self.columns.is_empty() && !self.reader.is_waiting() {
            let first = self.report(form).and_then(Result::ok).and_then(|report| report.examples.first.as_ref());
            if let Some(columns) = first.map(image_columns).filter(|columns| !columns.is_empty()) {
                self.set_columns(columns);
            }
        }
        if let Some(Ok(report)) = report_of(&self.preview, form) {
            let shown = shown_samples(report, self.random);
            let parts: Vec<FuturePart> = shown.iter().filter_map(|(_, sample)| preview_part(sample)).cloned().collect();
            self.previews.request_parts(parts);
        }
    }

    fn apply_results(&mut self, form: &mut Form) -> bool {
        let read = self.reader.take();
        let is_read = read.is_some();
        if let Some((_, columns)) = read.filter(|(path, _)| *path == self.requested_input) {
            self.set_columns(columns.unwrap_or_default());
        }
        let has_looks = self.previews.apply_results();
        let has_preview = self.preview.apply_results(form);
        has_preview || is_read || has_looks
    }

    fn is_busy(&self) -> bool {
        self.preview.is_busy() || self.reader.is_waiting()
    }

    fn status(&self) -> Option<String> {
        self.preview.is_busy().then(|| self.preview.activity(SAMPLE_ACTIVITY))
    }

    fn waits_for(&self) -> &'static str {
        SAMPLE_ACTIVITY
    }

    fn preview(&self, form: &Form) -> Option<Result<&[Problem], &Failure>> {
        self.preview.preview(form)
    }

    fn preview_lines(&self, form: &Form, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
        let mut lines = self.preview.preview_lines(form, columns, ui);
        if let Some(words) = new_type_words(&plan_of(form)).filter(|_| !lines.is_empty()) {
            lines.splice(0..0, wrapped(&words, columns, ui.theme.text));
        }
        lines
    }

    fn resume(&mut self, form: &mut Form) {
        self.preview.resume(form);
    }

    fn request(&mut self, form: &Form) -> JobRequest {
        let plan = plan_of(form);
        let is_set = plan.apart.text_to.is_none() && !plan.preparation.no_prepare;
        let output = plan.output.map(|output| shell_quote(&output.to_string_lossy()));
        let look = output.iter().map(|output| format!("To look at it: gristmill browse {output}"));
        let check = output.iter().filter(|_| is_set).map(|output| format!("To check it: gristmill lint {output}"));
        JobRequest { next: look.chain(check).collect(), ..self.preview.request(form) }
    }

    fn fields(&self, form: &Form) -> Vec<Field> {
        let mut fields = form.option_fields();
        match form.step_id() {
            "source" => {
                fields.retain(|field| *field != Field::Option(inputs::OPTION));
                fields.splice(0..0, input_fields(form));
            }
            "samples" => {
                fields.retain(|field| self.applies_to_inputs(form, *field));
                if !self.columns.is_empty() {
                    fields.insert(0, COLUMNS);
                }
            }
            "prepare" if self.types.has_choice() => fields.insert(0, TYPES),
            "choose" if !self.parts.shares.is_empty() => fields.insert(0, PARTS),
            "shards" if !Slider::of_plan(&plan_of(form)).is_empty() => fields.insert(0, SIZE),
            _ => {}
        }
        fields
    }

    fn blocking_reason(&self, form: &Form, step: usize) -> Option<String> {
        let is_source = form.steps().get(step).is_some_and(|step| step.id == "source");
        is_source.then(|| inputs::blocking_reason(form)).flatten()
    }

    fn draw_step(&mut self, form: &mut Form, frame: &mut Frame, area: Rect, ui: &Ui) -> bool {
        draw(self, form, frame, area, ui)
    }

    fn list_help(&self, list: Field) -> &'static str {
        match list {
            INPUTS => "What is read, in this order",
            PARTS => "Choose the parts that are written",
            SIZE => "Limit the samples or the bytes of a shard: change the limit, or type a number",
            TYPES => "Choose the class of samples in your training code; the best guess is first",
            _ => "Choose what each column of a row becomes",
        }
    }

    fn list(&mut self, name: &str) -> Option<&mut ListState> {
        match name {
            "columns" => Some(&mut self.list),
            "inputs" => Some(&mut self.inputs),
            "parts" => Some(&mut self.parts.list),
            "size" => Some(&mut self.sliders),
            "sample types" => Some(&mut self.types.list),
            _ => None,
        }
    }

    fn changes_rows(&self, list: &str) -> bool {
        matches!(list, "columns" | "size")
    }

    fn contexts(&self, form: &Form) -> KeyContexts {
        KeyContexts {
            step: match () {
                () if form.is_focused(INPUTS) => Context::ShardInputs,
                () if form.is_focused(SIZE) => Context::ShardSize,
                () => Context::Shard,
            },
            text: Context::ShardText,
            step_list: Context::ShardRail,
            ..KeyContexts::default()
        }
    }

    fn handle_action(&mut self, action: Action, form: &mut Form, _: &UiEnv) -> Option<Vec<Effect>> {
        if action == Action::Random {
            self.random = self.random.wrapping_add(1);
            return Some(Vec::new());
        }
        if form.is_focused(ADD) {
            let is_added = action == Action::Next && inputs::add_typed(form, &mut self.inputs);
            return is_added.then(Vec::new);
        }
        if form.is_focused(INPUTS) {
            if action == Action::AddRow {
                form.focus_on(ADD);
                return Some(Vec::new());
            }
            return inputs::change(action, form, &mut self.inputs).then(Vec::new);
        }
        if form.is_focused(PARTS) && action == Action::Toggle {
            self.parts.toggle(form);
            return Some(Vec::new());
        }
        if form.is_focused(TYPES) && action == Action::Toggle {
            self.types.choose(form);
            return Some(Vec::new());
        }
        if form.is_focused(SIZE) && matches!(action, Action::Left | Action::Right) {
            self.slider(form).into_iter().for_each(|slider| slider.step(form, action == Action::Right));
            return Some(Vec::new());
        }
        if !form.is_focused(COLUMNS) || !matches!(action, Action::Left | Action::Right | Action::Toggle) {
            return None;
        }
        self.mark(form, action != Action::Left);
        Some(Vec::new())
    }

    /// A digit begins the number of the selected slider.
    fn key(&mut self, form: &mut Form, key: &KeyEvent) {
        if let (KeyCode::Char(digit @ '0'..='9'), true) = (key.code, form.is_focused(SIZE)) {
            if let Some(slider) = self.slider(form) {
                form.type_into(slider.option(), &digit.to_string());
                form.focus_on(Field::Option(slider.option()));
            }
        }
    }

    fn label(&self, action: Action) -> Option<&'static str> {
        match action {
            Action::Left => Some("less"),
            Action::Right => Some("more"),
            Action::AddRow => Some("add an input"),
            Action::DropRow => Some("remove"),
            _ => None,
        }
    }

    fn disabled_reason(&self, action: Action, form: &Form) -> Option<String> {
        form.is_focused(INPUTS).then(|| inputs::why_disabled(action, &self.inputs)).flatten()
    }
}

/// Draws a step. Returns `false` if there is only space for its fields.
fn draw(guide: &mut ShardGuide, form: &mut Form, frame: &mut Frame, area: Rect, ui: &Ui) -> bool {
    let is_wide = area.width >= WIDE;
    let gap = if is_wide { SAMPLE_COLUMNS + 2 } else { 0 };
    let left = Rect { width: area.width - gap.min(area.width), ..area };
    let is_list = |field: &Field| matches!(field, Field::List(_));
    let fields: Vec<Field> = form.fields().iter().copied().filter(|field| !is_list(field)).collect();
    let list = form.fields().iter().copied().find(is_list);
    let fields_rows = u16::try_from(fields.len() + form.mistakes.len() + 1).unwrap_or(u16::MAX);
    let list_rows = match list {
        Some(INPUTS) => guide.inputs.len.min(LIST_ROWS),
        Some(SIZE) => Slider::of_plan(&plan_of(form)).len() + 1,
        Some(PARTS) => guide.parts.rows(usize::from(area.height.saturating_sub(fields_rows))),
        Some(TYPES) => guide.types.rows(),
        Some(_) => guide.columns.len().min(LIST_ROWS) + 1,
        None => 0,
    };
    let list_rows = u16::try_from(list_rows).unwrap_or_default();
    let has_room = fields_rows.saturating_add(list_rows).saturating_add(MIN_BELOW_ROWS) <= area.height;
    if !has_room && !is_wide && list_rows == 0 {
        return false;
    }
    let place = Rect { height: list_rows.min(left.height), ..left };
    if list == Some(INPUTS) {
        let known = report_of(&guide.preview, form).and_then(Result::ok);
        let known = known.map(|report| report.examples.inputs.as_slice()).unwrap_or_default();
        inputs::draw(form, &mut guide.inputs, known, frame, place, ui);
    } else if list == Some(PARTS) {
        guide.parts.draw(form, frame, place, ui);
    } else if list == Some(TYPES) {
        guide.types.draw(form, frame, place, ui);
    } else if list == Some(SIZE) {
        draw_sliders(guide, form, frame, place, ui);
    } else if list.is_some() {
        draw_columns(guide, form, frame, place, ui);
    }
    let place = from_row(left, usize::from(list_rows));
    let line = draw_fields(form, frame, place, 0, &fields, ui) + 1;
    let mut lines = Vec::new();
    if form.step_id() == "samples" && guide.unnamed > 0 {
        let hidden = count(guide.unnamed as u64, "column");
        let why = format!("{hidden} with a colon in the name cannot be chosen: options take COLUMN:PART");
        lines.extend(wrapped(&why, usize::from(left.width), ui.theme.warn));
    }
    let about = about_step(guide, form, usize::from(left.width), ui);
    if !about.is_empty() {
        lines.push(Line::default());
        lines.extend(about);
    }
    if is_wide {
        let x = area.right().saturating_sub(SAMPLE_COLUMNS);
        let right = Rect { x, width: SAMPLE_COLUMNS, ..area };
        draw_samples(guide, form, frame.buffer_mut(), right, ui);
    } else {
        if !lines.is_empty() {
            lines.push(Line::default());
        }
        let width = usize::from(left.width);
        let samples = samples_or_why(&guide.preview, guide.random, form, width, ui)
            .map(|shown| texts_of(form, ui).lines(&shown, width));
        lines.extend(samples.unwrap_or_else(|why| why));
    }
    draw_below(form, frame, from_row(place, line), lines, ui);
    true
}

fn draw_columns(guide: &mut ShardGuide, form: &mut Form, frame: &mut Frame, area: Rect, ui: &Ui) {
    form.mouse_areas.add(area, MouseTarget::Field(COLUMNS));
    let (plan, columns) = (plan_of(form), &guide.columns);
    draw_list(frame.buffer_mut(), area, &mut guide.list, form.is_focused(COLUMNS), ui, |at, room| {
        let Some(column) = columns.get(at) else { return Line::default() };
        let name = text::fit_end(&display_safe(&column.name), NAME_COLUMNS, ui.glyphs);
        let value = text::fit_end(&column.value, room.saturating_sub(NAME_COLUMNS + 10), ui.glyphs);
        Line::from(vec![
            Span::styled(format!("{:<6} ", Mark::of(&plan, &column.name).word()), ui.theme.accent),
            Span::raw(text::pad_end(&name, NAME_COLUMNS)),
            Span::styled(format!(" {value}"), ui.theme.muted),
        ])
    });
}

fn draw_sliders(guide: &mut ShardGuide, form: &mut Form, frame: &mut Frame, area: Rect, ui: &Ui) {
    let area = Rect { height: area.height.saturating_sub(1), ..area };
    form.mouse_areas.add(area, MouseTarget::Field(SIZE));
    let plan = plan_of(form);
    let sliders = Slider::of_plan(&plan);
    guide.sliders.set_len(sliders.len());
    draw_list(frame.buffer_mut(), area, &mut guide.sliders, form.is_focused(SIZE), ui, |at, room| {
        sliders.get(at).map_or_else(Line::default, |slider| slider.line(&plan, room, ui))
    });
}

/// Returns lines about the data for the answers of a step.
fn about_step(guide: &ShardGuide, form: &Form, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
    let report = match (guide.report(form), guide.amount) {
        (Some(Ok(report)), _) => report,
        // The estimate follows the sliders before the samples are divided again.
        (None, Some((samples, size))) if form.step_id() == "shards" => {
            return vec![heading(&estimate(&plan_of(form), samples, size), ui)];
        }
        _ => return Vec::new(),
    };
    match form.step_id() {
        "samples" => {
            let mut lines: Vec<Line<'static>> = missing_media_line(report, ui).into_iter().collect();
            lines.extend(rule_lines(&report.examples.names, plan_of(form).key_rule, columns, ui));
            lines
        }
        "choose" | "source" => chosen_line(report, ui),
        "shards" => shard_lines(report, columns, ui),
        "order" => order_lines(report, columns, ui),
        "media" => media_lines(&report.examples.parts, &plan_of(form), columns, ui),
        _ => Vec::new(),
    }
}

/// Returns a line with the number of samples that are written, if some are left out.
fn chosen_line(report: &ShardReport, ui: &Ui) -> Vec<Line<'static>> {
    let all = report.examples.parts.samples();
    if report.samples >= all {
        return Vec::new();
    }
    let words = format!("{} of {} are written by these answers", grouped(report.samples), count(all, "sample"));
    vec![Line::from(Span::styled(words, ui.theme.accent))]
}

fn is_type_focused(form: &Form) -> bool {
    ["sample-type", "field-map"].iter().any(|option| form.is_focused(Field::Option(option)))
}

fn texts_of<'a>(form: &Form, ui: &'a Ui<'a>) -> SampleTexts<'a> {
    let context = if form.wants_text() { Context::ShardText } else { Context::Shard };
    SampleTexts { plan: plan_of(form), key: ui.key(context, Action::Random), ui }
}

/// Returns the shown samples with their titles, or the reason why there are none yet.
fn samples_or_why<'a>(
    preview: &'a PreviewGuide,
    random: usize,
    form: &Form,
    columns: usize,
    ui: &Ui,
) -> Result<Vec<(&'static str, &'a FutureSample)>, Vec<Line<'static>>> {
    match (missing_samples_reason(form), report_of(preview, form)) {
        (Some(why), _) => Err(wrapped(&why, columns, ui.theme.muted)),
        (None, None) => Err(vec![waiting(&preview.activity(SAMPLE_ACTIVITY), ui)]),
        // Half a name of a sample type is no failure.
        (None, Some(Err(failure))) if is_type_focused(form) => Err(wrapped(&failure.why, columns, ui.theme.muted)),
        (None, Some(Err(failure))) => Err(failure_lines(failure, columns, ui)),
        (None, Some(Ok(report))) => Ok(shown_samples(report, random)),
    }
}

/// Draws samples, or the reason why there are none yet.
fn draw_samples(guide: &mut ShardGuide, form: &Form, buffer: &mut Buffer, area: Rect, ui: &Ui) {
    let shown = samples_or_why(&guide.preview, guide.random, form, usize::from(area.width), ui);
    match shown {
        Ok(shown) => texts_of(form, ui).draw(&shown, &mut guide.previews, buffer, area),
        Err(lines) => draw_lines(buffer, area, lines),
    }
}
