//! Repairs a packed file whose index was merged incorrectly: recomputes its offsets from the lengths.

use crate::job::repair::RepairReport;
use crate::job::task::{Task, TaskContext};
use crate::job::Phase;
use crate::tokens::formats::modalities::engine::repair::{write_repaired, IndexRepair};
use gristmill_core::{Outcome, RunOptions};
use gristmill_storage::fs::{BufferedFile, RealFs};
use std::path::Path;
use std::sync::Arc;

/// Repairs a packed file in the background. With `is_dry`, only reports the repair. A correct file is left unchanged. Fails if the file has
/// other damage.
pub fn start_repair(path: &Path, is_dry: bool, options: RunOptions) -> Outcome<Task<RepairReport>> {
    let path = path.to_owned();
    Task::start("repair", options, Arc::new(RealFs), move |context| run(&path, is_dry, context))
}

pub(super) fn run(path: &Path, is_dry: bool, context: &TaskContext) -> Outcome<RepairReport> {
    context.phase_of(Phase::Scan, "document", "looking at the index");
    let repair = IndexRepair::inspect(path, &context.handles())?;
    let mut report =
        RepairReport::new(("positions", "document"), repair.documents(), repair.misplaced(), repair.first());
    if repair.misplaced() > 0 && !is_dry {
        let message = "the documents of merged files are where their tokens are now; the file as it was is kept";
        let write = |file: &mut BufferedFile| write_repaired(&repair, file, &context.handles()).map(drop);
        report.replace(path, repair.mode(), message, context, write)?;
    }
    Ok(report.ended(context))
}
