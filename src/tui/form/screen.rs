//! The screen of a form: handles keys and clicks, saves drafts, and starts the run.

use super::draft::{Draft, DraftFile};
use super::field::{Field, FieldKind};
use super::frame::find_step_index;
use super::guide::Guide;
use super::save::SavePlan;
use super::state::Form;
use super::steps::{blocking_reason, click, first_blocker, handle_action, stopped_run, wheel};
use super::{guide_of, view};
use crate::tui::keymap::{Action, Context};
use crate::tui::path_completer::PathCompleter;
use crate::tui::question::{DialogChoice, Question};
use crate::tui::screen::{Effect, Input, Screen, Ui, UiEnv};
use crate::tui::screens::run::{JobRequest, RunScreen};
use crate::tui::widgets::{Gesture, Level, TextField, Toast};
use gristmill_core::options::Answer;
use gristmill_core::Problem;
use gristmill_ops::operations::{interrupted_run, AnyPlan};
use gristmill_storage::files;
use gristmill_storage::run_folder::RunFolder;
use ratatui::crossterm::event::MouseEvent;
use ratatui::layout::Rect;
use ratatui::Frame;
use std::path::{Path, PathBuf};

/// The screen of a form.
pub struct FormScreen {
    env: UiEnv,
    guide: Box<dyn Guide>,
    form: Form,
    paths: PathCompleter,
    draft: DraftFile,
    /// The answers given at the start, before a draft replaced them.
    initial_plan: Box<dyn AnyPlan>,
    /// Whether these answers were run: the draft then belongs to the run.
    was_run: bool,
    /// Whether a key, a click or a paste has changed the plan.
    is_edited: bool,
    /// Whether the user was asked about a stopped run for these answers.
    has_offered_resume: bool,
}

impl FormScreen {
    /// Opens the form with the given answers. If these are only inputs and output, restores a draft for the same inputs.
    pub fn new(plan: Box<dyn AnyPlan>, env: UiEnv) -> Self {
        let guide = guide_of(&*plan, &env);
        Self::with_guide(plan, guide, env)
    }

    /// Opens the form with the given answers and guide.
    pub fn with_guide(plan: Box<dyn AnyPlan>, guide: Box<dyn Guide>, env: UiEnv) -> Self {
        let restores_draft = !has_answers(&*plan);
        Self::with_draft(plan, guide, restores_draft, env)
    }

    /// Opens the form with answers that were proposed from the data; restores a draft for the same inputs instead, if there is one.
    pub fn proposed(plan: Box<dyn AnyPlan>, env: UiEnv) -> Self {
        let guide = guide_of(&*plan, &env);
        Self::with_draft(plan, guide, true, env)
    }

    fn with_draft(plan: Box<dyn AnyPlan>, mut guide: Box<dyn Guide>, restores_draft: bool, env: UiEnv) -> Self {
        let operation = plan.operation();
        let sources: Vec<PathBuf> = plan.inputs().into_iter().map(PathBuf::from).chain(guide.sources()).collect();
        let kind = format!("{}-", operation.file_name());
        let draft = DraftFile::new(&kind, &sources, &env);
        let found = restores_draft.then(|| draft.load(operation.name())).flatten();
        let mut form = Form::new(plan.boxed_clone());
        guide.begin(&mut form);
        let given = form.plan().boxed_clone();
        if let Some(Draft { plan: mut saved, step, age, unchosen }) = found {
            replace_by_given(&mut *saved, &*plan);
            form = Form::new(saved);
            guide.begin(&mut form);
            guide.restore_unchosen(&unchosen);
            form.go_to(&step);
            form.draft = Some(age);
        }
        let paths = PathCompleter::start(&env);
        let mut screen = Self {
            env,
            guide,
            form,
            paths,
            draft,
            initial_plan: given,
            was_run: false,
            is_edited: false,
            has_offered_resume: false,
        };
        screen.request_data();
        screen
    }

