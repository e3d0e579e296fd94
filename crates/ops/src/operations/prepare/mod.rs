//! `prepare`: writes the indexes, splits and dataset YAML of a WebDataset, or the index of a JSONL file, or the join indexes of a
//! metadataset.

mod files;
mod lines;
mod options;
mod questions;
#[cfg(test)]
mod tests;
mod texts;

pub use files::{JsonlResult, MetadatasetResult};
pub use lines::{differences, PreparePreview, PrepareResult};
pub use texts::{exclude_lines, field_map, split_patterns, yaml_name};

use super::{command_line_of, missing, ObsoleteFlag, Operation, Plan};
use crate::engine::plan::{file, media_without_database, CommandLine};
use crate::job::metadataset::IndexAction;
use crate::job::prepare::run_prepare;
use crate::job::report::Report;
use crate::job::task::TaskContext;
use crate::job::{jsonl, metadataset};
use gristmill_core::options::{Group, Step};
use gristmill_core::text::shell_quote;
use gristmill_core::{DatasetKind, Duplicates, Outcome, PreparePlan, Problem, ProblemKind, Subject};
use gristmill_data::source::kind::kind_of;
use gristmill_storage::run_folder::RunFolder;
use std::path::{Path, PathBuf};

/// The `prepare` operation.
pub struct Prepare;

impl Plan for PreparePlan {
    fn blank() -> Self {
        Self::new("")
    }
}

impl Operation for Prepare {
    type Plan = PreparePlan;
    type Preview = Box<dyn Report>;
    type Report = Box<dyn Report>;
    const NAME: &'static str = "prepare";
    const ABOUT: &'static str = "Prepare a folder of tar shards (guided in a terminal), a .jsonl file or a metadataset";
    const ACTIVITY: &'static str = "preparing";
    const PLAN_OF: &'static str = "a preparation";
    const STEPS: &'static [Step] = options::STEPS;
    const GROUPS: &'static [Group<Self::Plan>] = options::GROUPS;
    const OBSOLETE_FLAGS: &'static [ObsoleteFlag] =
        &[ObsoleteFlag { name: "media-metadata", needs_one_of: options::MEDIA_FILTERS }];
    const SHOWS_PHASES: bool = true;

    fn always_prompts(plan: &PreparePlan) -> bool {
        // JSONL files and metadatasets need no answers. Determined by name, because a command is built without reading the disk.
        ![".jsonl", ".yaml", ".yml"].iter().any(|suffix| plan.path.ends_with(suffix))
    }

    fn check(plan: &PreparePlan, _: bool) -> Vec<Problem> {
        let mut problems = wrong_answers(plan);
        let open = questions::open_questions(plan);
        let update = questions::new_shards(plan).filter(|_| !open.is_empty());
        problems.extend(update.map_or(open, |update| vec![update]));
        problems
    }

    fn recent(plan: &PreparePlan) -> Option<PathBuf> {
        Some(PathBuf::from(&plan.path))
    }

    fn is_expressible(plan: &PreparePlan) -> bool {
        plan.duplicates != Duplicates::Prefix
    }

    /// If [`command_line`] needs additional files, the command uses the plan that the run stored in the data set instead.
    fn command_after_run(plan: &PreparePlan) -> String {
        let line = command_line(plan);
        if line.files.is_empty() {
            return line.text();
        }
        let saved = RunFolder::for_webdataset(Path::new(&plan.path)).plan();
        format!("gristmill run {}", shell_quote(&saved.to_string_lossy()))
    }

    fn to_yaml(plan: &PreparePlan) -> Outcome<String> {
        file::to_yaml(plan)
    }

    fn preview(plan: &PreparePlan, context: &TaskContext) -> Outcome<Box<dyn Report>> {
        prepare(plan, true, context)
    }

    fn run(plan: &PreparePlan, context: &TaskContext) -> Outcome<Box<dyn Report>> {
        prepare(plan, false, context)
    }
}

/// Runs or previews a plan with the steps for the kind of its data.
fn prepare(plan: &PreparePlan, is_preview: bool, context: &TaskContext) -> Outcome<Box<dyn Report>> {
    let path = plan.path.clone();
    Ok(match kind_of(Path::new(&path)) {
        Ok(DatasetKind::Jsonl) => JsonlResult { report: jsonl::run_prepare(plan, is_preview, context)?, path }.into(),
        Ok(DatasetKind::Metadataset) => {
            let action = if is_preview { IndexAction::Preview } else { IndexAction::Publish };
            let report = metadataset::run_prepare(Path::new(&path), plan.compat, action, context)?;
            MetadatasetResult { path, report }.into()
        }
        _ if is_preview => PreparePreview::scan(plan, &context.options, &context.cancel)?.into(),
        _ => {
            let differences = differences(plan, context.options.threads);
            PrepareResult { path, differences, report: run_prepare(context, plan, None)? }.into()
        }
    })
}

/// Returns answers that are missing or wrong for every kind of data set.
pub fn wrong_answers(plan: &PreparePlan) -> Vec<Problem> {
    missing::<Prepare>(plan).into_iter().chain(media_without_database(plan)).collect()
}

fn missing_answer(message: &str) -> Problem {
    Problem::refusal(ProblemKind::MissingAnswer, Subject::default(), message)
}

/// Returns the command that is equivalent to a plan. Explicit splits and long lists of excludes are in its files.
pub fn command_line(plan: &PreparePlan) -> CommandLine {
    command_line_of::<Prepare>(plan)
}
