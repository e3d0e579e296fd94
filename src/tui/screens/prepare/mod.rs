//! The guided prepare: a screen over one plan, its steps, and the workers that answer their questions.
//!
//! The state is pure ([`state::Wizard`]); this file carries out what it asks for and brings results back. Nothing slow
//! happens here: opening and scanning, checking a plan, reading samples and writing files have a worker each.

mod derive;
mod draft;
pub(super) mod draw;
mod field_map;
#[cfg(test)]
mod fixture;
mod interrupted;
mod media;
mod opening;
mod recorded;
mod review;
mod run;
mod sample_type;
#[cfg(test)]
mod screens_tests;
mod source;
mod splits;
mod spots;
mod state;
mod step;
mod workers;

use self::draft::Draft;
use self::interrupted::Interrupted;
use self::opening::{failure_lines, has_answers};
use self::spots::Spots;
use self::state::Wizard;
use self::step::{Ask, Step};
use self::workers::{Opened, Workers};
use crate::job::scan::LiveScan;
use crate::model::text::{bytes, duration};
use crate::model::{DatasetFacts, DatasetKind, Failure, Loading, MediaPlan, PreparePlan, ShardState};
use crate::preview::cells::Depth;
use crate::tui::graphics::graphics_of;
use crate::tui::jobs::JobId;
use crate::tui::keymap::{Action, Context};
use crate::tui::screen::{Effect, Input, Screen, Ui, UiEnv};
use crate::tui::theme::ColourMode;
use crate::tui::widgets::layout::{below, draw_lines};
use crate::tui::widgets::preview::Pixels;
use crate::tui::widgets::{Level, Toast};
use ratatui::crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::{Position, Rect};
use ratatui::text::Line;
use ratatui::Frame;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Between two checks of a plan against growing facts.
const DERIVE_EVERY: Duration = Duration::from_millis(300);

/// The screen.
pub struct PrepareScreen {
    path: PathBuf,
    env: UiEnv,
    wizard: Wizard,
    workers: Workers,
    scan: Option<LiveScan>,
    job: Option<JobId>,
    /// Answers that were given before the screen was opened.
    given: Option<PreparePlan>,
    /// A draft that was found, until it can be taken over.
    found: Option<Draft>,
    /// The interrupted run that is to be continued: wanted, and what is known of it.
    resumes: bool,
    interrupted: Option<Interrupted>,
    /// Something to say at the next opportunity.
    notice: Option<Toast>,
    /// The newest facts as they came.
    seen: Option<Arc<DatasetFacts>>,
    failure: Option<Failure>,
    is_open: bool,
    depth: Depth,
    rail: Rect,
    spots: Spots,
    derived_at: Option<Instant>,
    derived_for: Option<(PreparePlan, Arc<DatasetFacts>)>,
    evaluated_for: Option<(Loading, Arc<DatasetFacts>)>,
    previewed_for: Option<(PreparePlan, Arc<DatasetFacts>)>,
    looked_for: Option<(MediaPlan, Arc<DatasetFacts>)>,
    looked_at: Option<Instant>,
    draft: PathBuf,
    was_published: bool,
}

impl PrepareScreen {
    /// Opens the guided prepare on a data set; it is looked at in the background.
    pub fn new(path: PathBuf, env: UiEnv) -> Self {
        Self::build(path, None, env)
    }

    /// Opens the guided prepare with answers that are given already.
    pub fn with_plan(path: PathBuf, plan: PreparePlan, env: UiEnv) -> Self {
        Self::build(path, Some(plan), env)
    }

    /// Opens the guided prepare on a data set whose preparation was interrupted, with the answers of that run.
    pub fn resuming(path: PathBuf, env: UiEnv) -> Self {
        Self { resumes: true, ..Self::build(path, None, env) }
    }

