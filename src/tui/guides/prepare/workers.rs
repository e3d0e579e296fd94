//! The workers of the guided prepare; only the newest request of each kind is answered.

use super::derive::PlanFindings;
use super::field_map::samples::{SampleEvaluator, SampleRequest, SampleResults, SampleStore};
use super::interrupted::{self, InterruptedPrepare};
use crate::tui::graphics::encode::Graphics;
use crate::tui::guides::media::tally::MediaTally;
use crate::tui::screen::UiEnv;
use crate::tui::widgets::preview::{EncodedPicture, PictureRequest, Pixels};
use crate::tui::work::LatestWorker;
use gristmill_core::{DatasetFacts, MediaPlan, Outcome, PreparePlan};
use gristmill_ops::job::prepare::{preview, Preview};
use gristmill_ops::job::scan::LiveScan;
use std::path::PathBuf;
use std::sync::Arc;

/// The result of opening a data set.
pub struct OpenedDataset {
    /// The started scan.
    pub scan: LiveScan,
    /// The interrupted run at the data set, if any.
    pub interrupted: Option<InterruptedPrepare>,
}

type PlanAndFacts = (PreparePlan, Arc<DatasetFacts>);

/// The workers of the guided prepare. Dropping them ends their threads.
pub struct Workers {
    /// Opens a data set.
    pub open: LatestWorker<PathBuf, Outcome<OpenedDataset>>,
    /// Checks a plan against the data.
    pub derive: LatestWorker<PlanAndFacts, Arc<PlanFindings>>,
    /// Evaluates a field map on real samples.
    pub evaluate: LatestWorker<SampleRequest, Arc<SampleResults>>,
    /// Computes what a run would do.
    pub preview: LatestWorker<PlanAndFacts, Arc<Preview>>,
    /// Computes the media metadata that the answers would record.
    pub media: LatestWorker<(MediaPlan, Arc<DatasetFacts>), (MediaPlan, Arc<MediaTally>)>,
    /// Encodes pictures for the terminal; a new request replaces a waiting one.
    pub pixels: LatestWorker<Vec<PictureRequest>, Vec<EncodedPicture>>,
}

impl Workers {
    /// Starts the workers.
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

    /// Whether a result for the screen is pending.
    pub fn is_waiting(&self) -> bool {
        self.derive.is_waiting() || self.evaluate.is_waiting() || self.preview.is_waiting() || self.media.is_waiting()
    }
}
