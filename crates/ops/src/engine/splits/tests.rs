//! Tests the editor through its public interface.

mod items;
mod random;

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

fn exclude(editor: &SplitEditor, index: usize) -> &ExcludeView {
    editor.excludes().get(index).unwrap()
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
fn balancing_keeps_one_shard_in_every_split_with_a_ratio() {
    let file = "split_parts:\n  train:\n  - s_0.tar\n  val:\n  - s_1.tar\n  test:\n  - s_2.tar\nexclude: []\n";
    let mut editor = editor(file);
    let ratios = [("train", 8.0), ("val", 1.0), ("test", 1.0)].map(|(name, part)| (Arc::from(name), part));
    assert!(balance(&editor, &ratios).moves.is_empty(), "800 of 1,000 would be nearer, and two splits empty");
    editor.apply(moved(&["s_3.tar", "s_4.tar"], Some("val"))).unwrap();
    let plan = balance(&editor, &ratios);
    let counts: Vec<u64> = plan.shares.iter().map(|share| share.samples_after).collect();
    assert_eq!(counts, [300, 100, 100]);
    let none = [("train", 1.0), ("val", 0.0), ("test", 0.0)].map(|(name, part)| (Arc::from(name), part));
    assert_eq!(balance(&editor, &none).shares[0].samples_after, 500, "what is to have nothing gives all");
}

#[test]
fn editor_views_show_the_content_of_split_yaml() {
    let editor = editor(FILE);
    assert_eq!(editor.splits()[0].shards.len(), 8);
    assert_eq!(editor.splits()[0].samples, 700, "the excluded shard does not count");
    assert_eq!(names(editor.loose()), ["s_9.tar"]);
    assert_eq!(exclude(&editor, 0).names, Names::Range(5));
    assert_eq!(exclude(&editor, 1).matches, Matches::Some(1));
    assert!((editor.splits()[1].share - 0.125).abs() < 1e-9);
}

#[test]
fn moving_a_shard_splits_its_range_and_undo_restores_it() {
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
fn balancing_equal_shards_needs_the_fewest_moves() {
    let editor = editor("split_parts:\n  train:\n  - s_{0..9}.tar\n  val: []\n  test: []\nexclude: []\n");
    let ratios = parse_ratios(&editor, "8,1,1").unwrap();
    let plan = balance(&editor, &ratios);
    assert_eq!(plan.moves.len(), 2);
    assert_eq!(plan.shares.iter().map(|share| share.samples_after).collect::<Vec<_>>(), [800, 100, 100]);
}

#[test]
fn edits_are_reapplied_on_another_version_of_the_file() {
    let mut mine = editor(FILE);
    mine.apply(moved(&["s_3.tar"], Some("val"))).unwrap();
    mine.apply(Edit::RemoveItem { index: 1 }).unwrap();
    mine.apply(Edit::SetNote { index: 0, note: Some("blurred".into()) }).unwrap();
    mine.apply(Edit::RemoveSplit { name: "test".into() }).unwrap();
    let theirs =
        "# theirs\n".to_owned() + &FILE.replace("exclude:\n", "exclude:\n- s_9.tar\n").replace("  test: []\n", "");
    let mut merged = editor(&theirs);
    let lost = mine.reapply_on(&mut merged);
    assert_eq!(lost.len(), 1, "{lost:?}");
    assert_eq!(lost[0].edit, Edit::RemoveSplit { name: "test".into() });
    let now = text(&merged);
    assert!(now.starts_with("# theirs\n"), "{now}");
    assert!(now.ends_with("exclude:\n- s_9.tar\n- s_1.tar/k{01..05}  # blurred\n"), "{now}");
    assert_eq!(names(&merged.splits()[1]), ["s_3.tar", "s_8.tar"]);
}

#[test]
fn saved_draft_replays_to_the_same_text() {
    let mut mine = editor(FILE);
    mine.apply(moved(&["s_3.tar", "s_9.tar"], None)).unwrap();
    mine.apply(Edit::Exclude { items: vec![ExcludeItem::sample("s_3.tar", "a{1}").with_note(Some("why".into()))] })
        .unwrap();
    let saved = serde_json::to_string(&mine.draft().unwrap()).unwrap();
    let draft: Draft = serde_json::from_str(&saved).unwrap();
    let mut again = editor(FILE);
    assert_eq!(draft.base, again.base_hash());
    assert!(again.replay(&draft.edits).is_empty());
    assert_eq!(text(&again), text(&mine));
    assert!(text(&again).ends_with("- s_3.tar/a\\{1\\}  # why\n"), "{}", text(&again));
}

#[test]
fn literal_names_with_braces_are_escaped_and_ranges_are_kept() {
    let mut editor = editor(FILE);
    for item in [ExcludeItem::sample("s_1.tar", "{a,b}"), ExcludeItem::written("s_1.tar/z{1..3}")] {
        editor.apply(Edit::Exclude { items: vec![item] }).unwrap();
    }
    let views = [exclude(&editor, 2), exclude(&editor, 3)];
    assert_eq!((&*views[0].item, views[0].names), ("s_1.tar/\\{a,b\\}", Names::Sample));
    assert_eq!((&*views[1].item, views[1].names), ("s_1.tar/z{1..3}", Names::Range(3)));
    let odd = editor.apply(Edit::Exclude { items: vec![ExcludeItem::written("s_x.tar/1")] }).unwrap();
    assert_eq!(odd.problems.len(), 1, "{odd:?}");
    assert!(editor.apply(Edit::Exclude { items: vec![ExcludeItem::written("s_x.tar/{1..")] }).is_err());
    assert!(exclude(&editor, 2).is_new && !exclude(&editor, 1).is_new);
}

#[test]
fn shard_glob_is_refused_with_the_pattern_as_hint() {
    let editor = editor(FILE);
    assert_eq!(matching(&editor, r"s_[12]").unwrap(), [1, 2]);
    let failure = matching(&editor, "*_1.tar").unwrap_err();
    assert!(failure.hint.unwrap().contains("did you mean"), "{}", failure.why);
    assert!(matching(&editor, "t_*").unwrap_err().hint.is_some());
}

#[test]
fn split_diff_shows_changes_with_their_context() {
    let mut editor = editor(FILE);
    assert!(editor.diff().is_empty());
    editor.apply(moved(&["s_0.tar"], Some("val"))).unwrap();
    let shown: Vec<String> = editor.diff().iter().map(|line| format!("{}{}", line.sign(), line.text)).collect();
    let wanted = [
        " split_parts:",
        "   train:",
        "-  - s_{0..7}.tar",
        "+  - s_{1..7}.tar",
        "   val:",
        "+  - s_0.tar",
        "   - s_8.tar",
        "   test: []",
        " exclude:",
    ];
    assert_eq!(shown, wanted);
}

#[test]
fn mistake_in_edited_text_is_refused_with_its_place() {
    let mut editor = editor(FILE);
    let failure = editor.apply(Edit::ReplaceText { text: "split_parts:\n  train: [a\n".into() }).unwrap_err();
    assert!(failure.subject.line.is_some(), "{failure:?}");
    assert!(failure.why.contains("column"), "{failure:?}");
    assert_eq!((editor.pending(), text(&editor)), (0, FILE.to_owned()));
    editor.apply(Edit::ReplaceText { text: FILE.replace("val", "dev") }).unwrap();
    assert!(editor.splits()[1].is_new && !editor.splits()[0].is_new);
    assert_eq!(editor.undo().as_deref(), Some("edit as text"));
    assert_eq!(text(&editor), FILE);
}

#[test]
fn balancing_unequal_shards_comes_as_close_as_whole_shards_allow() {
    let sizes = [900u64, 850, 400, 350, 300, 120, 80, 60, 40, 10];
    let counts = sizes.iter().enumerate().map(|(n, size)| (format!("s_{n}.tar"), *size)).collect();
    let text = "split_parts:\n  train:\n  - s_{0..9}.tar\n  val: []\nexclude: []\n";
    let path = Path::new("/d/.nv-meta/split.yaml");
    let mut editor = SplitEditor::from_bytes(Path::new("/d"), path, text.into(), counts).unwrap();
    let ratios = parse_ratios(&editor, "train=9,val=1").unwrap();
    let plan = balance(&editor, &ratios);
    assert_eq!(plan.shares[1].samples_after, 310, "{plan:?}");
    assert_eq!(plan.moves.len(), 2, "{plan:?}");
    editor.apply(plan.edit().unwrap()).unwrap();
    assert_eq!(editor.splits()[1].samples, 310);
    assert!(balance(&editor, &ratios).moves.is_empty());
    assert!(parse_ratios(&editor, "8,1,1").is_err());
}
