use super::*;
use crate::tui::keymap::Action;
use crate::tui::screens::splits::state::{column, combine_edits, SplitsState};
use crate::tui::screens::splits::view;
use crate::tui::widgets::mouse::MouseAreas;
use gristmill_core::{Failure, Subject};
use gristmill_ops::engine::splits::Draft;

fn state_of(editor: &SplitEditor) -> SplitsState {
    let mut state = SplitsState::default();
    state.update(editor);
    state
}

fn look(name: &str, sizes: &[(u16, u16, bool)], state: &mut SplitsState, editor: &SplitEditor) {
    let problems = editor.problems();
    compare(name, sizes, &mut |frame, area, ui| {
        view::draw(state, editor, &problems, &mut MouseAreas::default(), frame, area, ui);
    });
}

#[test]
fn split_columns_show_shares_and_excludes() {
    let editor = editor();
    look("columns", ALL_SIZES, &mut state_of(&editor), &editor);
}

#[test]
fn changed_and_marked_shards_are_highlighted() {
    let editor = with(
        editor(),
        vec![
            moved(&["shard_0014.tar", "shard_0015.tar"], "val"),
            excluded("shard_0002.tar", Some("too dark")),
            excluded("shard_0001.tar/000007", None),
        ],
    );
    let mut state = state_of(&editor);
    for action in [Action::Down, Action::Mark, Action::Down, Action::Down] {
        assert!(state.handle_action(action));
    }
    assert_eq!(state.rows(), Some(1..=3));
    look("changes", ALL_SIZES, &mut state, &editor);
}

#[test]
fn focused_exclude_list_is_enlarged() {
    let editor = editor();
    let mut state = state_of(&editor);
    state.handle_action(Action::NextPane);
    look("excludes", ALL_SIZES, &mut state, &editor);
}

#[test]
fn many_splits_scroll_sideways() {
    let names: String = (0..12).map(|n| format!("  fold_{n:02}:\n  - shard_{n:04}.tar\n")).collect();
    let editor = editor_of(&format!("split_parts:\n{names}exclude: []\n"), 14);
    let mut state = state_of(&editor);
    look("many", &[(100, 28, false), (40, 10, false)], &mut state, &editor);
    for _ in 0..6 {
        state.handle_action(Action::Right);
    }
    assert_eq!(state.at, 6);
    look("many_middle", &[(100, 28, false), (80, 22, true)], &mut state, &editor);
    for _ in 0..20 {
        state.handle_action(Action::Right);
    }
    assert_eq!(column(&editor, state.at).map(|view| view.shards.len()), Some(2), "the last column is of no split");
    look("many_last", &[(100, 28, false)], &mut state, &editor);
}

#[test]
fn emptied_split_is_highlighted() {
    let editor = with(editor(), vec![moved(&["shard_0016.tar", "shard_0017.tar"], "train")]);
    let mut state = state_of(&editor);
    state.handle_action(Action::Right);
    look("empty", &[(100, 28, false), (40, 10, false), (80, 22, true)], &mut state, &editor);
}

#[test]
fn hostile_split_names_are_escaped() {
    let text = "split_parts:\n  \"tr\\e[31min\":\n  - \"sh\\u202eard_0000.tar\"\n  - shard_0001.tar\nexclude:\n- \"a\\e]0;x\\a/1\"\n";
    let editor = editor_of(text, 2);
    let mut state = state_of(&editor);
    look("hostile", &[(80, 22, false)], &mut state, &editor);
}

#[test]
fn split_editor_draws_loading_and_failure() {
    compare("reading", &[(80, 22, false)], &mut |frame, area, ui| view::draw_nothing(None, frame, area, ui));
    let failure = Failure::data("opening the splits", "the data set is not prepared")
        .on(Subject::path("/data/raw"))
        .with_hint("gristmill prepare PATH prepares it");
    let sizes = &[(80, 22, false), (40, 10, true)];
    compare("failed", sizes, &mut |frame, area, ui| view::draw_nothing(Some(&failure), frame, area, ui));
}

#[test]
fn split_editor_draws_at_any_size() {
    let editor = editor();
    for on_excludes in [false, true] {
        let mut state = state_of(&editor);
        state.is_on_excludes = on_excludes;
        let problems = editor.problems();
        for (columns, rows) in [(1, 1), (2, 4), (10, 5), (27, 8), (39, 10), (54, 13), (200, 60)] {
            shown(columns, rows, false, &mut |frame, area, ui| {
                view::draw(&mut state, &editor, &problems, &mut MouseAreas::default(), frame, area, ui);
            });
        }
    }
}

