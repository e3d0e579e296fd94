use super::fake::{group, BrowserTest, Fake};
use crate::tui::keymap::Action;
use crate::tui::screen::{Effect, Screen};
use crate::tui::screens::browse::state::{Mode, Pane};
use crate::tui::screens::browse::BrowseStart;
use gristmill_core::DatasetKind;
use gristmill_ops::engine::browse::{Group, Groups, SampleAt};
use std::sync::Arc;

fn at(group: u32, index: u64) -> Option<SampleAt> {
    Some(SampleAt { group, index })
}

#[test]
fn sample_list_spans_shards_and_shard_selection_follows() {
    let mut test = BrowserTest::new(Fake::default());
    test.settle();
    test.act(Action::Last);
    assert_eq!(test.screen.state.at, at(3, 10_003));
    assert_eq!(test.screen.state.group_list.selected, 3);
    test.acts(&[Action::First, Action::PreviousPane]);
    assert_eq!(test.screen.state.pane, Pane::Groups);
    test.act(Action::Down);
    assert_eq!(test.screen.state.at, at(1, 0));
    assert!(test.settle().contains("010021"));
}

#[test]
fn browser_draws_without_waiting_for_storage() {
    let fake = Fake::huge();
    let gate = fake.gate.clone();
    gate.close();
    let mut test = BrowserTest::new(fake);
    // A frame that waited for the workers would block forever.
    for action in
        [Action::Last, Action::First, Action::PageDown, Action::HalfDown, Action::Random, Action::Down].repeat(10)
    {
        test.act(action);
    }
    let shown = test.draw();
    assert!(shown.contains('…'), "rows that are not there yet are drawn as their numbers:\n{shown}");
    gate.open();
    test.act(Action::Last);
    assert!(test.settle().contains("9999999"));
}

#[test]
fn rows_are_cached_only_near_the_view() {
    let mut test = BrowserTest::new(Fake::huge());
    for _ in 0..400 {
        test.act(Action::Random);
        test.wait("the row is there", |test, _| test.screen.state.sample().is_some());
    }
    assert!(test.screen.state.rows.samples().count() < 6_000);
}

#[test]
fn typed_digits_open_the_sample_number_prompt() {
    let mut test = BrowserTest::new(Fake::huge());
    let key = ratatui::crossterm::event::KeyEvent::from(ratatui::crossterm::event::KeyCode::Char('7'));
    test.screen.handle(crate::tui::screen::Input::Key(key));
    assert!(test.screen.wants_text());
    test.type_text("654,321");
    test.act(Action::Accept);
    assert_eq!(test.screen.state.at, at(765, 4_321));
    assert!(test.settle().contains("#7,654,321"));
    test.act(Action::GoToNumber).type_text("10000000").act(Action::Accept);
    assert_eq!(test.toasts(), ["there is no sample 10,000,000; the last one is 9,999,999"]);
    test.act(Action::GoToNumber).type_text("x").act(Action::Accept);
    assert!(test.draw().contains("that is not a number"));
    test.act(Action::Close);
    assert_eq!(test.screen.state.at, at(765, 4_321));
}

#[test]
fn goes_to_first_match_while_search_runs() {
    let mut test = BrowserTest::new(Fake::default());
    test.act(Action::GoToNumber).type_text("20000").act(Action::Accept);
    test.act(Action::FindKey).type_text("/0777$/").act(Action::Accept);
    test.wait("it is found", |test, shown| test.screen.state.at == at(2, 756) && shown.contains("4 found"));
    test.act(Action::FindNext);
    assert_eq!(test.screen.state.groups.number(test.screen.state.at.unwrap()), 30_777);
    test.act(Action::FindNext);
    assert_eq!(test.toasts(), ["from the beginning again"]);
    assert_eq!(test.screen.state.at, at(0, 777));
    test.act(Action::FindPrevious);
    assert_eq!(test.toasts(), ["from the end again"]);
    test.act(Action::Close);
    assert!(test.screen.state.find.is_none());
    test.act(Action::FindKey).type_text("^nothing").act(Action::Accept);
    test.wait("it ends", |test, _| !test.screen.is_searching());
    assert_eq!(test.toasts(), ["no key fits ^nothing"]);
    test.act(Action::FindKey).type_text("/(/").act(Action::Accept);
    assert!(test.screen.wants_text(), "what cannot be looked for stays to be changed");
}