    fn build(path: PathBuf, given: Option<PreparePlan>, env: UiEnv) -> Self {
        let facts = Arc::new(DatasetFacts::new(path.clone(), DatasetKind::RawWebDataset));
        let draft = draft::place(&env.state_dir, &path);
        let (graphics, cell) = graphics_of(&env);
        let mut workers = Workers::start(&env, graphics, cell);
        workers.open(path.clone(), draft.clone());
        let variable = |name: &str| env.variable(name);
        let colours = env.colour != ColourMode::None;
        let depth = Depth::detect(colours, env.ascii, variable("TERM").as_deref(), variable("COLORTERM").as_deref());
        let mut wizard = Wizard::new(&path.to_string_lossy(), facts);
        wizard.field_map.pixels = Pixels::new(graphics, cell);
        wizard.review.keymap = Arc::clone(&env.keymap);
        Self {
            wizard,
            workers,
            scan: None,
            job: None,
            given,
            found: None,
            resumes: false,
            interrupted: None,
            notice: None,
            seen: None,
            failure: None,
            is_open: false,
            depth,
            rail: Rect::default(),
            spots: Spots::default(),
            derived_at: None,
            derived_for: None,
            evaluated_for: None,
            previewed_for: None,
            looked_for: None,
            looked_at: None,
            draft,
            was_published: false,
            path,
            env,
        }
    }

    /// Takes the scan that was started; what it finds follows.
    fn opened(&mut self, opened: Opened) {
        self.scan = Some(opened.scan);
        self.failure = None;
        // Opened again after a run, the answers are there already.
        if !self.is_open {
            self.found = opened.draft;
            self.interrupted = opened.interrupted;
        }
    }

    /// Takes the first facts with the shards in them: only now answers that name shards can be taken over.
    fn begin(&mut self, facts: Arc<DatasetFacts>) {
        self.is_open = true;
        let earlier = facts.prepared.as_ref().and_then(|p| p.plan.as_deref().cloned());
        self.wizard.see(facts);
        if let Some(earlier) = earlier {
            self.wizard.remember_earlier(earlier);
        }
        if std::mem::take(&mut self.resumes) {
            if let Some(interrupted) = self.interrupted.take() {
                return self.wizard.continue_run(interrupted);
            }
            let words = "the answers of the interrupted run are not known: give them again; what fits is taken over";
            self.notice = Some(Toast::new(Level::Warn, words));
        }
        match (self.given.take(), self.found.take()) {
            (Some(given), _) if has_answers(&given) => self.wizard.adopt(&given),
            (_, Some(draft)) => {
                self.wizard.take_draft(&draft.plan, draft.step, draft.age);
                self.wizard.take_alternatives(&draft.splits);
            }
            _ => {}
        }
    }

    /// Asks the workers whatever is not answered for the present state.
    fn ask_workers(&mut self) {
        if !self.is_open {
            return;
        }
        let now = (self.wizard.answers.plan.clone(), Arc::clone(&self.wizard.answers.facts));
        self.ask_derive(&now);
        self.ask_evaluate(&now);
        self.ask_preview(&now);
        self.ask_media(&now);
    }

    fn ask_derive(&mut self, now: &(PreparePlan, Arc<DatasetFacts>)) {
        let (same_plan, same_facts) = match &self.derived_for {
            Some((plan, facts)) => (*plan == now.0, Arc::ptr_eq(facts, &now.1)),
            None => (false, false),
        };
        let is_soon = self.derived_at.is_some_and(|at| at.elapsed() < DERIVE_EVERY);
        if same_plan && (same_facts || is_soon && !now.1.scan_complete) {
            return;
        }
        self.derived_at = Some(Instant::now());
        self.derived_for = Some(now.clone());
        self.workers.derive(now.0.clone(), Arc::clone(&now.1));
    }

    fn ask_evaluate(&mut self, now: &(PreparePlan, Arc<DatasetFacts>)) {
        let Loading::FieldMap { sample_type, fields } = &now.0.loading else { return };
        if now.1.sketches.is_empty() || self.wizard.step < Step::SampleType {
            return;
        }
        let same = self.evaluated_for.as_ref().is_some_and(|(loading, facts)| {
            *loading == now.0.loading
                && facts.sketches.len() == now.1.sketches.len()
                && facts.scan_complete == now.1.scan_complete
        });
        if !same {
            self.evaluated_for = Some((now.0.loading.clone(), Arc::clone(&now.1)));
            self.workers.evaluate(sample_type.clone(), fields.clone(), Arc::clone(&now.1));
        }
    }

    /// Asks what the answers about media would record: while they are on the screen, and not more often than plans are checked.
    fn ask_media(&mut self, now: &(PreparePlan, Arc<DatasetFacts>)) {
        let Some(media) = now.0.media.as_ref().filter(|_| self.wizard.step == Step::Media) else { return };
        let (same_filter, same_facts) = match &self.looked_for {
            Some((plan, facts)) => (plan.filter == media.filter, Arc::ptr_eq(facts, &now.1)),
            None => (false, false),
        };
        let is_soon = self.looked_at.is_some_and(|at| at.elapsed() < DERIVE_EVERY);
        // Growing facts do not take a question back that is being answered: it would never be.
        let waits = self.workers.is_looking() || is_soon && !now.1.scan_complete;
        if same_filter && (same_facts || waits) {
            return;
        }
        self.looked_at = Some(Instant::now());
        self.looked_for = Some((media.clone(), Arc::clone(&now.1)));
        self.workers.look(media.clone(), Arc::clone(&now.1));
    }

