//! Runs that are not of this process: those that were left to finish, those of another terminal, and those that were stopped. Found
//! by the folders that they leave beside data sets and outputs that were used lately, by a worker: a disk may be slow.

use crate::tui::keymap::{Action, Context};
use crate::tui::recent;
use crate::tui::screen::{Effect, UiEnv};
use crate::tui::screens::home::go_on;
use crate::tui::work::Latest;
use gristmill_core::text::count;
use gristmill_ops::engine::plan::file::PlanFile;
use gristmill_ops::engine::plan::shell_quote;
use gristmill_ops::job::unfinished::{self, begun, InterruptedRun, State, Unfinished};
use gristmill_storage::run_folder::RunFolder;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often it is looked again.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// A run of another process, or one that was stopped.
#[derive(Clone, Debug)]
pub struct OtherRun {
    /// In the person's words: `pack tokens`. May come from the data.
    pub title: String,
    /// The data set, or the output.
    pub path: PathBuf,
    /// One line under the title: where it is.
    pub place: String,
    /// How it stands, in whole sentences.
    pub told: Vec<String>,
    /// What can be done about it.
    pub way: Option<String>,
    run: Run,
}

#[derive(Clone, Debug)]
enum Run {
    /// Another process works on it.
    Works,
    /// An interrupted prepare, with its answers.
    Prepare,
    /// A prepare that was stopped at its very end: whoever opens the data set ends it.
    Published,
    /// An interrupted pack or dedup.
    Begun(Arc<InterruptedRun>),
    /// Nothing can be done from here.
    Lost,
}

impl OtherRun {
    /// Whether somebody works on it.
    pub fn is_running(&self) -> bool {
        matches!(self.run, Run::Works)
    }

    /// Why it cannot be gone on with from here; `None` where it can.
    pub fn why_not_again(&self) -> Option<String> {
        match &self.run {
            Run::Works => Some("another process works on it".into()),
            Run::Lost => Some("its answers are not known here; the same command begins anew".into()),
            Run::Prepare | Run::Published | Run::Begun(_) => None,
        }
    }

    /// Opens what goes on with it.
    pub fn again(&self, env: &UiEnv) -> Vec<Effect> {
        match &self.run {
            Run::Prepare => vec![Effect::ResumePath(self.path.clone())],
            Run::Published => vec![Effect::OpenPath(self.path.clone())],
            Run::Begun(begun) => {
                recent::remember(&env.state_dir, &self.path);
                go_on(begun, env)
            }
            Run::Works | Run::Lost => Vec::new(),
        }
    }
}

/// Looks for such runs again and again.
pub struct ProcessWatcher {
    worker: Latest<(), Vec<OtherRun>>,
    asked: Instant,
    found: Vec<OtherRun>,
}

impl ProcessWatcher {
    /// Starts looking.
    pub fn start(env: &UiEnv) -> Self {
        let asker = env.clone();
        let mut worker = Latest::start("jobs", env.wake.clone(), move |()| look(&asker));
        worker.ask(());
        Self { worker, asked: Instant::now(), found: Vec::new() }
    }

    /// Takes what was found meanwhile, and looks again when it is time. Returns whether something came.
    pub fn follow(&mut self) -> bool {
        let found = self.worker.take();
        let came = found.is_some();
        if let Some(found) = found {
            self.found = found;
        }
        if !self.worker.is_waiting() && self.asked.elapsed() >= LOOK_EVERY {
            self.asked = Instant::now();
            self.worker.ask(());
        }
        came
    }

    /// What was found last, without the runs on paths that jobs of this process are about.
    pub fn others(&self, own: &[PathBuf]) -> Vec<OtherRun> {
        self.found.iter().filter(|run| !own.contains(&absolute(&run.path))).cloned().collect()
    }
}

/// A path that can be compared with others.
pub fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

fn look(env: &UiEnv) -> Vec<OtherRun> {
    let here: Vec<PathBuf> = std::env::current_dir().into_iter().collect();
    let lately = recent::load(&env.state_dir);
    // What cannot be looked into has no runs that could be shown; `gristmill jobs` tells why.
    let found = unfinished::known(&here, &lately).unwrap_or_default();
    found.into_iter().map(|run| tell(run, env)).collect()
}

fn tell(run: Unfinished, env: &UiEnv) -> OtherRun {
    let Unfinished { path, own, state } = run;
    let is_prepare = own == RunFolder::for_webdataset(&path);
    let begun = begun(&own);
    let verb = match begun.as_ref().map(|begun| &begun.plan) {
        Some(PlanFile::Pack(_)) => "pack",
        Some(PlanFile::Dedup(_)) => "dedup",
        _ => "prepare",
    };
    let name = path.file_name().map_or_else(|| path.to_string_lossy(), |name| name.to_string_lossy()).into_owned();
    let stopped = match (is_prepare, begun) {
        (true, _) if matches!(state, State::Publishing(_)) => Run::Published,
        (true, _) => Run::Prepare,
        (false, Some(begun)) if matches!(begun.plan, PlanFile::Pack(_) | PlanFile::Dedup(_)) => {
            Run::Begun(begun.into())
        }
        _ => Run::Lost,
    };
    let (told, run) = match state {
        State::Running(by) => {
            let who = format!("Process {} on {} works on it.", by.process.pid, by.process.host);
            (vec![who, "What it makes appears when it is done.".to_owned()], Run::Works)
        }
        State::Publishing(files) => {
            let waiting = count(files as u64, "file");
            (vec![format!("It was stopped while it put files in their place; {waiting} left.")], stopped)
        }
        State::Interrupted => (vec!["It was stopped. What it had done is kept.".to_owned()], stopped),
        State::Lost => (vec!["It was stopped, and nothing of it is kept.".to_owned()], Run::Lost),
    };
    let way = match &run {
        Run::Works => None,
        Run::Lost => Some("The same command begins anew.".to_owned()),
        Run::Prepare | Run::Published | Run::Begun(_) => Some(way_on(&own, env)),
    };
    let place = env.short_path(&path);
    OtherRun { title: format!("{verb} {name}"), path, place, told, way, run }
}

/// How to go on, by the key and without a screen.
fn way_on(own: &RunFolder, env: &UiEnv) -> String {
    let key = env.key(Context::Jobs, Action::Retry);
    let plan = own.running_plan();
    if !plan.is_file() {
        return format!("{key} goes on with it.");
    }
    format!("{key} goes on with it; without a screen: gristmill run {}", shell_quote(&plan.to_string_lossy()))
}