#[test]
fn ctrl_c_stops_key_search_and_keeps_matches() {
    let fake = Fake::huge();
    let gate = fake.gate.clone();
    let mut test = BrowserTest::new(fake);
    test.act(Action::FindKey).type_text("000").act(Action::Accept);
    test.wait("something is found", |test, _| test.screen.state.find.as_ref().is_some_and(|f| f.found.count() > 0));
    gate.close();
    assert!(test.screen.interrupt());
    gate.open();
    test.wait("it stops", |test, shown| !test.screen.is_searching() && shown.contains("then stopped"));
}

#[test]
fn filter_lists_matching_samples_and_keeps_position() {
    let mut test = BrowserTest::new(Fake::default());
    test.act(Action::GoToNumber).type_text("102").act(Action::Accept);
    test.act(Action::FilterSamples).acts(&[Action::Down, Action::Down]).type_text("json").act(Action::Run);
    let shown = test.wait("the filter is over", |test, _| !test.screen.is_filtering());
    assert!(shown.contains("8,004 listed"), "{shown}");
    assert_eq!(test.screen.state.groups.number(test.screen.state.at.unwrap()), 103);
    assert_eq!(test.screen.state.list.len, 8_004);
    test.act(Action::Down);
    assert_eq!(test.screen.state.groups.number(test.screen.state.at.unwrap()), 108);
    test.act(Action::Close);
    assert_eq!(test.screen.state.list.len, 40_023);
    assert_eq!(test.screen.state.groups.number(test.screen.state.at.unwrap()), 108);
}

#[test]
fn number_that_the_filter_omits_leads_to_the_next_with_a_message() {
    let mut test = BrowserTest::new(Fake::default());
    test.act(Action::FilterSamples).acts(&[Action::Down, Action::Down]).type_text("json").act(Action::Run);
    test.wait("the filter is over", |test, _| !test.screen.is_filtering());
    test.toasts();
    test.act(Action::GoToNumber).type_text("102").act(Action::Accept);
    assert_eq!(test.screen.state.groups.number(test.screen.state.at.unwrap()), 103);
    assert_eq!(test.toasts(), ["the filter leaves that one out; this is the next"]);
    test.act(Action::GoToNumber).type_text("103").act(Action::Accept);
    assert!(test.toasts().is_empty());
}

#[test]
fn filter_that_leaves_nothing_disables_actions_on_samples() {
    let mut test = BrowserTest::new(Fake::default());
    test.settle();
    assert_eq!(test.screen.disabled_reason(Action::Random), None);
    test.act(Action::FilterSamples).acts(&[Action::Down, Action::Down]).type_text("jpg").act(Action::Run);
    test.wait("the filter is over", |test, _| !test.screen.is_filtering());
    assert_eq!(test.screen.state.list.len, 0);
    for action in [Action::GoToNumber, Action::Random, Action::ExcludeSample, Action::MoveTo, Action::Read] {
        let why = test.screen.disabled_reason(action).unwrap_or_default();
        assert!(why.contains("the filter lists no sample"), "{action:?}: {why}");
    }
    assert_eq!(test.screen.disabled_reason(Action::FilterSamples), None);
    test.act(Action::Close);
    assert_eq!(test.screen.disabled_reason(Action::Random), None);
}

#[test]
fn known_problems_are_stepped_through() {
    let fake = Fake { defect: |number| (number % 10 == 4).then_some("no part txt"), ..Fake::default() };
    let mut test = BrowserTest::new(fake);
    test.settle();
    test.act(Action::NextProblem);
    assert_eq!(test.screen.state.at, at(0, 4));
    assert_eq!(test.toasts(), ["no part txt"]);
    test.acts(&[Action::NextProblem, Action::PreviousProblem, Action::PreviousProblem]);
    assert_eq!(test.toasts().last().map(String::as_str), Some("no further problem that way"));
}

