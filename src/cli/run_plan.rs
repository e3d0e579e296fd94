//! `run`: replays a saved plan.

use super::context::Context;
use super::exit::Finished;
use super::{jsonl, kinds, mix, operation, paths, prepare};
use gristmill_core::options::Answer;
use gristmill_core::{Failure, Outcome, PreparePlan, Rerun, Subject};
use gristmill_ops::engine::plan::file::{self, PlanFile};
use gristmill_ops::operations::read_plan;
use std::path::Path;

/// Maximum size of a plan file, in bytes.
const MAX_BYTES: u64 = 64 << 20;

/// Runs a plan file unchanged; flags that control the run still apply. With `overwrite`, it behaves like the command of the plan with
/// `--force-overwrite`.
pub fn run(path: &Path, overwrite: bool, context: &Context) -> Finished {
    let text = paths::read_text(path, "reading the plan", MAX_BYTES).map_err(|failure| match path.exists() {
        true => failure,
        false => {
            failure.with_hint("a plan is a file that --save-plan wrote, or .nv-meta/gristmill/plan.yaml of a data set")
        }
    })?;
    let in_file = |failure: Failure| match failure.subject.is_empty() {
        true => failure.on(Subject::path(path)),
        false => failure,
    };
    if let Some(mut plan) = read_plan(&text).map_err(in_file)? {
        let options = plan.operation().options();
        let has = |option: &str| options.iter().any(|row| row.info.name == option);
        if context.globals.compat && has("compat") {
            plan.set("compat", &Answer::On).map_err(|why| Failure::usage("reading the plan", why))?;
        }
        if overwrite {
            let on = || Answer::On;
            let (option, answer) = match () {
                () if has("overwrite") => ("overwrite", on()),
                () if has("file-existence-policy") => ("file-existence-policy", Answer::Text("override".to_owned())),
                () => ("force-overwrite", on()),
            };
            let why = format!("a plan of {} takes no --force-overwrite", plan.operation().name());
            let refuse = |_| Failure::usage("reading the plan", why).on(Subject::path(path)).with_hint("leave it out");
            plan.set(option, &answer).map_err(refuse)?;
        }
        return operation::execute(&*plan, context);
    }
    match file::read(&text).map_err(in_file)? {
        PlanFile::Prepare(mut plan) => {
            if overwrite {
                plan.rerun = Rerun::Overwrite;
            }
            run_prepare(*plan, path, context)
        }
    }
}

/// Returns the data set that a plan names.
fn data_set(named: &str, path: &Path) -> Outcome<String> {
    if named.is_empty() {
        return Err(Failure::usage("reading the plan", "it names no data set").on(Subject::path(path)));
    }
    paths::local(Path::new(named))
}

fn run_prepare(mut plan: PreparePlan, path: &Path, context: &Context) -> Finished {
    plan.compat |= context.globals.compat;
    plan.path = data_set(&plan.path, path)?;
    if jsonl::is_jsonl(&plan.path) {
        return jsonl::prepare(&plan, context);
    }
    if mix::is_metadataset(&plan.path) {
        return mix::prepare(&plan, context);
    }
    kinds::only_folders(&plan.path)?;
    prepare::refuse_missing(&plan, context, prepare::Confirmation::Given)?;
    prepare::execute(plan, None, context)
}
