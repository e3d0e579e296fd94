//! Complete checks of small data sets, with any number of workers and any amount of memory.

use super::*;
use crate::engine::leaks::{Leak, LeakKind, LeakRepair};
use crate::job::prepare::PrepareJob;
use gristmill_core::{PreparePlan, SampleMapping, Scope, SplitPlan};
use gristmill_storage::fs::RealFs;
use gristmill_storage::publish::write_file;

/// Entries of one shard.
type Entries<'a> = &'a [(&'a str, &'a [u8])];

struct Set {
    dir: tempfile::TempDir,
    layout: SplitLayout,
}

impl Set {
    /// Prepares these shards; the first component of each name (`train/a.tar`) is its split.
    fn new(shards: &[(&str, Entries<'_>)]) -> Self {
        Self::with(shards, Scope::Full)
    }

    fn with(shards: &[(&str, Entries<'_>)], scope: Scope) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut layout = SplitLayout::default();
        for (name, entries) in shards {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            write_file(&RealFs, &path, &archive(entries), 0o644).unwrap();
            let split: Arc<str> = name.split('/').next().unwrap().into();
            match layout.splits.iter_mut().find(|(known, _)| *known == split) {
                Some((_, names)) => names.push(Arc::from(*name)),
                None => layout.splits.push((split, vec![Arc::from(*name)])),
            }
        }
        let mut plan = PreparePlan::new(dir.path().to_str().unwrap());
        plan.splits = SplitPlan::Ratio("1,0,0".into());
        plan.loading = SampleMapping::Crude { cooker: false };
        plan.scope = scope;
        PrepareJob::start(plan, RunOptions::default(), None).unwrap().wait().unwrap();
        Self { dir, layout }
    }

    fn excluding(mut self, items: &[&str]) -> Self {
        self.layout.excludes = items.iter().map(|item| Arc::from(*item)).collect();
        self
    }

    fn check_with(&self, leaks: LeakOptions, options: RunOptions) -> LeakReport {
        start(self.dir.path(), self.layout.clone(), leaks, options, Arc::new(RealFs)).unwrap().wait().unwrap()
    }

    fn contents(&self) -> LeakReport {
        self.check_with(LeakOptions { content: true, ..LeakOptions::default() }, RunOptions::default())
    }

    fn names(&self) -> LeakReport {
        self.check_with(LeakOptions::default(), RunOptions::default())
    }
}

fn archive(entries: Entries<'_>) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, content) in entries {
        let mut header = tar::Header::new_ustar();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, name, *content).unwrap();
    }
    builder.into_inner().unwrap()
}

/// Returns distinct content for each number, long enough to be compared.
fn content(number: u32) -> Vec<u8> {
    format!("content {number} ").repeat(16).into_bytes()
}

/// Returns `split: shard/key[.part]` for every location, one line per leak.
fn lines(report: &LeakReport) -> Vec<String> {
    let place = |leak: &Leak| -> Vec<String> {
        let text = |place: &crate::engine::leaks::LeakLocation| {
            let key = place.key.as_deref().map_or_else(String::new, |key| format!(":{key}"));
            let part = place.part.as_deref().map_or_else(String::new, |part| format!(".{part}"));
            format!("{}{key}{part}", place.shard)
        };
        leak.places.iter().map(text).collect()
    };
    report.found.leaks.iter().map(|leak| format!("{}: {}", leak.kind.title(), place(leak).join(" = "))).collect()
}

#[test]
fn copied_sample_is_one_leak_and_copied_part_is_a_leak_of_its_part() {
    let (a, b, c) = (content(1), content(2), content(3));
    let set = Set::new(&[
        ("train/a.tar", &[("t1.jpg", &a), ("t1.txt", &b), ("t2.jpg", &b), ("t2.txt", &a), ("t3.jpg", &c)]),
        ("val/b.tar", &[("v1.txt", &b), ("v1.jpg", &a), ("v2.png", &b), ("v2.txt", &c)]),
    ]);
    let report = set.contents();
    assert_eq!(
        lines(&report),
        ["same sample: train/a.tar:t1 = val/b.tar:v1", "same part: train/a.tar:t2.jpg = val/b.tar:v2.png"]
    );
    assert_eq!(report.found.certain_count(), 2);
    assert_eq!((report.compared.samples, report.compared.shards), (5, 2));
    let between = &report.found.between[0];
    assert_eq!((&*between.splits[0], &*between.splits[1], between.leaks), ("train", "val", 2));
}

#[test]
fn a_sample_of_several_media_is_reported_once() {
    let (a, b, c) = (content(1), content(2), content(3));
    let set = Set::new(&[
        ("train/a.tar", &[("t1.left.jpg", &a), ("t1.right.jpg", &b), ("t1.wav", &c)]),
        ("val/b.tar", &[("v1.wav", &c), ("v1.right.jpg", &b), ("v1.left.jpg", &a)]),
    ]);
    assert_eq!(lines(&set.contents()), ["same sample: train/a.tar:t1 = val/b.tar:v1"]);
}

#[test]
fn duplicate_content_inside_a_sample_does_not_hide_a_leak() {
    let a = content(1);
    let set = Set::new(&[
        ("train/a.tar", &[("t1.z.jpg", &a), ("t1.b.jpg", &a)]),
        ("val/b.tar", &[("v1.b.jpg", &a), ("v1.z.jpg", &a)]),
    ]);
    assert_eq!(lines(&set.contents()), ["same sample: train/a.tar:t1 = val/b.tar:v1"]);
}

#[test]
fn copies_within_one_split_labels_and_small_parts_are_no_leaks() {
    let (a, b, c) = (content(1), content(2), content(3));
    let set = Set::new(&[
        ("train/a.tar", &[("t1.jpg", &a), ("t1.cls", b"7"), ("t2.jpg", &a), ("t2.txt", b"a cat")]),
        ("val/b.tar", &[("v1.jpg", &b), ("v1.cls", b"7"), ("v2.jpg", &c), ("v2.txt", b"a cat"), ("v3.jpg", b"")]),
        ("test/c.tar", &[("u1.txt", b"a cat"), ("u2.cls", b"7"), ("u3.jpg", b"")]),
    ]);
    let report = set.contents();
    assert_eq!(lines(&report), [""; 0]);
    assert_eq!(report.found.certain_count(), 0);
}

#[test]
fn texts_are_compared_in_samples_without_media() {
    let (a, b) = (content(1), content(2));
    let set = Set::new(&[
        ("train/a.tar", &[("t1.txt", &a), ("t1.json", &b)]),
        ("val/b.tar", &[("v1.txt", &a), ("v1.json", b"{}")]),
        ("test/c.tar", &[("u1.jpg", &b), ("u1.txt", &a)]),
    ]);
    // The third sample has an image, so its text is no evidence; but its image equals the text of another sample.
    let mut found = lines(&set.contents());
    found.sort_unstable();
    assert_eq!(
        found,
        ["same part: train/a.tar:t1.json = test/c.tar:u1.jpg", "same part: train/a.tar:t1.txt = val/b.tar:v1.txt"]
    );
}

#[test]
fn named_parts_are_compared_for_leaks() {
    let (a, b, c) = (content(1), content(2), content(3));
    let set = Set::new(&[
        ("train/a.tar", &[("t1.jpg", &a), ("t1.txt", &b)]),
        ("val/b.tar", &[("v1.jpg", &c), ("v1.txt", &b)]),
    ]);
    assert_eq!(lines(&set.contents()), [""; 0]);
    let options = LeakOptions { content: true, parts: vec!["txt".into()], ..LeakOptions::default() };
    let report = set.check_with(options, RunOptions::default());
    assert_eq!(lines(&report), ["same part: train/a.tar:t1.txt = val/b.tar:v1.txt"]);
}

#[test]
fn excluded_and_unassigned_samples_are_no_leaks() {
    let (a, b, c) = (content(1), content(2), content(3));
    let shards: [(&str, Entries<'_>); 4] = [
        ("train/a.tar", &[("t1.jpg", &a), ("in/t2.jpg", &b)]),
        ("val/b.tar", &[("v1.jpg", &a), ("deep/v2.jpg", &b)]),
        ("val/c.tar", &[("w1.jpg", &a)]),
        ("loose/d.tar", &[("x1.jpg", &c)]),
    ];
    let set = Set::new(&shards);
    assert_eq!(set.contents().found.certain_count(), 2);
    let set = Set::new(&shards).excluding(&["val/b.tar/v{1..9}", "val/c.tar", "val/b.tar/deep/v2"]);
    let report = set.contents();
    assert_eq!(lines(&report), [""; 0]);
    assert_eq!(report.compared.samples, 3);
    let mut set = Set::new(&shards);
    set.layout.splits.retain(|(name, _)| &**name != "val");
    assert_eq!(set.contents().found.certain_count(), 0);
}

#[test]
fn shard_in_two_splits_is_one_leak_without_its_samples() {
    let (a, b) = (content(1), content(2));
    let mut set = Set::new(&[("train/a.tar", &[("t1.jpg", &a)]), ("val/b.tar", &[("v1.jpg", &b)])]);
    set.layout.splits[1].1.push("train/a.tar".into());
    let report = set.contents();
    assert_eq!(lines(&report), ["same shard: train/a.tar = train/a.tar"]);
    let to = |to: &str| LeakRepair::Move { shard: "train/a.tar".into(), to: to.into() };
    assert_eq!(report.found.leaks[0].repairs, [to("val"), to("train")]);
    assert_eq!(lines(&set.names()), ["same shard: train/a.tar = train/a.tar"]);
}

#[test]
fn leak_repairs_list_the_larger_split_first_and_move_a_single_shard() {
    let (a, b, c) = (content(1), content(2), content(3));
    let set = Set::new(&[
        ("train/a.tar", &[("t1.jpg", &a), ("t2.jpg", &b), ("t3.jpg", &c)]),
        ("val/{b}.tar", &[("v{1}.jpg", &a)]),
    ]);
    let report = set.contents();
    assert_eq!(
        report.found.leaks[0].repairs,
        [
            LeakRepair::Exclude { keep: "train".into(), items: vec![r"val/\{b\}.tar/v\{1\}".into()] },
            LeakRepair::Exclude { keep: "val".into(), items: vec!["train/a.tar/t1".into()] },
            LeakRepair::Move { shard: "val/{b}.tar".into(), to: "train".into() },
        ]
    );
}

#[test]
fn some_of_many_copies_are_listed_and_all_are_counted() {
    let a = content(1);
    let names: Vec<String> = (0..30).map(|n| format!("t{n}.jpg")).collect();
    let many: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), a.as_slice())).collect();
    let set = Set::new(&[("train/a.tar", &many), ("val/b.tar", &[("v1.jpg", &a)])]);
    let leak = &set.contents().found.leaks[0];
    assert_eq!((leak.places.len(), leak.more), (9, 22));
    assert!(leak.repairs.is_empty());
}

