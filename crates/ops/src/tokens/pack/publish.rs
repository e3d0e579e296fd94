//! Publishes all output files of a run as one set.

use super::super::format::SideFile;
use super::inputs::Inputs;
use super::layout::Layout;
use super::record::{records_progress, with_absolute_paths, Recorded};
use super::PackReport;
use crate::engine::plan::file::pack_to_yaml;
use crate::job::publish::{remove_old, stage_report, FinishedFile, Folders, RECORD_MODE};
use crate::job::task::TaskContext;
use gristmill_core::{Outcome, PackPlan};
use gristmill_storage::lock::DatasetLock;
use gristmill_storage::publish::Publication;
use std::collections::HashSet;
use std::path::Path;

/// All files that are published together.
pub(super) struct Outputs<'a> {
    /// Files of each format, in the order of the targets in the report.
    pub(super) finished_files: &'a [Vec<FinishedFile>],
    pub(super) side_files: Vec<SideFile>,
    pub(super) plan_hash: &'a str,
    /// The lock of the output.
    pub(super) lock: &'a DatasetLock,
}

/// Stages and publishes all files. Sets the outputs of the report.
pub(super) fn publish(
    context: &TaskContext,
    plan: &PackPlan,
    layout: &Layout,
    inputs: &Inputs,
    outputs: Outputs<'_>,
    report: &mut PackReport,
) -> Outcome<()> {
    let fs = &*context.fs;
    let files = inputs.files();
    let first = files.first().map(|file| file.path.as_path());
    Folders::with(fs, first, |folders| stage(context, plan, layout, inputs, outputs, report, folders))
}

fn stage(
    context: &TaskContext,
    plan: &PackPlan,
    layout: &Layout,
    inputs: &Inputs,
    outputs: Outputs<'_>,
    report: &mut PackReport,
    folders: &mut Folders<'_>,
) -> Outcome<()> {
    let (fs, mode) = (&*context.fs, folders.file_mode);
    // The two additional files are the report and the plan.
    let expected = outputs.finished_files.iter().map(Vec::len).sum::<usize>() + outputs.side_files.len() + 2;
    let publication = Publication::begin(fs, layout.root(), &layout.run_folder)?.with_lock(outputs.lock, "packing");
    let mut publication = publication.counting(&context.progress, expected as u64);
    let mut recorded = Recorded {
        plan_hash: outputs.plan_hash.to_owned(),
        plan: with_absolute_paths(plan),
        inputs: Recorded::inputs_of(inputs),
        outputs: Vec::new(),
    };
    let mut last: Vec<&Path> = Vec::new();
    for (made, target) in outputs.finished_files.iter().zip(&mut report.targets) {
        for file in made {
            context.cancel.check()?;
            target.outputs.push(file.output());
            folders.stage(file, &mut publication, &mut recorded)?;
            if file.completes {
                last.push(&file.target);
            }
        }
    }
    for file in &outputs.side_files {
        folders.make_parents(&file.target)?;
        publication.stage_bytes(&file.target, &file.bytes, mode)?;
        if file.completes {
            last.push(&file.target);
        }
    }
    if !records_progress(plan) {
        let may_write = |path: &Path| {
            path.starts_with(&layout.output) || inputs.outputs.iter().any(|output| output.may_write_next_to(path))
        };
        remove_old(&layout.run_folder, &recorded, &may_write, &mut publication)?;
    }
    let written: HashSet<&Path> = recorded.outputs.iter().map(|output| output.path.as_path()).collect();
    let is_written = |path: &Path| written.contains(path);
    for stale in inputs.outputs.iter().flat_map(|output| output.stale_files(&is_written)) {
        publication.remove(&stale)?;
        publication.mark_last(&stale);
    }
    stage_report(&mut publication, &layout.run_folder, &recorded, report)?;
    publication.stage_bytes(&layout.run_folder.plan(), pack_to_yaml(&recorded.plan)?.as_bytes(), RECORD_MODE)?;
    for target in &last {
        publication.mark_last(target);
    }
    context.cancel.check()?;
    let commit = last.last().copied().or_else(|| recorded.outputs.last().map(|output| output.path.as_path()));
    match commit {
        Some(commit) => publication.commit(commit),
        None => Ok(()),
    }
}
