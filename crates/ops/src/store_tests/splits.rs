//! Edits of `split.yaml` in a store by several writers.

use super::options;
use crate::engine::splits::{Edit, ExcludeItem, SplitEditor};
use crate::job::splits::{rewrite, write};
use gristmill_storage::files;
use gristmill_storage::lock::is_lock_failure;
use gristmill_storage::memory_store::put;
use gristmill_storage::walk::Walk;
use std::path::{Path, PathBuf};

const SPLITS: &str = "# by hand\nsplit_parts:\n  train:\n  - s_{0..3}.tar\n  val: []\nexclude: []\n";

fn data_set(name: &str) -> PathBuf {
    let root = PathBuf::from(format!("mem://splits/{name}"));
    put(
        &root.join(".nv-meta/.info.json"),
        b"{\"shard_counts\": {\"s_0.tar\": 9, \"s_1.tar\": 9, \"s_2.tar\": 9, \"s_3.tar\": 9}}",
    );
    put(&root.join(".nv-meta/split.yaml"), SPLITS.as_bytes());
    root
}

fn text(root: &Path) -> String {
    files::read_to_string(root.join(".nv-meta/split.yaml")).unwrap()
}

fn excluding(root: &Path, key: &str) -> SplitEditor {
    let mut editor = SplitEditor::open(root, None).unwrap();
    editor.apply(Edit::Exclude { items: vec![ExcludeItem::sample("s_0.tar", key)] }).unwrap();
    editor
}

#[test]
fn split_edits_in_a_store_are_written_without_other_objects() {
    let root = data_set("plain");
    let mut editor = excluding(&root, "k");
    editor.apply(Edit::MoveShards { shards: vec!["s_3.tar".into()], to: Some("val".into()) }).unwrap();
    write(&root, &editor, &options(), false).unwrap();
    let moved = SPLITS.replace("{0..3}", "{0..2}").replace("val: []", "val:\n  - s_3.tar");
    assert_eq!(text(&root), moved.replace("exclude: []", "exclude:\n- s_0.tar/k"));
    let objects = Walk::new(&root).into_iter().filter(|entry| entry.as_ref().unwrap().kind().is_file());
    assert_eq!(objects.count(), 2, "neither a lock nor a draft is left");
}

#[test]
fn eight_writers_lose_no_edit() {
    let root = data_set("writers");
    std::thread::scope(|scope| {
        for number in 0..8 {
            let root = &root;
            scope.spawn(move || {
                let mut editor = excluding(root, &format!("k{number}"));
                loop {
                    match rewrite(&mut editor, &options(), &mut |_| Ok(true)) {
                        Ok(written) => break assert!(!written.unwrap().nothing_to_do),
                        // Another process is writing, or has changed the file in every attempt.
                        Err(failure) if is_lock_failure(&failure) || failure.why.contains("each time") => {
                            assert_eq!(failure.class.code(), 3);
                            editor = excluding(root, &format!("k{number}"));
                        }
                        Err(failure) => panic!("{failure}"),
                    }
                }
            });
        }
    });
    let editor = SplitEditor::open(&root, None).unwrap();
    let mut items: Vec<_> = editor.excludes().iter().map(|view| view.item.to_string()).collect();
    items.sort();
    assert_eq!(items, (0..8).map(|number| format!("s_0.tar/k{number}")).collect::<Vec<_>>());
    assert!(text(&root).starts_with("# by hand\n"));
}

#[test]
fn split_edits_are_reapplied_if_the_file_changes() {
    let root = data_set("again");
    let theirs = |count: usize| SPLITS.replace("by hand", &format!("by another program, {count}"));
    let change = |count: usize| put(&root.join(".nv-meta/split.yaml"), theirs(count).as_bytes());
    let mut editor = excluding(&root, "k");
    let mut count = 0;
    let mut confirm = |_: &SplitEditor| {
        count += 1;
        if count < 3 {
            change(count);
        }
        Ok(true)
    };
    rewrite(&mut editor, &options(), &mut confirm).unwrap().unwrap();
    assert_eq!(text(&root), theirs(2).replace("exclude: []", "exclude:\n- s_0.tar/k"));

    let mut editor = excluding(&root, "other");
    let mut count = 3;
    let mut confirm = |_: &SplitEditor| {
        count += 1;
        change(count);
        Ok(true)
    };
    let failure = rewrite(&mut editor, &options(), &mut confirm).unwrap_err();
    assert_eq!(failure.class.code(), 3);
    assert_eq!((text(&root), count), (theirs(6), 6), "after three tries the file is left to the others");

    assert!(rewrite(&mut excluding(&root, "k"), &options(), &mut |_| Ok(false)).unwrap().is_none());
    assert_eq!(text(&root), theirs(6));
}
