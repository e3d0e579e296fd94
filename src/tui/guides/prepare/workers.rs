//! The workers of the guided prepare: each answers one kind of question, and only the newest.

use super::derive::PlanFindings;
use super::field_map::samples::{SampleEvaluator, SampleRequest, SampleResults, SampleStore};
use super::interrupted::{self, InterruptedPrepare};
use crate::tui::graphics::encode::Graphics;
use crate::tui::guides::media::tally::MediaTally;
use crate::tui::screen::UiEnv;
use crate::tui::widgets::preview::{EncodedPicture, PictureRequest, Pixels};
use crate::tui::work::LatestWorker;
use gristmill_core::plan::FieldExpr;
use gristmill_core::{DatasetFacts, MediaPlan, Outcome, PreparePlan};
use gristmill_ops::job::prepare::{preview, Preview};
use gristmill_ops::job::scan::LiveScan;
use std::path::PathBuf;
use std::sync::Arc;

/// The result of opening a data set.
pub struct OpenedDataset {
    /// The scan that was started.
    pub scan: LiveScan,
    /// A run that was interrupted.
    pub interrupted: Option<InterruptedPrepare>,
}

type PlanAndFacts = (PreparePlan, Arc<DatasetFacts>);

/// All workers. Dropping them ends their threads.
pub struct Workers {
    open: LatestWorker<PathBuf, Outcome<OpenedDataset>>,
    derive: LatestWorker<PlanAndFacts, Arc<PlanFindings>>,
    evaluate: LatestWorker<SampleRequest, Arc<SampleResults>>,
    preview: LatestWorker<PlanAndFacts, Arc<Preview>>,
    media: LatestWorker<(MediaPlan, Arc<DatasetFacts>), (MediaPlan, Arc<MediaTally>)>,
    pixels: LatestWorker<Vec<PictureRequest>, Vec<EncodedPicture>>,
}

impl Workers {
    /// Starts them; they sleep until the first request.
    pub fn start(env: &UiEnv, graphics: Graphics, cell: Option<(u16, u16)>) -> Self {
        let options = env.options.clone();
        let store = SampleStore::default();
        let mut evaluator = SampleEvaluator::new(store.clone());
        let wake = || env.wake.clone();
        Self {
            open: LatestWorker::start("open", wake(), move |path: PathBuf| {
                let scan = LiveScan::start(&path, &options)?;
                Ok(OpenedDataset { scan, interrupted: interrupted::find(&path) })
            }),
            derive: LatestWorker::start("derive", wake(), move |(plan, facts): PlanAndFacts| {
                Arc::new(PlanFindings::of(&plan, &facts, &store.all(&facts)))
            }),
            evaluate: LatestWorker::start("samples", wake(), move |question| Arc::new(evaluator.answer(&question))),
            preview: LatestWorker::start("preview", wake(), |(plan, facts): PlanAndFacts| {
                Arc::new(preview(&plan, &facts))
            }),
            media: LatestWorker::start("media", wake(), |(plan, facts): (MediaPlan, Arc<DatasetFacts>)| {
                let seen = MediaTally::of_facts(&facts, &plan);
                (plan, Arc::new(seen))
            }),
            pixels: LatestWorker::start("pixels", wake(), move |wanted| Pixels::encode(wanted, graphics, cell)),
        }
    }

    /// Opens a data set.
    pub fn open(&mut self, path: PathBuf) {
        self.open.submit(path);
    }
    /// Returns the result of opening.
    pub fn take_opened(&mut self) -> Option<Outcome<OpenedDataset>> {
        self.open.take()
    }
    /// Checks a plan against the data.
    pub fn derive(&mut self, plan: PreparePlan, facts: Arc<DatasetFacts>) {
        self.derive.submit((plan, facts));
    }
    /// Returns the result of checking.
    pub fn take_derived(&mut self) -> Option<Arc<PlanFindings>> {
        self.derive.take()
    }
    /// Runs real samples through a field map.
    pub fn evaluate(&mut self, class: String, fields: Vec<FieldExpr>, facts: Arc<DatasetFacts>) {
        self.evaluate.submit(SampleRequest { class, fields, facts });
    }
    /// Returns the result of evaluating samples.
    pub fn take_results(&mut self) -> Option<Arc<SampleResults>> {
        self.evaluate.take()
    }
    /// Computes what a run would do.
    pub fn preview(&mut self, plan: PreparePlan, facts: Arc<DatasetFacts>) {
        self.preview.submit((plan, facts));
    }
    /// Returns the preview of the run.
    pub fn take_preview(&mut self) -> Option<Arc<Preview>> {
        self.preview.take()
    }
    /// Whether that is being computed.
    pub fn is_previewing(&self) -> bool {
        self.preview.is_waiting()
    }
    /// Looks at what answers about media would record.
    pub fn request_media(&mut self, plan: MediaPlan, facts: Arc<DatasetFacts>) {
        self.media.submit((plan, facts));
    }
    /// Whether it is being examined.
    pub fn is_reading(&self) -> bool {
        self.media.is_waiting()
    }
    /// Returns what the answers would record, and the answers.
    pub fn take_tally(&mut self) -> Option<(MediaPlan, Arc<MediaTally>)> {
        self.media.take()
    }
    /// Encodes pictures for the terminal.
    pub fn encode(&mut self, wanted: Vec<PictureRequest>) {
        self.pixels.submit(wanted);
    }
    /// Whether pictures are being encoded: another question would take their place.
    pub fn is_encoding(&self) -> bool {
        self.pixels.is_waiting()
    }
    /// Pictures that were encoded.
    pub fn take_encoded(&mut self) -> Option<Vec<EncodedPicture>> {
        self.pixels.take()
    }
    /// Whether an answer that the screen shows is still open.
    pub fn is_waiting(&self) -> bool {
        self.derive.is_waiting() || self.evaluate.is_waiting() || self.preview.is_waiting() || self.media.is_waiting()
    }
}
