//! The guided prepare as plain prompts: the same questions as on the full screen, with suggestions from the scan.

mod excludes;
mod fields;
mod keys;
mod loading;
mod media;
mod rerun;
mod review;
mod splits;

use super::prompter::Prompter;
use super::review::{report_each_problem, Review as _};
use gristmill_core::text::{bytes, count, display_safe};
use gristmill_core::{
    DatasetFacts, Failure, Outcome, PreparePlan, Rerun, RunOptions, SampleMapping, Scope, Severity, SplitPlan,
};
use gristmill_ops::job::scan::LiveScan;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Maximum number of findings listed before the first question.
const MAX_FINDINGS: usize = 20;

/// The questions, the scan, and the plan with the answers so far.
struct Guide {
    prompt: Prompter,
    scan: LiveScan,
    plan: PreparePlan,
}

/// Asks for all missing answers of a plan. Returns the plan and the scan that has run meanwhile; `None` if nothing is to be written.
pub fn prepare(plan: PreparePlan, options: &RunOptions) -> Outcome<Option<(PreparePlan, LiveScan)>> {
    let ask = Prompter::new()?;
    let scan = LiveScan::start(Path::new(&plan.path), options)?;
    let mut guide = Guide { prompt: ask, scan, plan };
    guide.print_summary()?;
    if !guide.confirm_rerun()? {
        return Ok(None);
    }
    if guide.needs_answers() {
        guide.compressed()?;
        guide.excludes()?;
        if guide.plan.splits == SplitPlan::Unset {
            guide.splits()?;
        }
        if guide.is_loading_open() {
            guide.loading()?;
        }
        if guide.plan.media.is_none() {
            guide.media()?;
        }
    }
    guide.duplicates()?;
    Ok(guide.review()?.then_some((guide.plan, guide.scan)))
}

impl Guide {
    /// Returns the facts so far.
    fn facts(&self) -> Arc<DatasetFacts> {
        self.scan.facts()
    }

    /// Returns the facts as soon as `enough` holds, the scan has ended, or the time `most` has passed.
    fn facts_when(&self, most: Duration, enough: impl Fn(&DatasetFacts) -> bool) -> Arc<DatasetFacts> {
        let start = Instant::now();
        loop {
            let facts = self.facts();
            if self.scan.is_finished() || enough(&facts) || start.elapsed() >= most {
                return facts;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn print_summary(&self) -> Outcome<()> {
        let facts = self.scan.wait_opened()?;
        self.prompt.print(format!(
            "{}: {}, {}, {}",
            display_safe(&self.plan.path),
            facts.kind.title(),
            count(facts.shards.len() as u64, "shard"),
            bytes(facts.total_bytes())
        ));
        let (Some(first), Some(last)) = (facts.shards.first(), facts.shards.last()) else {
            return Err(Failure::data("finding shards", "there is no .tar below this folder")
                .on(gristmill_core::Subject::path(&self.plan.path))
                .with_hint("give the folder that holds the tar shards"));
        };
        self.prompt.print(format!("From {} to {}", display_safe(&first.name), display_safe(&last.name)));
        let serious: Vec<_> = facts.findings.iter().filter(|finding| finding.severity > Severity::Note).collect();
        report_each_problem(&self.prompt, serious.iter().copied().take(MAX_FINDINGS));
        if let Some(more) = serious.len().checked_sub(MAX_FINDINGS).filter(|more| *more > 0) {
            self.prompt.print(format!("  … and {}", count(more as u64, "more warning")));
        }
        Ok(())
    }

    /// Whether answers are needed: an update and a repair of the index keep the recorded ones.
    fn needs_answers(&self) -> bool {
        self.plan.rerun != Rerun::Update && self.plan.scope != Scope::TarIndexOnly
    }

    fn is_loading_open(&self) -> bool {
        match &self.plan.loading {
            SampleMapping::Unset => true,
            SampleMapping::FieldMap { fields, .. } => fields.is_empty(),
            _ => false,
        }
    }
}
