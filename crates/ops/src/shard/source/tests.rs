//! Compares the listed samples of sources with the golden archives.

use crate::shard::sample::{Origin, Part, Sample, SampleSink, SourceContext, SourceFile};
use gristmill_core::shard_plan::{Column, InputKind, KeyRule, Missing, RowColumns};
use gristmill_core::{
    Cancel, FileStamp, Handles, Outcome, Problem, ProblemKind, ProblemLog, Progress, RunOptions, Severity, ShardPlan,
};
use gristmill_storage::fs::RealFs;
use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;

/// Collects samples with the bytes of their parts.
#[derive(Default)]
struct Kept {
    files: Vec<PathBuf>,
    samples: Vec<Sample>,
}

impl SampleSink for Kept {
    fn add_file(&mut self, path: &Path, stamp: FileStamp) -> Outcome<SourceFile> {
        assert_eq!(fs::metadata(path).unwrap().len(), stamp.bytes);
        self.files.push(path.to_owned());
        Ok(SourceFile(u32::try_from(self.files.len()).unwrap() - 1))
    }
    fn add_sample(&mut self, sample: Sample) -> Outcome<()> {
        self.samples.push(sample);
        Ok(())
    }
    fn count_excluded(&mut self, _: u64) {}
}

impl Kept {
    fn bytes(&self, part: &Part) -> Vec<u8> {
        let bytes = match &part.origin {
            Origin::File { path, .. } => fs::read(path).unwrap(),
            Origin::Bytes(bytes) => bytes.clone(),
            Origin::Sparse { .. } => panic!("no case has holes"),
            Origin::Range { file, offset } => {
                let all = fs::read(&self.files[file.0 as usize]).unwrap();
                let from = usize::try_from(*offset).unwrap();
                all[from..from + usize::try_from(part.bytes).unwrap()].to_vec()
            }
        };
        assert_eq!(bytes.len() as u64, part.bytes);
        bytes
    }

    /// Returns the names and contents of the entries that the samples would become.
    fn entries(&self) -> Vec<(String, Vec<u8>)> {
        let mut entries = Vec::new();
        for sample in &self.samples {
            let parts: BTreeMap<&[u8], &Part> = sample.parts.iter().map(|part| (part.name.as_slice(), part)).collect();
            assert_eq!(parts.len(), sample.parts.len());
            for (name, part) in parts {
                let name = [&sample.key, &b"."[..], name].concat();
                entries.push((String::from_utf8(name).unwrap(), self.bytes(part)));
            }
        }
        entries
    }

    fn names(&self) -> Vec<String> {
        self.entries().into_iter().map(|(name, _)| name).collect()
    }
}

struct Listed {
    kept: Kept,
    problems: Vec<Problem>,
}

impl Listed {
    fn lost(&self) -> Vec<ProblemKind> {
        self.problems.iter().filter(|problem| problem.severity != Severity::Note).map(|problem| problem.kind).collect()
    }
}

fn list(input: &Path, plan: &ShardPlan) -> Outcome<Listed> {
    list_within(input, plan, 1 << 20)
}

fn list_within(input: &Path, plan: &ShardPlan, memory: usize) -> Outcome<Listed> {
    let scratch = tempfile::tempdir().unwrap();
    let (progress, cancel, problems) = (Progress::default(), Cancel::default(), ProblemLog::new(false));
    let handles = Handles { progress: &progress, cancel: &cancel, problems: &problems };
    let next_row = AtomicU64::new(0);
    let (folder, options, next_row, keeper) = (scratch.path(), &RunOptions::default(), &next_row, None);
    let context = SourceContext { plan, handles, fs: &RealFs, scratch: folder, memory, options, keeper, next_row };
    let mut kept = Kept::default();
    match input.is_dir() {
        true => super::files::list(input, &context, &mut kept)?,
        false => super::rows::list(input, &context, &mut kept)?,
    }
    assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 0, "scratch files are left");
    Ok(Listed { kept, problems: problems.to_vec() })
}

fn golden(case: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/webdataset").join(case)
}

fn archive(path: &Path) -> Vec<(String, Vec<u8>)> {
    let mut archive = tar::Archive::new(fs::File::open(path).unwrap());
    let entries = archive.entries().unwrap().map(|entry| {
        let mut entry = entry.unwrap();
        let name = String::from_utf8(entry.path_bytes().into_owned()).unwrap();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        (name, bytes)
    });
    entries.collect()
}

fn column(text: &str) -> Column {
    let (name, part) = text.split_once(':').map_or((text, None), |(name, part)| (name, Some(part.to_owned())));
    Column { name: name.to_owned(), part }
}

fn columns(media: &[&str], text: &[&str]) -> RowColumns {
    let columns = |texts: &[&str]| texts.iter().map(|text| column(text)).collect();
    RowColumns { media: columns(media), text: columns(text), ..RowColumns::default() }
}

