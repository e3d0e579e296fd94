//! Tests the file tree of a prepared data set without a kernel.

use super::{Layout, MountView, MountedSet};
use crate::job::prepare::PrepareJob;
use gristmill_core::{Cancel, PreparePlan, RunOptions, SampleMapping, SplitPlan};
use gristmill_fuse::{Entry, EntryKind, Node, Refusal, Tree};
use std::path::Path;

/// Writes a shard with empty entries of these names.
fn write_shard(path: &Path, names: &[String]) {
    let mut builder = tar::Builder::new(Vec::new());
    for name in names {
        let mut header = tar::Header::new_gnu();
        header.set_size(0);
        header.set_mode(0o644);
        builder.append_data(&mut header, name, &b""[..]).unwrap();
    }
    std::fs::write(path, builder.into_inner().unwrap()).unwrap();
}

/// Prepares a data set of one shard with empty entries of these names.
fn prepared(root: &Path, names: &[String]) {
    write_shard(&root.join("0.tar"), names);
    prepare(root);
}

fn prepare(root: &Path) {
    let mut plan = PreparePlan::new(root.to_str().unwrap());
    plan.splits = SplitPlan::Ratio("1,0,0".into());
    plan.loading = SampleMapping::Crude { cooker: false };
    PrepareJob::start(plan, RunOptions { threads: 1, ..RunOptions::default() }, None).unwrap().wait().unwrap();
}

fn mounted(root: &Path, layout: Layout) -> MountedSet {
    MountedSet::open(root, &MountView { layout, ..MountView::default() }, &Cancel::default()).unwrap()
}

fn list(set: &MountedSet, folder: u64, mut after: u64, at_once: usize) -> Vec<(Entry, String)> {
    let mut all = Vec::new();
    loop {
        let before = all.len();
        set.list(folder, after, &mut |entry, name| {
            all.push((*entry, name.to_owned()));
            all.len() < before + at_once
        })
        .unwrap();
        match all.last().filter(|_| all.len() > before) {
            Some((entry, _)) => after = entry.inode,
            None => return all,
        }
    }
}

/// Checks a folder and its subfolders: the listing does not depend on the number of entries per call, and each entry is found by its name.
fn check(set: &MountedSet, folder: u64) -> usize {
    let entries = list(set, folder, 0, usize::MAX);
    for at_once in [1, 2, 7] {
        assert_eq!(list(set, folder, 0, at_once), entries);
    }
    let below = |(entry, name): &(Entry, String)| {
        assert_eq!(set.find(folder, name).unwrap(), *entry, "{name}");
        assert_eq!(set.entry(entry.inode).unwrap(), *entry, "{name}");
        1 + if entry.kind == EntryKind::Folder { check(set, entry.inode) } else { 0 }
    };
    entries.iter().map(below).sum()
}

#[test]
fn directory_listing_continues_after_any_entry() {
    let dir = tempfile::tempdir().unwrap();
    let long = "long".repeat(80);
    let names = ["a.txt", "a.txt/b/c.d", "a.txt/b/e.d", "b//c.txt", "b/./d.e", "z/y/x/w.v", "k.a", "k.b", "k.c"];
    let mut names: Vec<String> = names.map(str::to_owned).to_vec();
    names.extend([format!("{long}/a.{long}"), format!("{long}.{long}"), format!("{long}/{long}x.y")]);
    names.extend((0..600).map(|n| format!("many/{n:04}.t")));
    prepared(dir.path(), &names);
    for (layout, wanted) in
        [(Layout::Tree, 612 + 8), (Layout::Flat, 612), (Layout::Folders, 610 + 612), (Layout::All, 0)]
    {
        let set = mounted(dir.path(), layout);
        let count = check(&set, 1);
        assert!(count == wanted || layout == Layout::All && count > 1800, "{layout:?}: {count}");
    }
}

#[test]
fn inode_numbers_without_a_node_are_missing() {
    let dir = tempfile::tempdir().unwrap();
    prepared(dir.path(), &["a/b.c".to_owned()]);
    let set = mounted(dir.path(), Layout::Tree);
    let nodes = [
        Node::Part { number: 0, part: 1 },
        Node::Part { number: 1, part: 0 },
        Node::Sample { number: 1 },
        Node::KeyFolder { number: 0, depth: 2 },
        Node::Fixed(7),
        Node::Lines(1),
    ];
    for inode in nodes.map(|node| node.inode().unwrap()).into_iter().chain([0, 2, u64::MAX]) {
        assert!(matches!(set.entry(inode), Err(Refusal::Missing)), "{inode}");
        assert!(matches!(set.find(inode, "a"), Err(Refusal::Missing)), "{inode}");
        assert!(!matches!(set.read(inode, 0, 1), Err(Refusal::Failed(_))), "{inode}");
    }
    for name in ["", "%", "a%", "b.c", "a/b.c", ".", "..", "%~0123456789abcdef"] {
        assert!(matches!(set.find(1, name), Err(Refusal::Missing)), "{name}");
    }
}

