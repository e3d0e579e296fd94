//! The screen of a guided form: carries out what keys and clicks ask for, and brings results back to the answers.

use super::draft::{self, Draft, FormPlan};
use super::state::{Answers, StepOf};
use super::view::{draw, Look};
use super::words::{Field, Kind, Setting, Step};
use crate::tui::keymap::{Action, Context};
use crate::tui::path_completer::PathCompleter;
use crate::tui::question::{DialogChoice, Question};
use crate::tui::screen::{Effect, Input, Screen, Ui, UiEnv};
use crate::tui::widgets::{Gesture, Level, Toast};
use gristmill_core::{Outcome, Problem};
use gristmill_ops::job::unfinished::begun;
use gristmill_storage::fs::RealFs;
use gristmill_storage::publish::write_file;
use gristmill_storage::run_folder::RunFolder;
use ratatui::crossterm::event::MouseEvent;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::Frame;
use std::path::{Path, PathBuf};

/// Where keys are pressed in the parts of a form.
#[derive(Clone, Copy, Debug)]
pub struct Contexts {
    /// A step.
    pub step: Context,
    /// A text field in a step.
    pub text: Context,
    /// The list of steps.
    pub rail: Context,
    /// The review.
    pub review: Context,
}

/// The plan of a guide.
pub type PlanOf<G> = <<G as Guide>::Answers as Answers>::Plan;

/// What one guided command has of its own: its workers, what its steps draw, and its run.
pub trait Guide: Sized + 'static {
    /// Its answers.
    type Answers: Answers<Plan: FormPlan>;
    /// Where keys are pressed.
    const CONTEXTS: Contexts;
    /// Columns of its parts.
    const LOOK: Look;

    /// Starts the workers for a plan that may be open, and has them begin.
    fn start(plan: &PlanOf<Self>, env: &UiEnv) -> Self;
    /// The answers of a plan that may be open.
    fn answers(plan: PlanOf<Self>) -> Self::Answers;
    /// Takes what is known of the data over from answers that are given up.
    fn take_over(&mut self, state: &mut Self::Answers, before: Self::Answers);

    /// Asks the workers whatever is not answered for the present state.
    fn ask(&mut self, state: &mut Self::Answers);
    /// Takes whatever the workers brought; returns whether there was anything.
    fn take(&mut self, state: &mut Self::Answers) -> bool;
    /// Whether a question is open.
    fn is_busy(&self) -> bool;
    /// What is being done in the background, in a few words.
    fn status(&self) -> Option<&'static str>;
    /// Forgets what a run would do: a run may have changed what is there.
    fn forget_outlook(&mut self, state: &mut Self::Answers);

    /// What the title line says after the command.
    fn title(state: &Self::Answers, env: &UiEnv) -> String;
    /// Draws a step with questions.
    fn draw_step(state: &mut Self::Answers, frame: &mut Frame, area: Rect, ui: &Ui);
    /// What a run would do, once it is known.
    fn outlook_lines(state: &Self::Answers, columns: usize, ui: &Ui) -> Vec<Line<'static>>;
    /// The screen of the run, which forgets the draft once it has succeeded. What the workers do for the form alone ends.
    fn hand_on(&mut self, state: &mut Self::Answers, env: &UiEnv, draft: &Path) -> Box<dyn Screen>;

    /// Does what an action means in this form alone; `None` where it means what it means in all.
    fn act(&mut self, action: Action, state: &mut Self::Answers, env: &UiEnv) -> Option<Vec<Effect>> {
        let _ = (action, state, env);
        None
    }
    /// Its own word for an action.
    fn label(action: Action) -> Option<&'static str> {
        let _ = action;
        None
    }
    /// Why an action of its own cannot be done now.
    fn why_disabled(&self, action: Action, state: &Self::Answers) -> Option<String> {
        let _ = (action, state);
        None
    }
}

/// The screen.
pub struct FormScreen<G: Guide> {
    env: UiEnv,
    guide: G,
    state: G::Answers,
    paths: PathCompleter,
    draft: PathBuf,
    /// The answers as they were given, before a draft took their place.
    given: PlanOf<G>,
    /// The answers were run as they are: what is to be kept of them is kept.
    was_run: bool,
    /// A stopped run was asked about, and nothing was done here since.
    asked_about_stopped: bool,
}