    fn ask_preview(&mut self, now: &(PreparePlan, Arc<DatasetFacts>)) {
        if self.wizard.step != Step::Review {
            return;
        }
        let same = self.previewed_for.as_ref().is_some_and(|(plan, facts)| {
            *plan == now.0 && (Arc::ptr_eq(facts, &now.1) || self.workers.is_previewing())
        });
        if !same || self.wizard.review.preview.is_none() && !self.workers.is_previewing() {
            self.previewed_for = Some(now.clone());
            self.workers.preview(now.0.clone(), Arc::clone(&now.1));
        }
    }

    /// Takes whatever the workers brought. Returns whether anything changed.
    fn take_answers(&mut self, effects: &mut Vec<Effect>) -> bool {
        let mut changed = false;
        if let Some(outcome) = self.workers.take_opened() {
            changed = true;
            match outcome {
                Ok(opened) => self.opened(opened),
                Err(failure) => self.failure = Some(failure),
            }
        }
        if let Some(derived) = self.workers.take_derived() {
            self.wizard.learn(derived);
            changed = true;
        }
        if let Some(results) = self.workers.take_results() {
            self.wizard.field_map.results = results;
            changed = true;
        }
        if let Some(preview) = self.workers.take_preview() {
            self.wizard.review.preview = Some(preview);
            changed = true;
        }
        if let Some(seen) = self.workers.take_seen() {
            self.wizard.media.seen = Some(seen);
            changed = true;
        }
        if let Some(encoded) = self.workers.take_encoded() {
            self.wizard.field_map.pixels.put(encoded);
            changed = true;
        }
        if let Some((level, words)) = self.workers.take_saved() {
            effects.push(Effect::Toast(Toast::new(level, words)));
            changed = true;
        }
        changed
    }

    fn follow_scan(&mut self, effects: &mut Vec<Effect>) -> bool {
        let Some(scan) = &self.scan else {
            self.wizard.is_scanning = false;
            return false;
        };
        let facts = scan.facts();
        let failure = scan.failure().filter(|f| !f.is_cancelled());
        self.wizard.is_scanning = !scan.is_finished();
        self.wizard.review.time = scan.rate().1.map(duration);
        if let Some(failure) = failure.filter(|f| self.failure.as_ref() != Some(f)) {
            if self.is_open {
                effects.push(Effect::failure(&failure));
            }
            self.failure = Some(failure);
            return true;
        }
        let is_news = !self.seen.as_ref().is_some_and(|seen| Arc::ptr_eq(seen, &facts));
        if !facts.opened || !is_news {
            return false;
        }
        // A scan that was started again knows less than is on the screen until its shards are found.
        if facts.shards.len() < self.wizard.answers.facts.shards.len() && self.wizard.is_scanning {
            return false;
        }
        self.see(facts);
        true
    }

    fn see(&mut self, facts: Arc<DatasetFacts>) {
        self.seen = Some(Arc::clone(&facts));
        let facts = recorded::with_recorded_counts(facts);
        if self.is_open {
            self.wizard.see(facts);
        } else {
            self.begin(facts);
        }
    }

    fn follow_job(&mut self) -> bool {
        let Some(id) = self.job else { return false };
        if let Some(facts) = self.env.jobs.facts(id) {
            let is_news = !self.seen.as_ref().is_some_and(|seen| Arc::ptr_eq(seen, &facts));
            if is_news && facts.opened {
                self.see(facts);
            }
        }
        let was_running = self.wizard.run.is_running();
        if let Some(view) = self.env.jobs.view(id) {
            self.wizard.run.observe(view.status, self.env.jobs.result(id));
        }
        if was_running && !self.wizard.run.is_running() {
            self.run_ended();
        }
        was_running
    }

    /// After a run that published, the draft has done its service.
    fn run_ended(&mut self) {
        self.wizard.learn_from_run();
        let run = &self.wizard.run;
        if run.is_done() {
            self.was_published = true;
            self.workers.forget_draft(self.draft.clone());
        }
    }

