//! The screen of one job: starts, follows, stops and retries it.

use super::view::{draw_frame, draw_page, RunTexts};
use super::{outputs, summary, RunRequest, RunState, Tab};
use crate::tui::jobs::{JobId, JobResult};
use crate::tui::keymap::{Action, Context};
use crate::tui::screen::{Effect, Input, Screen, Ui, UiEnv};
use crate::tui::screens::problems::ProblemEditor;
use crate::tui::screens::splits::SplitSession;
use crate::tui::screens::{browse, repeats, splits};
use crate::tui::widgets::mouse::{wheel, Gesture, MouseAreas};
use crate::tui::widgets::page::{command_lines, wrapped};
use crate::tui::widgets::{draw_panel, padded, Level, Toast};
use gristmill_core::{DatasetFacts, DedupPlan, Outcome};
use gristmill_ops::engine::plan::CommandLine;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::Frame;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Starts the job and adds it to the list of jobs.
pub(super) type StartJob = Box<dyn Fn(&UiEnv) -> Outcome<JobId>>;

/// A job to run, and the texts that describe it.
pub struct JobRequest {
    /// The title line: `["prepare", "corpus.jsonl"]`. May contain text from the data.
    pub crumbs: Vec<String>,
    /// The texts about the end of the job.
    pub words: RunTexts,
    /// The equivalent command.
    pub command: CommandLine,
    /// The next steps, shown below the summary; may contain text from the data.
    pub next: Vec<String>,
    /// Starts the job.
    pub start: StartJob,
    /// The number of screens to close when the job is done or continues in the background: this screen, and those that led to it.
    pub depth: usize,
    /// The output that can be browsed when the job is done.
    pub browse: Option<JobOutput>,
    /// The data set whose splits can be edited when the job is done.
    pub splits: Option<PathBuf>,
    /// The content of the first tab, if it differs from the general overview.
    pub overview: Option<Box<dyn Overview>>,
    /// The draft of the answers, deleted once the job has succeeded.
    pub draft: Option<PathBuf>,
}

/// The content of the first tab of a job that shows more than its files and its report.
pub trait Overview {
    /// Draws the tab. `facts` are the facts about the data set of the job known so far.
    fn draw(&self, run: &mut RunState, facts: Option<Arc<DatasetFacts>>, frame: &mut Frame, area: Rect, ui: &Ui);
    /// Returns the text to copy instead of the command.
    fn copied_text(&self) -> String;
    /// Returns whether the output of a successful job is usable as it is.
    fn is_ready(&self, result: &JobResult) -> bool;
}

/// Output of a job that can be viewed.
#[derive(Clone, Debug)]
pub enum JobOutput {
    /// Samples.
    Samples(PathBuf),
    /// The repeats in the documents that were deduplicated; the documents themselves did not change.
    Repeats(Box<DedupPlan>),
}

impl JobOutput {
    fn open(&self, session: Option<SplitSession>, env: &UiEnv) -> Box<dyn Screen> {
        match self {
            Self::Samples(path) => browse::open_shared(path.clone(), browse::BrowseStart::First, session, env),
            Self::Repeats(plan) => repeats::open_run(Path::new(&plan.visible_output()), env).unwrap_or_else(|| {
                repeats::open(repeats::RepeatsTarget::Folder(PathBuf::from(&plan.input)), plan, env.clone())
            }),
        }
    }
}

/// Returns the notice for a key press that was meant to stop a run that had just ended.
fn too_late() -> Effect {
    Effect::Toast(Toast::new(Level::Info, "the run has ended; the key press had no effect"))
}

/// The screen of one job.
pub struct RunScreen {
    env: UiEnv,
    order: JobRequest,
    job: Option<JobId>,
    run: RunState,
    /// Runs the actions of the list of problems; `None` until the list is shown after the end of the run.
    problem_editor: Option<ProblemEditor>,
    mouse_areas: MouseAreas<()>,
}

impl RunScreen {
    /// Creates a screen whose job starts when the screen is first shown.
    pub fn new(order: JobRequest, env: UiEnv) -> Self {
        let run = RunState::default();
        Self { env, order, job: None, run, problem_editor: None, mouse_areas: MouseAreas::default() }
    }

    /// Creates the screen of a job in a given state, for tests.
    #[cfg(test)]
    pub fn with_state(order: JobRequest, env: UiEnv, run: RunState) -> Self {
        Self { run, job: Some(JobId(0)), ..Self::new(order, env) }
    }

    /// Updates the status of a running job, for tests.
    #[cfg(test)]
    pub fn observe_status(&mut self, status: gristmill_ops::job::JobStatus) {
        self.run.update(status, None);
    }

