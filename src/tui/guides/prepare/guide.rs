//! Connects the steps of `prepare` with the form, the scan and the workers.

use super::click_targets::{ClickTargets, DrawContext};
use super::interrupted::{self, InterruptedPrepare};
use super::review::Review;
use super::run::request;
use super::step::{point, Answers, Step, StepState};
use super::steps::PrepareSteps;
use super::workers::Workers;
use super::{field_map, media, sample_type, source, splits};
use crate::tui::form::frame::find_step_index;
use crate::tui::form::{self, draw_fields, from_row, Field, Form, Guide, KeyContexts};
use crate::tui::graphics::graphics_of;
use crate::tui::jobs::JobId;
use crate::tui::keymap::{Action, Context, Meaning};
use crate::tui::screen::{Effect, Ui, UiEnv};
use crate::tui::screens::run::JobRequest;
use crate::tui::screens::{facts, splits as splits_screen};
use crate::tui::theme::ColourMode;
use crate::tui::widgets::page::{failure_lines, waiting};
use crate::tui::widgets::preview::Pixels;
use crate::tui::widgets::{Level, Toast};
use gristmill_core::shard_plan::RepeatedKeys;
use gristmill_core::text::count;
use gristmill_core::{
    DatasetFacts, DatasetKind, Failure, MediaPlan, PreparePlan, Problem, SampleMapping, ShardState, SplitPlan,
};
use gristmill_data::preview::cells::Depth;
use gristmill_ops::job::prepare::Preview;
use gristmill_ops::job::scan::LiveScan;
use gristmill_ops::operations::{erase, Prepare, WriteShards};
use ratatui::crossterm::event::{KeyCode, KeyEvent, MouseEvent};
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::Frame;
use std::cell::Cell;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

/// The guide of `prepare`.
pub struct PrepareGuide {
    pub(super) path: PathBuf,
    pub(super) env: UiEnv,
    /// The answers of all steps.
    pub(super) steps: PrepareSteps,
    pub(super) workers: Workers,
    pub(super) scan: Option<LiveScan>,
    /// The job of the run screen above the form, once it has started.
    pub(super) started: Rc<Cell<Option<JobId>>>,
    /// Whether the run screen is open.
    pub(super) is_run_shown: bool,
    /// Answers to be applied once the data set is open.
    pub(super) pending_answers: Option<PreparePlan>,
    /// Typed answers of a draft that are not in the plan, to be applied at the same time.
    pub(super) unchosen: Option<String>,
    /// The interrupted run of the data set.
    pub(super) interrupted: Option<InterruptedPrepare>,
    /// The preview of the run; `None` until it is known.
    pub(super) preview: Option<Arc<Preview>>,
    /// Whether a dry run was requested: its result is complete once the last shard was scanned.
    pub(super) is_dry_run: bool,
    /// The remaining time of the scan, as text.
    pub(super) time: Option<String>,
    pub(super) notices: Vec<Toast>,
    /// The newest facts, without recorded counts.
    pub(super) latest_facts: Option<Arc<DatasetFacts>>,
    pub(super) failure: Option<Failure>,
    /// Whether the list of shards is known.
    pub(super) is_open: bool,
    pub(super) depth: Depth,
    click_targets: ClickTargets,
    pub(super) derived_at: Option<Instant>,
    pub(super) derived_for: Option<(PreparePlan, Arc<DatasetFacts>)>,
    pub(super) evaluated_for: Option<(SampleMapping, Arc<DatasetFacts>)>,
    pub(super) previewed_for: Option<(PreparePlan, Arc<DatasetFacts>)>,
    pub(super) media_for: Option<(MediaPlan, Arc<DatasetFacts>)>,
    pub(super) media_at: Option<Instant>,
}

impl PrepareGuide {
    /// Creates the guide, and starts to open the data set of a plan.
    pub fn start(plan: &PreparePlan, env: &UiEnv) -> Self {
        let mut guide = Self::new(plan, env);
        guide.workers.open.submit(guide.path.clone());
        guide
    }

