//! `jobs`: lists running and interrupted jobs, which are found by their own folders next to data sets and outputs.

use super::context::Context;
use super::exit::{CommandResult, CommandSuccess};
use crate::tui::recent;
use gristmill_core::table::{Align, Table};
use gristmill_core::text::shell_quote;
use gristmill_core::text::{count_verb, display_safe};
use gristmill_core::{Failure, Subject};
use gristmill_ops::job::unfinished::{self, resume_command, State, UnfinishedRun};
use gristmill_storage::files;
use gristmill_storage::run_folder::RunFolder;
use gristmill_storage::xdg;
use serde_json::{json, Map};
use std::path::{Path, PathBuf};

/// A run that is active or was interrupted.
struct Job {
    path: PathBuf,
    state: &'static str,
    detail: String,
    next: String,
}

/// Lists the jobs of recently used data sets and outputs, of those in the current folder, and of the given paths.
pub fn run(paths: &[PathBuf], context: &Context) -> CommandResult {
    if let Some(path) = unfinished::first_missing(paths)? {
        let failure =
            Failure::environment("looking for jobs", "no such file or folder, and no run has it as input or output");
        return Err(failure.on(Subject::path(path)).into());
    }
    let named: Vec<PathBuf> = paths.iter().cloned().chain(std::env::current_dir()).collect();
    let found = unfinished::known(&named, &recent::load(&xdg::state_dir()))?;
    let jobs: Vec<Job> = found.into_iter().map(job_of).collect();
    if jobs.is_empty() {
        context.printer.line("No running or interrupted jobs.");
    }
    let mut table = Table::new(&[("state", Align::Left), ("data set", Align::Left), ("", Align::Left)]);
    for job in &jobs {
        let path = job.path.to_string_lossy();
        table.row([job.state.to_owned(), display_safe(&path).into_owned(), display_safe(&job.detail).into_owned()]);
    }
    if !table.is_empty() {
        table.lines().iter().for_each(|line| context.printer.line(line));
    }
    for job in jobs.iter().filter(|job| !job.next.is_empty()) {
        context.printer.line(format!("To continue: {}", job.next));
    }
    let mounts = mounts();
    for (source, at) in &mounts {
        let (source, at) = (source.to_string_lossy(), at.to_string_lossy());
        let (source, end) = (display_safe(&source), shell_quote(&at));
        context.printer.line(format!("mounted: {source} at {}; umount {end} ends it", display_safe(&at)));
    }
    let mounts: Vec<_> = mounts.iter().map(|(path, at)| json!({ "path": path, "mounted_at": at })).collect();
    let values: Vec<_> = jobs
        .iter()
        .map(|job| json!({ "path": job.path, "state": job.state, "detail": job.detail, "command": job.next }))
        .collect();
    Ok(CommandSuccess::ok(Map::from_iter([("jobs".to_owned(), json!(values)), ("mounts".to_owned(), json!(mounts))])))
}

/// Returns the mounted data sets with their mount points.
#[cfg(all(feature = "mount", target_os = "linux"))]
fn mounts() -> Vec<(PathBuf, PathBuf)> {
    gristmill_fuse::list_mounts().into_iter().map(|mount| (mount.source.into(), mount.at)).collect()
}

#[cfg(not(all(feature = "mount", target_os = "linux")))]
fn mounts() -> Vec<(PathBuf, PathBuf)> {
    Vec::new()
}

/// Returns the description of a run, and the command that resumes it.
fn job_of(run: UnfinishedRun) -> Job {
    let UnfinishedRun { path, run_folder: own, state } = run;
    let is_prepare = own == RunFolder::for_webdataset(&path);
    let command = |words: &str, path: &Path| format!("gristmill {words} {}", shell_quote(&path.to_string_lossy()));
    let (state, detail, next) = match state {
        State::Running(by) => ("running", format!("process {} on {}", by.process.pid, by.process.host), String::new()),
        State::Publishing(files) => {
            let next = if is_prepare { command("info", &path) } else { resume_command(&own).unwrap_or_default() };
            ("publishing", format!("{} for their place", waiting(files)), next)
        }
        State::Interrupted => {
            let done = if is_prepare { "scanned" } else { "done" };
            (
                "interrupted",
                format!("what was {done} is kept; run the same command again to resume"),
                resume_command(&own).unwrap_or_default(),
            )
        }
        // To determine the kind of an output that does not exist, its folder would be listed for each run.
        State::Lost if files::is_file(&path) && super::kinds::is_jsonl(&path) => {
            ("interrupted", "the index was not finished".to_owned(), command("prepare", &path))
        }
        State::Lost => (
            "interrupted",
            "nothing is kept; run the same command again to start from the beginning".to_owned(),
            String::new(),
        ),
    };
    Job { path, state, detail, next }
}

fn waiting(files: usize) -> String {
    count_verb(files as u64, "file", "waits", "wait")
}
