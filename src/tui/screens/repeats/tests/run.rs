use super::super::ranges::{ListKind, ListPlaceholder, Ranges};
use super::super::run::RunRanges;
use super::super::state::RangesPage;
use super::{act, compare, draw, env, spot, survive, write_files};
use crate::tui::keymap::Action;
use crate::tui::screen::{Effect, Input, Screen};
use crate::tui::testing;
use gristmill_core::dedup::Mode;
use gristmill_core::{DedupPlan, RunOptions};
use gristmill_ops::job::dedup::{start_on, Tuning};
use gristmill_storage::fs::RealFs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Runs dedup on the two files.
fn run(folder: &Path, change: impl FnOnce(&mut DedupPlan)) -> PathBuf {
    let path = |name: &str| folder.join(name).to_string_lossy().into_owned();
    write_files(&folder.join("data"));
    let mut plan = DedupPlan { min_length: Some(40), ..DedupPlan::new(path("data"), path("out")) };
    change(&mut plan);
    start_on(plan, RunOptions::default(), Tuning::default(), Arc::new(RealFs)).unwrap().wait().unwrap();
    folder.join("out")
}

fn opened(folder: &Path) -> RangesPage<RunRanges> {
    let ranges = folder.join("out.gristmill/ranges");
    let mut page = RangesPage::new(RunRanges::new(ranges, String::new(), env(folder)));
    testing::settle(&mut page);
    page
}

#[test]
fn removed_ranges_are_highlighted_and_link_to_the_first_copy() {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), |_| ());
    let mut page = opened(folder.path());
    assert_eq!(spot(&page), ("b.jsonl", 1, 0));
    compare("ranges_documents", &mut page);
    act(&mut page, Action::FindNext).unwrap();
    assert_eq!(spot(&page), ("b.jsonl", 1, 1));
    act(&mut page, Action::KeptCopy).unwrap();
    assert_eq!((spot(&page).0, spot(&page).1), ("a.jsonl", 3));
    compare("ranges_first_copy", &mut page);
    assert_eq!(act(&mut page, Action::KeptCopy), Err("this is the copy already"));
    act(&mut page, Action::FindNext).unwrap();
    assert_eq!(spot(&page), ("b.jsonl", 1, 1), "back to where the jump came from");
    act(&mut page, Action::JumpBack).unwrap();
    act(&mut page, Action::FindNext).unwrap();
    assert_eq!(spot(&page), ("b.jsonl", 3, 0));
    assert_eq!(act(&mut page, Action::FindNext), Err("this is the last range"));
    act(&mut page, Action::FindPrevious).unwrap();
    assert_eq!(spot(&page), ("b.jsonl", 1, 1), "the last range of the document before");
}

#[test]
fn passages_and_files_of_a_run_are_listed() {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), |plan| plan.mode = Mode::Annotate);
    let mut page = opened(folder.path());
    act(&mut page, Action::Passages).unwrap();
    compare("ranges_passages", &mut page);
    act(&mut page, Action::KeptCopy).unwrap();
    assert!(page.in_text && page.close() && page.close());
    act(&mut page, Action::ByFile).unwrap();
    compare("ranges_by_file", &mut page);
    assert_eq!(act(&mut page, Action::KeptCopy), Err("nothing in this file repeats"));
    act(&mut page, Action::Down).unwrap();
    act(&mut page, Action::KeptCopy).unwrap();
    assert_eq!((page.listed, spot(&page)), (ListKind::Documents, ("b.jsonl", 1, 0)));
    assert!(!page.close(), "nothing is left to go back to");
}

#[test]
fn repeats_of_a_subfolder_start_and_search_in_that_folder() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(folder.path(), |_| write_files(&folder.path().join("data/c")));
    let mut screen = super::super::open_run(&output.join("c"), &env(folder.path())).unwrap();
    testing::settle(screen.as_mut());
    let copied = screen.handle(Input::Action(Action::CopyPath));
    assert!(matches!(&copied[0], Effect::Copy(place) if place.ends_with("data/c/a.jsonl:1")));
    let effects = screen.handle(Input::Action(Action::Toggle));
    let [Effect::Push(anew)] = effects.as_slice() else { panic!("nothing is looked for anew") };
    assert!(anew.title()[1].ends_with("out/c"), "{:?}", anew.title());
    assert_eq!(anew.disabled_reason(Action::Toggle).as_deref(), Some("the whole folder is searched already"));
}

#[test]
fn changed_source_file_is_reported_instead_of_its_text() {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), |_| ());
    std::fs::write(folder.path().join("data/b.jsonl"), "{\"text\": \"something else\"}\n").unwrap();
    let mut page = opened(folder.path());
    draw(&mut page, (100, 28, false));
    testing::settle(&mut page);
    let drawn = draw(&mut page, (100, 28, false));
    assert!(drawn.contains("showing what a run removed failed") && drawn.contains("b.jsonl:1"), "{drawn}");
    assert!(act(&mut page, Action::KeptCopy).is_err());
}

#[test]
fn keys_move_between_documents_while_text_is_loading() {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), |_| ());
    let mut page = opened(folder.path());
    page.handle_action(Action::FindNext).unwrap();
    page.handle_action(Action::FindNext).unwrap();
    assert!(page.text().is_none(), "the arrival of the text is not noticed yet");
    assert!(draw(&mut page, (100, 28, false)).contains("reading the document"));
    page.handle_action(Action::FindPrevious).unwrap();
    assert_eq!(spot(&page), ("b.jsonl", 1, 1), "this one is there still");
    page.handle_action(Action::FindNext).unwrap();
    testing::settle(&mut page);
    assert_eq!(spot(&page), ("b.jsonl", 3, 0));
}

#[test]
fn late_kept_copy_result_does_not_override_a_click() {
    use ratatui::crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), |_| ());
    let mut page = opened(folder.path());
    draw(&mut page, (100, 28, false));
    page.handle(Input::Action(Action::KeptCopy));
    assert_eq!(page.label(Action::Close), "stop looking");
    let kind = MouseEventKind::Down(MouseButton::Left);
    page.handle(Input::Mouse(MouseEvent { kind, column: 5, row: 2, modifiers: KeyModifiers::NONE }));
    assert_ne!(page.label(Action::Close), "stop looking");
    testing::settle(&mut page);
    assert_eq!((spot(&page), page.has_jumped()), (("b.jsonl", 3, 0), false));
}

#[test]
fn repeats_of_a_run_survive_any_key_at_any_size() {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), |_| ());
    survive(&mut opened(folder.path()), |round, page| {
        // Only some rounds wait for the workers.
        if round % 3 > 0 {
            testing::settle(page);
        }
        if round % 11 == 0 {
            page.ranges.rows.clear();
        }
    });
}

#[test]
fn repeats_of_a_run_open_at_the_given_output_file() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(folder.path(), |_| ());
    let env = env(folder.path());
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
    // A damaged file of ranges is reported as a failure.
    std::fs::write(folder.path().join("out.gristmill/ranges"), "gmranges and nothing else").unwrap();
    let page = opened(folder.path());
    assert!(matches!(page.ranges.placeholder(), Some(ListPlaceholder::Fails(_))));
    assert!(page.status_right().is_none() && page.disabled_reason(Action::KeptCopy).is_some());
}