#[test]
fn selected_sample_is_kept_while_the_scan_continues() {
    let mut start: Vec<Group> = vec![group("a.tar", 0), group("b.tar", 50)];
    start[0].is_counted = false;
    let fake = Fake::of(start);
    *fake.groups.lock().unwrap() = Arc::new(Groups::new(1, vec![group("a.tar", 0), group("b.tar", 50)], false));
    let fake = Arc::new(fake);
    let screen =
        super::super::screen::BrowseScreen::with_catalog(fake.clone(), BrowseStart::Number(90), super::fake::env());
    let mut test = BrowserTest { screen, ..BrowserTest::new(Fake::default()) };
    test.acts(&[Action::Down, Action::Down]);
    assert_eq!(test.screen.state.at, at(1, 2));
    *fake.groups.lock().unwrap() = Arc::new(Groups::new(2, vec![group("a.tar", 30), group("b.tar", 50)], false));
    test.wait("the rows are there", |test, _| test.screen.state.list.len == 80);
    assert_eq!((test.screen.state.at, test.screen.state.list.selected), (at(1, 2), 32));
    *fake.groups.lock().unwrap() = Arc::new(Groups::new(3, vec![group("a.tar", 60), group("b.tar", 50)], true));
    test.wait("the number that was asked for is gone to", |test, _| test.screen.state.at == at(1, 30));
}

#[test]
fn browser_starts_at_sample_given_by_key() {
    let mut test = BrowserTest::at(Fake::default(), BrowseStart::Key("020050".into()));
    test.wait("it is selected", |test, _| test.screen.state.at == at(2, 29));
    let mut test = BrowserTest::at(Fake::default(), BrowseStart::Key("shard_0001.tar/010021".into()));
    test.wait("it is selected", |test, _| test.screen.state.at == at(1, 0));
    let mut test = BrowserTest::at(Fake::default(), BrowseStart::Key("unknown".into()));
    test.wait("a notice", |test, _| !test.effects.is_empty());
    assert_eq!(test.toasts(), ["no sample has the key unknown"]);
}

#[test]
fn selected_part_is_kept_in_the_next_sample() {
    let mut test = BrowserTest::new(Fake::default());
    test.settle();
    test.act(Action::NextPart);
    assert!(test.settle().contains("riding wave 0"));
    test.act(Action::Down);
    assert!(test.settle().contains("riding wave 1"));
    test.acts(&[Action::NextPart, Action::Down, Action::Down]);
    assert!(test.settle().contains("000003"), "the fourth has no json, and shows its first part");
}

#[test]
fn esc_leaves_zoom_view_and_browser_in_order() {
    let mut test = BrowserTest::new(Fake::default());
    test.settle();
    test.acts(&[Action::LoaderView, Action::Zoom]);
    assert!(test.screen.state.is_large);
    test.act(Action::Close);
    assert!(!test.screen.state.is_large);
    test.act(Action::Close);
    assert_eq!(test.screen.state.mode, Mode::Parts);
    test.act(Action::Close);
    assert!(matches!(test.effects.last(), Some(Effect::Pop)));
}

#[test]
fn copied_key_has_no_control_characters() {
    let fake = Fake { key: |number| format!("a\u{1b}]52;c;b\u{7}{number}"), ..Fake::default() };
    let mut test = BrowserTest::new(fake);
    test.settle();
    test.act(Action::CopyKey);
    let copied: Vec<String> = test
        .effects
        .iter()
        .filter_map(|e| match e {
            Effect::Copy(text) => Some(text.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(copied, ["a␛]52;c;b␇0"]);
    test.act(Action::CopyPath);
    assert!(matches!(test.effects.last(), Some(Effect::Copy(path)) if path == "/data/coco/shard_0000.tar"));
}

#[test]
fn rows_are_not_written_while_marks_or_filter_would_be_ignored() {
    let mut test = BrowserTest::new(Fake { kind: DatasetKind::Jsonl, ..Fake::default() });
    test.settle();
    test.acts(&[Action::Mark, Action::Down, Action::WriteSet]);
    assert_eq!(test.toasts(), ["W writes all rows of a file: clear the filter and the marks first"]);
    test.acts(&[Action::Mark, Action::WriteSet]);
    assert_eq!(test.toasts(), Vec::<String>::new());
}
