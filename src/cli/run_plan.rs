//! `run`: replays a saved plan.

use super::context::Context;
use super::end::Finished;
use super::{jsonl, paths, prepare};
use crate::engine::plan::file;
use crate::model::{Failure, Subject};
use std::path::Path;

/// A plan file is at most this large.
const MOST_BYTES: u64 = 64 << 20;

/// Runs a plan file as it is; flags that say how to run still count.
pub fn run(path: &Path, context: &Context) -> Finished {
    let text = paths::read_text(path, "reading the plan", MOST_BYTES).map_err(|failure| match path.exists() {
        true => failure,
        false => {
            failure.with_hint("a plan is a file that --save-plan wrote, or .nv-meta/gristmill/plan.yaml of a data set")
        }
    })?;
    let mut plan = file::from_yaml(&text).map_err(|failure| {
        if failure.subject.is_empty() {
            failure.on(Subject::path(path))
        } else {
            failure
        }
    })?;
    plan.compat |= context.globals.compat;
    if plan.path.is_empty() {
        return Err(Failure::usage("reading the plan", "it names no data set").on(Subject::path(path)).into());
    }
    plan.path = paths::local(Path::new(&plan.path))?;
    if jsonl::is_jsonl(&plan.path) {
        return jsonl::prepare(&plan, context);
    }
    paths::only_folders(&plan.path)?;
    prepare::refuse_missing(&plan, context, prepare::Consent::Given)?;
    prepare::execute(plan, None, context)
}