    fn begin(&mut self) -> Outcome<()> {
        let id = (self.order.start)(&self.env)?;
        // A retry resumes this run.
        self.env.options.restart = false;
        if let Some(draft) = &self.order.draft {
            self.env.jobs.delete_draft_when_done(id, draft.clone());
        }
        self.job = Some(id);
        self.run.begin();
        self.problem_editor = None;
        self.update();
        Ok(())
    }

    /// Starts the job when the screen is first shown. Returns whether it was started, or failed to start.
    fn begin_once(&mut self, effects: &mut Vec<Effect>) -> bool {
        if self.job.is_some() {
            return false;
        }
        if let Err(failure) = self.begin() {
            effects.extend([Effect::Pop, Effect::failure(&failure)]);
        }
        true
    }

    fn update(&mut self) {
        let Some(id) = self.job else { return };
        if let Some(view) = self.env.jobs.view(id) {
            self.run.update(view.status, self.env.jobs.result(id));
        }
    }

    /// Starts looking up the targets of the problems.
    fn find_problem_targets(&mut self) {
        if self.problem_editor.is_none() && self.run.has_cursor() {
            let view = self.job.and_then(|id| self.env.jobs.view(id));
            self.problem_editor = view.map(|view| ProblemEditor::new(view.root, &mut self.run.problems, &self.env));
        }
    }

    /// Applies the results of looking up the problems.
    fn follow_problems(&mut self, effects: &mut Vec<Effect>) -> bool {
        self.find_problem_targets();
        self.problem_editor
            .as_mut()
            .is_some_and(|problem_editor| problem_editor.update(&mut self.run.problems, effects))
    }

    /// Opens the output of the job, with the split session of the list of problems if that is for the same data set.
    fn open_output(&self) -> Option<Effect> {
        let made = self.order.browse.as_ref()?;
        let session = match made {
            JobOutput::Samples(path) => self.session_of(path),
            JobOutput::Repeats(_) => None,
        };
        Some(Effect::Push(made.open(session, &self.env)))
    }

    /// Opens the splits of the output.
    fn open_splits(&self) -> Option<Effect> {
        let path = self.order.splits.as_ref()?;
        let screen = match self.session_of(path) {
            Some(session) => splits::open_shared(session),
            None => splits::open(path.clone(), self.env.clone()),
        };
        Some(Effect::Push(screen))
    }

    /// Returns the split session of the list of problems, if it is for this data set.
    fn session_of(&self, dataset: &Path) -> Option<SplitSession> {
        self.problem_editor.as_ref().and_then(|problem_editor| problem_editor.session_of(dataset))
    }

    /// Closes this screen and those that led to it.
    fn close_screens(&self) -> Vec<Effect> {
        (0..self.order.depth.max(1)).map(|_| Effect::Pop).collect()
    }

    fn background(&self) -> Vec<Effect> {
        let key = self.env.key(Context::Global, Action::Jobs);
        let words = format!("the run continues in the background; {key} shows it");
        let mut effects = self.close_screens();
        effects.push(Effect::Toast(Toast::new(Level::Info, words)));
        effects
    }

    fn handle_action(&mut self, action: Action) -> Vec<Effect> {
        if action == Action::Close && !self.run.confirms_cancel {
            return match () {
                () if self.run.is_running() => self.background(),
                () if self.run.is_done() => self.close_screens(),
                // After a failure, Esc returns to the answers.
                () => vec![Effect::Pop],
            };
        }
        match self.run.handle_action(action) {
            Some(RunRequest::Cancel) => {
                if let Some(id) = self.job {
                    self.env.jobs.cancel(id);
                }
                Vec::new()
            }
            Some(RunRequest::Background) => self.background(),
            Some(RunRequest::Leave) => self.close_screens(),
            Some(RunRequest::Retry) => match self.begin() {
                Ok(()) => Vec::new(),
                Err(failure) => vec![Effect::failure(&failure)],
            },
            Some(RunRequest::Browse) => self.open_output().into_iter().collect(),
            Some(RunRequest::Problems(action)) => match &mut self.problem_editor {
                Some(problem_editor) => problem_editor.handle_action(action, &mut self.run.problems),
                None => Vec::new(),
            },
            Some(RunRequest::TooLate) => vec![too_late()],
            Some(RunRequest::Splits) => self.open_splits().into_iter().collect(),
            Some(RunRequest::Copy) => {
                let copied = Effect::Toast(Toast::new(Level::Ok, "copied"));
                let overview = self.order.overview.as_ref();
                let text = overview.map_or_else(|| self.order.command.text(), |overview| overview.copied_text());
                vec![Effect::Copy(text), copied]
            }
            None => Vec::new(),
        }
    }

