use super::*;
use crate::tui::jobs::{JobId, JobView};
use crate::tui::screens::splits::add_exclude::Preview;
use crate::tui::screens::splits::leaks::{draw_leaks, draw_running, ShardSplits};
use crate::tui::screens::splits::lookup_dialog::Rows;
use crate::tui::screens::splits::pattern::MatchedShards;
use crate::tui::screens::splits::review::{draw_changes, draw_written, ChangeList};
use crate::tui::screens::splits::{add_exclude, balance, pattern};
use crate::tui::widgets::{ListState, TextField};
use gristmill_core::{Failure, Outcome, Subject};
use gristmill_ops::engine::leaks::{Leak, LeakCount, LeakKind, LeakLocation, LeakRepair, Leaks, ShardTotals};
use gristmill_ops::engine::splits::{balance as balanced, parse_ratios};
use gristmill_ops::job::leaks::LeakReport;
use gristmill_ops::job::report::RunFindings;
use gristmill_ops::job::splits::SplitFile;
use gristmill_ops::job::{JobState, JobStatus};

/// Rows for a result of `len` rows.
fn rows(len: usize) -> Rows {
    let mut rows = Rows::default();
    rows.set(len);
    rows
}

#[test]
fn pattern_dialog_lists_matching_shards() {
    let field = TextField::new("shard_001[4-7]");
    let found: Outcome<MatchedShards> = MatchedShards::of(&editor(), field.value());
    let mut rows = rows(found.as_ref().unwrap().shards.len());
    assert_eq!(rows.list.len, 4);
    compare_over("pattern", &mut |frame, area, ui| pattern::draw(&field, Some(&found), &mut rows, frame, area, ui));
    let all: Outcome<MatchedShards> = MatchedShards::of(&editor(), "shard");
    let mut rows = super::dialogs::rows(20);
    let field = TextField::new("shard");
    compare_over("pattern_all", &mut |frame, area, ui| pattern::draw(&field, Some(&all), &mut rows, frame, area, ui));
}

#[test]
fn unmatched_or_empty_shard_pattern_shows_a_hint() {
    let field = TextField::new("*.tar");
    let found: Outcome<MatchedShards> = MatchedShards::of(&editor(), field.value());
    assert!(found.is_err());
    compare_over("pattern_nothing", &mut |frame, area, ui| {
        pattern::draw(&field, Some(&found), &mut Rows::default(), frame, area, ui);
    });
    let empty = TextField::default();
    compare_over("pattern_empty", &mut |frame, area, ui| {
        pattern::draw(&empty, None, &mut Rows::default(), frame, area, ui);
    });
}

#[test]
fn balance_dialog_previews_moves() {
    let editor = editor();
    let field = TextField::new("6,2,2");
    let found = parse_ratios(&editor, field.value()).map(|ratios| balanced(&editor, &ratios));
    let mut rows = rows(found.as_ref().unwrap().moves.len());
    compare_over("balance", &mut |frame, area, ui| balance::draw(&field, Some(&found), &mut rows, frame, area, ui));
}

#[test]
fn invalid_ratios_are_refused_in_the_balance_dialog() {
    let editor = editor();
    let field = TextField::new("6,2");
    let found = parse_ratios(&editor, field.value()).map(|ratios| balanced(&editor, &ratios));
    compare_over("balance_refused", &mut |frame, area, ui| {
        balance::draw(&field, Some(&found), &mut Rows::default(), frame, area, ui);
    });
}

#[test]
fn exclude_dialog_previews_the_typed_item() {
    let cancel = gristmill_core::Cancel::default();
    for (name, item) in [("shard", "shard_0002.tar"), ("nothing", "shard_0099.tar/1"), ("known", "shard_0005.tar")] {
        let (item, note) = (TextField::new(item), TextField::new("because"));
        let found = Preview::of(editor(), item.value(), &cancel);
        compare_over(&format!("exclude_{name}"), &mut |frame, area, ui| {
            add_exclude::draw((&item, &note), false, Some(&found), frame, area, ui);
        });
    }
}

fn changes() -> ChangeList {
    ChangeList::of(&with(
        editor(),
        vec![
            moved(&["shard_0014.tar", "shard_0015.tar"], "val"),
            excluded("shard_0002.tar", Some("too dark")),
            Edit::AddSplit { name: "holdout".into() },
        ],
    ))
}

#[test]
fn split_review_shows_the_difference() {
    let changes = changes();
    let mut list = ListState::new(changes.lines.len());
    compare("review", ALL_SIZES, &mut |frame, area, ui| {
        draw_changes(Some(&changes), None, &mut list, frame, area, ui);
    });
    let failure = Failure::environment("writing the splits", "permission denied")
        .on(Subject::path("/data/coco/.nv-meta/split.yaml"))
        .with_hint("ask the owner of the folder, or write a copy with gristmill splits diff");
    compare("review_failed", ALL_SIZES, &mut |frame, area, ui| {
        draw_changes(Some(&changes), Some(&failure), &mut list, frame, area, ui);
    });
    let text = "split_parts:\n  train: [shard_0001.tar, shard_0002.tar]\n  val: [shard_0002.tar]\n";
    let leaking = ChangeList::of(&with(editor_of(text, 20), vec![excluded("shard_0003.tar", None)]));
    assert_eq!(leaking.problems.len(), 1, "{:?}", leaking.problems);
    compare("review_leaking", ALL_SIZES, &mut |frame, area, ui| {
        draw_changes(Some(&leaking), None, &mut ListState::new(leaking.lines.len()), frame, area, ui);
    });
    compare("review_comparing", ALL_SIZES, &mut |frame, area, ui| {
        draw_changes(None, None, &mut ListState::default(), frame, area, ui);
    });
}

