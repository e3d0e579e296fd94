//! Repairs of files: the report, and the replacement of the original file, which is kept as a backup.

use super::exclusive_output::ExclusiveOutput;
use super::report::{OutputFile, RunFindings};
use super::task::TaskContext;
use super::Phase;
use gristmill_core::{Failure, Outcome, Problem, ProblemKind, ProblemSink as _, Subject};
use gristmill_storage::files;
use gristmill_storage::fs::BufferedFile;
use gristmill_storage::location::is_remote;
use gristmill_storage::publish::place_file;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Bytes that are written at a time.
const WRITE_BYTES: usize = 1 << 20;

/// Result of a repair.
#[derive(Clone, Debug, Default, Serialize)]
pub struct RepairReport {
    /// Number of documents or sequences in the file.
    pub documents: u64,
    /// Nouns for what was repaired and where: `positions`, `document`.
    #[serde(skip)]
    pub what: (&'static str, &'static str),
    /// Number of repaired documents; 0 if there was no error.
    pub repaired: u64,
    /// The first repaired document, counted from 0.
    pub first: u64,
    /// Path of the backup of the original file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backup: Option<String>,
    /// The repaired file.
    pub files: Vec<OutputFile>,
    /// Problems, notes and time of the run.
    #[serde(flatten)]
    pub findings: RunFindings,
}

impl RepairReport {
    /// Creates the report of a repair that has not written a file yet.
    pub(crate) fn new(what: (&'static str, &'static str), documents: u64, repaired: u64, first: u64) -> Self {
        Self { documents, what, repaired, first, ..Self::default() }
    }

    /// Adds the findings and the duration.
    pub(crate) fn ended(self, context: &TaskContext) -> Self {
        Self { findings: context.run_findings(), ..self }
    }

    /// Replaces a file by the output of `write`, and keeps the original under another name. `message` describes the repair.
    pub(crate) fn replace(
        &mut self,
        path: &Path,
        mode: u32,
        message: &str,
        context: &TaskContext,
        write: impl FnOnce(&mut BufferedFile) -> Outcome<()>,
    ) -> Outcome<()> {
        let fs = &*context.fs;
        // If the path is a symbolic link, its target is repaired.
        let target = files::canonicalize(path).map_err(|error| Failure::io("opening", path, &error))?;
        let place = ExclusiveOutput::create(fs, &target, &context.options)?;
        let draft = place.draft(0);
        let mut file = BufferedFile::new(fs.create_file(&draft)?, WRITE_BYTES);
        write(&mut file)?;
        let bytes = file.finish()?;
        context.cancel.check()?;
        context.phase(Phase::Publish, "keeping the old file, and putting the new one in its place");
        let backup = free_name(&target)?;
        fs.hard_link_or_copy(&target, &backup)?;
        if let Err(failure) = place_file(fs, &draft, &target, mode) {
            let _ = fs.remove_file(&backup);
            return Err(failure);
        }
        let note = Problem::note(ProblemKind::IndexMismatch, Subject::path(path), message);
        let remove = if is_remote(&backup) { "remove" } else { "rm" };
        context
            .problems
            .report(note.with_hint(format!("once the repaired file is verified: {remove} {}", backup.display())))?;
        self.backup = Some(backup.display().to_string());
        self.files.push(OutputFile { name: path.display().to_string(), bytes, replaces: true });
        Ok(())
    }
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
        let failed = |error: &std::io::Error| Failure::io("keeping the old file", &backup, error);
        if !files::try_exists(&backup).map_err(|error| failed(&error))? && !files::is_symlink(&backup) {
            return Ok(backup);
        }
    }
    Err(Failure::environment("keeping the old file", "there are a thousand backups of it already")
        .on(Subject::path(path)))
}