    /// A run took the scan with it; questions that are asked again need a new one, unless everything was read.
    fn reopen_if_needed(&mut self) {
        let all_read = self.wizard.answers.facts.scan_complete;
        let needs_scan = self.wizard.step != Step::Run && self.job.is_some() && self.scan.is_none() && !all_read;
        if needs_scan && !self.wizard.run.is_running() {
            self.job = None;
            self.workers.open(self.path.clone(), self.draft.clone());
        }
    }

    fn start(&mut self) -> Vec<Effect> {
        let options = self.env.options.clone();
        let plan = self.wizard.answers.plan.clone();
        self.save_draft_now();
        match self.env.jobs.start_prepare(plan, options, self.scan.take()) {
            Ok(id) => {
                self.job = Some(id);
                self.wizard.show_run();
                Vec::new()
            }
            Err(failure) => {
                self.workers.open(self.path.clone(), self.draft.clone());
                vec![Effect::failure(&failure)]
            }
        }
    }

    fn carry_out(&mut self, asks: Vec<Ask>) -> Vec<Effect> {
        let mut effects = Vec::new();
        for ask in asks {
            match ask {
                Ask::Start => effects.extend(self.start()),
                Ask::Cancel => {
                    if let Some(id) = self.job {
                        self.env.jobs.cancel(id);
                    }
                }
                Ask::SavePlan(file) => self.workers.save_plan(file, self.wizard.answers.plan.clone()),
                Ask::Copy(words) => {
                    effects.push(Effect::Copy(words));
                    effects.push(Effect::Toast(Toast::new(Level::Ok, "copied")));
                }
                Ask::Browse => {
                    let screen = crate::tui::screens::browse::open(self.path.clone(), self.env.clone());
                    effects.push(Effect::Push(screen));
                }
                Ask::Splits => {
                    let screen = crate::tui::screens::splits::open(self.path.clone(), self.env.clone());
                    effects.push(Effect::Push(screen));
                }
                Ask::Facts => {
                    let facts = crate::tui::screens::facts::of_scan(&self.wizard.answers.facts);
                    effects.push(Effect::Push(facts));
                }
                Ask::ForgetDraft => self.workers.forget_draft(self.draft.clone()),
                Ask::Background => {
                    let key = self.env.key(Context::Global, Action::Jobs);
                    let words = format!("the run goes on in the background; {key} shows it");
                    effects.extend([Effect::Pop, Effect::Toast(Toast::new(Level::Info, words))]);
                }
                Ask::Leave => {
                    if self.has_draft() {
                        effects.push(Effect::Toast(Toast::new(Level::Info, "your answers are kept as a draft")));
                    }
                    effects.insert(0, Effect::Pop);
                }
                Ask::Say(level, words) => effects.push(Effect::Toast(Toast::new(level, words))),
            }
        }
        effects
    }

    fn has_draft(&self) -> bool {
        self.wizard.is_dirty && !self.was_published
    }

    /// Writes the draft at once: called when there is no later.
    fn save_draft_now(&mut self) {
        if !self.has_draft() {
            return;
        }
        let splits = self.wizard.splits.alternatives();
        match draft::save(&self.draft, &self.wizard.answers.plan, self.wizard.step, &splits) {
            Ok(()) => self.wizard.is_dirty = false,
            Err(failure) => tracing::warn!(%failure, "the draft could not be kept"),
        }
    }

    fn mouse(&mut self, mouse: MouseEvent) -> Vec<Ask> {
        let place = Position { x: mouse.column, y: mouse.row };
        match mouse.kind {
            MouseEventKind::Down(MouseButton::Left) if self.rail.contains(place) => {
                let line = mouse.row.saturating_sub(self.rail.y + 1);
                let step = Step::ALL.get(usize::from(line)).filter(|_| mouse.row > self.rail.y).copied();
                self.wizard.rail = step.or(self.wizard.rail);
                step.map(|_| self.wizard.act(Action::Accept)).unwrap_or_default()
            }
            _ => {
                if let Some(gesture) = self.spots.gesture(mouse) {
                    self.wizard.point(gesture);
                }
                Vec::new()
            }
        }
    }
}

impl Screen for PrepareScreen {
    fn context(&self) -> Context {
        if self.is_open {
            self.wizard.context()
        } else {
            Context::Page
        }
    }

    fn title(&self) -> Vec<String> {
        let name = self.path.file_name().map_or_else(|| self.path.to_string_lossy(), |n| n.to_string_lossy());
        vec!["prepare".to_owned(), name.into_owned()]
    }