    /// Opens the review of a stopped run, which the run resumes. `scratch` is the scratch folder of that run.
    pub fn resume(plan: Box<dyn AnyPlan>, scratch: Option<PathBuf>, env: &UiEnv) -> Self {
        let mut env = env.clone();
        env.options.scratch = scratch.or(env.options.scratch);
        Self::new(plan, env).resumed_run()
    }

    /// Shows the review of answers whose run was stopped.
    pub fn resumed_run(mut self) -> Self {
        self.form.disable_suggestions();
        self.form.stopped = Some(self.form.command());
        self.form.select_step(self.form.review());
        self.request_data();
        self
    }

    /// Returns the form, for tests.
    #[cfg(test)]
    pub fn form(&self) -> &Form {
        &self.form
    }

    /// Returns the guide, for tests.
    #[cfg(test)]
    pub fn guide<G: Guide>(&self) -> &G {
        (&*self.guide as &dyn std::any::Any).downcast_ref().unwrap()
    }

    /// Returns the guide, for tests.
    #[cfg(test)]
    pub fn guide_mut<G: Guide>(&mut self) -> &mut G {
        (&mut *self.guide as &mut dyn std::any::Any).downcast_mut().unwrap()
    }

    /// Changes guide and form as the workers would, for tests.
    #[cfg(test)]
    pub fn with_guide_of<G: Guide>(&mut self, change: impl FnOnce(&mut G, &mut Form)) {
        let guide = (&mut *self.guide as &mut dyn std::any::Any).downcast_mut().unwrap();
        change(guide, &mut self.form);
        self.request_data();
    }

    fn request_data(&mut self) {
        self.guide.request_data(&mut self.form);
        self.form.set_fields(self.guide.fields(&self.form));
    }

    /// Returns why a step cannot be completed.
    fn blocking_reason(&self, step: usize) -> Option<String> {
        blocking_reason(&self.form, &*self.guide, step)
    }

    /// Completes the step on the screen.
    fn complete_step(&mut self) -> Vec<Effect> {
        let step = self.form.step;
        match (self.form.rail, self.blocking_reason(step)) {
            (Some(step), _) => match self.form.skipped.get(&step) {
                Some(why) => return warning((*why).to_owned()),
                None => self.form.select_step(step),
            },
            (None, Some(why)) => {
                self.form.mark_tried(step);
                return warning(why);
            }
            (None, None) => self.form.select_step(self.form.neighbour(true).unwrap_or(step)),
        }
        Vec::new()
    }

    fn run(&mut self) -> Vec<Effect> {
        if self.form.rail.is_some() {
            return self.complete_step();
        }
        if let Some(stopped) = stopped_run(&self.form, &*self.guide) {
            let question = self.stopped_run_question(&stopped);
            self.has_offered_resume = true;
            return vec![Effect::Push(Box::new(question))];
        }
        if let Some((step, why)) = first_blocker(&self.form, &*self.guide) {
            if step != self.form.step {
                self.form.select_step(step);
            }
            return warning(why);
        }
        self.start_run(&self.env.clone())
    }

    fn start_run(&mut self, env: &UiEnv) -> Vec<Effect> {
        // The draft is deleted when the run succeeds; a run that fails, or is stopped with the program, keeps it.
        self.draft.save(&self.form, &*self.guide);
        self.was_run = true;
        let request = self.guide.request(&self.form);
        let request = JobRequest { draft: Some(self.draft.path().to_owned()), ..request };
        vec![Effect::Push(Box::new(RunScreen::new(request, env.clone())))]
    }

    /// Returns the question about a run of another plan that was stopped at the output.
    fn stopped_run_question(&self, stopped: &Problem) -> Question {
        let mut answers = Vec::new();
        let own = RunFolder::for_output(Path::new(stopped.subject.path.as_deref().unwrap_or_default()));
        if let Some(run) = interrupted_run(&own) {
            if run.plan.operation().name() == self.form.plan().operation().name() {
                let screen = Self::resume(run.plan, run.scratch, &self.env);
                answers.push(DialogChoice::new("Resume it", vec![Effect::Replace(Box::new(screen))]));
            }
        }
        answers.push(DialogChoice::new("Begin again", vec![Effect::Do(Action::BeginAnew)]));
        answers.push(DialogChoice::new("Cancel", Vec::new()));
        let lines = vec![stopped.to_string(), "Starting from the beginning discards its work.".to_owned()];
        Question::new("A stopped run", lines, answers)
    }