    /// Creates a guide without opening the data set.
    pub(super) fn new(plan: &PreparePlan, env: &UiEnv) -> Self {
        let path = PathBuf::from(&plan.path);
        let facts = Arc::new(DatasetFacts::new(path.clone(), DatasetKind::RawWebDataset));
        let (graphics, cell) = graphics_of(env);
        let variable = |name: &str| env.variable(name);
        let colours = env.colour != ColourMode::None;
        let depth = Depth::detect(colours, env.ascii, variable("TERM").as_deref(), variable("COLORTERM").as_deref());
        let mut steps = PrepareSteps::new(&plan.path, facts);
        steps.field_map.pixels = Pixels::new(graphics, cell);
        Self {
            path,
            env: env.clone(),
            steps,
            workers: Workers::start(env, graphics, cell),
            scan: None,
            started: Rc::default(),
            is_run_shown: false,
            pending_answers: None,
            unchosen: None,
            interrupted: None,
            preview: None,
            is_dry_run: false,
            time: None,
            notices: Vec::new(),
            latest_facts: None,
            failure: None,
            is_open: false,
            depth,
            click_targets: ClickTargets::default(),
            derived_at: None,
            derived_for: None,
            evaluated_for: None,
            previewed_for: None,
            media_for: None,
            media_at: None,
        }
    }

    /// Adds a notice that is shown when the form opens.
    pub fn with_notice(mut self, notice: &str) -> Self {
        self.notices.push(Toast::new(Level::Warn, notice));
        self
    }

    /// Writes the answers into the form: the plan, the fields of the step, and the focus.
    pub(super) fn update(&self, form: &mut Form) {
        let plan = &self.steps.answers.plan;
        if form.plan_of::<PreparePlan>() != Some(plan) {
            form.set_plan(erase::<Prepare>(plan.clone()));
        }
        for step in Step::ALL {
            match self.steps.skip_reason(step) {
                Some(why) => form.skipped.insert(step.index(), why),
                None => form.skipped.remove(&step.index()),
            };
        }
        form.set_fields(self.fields(form));
        let keeps_focus = form.rail.is_some() || is_setting(form);
        if let Some(state) = self.steps.state(Step::at(form.step)).filter(|_| !keeps_focus) {
            form.focus_on(Field::FocusStop(state.focus()));
        }
    }

    /// Runs an action of the user on the step on the screen, and updates the plan.
    fn change<T>(&mut self, form: &mut Form, act: impl FnOnce(&mut dyn StepState, &Answers) -> T) -> Option<T> {
        let before = self.steps.answers.plan.clone();
        let (state, answers) = self.steps.state_mut(Step::at(form.step))?;
        let result = act(state, answers);
        if self.steps.update_plan(&before) {
            (self.preview, self.is_dry_run) = (None, false);
        }
        self.update(form);
        Some(result)
    }

    fn act_in_step(&mut self, action: Action, form: &mut Form) -> Vec<Effect> {
        let notice = self.change(form, |state, answers| state.handle_action(action, answers)).flatten();
        notice.map(Effect::Toast).into_iter().collect()
    }

    /// Returns the action of a letter that is typed into the ratio but cannot be part of one: j and k select another kind of splits.
    pub(super) fn action_of(&self, key: &KeyEvent, form: &Form) -> Option<Action> {
        let is_ratio = Step::at(form.step) == Step::Splits && self.steps.splits.is_typing_ratio(&self.steps.answers);
        let is_letter = matches!(key.code, KeyCode::Char(c) if key.modifiers.is_empty() && !splits::is_ratio_char(c));
        match self.env.keymap.meaning(Context::Prepare, &[*key]) {
            Meaning::Do(action @ (Action::Up | Action::Down)) if is_ratio && is_letter => Some(action),
            _ => None,
        }
    }

    /// Opens the manual division of shards: in the step Splits, or, for an update, which does not change recorded splits, in the split
    /// editor.
    fn divide_by_hand(&mut self, form: &mut Form) -> Vec<Effect> {
        if self.steps.answers.is_update() {
            return vec![Effect::Push(splits_screen::open(self.path.clone(), self.env.clone()))];
        }
        form.select_step(Step::Splits.index());
        let before = self.steps.answers.plan.splits.clone();
        self.steps.splits.by_hand(&self.steps.answers);
        self.change(form, |_, _| ());
        match before {
            SplitPlan::Listed(_) => Vec::new(),
            _ => vec![Effect::Toast(Toast::new(Level::Info, "the shards are divided by hand now"))],
        }
    }

