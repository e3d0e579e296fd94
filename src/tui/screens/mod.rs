//! One module per screen.

pub mod browse;
pub mod facts;
pub mod home;
pub mod jobs;
pub mod page;
pub mod picker;
pub mod problems;
pub mod repeats;
pub mod run;
pub mod splits;

pub use home::Home;
pub use jobs::JobsPanel;
pub use page::{Page, PageLine, Tone};
pub use picker::Picker;

/// Returns the page with the mistakes in the settings and their hints; shown before any other screen.
pub fn settings_page(mistakes: &[(String, Option<String>)]) -> Page {
    let mut lines = vec![
        PageLine::new(Tone::Heading, "Some of your settings cannot be used. All others are in force."),
        PageLine::new(Tone::Muted, "Esc continues. `gristmill doctor` shows this again."),
    ];
    for (message, hint) in mistakes {
        lines.push(PageLine::new(Tone::Plain, ""));
        lines.push(PageLine::labelled(Tone::Warn, "! ", message));
        lines.extend(hint.iter().map(|hint| PageLine::labelled(Tone::Plain, "  ", hint)));
    }
    Page::new(vec!["Settings".to_owned()], lines)
}