    /// Runs these answers, and discards the stopped run at the output.
    fn restart(&mut self) -> Vec<Effect> {
        let mut env = self.env.clone();
        env.options.restart = true;
        self.start_run(&env)
    }

    fn close(&mut self) -> Vec<Effect> {
        if self.form.rail.take().is_some() {
            return Vec::new();
        }
        match self.form.neighbour(false) {
            Some(step) => {
                self.form.select_step(step);
                Vec::new()
            }
            None if self.keep_draft() => {
                let kept = Toast::new(Level::Info, "your answers are kept as a draft");
                vec![Effect::Pop, Effect::Toast(kept)]
            }
            None => vec![Effect::Pop],
        }
    }

    /// Returns whether the user has changed an answer.
    fn is_changed(&self) -> bool {
        // On the first step, the guide may have changed the plan by itself.
        let is_first = self.form.step == 0 && !self.form.is_answered(0) && !self.is_edited;
        let is_unchanged = || is_first || self.form.plan().is_same(&*self.initial_plan);
        self.guide.is_changed().unwrap_or_else(|| !is_unchanged())
    }

    /// Saves the draft, unless there are no answers or they were run. Returns whether new answers were saved.
    fn keep_draft(&mut self) -> bool {
        let is_changed = self.is_changed();
        let is_kept = !self.was_run && (self.form.draft.is_some() || is_changed);
        if is_kept {
            self.draft.save(&self.form, &*self.guide);
        }
        is_kept && is_changed
    }

    /// Discards the draft and its answers.
    fn reset_form(&mut self) {
        self.draft.delete();
        self.form = Form::new(self.initial_plan.operation().plan_for(self.initial_plan.inputs()));
        self.guide.begin(&mut self.form);
    }

    fn handle_action(&mut self, action: Action) -> Vec<Effect> {
        if !self.guide.is_open() {
            return if action == Action::Close { vec![Effect::Pop] } else { Vec::new() };
        }
        self.was_run = false;
        self.has_offered_resume = false;
        if let Some(effects) = self.guide.handle_action(action, &mut self.form, &self.env) {
            return effects;
        }
        match action {
            Action::Next | Action::Accept => return self.complete_step(),
            Action::Run => return self.run(),
            Action::BeginAnew => return self.restart(),
            Action::Close => return self.close(),
            Action::SavePlan => {
                let popup = SavePlan::new(self.form.plan().boxed_clone(), self.env.clone());
                return vec![Effect::Push(Box::new(popup))];
            }
            Action::Copy => {
                let copied = Effect::Toast(Toast::new(Level::Ok, "copied"));
                return vec![Effect::Copy(self.form.command()), copied];
            }
            Action::StartAfresh => {
                self.reset_form();
                let notice = Toast::new(Level::Info, "draft discarded");
                return vec![Effect::Toast(notice)];
            }
            Action::NextField if self.complete_path() => {}
            action => match find_step_index(action).filter(|step| !self.form.skipped.contains_key(step)) {
                Some(step) => self.form.select_step(step),
                None => handle_action(&mut self.form, &mut *self.guide, action),
            },
        }
        Vec::new()
    }

    /// Edits the focused field, if it is a text.
    fn edit(&mut self, edit: impl FnOnce(&mut TextField) -> bool) {
        let Some(field) = self.form.field().filter(|_| self.form.wants_text()) else { return };
        let input = self.form.inputs.entry(field).or_default();
        if edit(input) {
            if self.form.table.is_path(field) {
                self.paths.request_completion(Path::new(""), input);
            }
            self.was_run = false;
            self.form.apply_typed(field);
        }
    }

