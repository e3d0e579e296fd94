//! Benchmarks the split editor on 300,000 excludes and 10,000 shards, held in memory.
//!
//! ```text
//! cargo bench --bench splits
//! EXCLUDES=1000000 cargo bench --bench splits
//! ```
//!
//! Goals: open in 2 s, one edit in 50 ms; write the text, read it again and compare it in 2 s.

#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::disallowed_methods)]

use gristmill_ops::engine::splits::{balance, CheckedItems, Edit, ExcludeItem, SplitEditor};
use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

fn timed<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = work();
    println!("{what:28} {:9.1} ms", start.elapsed().as_secs_f64() * 1e3);
    result
}

fn main() {
    let excludes: u32 = std::env::var("EXCLUDES").ok().and_then(|text| text.parse().ok()).unwrap_or(300_000);
    let mut text = String::from(
        "# by hand\nsplit_parts:\n  train:\n  - s_{0000..8999}.tar\n  val:\n  - s_{9000..9999}.tar\nexclude:\n",
    );
    for n in 0..excludes {
        let note = if n % 10 == 0 { "  # blurred" } else { "" };
        writeln!(text, "- s_{:04}.tar/folder/sample_{n:08}{note}", n % 10_000).unwrap();
    }
    let counts = (0..10_000).map(|n| (format!("s_{n:04}.tar"), 1000 + n * 7919 % 100)).collect();
    println!("{excludes} excludes, {:.0} MB", text.len() as f64 / 1e6);
    let path = Path::new("/data/.nv-meta/split.yaml");
    let open = || SplitEditor::from_bytes(Path::new("/data"), path, text.clone().into(), counts).unwrap();
    let mut editor = timed("open", open);
    let one = |shard: &str, key: &str| Edit::Exclude { items: vec![ExcludeItem::sample(shard, key)] };
    let include = Edit::Include { shard: "s_5000.tar".into(), key: Some("folder/sample_00155000".into()) };
    let moved = Edit::MoveShards { shards: vec!["s_0500.tar".into()], to: Some("val".into()) };
    let shard = Edit::Exclude { items: vec![ExcludeItem::shard("s_0001.tar")] };
    let note = Edit::SetNote { index: 200_000.min(excludes as usize / 2), note: Some("why".into()) };
    let many =
        Edit::Exclude { items: (0..10_000).map(|n| ExcludeItem::sample("s_0001.tar", &format!("z{n}"))).collect() };
    for (what, edit) in [
        ("exclude a sample", one("s_0001.tar", "x")),
        ("include a sample", include),
        ("remove an item", Edit::RemoveItem { index: 1000 }),
        ("set a note", note),
        ("move a shard", moved),
        ("exclude a shard", shard),
        ("exclude 10,000 samples", many),
    ] {
        // A worker that reads the previous state keeps a reference to it during the edit.
        let _held = editor.clone();
        timed(what, || editor.apply(edit).unwrap());
    }
    let held = editor.clone();
    timed("undo", || editor.undo());
    timed("redo", || editor.redo());
    drop(held);
    let undone = timed("undo of all", || std::iter::from_fn(|| editor.undo()).count());
    timed("redo of all", || (0..undone).for_each(|_| drop(editor.redo())));
    // The result for each sample: a worker adds it to its copy, which the screen then takes.
    let found = editor.unchecked_items().into_iter().map(|item| (item, 1)).collect();
    let mut learned = editor.clone();
    timed("learn what is there", || learned.take_checked(CheckedItems { found }));
    timed("take that over", || editor.take_learned(learned));
    timed("exclude one after that", || editor.apply(one("s_0001.tar", "y")).unwrap());
    let found = editor.unchecked_items().into_iter().map(|item| (item, 0)).collect();
    timed("learn that one", || editor.take_checked(CheckedItems { found }));
    timed("balance 8,2", || balance(&editor, &[("train".into(), 8.0), ("val".into(), 2.0)]));
    timed("diff", || editor.diff());
    timed("problems", || editor.problems());
    timed("text, read again", || editor.text().unwrap());
    let memory = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    memory
        .lines()
        .filter(|line| line.starts_with("VmHWM") || line.starts_with("RssAnon"))
        .for_each(|line| println!("{line}"));
}