#[test]
fn names_are_compared_without_reading_shards_and_plain_numbers_are_ignored() {
    let (a, b) = (content(1), content(2));
    let shards: [(&str, Entries<'_>); 2] = [
        ("train/a.tar", &[("x/img_77.jpg", &a), ("x/0001.jpg", &a), ("x/alone.jpg", &a)]),
        ("val/b.tar", &[("y/img_77.jpg", &b), ("y/0001.jpg", &b), ("y/img_7.jpg", &b)]),
    ];
    for scope in [Scope::Full, Scope::WithoutSampleTables] {
        let report = Set::with(&shards, scope).names();
        assert_eq!(lines(&report), ["same name: train/a.tar:x/img_77 = val/b.tar:y/img_77"]);
        assert_eq!((report.found.certain_count(), report.found.common_names), (0, 1));
        assert_eq!((report.compared.samples, report.compared.contents), (6, 0));
    }
}

#[test]
fn duplicate_key_in_two_splits_is_found_without_sample_tables() {
    let (a, b) = (content(1), content(2));
    let shards: [(&str, Entries<'_>); 2] = [("train/a.tar", &[("k.jpg", &a)]), ("val/b.tar", &[("k.jpg", &b)])];
    let report = Set::with(&shards, Scope::WithoutSampleTables).names();
    assert_eq!(lines(&report), ["same key: train/a.tar:k = val/b.tar:k"]);
    assert_eq!(report.found.certain_count(), 1);
}

#[test]
fn leaks_do_not_depend_on_threads_and_memory() {
    let contents: Vec<Vec<u8>> = (0..40).map(content).collect();
    let names: Vec<String> = (0..400).map(|n| format!("dir{}/s{n:04}.jpg", n % 7)).collect();
    let shards: Vec<(String, Vec<_>)> = (0..10)
        .map(|shard| {
            let split = ["train", "val", "test"][shard % 3];
            let own = names[shard * 40..][..40].iter().enumerate();
            let entries = own.map(|(n, name)| (name.as_str(), contents[(shard * 3 + n) % 40].as_slice())).collect();
            (format!("{split}/{shard}.tar"), entries)
        })
        .collect();
    let shards: Vec<(&str, Entries<'_>)> = shards.iter().map(|(name, entries)| (name.as_str(), &entries[..])).collect();
    let set = Set::new(&shards);
    let leaks = LeakOptions { content: true, ..LeakOptions::default() };
    let first = set.check_with(leaks.clone(), RunOptions::default());
    assert_eq!(first.found.certain_count(), 40);
    for (threads, memory_bytes) in [(3, 1), (1, 1), (4, 2_000), (16, 1 << 20)] {
        let again = set.check_with(leaks.clone(), RunOptions { threads, memory_bytes, ..RunOptions::default() });
        assert_eq!(again.found, first.found, "{threads} threads, {memory_bytes} bytes");
    }
}

#[test]
fn missing_shard_is_reported_and_other_shards_are_compared() {
    let (a, b) = (content(1), content(2));
    let set = Set::new(&[
        ("train/a.tar", &[("t1.jpg", &a)]),
        ("val/b.tar", &[("v1.jpg", &a)]),
        ("val/c.tar", &[("w1.jpg", &b)]),
    ]);
    RealFs.remove_file(&set.dir.path().join("val/c.tar")).unwrap();
    let report = set.contents();
    assert_eq!(report.found.certain_count(), 1);
    assert_eq!(report.findings.problems.len(), 1);
    assert_eq!(report.findings.problems[0].subject.shard.as_deref(), Some("val/c.tar"));
    assert_eq!(report.findings.problems[0].kind, ProblemKind::Unreadable);
}

#[test]
fn changed_shard_is_reported_and_its_keys_are_read_from_its_archive() {
    let (a, b) = (content(1), content(2));
    let set = Set::new(&[("train/a.tar", &[("t1.jpg", &a)]), ("val/b.tar", &[("v1.jpg", &a), ("v2.jpg", &b)])]);
    let changed = archive(&[("new.jpg", &b), ("v1.jpg", &a), ("v2.jpg", &b)]);
    write_file(&RealFs, &set.dir.path().join("val/b.tar"), &changed, 0o644).unwrap();
    let report = set.contents();
    assert_eq!(lines(&report), ["same sample: train/a.tar:t1 = val/b.tar:v1"]);
    assert_eq!(report.findings.problems[0].kind, ProblemKind::ShardChanged);
}

#[test]
fn full_scratch_disk_ends_the_leak_check_and_scratch_is_removed() {
    use gristmill_storage::fs::fault::{Fault, FaultFs};
    let names: Vec<String> = (0..300).map(|n| format!("t{n}.jpg")).collect();
    let a = content(1);
    let many: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), a.as_slice())).collect();
    let set = Set::new(&[("train/a.tar", &many)]);
    let scratch = tempfile::tempdir().unwrap();
    let options = RunOptions { memory_bytes: 1, scratch: Some(scratch.path().to_owned()), ..RunOptions::default() };
    let fs: Arc<dyn Fs> = Arc::new(FaultFs::new(Fault::Full { at: 1, errno: rustix::io::Errno::NOSPC }));
    let leaks = LeakOptions { content: true, ..LeakOptions::default() };
    let failure = start(set.dir.path(), set.layout.clone(), leaks, options, fs).unwrap().wait().unwrap_err();
    assert_eq!(failure.class, gristmill_core::ExitClass::Environment);
    assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 0);
}