#[test]
fn golden_folder_listing_does_not_depend_on_memory() {
    for (case, plan) in [
        ("folder_names", ShardPlan::default()),
        ("folder_last_dot", ShardPlan { key_rule: KeyRule::LastDot, ..ShardPlan::default() }),
    ] {
        let expected = golden(case).join("expected/out");
        let shards = (0..9).map(|number| expected.join(format!("shard_{number:06}.tar"))).filter(|path| path.exists());
        let expected: Vec<_> = shards.flat_map(|path| archive(&path)).collect();
        for memory in [300, 1 << 20] {
            let listed = list_within(&golden(case).join("given/input"), &plan, memory).unwrap();
            assert_eq!(listed.kept.entries(), expected, "{case}");
            assert_eq!(listed.lost(), [], "{case}");
        }
    }
}

#[test]
fn split_folders_are_recognized_by_name() {
    let listed = list(&golden("folder_splits").join("given/input"), &ShardPlan::default()).unwrap();
    let splits: std::collections::BTreeSet<_> = listed.kept.samples.iter().map(|s| s.split.clone().unwrap()).collect();
    assert_eq!(splits.into_iter().collect::<Vec<_>>(), ["test", "train", "val"]);
    let mut plan = ShardPlan::default();
    plan.choice.one_split = true;
    let listed = list(&golden("folder_splits").join("given/input"), &plan).unwrap();
    assert!(listed.kept.samples.iter().all(|sample| sample.split.is_none()));
}

#[test]
fn unwritable_file_names_are_problems() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &[u8]| {
        use std::os::unix::ffi::OsStrExt as _;
        fs::write(folder.path().join(std::ffi::OsStr::from_bytes(name)), b"x").unwrap();
    };
    write(b"a\nb.txt");
    write(b"\xff.txt");
    write(b"ok.t\x07xt");
    write(b"ok.jpg");
    std::os::unix::fs::symlink("missing", folder.path().join("link.jpg")).unwrap();
    let listed = list(folder.path(), &ShardPlan::default()).unwrap();
    assert_eq!(listed.kept.names(), ["ok.jpg"]);
    let mut lost = listed.lost();
    lost.sort_unstable();
    assert_eq!(lost, [ProblemKind::Unreadable, ProblemKind::BadName, ProblemKind::BadName, ProblemKind::BadName]);
}

#[test]
fn files_of_one_key_and_part_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.b.txt"), "1").unwrap();
    fs::write(folder.path().join("a_b.txt"), "2").unwrap();
    let plan = ShardPlan { key_rule: KeyRule::LastDot, ..ShardPlan::default() };
    let failure = list(folder.path(), &plan).err().unwrap().to_string();
    assert!(failure.contains("a.b.txt") && failure.contains("a_b.txt"), "{failure}");
    assert!(list(folder.path(), &ShardPlan::default()).is_ok());
    let mut plan = ShardPlan::default();
    plan.division.splits_by_folder = true;
    assert!(list(folder.path(), &plan).is_err());
}

#[test]
fn golden_tables_are_listed_as_samples() {
    let plan =
        |rows: RowColumns, key: Option<&str>| ShardPlan { rows, key: key.map(str::to_owned), ..ShardPlan::default() };
    let input = |case: &str, name: &str| golden(case).join("given/input").join(name);
    let csv = RowColumns {
        media_root: Some(input("csv_media", "pics")),
        split: Some("part".to_owned()),
        ..columns(&["path"], &["caption:txt"])
    };
    let coco = RowColumns { media_root: Some(input("coco", "val2017")), ..RowColumns::default() };
    let many = RowColumns { no_json: true, ..columns(&["pages:img.{ext}", "sound"], &["label:cls"]) };
    let outside = ProblemKind::MediaOutside;
    for (case, name, plan, lost) in [
        (
            "jsonl_media",
            "data.jsonl",
            plan(columns(&["image"], &["caption"]), None),
            vec![ProblemKind::MissingMedia, outside],
        ),
        ("jsonl_many", "rows.jsonl", plan(many, Some("id")), vec![]),
        ("csv_media", "list.csv", plan(csv, None), vec![]),
        ("coco", "ann.json", plan(coco, None), vec![ProblemKind::BadLine]),
    ] {
        let listed = list(&input(case, name), &plan).unwrap();
        let mut reported = listed.lost();
        reported.sort_unstable();
        assert_eq!(reported, lost, "{case}");
        let out = golden(case).join("expected/out");
        for split in [None, Some("train"), Some("val")] {
            let path = split.map_or_else(|| out.clone(), |split| out.join(split)).join("shard_000000.tar");
            let samples =
                listed.kept.samples.iter().filter(|sample| sample.split.as_deref() == split).cloned().collect();
            let kept = Kept { files: listed.kept.files.clone(), samples };
            let expected = if path.exists() { archive(&path) } else { Vec::new() };
            assert_eq!(kept.entries(), expected, "{case} {split:?}");
        }
    }
}

