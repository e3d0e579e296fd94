//! The guided prepare: a screen over one plan, its steps, and the workers that answer their questions.
//!
//! The state is pure ([`state::Wizard`]); the screen carries out what it asks for and brings results back. Nothing slow
//! happens here: opening and scanning, checking a plan, reading samples and writing files have a worker each.

mod carry;
mod derive;
mod draft;
pub(super) mod draw;
mod field_map;
#[cfg(test)]
mod fixture;
mod follow;
mod interrupted;
mod media;
mod opening;
mod questions;
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
use self::opening::failure_lines;
use self::spots::ClickTargets;
use self::state::Wizard;
use self::step::Step;
use self::workers::Workers;
use crate::tui::graphics::graphics_of;
use crate::tui::jobs::JobId;
use crate::tui::keymap::{Action, Context};
use crate::tui::screen::{Effect, Input, Screen, Ui, UiEnv};
use crate::tui::theme::ColourMode;
use crate::tui::widgets::layout::{below, draw_lines};
use crate::tui::widgets::preview::Pixels;
use crate::tui::widgets::Toast;
use gristmill_core::text::{bytes, duration};
use gristmill_core::{DatasetFacts, DatasetKind, Failure, Loading, MediaPlan, PreparePlan, ShardState};
use gristmill_ops::job::scan::LiveScan;
use gristmill_ops::preview::cells::Depth;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::Frame;
use std::cell::Cell;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

/// The screen.
pub struct PrepareScreen {
    path: PathBuf,
    env: UiEnv,
    wizard: Wizard,
    workers: Workers,
    scan: Option<LiveScan>,
    /// The run on the screen above this one, once it has started.
    started: Rc<Cell<Option<JobId>>>,
    /// Whether that screen is open.
    is_run_shown: bool,
    /// Answers that were given before the screen was opened.
    given: Option<PreparePlan>,
    /// A draft that was found, until it can be taken over.
    found: Option<Draft>,
    /// The interrupted run that is to be continued: wanted, and what is known of it.
    resumes: bool,
    interrupted: Option<Interrupted>,
    /// A notice for the next tick.
    notice: Option<Toast>,
    /// The newest facts as they came.
    seen: Option<Arc<DatasetFacts>>,
    failure: Option<Failure>,
    is_open: bool,
    depth: Depth,
    rail: Rect,
    spots: ClickTargets,
    derived_at: Option<Instant>,
    derived_for: Option<(PreparePlan, Arc<DatasetFacts>)>,
    evaluated_for: Option<(Loading, Arc<DatasetFacts>)>,
    previewed_for: Option<(PreparePlan, Arc<DatasetFacts>)>,
    looked_for: Option<(MediaPlan, Arc<DatasetFacts>)>,
    looked_at: Option<Instant>,
    draft: PathBuf,
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
            started: Rc::default(),
            is_run_shown: false,
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
            spots: ClickTargets::default(),
            derived_at: None,
            derived_for: None,
            evaluated_for: None,
            previewed_for: None,
            looked_for: None,
            looked_at: None,
            draft,
            path,
            env,
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
            let look =
                draw::DrawContext { ui, focused: true, is_scanning: false, depth: self.depth, spots: &self.spots };
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
        self.ask_workers();
        effects
    }

    fn tick(&mut self, effects: &mut Vec<Effect>) -> bool {
        let mut changed = self.take_answers(effects);
        changed |= self.follow_scan(effects);
        effects.extend(self.notice.take().map(Effect::Toast));
        self.ask_workers();
        changed
    }

    fn is_busy(&self) -> bool {
        !self.is_open && self.failure.is_none() || self.wizard.is_scanning || self.workers.is_waiting()
    }

    fn wants_text(&self) -> bool {
        self.is_open && matches!(self.wizard.context(), Context::PrepareText | Context::PrepareExpression)
    }

    fn status_right(&self) -> Option<String> {
        let facts = &self.wizard.answers.facts;
        if !self.is_open {
            return None;
        }
        let scan = self.scan.as_ref().filter(|_| self.wizard.is_scanning);
        let Some(scan) = scan else {
            let damaged = facts.shards.iter().filter(|s| s.state == ShardState::Failed).count();
            let samples = facts.shards.iter().map(|s| s.samples).sum();
            let words = gristmill_core::text::count(samples, "sample");
            return Some(if damaged == 0 { words } else { format!("{words}  {damaged} unreadable") });
        };
        let reading = scan.progress();
        let (rate, left) = scan.rate();
        let total = if reading.items_total > 0 { reading.items_total } else { facts.shards.len() as u64 };
        let mut words =
            format!("scanning {}/{total} {}", reading.items_done, gristmill_core::text::inflect(total, "shard"));
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

    fn label(&self, action: Action) -> &'static str {
        Step::of_action(action).map_or_else(|| action.label(), Step::title)
    }

    fn why_disabled(&self, action: Action) -> Option<String> {
        self.wizard.why_disabled(action)
    }

    fn resumed(&mut self) {
        self.return_from_run();
        self.ask_workers();
    }

    fn closing(&mut self) {
        self.save_draft_now();
    }
}