    fn draw(&mut self, frame: &mut Frame, area: Rect, ui: &Ui) {
        if self.is_open {
            let look = draw::Look { ui, focused: true, is_scanning: false, depth: self.depth, spots: &self.spots };
            self.rail = draw::draw(&mut self.wizard, frame, area, &look);
            // Only drawing knows which pictures are wanted in which size.
            if !self.workers.is_encoding() {
                let wanted = self.wizard.field_map.pixels.take_wanted();
                if !wanted.is_empty() {
                    self.workers.encode(wanted);
                }
            }
            return;
        }
        let lines = match &self.failure {
            None => vec![Line::from(format!(" {} opening", ui.spinner()))],
            Some(failure) => failure_lines(failure, usize::from(area.width).saturating_sub(2), ui),
        };
        draw_lines(frame.buffer_mut(), below(area, 1), lines);
    }

    fn handle(&mut self, input: Input) -> Vec<Effect> {
        if !self.is_open {
            return match input {
                Input::Action(Action::Close) => vec![Effect::Pop],
                _ => Vec::new(),
            };
        }
        let before = self.wizard.step;
        let asks = match input {
            Input::Action(action) => self.wizard.act(action),
            Input::Key(key) => {
                if let Some(action) = self.wizard.command_of(&key, &self.env.keymap) {
                    return vec![Effect::Do(action)];
                }
                self.wizard.key(key);
                Vec::new()
            }
            Input::Paste(words) => {
                self.wizard.paste(&words);
                Vec::new()
            }
            Input::Mouse(mouse) => self.mouse(mouse),
        };
        let effects = self.carry_out(asks);
        if self.wizard.step != before && self.has_draft() {
            let plan = self.wizard.answers.plan.clone();
            let splits = self.wizard.splits.alternatives();
            self.workers.save_draft(self.draft.clone(), plan, self.wizard.step, splits);
        }
        self.reopen_if_needed();
        self.ask_workers();
        effects
    }

    fn tick(&mut self, effects: &mut Vec<Effect>) -> bool {
        let mut changed = self.take_answers(effects);
        changed |= self.follow_scan(effects);
        effects.extend(self.notice.take().map(Effect::Toast));
        changed |= self.follow_job();
        self.ask_workers();
        changed
    }

    fn is_busy(&self) -> bool {
        !self.is_open && self.failure.is_none()
            || self.wizard.is_scanning
            || self.wizard.run.is_running()
            || self.workers.is_waiting()
    }

    fn wants_text(&self) -> bool {
        self.is_open && matches!(self.wizard.context(), Context::PrepareText | Context::PrepareExpression)
    }

    fn status_right(&self) -> Option<String> {
        let facts = &self.wizard.answers.facts;
        if !self.is_open || self.wizard.step == Step::Run {
            return None;
        }
        let scan = self.scan.as_ref().filter(|_| self.wizard.is_scanning);
        let Some(scan) = scan else {
            let damaged = facts.shards.iter().filter(|s| s.state == ShardState::Failed).count();
            let samples = facts.shards.iter().map(|s| s.samples).sum();
            let words = crate::model::text::count(samples, "sample");
            return Some(if damaged == 0 { words } else { format!("{words}  {damaged} unreadable") });
        };
        let reading = scan.progress();
        let (rate, left) = scan.rate();
        let total = if reading.items_total > 0 { reading.items_total } else { facts.shards.len() as u64 };
        let mut words = format!("scanning {}/{total} shards", reading.items_done);
        if rate >= 1.0 {
            words.push_str(&format!("  {}/s", bytes(rate as u64)));
        }
        if let Some(left) = left {
            words.push_str(&format!("  {} left", duration(left)));
        }
        Some(words)
    }

    fn bar_right(&self) -> Option<String> {
        Some(self.wizard.flags()).filter(|f| self.is_open && !f.is_empty())
    }

    fn why_disabled(&self, action: Action) -> Option<String> {
        self.wizard.why_disabled(action)
    }

    fn interrupt(&mut self) -> bool {
        match self.job.filter(|_| self.wizard.run.is_running()) {
            Some(id) => {
                self.wizard.run.is_stopping = true;
                self.env.jobs.cancel(id)
            }
            None => false,
        }
    }

    fn resumed(&mut self) {
        self.ask_workers();
    }

    fn closing(&mut self) {
        self.save_draft_now();
    }
}
