//! `jobs`: what runs and what was interrupted, told from the folders that runs leave beside their data sets.

use super::context::Context;
use super::end::{Done, Finished};
use super::table::{Align, Table};
use crate::formats::energon::jsonl_idx::index_path;
use crate::model::text::display_safe;
use crate::model::Outcome;
use crate::storage::lock::DatasetLock;
use crate::storage::own::OwnFolder;
use crate::storage::{publish, xdg};
use crate::tui::recent;
use serde_json::{json, Map};
use std::path::{Path, PathBuf};

/// A run that left something behind.
struct Job {
    path: PathBuf,
    state: &'static str,
    detail: String,
    next: String,
}

/// Lists jobs of the data sets opened lately, of the current folder, and of those named.
pub fn run(paths: &[PathBuf], context: &Context) -> Finished {
    let mut places: Vec<PathBuf> = Vec::new();
    let current = std::env::current_dir().into_iter();
    for path in paths.iter().cloned().chain(recent::load(&xdg::state_dir())).chain(current) {
        let path = std::path::absolute(&path).unwrap_or(path);
        if !places.contains(&path) {
            places.push(path);
        }
    }
    let mut jobs = Vec::new();
    for place in &places {
        jobs.extend(look(place)?);
    }
    if jobs.is_empty() {
        context.printer.line("No job runs, and none was interrupted.");
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
        context.printer.line(format!("To go on: {}", job.next));
    }
    let values: Vec<_> = jobs
        .iter()
        .map(|job| json!({ "path": job.path, "state": job.state, "detail": job.detail, "command": job.next }))
        .collect();
    Ok(Done::ok(Map::from_iter([("jobs".to_owned(), json!(values))])))
}

fn look(path: &Path) -> Outcome<Option<Job>> {
    let is_jsonl = super::jsonl::is_jsonl(&path.to_string_lossy());
    let own = match is_jsonl {
        true => OwnFolder::for_output(&index_path(path)),
        false => OwnFolder::for_webdataset(path),
    };
    if !own.exists() {
        return Ok(None);
    }
    let job = |state, detail, next| Some(Job { path: path.to_owned(), state, detail, next });
    if let Some(holder) = DatasetLock::holder(&own)? {
        let detail = format!("process {} on {}", holder.process.pid, holder.process.host);
        return Ok(job("running", detail, String::new()));
    }
    if is_jsonl {
        // Nothing of it is kept: the next run begins anew and tidies up.
        let next = format!("gristmill prepare {}", crate::engine::plan::shell_quote(&path.to_string_lossy()));
        return Ok(job("interrupted", "the index was not finished".to_owned(), next));
    }
    let finish = format!("gristmill info {}", crate::engine::plan::shell_quote(&path.to_string_lossy()));
    if let Some(files) = publish::pending(&own)? {
        return Ok(job("publishing", format!("{} files wait for their place", files.len()), finish));
    }
    if own.journal().exists() {
        let plan = own.running_plan();
        let next = match plan.is_file() {
            true => format!("gristmill run {}", crate::engine::plan::shell_quote(&plan.to_string_lossy())),
            false => String::new(),
        };
        return Ok(job("interrupted", "what was scanned is kept; the same command goes on".to_owned(), next));
    }
    Ok(None)
}