    /// Accepts the shown completion of a path.
    fn complete_path(&mut self) -> bool {
        let mut is_complete = false;
        self.edit(|field| {
            is_complete = field.complete();
            is_complete
        });
        is_complete
    }

    fn mouse(&mut self, mouse: MouseEvent) {
        if self.guide.mouse(&mut self.form, mouse) {
            return;
        }
        match self.form.mouse_areas.gesture(mouse) {
            Some(Gesture::Wheel { rows, on }) => wheel(&mut self.form, &mut *self.guide, on, rows),
            Some(Gesture::Click { on, line, column }) => {
                click(&mut self.form, &mut *self.guide, on, (line, column), false);
            }
            Some(Gesture::DoubleClick { on, line, column }) => {
                click(&mut self.form, &mut *self.guide, on, (line, column), true);
            }
            None => {}
        }
    }
}

/// Whether any option has an answer except the inputs and the output, which the command line may give.
fn has_answers(plan: &dyn AnyPlan) -> bool {
    let options = plan.operation().options();
    let mut others = options.iter().filter(|row| !row.info.is_positional && row.info.name != "output");
    others.any(|row| plan.get(row.info.name) != Answer::Unset)
}

/// Replaces the inputs and the output of a draft by the given ones. The paths of a draft are absolute: equal inputs stay unchanged.
fn replace_by_given(draft: &mut dyn AnyPlan, given: &dyn AnyPlan) {
    let inputs = |plan: &dyn AnyPlan| plan.inputs().into_iter().map(files::absolute_or_same).collect::<Vec<PathBuf>>();
    let rows = given.operation().options();
    let input = rows.iter().find(|row| row.info.is_positional).filter(|_| inputs(draft) != inputs(given));
    for option in input.map(|row| row.info.name).into_iter().chain(["output"]) {
        let answer = given.get(option);
        if answer != Answer::Unset && draft.set(option, &answer).is_err() {
            tracing::warn!(option, "an answer of the draft could not be replaced");
        }
    }
}

fn warning(why: String) -> Vec<Effect> {
    vec![Effect::Toast(Toast::new(Level::Warn, why))]
}

impl Screen for FormScreen {
    fn context(&self) -> Context {
        let contexts = self.guide.contexts(&self.form);
        match () {
            () if !self.guide.is_open() => Context::Page,
            () if self.form.rail.is_some() => contexts.step_list,
            () if self.form.is_review() => contexts.review,
            () if self.form.wants_text() => contexts.text,
            () => contexts.step,
        }
    }

    fn title(&self) -> Vec<String> {
        let plan = self.form.plan();
        let folder = || self.guide.sources().first().map(|path| self.env.short_path(path));
        let subject = Some(plan.input_name()).filter(|name| !name.is_empty()).or_else(folder);
        std::iter::once(plan.operation().name().to_owned()).chain(subject).collect()
    }

    fn handle(&mut self, input: Input) -> Vec<Effect> {
        let step = self.form.step;
        let before = (!self.is_edited).then(|| self.form.plan().boxed_clone());
        let mut effects = Vec::new();
        match input {
            Input::Action(action) => effects = self.handle_action(action),
            _ if !self.guide.is_open() => {}
            Input::Key(key) if self.form.wants_text() => self.edit(|field| field.key(key)),
            Input::Key(key) => {
                self.was_run = false;
                self.guide.key(&mut self.form, &key);
            }
            Input::Paste(text) if self.form.wants_text() => self.edit(|field| field.paste(&text)),
            Input::Paste(text) => {
                self.was_run = false;
                self.guide.paste(&mut self.form, &text);
            }
            Input::Mouse(mouse) => self.mouse(mouse),
        }
        self.is_edited |= before.is_some_and(|before| !self.form.plan().is_same(&*before));
        self.request_data();
        // Saved now, so that a lost connection loses no answers.
        if self.form.step != step && !self.was_run && self.is_changed() {
            self.draft.save_later(&self.form, &*self.guide);
        }
        effects
    }

