//! Excludes that are typed, taken from the index, or looked up in it.

use super::*;
use gristmill_core::Cancel;
use gristmill_data::formats::energon::layout;
use gristmill_data::formats::energon::split_yaml::SplitFile;
use gristmill_data::formats::energon::tables::{CREATE_SAMPLE_TABLES, INSERT_SAMPLE};
use gristmill_pycompat::braces;
use std::collections::HashMap;

/// Returns the names that the loader excludes for a text.
fn as_loaded(text: &str) -> Vec<String> {
    let file = SplitFile::parse(text).unwrap();
    file.exclude.iter().flat_map(|item| braces::expand(item, braces::MAX_RESULTS).unwrap()).collect()
}

const ODD_KEYS: &[&str] = &[
    r"back\slash",
    "{c,d}",
    "{1..3}",
    "{",
    "}",
    r"\{c,d\}",
    r"\\",
    r"tail\",
    "a{b",
    "a}b{",
    "{a,{b,c}}",
    " # no comment",
    "a: b",
    "it's \"so\"",
    "folder/k{x,y}.v1",
];

#[test]
fn key_from_the_index_is_excluded_literally() {
    for shard in ["s_1.tar", "not {1,2} known.tar", r"back\.tar"] {
        for key in ODD_KEYS {
            let mut editor = editor(FILE);
            let before = as_loaded(&text(&editor));
            editor.apply(Edit::Exclude { items: vec![ExcludeItem::sample(shard, key)] }).unwrap();
            let mut wanted = before.clone();
            wanted.push(format!("{shard}/{key}"));
            assert_eq!(as_loaded(&text(&editor)), wanted, "{shard} {key}");
            let draft = serde_json::to_string(&editor.draft().unwrap()).unwrap();
            let draft: Draft = serde_json::from_str(&draft).unwrap();
            let mut again = super::editor(FILE);
            assert!(again.replay(&draft.edits).is_empty());
            assert_eq!(text(&again), text(&editor), "{shard} {key}: from a draft");
            editor.apply(Edit::Include { shard: shard.into(), key: Some((*key).into()) }).unwrap();
            assert_eq!(as_loaded(&text(&editor)), before, "{shard} {key}");
        }
    }
}

#[test]
fn multi_line_name_of_a_known_shard_is_excluded_and_of_an_unknown_one_refused() {
    let path = Path::new("/d/.nv-meta/split.yaml");
    let counts = vec![("line\nbreak.tar".to_owned(), 5)];
    let mut editor =
        SplitEditor::from_bytes(Path::new("/d"), path, b"split_parts: {}\nexclude: []\n".to_vec(), counts).unwrap();
    for item in ["line\nbreak.tar", "line\nbreak.tar/k1"] {
        editor.apply(Edit::Exclude { items: vec![ExcludeItem::written(item)] }).unwrap();
    }
    assert_eq!(as_loaded(&text(&editor)), ["line\nbreak.tar", "line\nbreak.tar/k1"]);
    let refused = editor.apply(Edit::Exclude { items: vec![ExcludeItem::written("other\nname.tar")] }).unwrap_err();
    assert!(refused.to_string().contains("on one line"), "{refused}");
}

#[test]
fn written_exclude_is_an_expression_and_chosen_exclude_is_literal() {
    for (item, loaded) in [
        (ExcludeItem::written(r"s_1.tar/back\slash"), vec!["s_1.tar/backslash"]),
        (ExcludeItem::sample("s_1.tar", r"back\slash"), vec![r"s_1.tar/back\slash"]),
        (ExcludeItem::written("s_1.tar/{c,d}"), vec!["s_1.tar/c", "s_1.tar/d"]),
        (ExcludeItem::sample("s_1.tar", "{c,d}"), vec!["s_1.tar/{c,d}"]),
        (ExcludeItem::written("s_{3,4}.tar"), vec!["s_3.tar", "s_4.tar"]),
        (ExcludeItem::shard("s_{3,4}.tar"), vec!["s_{3,4}.tar"]),
    ] {
        let mut editor = editor("split_parts: {}\nexclude: []\n");
        editor.apply(Edit::Exclude { items: vec![item.clone()] }).unwrap();
        assert_eq!(as_loaded(&text(&editor)), loaded, "{item:?}");
    }
    let range = ExcludeItem::escaped("s_1.tar/{c,d}");
    assert!(editor(FILE).apply(Edit::Exclude { items: vec![range] }).is_err(), "a range is not one name");
}

