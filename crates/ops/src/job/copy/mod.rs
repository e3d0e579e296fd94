//! Copies files between disks and stores: finds them, compares them with their targets, and copies those that differ.

mod compare;
mod report;
mod rounds;
mod sources;
mod transfer;

#[cfg(test)]
mod tests;

use super::task::TaskContext;
use super::Phase;
use compare::compare;
use gristmill_core::text::bytes;
use gristmill_core::{Failure, Outcome, Subject};
use gristmill_storage::files::FileInfo;
use gristmill_storage::location::is_remote;
use gristmill_storage::stores::is_bucket;
use gristmill_storage::{files, space};
pub use report::{CopyReport, PlannedCopy, SkippedFiles};
use serde::{Deserialize, Serialize};
use sources::find_items;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use transfer::{copy_items, unfinished_bytes};

const ACTIVITY: &str = "copying";
/// Number of files that are copied or compared at the same time if a store is involved.
const FILES_AT_ONCE: usize = 32;

/// Sources and target of a copy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct CopyPlan {
    /// Version of the plan format, [`PLAN_VERSION`](gristmill_core::plan::PLAN_VERSION).
    pub version: u32,
    /// Files, folders and patterns, on this machine or in stores.
    pub sources: Vec<PathBuf>,
    /// The file or folder to write. A path that ends with a slash is a folder.
    pub target: PathBuf,
    /// Patterns, one of which each file must match; empty to accept all files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub include: Vec<String>,
    /// Patterns that a file must not match.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<String>,
    /// Whether files that are equal to their targets are skipped, and other targets are replaced.
    #[serde(default)]
    pub if_changed: bool,
    /// Whether all targets are replaced.
    #[serde(default)]
    pub overwrite: bool,
}

/// A file to copy.
#[derive(Clone, Debug, PartialEq, Eq)]
struct CopyItem {
    from: PathBuf,
    to: PathBuf,
    info: FileInfo,
}

/// Target of the files.
struct Target {
    /// Path without a slash at its end.
    path: PathBuf,
    /// Whether the target is a folder, into which even a single file is copied.
    is_folder: bool,
    /// Whether the only source is a file.
    has_single_source_file: bool,
}

impl Target {
    fn of(plan: &CopyPlan) -> Outcome<Self> {
        let path = files::without_slash(&plan.target);
        let is_given_as_folder = plan.target.as_os_str().as_encoded_bytes().ends_with(b"/");
        let there = match files::metadata(&path) {
            Ok(info) => Some(info),
            // A path below a file is reported when the targets are compared.
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => None,
            Err(error) => match Failure::io(ACTIVITY, &path, &error) {
                failure if !is_remote(&path) || failure.kind.is_none() => return Err(failure),
                // The credentials may not look: an object that is replaced in any case can be put without.
                _ if replaces_all(plan) => None,
                failure => {
                    let right = failure.hint.as_ref().map(|hint| format!("{hint}; or ")).unwrap_or_default();
                    return Err(failure.with_hint(format!("{right}--force-overwrite puts files without looking")));
                }
            },
        };
        let is_folder = is_given_as_folder
            || plan.sources.len() > 1
            || is_bucket(&path)
            || there.is_some_and(|there| there.is_dir());
        let is_file = there.is_some_and(|there| !there.is_dir()) && !is_remote(&path);
        if is_folder && is_file {
            return Err(not_a_folder(&path));
        }
        let has_single_source_file = matches!(plan.sources.as_slice(), [source] if files::is_file(source));
        Ok(Self { path, is_folder, has_single_source_file })
    }
}

/// Returns the number of files to copy or compare at the same time.
fn threads(items: &[CopyItem], context: &TaskContext) -> usize {
    let is_store = items.iter().any(|item| is_remote(&item.from) || is_remote(&item.to));
    if is_store {
        FILES_AT_ONCE
    } else {
        context.options.threads
    }
}

/// Whether targets are replaced whatever they are.
fn replaces_all(plan: &CopyPlan) -> bool {
    plan.overwrite && !plan.if_changed
}

fn not_a_folder(path: &Path) -> Failure {
    Failure::usage(ACTIVITY, "it is a file, not a folder").on(Subject::path(path)).with_hint("give another target")
}

/// Copies files according to a plan. Without `is_written`, determines which files would be copied.
pub(crate) fn run_copy(plan: &CopyPlan, is_written: bool, context: &TaskContext) -> Outcome<CopyReport> {
    context.phase_of(Phase::Open, "input file", "looking for files");
    let target = Target::of(plan)?;
    let items = find_items(plan, &target, context)?;
    let (items, skipped) = compare(plan, &target, items, context)?;
    let mut report = CopyReport { target: target.path.clone(), skipped, ..CopyReport::default() };
    if is_written {
        check_space(plan, &target, &items)?;
        report.count(&copy_items(plan, &target, &items, context)?);
    } else {
        report.plan(items);
    }
    report.findings = context.run_findings();
    Ok(report)
}

/// Checks that a target on this machine has enough space for the files.
fn check_space(plan: &CopyPlan, target: &Target, items: &[CopyItem]) -> Outcome<()> {
    if is_remote(&target.path) {
        return Ok(());
    }
    let all: u64 = items.iter().map(|item| item.info.len()).sum();
    let needed = all.saturating_sub(unfinished_bytes(plan, target, items));
    let free = space::free_bytes(&target.path)?;
    match needed > free {
        true => {
            let why = format!("{} are needed, and {} are free", bytes(needed), bytes(free));
            Err(Failure::environment(ACTIVITY, why).on(Subject::path(&target.path)).with_hint("free some space"))
        }
        false => Ok(()),
    }
}
