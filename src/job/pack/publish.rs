//! Makes everything visible in one publication.

use super::finish::Made;
use super::inputs::Inputs;
use super::layout::Layout;
use super::record::{goes_by_ranks, Recorded, RecordedOutput};
use super::PackReport;
use crate::engine::plan::file::pack_to_yaml;
use crate::job::prepare::OutputFile;
use crate::job::task::TaskContext;
use crate::model::{Failure, Outcome, PackPlan};
use crate::storage::fs::Fs;
use crate::storage::publish::Publication;
use serde::Serialize;
use std::collections::HashSet;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// What Forager's index says about samples with masks.
const SCHEMA: &str = "sample_schema.json";
/// Permission bits of our own record.
const RECORD_MODE: u32 = 0o644;

/// One text that belongs to the set, and whether it comes last.
pub(super) struct Text {
    pub(super) target: PathBuf,
    pub(super) bytes: Vec<u8>,
    pub(super) completes: bool,
}

/// Everything that becomes visible together.
pub(super) struct Outputs<'a> {
    /// Files of each format, in the order of the report's targets.
    pub(super) made: &'a [Vec<Made>],
    pub(super) texts: Vec<Text>,
    pub(super) plan_hash: &'a str,
}

/// Stages all files and makes them visible. Fills the outputs of the report.
pub(super) fn publish(
    context: &TaskContext,
    plan: &PackPlan,
    layout: &Layout,
    inputs: &Inputs,
    outputs: Outputs<'_>,
    report: &mut PackReport,
) -> Outcome<()> {
    let fs = &*context.fs;
    let mode = mode_of(inputs);
    let mut folders = Folders { fs, mode: (mode | (mode & 0o444) >> 2) | 0o700, made: Vec::new() };
    let result = stage(context, plan, layout, inputs, outputs, report, &mut folders, mode);
    if result.is_err() {
        folders.take_back();
    }
    result
}

#[expect(clippy::too_many_arguments, reason = "one step of `publish`, apart so that its folders can be taken back")]
fn stage(
    context: &TaskContext,
    plan: &PackPlan,
    layout: &Layout,
    inputs: &Inputs,
    outputs: Outputs<'_>,
    report: &mut PackReport,
    folders: &mut Folders<'_>,
    mode: u32,
) -> Outcome<()> {
    let fs = &*context.fs;
    let mut publication = Publication::begin(fs, layout.root(), &layout.own)?;
    let mut recorded = Recorded {
        plan_hash: outputs.plan_hash.to_owned(),
        plan: plan.clone(),
        inputs: Recorded::inputs_of(inputs),
        outputs: Vec::new(),
    };
    let mut last: Vec<&Path> = Vec::new();
    for (made, target) in outputs.made.iter().zip(&mut report.targets) {
        for file in made {
            context.cancel.check()?;
            folders.make_parents(&file.target)?;
            let bytes = std::fs::metadata(&file.written)
                .map_err(|error| Failure::io("publishing", &file.written, &error))?
                .len();
            let name = file.target.to_string_lossy().into_owned();
            target.outputs.push(OutputFile { name, bytes, replaces: file.target.symlink_metadata().is_ok() });
            recorded.outputs.push(RecordedOutput { path: file.target.clone(), bytes });
            publication.stage_file(&file.target, file.written.clone(), mode)?;
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
        remove_old(layout, &recorded, &mut publication)?;
    }
    // What describes samples of another shape would describe these wrongly.
    let schema = layout.index(plan, SCHEMA);
    let is_stale = plan.forager.is_some() && !recorded.outputs.iter().any(|output| output.path == schema);
    if is_stale && schema.symlink_metadata().is_ok() {
        publication.remove(&schema)?;
        publication.mark_last(&schema);
    }
    let saved = Saved { gristmill: env!("CARGO_PKG_VERSION"), recorded: &recorded, result: report };
    let json = serde_json::to_vec_pretty(&saved)
        .map_err(|error| Failure::environment("writing the report", error.to_string()))?;
    publication.stage_bytes(&layout.own.report(), &json, RECORD_MODE)?;
    publication.stage_bytes(&layout.own.plan(), pack_to_yaml(plan)?.as_bytes(), RECORD_MODE)?;
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

#[derive(Serialize)]
struct Saved<'a> {
    gristmill: &'a str,
    #[serde(flatten)]
    recorded: &'a Recorded,
    result: &'a PackReport,
}

/// What an earlier run of ours made here, and this one does not make again.
fn remove_old(layout: &Layout, new: &Recorded, publication: &mut Publication<'_>) -> Outcome<()> {
    let Some(old) = Recorded::read(layout)? else { return Ok(()) };
    let kept: HashSet<&Path> = new.outputs.iter().map(|output| output.path.as_path()).collect();
    // A report is a file that anybody may write; what it names is only removed where we would have put it.
    let is_ours =
        |path: &Path| path.starts_with(&layout.output) && path.symlink_metadata().is_ok_and(|facts| facts.is_file());
    for output in old.outputs.iter().filter(|output| !kept.contains(output.path.as_path()) && is_ours(&output.path)) {
        publication.remove(&output.path)?;
    }
    Ok(())
}

/// Permission bits of new files: those of the first input, and the owner may read and write.
fn mode_of(inputs: &Inputs) -> u32 {
    let first = inputs.files().first().and_then(|file| std::fs::metadata(&file.path).ok());
    first.map_or(0o644, |facts| facts.mode() & 0o666 | 0o600)
}

/// Folders that are made on the way, and taken back when nothing comes of it.
struct Folders<'a> {
    fs: &'a dyn Fs,
    mode: u32,
    made: Vec<PathBuf>,
}

impl Folders<'_> {
    fn make_parents(&mut self, target: &Path) -> Outcome<()> {
        match target.parent() {
            Some(parent) => make_folder(self.fs, parent, self.mode, &mut self.made),
            None => Ok(()),
        }
    }

    fn take_back(&self) {
        for folder in self.made.iter().rev() {
            // One that is not empty is needed.
            let _ = self.fs.raw_rmdir(folder);
        }
    }
}

/// Makes a folder and those it is in, as far as they are missing.
pub(super) fn make_folder(fs: &dyn Fs, folder: &Path, mode: u32, made: &mut Vec<PathBuf>) -> Outcome<()> {
    let missing: Vec<&Path> = folder.ancestors().take_while(|path| !path.is_dir()).collect();
    for path in missing.into_iter().rev() {
        fs.create_dir(path, mode)?;
        made.push(path.to_owned());
        if let Some(parent) = path.parent() {
            fs.sync_dir(parent)?;
        }
    }
    Ok(())
}