/// Writes a data set of three samples in `s_0.tar`, one of which has a name with braces.
#[expect(clippy::disallowed_methods, reason = "test data is not published")]
fn prepared(root: &Path) {
    let meta = root.join(".nv-meta");
    std::fs::create_dir(&meta).unwrap();
    std::fs::write(meta.join(".info.json"), r#"{"shard_counts": {"s_0.tar": 3, "s_1.tar": 0}}"#).unwrap();
    let tables = rusqlite::Connection::open(layout::in_nv_meta(root, layout::INDEX_SQLITE)).unwrap();
    tables.execute_batch(CREATE_SAMPLE_TABLES).unwrap();
    for (index, key) in (0i64..).zip(["a", "b", "{c}"]) {
        tables.execute(INSERT_SAMPLE, rusqlite::params![0, key, index, index * 1024, 1024]).unwrap();
    }
    let items = r"[s_0.tar/a, s_1.tar/a, 's_0.tar/{a,b,x}', 's_0.tar/\{c\}', s_1.tar, s_2.tar/a, 's_0.tar/{']";
    std::fs::write(meta.join("split.yaml"), format!("split_parts:\n  train: [s_0.tar]\nexclude: {items}\n")).unwrap();
}

fn matches(editor: &SplitEditor) -> Vec<Matches> {
    editor.excludes().iter().map(|view| view.matches).collect()
}

#[test]
fn excludes_are_counted_in_the_index_by_shard_and_key() {
    use Matches::{Nothing, Some, Unknown};
    let folder = tempfile::tempdir().unwrap();
    prepared(folder.path());
    let mut editor = SplitEditor::open(folder.path(), None).unwrap();
    assert_eq!(matches(&editor), [Unknown, Unknown, Unknown, Unknown, Some(1), Nothing, Nothing]);
    let unknown = editor.totals();
    assert_eq!((unknown.shards, unknown.samples, unknown.idle, unknown.unknown), (1, 6, 2, 4));
    let asked = editor.unchecked_items();
    let found = check_items(folder.path(), &asked, &Cancel::default()).unwrap();
    let counts: Vec<u64> = asked.iter().map(|item| found.found[item]).collect();
    assert_eq!(counts, [1, 0, 2, 1], "{asked:?}");
    let version = editor.version();
    editor.take_checked(found);
    assert_ne!(editor.version(), version, "what is shown has changed");
    assert_eq!(matches(&editor), [Some(1), Nothing, Some(2), Some(1), Some(1), Nothing, Nothing]);
    let known = editor.totals();
    assert_eq!((known.shards, known.samples, known.idle, known.unknown), (1, 4, 3, 0));
    assert!(editor.unchecked_items().is_empty());
    let reported = editor.problems();
    assert!(
        reported.iter().any(|problem| problem.message.contains("'s_1.tar/a' names no sample that is there")),
        "{reported:?}"
    );
    // The result of a lookup is still known after its item was removed.
    editor.apply(Edit::RemoveItem { index: 0 }).unwrap();
    editor.undo();
    assert_eq!(matches(&editor)[0], Some(1));
    let cancelled = Cancel::default();
    cancelled.cancel();
    assert!(check_items(folder.path(), &asked, &cancelled).is_err());
}

#[test]
fn checked_excludes_of_a_cloned_editor_are_taken_over_after_edits() {
    let folder = tempfile::tempdir().unwrap();
    prepared(folder.path());
    let mut editor = SplitEditor::open(folder.path(), None).unwrap();
    let mut copy = editor.clone();
    let new = ExcludeItem::sample("s_0.tar", "b");
    editor.apply(Edit::Exclude { items: vec![new] }).unwrap();
    editor.apply(Edit::RemoveItem { index: 1 }).unwrap();
    let found = check_items(folder.path(), &copy.unchecked_items(), &Cancel::default()).unwrap();
    copy.take_checked(found);
    assert!(editor.take_learned(copy));
    use Matches::{Nothing, Some, Unknown};
    assert_eq!(matches(&editor), [Some(1), Some(2), Some(1), Some(1), Nothing, Nothing, Unknown]);
    assert_eq!(editor.pending(), 2);
    assert!(editor.excludes().last().unwrap().is_new);
    let bytes = editor.text().unwrap();
    let stale = editor.clone();
    editor.written(bytes);
    assert!(!editor.take_learned(stale), "it was made from another file");
    assert!(!editor.excludes().last().unwrap().is_new);
}

#[test]
fn check_results_of_removed_items_change_nothing() {
    let mut editor = editor(FILE);
    let before: Vec<ExcludeView> = editor.excludes().iter().cloned().collect();
    editor.take_checked(CheckedItems { found: HashMap::from([(Arc::from("s_9.tar/gone"), 1)]) });
    assert!(editor.excludes().iter().eq(&before));
}

#[test]
#[expect(clippy::disallowed_methods, reason = "test data is not published")]
fn samples_without_a_database_row_are_found_by_excludes() {
    let folder = tempfile::tempdir().unwrap();
    prepared(folder.path());
    let names: Vec<Arc<str>> = ["s_1.tar/a", "s_1.tar/{a,b,x}", "s_1.tar/x"].map(Arc::from).to_vec();
    let counts = |names: &[Arc<str>]| -> Vec<u64> {
        let found = check_items(folder.path(), names, &Cancel::default()).unwrap();
        names.iter().map(|name| found.found[name]).collect()
    };
    assert_eq!(counts(&names), [0, 0, 0]);
    // The second shard has two samples, with the keys of samples in the first shard.
    let info = r#"{"shard_counts": {"s_0.tar": 3, "s_1.tar": 2}}"#;
    std::fs::write(folder.path().join(".nv-meta/.info.json"), info).unwrap();
    assert_eq!(counts(&names), [1, 2, 0]);
    assert_eq!(counts(&["s_0.tar/a".into()]), [1]);
}
