//! Publishes all files in one publication.

use super::inputs::Inputs;
use super::layout::Layout;
use super::record::{goes_by_ranks, settled, Recorded};
use super::PackReport;
use crate::engine::plan::file::pack_to_yaml;
use crate::job::publish::{remove_old, stage_report, FinishedFile, Folders, RECORD_MODE};
use crate::job::task::TaskContext;
use gristmill_core::{Outcome, PackPlan};
use gristmill_storage::publish::Publication;
use std::path::{Path, PathBuf};

/// File in which Forager's index describes samples with masks.
const SCHEMA: &str = "sample_schema.json";

/// A text file of the set, and whether it comes last.
pub(super) struct Text {
    pub(super) target: PathBuf,
    pub(super) bytes: Vec<u8>,
    pub(super) completes: bool,
}

/// Everything that is published together.
pub(super) struct Outputs<'a> {
    /// Files of each format, in the order of the targets in the report.
    pub(super) made: &'a [Vec<FinishedFile>],
    pub(super) texts: Vec<Text>,
    pub(super) plan_hash: &'a str,
}

/// Stages all files and publishes them. Fills the outputs of the report.
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
    // Two more files: the report and the plan.
    let expected = outputs.made.iter().map(Vec::len).sum::<usize>() + outputs.texts.len() + 2;
    let publication = Publication::begin(fs, layout.root(), &layout.own)?;
    let mut publication = publication.counting(&context.progress, expected as u64);
    let mut recorded = Recorded {
        plan_hash: outputs.plan_hash.to_owned(),
        plan: settled(plan),
        inputs: Recorded::inputs_of(inputs),
        outputs: Vec::new(),
    };
    let mut last: Vec<&Path> = Vec::new();
    for (made, target) in outputs.made.iter().zip(&mut report.targets) {
        for file in made {
            context.cancel.check()?;
            target.outputs.push(file.output());
            folders.stage(file, &mut publication, &mut recorded)?;
            if file.completes {
                last.push(&file.target);
            }
        }
    }
    for text in &outputs.texts {
        folders.make_parents(&text.target)?;
        publication.stage_bytes(&text.target, &text.bytes, mode)?;
        if text.completes {
            last.push(&text.target);
        }
    }
    if !goes_by_ranks(plan) {
        remove_old(&layout.own, &recorded, &[&layout.output], &mut publication)?;
    }
    // An old schema describes samples of another shape.
    let schema = layout.index(plan, SCHEMA);
    let is_stale = plan.forager.is_some() && !recorded.outputs.iter().any(|output| output.path == schema);
    if is_stale && schema.symlink_metadata().is_ok() {
        publication.remove(&schema)?;
        publication.mark_last(&schema);
    }
    stage_report(&mut publication, &layout.own, &recorded, report)?;
    publication.stage_bytes(&layout.own.plan(), pack_to_yaml(&recorded.plan)?.as_bytes(), RECORD_MODE)?;
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
