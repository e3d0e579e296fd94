//! `run`: runs a saved plan.

use super::context::Context;
use super::exit::CommandResult;
use super::{operation, paths};
use gristmill_core::options::Answer;
use gristmill_core::{Failure, Subject};
use gristmill_ops::operations::read_plan;
use gristmill_storage::files;
use std::path::Path;

/// Maximum size of a plan file, in bytes.
const MAX_BYTES: u64 = 64 << 20;

/// Runs a plan file unchanged; flags that control the run apply. With `overwrite`, it behaves like the command of the plan with
/// `--force-overwrite`.
pub fn run(path: &Path, overwrite: bool, context: &Context) -> CommandResult {
    let text = paths::read_text(path, "reading the plan", MAX_BYTES).map_err(|failure| match files::exists(path) {
        true => failure,
        false => failure.with_hint("give a file written by --save-plan, or .nv-meta/gristmill/plan.yaml of a data set"),
    })?;
    let in_file = |mut failure: Failure| {
        if failure.subject.path.is_none() && failure.subject.field.is_none() {
            failure.subject.path = Subject::path(path).path;
        }
        failure
    };
    let mut plan = read_plan(&text).map_err(in_file)?;
    let options = plan.operation().options();
    for row in &options {
        let given = plan.get(row.info.name);
        let answer = paths::checked_answer(row, &given).map_err(in_file)?;
        if answer != given {
            plan.set(row.info.name, &answer).map_err(|why| Failure::usage("reading the plan", why))?;
        }
    }
    if context.globals.compat && options.iter().any(|row| row.info.name == "compat") {
        plan.set("compat", &Answer::On).map_err(|why| Failure::usage("reading the plan", why))?;
    }
    if overwrite && !plan.replace_output() {
        let why = format!("--force-overwrite cannot be used with a plan of {}", plan.operation().name());
        return Err(Failure::usage("reading the plan", why)
            .on(Subject::path(path))
            .with_hint("remove --force-overwrite")
            .into());
    }
    operation::execute(&*plan, context)
}
