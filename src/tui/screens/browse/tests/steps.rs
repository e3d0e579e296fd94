use super::fake::{group, Fake, Stage};
use crate::tui::keymap::Action;
use crate::tui::screen::{Effect, Screen};
use crate::tui::screens::browse::state::{Mode, Pane};
use crate::tui::screens::browse::BrowseStart;
use gristmill_ops::engine::browse::{Group, Groups, SampleAt};
use std::sync::Arc;

fn at(group: u32, index: u64) -> Option<SampleAt> {
    Some(SampleAt { group, index })
}

#[test]
fn one_list_goes_over_all_shards_and_the_shards_follow() {
    let mut stage = Stage::new(Fake::default());
    stage.settle();
    stage.act(Action::Last);
    assert_eq!(stage.screen.state.at, at(3, 10_003));
    assert_eq!(stage.screen.state.group_list.selected, 3);
    stage.acts(&[Action::First, Action::PreviousPane]);
    assert_eq!(stage.screen.state.pane, Pane::Groups);
    stage.act(Action::Down);
    assert_eq!(stage.screen.state.at, at(1, 0));
    assert!(stage.settle().contains("010021"));
}

#[test]
fn a_key_is_answered_by_a_frame_however_slow_the_storage_is() {
    let fake = Fake::huge();
    let gate = fake.gate.clone();
    gate.close();
    let mut stage = Stage::new(fake);
    // A frame that waited for the workers would never end.
    for action in
        [Action::Last, Action::First, Action::PageDown, Action::HalfDown, Action::Random, Action::Down].repeat(10)
    {
        stage.act(action);
    }
    let shown = stage.draw();
    assert!(shown.contains('…'), "rows that are not there yet are drawn as their numbers:\n{shown}");
    gate.open();
    stage.act(Action::Last);
    assert!(stage.settle().contains("9999999"));
}

#[test]
fn rows_are_remembered_only_around_the_view() {
    let mut stage = Stage::new(Fake::huge());
    for _ in 0..400 {
        stage.act(Action::Random);
        stage.wait("the row is there", |stage, _| stage.screen.state.sample().is_some());
    }
    assert!(stage.screen.state.rows.samples().count() < 6_000);
}

#[test]
fn digits_go_to_a_number() {
    let mut stage = Stage::new(Fake::huge());
    let key = ratatui::crossterm::event::KeyEvent::from(ratatui::crossterm::event::KeyCode::Char('7'));
    stage.screen.handle(crate::tui::screen::Input::Key(key));
    assert!(stage.screen.wants_text());
    stage.type_text("654,321");
    stage.act(Action::Accept);
    assert_eq!(stage.screen.state.at, at(765, 4_321));
    assert!(stage.settle().contains("#7,654,321"));
    stage.act(Action::GoToNumber).type_text("10000000").act(Action::Accept);
    assert_eq!(stage.toasts(), ["there is no sample 10,000,000; the last one is 9,999,999"]);
    stage.act(Action::GoToNumber).type_text("x").act(Action::Accept);
    assert!(stage.draw().contains("that is not a number"));
    stage.act(Action::Close);
    assert_eq!(stage.screen.state.at, at(765, 4_321));
}

#[test]
fn the_first_one_found_ahead_is_gone_to_while_the_search_goes_on() {
    let mut stage = Stage::new(Fake::default());
    stage.act(Action::GoToNumber).type_text("20000").act(Action::Accept);
    stage.act(Action::FindKey).type_text("/0777$/").act(Action::Accept);
    stage.wait("it is found", |stage, shown| stage.screen.state.at == at(2, 756) && shown.contains("4 found"));
    stage.act(Action::FindNext);
    assert_eq!(stage.screen.state.groups.number(stage.screen.state.at.unwrap()), 30_777);
    stage.act(Action::FindNext);
    assert_eq!(stage.toasts(), ["from the beginning again"]);
    assert_eq!(stage.screen.state.at, at(0, 777));
    stage.act(Action::FindPrevious);
    assert_eq!(stage.toasts(), ["from the end again"]);
    stage.act(Action::Close);
    assert!(stage.screen.state.find.is_none());
    stage.act(Action::FindKey).type_text("^nothing").act(Action::Accept);
    stage.wait("it ends", |stage, _| !stage.screen.is_searching());
    assert_eq!(stage.toasts(), ["no key fits ^nothing"]);
    stage.act(Action::FindKey).type_text("/(/").act(Action::Accept);
    assert!(stage.screen.wants_text(), "what cannot be looked for stays to be changed");
}

#[test]
fn a_search_is_stopped_by_ctrl_c_and_keeps_what_it_found() {
    let fake = Fake::huge();
    let gate = fake.gate.clone();
    let mut stage = Stage::new(fake);
    stage.act(Action::FindKey).type_text("000").act(Action::Accept);
    stage.wait("something is found", |stage, _| stage.screen.state.find.as_ref().is_some_and(|f| f.found.count() > 0));
    gate.close();
    assert!(stage.screen.interrupt());
    gate.open();
    stage.wait("it stops", |stage, shown| !stage.screen.is_searching() && shown.contains("then stopped"));
}

