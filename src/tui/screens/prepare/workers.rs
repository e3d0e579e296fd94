//! The workers of the guided prepare: each answers one kind of question, and only the newest.

use super::derive::Derived;
use super::draft::{self, Draft};
use super::field_map::samples::{Bench, Question, Results, SampleStore};
use super::interrupted::{self, Interrupted};
use super::splits::Alternatives;
use super::step::Step;
use crate::tui::graphics::encode::Graphics;
use crate::tui::screen::UiEnv;
use crate::tui::screens::media::seen::MediaTally;
use crate::tui::widgets::preview::{Encoded, PictureRequest, Pixels};
use crate::tui::widgets::Level;
use crate::tui::work::Latest;
use gristmill_core::plan::FieldExpr;
use gristmill_core::{DatasetFacts, MediaPlan, Outcome, PreparePlan};
use gristmill_ops::engine::plan::file;
use gristmill_ops::job::prepare::{preview, Preview};
use gristmill_ops::job::scan::LiveScan;
use gristmill_storage::fs::RealFs;
use gristmill_storage::publish::write_file;
use std::path::PathBuf;
use std::sync::Arc;

/// The result of opening a data set.
pub struct Opened {
    /// The scan that was started.
    pub scan: LiveScan,
    /// Answers that were kept.
    pub draft: Option<Draft>,
    /// A run that was interrupted.
    pub interrupted: Option<Interrupted>,
}

type Case = (PreparePlan, Arc<DatasetFacts>);

/// A request about a draft.
enum DraftWork {
    Save(PathBuf, Box<PreparePlan>, Step, Alternatives),
    Forget(PathBuf),
}

/// All workers. Dropping them ends their threads.
pub struct Workers {
    open: Latest<(PathBuf, PathBuf), Outcome<Opened>>,
    derive: Latest<Case, Arc<Derived>>,
    evaluate: Latest<Question, Arc<Results>>,
    preview: Latest<Case, Arc<Preview>>,
    media: Latest<(MediaPlan, Arc<DatasetFacts>), (MediaPlan, Arc<MediaTally>)>,
    draft: Latest<DraftWork, ()>,
    pixels: Latest<Vec<PictureRequest>, Vec<Encoded>>,
    plan: Latest<(PathBuf, PreparePlan), (Level, String)>,
}

impl Workers {
    /// Starts them; they sleep until they are asked.
    pub fn start(env: &UiEnv, graphics: Graphics, cell: Option<(u16, u16)>) -> Self {
        let options = env.options.clone();
        let store = SampleStore::default();
        let mut bench = Bench::new(store.clone());
        let wake = || env.wake.clone();
        Self {
            open: Latest::start("open", wake(), move |(path, place): (PathBuf, PathBuf)| {
                let scan = LiveScan::start(&path, &options)?;
                Ok(Opened { scan, draft: draft::load(&place), interrupted: interrupted::find(&path) })
            }),
            derive: Latest::start("derive", wake(), move |(plan, facts): Case| {
                Arc::new(Derived::of(&plan, &facts, &store.all(&facts)))
            }),
            evaluate: Latest::start("samples", wake(), move |question| Arc::new(bench.answer(&question))),
            preview: Latest::start("preview", wake(), |(plan, facts): Case| Arc::new(preview(&plan, &facts))),
            media: Latest::start("media", wake(), |(plan, facts): (MediaPlan, Arc<DatasetFacts>)| {
                let seen = MediaTally::of_facts(&facts, &plan);
                (plan, Arc::new(seen))
            }),
            draft: Latest::start("draft", wake(), keep_draft),
            pixels: Latest::start("pixels", wake(), move |wanted| Pixels::work(wanted, graphics, cell)),
            plan: Latest::start("plan", wake(), |(file, plan)| save_plan(file, &plan)),
        }
    }