    /// Opens the form that writes new shards of these, with the treatment of repeated keys that makes them usable.
    fn write_shards(&self, keys: RepeatedKeys) -> Vec<Effect> {
        let mut plan = form::shards_of(&self.path);
        plan.choice.repeated_keys = keys;
        vec![Effect::Push(form::open(erase::<WriteShards>(plan), self.env.clone()))]
    }

    /// Accepts the answers of the step on the screen; if the exclude pattern prevents that, moves the focus to the pattern.
    fn accept_step(&mut self, form: &mut Form) {
        let (step, answers) = (Step::at(form.step), &self.steps.answers);
        let is_blocked = self.steps.state(step).is_some_and(|state| state.blocking_reason(answers).is_some());
        if is_blocked && step == Step::Source && self.steps.source.has_fault() {
            self.steps.source.focus_on(source::FocusStop::Pattern, answers);
            self.update(form);
        }
        if let Some((state, _)) = self.steps.state_mut(step).filter(|_| !is_blocked) {
            state.accept();
            // The plan of an accepted suggestion is unchanged, but a draft keeps it. The first step suggests nothing.
            self.steps.is_dirty |= step != Step::Source;
        }
    }

    /// Returns a message about the finished work that the next run reuses from the interrupted one.
    fn describe_resumed_work(&self, form: &Form) -> Option<String> {
        let is_resumed = form.stopped.is_some();
        let interrupted = self.interrupted.as_ref().filter(|_| is_resumed || form.is_review())?;
        let answers = &self.steps.answers;
        let is_same = interrupted::hash(&answers.plan, answers.facts.prepared.as_ref()) == interrupted.hash;
        match (is_same, interrupted.done) {
            // No message if the user did not resume the run and no shard is finished.
            (true, 0) if !is_resumed => None,
            (true, 1) => Some("an interrupted run is continued: 1 shard is done".into()),
            (true, done) => Some(format!("an interrupted run is continued: {} are done", count(done, "shard"))),
            (false, _) => is_resumed.then(|| "changed since the interrupted run: it starts over".into()),
        }
    }
}

/// Returns the options of the step that the step does not draw itself; they are fields if advanced settings are shown.
fn settings_of(form: &Form) -> Vec<Field> {
    let is_setting = |field: &Field| match field {
        Field::Option(name) => form.table.row(name).is_some_and(|row| row.info.is_advanced),
        _ => false,
    };
    let fields = if form.advanced { form.option_fields() } else { Vec::new() };
    fields.into_iter().filter(is_setting).collect()
}

/// Returns whether an option that is not drawn by the step has the focus.
fn is_setting(form: &Form) -> bool {
    matches!(form.field(), Some(Field::Option(_)))
}

impl Guide for PrepareGuide {
    fn begin(&mut self, form: &mut Form) {
        let Some(plan) = form.plan_of::<PreparePlan>().cloned() else { return };
        if !self.is_open {
            self.pending_answers = Some(plan);
            return;
        }
        self.steps.clear();
        self.preview = None;
        self.update(form);
    }

    fn request_data(&mut self, form: &mut Form) {
        let step = Step::at(form.step);
        let settings = form.plan_of::<PreparePlan>().filter(|plan| self.is_open && **plan != self.steps.answers.plan);
        if let Some(plan) = settings.cloned() {
            // The answers of the steps are then written into this plan.
            let before = std::mem::replace(&mut self.steps.answers.plan, plan);
            if self.steps.update_plan(&before) {
                (self.preview, self.is_dry_run) = (None, false);
            }
            self.update(form);
        }
        if let (Some(Field::FocusStop(stop)), Some((state, _))) = (form.field(), self.steps.state_mut(step)) {
            // Setting the focus again would end a completion.
            if state.focus() != stop {
                state.set_focus(stop);
            }
        }
        self.request_step_data(step);
    }

    fn apply_results(&mut self, form: &mut Form) -> bool {
        let is_changed = self.take_answers() | self.follow_scan();
        if is_changed && self.is_open {
            self.update(form);
        }
        is_changed
    }

    fn is_busy(&self) -> bool {
        !self.is_open && self.failure.is_none() || self.steps.is_scanning || self.workers.is_waiting()
    }

    fn status(&self) -> Option<String> {
        if !self.is_open {
            return None;
        }
        let of_all = || {
            let shards = &self.steps.answers.facts.shards;
            let damaged = shards.iter().filter(|shard| shard.state == ShardState::Failed).count();
            let samples = count(shards.iter().map(|shard| shard.samples).sum(), "sample");
            if damaged == 0 {
                samples
            } else {
                format!("{samples}  {damaged} unreadable")
            }
        };
        Some(self.scan_status().unwrap_or_else(of_all))
    }

