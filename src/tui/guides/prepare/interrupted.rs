//! Finds an interrupted preparation: its answers, and how many shards are done.

use gristmill_core::{PreparePlan, PreparedFacts};
use gristmill_ops::engine::plan::{file, inherited};
use gristmill_ops::job::journal::Journal;
use gristmill_storage::read::read_whole;
use gristmill_storage::run_folder::RunFolder;
use std::path::Path;

/// Maximum size of a plan in bytes: this program writes no larger ones.
const MAX_BYTES: u64 = 64 << 20;

/// Facts about an interrupted run.
#[derive(Clone, Debug, PartialEq)]
pub struct InterruptedPrepare {
    /// The plan of the run.
    pub plan: PreparePlan,
    /// Number of finished shards.
    pub done: u64,
    /// Hash of the plan under which the journal has the finished shards.
    pub hash: String,
}

/// Returns the hash of a plan under which a run writes its journal.
pub fn hash(plan: &PreparePlan, prepared: Option<&PreparedFacts>) -> String {
    file::hash(&inherited(plan, prepared))
}

/// Returns the interrupted run of a data set; `None` if there is none, or if its plan cannot be read.
pub fn find(dataset: &Path) -> Option<InterruptedPrepare> {
    let own = RunFolder::for_webdataset(dataset);
    let plan = read_plan(&own.running_plan())?;
    // An update inherits unset answers from the plan of the last completed run.
    let recorded = read_plan(&own.plan()).map(Box::new);
    let prepared = PreparedFacts { plan: recorded, ..PreparedFacts::default() };
    let hash = hash(&plan, Some(&prepared));
    let done = Journal::count_finished(&own.journal(), &hash).unwrap_or(0) as u64;
    Some(InterruptedPrepare { plan, done, hash })
}

fn read_plan(path: &Path) -> Option<PreparePlan> {
    let bytes = read_whole(path, MAX_BYTES).ok().flatten()?;
    let text = String::from_utf8(bytes).ok()?;
    file::from_yaml(&text).map_err(|failure| tracing::warn!(%failure, "a plan cannot be read")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_core::{FileStamp, Rerun, SplitPlan};
    use gristmill_ops::job::journal::{DoneUnit, SpoolDigest};
    use gristmill_storage::fs::RealFs;
    use gristmill_storage::publish::write_file;

    fn put(path: &Path, plan: &PreparePlan) {
        write_file(&RealFs, path, file::to_yaml(plan).unwrap().as_bytes(), 0o600).unwrap();
    }

    #[test]
    fn interrupted_update_is_found_with_plan_and_done_shards() {
        let folder = tempfile::tempdir().unwrap();
        let own = RunFolder::for_webdataset(folder.path());
        own.create(&RealFs).unwrap();
        assert_eq!(find(folder.path()), None);
        let mut recorded = PreparePlan::new("d");
        recorded.splits = SplitPlan::Ratio("8,1,1".into());
        put(&own.plan(), &recorded);
        let mut plan = PreparePlan::new("d");
        plan.rerun = Rerun::Update;
        put(&own.running_plan(), &plan);
        let journal = Journal::open(&RealFs, &own.journal(), &file::hash(&recorded)).unwrap();
        let input = FileStamp { bytes: 1, modified_ns: 2, inode: 3 };
        for name in ["a.tar", "b.tar"] {
            let (spool, notes) = (SpoolDigest::default(), String::new());
            journal.record(&DoneUnit { unit: name.into(), input, spool, notes }).unwrap();
        }
        drop(journal);
        let found = find(folder.path()).unwrap();
        assert_eq!((found.plan, found.done), (plan, 2));
    }
}
