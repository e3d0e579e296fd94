#![expect(clippy::disallowed_methods, reason = "test data need not be published")]

mod found;
mod run;

use super::ranges::Ranges;
use super::state::RangesPage;
use super::view;
use crate::tui::keymap::Action;
use crate::tui::screen::UiEnv;
use crate::tui::testing::{self, Size};
use gristmill_core::RunOptions;
use std::path::Path;

const NOTICE: &str = "We use cookies to improve your experience. By continuing to browse you agree to our terms.";
const FOOTER: &str = "Grüße aus Köln – 東京 und Москва, alle Rechte vorbehalten.";

/// Writes two files with a notice and a footer in several documents, and with one duplicate document.
fn write_files(folder: &Path) {
    let document = |words: &str| format!("{}\n", serde_json::json!({ "id": 1, "text": words }));
    let first = [
        format!("{NOTICE}\nThe first article is about boats, and about the weather on the day when they sailed."),
        "A short one.".to_owned(),
        format!("The second article: nothing that was said before. {FOOTER}"),
    ];
    let second = [
        format!("Another site.\n\n{NOTICE}\n\nIts text has a \u{1b}[31mred\u{202e} end.\n{FOOTER}"),
        "A short one, again of its own.".to_owned(),
        first[0].clone(),
    ];
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(folder.join("a.jsonl"), first.map(|words| document(&words)).concat()).unwrap();
    std::fs::write(folder.join("b.jsonl"), second.map(|words| document(&words)).concat()).unwrap();
}

fn env(folder: &Path) -> UiEnv {
    UiEnv::new(RunOptions::default(), folder.join("state"))
}

fn draw(page: &mut RangesPage<impl Ranges>, size: Size) -> String {
    testing::shown(size, |frame, area, ui| view::draw(page, frame, area, ui))
}

/// Waits until everything visible is available, then compares the page with its snapshots at all sizes.
fn compare(name: &str, page: &mut RangesPage<impl Ranges>) {
    testing::compare(name, &testing::SCREENS, |size| {
        page.scroll.scrolls_to_focus = true;
        draw(page, size);
        testing::settle(page);
        page.scroll.scrolls_to_focus = true;
        draw(page, size)
    });
}

/// Runs an action and waits for its results.
fn act(page: &mut RangesPage<impl Ranges>, action: Action) -> Result<(), &'static str> {
    let result = page.handle_action(action);
    testing::settle(page);
    result
}

/// Returns the position: the file and line of the document, and the index of the range.
fn spot(page: &RangesPage<impl Ranges>) -> (&str, u64, usize) {
    let spot = page.displayed.as_ref().unwrap();
    let place = page.ranges.place(spot.at).unwrap();
    (place.name, place.line, spot.range)
}

/// Presses every key in every state at many sizes; `between` may change the page in each round.
fn survive<R: Ranges>(page: &mut RangesPage<R>, mut between: impl FnMut(u16, &mut RangesPage<R>)) {
    let keys = [
        Action::FindNext,
        Action::KeptCopy,
        Action::Passages,
        Action::Down,
        Action::NextPane,
        Action::Last,
        Action::ByFile,
        Action::PageDown,
        Action::KeptCopy,
        Action::JumpBack,
        Action::Up,
        Action::FindPrevious,
    ];
    for (round, key) in (0_u16..200).zip(keys.iter().cycle().step_by(5).chain(keys.iter().cycle())) {
        let _ = page.handle_action(*key);
        if round % 7 == 0 {
            page.close();
        }
        between(round, page);
        draw(page, (1 + round % 90, 1 + round % 25, round % 2 == 0));
    }
}