impl<G: Guide> FormScreen<G> {
    /// The form with answers that are given already. Without any, a draft for the same input goes on where it was left.
    pub fn new(plan: PlanOf<G>, env: UiEnv) -> Self {
        let place = draft::place(&env.state_dir, &plan);
        let found = if plan.has_answers() { None } else { draft::load::<PlanOf<G>, StepOf<G::Answers>>(&place) };
        let guide = G::start(&plan, &env);
        let mut state = G::answers(plan);
        let mut given = state.plan().clone();
        if let Some(Draft { mut plan, step, age }) = found {
            // What is said now counts more than what was said then.
            if !given.output_mut().is_empty() {
                given.output_mut().clone_into(plan.output_mut());
            }
            state = G::answers(plan);
            state.go(step);
            state.form_mut().draft = Some(age);
        }
        let paths = PathCompleter::start(&env);
        let mut screen =
            Self { env, guide, state, paths, draft: place, given, was_run: false, asked_about_stopped: false };
        screen.ask();
        screen
    }

    /// The review of a run that was stopped, from where it goes on.
    pub fn going_on(plan: PlanOf<G>, scratch: Option<PathBuf>, env: &UiEnv) -> Self {
        let mut env = env.clone();
        env.options.scratch = scratch.or(env.options.scratch);
        let mut screen = Self::new(plan, env);
        screen.state.keep_as_given();
        screen.state.form_mut().stopped = Some(screen.state.command());
        if let Some(review) = StepOf::<G::Answers>::ALL.last() {
            screen.state.go(*review);
        }
        screen.ask();
        screen
    }

    fn ask(&mut self) {
        self.guide.ask(&mut self.state);
    }

    fn go_on(&mut self) -> Vec<Effect> {
        let form = self.state.form();
        let (step, rail) = (form.step, form.rail);
        match (rail, self.state.blocker(step)) {
            (Some(step), _) => self.state.go(step),
            (None, Some(why)) => return warning(why),
            (None, None) => self.state.go(step.next()),
        }
        Vec::new()
    }

    fn run(&mut self) -> Vec<Effect> {
        if self.state.form().rail.is_some() {
            return self.go_on();
        }
        if let Some(stopped) = self.state.stopped_run() {
            let question = self.ask_about(stopped);
            self.asked_about_stopped = true;
            return vec![Effect::Push(Box::new(question))];
        }
        if let Some((step, why)) = self.state.first_blocker() {
            if step != self.state.form().step {
                self.state.go(step);
            }
            return warning(why);
        }
        if let Some(first) = self.state.refused().into_iter().next() {
            return warning(first.message);
        }
        self.hand_on(&self.env.clone())
    }

    fn hand_on(&mut self, env: &UiEnv) -> Vec<Effect> {
        // The draft goes when the run has succeeded: one that fails, or is stopped with the whole program, leaves the answers.
        self.write_draft();
        self.was_run = true;
        vec![Effect::Push(self.guide.hand_on(&mut self.state, env, &self.draft))]
    }

    /// What is to become of a run of another plan that was stopped at the output.
    fn ask_about(&self, stopped: &Problem) -> Question {
        let mut answers = Vec::new();
        let own = RunFolder::for_output(Path::new(stopped.subject.path.as_deref().unwrap_or_default()));
        if let Some(begun) = begun(&own) {
            if let Some(plan) = PlanOf::<G>::of_file(begun.plan) {
                let screen = Self::going_on(plan, begun.scratch, &self.env);
                answers.push(DialogChoice::new("Go on with it", vec![Effect::Replace(Box::new(screen))]));
            }
        }
        answers.push(DialogChoice::new("Begin anew", vec![Effect::Do(Action::BeginAnew)]));
        answers.push(DialogChoice::new("Leave it", Vec::new()));
        let lines = vec![stopped.to_string(), "Beginning anew throws away what it has done.".to_owned()];
        Question::new("A stopped run", lines, answers)
    }