#[test]
fn column_selection_survives_removal_of_another_split() {
    let mut editor = editor();
    let mut state = state_of(&editor);
    state.handle_action(Action::Right);
    state.handle_action(Action::Down);
    assert_eq!(state.shards(&editor).first().map(|s| s.name.to_string()), Some("shard_0017.tar".into()));
    editor.apply(Edit::RemoveSplit { name: "train".into() }).unwrap();
    state.update(&editor);
    assert_eq!(state.lists.len(), 3, "val, test, and the shards of no split");
    assert_eq!(state.lists[0].selected, 1);
    editor.undo();
    state.update(&editor);
    assert_eq!(state.lists[1].selected, 1);
}

#[test]
fn exclude_key_toggles_shards_and_ranges() {
    let editor = editor();
    let mut state = state_of(&editor);
    let edit = state.exclude_shards(&editor, Some("why".into())).unwrap();
    let Edit::Exclude { items } = &edit else { panic!("{edit:?}") };
    assert_eq!((items[0].item.as_str(), items[0].note.as_deref()), ("shard_0000.tar", Some("why")));
    for _ in 0..5 {
        state.handle_action(Action::Down);
    }
    let edit = state.exclude_shards(&editor, None).unwrap();
    assert_eq!(edit, Edit::RemoveItem { index: 0 }, "it is excluded by an item of its own");
    // A range with both excluded and included shards is excluded as a whole.
    state.handle_action(Action::Mark);
    state.handle_action(Action::Down);
    let edit = state.exclude_shards(&editor, None).unwrap();
    let Edit::Exclude { items } = &edit else { panic!("{edit:?}") };
    assert_eq!(items.len(), 1, "the other one is out already");
    assert_eq!(state.remove_excludes(), None, "the excludes do not have the keys");
}

#[test]
fn including_a_shard_removes_it_from_an_exclude_range() {
    let text = TEXT.replace("  - shard_0005.tar\n", "  - shard_{0004..0006}.tar\n");
    let mut editor = editor_of(&text, 20);
    let mut state = state_of(&editor);
    for _ in 0..5 {
        state.handle_action(Action::Down);
    }
    let edit = state.exclude_shards(&editor, None).unwrap();
    assert_eq!(edit, Edit::Include { shard: "shard_0005.tar".into(), key: None });
    editor.apply(edit).unwrap();
    assert!(editor.excludes().iter().all(|exclude| !exclude.item.contains("0005")));
}

#[test]
fn range_of_excludes_is_removed_in_one_step() {
    let mut editor = editor();
    let mut state = state_of(&editor);
    state.handle_action(Action::NextPane);
    state.handle_action(Action::Mark);
    state.handle_action(Action::Down);
    let edit = state.remove_excludes().unwrap();
    editor.apply(edit).unwrap();
    let left: Vec<&str> = editor.excludes().iter().map(|exclude| &*exclude.item).collect();
    assert_eq!(left, ["shard_0003.tar/{000100..000104}", "shard_0077.tar/000001"]);
    assert_eq!(editor.pending(), 1, "one step");
    assert_eq!(combine_edits("x".into(), Vec::new()), Edit::Many { title: "x".into(), edits: Vec::new() });
}

#[test]
fn split_draft_has_all_pending_edits() {
    let editor = with(editor(), vec![moved(&["shard_0000.tar"], "val")]);
    let draft: Draft = editor.draft().unwrap();
    assert_eq!(draft.edits.len(), editor.pending());
}

#[test]
fn ten_thousand_shards_and_three_hundred_thousand_excludes_are_drawn_and_removed() {
    let mut text = String::from("split_parts:\n  train:\n  - shard_{0000..9999}.tar\n  val: []\nexclude:\n");
    for n in 0..300_000 {
        text.push_str(&format!("- shard_{:04}.tar/{:06}\n", n % 10_000, n));
    }
    let editor = editor_of(&text, 10_000);
    let mut state = state_of(&editor);
    state.handle_action(Action::Last);
    state.handle_action(Action::NextPane);
    state.handle_action(Action::Last);
    (0..20).for_each(|_| _ = state.handle_action(Action::Up));
    state.handle_action(Action::Mark);
    state.handle_action(Action::First);
    let mut changed = editor.clone();
    changed.apply(state.remove_excludes().unwrap()).unwrap();
    assert_eq!(changed.excludes().len(), 20, "all from the first to the selected one");
    assert_eq!(changed.pending(), 1);
    state.mark = None;
    state.handle_action(Action::Last);
    look("large", &[(100, 28, false)], &mut state, &editor);
}
