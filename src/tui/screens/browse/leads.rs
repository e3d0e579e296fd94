//! Leads of listed samples: the beginnings of their texts, read in the background for the visible rows.

use crate::tui::work::{LatestWorker, Wake};
use gristmill_data::preview::{lead, LEAD_BYTES};
use gristmill_data::source::decode::{part_class, PartClass};
use gristmill_ops::engine::browse::{BrowseSample, Catalog, SampleAt};
use std::collections::HashMap;
use std::sync::Arc;

/// Number of cached leads above which all are dropped.
const MAX_KEPT: usize = 4_096;

type SampleSummary = (SampleAt, Arc<str>);

/// The leads read so far, and the worker that reads them.
#[derive(Default)]
pub(super) struct SampleSummaries {
    known: HashMap<SampleAt, Arc<str>>,
    requested: Vec<SampleAt>,
    worker: Option<LatestWorker<Vec<Arc<BrowseSample>>, Vec<SampleSummary>>>,
}

impl SampleSummaries {
    /// Starts reading the leads of a catalog; packed tokens have none, and no worker.
    pub(super) fn start(catalog: &Arc<dyn Catalog>, wake: &Wake) -> Self {
        if catalog.tokens().is_some() {
            return Self::default();
        }
        let catalog = Arc::clone(catalog);
        let read = move |samples: Vec<Arc<BrowseSample>>| -> Vec<SampleSummary> {
            let of = |sample: &BrowseSample| {
                let part = summary_part(sample)?;
                let first = catalog.read(sample, part, 0, LEAD_BYTES).unwrap_or_default();
                Some((sample.at, Arc::from(lead(&sample.parts.get(part)?.name, &first))))
            };
            samples.iter().filter_map(|sample| of(sample)).collect()
        };
        Self { worker: Some(LatestWorker::start("browse-leads", wake.clone(), read)), ..Self::default() }
    }

    /// Returns the lead of a sample: `None` if the sample is shown by its parts, empty until it is read.
    pub(super) fn get(&self, sample: &BrowseSample) -> Option<&str> {
        self.worker.as_ref()?;
        summary_part(sample)?;
        Some(self.known.get(&sample.at).map_or("", |lead| lead))
    }

    /// Requests the leads of the visible samples.
    pub(super) fn request<'a>(&mut self, view: impl Iterator<Item = &'a Arc<BrowseSample>>) {
        let Some(worker) = &mut self.worker else { return };
        let is_wanted =
            |sample: &&Arc<BrowseSample>| !self.known.contains_key(&sample.at) && summary_part(sample).is_some();
        let wanted: Vec<Arc<BrowseSample>> = view.filter(is_wanted).cloned().collect();
        let ats: Vec<SampleAt> = wanted.iter().map(|sample| sample.at).collect();
        if ats.is_empty() || ats == self.requested {
            return;
        }
        self.requested = ats;
        worker.submit(wanted);
    }

    /// Adds the leads that the worker has read. Returns whether there were any.
    pub(super) fn gather(&mut self) -> bool {
        let Some(leads) = self.worker.as_mut().and_then(LatestWorker::take) else { return false };
        if self.known.len() > MAX_KEPT {
            self.known.clear();
        }
        self.known.extend(leads);
        self.requested.clear();
        true
    }

    /// Whether leads are being read.
    pub(super) fn is_busy(&self) -> bool {
        self.worker.as_ref().is_some_and(LatestWorker::is_waiting)
    }
}

/// Returns the index of the part for the lead: in samples with only text and JSON, the text, or else the JSON.
fn summary_part(sample: &BrowseSample) -> Option<usize> {
    let class = |part: &gristmill_ops::engine::browse::BrowsePart| part_class(&part.name);
    let is_text = |class| matches!(class, PartClass::Text | PartClass::Json | PartClass::Int);
    if !sample.parts.iter().all(|part| is_text(class(part))) {
        return None;
    }
    let of = |wanted: PartClass| sample.parts.iter().position(|part| class(part) == wanted);
    of(PartClass::Text).or_else(|| of(PartClass::Json))
}
