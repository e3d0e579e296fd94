//! The record of a finished dedup, and how the next run uses it.

use super::inputs::Inputs;
use super::layout::Layout;
use crate::engine::plan::dedup::differences;
use crate::job::record::{self, refuse, RecordedInput, RecordedPlan};
use gristmill_core::{DedupPlan, FileStamp, Outcome};
use gristmill_storage::files::{self, FileKind};
use std::path::Path;

pub(super) use crate::job::record::Decision;

/// The part of `report.json` that later runs read.
pub(super) type Recorded = record::Recorded<DedupPlan>;

impl RecordedPlan for DedupPlan {
    const ACTIVITY: &'static str = "deduplicating";
    const COMMAND: &'static str = "dedup";
    const MAX_RECORD_BYTES: u64 = 1 << 30;

    fn differences(earlier: &Self, now: &Self) -> Vec<String> {
        differences(earlier, now)
    }
}

impl Recorded {
    pub(super) fn inputs_of(inputs: &Inputs) -> Vec<RecordedInput> {
        let record = |(path, stamp): (&Path, FileStamp)| match inputs.address(path) {
            // The address includes the commit, which identifies the content, wherever the cache is.
            Some(address) => {
                RecordedInput { path: address.into(), stamp: FileStamp { bytes: stamp.bytes, ..FileStamp::default() } }
            }
            None => RecordedInput { path: path.to_owned(), stamp },
        };
        inputs.stamps().map(record).collect()
    }
}

/// Decides whether a plan may run on its output, and whether it has already run.
pub(super) fn decide_run(plan: &DedupPlan, hash: &str, layout: &Layout, inputs: &Inputs) -> Outcome<Decision> {
    if plan.overwrite {
        return Ok(Decision::Run);
    }
    let refuse = |place: &Path, why, hint| Err(refuse::<DedupPlan>(place, why, hint));
    if let Some(recorded) = Recorded::of_what_is_there(&layout.run_folder)? {
        if let Some(why) = recorded.other_plan(plan) {
            return refuse(&layout.output, why, "--force-overwrite replaces it; or name another output");
        }
        if let Some(why) = recorded.other_input(&Recorded::inputs_of(inputs)) {
            return refuse(&layout.output, why, "--force-overwrite makes it again");
        }
        let is_done = recorded.plan_hash == hash && recorded.is_whole();
        return Ok(if is_done { Decision::Nothing } else { Decision::Run });
    }
    for place in layout.places() {
        if is_not_empty(place) {
            // If a store does not answer, the state of the output is unknown, so the run fails.
            files::try_is_taken(place)?;
            let why = match files::is_dir(place) {
                true => "there is something in it already",
                false => "there is something of that name already",
            };
            let hint = "name another folder; --force-overwrite replaces files of the same names";
            return refuse(place, why.into(), hint);
        }
    }
    Ok(Decision::Run)
}

/// Whether a folder contains anything except empty folders. A run that was killed just before it moved its files may have left empty
/// folders.
fn is_not_empty(place: &Path) -> bool {
    let Ok(entries) = files::read_dir(place) else { return files::is_taken(place) };
    let mut folders = vec![entries];
    while let Some(mut entries) = folders.pop() {
        let Some(Ok(entry)) = entries.next() else { continue };
        folders.push(entries);
        match entry.kind() {
            FileKind::Folder => match files::read_dir(entry.path()) {
                Ok(below) => folders.push(below),
                Err(_) => return true,
            },
            _ => return true,
        }
    }
    false
}