#[test]
fn cancelled_leak_check_leaves_no_scratch_files() {
    let a = content(1);
    let set = Set::new(&[("train/a.tar", &[("t1.jpg", &a)])]);
    let scratch = tempfile::tempdir().unwrap();
    let options = RunOptions { scratch: Some(scratch.path().to_owned()), ..RunOptions::default() };
    let leaks = LeakOptions { content: true, ..LeakOptions::default() };
    let task = start(set.dir.path(), set.layout.clone(), leaks, options, Arc::new(RealFs)).unwrap();
    task.cancel();
    if let Err(failure) = task.wait() {
        assert!(failure.is_cancelled(), "{failure}");
    }
    assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 0);
}

#[test]
fn leak_check_of_an_unprepared_folder_is_refused_with_a_hint() {
    let dir = tempfile::tempdir().unwrap();
    let (leaks, options) = (LeakOptions::default(), RunOptions::default());
    let task = start(dir.path(), SplitLayout::default(), leaks, options, Arc::new(RealFs)).unwrap();
    assert!(task.wait().unwrap_err().hint.is_some());
}

#[test]
fn leak_kinds_are_listed_in_sort_order() {
    let mut sorted = LeakKind::ALL;
    sorted.sort_unstable();
    assert_eq!(sorted, LeakKind::ALL);
}