/// Creates a database with repeated keys: rows are in another order than the samples, and no index makes keys unique.
fn repeat_keys(root: &Path, change: &str) {
    let database = rusqlite::Connection::open(root.join(".nv-meta/index.sqlite")).unwrap();
    let old = "DROP TABLE IF EXISTS old; CREATE TABLE old AS SELECT * FROM samples ORDER BY sample_index DESC; DROP TABLE samples; \
               CREATE TABLE samples AS SELECT * FROM old;";
    database.execute_batch(&format!("{old} UPDATE samples SET {change};")).unwrap();
}

#[test]
fn duplicate_keys_of_old_databases_are_mounted() {
    let dir = tempfile::tempdir().unwrap();
    let names = ["a.x", "b.x", "c.y", "d.x"].map(str::to_owned);
    prepared(dir.path(), &names);
    for (layout, wanted) in [(Layout::Flat, 4), (Layout::Tree, 3), (Layout::Folders, 3 + 4)] {
        repeat_keys(dir.path(), "sample_key = 'b' WHERE sample_key = 'd'");
        let set = mounted(dir.path(), layout);
        assert_eq!(check(&set, 1), wanted, "{layout:?}");
        let folder = if layout == Layout::Folders { set.find(1, "b").unwrap().inode } else { 1 };
        let name = if layout == Layout::Folders { "x" } else { "b.x" };
        assert_eq!(set.find(folder, name).unwrap().inode, Node::Part { number: 1, part: 0 }.inode().unwrap());
    }
}

#[test]
fn split_folder_shows_keys_that_occur_earlier_in_another_split() {
    let dir = tempfile::tempdir().unwrap();
    let long = "long".repeat(60);
    let mut names: Vec<String> = (0..300).map(|n| format!("d/{n:04}.t")).collect();
    names.extend((0..300).map(|n| format!("{long}-{n:04}.{long}")));
    let mut second: Vec<String> = names.iter().map(|name| format!("@{name}")).collect();
    // Pairs of keys now start at odd rows, so that batches of rows end inside pairs.
    second.insert(0, "d/!.t".to_owned());
    write_shard(&dir.path().join("1.tar"), &second);
    prepared(dir.path(), &names);
    repeat_keys(dir.path(), "sample_key = substr(sample_key, 2) WHERE sample_key LIKE '@%'");
    let splits = "exclude: []\nsplit_parts:\n  train:\n  - 0.tar\n  val:\n  - 1.tar\n";
    std::fs::write(dir.path().join(".nv-meta/split.yaml"), splits).unwrap();
    for (layout, wanted) in [(Layout::Tree, 602), (Layout::Flat, 601), (Layout::Folders, 1202)] {
        let view = MountView { layout, split: Some("val".to_owned()), ..MountView::default() };
        let set = MountedSet::open(dir.path(), &view, &Cancel::default()).unwrap();
        assert_eq!((check(&set, 1), set.repeated_keys()), (wanted, 600), "{layout:?}");
    }
}

#[test]
fn samples_of_many_parts_are_fetched_one_by_one() {
    let dir = tempfile::tempdir().unwrap();
    let names = (0..200).flat_map(|key| (0..100).map(move |part| format!("{key:03}.{part}")));
    prepared(dir.path(), &names.collect::<Vec<_>>());
    let set = mounted(dir.path(), Layout::Flat);
    for number in 0..4 {
        assert_eq!(set.samples.sample(number).unwrap().unwrap().parts.len(), 100);
    }
    assert!(set.samples.kept(3).is_some());
    assert!(set.samples.kept(4).is_none());
}

#[test]
fn shard_replaced_before_mounting_is_an_error_and_other_shards_are_shown() {
    let dir = tempfile::tempdir().unwrap();
    let names = |of: &str| (0..3).map(|number| format!("{of}{number}.txt")).collect::<Vec<_>>();
    let put = |name: &str, of: &str, content: &[u8]| {
        let mut builder = tar::Builder::new(Vec::new());
        for name in names(of) {
            let mut header = tar::Header::new_gnu();
            header.set_size(content.len() as u64);
            header.set_mode(0o644);
            builder.append_data(&mut header, name, content).unwrap();
        }
        std::fs::write(dir.path().join(name), builder.into_inner().unwrap()).unwrap();
    };
    put("1.tar", "b", b"kept");
    put("0.tar", "a", b"old");
    prepare(dir.path());
    put("0.tar", "a", &[b'x'; 9000]);
    let set = mounted(dir.path(), Layout::Flat);
    let read = |name: &str| {
        let entry = set.find(1, name).unwrap();
        set.read(entry.inode, 0, 100)
    };
    assert_eq!(read("b1.txt").ok().unwrap(), b"kept");
    let Err(Refusal::Failed(failure)) = read("a1.txt") else { panic!("its places are those of another shard") };
    assert!(failure.why.contains("its size was") && failure.why.contains("--update indexes it again"), "{failure}");
    assert!(failure.to_string().contains("0.tar"), "{failure}");
}