    fn preview(&self, _: &Form) -> Option<Result<&[Problem], &Failure>> {
        self.preview.as_ref().map(|preview| Ok(preview.problems.as_slice()))
    }

    fn preview_lines(&self, form: &Form, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
        let Some(preview) = &self.preview else { return Vec::new() };
        let review = Review {
            preview,
            answers: &self.steps.answers,
            is_dry_run: self.is_dry_run,
            is_refused: Step::ALL.iter().any(|step| self.blocking_reason(form, step.index()).is_some()),
            is_scanning: self.steps.is_scanning,
            time: self.time.as_deref(),
        };
        review.lines(columns, ui)
    }

    fn resume(&mut self, form: &mut Form) {
        self.return_from_run(form);
    }

    fn request(&mut self, _: &Form) -> JobRequest {
        self.steps.accept_all();
        let request = request(&self.steps.answers, self.scan.take());
        let (started, start) = (Rc::clone(&self.started), request.start);
        let start = Box::new(move |env: &UiEnv| start(env).inspect(|id| started.set(Some(*id))));
        self.is_run_shown = true;
        JobRequest { start, ..request }
    }

    fn waits_for(&self) -> &'static str {
        "computing what will be written"
    }

    fn contexts(&self, form: &Form) -> KeyContexts {
        let state = self.steps.state(Step::at(form.step)).filter(|_| !is_setting(form));
        let of_step = if form.is_review() { Context::PrepareReview } else { Context::Prepare };
        let step = state.map_or(of_step, |state| state.context(&self.steps.answers));
        KeyContexts {
            step,
            text: Context::PrepareText,
            step_list: Context::PrepareRail,
            review: Context::PrepareReview,
        }
    }

    fn opening_lines(&self, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
        let Some(failure) = &self.failure else { return vec![waiting("opening", ui)] };
        let mut lines = failure_lines(failure, columns, ui);
        lines.push(Line::default());
        let key = ui.key(Context::Page, Action::Close);
        lines.push(Line::from(Span::styled(format!("{key} goes back"), ui.theme.muted)));
        lines
    }

    fn is_open(&self) -> bool {
        self.steps.answers.facts.opened
    }

    fn message(&self, form: &Form) -> Option<String> {
        self.describe_resumed_work(form)
    }

    fn take_notices(&mut self) -> Vec<Toast> {
        std::mem::take(&mut self.notices)
    }

    fn is_changed(&self) -> Option<bool> {
        Some(self.steps.is_dirty)
    }

    fn unchosen(&self) -> Option<String> {
        serde_json::to_string(&self.steps.splits.alternatives()).ok()
    }

    fn restore_unchosen(&mut self, line: &str) {
        self.unchosen = Some(line.to_owned());
    }

    fn fields(&self, form: &Form) -> Vec<Field> {
        let state = self.steps.state(Step::at(form.step));
        let stops = state.map_or(0, |state| state.focus_count(&self.steps.answers));
        (0..stops).map(Field::FocusStop).chain(settings_of(form)).collect()
    }

    fn checks_plan(&self) -> bool {
        false
    }

    fn blocking_reason(&self, form: &Form, step: usize) -> Option<String> {
        let (is_shown, step) = (form.step == step, Step::at(step));
        if self.steps.skip_reason(step).is_some() {
            return None;
        }
        let of_answers = self.steps.state(step)?.blocking_reason(&self.steps.answers);
        // Problems of the data may be older than the typed answer: they do not prevent completing the step on the screen.
        of_answers.or_else(|| self.steps.refusal(step).filter(|_| !is_shown))
    }

    fn draw_step(&mut self, form: &mut Form, frame: &mut Frame, area: Rect, ui: &Ui) -> bool {
        self.click_targets.clear();
        let settings = settings_of(form);
        // A blank row separates the settings from the step.
        let rows = settings.len() + usize::from(!settings.is_empty());
        let height = usize::from(area.height).saturating_sub(rows);
        if !settings.is_empty() {
            draw_fields(form, frame, from_row(area, height + 1), 0, &settings, ui);
        }
        let area = Rect { height: u16::try_from(height).unwrap_or(area.height), ..area };
        let context = DrawContext {
            ui,
            focused: form.rail.is_none() && !is_setting(form),
            is_scanning: self.steps.is_scanning,
            depth: self.depth,
            click_targets: &self.click_targets,
        };
        let steps = &mut self.steps;
        let answers = &steps.answers;
        match Step::at(form.step) {
            Step::Source => source::view::draw(&mut steps.source, frame, area, answers, &context),
            Step::Splits => splits::view::draw(&mut steps.splits, frame, area, answers, &context),
            Step::SampleType => sample_type::view::draw(&mut steps.sample_type, frame, area, answers, &context),
            Step::FieldMap => field_map::view::draw(&mut steps.field_map, frame, area, answers, &context),
            Step::Media => media::view::draw(&mut steps.media, frame, area, answers, &context),
            Step::Review => return false,
        }
        // The pictures to encode, and their sizes, are known only after drawing.
        if !self.workers.pixels.is_waiting() {
            let wanted = self.steps.field_map.pixels.take_requests();
            if !wanted.is_empty() {
                self.workers.pixels.submit(wanted);
            }
        }
        true
    }

    fn mouse(&mut self, form: &mut Form, mouse: MouseEvent) -> bool {
        let gesture = if form.is_review() { None } else { self.click_targets.gesture(mouse) };
        let Some(gesture) = gesture else { return false };
        if !matches!(gesture, crate::tui::widgets::Gesture::Wheel { .. }) {
            form.rail = None;
        }
        self.change(form, |state, answers| point(state, answers, gesture));
        true
    }

    fn wants_text(&self, form: &Form) -> bool {
        let is_text = matches!(self.contexts(form).step, Context::PrepareText | Context::PrepareExpression);
        is_text && form.rail.is_none() && !form.is_review()
    }

    fn paste(&mut self, form: &mut Form, text: &str) {
        // The list of steps and the settings take no pasted text, which must not reach a step without the focus.
        if form.rail.is_none() && !is_setting(form) {
            self.change(form, |state, answers| state.paste(text, answers));
        }
    }

    fn key(&mut self, form: &mut Form, key: &KeyEvent) {
        if form.rail.is_some() || is_setting(form) {
            return;
        }
        match self.action_of(key, form) {
            // The action moves the cursor and causes no notice.
            Some(action) => drop(self.act_in_step(action, form)),
            None => drop(self.change(form, |state, answers| state.key(*key, answers))),
        }
    }

    fn handle_action(&mut self, action: Action, form: &mut Form, _: &UiEnv) -> Option<Vec<Effect>> {
        if form.rail.is_some() {
            return None;
        }
        if self.steps.state(Step::at(form.step)).is_some_and(StepState::has_inner) {
            return Some(self.act_in_step(action, form));
        }
        match action {
            Action::Facts => return Some(vec![Effect::Push(facts::of_scan(&self.steps.answers.facts))]),
            Action::Splits => return Some(self.divide_by_hand(form)),
            Action::Shards => return self.steps.answers.derived.keys_in_new_shards.map(|keys| self.write_shards(keys)),
            Action::Reload => {
                self.workers.open.submit(self.path.clone());
                return Some(vec![Effect::Toast(Toast::new(Level::Info, "scanning the shards again"))]);
            }
            Action::DryRun => {
                self.is_dry_run = true;
                form.offset = 0;
                return Some(Vec::new());
            }
            Action::Next => self.accept_step(form),
            Action::Close | Action::NextField | Action::PreviousField | Action::NextPane | Action::PreviousPane => {}
            Action::SavePlan | Action::StartAfresh | Action::Run | Action::BeginAnew | Action::Advanced => {}
            action if find_step_index(action).is_some() || form.is_review() || is_setting(form) => {}
            action => return Some(self.act_in_step(action, form)),
        }
        None
    }

    fn disabled_reason(&self, action: Action, form: &Form) -> Option<String> {
        match action {
            Action::Facts if self.steps.answers.facts.samples_seen == 0 => Some("no sample was read yet".into()),
            Action::Shards if self.steps.answers.derived.keys_in_new_shards.is_none() => {
                Some("no keys were found that need new shards".into())
            }
            Action::Undo | Action::Redo if Step::at(form.step) != Step::Splits => Some("nothing to undo here".into()),
            _ => None,
        }
    }
}