    /// Runs these answers in place of a run that was stopped at the output.
    fn begin_anew(&mut self) -> Vec<Effect> {
        let mut env = self.env.clone();
        env.options.restart = true;
        self.hand_on(&env)
    }

    fn close(&mut self) -> Vec<Effect> {
        let form = self.state.form_mut();
        if form.rail.take().is_some() {
            return Vec::new();
        }
        match form.step.previous() {
            Some(step) => {
                self.state.go(step);
                Vec::new()
            }
            None => {
                self.keep_draft();
                vec![Effect::Pop]
            }
        }
    }

    /// Keeps the answers, unless nothing was answered or they were run.
    fn keep_draft(&mut self) {
        let form = self.state.form();
        let is_first = form.step.previous().is_none() && form.answered.is_empty();
        let is_untouched = *self.state.plan() == self.given || is_first;
        if self.was_run || is_untouched && form.draft.is_none() {
            return;
        }
        self.write_draft();
    }

    fn write_draft(&self) {
        if let Err(failure) = draft::save(&self.draft, self.state.plan(), self.state.form().step) {
            tracing::warn!(%failure, "the draft could not be kept");
        }
    }

    fn start_afresh(&mut self) {
        draft::forget(&self.draft);
        let before = std::mem::replace(&mut self.state, G::answers(self.given.bare()));
        self.guide.take_over(&mut self.state, before);
    }

    fn act(&mut self, action: Action) -> Vec<Effect> {
        self.was_run = false;
        self.asked_about_stopped = false;
        if let Some(effects) = self.guide.act(action, &mut self.state, &self.env) {
            return effects;
        }
        match action {
            Action::Next | Action::Accept => self.go_on(),
            Action::Run => self.run(),
            Action::BeginAnew => self.begin_anew(),
            Action::Close => self.close(),
            Action::SavePlan => vec![save_plan(self.state.plan(), &self.env)],
            Action::Copy => {
                let copied = Effect::Toast(Toast::new(Level::Ok, "copied"));
                vec![Effect::Copy(self.state.command()), copied]
            }
            Action::StartAfresh => {
                self.start_afresh();
                Vec::new()
            }
            Action::NextField if self.complete_path() => Vec::new(),
            action => {
                match StepOf::<G::Answers>::of_action(action) {
                    Some(step) => self.state.go(step),
                    None => self.state.act(action),
                }
                Vec::new()
            }
        }
    }

    /// Types into the field that has the keys, if one is to be typed into.
    fn edit(&mut self, edit: impl FnOnce(&mut crate::tui::widgets::TextField) -> bool) {
        if let Some(field) = self.state.field().filter(|_| self.state.wants_text()) {
            let input = self.state.form_mut().inputs.entry(field).or_default();
            if edit(input) {
                if field.is_path() {
                    self.paths.ask(Path::new(""), input);
                }
                self.was_run = false;
                self.state.typed(field);
            }
        }
    }

    /// Takes the completion of the path that is typed, where one is shown.
    fn complete_path(&mut self) -> bool {
        let mut is_complete = false;
        self.edit(|field| {
            is_complete = field.complete();
            is_complete
        });
        is_complete
    }

    fn mouse(&mut self, mouse: MouseEvent) {
        match self.state.form_mut().places.gesture(mouse) {
            Some(Gesture::Wheel { rows, on }) => self.state.wheel(on, rows),
            Some(Gesture::Click { on, line, .. } | Gesture::DoubleClick { on, line, .. }) => self.state.click(on, line),
            None => {}
        }
    }
}

fn warning(why: String) -> Vec<Effect> {
    vec![Effect::Toast(Toast::new(Level::Warn, why))]
}

/// Saves a plan into the current folder, under a name that is free.
fn save_plan<P: FormPlan>(plan: &P, env: &UiEnv) -> Effect {
    let name = |number: u32| match number {
        1 => env.save_dir.join(format!("{}-plan.yaml", P::COMMAND)),
        number => env.save_dir.join(format!("{}-plan-{number}.yaml", P::COMMAND)),
    };
    let path = (1..1_000).map(name).find(|path| !path.exists()).unwrap_or_else(|| name(1_000));
    match write_plan(plan, &path) {
        Ok(()) => Effect::Toast(Toast::new(Level::Ok, format!("saved as {}", env.short_path(&path)))),
        Err(failure) => Effect::failure(&failure),
    }
}