#[test]
fn written_splits_are_summarized() {
    let path = "/data/coco/.nv-meta/split.yaml".into();
    let written = SplitFile { path, size: 4_321, edits: 3, nothing_to_do: false, bytes: Vec::new() };
    let changes = changes();
    compare("written", ALL_SIZES, &mut |frame, area, ui| draw_written(&written, Some(&changes), frame, area, ui));
}

fn place(split: &str, shard: &str, key: Option<&str>) -> LeakLocation {
    LeakLocation { split: split.into(), shard: shard.into(), key: key.map(str::to_owned), part: None }
}

fn report() -> LeakReport {
    let leak = |kind, from: &str, to: &str| Leak {
        kind,
        places: vec![place("train", from, Some("000032")), place("val", to, Some("100032"))],
        more: 0,
        repairs: vec![LeakRepair::Exclude { keep: "val".into(), items: vec![format!("{from}/000032")] }],
    };
    let leaks = vec![
        leak(LeakKind::Sample, "shard_0003.tar", "shard_0016.tar"),
        leak(LeakKind::Sample, "shard_0007.tar", "shard_0017.tar"),
        leak(LeakKind::Name, "shard_0008.tar", "shard_0017.tar"),
    ];
    let counts = vec![LeakCount { kind: LeakKind::Sample, leaks: 2 }, LeakCount { kind: LeakKind::Name, leaks: 1 }];
    LeakReport {
        content: true,
        compared: ShardTotals { shards: 20, samples: 200_100, contents: 400_000, met: 0 },
        bytes: 4_600_000_000,
        found: Leaks { leaks, counts, ..Leaks::default() },
        findings: RunFindings::default(),
    }
}

#[test]
fn leak_list_marks_resolved_leaks() {
    let report = report();
    let homes = ShardSplits::of(&editor());
    // One of the leaked samples is already excluded in the file.
    let open: Vec<bool> = report.found.leaks.iter().map(|leak| homes.is_open(leak)).collect();
    assert_eq!(open, [false, true, true]);
    let mut list = ListState::new(3);
    compare("leaks", ALL_SIZES, &mut |frame, area, ui| {
        draw_leaks(&report, &homes, &mut list, frame, area, ui);
    });
}

#[test]
fn moving_a_shard_resolves_its_leak_and_undo_restores_it() {
    let leak = report().found.leaks.remove(1);
    let mut editor = with(editor(), vec![moved(&["shard_0007.tar"], "val")]);
    assert!(!ShardSplits::of(&editor).is_open(&leak), "both are in one split");
    editor.undo();
    assert!(ShardSplits::of(&editor).is_open(&leak));
    let with_more = Leak { more: 3, ..leak };
    editor.apply(moved(&["shard_0007.tar"], "val")).unwrap();
    assert!(ShardSplits::of(&editor).is_open(&with_more), "there are places that are not listed");
}

#[test]
fn clean_and_running_leak_checks_are_drawn() {
    let report = LeakReport { found: Leaks::default(), content: false, ..report() };
    compare("leaks_none", ALL_SIZES, &mut |frame, area, ui| {
        draw_leaks(&report, &ShardSplits::default(), &mut ListState::default(), frame, area, ui);
    });
    let mut status = JobStatus::ended(JobState::Running);
    status.item = "shard";
    status.progress.items_done = 7;
    status.progress.items_total = 20;
    status.share = status.progress.fraction();
    let view = JobView {
        id: JobId(1),
        title: "leak check of coco".into(),
        path: "/data/coco".into(),
        root: "/data/coco".into(),
        status,
    };
    compare("leaks_running", ALL_SIZES, &mut |frame, area, ui| draw_running(Some(&view), frame, area, ui));
}

#[test]
fn disabled_choice_shows_reason_and_keeps_popup_open() {
    let offers = vec![
        ChoiceOption::new("train", "16 shards, 80.1 %").disabled_if(Some("it is there".into())),
        ChoiceOption::new("val", "2 shards, 9.9 %"),
        ChoiceOption::new("no split", "not used for training"),
        ChoiceOption::new("a new split", "type its name"),
    ];
    let mut choice = Choice::new("Move 3 shards to", Vec::new(), offers, |_| Vec::new()).selecting(1);
    compare_screen("move", &mut choice);
    let effects = choice.handle(crate::tui::screen::Input::Key(ratatui::crossterm::event::KeyEvent::new(
        ratatui::crossterm::event::KeyCode::Char('1'),
        ratatui::crossterm::event::KeyModifiers::NONE,
    )));
    assert!(matches!(effects.as_slice(), [crate::tui::screen::Effect::Toast(_)]), "the popup stays");
}

#[test]
fn name_prompt_refuses_an_empty_name() {
    let mut prompt = Prompt::new("New split", "The name of the new split:", "", "holdout", |name| match name {
        "" => Err("a split needs a name".to_owned()),
        _ => Ok(Vec::new()),
    });
    let accept = crate::tui::screen::Input::Action(crate::tui::keymap::Action::Accept);
    assert!(prompt.handle(accept).is_empty());
    compare_screen("prompt", &mut prompt);
}

#[test]
fn invalid_split_text_is_refused_with_its_line() {
    let text = "split_parts:\n  train: [a.tar\nexclude: []\n".to_owned();
    let failure: Failure = with(editor(), Vec::new()).apply(Edit::ReplaceText { text }).unwrap_err();
    assert!(failure.subject.line.is_some(), "{failure:?}");
    assert_ne!(failure.subject, Subject::default());
}
