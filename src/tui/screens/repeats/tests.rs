#![expect(clippy::disallowed_methods, reason = "test data need not be published")]

use super::state::{Listed, RepeatsState};
use super::view::{self, Told};
use super::{open, Target};
use crate::engine::dedup::find::Rule;
use crate::engine::dedup::look::{look, Repeats, Scope};
use crate::model::dedup::{Keep, TEXT_KEY};
use crate::model::{Cancel, DedupPlan, Failure, RunOptions};
use crate::source::dedup::list;
use crate::tui::keymap::Action;
use crate::tui::screen::{Effect, Input, UiEnv};
use crate::tui::testing;
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::Arc;

const NOTICE: &str = "We use cookies to improve your experience. By continuing to browse you agree to our terms.";
const FOOTER: &str = "Grüße aus Köln – 東京 und Москва, alle Rechte vorbehalten.";

/// Two files: a notice and a footer in several documents, one document twice.
pub(super) fn write_files(folder: &Path) {
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
    std::fs::write(folder.join("a.jsonl"), first.map(|words| document(&words)).concat()).unwrap();
    std::fs::write(folder.join("b.jsonl"), second.map(|words| document(&words)).concat()).unwrap();
}

fn found(min_length: u64) -> Repeats {
    let folder = tempfile::tempdir().unwrap();
    write_files(folder.path());
    let cancel = Cancel::default();
    let listing = list(folder.path(), &cancel).unwrap();
    let rule = Rule { min_length, keep: Keep::First, min_count: 2 };
    let scope = Scope { files: &listing.files, text_key: TEXT_KEY, rule, listed_under: &[], most_text: 1 << 20 };
    look(&scope, &AtomicU64::new(0), &cancel).unwrap()
}

fn with_repeats() -> RepeatsState {
    let mut state = RepeatsState::default();
    state.take(Arc::new(Ok(found(40))), None);
    state
}

fn shown(state: &mut RepeatsState, columns: u16, rows: u16, ascii: bool) -> String {
    let told = Told { length: 40, read: 5 << 20, text_key: "text".into() };
    testing::shown((columns, rows, ascii), |frame, area, ui| view::draw(state, &told, frame, area, ui))
}

fn compare(name: &str, state: &mut RepeatsState) {
    testing::compare(&format!("repeats_{name}"), &testing::SCREENS, |(columns, rows, ascii)| {
        let drawn = shown(state, columns, rows, ascii);
        state.scroll.follows = true;
        drawn
    });
}

#[test]
fn ranges_are_drawn_on_the_text_and_lead_to_the_copy_that_stays() {
    let mut state = with_repeats();
    compare("documents", &mut state);
    assert_eq!(state.act(Action::FindNext), Ok(()));
    let spot = state.spot.clone().unwrap();
    assert_eq!((spot.document, spot.range), (3, 1));
    compare("second_range", &mut state);
    assert_eq!(state.act(Action::KeptCopy), Ok(()));
    assert_eq!(state.spot.as_ref().unwrap().document, 2, "the footer stands first in the third document");
    compare("kept_copy", &mut state);
    assert!(state.act(Action::KeptCopy).is_err());
    assert_eq!(state.act(Action::Undo), Ok(()));
    assert_eq!(state.spot, Some(spot));
    assert_eq!(state.act(Action::FindNext), Ok(()));
    assert_eq!(state.spot.as_ref().unwrap().document, 5);
    assert!(state.act(Action::FindNext).is_err(), "that was the last one");
    state.act(Action::FindPrevious).unwrap();
    assert_eq!(state.spot.as_ref().map(|spot| (spot.document, spot.range)), Some((3, 1)));
}

#[test]
fn after_a_jump_the_next_range_is_the_one_that_led_there() {
    let mut state = with_repeats();
    state.act(Action::FindNext).unwrap();
    state.act(Action::KeptCopy).unwrap();
    state.act(Action::FindNext).unwrap();
    assert_eq!(state.spot.as_ref().map(|spot| (spot.document, spot.range)), Some((3, 1)));
}

#[test]
fn passages_and_files_are_lists_of_their_own() {
    let mut state = with_repeats();
    state.act(Action::Passages).unwrap();
    assert_eq!(state.listed, Listed::Passages);
    compare("passages", &mut state);
    state.act(Action::KeptCopy).unwrap();
    assert!(state.in_text);
    assert!(state.close() && !state.in_text || state.listed == Listed::Documents);
    state.listed = Listed::Documents;
    state.act(Action::ByFile).unwrap();
    compare("by_file", &mut state);
    state.act(Action::Down).unwrap();
    state.act(Action::KeptCopy).unwrap();
    assert_eq!((state.listed, state.spot.as_ref().unwrap().document), (Listed::Documents, 3));
    assert!(!state.close(), "nothing is left to go back to");
}

#[test]
fn waiting_failing_and_finding_nothing_are_told() {
    let mut state = RepeatsState::default();
    compare("waiting", &mut state);
    state.take(Arc::new(Err(Failure::usage("looking for text", "there is no .jsonl file"))), None);
    compare("failed", &mut state);
    state.take(Arc::new(Ok(found(5_000))), None);
    compare("nothing", &mut state);
    assert!(state.act(Action::FindNext).is_err());
    assert!(state.act(Action::KeptCopy).is_err());
}

#[test]
fn any_key_in_any_state_at_any_size_is_survived() {
    let mut state = with_repeats();
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
        Action::Undo,
        Action::Up,
        Action::FindPrevious,
    ];
    for (round, key) in (0_u16..200).zip(keys.iter().cycle().step_by(5).chain(keys.iter().cycle())) {
        let _ = state.act(*key);
        if round % 7 == 0 {
            state.close();
        }
        shown(&mut state, 1 + round % 90, 1 + round % 25, round % 2 == 0);
    }
}

#[test]
fn a_file_is_looked_at_alone_and_with_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    write_files(folder.path());
    let env = UiEnv::new(RunOptions::default(), folder.path().join("state"));
    let plan = DedupPlan { min_length: Some(40), ..DedupPlan::new("", "") };
    let mut screen = open(Target::File(folder.path().join("b.jsonl"), 0), &plan, env);
    testing::settle(screen.as_mut());
    let alone = screen.status_right().unwrap();
    assert_eq!(alone, "21.9 % of 415 B repeat, by 40 bytes and more");
    screen.handle(Input::Action(Action::Toggle));
    testing::settle(screen.as_mut());
    let status = screen.status_right().unwrap();
    assert!(status != alone && status.ends_with("repeat, by 40 bytes and more"), "{status}");
    screen.handle(Input::Action(Action::Right));
    testing::settle(screen.as_mut());
    assert!(screen.status_right().unwrap().ends_with("by 50 bytes and more"));
    let copied = screen.handle(Input::Action(Action::CopyPath));
    assert!(
        matches!(&copied[0], Effect::Copy(place) if place.ends_with("b.jsonl:1")),
        "another file is looked at first"
    );
    let effects = screen.handle(Input::Action(Action::Close));
    assert!(matches!(effects.as_slice(), [Effect::Pop]));
}
