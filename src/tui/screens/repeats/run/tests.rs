#![expect(clippy::disallowed_methods, reason = "test data need not be published")]

use super::super::state::Listed;
use super::super::tests::write_files;
use super::state::{Asked, At, RunState};
use super::{view, RunRangesScreen};
use crate::job::dedup::start;
use crate::model::dedup::Mode;
use crate::model::{Cancel, DedupPlan, RunOptions};
use crate::tui::keymap::Action;
use crate::tui::screen::{Effect, Input, Screen, UiEnv};
use crate::tui::testing;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A run on the two files of the other tests.
fn run(folder: &Path, change: impl FnOnce(&mut DedupPlan)) -> PathBuf {
    let path = |name: &str| folder.join(name).to_string_lossy().into_owned();
    std::fs::create_dir_all(folder.join("data")).unwrap();
    write_files(&folder.join("data"));
    let mut plan = DedupPlan { min_length: Some(40), ..DedupPlan::new(path("data"), path("out")) };
    change(&mut plan);
    start(plan, RunOptions::default()).unwrap().wait().unwrap();
    folder.join("out")
}

fn opened(folder: &Path) -> RunState {
    let mut state = RunState::default();
    let removed = crate::engine::dedup::removed::Removed::open(&folder.join("out.gristmill/ranges"));
    state.take(Arc::new(removed), "");
    settle(&mut state);
    state
}

/// Reads what is wanted, as the workers do.
fn settle(state: &mut RunState) {
    let Some(known) = state.removed.clone() else { return };
    let Ok(removed) = known.as_ref() else { return };
    state.take_rows(removed.documents(0, 100).unwrap());
    let Some(at) = state.wanted() else { return };
    let page = match at {
        At::Number(number) => removed.page(number, &Cancel::default()).map(Option::unwrap),
        At::Line(source, start, line) => removed.page_at(source, start, line, &Cancel::default()),
    };
    state.take_page(at, Arc::new(page));
}

fn act(state: &mut RunState, action: Action) -> Result<(), &'static str> {
    let told = match state.act(action)? {
        Asked::Nothing => Ok(()),
        Asked::FirstCopy(search) => {
            let known = state.removed.clone().unwrap();
            let found = search.run(known.as_ref().as_ref().unwrap(), &Default::default(), &Cancel::default());
            state.found(found.unwrap())
        }
    };
    settle(state);
    told
}

fn compare(name: &str, state: &mut RunState) {
    testing::compare(&format!("ranges_{name}"), &testing::SCREENS, |size| {
        let drawn = testing::shown(size, |frame, area, ui| {
            view::draw(state, frame, area, ui);
        });
        state.scroll.follows = true;
        drawn
    });
}

/// The line that is shown, and which of its ranges.
fn spot(state: &RunState) -> (String, u64, usize) {
    let page = state.shown().unwrap();
    let name = &state.ranges_of_run().unwrap().source(page.source).unwrap().name;
    (name.clone(), page.line + 1, state.spot.as_ref().unwrap().range)
}

#[test]
fn what_was_removed_is_drawn_on_the_text_and_leads_to_the_first_copy() {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), |_| ());
    let mut state = opened(folder.path());
    assert_eq!(spot(&state), ("b.jsonl".into(), 1, 0));
    compare("documents", &mut state);
    act(&mut state, Action::FindNext).unwrap();
    assert_eq!(spot(&state), ("b.jsonl".into(), 1, 1));
    act(&mut state, Action::KeptCopy).unwrap();
    assert_eq!(spot(&state).0, "a.jsonl");
    compare("first_copy", &mut state);
    assert_eq!(act(&mut state, Action::KeptCopy), Err("this is the copy already"));
    act(&mut state, Action::FindNext).unwrap();
    assert_eq!(spot(&state), ("b.jsonl".into(), 1, 1), "back to where the jump came from");
    act(&mut state, Action::Undo).unwrap();
    act(&mut state, Action::FindNext).unwrap();
    assert_eq!(spot(&state), ("b.jsonl".into(), 3, 0));
    assert_eq!(act(&mut state, Action::FindNext), Err("this is the last range"));
    act(&mut state, Action::FindPrevious).unwrap();
    assert_eq!(spot(&state), ("b.jsonl".into(), 1, 1), "the last range of the document before");
}