#[test]
fn a_filter_lists_what_fits_and_keeps_the_place() {
    let mut stage = Stage::new(Fake::default());
    stage.act(Action::GoToNumber).type_text("102").act(Action::Accept);
    stage.act(Action::FilterSamples).acts(&[Action::Down, Action::Down]).type_text("json").act(Action::Run);
    let shown = stage.wait("the filter is over", |stage, _| !stage.screen.is_sifting());
    assert!(shown.contains("8,004 listed"), "{shown}");
    assert_eq!(stage.screen.state.groups.number(stage.screen.state.at.unwrap()), 103);
    assert_eq!(stage.screen.state.list.len, 8_004);
    stage.act(Action::Down);
    assert_eq!(stage.screen.state.groups.number(stage.screen.state.at.unwrap()), 108);
    stage.act(Action::Close);
    assert_eq!(stage.screen.state.list.len, 40_023);
    assert_eq!(stage.screen.state.groups.number(stage.screen.state.at.unwrap()), 108);
}

#[test]
fn problems_that_were_met_are_stepped_through() {
    let fake = Fake { defect: |number| (number % 10 == 4).then_some("no part txt"), ..Fake::default() };
    let mut stage = Stage::new(fake);
    stage.settle();
    stage.act(Action::NextProblem);
    assert_eq!(stage.screen.state.at, at(0, 4));
    assert_eq!(stage.toasts(), ["no part txt"]);
    stage.acts(&[Action::NextProblem, Action::PreviousProblem, Action::PreviousProblem]);
    assert_eq!(stage.toasts().last().map(String::as_str), Some("no further problem that way"));
}

#[test]
fn a_growing_scan_keeps_the_selected_sample() {
    let mut start: Vec<Group> = vec![group("a.tar", 0), group("b.tar", 50)];
    start[0].is_counted = false;
    let fake = Fake::of(start);
    *fake.groups.lock().unwrap() = Arc::new(Groups::new(1, vec![group("a.tar", 0), group("b.tar", 50)], false));
    let fake = Arc::new(fake);
    let screen =
        super::super::screen::BrowseScreen::with_catalog(fake.clone(), BrowseStart::Number(90), super::fake::env());
    let mut stage = Stage { screen, ..Stage::new(Fake::default()) };
    stage.acts(&[Action::Down, Action::Down]);
    assert_eq!(stage.screen.state.at, at(1, 2));
    *fake.groups.lock().unwrap() = Arc::new(Groups::new(2, vec![group("a.tar", 30), group("b.tar", 50)], false));
    stage.wait("the rows are there", |stage, _| stage.screen.state.list.len == 80);
    assert_eq!((stage.screen.state.at, stage.screen.state.list.selected), (at(1, 2), 32));
    *fake.groups.lock().unwrap() = Arc::new(Groups::new(3, vec![group("a.tar", 60), group("b.tar", 50)], true));
    stage.wait("the number that was asked for is gone to", |stage, _| stage.screen.state.at == at(1, 30));
}

#[test]
fn a_sample_is_begun_with_by_its_key() {
    let mut stage = Stage::at(Fake::default(), BrowseStart::Key("020050".into()));
    stage.wait("it is selected", |stage, _| stage.screen.state.at == at(2, 29));
    let mut stage = Stage::at(Fake::default(), BrowseStart::Key("shard_0001.tar/010021".into()));
    stage.wait("it is selected", |stage, _| stage.screen.state.at == at(1, 0));
    let mut stage = Stage::at(Fake::default(), BrowseStart::Key("unknown".into()));
    stage.wait("a notice", |stage, _| !stage.effects.is_empty());
    assert_eq!(stage.toasts(), ["no sample has the key unknown"]);
}

#[test]
fn the_same_part_is_shown_in_the_next_sample() {
    let mut stage = Stage::new(Fake::default());
    stage.settle();
    stage.act(Action::NextPart);
    assert!(stage.settle().contains("riding wave 0"));
    stage.act(Action::Down);
    assert!(stage.settle().contains("riding wave 1"));
    stage.acts(&[Action::NextPart, Action::Down, Action::Down]);
    assert!(stage.settle().contains("000003"), "the fourth has no json, and shows its first part");
}

#[test]
fn esc_goes_back_one_step_at_a_time() {
    let mut stage = Stage::new(Fake::default());
    stage.settle();
    stage.acts(&[Action::LoaderView, Action::Zoom]);
    assert!(stage.screen.state.is_large);
    stage.act(Action::Close);
    assert!(!stage.screen.state.is_large);
    stage.act(Action::Close);
    assert_eq!(stage.screen.state.mode, Mode::Parts);
    stage.act(Action::Close);
    assert!(matches!(stage.effects.last(), Some(Effect::Pop)));
}

#[test]
fn what_is_copied_holds_no_control_characters() {
    let fake = Fake { key: |number| format!("a\u{1b}]52;c;b\u{7}{number}"), ..Fake::default() };
    let mut stage = Stage::new(fake);
    stage.settle();
    stage.act(Action::CopyKey);
    let copied: Vec<String> = stage
        .effects
        .iter()
        .filter_map(|e| match e {
            Effect::Copy(text) => Some(text.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(copied, ["a␛]52;c;b␇0"]);
    stage.act(Action::CopyPath);
    assert!(matches!(stage.effects.last(), Some(Effect::Copy(path)) if path == "/data/coco/shard_0000.tar"));
}
