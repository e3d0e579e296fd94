use super::rows::ReportedProblems;
use super::table::NotedTarget;
use super::*;
use crate::tui::keymap::{Action, Context};
use crate::tui::screen::{Effect, Input, Screen};
use crate::tui::testing::{self, SCREENS};
use gristmill_core::{Problem, ProblemKind, Severity, Subject, UnlistedProblems};
use gristmill_ops::engine::browse::{problems, Group, Groups, Marks, ProblemList, SampleAt, SampleProblem};
use gristmill_ops::engine::splits::{Edit, ExcludeItem};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

fn groups() -> Arc<Groups> {
    let group = |name: &str| Group { name: name.into(), samples: 10, is_counted: true, bytes: 0, failure: None };
    Arc::new(Groups::new(1, vec![group("s_0.tar"), group("s_1.tar")], true))
}

fn broken(shard: &str, key: &str) -> Problem {
    let subject = Subject::shard(shard).key(format!("{key}.jpg"));
    Problem::problem(ProblemKind::BrokenMedia, subject, format!("{key} is\nbroken"))
}

fn sample(group: u32, key: &str) -> ProblemTarget {
    let target = ExcludeTarget { group, shard: format!("s_{group}.tar").into(), key: Some(key.into()) };
    ProblemTarget { open: Ok(OpenTarget::Sample(SampleAt { group, index: 0 })), exclude: Ok(target) }
}

/// Returns a table with two broken samples, one of them reported twice, an empty shard and a problem of the plan.
fn table() -> ProblemTable {
    let mut table = ProblemTable::default();
    let problems = vec![
        Problem::refusal(ProblemKind::BadRatio, Subject::field("0,0"), "its sum is 0"),
        broken("s_0.tar", "a"),
        broken("s_0.tar", "a"),
        broken("s_1.tar", "b"),
        Problem::note(ProblemKind::EmptyShard, Subject::shard("s_1.tar"), "the file is empty"),
    ];
    let counts = [(Severity::Problem, ProblemKind::BrokenMedia, 1_000_000)];
    table.report(&problems, &counts, &UnlistedProblems::default(), true);
    let nowhere: Arc<str> = Arc::from("the problem is about '0,0', not about a place in the data");
    let shard = ExcludeTarget { group: 1, shard: "s_1.tar".into(), key: None };
    let targets = vec![
        ProblemTarget { open: Err(Arc::clone(&nowhere)), exclude: Err(nowhere) },
        sample(0, "a"),
        sample(0, "a"),
        sample(1, "b"),
        ProblemTarget { open: Ok(OpenTarget::Sample(SampleAt { group: 1, index: 0 })), exclude: Ok(shard) },
    ];
    table.rows_mut().take_targets(targets);
    table
}