fn rows(text: &str, plan: &ShardPlan) -> Outcome<Listed> {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("m")).unwrap();
    fs::write(folder.path().join("m/a.png"), "A").unwrap();
    let path = folder.path().join("rows.jsonl");
    fs::write(&path, text).unwrap();
    let listed = list(&path, plan)?;
    let named = Listed { problems: listed.problems, kept: Kept { files: Vec::new(), samples: listed.kept.samples } };
    Ok(named)
}

#[test]
fn missing_media_are_skipped_kept_or_refused() {
    let text = "{\"p\": \"m/a.png\"}\n{\"p\": \"m/b.png\"}\n{\"p\": \"m\"}\n{\"p\": null}\n";
    for (missing, keys) in [
        (Missing::Skip, &["m/a", "000000003"][..]),
        (Missing::Keep, &["m/a", "m/b", "m", "000000003"]),
        (Missing::Fail, &[]),
    ] {
        let plan = ShardPlan { rows: RowColumns { missing, ..columns(&["p"], &[]) }, ..ShardPlan::default() };
        let Ok(listed) = rows(text, &plan) else {
            assert_eq!(missing, Missing::Fail);
            continue;
        };
        let found: Vec<_> = listed.kept.samples.iter().map(|s| String::from_utf8_lossy(&s.key).into_owned()).collect();
        assert_eq!(found, keys);
        assert_eq!(listed.lost(), [ProblemKind::MissingMedia; 2]);
    }
}

#[test]
fn rows_with_unsafe_key_split_or_path_are_problems() {
    let lines = [
        r#"{"k": "../x", "s": "a"}"#,
        r#"{"k": "a", "s": ".hidden"}"#,
        r#"{"k": "b", "s": "a/b"}"#,
        r#"{"k": "", "s": "a"}"#,
        r#"{"k": ["x"], "s": "a"}"#,
        r#"{"k": "c\u0000", "s": "a"}"#,
        r#"{"k": "d", "s": "a", "p": "/etc/passwd"}"#,
        r#"{"k": "e", "s": "a", "p": "https://example.org/x.png"}"#,
        r#"{"k": "f", "s": "a", "p": "m/../../x.png"}"#,
        r#"{"k": "g", "s": "a""#,
        r#"["h"]"#,
        r#"{"k": "d/e.f.g", "s": "a", "p": "./m/a.png"}"#,
    ];
    let columns = RowColumns { split: Some("s".to_owned()), ..columns(&["p"], &[]) };
    let plan = ShardPlan { key: Some("k".to_owned()), rows: columns, ..ShardPlan::default() };
    let listed = rows(&lines.join("\n"), &plan).unwrap();
    assert_eq!(listed.lost().len(), lines.len() - 1);
    let keys: Vec<_> = listed.kept.samples.iter().map(|sample| sample.key.clone()).collect();
    assert_eq!(keys, [b"d/e_f_g".to_vec()]);
}

#[test]
fn columns_missing_in_every_row_are_refused() {
    assert!(rows("{\"a\": 1}\n", &ShardPlan { rows: columns(&[], &["b"]), ..ShardPlan::default() }).is_err());
    assert!(
        rows("{\"a\": 1, \"b\": null}\n", &ShardPlan { rows: columns(&[], &["b"]), ..ShardPlan::default() }).is_ok()
    );
    // The part `json` is reserved for the row itself.
    let plan = ShardPlan { rows: columns(&["p"], &[]), ..ShardPlan::default() };
    assert!(rows("{\"p\": {\"bytes\": \"QQ==\", \"path\": \"a.json\"}}\n", &plan).is_err());
}

#[test]
fn media_bytes_in_rows_get_the_extension_of_their_type() {
    let png = "iVBORw0KGgo=";
    let text = format!("{{\"p\": {{\"bytes\": \"{png}\", \"path\": null}}}}\n{{\"p\": {{\"bytes\": \"{png}\", \"path\": \"x/y.jpeg\"}}}}\n");
    let plan = ShardPlan { rows: RowColumns { no_json: true, ..columns(&["p"], &[]) }, ..ShardPlan::default() };
    assert_eq!(rows(&text, &plan).unwrap().kept.names(), ["000000000.png", "x/y.jpeg"]);
}

#[test]
fn file_of_rows_is_recognized_in_each_compression_that_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let kind = |name: &str| {
        let path = folder.path().join(name);
        fs::write(&path, "").unwrap();
        let plan = ShardPlan { inputs: vec![path], ..ShardPlan::default() };
        super::kinds_of(&plan, &ProblemLog::new(false)).ok()
    };
    for name in ["a.jsonl", "a.jsonl.gz", "a.csv.bz2", "a.tsv.XZ", "a.json.lzma", "a.jsonl.zip", "a.jsonl.zstd"] {
        assert_eq!(kind(name), Some(vec![InputKind::Rows]), "{name}");
    }
    assert_eq!(kind("a.tar.zst"), Some(vec![InputKind::Tars]));
    assert_eq!(kind("a.jsonl.lz4"), None);
}
