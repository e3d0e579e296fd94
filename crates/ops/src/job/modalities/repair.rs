//! Repairs a packed file whose index was merged incorrectly: recomputes its offsets from the lengths.

use super::rewrite::make_parent;
use crate::engine::modalities::repair::{write_repaired, Repair};
use crate::job::exclusive_output::ExclusiveOutput;
use crate::job::report::OutputFile;
use crate::job::task::{Task, TaskContext};
use crate::job::Phase;
use gristmill_core::{Failure, Outcome, Problem, ProblemKind, ProblemSink as _, RunOptions, Severity, Subject};
use gristmill_storage::fs::{BufferedFile, Fs, RealFs};
use gristmill_storage::publish::place_file;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Bytes that are written at a time.
const WRITE_BYTES: usize = 1 << 20;

/// Result of a repair.
#[derive(Clone, Debug, Serialize)]
pub struct RepairReport {
    /// Documents in the file.
    pub documents: u64,
    /// Documents whose offset was repaired; 0 if there was no error.
    pub repaired: u64,
    /// The first of them, counted from 0.
    pub first: u64,
    /// Path of the backup of the original file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backup: Option<String>,
    /// The file as written.
    pub files: Vec<OutputFile>,
    /// Problems and notes, the first 1,000 of each severity.
    pub problems: Vec<Problem>,
    /// Counts of all problems and notes.
    #[serde(skip)]
    pub counts: Vec<(Severity, ProblemKind, u64)>,
    /// Wall time.
    #[serde(rename = "elapsed_seconds", serialize_with = "crate::job::as_seconds")]
    pub elapsed: Duration,
}

/// Repairs a packed file in the background. With `is_dry` it only reports what would be done. A correct file is left unchanged; one with
/// other damage is a failure.
pub fn start_repair(path: &Path, is_dry: bool, options: RunOptions) -> Outcome<Task<RepairReport>> {
    start_repair_on(path, is_dry, options, Arc::new(RealFs))
}

/// Like [`start_repair`], but writes through `fs`, which lets tests inject failures.
pub(super) fn start_repair_on(
    path: &Path,
    is_dry: bool,
    options: RunOptions,
    fs: Arc<dyn Fs>,
) -> Outcome<Task<RepairReport>> {
    let path = path.to_owned();
    Task::start("repair", options, fs, move |context| run(&path, is_dry, context))
}

fn run(path: &Path, is_dry: bool, context: &TaskContext) -> Outcome<RepairReport> {
    context.phase_of(Phase::Scan, "document", "looking at the index");
    let repair = Repair::look(path, &context.handles())?;
    let mut report = RepairReport {
        documents: repair.documents(),
        repaired: repair.misplaced(),
        first: repair.first(),
        backup: None,
        files: Vec::new(),
        problems: Vec::new(),
        counts: Vec::new(),
        elapsed: context.elapsed(),
    };
    if repair.misplaced() > 0 && !is_dry {
        write(path, &repair, context, &mut report)?;
    }
    report.problems = context.problems.to_vec();
    report.counts = context.problems.counts();
    report.elapsed = context.elapsed();
    Ok(report)
}

fn write(path: &Path, repair: &Repair, context: &TaskContext, report: &mut RepairReport) -> Outcome<()> {
    let fs = &*context.fs;
    // The target of a symbolic link is repaired in its place.
    let target = std::fs::canonicalize(path).map_err(|error| Failure::io("opening", path, &error))?;
    make_parent(fs, &target)?;
    let place = ExclusiveOutput::take(fs, &target, &context.options)?;
    let draft = place.draft(0);
    let mut file = BufferedFile::new(fs.create_file(&draft)?, WRITE_BYTES);
    write_repaired(repair, &mut file, &context.handles())?;
    let bytes = file.finish()?;
    context.cancel.check()?;
    context.phase(Phase::Publish, "keeping the old file, and putting the new one in its place");
    let backup = free_name(&target)?;
    fs.hard_link_or_copy(&target, &backup)?;
    if let Err(failure) = place_file(fs, &draft, &target, repair.mode()) {
        let _ = fs.remove_file(&backup);
        return Err(failure);
    }
    let message = "the documents of merged files are where their tokens are now; the file as it was is kept";
    let note = Problem::note(ProblemKind::IndexMismatch, Subject::path(path), message);
    context.problems.report(note.with_hint(format!("once all is well: rm {}", backup.display())))?;
    report.backup = Some(backup.display().to_string());
    report.files.push(OutputFile { name: path.display().to_string(), bytes, replaces: true });
    Ok(())
}

/// Returns an unused name next to a file.
fn free_name(path: &Path) -> Outcome<PathBuf> {
    for number in 0..1_000 {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(".before-repair");
        if number > 0 {
            name.push(format!("-{number}"));
        }
        let backup = path.with_file_name(name);
        if std::fs::symlink_metadata(&backup).is_err() {
            return Ok(backup);
        }
    }
    Err(Failure::environment("keeping the old file", "there are a thousand backups of it already")
        .on(Subject::path(path)))
}