fn items(edit: Edit) -> Vec<(String, Option<String>)> {
    let of = |item: ExcludeItem| (item.item, item.note);
    match edit {
        Edit::Exclude { items } => items.into_iter().map(of).collect(),
        Edit::Many { edits, .. } => edits.into_iter().flat_map(items).collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn x_excludes_a_problem_sample_with_a_note_or_includes_it() {
    let mut table = table();
    table.list.select(1);
    assert_eq!(items(table.exclude().unwrap()), [("s_0.tar/a".to_owned(), Some("a is␊broken".to_owned()))]);
    table.marks = Arc::new(Marks::new(&groups(), &[], &["s_0.tar/a", "s_1.tar"]));
    assert_eq!(table.exclude(), Ok(Edit::Include { shard: "s_0.tar".into(), key: Some("a".into()) }));
    table.list.select(3);
    assert_eq!(table.exclude().unwrap_err(), "s_1.tar is excluded as a whole");
    table.list.select(4);
    assert_eq!(table.exclude(), Ok(Edit::Include { shard: "s_1.tar".into(), key: None }));
    table.marks = Arc::default();
    assert_eq!(items(table.exclude().unwrap()), [("s_1.tar".to_owned(), Some("the file is empty".to_owned()))]);
}

#[test]
fn excluding_a_problem_kind_lists_each_sample_once_and_counts_unlisted() {
    let mut table = table();
    table.list.select(2);
    let edit = table.exclude_kind(Vec::new()).unwrap();
    assert_eq!(
        edit.title(),
        "exclude 2 samples: broken picture, sound or video; 999,997 more problems of this kind are only counted: their places \
         are not known"
    );
    let names: Vec<String> = items(edit).into_iter().map(|(item, _)| item).collect();
    assert_eq!(names, ["s_0.tar/a", "s_1.tar/b"]);
    table.marks = Arc::new(Marks::new(&groups(), &[], &["s_0.tar/a"]));
    assert_eq!(items(table.exclude_kind(Vec::new()).unwrap()).len(), 1, "what is excluded already is left alone");
    table.marks = Arc::new(Marks::new(&groups(), &[], &["s_0.tar/a", "s_1.tar/b"]));
    assert!(table.exclude_kind(Vec::new()).unwrap_err().contains("already excluded"));
    let unlisted = |key: &str| match sample(1, key).exclude {
        Ok(target) => NotedTarget { target, note: "cut".to_owned() },
        Err(why) => panic!("{why}"),
    };
    let names = items(table.exclude_kind(vec![unlisted("b"), unlisted("c")]).unwrap());
    assert_eq!(names, [("s_1.tar/c".to_owned(), Some("cut".to_owned()))], "with those that are not listed");
    table.list.select(0);
    assert!(table.exclude_kind(Vec::new()).unwrap_err().contains("not about a place in the data"));
}

#[test]
fn disabled_problem_actions_have_reasons() {
    let mut table = table();
    assert!(table.disabled_reason(Action::OpenProblem).unwrap().contains("'0,0'"));
    assert!(table.disabled_reason(Action::ExcludeProblem).unwrap().contains("'0,0'"));
    assert_eq!(table.disabled_reason(Action::Undo).as_deref(), Some("there is nothing to undo"));
    table.list.select(1);
    assert_eq!(
        (table.disabled_reason(Action::OpenProblem), table.disabled_reason(Action::ExcludeProblem)),
        (None, None)
    );
    table.why_no_edit = Some(Arc::from("a JSONL file has no splits"));
    for action in [Action::ExcludeProblem, Action::ExcludeKind, Action::Undo, Action::Redo, Action::Write] {
        assert_eq!(table.disabled_reason(action).as_deref(), Some("a JSONL file has no splits"), "{action:?}");
    }
    let mut fresh = ProblemTable::default();
    fresh.report(&[broken("s_0.tar", "a")], &[], &UnlistedProblems::default(), true);
    assert!(fresh.disabled_reason(Action::OpenProblem).unwrap().contains("still being looked up"));
    assert!(ProblemTable::default().disabled_reason(Action::ExcludeKind).is_some());
}

#[test]
fn problems_are_sorted_by_severity_and_cursor_moves() {
    let rows = ProblemRows::Reported(ReportedProblems::new(vec![
        Problem::note(ProblemKind::JunkAfterEnd, Subject::shard("a"), "n"),
        Problem::problem(ProblemKind::CutShort, Subject::shard("b"), "p"),
        Problem::refusal(ProblemKind::NoShards, Subject::shard("c"), "r"),
    ]));
    let words: Vec<String> = (0..3).filter_map(|row| rows.problem(row)).map(|problem| problem.message).collect();
    assert_eq!(words, ["r", "p", "n"]);
    let mut table = table();
    table.list.handle_action(Action::Last);
    assert_eq!(table.selected().map(|problem| problem.kind), Some(ProblemKind::EmptyShard));
    table.list.handle_action(Action::Up);
    assert_eq!(table.selected().map(|problem| problem.kind), Some(ProblemKind::BrokenMedia));
}

#[test]
fn the_list_as_it_is_drawn() {
    let mut table = table();
    table.list.select(2);
    table.marks = Arc::new(Marks::new(&groups(), &[], &["s_0.tar/a"]));
    testing::compare("problems", &SCREENS, |size| {
        testing::shown(size, |frame, area, ui| table.draw(frame, area, true, true, ui))
    });
}

/// Returns the list over the browser, and the cell that receives the chosen sample.
fn over_browser(list: ProblemList) -> (ProblemScreen, Rc<std::cell::Cell<Option<SampleAt>>>) {
    let feed = ProblemFeed { problems: Arc::new(list), groups: groups(), ..ProblemFeed::default() };
    let chosen = Rc::default();
    let crumbs = vec!["browse".to_owned(), "coco".to_owned(), "problems".to_owned()];
    (ProblemScreen::new(Rc::new(RefCell::new(feed)), Rc::clone(&chosen), crumbs, SampleAt::default()), chosen)
}

#[test]
fn problem_list_is_limited_to_a_million_rows() {
    let mut list = ProblemList::default();
    for index in 0..=1_000_000 {
        list.add(SampleAt { group: 0, index }, SampleProblem::new(ProblemKind::BadLine, "no object"));
    }
    let (mut screen, _) = over_browser(list);
    screen.handle(Input::Action(Action::Last));
    let shown = testing::shown((80, 22, false), |frame, area, ui| screen.draw(frame, area, ui));
    assert!(shown.contains("the first 1,000,000") && shown.contains("'#999999'"), "{shown}");
    assert_eq!(problems::MAX_PROBLEMS, 1_000_000);
}

#[test]
fn enter_on_problem_opens_its_sample() {
    let mut list = ProblemList::default();
    let known = SampleProblem {
        key: Some("k\u{1b}".into()),
        ..SampleProblem::new(ProblemKind::BrokenMedia, "cut \u{202e} short")
    };
    list.add(SampleAt { group: 1, index: 7 }, known);
    let (mut screen, chosen) = over_browser(list);
    assert_eq!(screen.context(), Context::Problems);
    assert!(matches!(screen.handle(Input::Action(Action::OpenProblem))[..], [Effect::Pop]));
    assert_eq!(chosen.get(), Some(SampleAt { group: 1, index: 7 }));
    testing::compare("browse_problems", &SCREENS, |size| {
        testing::shown(size, |frame, area, ui| screen.draw(frame, area, ui))
    });
    let (screen, _) = over_browser(ProblemList::default());
    assert_eq!(screen.disabled_reason(Action::OpenProblem).as_deref(), Some("no problem is selected"));
}
