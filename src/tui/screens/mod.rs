//! One module per screen.

pub mod home;
pub mod jobs_panel;
pub mod page;
pub mod picker;
pub mod question;

pub use home::Home;
pub use jobs_panel::JobsPanel;
pub use page::{Page, PageLine, Tone};
pub use picker::Picker;
pub use question::{Answer, Question};

use super::screen::{Screen, UiEnv};
use crate::model::PreparePlan;
use std::path::PathBuf;

/// The guided prepare of a data set.
pub fn open_prepare(path: PathBuf, env: UiEnv) -> Box<dyn Screen> {
    let _ = env;
    let line = PageLine::new(Tone::Plain, path.to_string_lossy());
    Box::new(Page::new(vec!["prepare".to_owned()], vec![line]))
}

/// The guided prepare of a data set, with answers that are given already.
pub fn open_prepare_with(path: PathBuf, plan: PreparePlan, env: UiEnv) -> Box<dyn Screen> {
    let _ = plan;
    open_prepare(path, env)
}