    fn tick(&mut self, effects: &mut Vec<Effect>) -> bool {
        let is_changed = self.guide.apply_results(&mut self.form);
        effects.extend(self.guide.take_notices().into_iter().map(Effect::Toast));
        if is_changed {
            self.request_data();
        }
        let is_path = |field: &Field| self.form.wants_text() && self.form.table.is_path(*field);
        let field = self.form.field().filter(is_path);
        let input = field.and_then(|field| self.form.inputs.get_mut(&field));
        self.paths.apply_result(input) || is_changed
    }

    fn is_busy(&self) -> bool {
        self.guide.is_busy()
    }

    fn wants_text(&self) -> bool {
        self.guide.is_open() && (self.form.wants_text() || self.guide.wants_text(&self.form))
    }

    fn status_right(&self) -> Option<String> {
        self.guide.status()
    }

    fn bar_right(&self) -> Option<String> {
        let flags = match self.form.is_review() {
            true => self.form.command(),
            false => self.form.plan().step_flags(self.form.step_id()),
        };
        Some(flags).filter(|flags| self.guide.is_open() && !flags.is_empty())
    }

    fn label(&self, action: Action) -> &'static str {
        let jump = find_step_index(action);
        match action {
            Action::Run => "run",
            Action::Advanced if self.form.advanced => "fewer settings",
            Action::Accept if self.form.rail.is_some() => "go to",
            action => match jump.and_then(|step| self.form.steps().get(step)) {
                Some(step) => step.title,
                None => self.guide.label(action).unwrap_or_else(|| action.label()),
            },
        }
    }

    fn help(&self, action: Action) -> &'static str {
        match action {
            Action::Run => "Starts the run with the answers given.",
            Action::Close if self.form.step == 0 => "Closes the form; answers are kept as a draft.",
            Action::StartAfresh => "Discards all answers and starts with those proposed by the data.",
            action => action.help(),
        }
    }

    fn disabled_reason(&self, action: Action) -> Option<String> {
        let form = &self.form;
        let kind = form.field().filter(|_| form.rail.is_none()).map(|field| form.kind(field));
        if kind == Some(FieldKind::FocusStop)
            && !matches!(action, Action::Next | Action::StartAfresh | Action::Advanced)
            && find_step_index(action).is_none()
        {
            return self.guide.disabled_reason(action, form);
        }
        let changes_row = matches!(form.field(), Some(Field::List(list)) if self.guide.changes_rows(list));
        let is_advanced = |id: &str| form.table.rows().iter().any(|row| row.step == id && row.info.is_advanced);
        match action {
            Action::Toggle if kind == Some(FieldKind::Choice) => Some("left and right choose here".into()),
            Action::Toggle if !matches!(kind, Some(FieldKind::Switch | FieldKind::List)) => {
                Some("nothing to choose here".into())
            }
            Action::Left | Action::Right if form.rail.is_none() && kind != Some(FieldKind::Choice) && !changes_row => {
                Some("nothing to step through here".into())
            }
            Action::Advanced if !is_advanced(form.step_id()) => Some("everything is shown here".into()),
            // Closing the question requests the preview again.
            Action::BeginAnew if !self.has_offered_resume && stopped_run(form, &*self.guide).is_none() => {
                Some("no run of another plan was stopped at the output".into())
            }
            Action::Next if form.is_review() => Some("this is the last step".into()),
            Action::StartAfresh if form.draft.is_none() && form.stopped.is_none() && !self.is_changed() => {
                Some("no answer was changed yet".into())
            }
            action => match find_step_index(action) {
                Some(step) if step >= form.steps().len() => Some("there is no such step".into()),
                Some(step) if form.skipped.contains_key(&step) => form.skipped.get(&step).map(|why| (*why).to_owned()),
                _ => self.guide.disabled_reason(action, form),
            },
        }
    }

    fn closing(&mut self) {
        self.keep_draft();
    }

    fn resumed(&mut self) {
        self.guide.resume(&mut self.form);
        self.request_data();
    }

    fn draw(&mut self, frame: &mut Frame, area: Rect, ui: &Ui) {
        view::draw(&mut self.form, &mut *self.guide, frame, area, ui);
    }
}
