//! The editor as its callers use it.

use super::*;
use std::path::Path;
use std::sync::Arc;

const FILE: &str = "\
split_parts:
  train:
  - s_{0..7}.tar
  val:
  - s_8.tar
  test: []
exclude:
- s_1.tar/k{01..05}
- s_2.tar
";

fn counts() -> Vec<(String, u64)> {
    (0..10).map(|n| (format!("s_{n}.tar"), 100)).collect()
}

fn editor(text: &str) -> SplitEditor {
    SplitEditor::from_bytes(Path::new("/d"), Path::new("/d/.nv-meta/split.yaml"), text.into(), counts()).unwrap()
}

fn names(view: &SplitView) -> Vec<&str> {
    view.shards.iter().map(|shard| shard.name.as_ref()).collect()
}

fn text(editor: &SplitEditor) -> String {
    String::from_utf8(editor.text().unwrap()).unwrap()
}

fn moved(shards: &[&str], to: Option<&str>) -> Edit {
    Edit::MoveShards { shards: shards.iter().map(|name| Arc::from(*name)).collect(), to: to.map(Arc::from) }
}

#[test]
fn the_views_say_what_the_file_says() {
    let editor = editor(FILE);
    assert_eq!(editor.splits()[0].shards.len(), 8);
    assert_eq!(editor.splits()[0].samples, 700, "the excluded shard does not count");
    assert_eq!(names(editor.loose()), ["s_9.tar"]);
    assert_eq!(editor.excludes()[0].names, Names::Range(5));
    assert_eq!(editor.excludes()[1].matches, Matches::Some(1));
    assert!((editor.splits()[1].share - 0.125).abs() < 1e-9);
}

#[test]
fn moving_a_shard_splits_its_range_and_undo_takes_it_back() {
    let mut editor = editor(FILE);
    let applied = editor.apply(moved(&["s_3.tar"], Some("val"))).unwrap();
    assert_eq!(applied.message, "'s_3.tar' moved to 'val'");
    assert_eq!(names(&editor.splits()[1]), ["s_3.tar", "s_8.tar"]);
    assert!(editor.splits()[1].shards[0].is_moved);
    assert!(text(&editor).contains("- s_{0..2}.tar\n  - s_{4..7}.tar\n  val:\n  - s_3.tar\n  - s_8.tar\n"));
    assert_eq!(editor.undo().as_deref(), Some("move s_3.tar to val"));
    assert_eq!(text(&editor), FILE);
    assert_eq!(editor.pending(), 0);
    editor.redo().unwrap();
    assert_eq!(names(&editor.splits()[1]), ["s_3.tar", "s_8.tar"]);
}

#[test]
fn including_a_sample_splits_the_range_that_excludes_it() {
    let mut editor = editor(FILE);
    editor.apply(Edit::Include { shard: "s_1.tar".into(), key: Some("k03".into()) }).unwrap();
    let items: Vec<&str> = editor.excludes().iter().map(|view| view.item.as_ref()).collect();
    assert_eq!(items, ["s_1.tar/k{01..02}", "s_1.tar/k{04..05}", "s_2.tar"]);
    editor.apply(Edit::Include { shard: "s_2.tar".into(), key: None }).unwrap();
    assert_eq!(editor.splits()[0].samples, 800);
    assert!(editor.apply(Edit::Include { shard: "s_2.tar".into(), key: None }).is_err());
}

#[test]
fn balancing_equal_shards_takes_as_few_moves_as_can_be() {
    let editor = editor("split_parts:\n  train:\n  - s_{0..9}.tar\n  val: []\n  test: []\nexclude: []\n");
    let ratios = parse_ratios(&editor, "8,1,1").unwrap();
    let plan = balance(&editor, &ratios);
    assert_eq!(plan.moves.len(), 2);
    assert_eq!(plan.shares.iter().map(|share| share.samples_after).collect::<Vec<_>>(), [800, 100, 100]);
}