    fn overview(&self, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
        let mut lines = match &self.run.result {
            Some(result) => summary::lines(result, columns, ui),
            None => self.run.status.as_ref().map(|status| outputs::lines(status, columns, ui)).unwrap_or_default(),
        };
        if matches!(&self.run.result, Some(result) if result.is_ok()) {
            if !self.order.next.is_empty() {
                lines.push(Line::default());
            }
            for words in &self.order.next {
                lines.extend(wrapped(words, columns, ui.theme.text));
            }
        }
        if !lines.is_empty() {
            lines.push(Line::default());
        }
        lines.extend(command_lines(&self.order.command, &ui.key(Context::Run, Action::Copy), columns, ui));
        lines
    }
}

impl Screen for RunScreen {
    fn context(&self) -> Context {
        self.run.context()
    }

    fn title(&self) -> Vec<String> {
        self.order.crumbs.clone()
    }

    fn handle(&mut self, input: Input) -> Vec<Effect> {
        // Keys can arrive before the first tick: a key that stops the job must have an effect.
        let mut effects = Vec::new();
        if self.begin_once(&mut effects) && !effects.is_empty() {
            return effects;
        }
        match input {
            Input::Action(action) => {
                let effects = self.handle_action(action);
                self.find_problem_targets();
                effects
            }
            Input::Mouse(mouse) => {
                match self.mouse_areas.gesture(mouse) {
                    Some(Gesture::Click { line, .. }) => {
                        if let Some(row) = self.run.problems.list.row_at(line) {
                            self.run.problems.list.select(row);
                        }
                        return Vec::new();
                    }
                    Some(Gesture::DoubleClick { .. }) if self.run.has_cursor() => {
                        return vec![Effect::Do(Action::OpenProblem)];
                    }
                    _ => {}
                }
                let rows = wheel(mouse).unwrap_or(0);
                for _ in 0..rows.unsigned_abs() {
                    self.run.handle_action(if rows < 0 { Action::Up } else { Action::Down });
                }
                Vec::new()
            }
            // Any key except the stop key closes the question.
            Input::Key(_) => {
                self.run.confirms_cancel = false;
                Vec::new()
            }
            Input::Paste(_) => Vec::new(),
        }
    }

    fn tick(&mut self, effects: &mut Vec<Effect>) -> bool {
        if self.begin_once(effects) {
            return true;
        }
        let was_running = self.run.is_running();
        self.update();
        self.follow_problems(effects) || was_running
    }

    fn shows_job(&self, id: JobId) -> bool {
        self.job == Some(id)
    }

    fn is_busy(&self) -> bool {
        self.job.is_none() || self.run.is_running() || self.problem_editor.as_ref().is_some_and(ProblemEditor::is_busy)
    }

    fn status_right(&self) -> Option<String> {
        self.run.problems.status()
    }

    fn unwritten(&self) -> Option<String> {
        self.problem_editor.as_ref().and_then(ProblemEditor::unwritten)
    }

    fn closing(&mut self) {
        if let Some(problem_editor) = &self.problem_editor {
            problem_editor.closing();
        }
    }

    fn label(&self, action: Action) -> &'static str {
        match action {
            Action::ShowLog => self.run.log_label(),
            Action::Browse if matches!(self.order.browse, Some(JobOutput::Repeats(_))) => "what repeated",
            action => action.label(),
        }
    }

    fn disabled_reason(&self, action: Action) -> Option<String> {
        match action {
            Action::CancelJob if self.job.is_none() => None,
            Action::Browse if self.order.browse.is_none() => Some("there are no samples to look at".into()),
            Action::Splits if self.order.splits.is_none() => Some("only a prepared WebDataset has splits".into()),
            action => self.run.why_disabled(action),
        }
    }

    fn interrupt(&mut self) -> bool {
        match self.job.filter(|_| self.run.is_running()) {
            Some(id) => {
                self.run.is_stopping = true;
                self.env.jobs.cancel(id)
            }
            None => false,
        }
    }

    fn draw(&mut self, frame: &mut Frame, area: Rect, ui: &Ui) {
        let inner = draw_panel(frame, area, "Run", true, ui);
        self.mouse_areas.clear();
        let inner = padded(inner);
        let mut words = self.order.words.clone();
        if let (Some(overview), Some(result)) = (&self.order.overview, &self.run.result) {
            if result.is_ok() && !overview.is_ready(result) {
                words.ready.clone_from(&words.done);
            }
        }
        let Some(place) = draw_frame(&mut self.run, frame, inner, &words, true, ui) else {
            if self.run.tab == Tab::Problems {
                self.mouse_areas.add(self.run.problems.area, ());
            }
            return;
        };
        if let Some(overview) = &self.order.overview {
            let facts = self.job.and_then(|id| self.env.jobs.facts(id));
            return overview.draw(&mut self.run, facts, frame, place, ui);
        }
        let lines = self.overview(usize::from(place.width), ui);
        draw_page(&mut self.run, frame, place, lines, ui);
    }
}