#[test]
fn leak_check_refuses_unknown_parts_and_reports_if_nothing_was_compared() {
    let (a, b) = (content(1), content(2));
    let set = Set::new(&[("train/a.tar", &[("1.txt", &a), ("2.txt", &b)]), ("val/a.tar", &[("3.txt", &a)])]);
    let options = |parts: &[&str], smallest_part| LeakOptions {
        content: true,
        parts: parts.iter().map(|part| (*part).to_owned()).collect(),
        smallest_part,
    };
    for threads in [1, 3] {
        let run = RunOptions { threads, ..RunOptions::default() };
        let asked = options(&["txt", "zzz"], 1);
        let task = start(set.dir.path(), set.layout.clone(), asked, run.clone(), Arc::new(RealFs)).unwrap();
        let failure = task.wait().err().unwrap();
        assert!(failure.why.contains("`zzz`") && !failure.why.contains("`txt`"), "{failure:?}");
        let report = set.check_with(options(&["txt"], 1), run.clone());
        assert!(
            report.compared.contents == 3 && report.findings.problems.is_empty() && report.found.certain_count() == 1
        );
        let report = set.check_with(options(&["txt"], 1 << 20), run);
        assert_eq!(
            (report.compared.contents, report.findings.problems.len()),
            (0, 1),
            "{:?}",
            report.findings.problems
        );
        assert_eq!(report.findings.problems[0].kind, ProblemKind::MatchesNothing);
    }
}
