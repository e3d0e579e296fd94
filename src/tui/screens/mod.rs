//! One module per screen.

pub mod browse;
pub mod dedup;
pub mod facts;
pub mod home;
pub mod jobs;
pub mod media;
pub mod mix;
pub mod mixture;
pub mod pack;
pub mod page;
pub mod picker;
pub mod prepare;
pub mod problems;
pub mod repeats;
pub mod run;
pub mod splits;
mod text_files;

pub use home::Home;
pub use jobs::JobsPanel;
pub use page::{Page, PageLine, Tone};
pub use picker::Picker;

use super::guided::{self, FormScreen};
use super::screen::{Screen, UiEnv};
use gristmill_core::PreparePlan;
use gristmill_ops::operations::{erase, interrupted_run, Prepare};
use gristmill_storage::run_folder::RunFolder;
use prepare::PrepareGuide;
use std::path::PathBuf;

/// Returns the page that lists what is wrong with the settings and how to repair it; shown before any other screen.
pub fn settings_page(mistakes: &[(String, Option<String>)]) -> Page {
    let mut lines = vec![
        PageLine::new(Tone::Heading, "Some of your settings cannot be used. All others are in force."),
        PageLine::new(Tone::Muted, "Go back to go on. `gristmill doctor` shows this again."),
    ];
    for (told, hint) in mistakes {
        lines.push(PageLine::new(Tone::Plain, ""));
        lines.push(PageLine::labelled(Tone::Warn, "! ", told));
        lines.extend(hint.iter().map(|hint| PageLine::labelled(Tone::Plain, "  ", hint)));
    }
    Page::new(vec!["settings".to_owned()], lines)
}

/// Opens the guided prepare of a data set.
pub fn open_prepare(path: PathBuf, env: UiEnv) -> Box<dyn Screen> {
    guided::open(erase::<Prepare>(PreparePlan::new(path.to_string_lossy())), env)
}

/// Opens the guided prepare of a data set whose preparation was interrupted, with the answers of that run.
pub fn resume_prepare(path: PathBuf, env: UiEnv) -> Box<dyn Screen> {
    if let Some(run) = interrupted_run(&RunFolder::for_webdataset(&path)) {
        return guided::resume(run.plan, run.scratch, &env);
    }
    let plan = PreparePlan::new(path.to_string_lossy());
    let notice = "the answers of the interrupted run are not known: give them again; what fits is taken over";
    let guide = PrepareGuide::start(&plan, &env).with_notice(notice);
    Box::new(FormScreen::with_guide(erase::<Prepare>(plan), Box::new(guide), env))
}
