//! Unfinished runs of operations that can be resumed. The work of such a run is in its own folder next to the output until the output is
//! complete; an output that is not visible yet has an entry for its run.

use super::entry::{name_of, EntryFacts, HomeEntry, PreparationState};
use crate::tui::form;
use crate::tui::screen::{Effect, UiEnv};
use gristmill_core::DatasetKind;
use gristmill_ops::job::unfinished;
use gristmill_ops::operations::{interrupted_run, InterruptedRun};
use gristmill_storage::files;
use gristmill_storage::identity::ProcessIdentity;
use gristmill_storage::lock::Holder;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Returns the message about the stopped run of an entry.
pub(super) fn state_text(seen: &EntryFacts) -> String {
    let operation = match seen.begun.as_ref().map(|begun| &begun.plan) {
        Some(plan) => format!(" of {}", plan.operation().name()),
        _ if seen.can_prepare() => " of prepare".to_owned(),
        _ => String::new(),
    };
    format!("A run{operation} was started here and did not finish.")
}

/// Returns the state of an entry that is locked by a process.
pub(super) fn locked_by(holder: &Holder) -> PreparationState {
    let process = &holder.process;
    PreparationState::Locked(match *process == ProcessIdentity::current() {
        true => "a job of this program".to_owned(),
        false => format!("process {} on {}", process.pid, process.host),
    })
}

/// Returns entries for the outputs of unfinished runs in a folder that are not visible yet.
pub(super) fn entries(folder: &Path, known: &[HomeEntry]) -> Vec<HomeEntry> {
    let known: HashSet<&Path> = known.iter().map(|entry| entry.path.as_path()).collect();
    let found = unfinished::unfinished_runs_in(folder).unwrap_or_default().into_iter();
    let shown =
        found.filter(|run| !matches!(run.state, unfinished::State::Lost) && !known.contains(run.path.as_path()));
    shown.map(|run| entry(run.path)).collect()
}

fn entry(path: PathBuf) -> HomeEntry {
    let name = path.file_name().map(name_of).unwrap_or_default();
    HomeEntry { path, name, is_folder: false, bytes: 0 }
}

/// Adds to the facts of an entry whether a run is working on it, or was stopped.
pub(super) fn add_state(path: &Path, seen: EntryFacts) -> EntryFacts {
    let Ok(Some(run)) = unfinished::of_output(path) else { return seen };
    let is_begun = !files::is_taken(path);
    let kind = if is_begun { DatasetKind::OtherFile } else { seen.kind };
    match run.state {
        unfinished::State::Lost => seen,
        unfinished::State::Running(by) => EntryFacts { state: locked_by(&by), kind, is_begun, ..seen },
        unfinished::State::Publishing(_) | unfinished::State::Interrupted => EntryFacts {
            state: PreparationState::Interrupted,
            kind,
            is_begun,
            begun: interrupted_run(&run.run_folder).map(Arc::new),
            ..seen
        },
    }
}

/// Opens the review of a stopped run, which the run resumes.
pub fn resume(begun: &InterruptedRun, env: &UiEnv) -> Vec<Effect> {
    let screen = form::resume(begun.plan.boxed_clone(), begun.scratch.clone(), env);
    vec![Effect::Push(screen)]
}
