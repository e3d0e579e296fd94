//! Writes plan files for all front ends.

use super::{is_plan, MAX_PLAN_BYTES};
use gristmill_core::{Failure, Outcome, Subject};
use gristmill_storage::files;
use gristmill_storage::fs::RealFs;
use gristmill_storage::publish::write_file;
use gristmill_storage::read::read_whole;
use std::path::Path;

/// Writes a plan to `path`, replacing an earlier plan.
///
/// # Errors
/// The file cannot be written, or a file with this name exists and is not a plan.
pub fn write_plan(path: &Path, yaml: &str) -> Outcome<()> {
    check_replaceable(path)?;
    write_file(&RealFs, path, yaml.as_bytes(), 0o644)
}

/// Checks that a plan can be written to a path: that nothing is there, an empty file, or a plan.
pub fn check_replaceable(path: &Path) -> Outcome<()> {
    let is_free = match files::symlink_metadata(path) {
        Ok(facts) if facts.is_dir() => false,
        Ok(facts) if !facts.is_empty() => {
            let there = read_whole(path, MAX_PLAN_BYTES).ok().flatten().unwrap_or_default();
            std::str::from_utf8(&there).is_ok_and(is_plan)
        }
        _ => true,
    };
    if is_free {
        return Ok(());
    }
    let failure = Failure::usage("saving the plan", "a file with this name exists, and it is not a plan");
    Err(failure.on(Subject::path(path)).with_hint("choose another name"))
}
