use super::super::found_repeats::FoundRepeats;
use super::super::ranges::ListKind;
use super::super::state::RangesPage;
use super::super::{open, RepeatsTarget};
use super::{act, compare, env, spot, survive, write_files};
use crate::tui::keymap::Action;
use crate::tui::screen::{Effect, Input, Screen};
use crate::tui::testing;
use gristmill_core::{DedupPlan, Failure};
use std::path::Path;
use std::sync::atomic::Ordering;

fn plan(length: u64) -> DedupPlan {
    DedupPlan { min_length: Some(length), ..DedupPlan::new("", "") }
}

/// Opens the repeats of a folder; the search may still be running.
fn asked(folder: &Path, length: u64) -> RangesPage<FoundRepeats> {
    RangesPage::new(FoundRepeats::new(RepeatsTarget::Folder(folder.to_owned()), &plan(length), env(folder)))
}

fn found(length: u64) -> RangesPage<FoundRepeats> {
    let folder = tempfile::tempdir().unwrap();
    write_files(folder.path());
    let mut page = asked(folder.path(), length);
    testing::settle(&mut page);
    page
}

#[test]
fn ranges_are_highlighted_and_link_to_the_kept_copy() {
    let mut page = found(40);
    compare("repeats_documents", &mut page);
    assert_eq!(act(&mut page, Action::FindNext), Ok(()));
    assert_eq!(spot(&page), ("b.jsonl", 1, 1));
    compare("repeats_second_range", &mut page);
    let before = page.displayed.clone();
    assert_eq!(act(&mut page, Action::KeptCopy), Ok(()));
    assert_eq!((spot(&page).0, spot(&page).1), ("a.jsonl", 3), "the footer is first in the third document");
    compare("repeats_kept_copy", &mut page);
    assert_eq!(act(&mut page, Action::KeptCopy), Err("this is the copy already"));
    assert_eq!(act(&mut page, Action::JumpBack), Ok(()));
    assert_eq!(page.displayed, before);
    assert_eq!(act(&mut page, Action::FindNext), Ok(()));
    assert_eq!(spot(&page), ("b.jsonl", 3, 0));
    assert_eq!(act(&mut page, Action::FindNext), Err("this is the last range"));
    act(&mut page, Action::FindPrevious).unwrap();
    assert_eq!(spot(&page), ("b.jsonl", 1, 1));
}

#[test]
fn next_range_after_a_jump_is_the_origin_of_the_jump() {
    let mut page = found(40);
    act(&mut page, Action::FindNext).unwrap();
    act(&mut page, Action::KeptCopy).unwrap();
    act(&mut page, Action::FindNext).unwrap();
    assert_eq!(spot(&page), ("b.jsonl", 1, 1));
}

#[test]
fn passages_and_files_are_separate_lists() {
    let mut page = found(40);
    act(&mut page, Action::Passages).unwrap();
    assert_eq!(page.listed, ListKind::Passages);
    compare("repeats_passages", &mut page);
    act(&mut page, Action::KeptCopy).unwrap();
    assert!(page.in_text);
    assert!(page.close() && !page.in_text && page.listed == ListKind::Passages, "back to the passage");
    assert!(page.close() && page.listed == ListKind::Documents);
    act(&mut page, Action::ByFile).unwrap();
    compare("repeats_by_file", &mut page);
    act(&mut page, Action::Down).unwrap();
    act(&mut page, Action::KeptCopy).unwrap();
    assert_eq!((page.listed, spot(&page)), (ListKind::Documents, ("b.jsonl", 1, 0)));
    assert!(!page.close(), "nothing is left to go back to");
}

#[test]
fn waiting_failed_and_empty_searches_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let mut page = asked(folder.path(), 40);
    assert_eq!(page.handle_action(Action::FindNext), Err("no range is known"));
    page.ranges.read.store(5 << 20, Ordering::Relaxed);
    testing::compare("repeats_waiting", &testing::SCREENS, |size| super::draw(&mut page, size));
    testing::settle(&mut page);
    page.ranges.result = Some(Err(Failure::usage("looking for text", "there is no .jsonl file")));
    compare("repeats_failed", &mut page);
    write_files(folder.path());
    let mut page = asked(folder.path(), 5_000);
    testing::settle(&mut page);
    page.ranges.request.length = 40;
    compare("repeats_nothing", &mut page);
    assert!(act(&mut page, Action::FindNext).is_err());
    assert!(act(&mut page, Action::KeptCopy).is_err());
    assert_eq!(page.disabled_reason(Action::FindNext).as_deref(), Some("no range is shown"));
    assert_eq!(page.disabled_reason(Action::ByFile).as_deref(), Some("there is nothing to be listed"));
}

#[test]
fn found_repeats_survive_any_key_at_any_size() {
    survive(&mut found(40), |_, _| ());
}

#[test]
fn file_name_in_long_title_is_cut_first() {
    let folder = tempfile::tempdir().unwrap();
    write_files(folder.path());
    let long = "a-folder-of-files-with-long-names.jsonl";
    std::fs::rename(folder.path().join("b.jsonl"), folder.path().join(long)).unwrap();
    let mut page = asked(folder.path(), 40);
    testing::settle(&mut page);
    let drawn = super::draw(&mut page, (80, 22, false));
    assert!(drawn.contains(" a-folder…mes.jsonl line 3 · range 1 of 1 ─"), "{drawn}");
    page.in_text = true;
    let drawn = super::draw(&mut page, (30, 12, false));
    assert!(drawn.contains(" a-f…sonl line 3 · range…"), "{drawn}");
}

#[test]
fn change_of_length_keeps_the_selected_document() {
    let folder = tempfile::tempdir().unwrap();
    write_files(folder.path());
    let mut page = asked(folder.path(), 50);
    testing::settle(&mut page);
    act(&mut page, Action::Last).unwrap();
    act(&mut page, Action::Passages).unwrap();
    act(&mut page, Action::Passages).unwrap();
    assert_eq!(spot(&page), ("b.jsonl", 3, 0));
    page.handle(Input::Action(Action::Right));
    assert_eq!(page.handle_action(Action::Up), Ok(()), "the lists are not there now");
    testing::settle(&mut page);
    assert!(page.status_right().unwrap().ends_with("by 100 bytes and more"), "{:?}", page.status_right());
    assert_eq!(spot(&page), ("b.jsonl", 3, 0));
    assert_eq!(page.lists.documents.selected, page.lists.documents.len - 1);
}

#[test]
fn file_is_searched_separately_or_with_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    write_files(folder.path());
    let mut screen = open(RepeatsTarget::File(folder.path().join("b.jsonl"), 0), &plan(40), env(folder.path()));
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