#[test]
fn passages_and_files_come_out_of_the_run() {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), |plan| plan.mode = Mode::Annotate);
    let mut state = opened(folder.path());
    act(&mut state, Action::Passages).unwrap();
    compare("passages", &mut state);
    act(&mut state, Action::KeptCopy).unwrap();
    assert!(state.in_text && state.close());
    state.listed = Listed::Documents;
    act(&mut state, Action::ByFile).unwrap();
    compare("by_file", &mut state);
    assert_eq!(act(&mut state, Action::KeptCopy), Err("nothing in this file repeats"));
    act(&mut state, Action::Down).unwrap();
    act(&mut state, Action::KeptCopy).unwrap();
    assert_eq!((state.listed, spot(&state).0.as_str()), (Listed::Documents, "b.jsonl"));
    assert!(!state.close(), "nothing is left to go back to");
}

#[test]
fn a_source_that_has_changed_is_told_in_the_place_of_its_text() {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), |_| ());
    std::fs::write(folder.path().join("data/b.jsonl"), "{\"text\": \"something else\"}\n").unwrap();
    let mut state = opened(folder.path());
    let drawn = testing::shown((100, 28, false), |frame, area, ui| {
        view::draw(&mut state, frame, area, ui);
    });
    assert!(drawn.contains("the file has changed since") && drawn.contains("b.jsonl:1"), "{drawn}");
    assert!(act(&mut state, Action::KeptCopy).is_err());
}

#[test]
fn any_key_in_any_state_at_any_size_is_survived() {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), |_| ());
    let mut state = opened(folder.path());
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
        let _ = act(&mut state, *key);
        if round % 7 == 0 {
            state.close();
        }
        if round % 11 == 0 {
            state.known.clear();
        }
        testing::shown((1 + round % 90, 1 + round % 25, round % 2 == 0), |frame, area, ui| {
            view::draw(&mut state, frame, area, ui);
        });
    }
}

#[test]
fn the_screen_opens_what_lies_beside_an_output_and_goes_to_the_file_that_was_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(folder.path(), |_| ());
    let env = UiEnv::new(RunOptions::default(), folder.path().join("state"));
    assert!(super::super::open_run(&folder.path().join("data"), &env).is_none());
    let mut screen = super::super::open_run(&output.join("b.jsonl"), &env).unwrap();
    assert!(screen.is_busy());
    testing::settle(screen.as_mut());
    assert!(screen.title()[1].ends_with("out"), "{:?}", screen.title());
    let status = screen.status_right().unwrap();
    assert!(status.ends_with("removed, by 40 bytes and more"), "{status}");
    let copied = screen.handle(Input::Action(Action::CopyPath));
    assert!(matches!(&copied[0], Effect::Copy(place) if place.ends_with("data/b.jsonl:1")), "the text as it was");
    screen.handle(Input::Action(Action::KeptCopy));
    assert!(screen.is_busy() && screen.status_right().unwrap().contains("looking for the first copy"));
    testing::settle(screen.as_mut());
    let copied = screen.handle(Input::Action(Action::CopyPath));
    assert!(matches!(&copied[0], Effect::Copy(place) if place.ends_with("data/a.jsonl:1")));
    screen.handle(Input::Action(Action::Close));
    let effects = screen.handle(Input::Action(Action::Close));
    assert!(matches!(effects.as_slice(), [Effect::Pop]));
    // Damage is told, and nothing else happens.
    std::fs::write(folder.path().join("out.gristmill/ranges"), "gmranges and nothing else").unwrap();
    let mut screen = RunRangesScreen::new(folder.path().join("out.gristmill/ranges"), String::new(), env);
    testing::settle(&mut screen);
    assert!(screen.status_right().is_none() && screen.why_disabled(Action::KeptCopy).is_some());
}