fn write_plan<P: FormPlan>(plan: &P, path: &Path) -> Outcome<()> {
    write_file(&RealFs, path, plan.to_yaml()?.as_bytes(), 0o644)
}

impl<G: Guide> Screen for FormScreen<G> {
    fn context(&self) -> Context {
        let form = self.state.form();
        match () {
            () if form.rail.is_some() => G::CONTEXTS.rail,
            () if form.step.is_review() => G::CONTEXTS.review,
            () if self.state.wants_text() => G::CONTEXTS.text,
            () => G::CONTEXTS.step,
        }
    }

    fn title(&self) -> Vec<String> {
        vec![PlanOf::<G>::COMMAND.to_owned(), G::title(&self.state, &self.env)]
    }

    fn handle(&mut self, input: Input) -> Vec<Effect> {
        let mut effects = Vec::new();
        match input {
            Input::Action(action) => effects = self.act(action),
            Input::Key(key) => self.edit(|field| field.key(key)),
            Input::Paste(words) => self.edit(|field| field.paste(&words)),
            Input::Mouse(mouse) => self.mouse(mouse),
        }
        self.ask();
        effects
    }

    fn tick(&mut self, _: &mut Vec<Effect>) -> bool {
        let changed = self.guide.take(&mut self.state);
        if changed {
            self.ask();
        }
        let completions = &mut self.paths;
        let field = self.state.field().filter(|field| self.state.wants_text() && field.is_path());
        let input = field.and_then(|field| self.state.form_mut().inputs.get_mut(&field));
        completions.take(input) || changed
    }

    fn is_busy(&self) -> bool {
        self.guide.is_busy()
    }

    fn wants_text(&self) -> bool {
        self.state.wants_text()
    }

    fn status_right(&self) -> Option<String> {
        self.guide.status().map(str::to_owned)
    }

    fn bar_right(&self) -> Option<String> {
        let command = self.state.command();
        let start = format!("gristmill {} ", PlanOf::<G>::COMMAND);
        Some(command.strip_prefix(&start).map(str::to_owned).unwrap_or(command))
    }

    fn label(&self, action: Action) -> &'static str {
        match action {
            Action::Run => "run",
            Action::Advanced if self.state.form().advanced => "fewer settings",
            Action::Accept if self.state.form().rail.is_some() => "go to",
            action => G::label(action).unwrap_or_else(|| action.label()),
        }
    }

    fn why_disabled(&self, action: Action) -> Option<String> {
        let form = self.state.form();
        let kind = self.state.field().filter(|_| form.rail.is_none()).map(Setting::kind);
        let mut fields = <G::Answers as Answers>::Field::ALL.iter();
        match action {
            Action::Toggle if kind == Some(Kind::Choice) => Some("left and right choose here".into()),
            Action::Toggle if !matches!(kind, Some(Kind::Switch | Kind::List)) => {
                Some("there is nothing to choose here".into())
            }
            Action::Left | Action::Right if form.rail.is_none() && kind != Some(Kind::Choice) => {
                Some("there is nothing to step through here".into())
            }
            Action::Advanced if !fields.any(|field| field.step() == form.step && field.is_advanced()) => {
                Some("everything is shown here".into())
            }
            // What is known of the output is found out again when the question has gone.
            Action::BeginAnew if !self.asked_about_stopped && self.state.stopped_run().is_none() => {
                Some("no run of another plan was stopped at the output".into())
            }
            Action::Next if form.step.is_review() => Some("this is the last step".into()),
            Action::StartAfresh if form.draft.is_none() => Some("there is no draft".into()),
            action => self.guide.why_disabled(action, &self.state),
        }
    }

    fn closing(&mut self) {
        self.keep_draft();
    }

    fn resumed(&mut self) {
        self.guide.forget_outlook(&mut self.state);
        self.ask();
    }

    fn draw(&mut self, frame: &mut Frame, area: Rect, ui: &Ui) {
        draw::<G>(&mut self.state, frame, area, ui);
    }
}
