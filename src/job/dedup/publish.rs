//! Makes everything visible in one publication.

use super::layout::Layout;
use super::record::{Recorded, RecordedOutput};
use super::DedupReport;
use crate::engine::plan::file::dedup_to_yaml;
use crate::job::task::TaskContext;
use crate::model::{DedupPlan, Failure, Outcome};
use crate::storage::fs::Fs;
use crate::storage::publish::Publication;
use serde::Serialize;
use std::collections::HashSet;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Permission bits of our own record.
const RECORD_MODE: u32 = 0o644;

/// A file that is finished and not visible yet.
pub(super) struct Made {
    pub(super) written: PathBuf,
    pub(super) target: PathBuf,
    pub(super) bytes: u64,
}

/// Stages all files and makes them visible; the report comes last.
pub(super) fn publish(
    context: &TaskContext,
    plan: &DedupPlan,
    layout: &Layout,
    made: &[Made],
    recorded: Recorded,
    report: &DedupReport,
    first_input: Option<&Path>,
) -> Outcome<()> {
    let fs = &*context.fs;
    let facts = first_input.and_then(|path| std::fs::metadata(path).ok());
    let mode = facts.map_or(0o644, |facts| facts.mode() & 0o666 | 0o600);
    let mut folders = Folders { fs, mode: (mode | (mode & 0o444) >> 2) | 0o700, made: Vec::new() };
    let result = stage(context, plan, layout, made, recorded, report, &mut folders, mode);
    if result.is_err() {
        folders.take_back();
    }
    result
}

#[expect(clippy::too_many_arguments, reason = "one step of `publish`, apart so that its folders can be taken back")]
fn stage(
    context: &TaskContext,
    plan: &DedupPlan,
    layout: &Layout,
    made: &[Made],
    mut recorded: Recorded,
    report: &DedupReport,
    folders: &mut Folders<'_>,
    mode: u32,
) -> Outcome<()> {
    let fs = &*context.fs;
    let mut publication = Publication::begin(fs, layout.root(), &layout.own)?;
    // Even of an input without any document something is visible: the empty folder.
    make_folder(fs, &layout.output, folders.mode, &mut folders.made)?;
    for file in made {
        context.cancel.check()?;
        if let Some(parent) = file.target.parent() {
            make_folder(fs, parent, folders.mode, &mut folders.made)?;
        }
        recorded.outputs.push(RecordedOutput { path: file.target.clone(), bytes: file.bytes });
        publication.stage_file(&file.target, file.written.clone(), mode)?;
    }
    remove_old(layout, &recorded, &mut publication)?;
    let saved = Saved { gristmill: env!("CARGO_PKG_VERSION"), recorded: &recorded, result: report };
    let json = serde_json::to_vec_pretty(&saved)
        .map_err(|error| Failure::environment("writing the report", error.to_string()))?;
    publication.stage_bytes(&layout.own.plan(), dedup_to_yaml(plan)?.as_bytes(), RECORD_MODE)?;
    publication.stage_bytes(&layout.own.report(), &json, RECORD_MODE)?;
    context.cancel.check()?;
    publication.commit(&layout.own.report())
}

#[derive(Serialize)]
struct Saved<'a> {
    gristmill: &'a str,
    #[serde(flatten)]
    recorded: &'a Recorded,
    result: &'a DedupReport,
}

/// What an earlier run of ours made here, and this one does not make again.
fn remove_old(layout: &Layout, new: &Recorded, publication: &mut Publication<'_>) -> Outcome<()> {
    let Some(old) = Recorded::read(layout)? else { return Ok(()) };
    let kept: HashSet<&Path> = new.outputs.iter().map(|output| output.path.as_path()).collect();
    let places = [Some(&layout.output), layout.index.as_ref(), layout.ranges.as_ref()];
    // A report is a file that anybody may write; what it names is only removed where we would have put it.
    let is_ours = |path: &Path| {
        places.iter().flatten().any(|place| path.starts_with(place))
            && path.symlink_metadata().is_ok_and(|facts| facts.is_file())
    };
    for output in old.outputs.iter().filter(|output| !kept.contains(output.path.as_path()) && is_ours(&output.path)) {
        publication.remove(&output.path)?;
    }
    Ok(())
}

/// Folders that are made on the way, and taken back when nothing comes of it.
struct Folders<'a> {
    fs: &'a dyn Fs,
    mode: u32,
    made: Vec<PathBuf>,
}

impl Folders<'_> {
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
