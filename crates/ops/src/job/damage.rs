//! Excludes damaged tables and row groups if the user accepts problems; otherwise damage ends the run.
//!
//! Row groups are decoded before the run, so that the excluded rows do not depend on threads or block sizes.

use super::pool::run_units;
use gristmill_core::{Cancel, ExitClass, Failure, Outcome, Problem, ProblemKind, RunOptions};
use gristmill_data::source::documents::{DocumentBlock, DocumentFields, Position, TextFile};
use gristmill_storage::read::stamp_at;
use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Size of the blocks in which rows are decoded, in bytes of text.
const BLOCK_BYTES: usize = 1 << 20;

/// The damaged row groups of files.
#[derive(Debug, Default)]
pub(crate) struct DamagedRows {
    by_path: HashMap<PathBuf, Vec<Range<u64>>>,
    /// One problem for each damaged row group.
    pub(crate) problems: Vec<Problem>,
}

impl DamagedRows {
    /// Decodes the fields of all row groups that will be read. Returns an empty result unless the options exclude damage.
    ///
    /// # Errors
    /// A file cannot be read, or no row group of any file can be decoded.
    pub(crate) fn find(
        files: &[&TextFile],
        fields: &DocumentFields,
        options: &RunOptions,
        cancel: &Cancel,
    ) -> Outcome<Self> {
        let mut found = Self::default();
        if !options.omits_damage {
            return Ok(found);
        }
        let groups = run_units(files, options.threads, cancel, |file| file.source.row_groups(file))?;
        let has_others = groups.iter().any(Vec::is_empty);
        let is_read = |file: &TextFile, group: &Range<u64>| {
            file.rows.as_ref().is_none_or(|rows| group.start < rows.range.end && rows.range.start < group.end)
        };
        let units: Vec<(&TextFile, Range<u64>)> = files
            .iter()
            .zip(groups)
            .flat_map(|(file, groups)| groups.into_iter().map(|group| (*file, group)))
            .filter(|(file, group)| is_read(file, group))
            .collect();
        let failures =
            run_units(&units, options.threads, cancel, |(file, rows)| damage_of(file, rows, fields, cancel))?;
        let is_any_left = has_others || failures.iter().any(Option::is_none);
        for ((file, rows), failure) in units.into_iter().zip(failures) {
            let Some(failure) = failure else { continue };
            if !is_any_left {
                return Err(failure);
            }
            let effect = format!("rows {} to {} are left out", rows.start, rows.end - 1);
            found.problems.push(Problem::of_failure(ProblemKind::BadFile, failure).with_effect(&effect));
            found.by_path.entry(file.path.clone()).or_default().push(rows);
        }
        Ok(found)
    }

    /// Returns the damaged rows of a file.
    pub(crate) fn of(&self, path: &Path) -> Vec<Range<u64>> {
        self.by_path.get(path).cloned().unwrap_or_default()
    }
}

/// Removes damaged tables, in which rows cannot be located, from the list if the options exclude damage. Returns a problem for each.
///
/// # Errors
/// A file cannot be read, or no file remains.
pub(crate) fn leave_out_files(
    files: &mut Vec<TextFile>,
    options: &RunOptions,
    cancel: &Cancel,
) -> Outcome<Vec<Problem>> {
    if !options.omits_damage {
        return Ok(Vec::new());
    }
    let failures = run_units(files, options.threads, cancel, |file| failure_of(file, || file.source.row_groups(file)))?;
    let is_any_left = failures.iter().any(Option::is_none);
    let mut problems = Vec::new();
    for failure in failures.iter().flatten() {
        if !is_any_left {
            return Err(failure.clone());
        }
        let problem = Problem::of_failure(ProblemKind::BadFile, failure.clone());
        problems.push(problem.with_effect("the file is left out"));
    }
    let mut failures = failures.iter();
    files.retain(|_| failures.next().is_some_and(Option::is_none));
    Ok(problems)
}

/// Decodes rows of a file. Returns the failure if it is caused by damage.
fn damage_of(file: &TextFile, rows: &Range<u64>, fields: &DocumentFields, cancel: &Cancel) -> Outcome<Option<Failure>> {
    let decode = || -> Outcome<()> {
        // Excludes later rows, because a block may contain rows of several groups.
        let others = rows.end..u64::MAX;
        let file = &TextFile { damaged: Vec::from([others]), ..file.clone() };
        let from = Position { line: rows.start, offset: 0 };
        let (mut reader, mut spare) = (file.source.open(file, fields, from, BLOCK_BYTES, cancel)?, Vec::new());
        while reader.position().line < rows.end {
            let Some(block) = reader.next(spare)? else { break };
            if let DocumentBlock::Rows(block) = &block {
                block.decode(&mut |_| cancel.check())?;
            }
            spare = block.into_memory();
        }
        Ok(())
    };
    failure_of(file, decode)
}

/// Runs a step. Returns its failure if it is caused by damage, and any other failure as an error.
fn failure_of<T>(file: &TextFile, step: impl FnOnce() -> Outcome<T>) -> Outcome<Option<Failure>> {
    match step() {
        Ok(_) => Ok(None),
        // A file that changes while it is read is being written, not damaged.
        Err(failure) if failure.class == ExitClass::Data && stamp_at(&file.path)? == file.stamp => Ok(Some(failure)),
        Err(failure) => Err(failure),
    }
}