    /// Opens a data set and looks for a draft.
    pub fn open(&mut self, path: PathBuf, draft: PathBuf) {
        self.open.ask((path, draft));
    }
    /// Returns the result of opening.
    pub fn take_opened(&mut self) -> Option<Outcome<Opened>> {
        self.open.take()
    }
    /// Checks a plan against the data.
    pub fn derive(&mut self, plan: PreparePlan, facts: Arc<DatasetFacts>) {
        self.derive.ask((plan, facts));
    }
    /// Returns the result of checking.
    pub fn take_derived(&mut self) -> Option<Arc<Derived>> {
        self.derive.take()
    }
    /// Runs real samples through a field map.
    pub fn evaluate(&mut self, class: String, fields: Vec<FieldExpr>, facts: Arc<DatasetFacts>) {
        self.evaluate.ask(Question { class, fields, facts });
    }
    /// Returns the result of evaluating samples.
    pub fn take_results(&mut self) -> Option<Arc<Results>> {
        self.evaluate.take()
    }
    /// Works out what a run would do.
    pub fn preview(&mut self, plan: PreparePlan, facts: Arc<DatasetFacts>) {
        self.preview.ask((plan, facts));
    }
    /// Returns the preview of the run.
    pub fn take_preview(&mut self) -> Option<Arc<Preview>> {
        self.preview.take()
    }
    /// Whether that is being worked out.
    pub fn is_previewing(&self) -> bool {
        self.preview.is_waiting()
    }
    /// Looks at what answers about media would record.
    pub fn request_media(&mut self, plan: MediaPlan, facts: Arc<DatasetFacts>) {
        self.media.ask((plan, facts));
    }
    /// Whether that is being looked at.
    pub fn is_looking(&self) -> bool {
        self.media.is_waiting()
    }
    /// Returns what the answers would record, and the answers.
    pub fn take_seen(&mut self) -> Option<(MediaPlan, Arc<MediaTally>)> {
        self.media.take()
    }
    /// Encodes pictures for the terminal.
    pub fn encode(&mut self, wanted: Vec<PictureRequest>) {
        self.pixels.ask(wanted);
    }
    /// Whether pictures are being encoded: another question would take their place.
    pub fn is_encoding(&self) -> bool {
        self.pixels.is_waiting()
    }
    /// Pictures that were encoded.
    pub fn take_encoded(&mut self) -> Option<Vec<Encoded>> {
        self.pixels.take()
    }
    /// Keeps a draft.
    pub fn save_draft(&mut self, place: PathBuf, plan: PreparePlan, step: Step, splits: Alternatives) {
        self.draft.ask(DraftWork::Save(place, Box::new(plan), step, splits));
    }
    /// Forgets a draft.
    pub fn forget_draft(&mut self, place: PathBuf) {
        self.draft.ask(DraftWork::Forget(place));
    }
    /// Writes a plan file.
    pub fn save_plan(&mut self, file: PathBuf, plan: PreparePlan) {
        self.plan.ask((file, plan));
    }
    /// Returns the result of writing a plan file as a message.
    pub fn take_saved(&mut self) -> Option<(Level, String)> {
        self.plan.take()
    }
    /// Whether an answer that the screen shows is still open.
    pub fn is_waiting(&self) -> bool {
        self.derive.is_waiting() || self.evaluate.is_waiting() || self.preview.is_waiting() || self.media.is_waiting()
    }
}

fn keep_draft(work: DraftWork) {
    match work {
        DraftWork::Forget(place) => draft::forget(&place),
        DraftWork::Save(place, plan, step, splits) => {
            if let Err(failure) = draft::save(&place, &plan, step, &splits) {
                tracing::warn!(%failure, "the draft could not be kept");
            }
        }
    }
}

/// Writes a plan file; one that is there already is left alone.
fn save_plan(path: PathBuf, plan: &PreparePlan) -> (Level, String) {
    let shown = gristmill_core::text::display_safe(&path.to_string_lossy()).into_owned();
    if path.exists() {
        return (Level::Warn, format!("{shown} is there already; choose another name"));
    }
    // Relative to where the program was started, as any path a person types.
    let whole = std::env::current_dir().map(|here| here.join(&path)).unwrap_or(path);
    let written = file::to_yaml(plan).and_then(|text| write_file(&RealFs, &whole, text.as_bytes(), 0o644));
    match written {
        Ok(()) => (Level::Ok, format!("saved; replay it with: gristmill run {shown}")),
        Err(failure) => (Level::Error, failure.to_string()),
    }
}
