use super::*;
use crate::engine::browse::{BrowsePart, CatalogHead, Groups, KeyQuery, SampleAt, VisitFields, VisitedSample};
use gristmill_core::{DatasetKind, Shard};
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;

/// A catalog of one sample whose parts contain their own names, repeated many times.
struct OneSample;

const TIMES: usize = 300_000;

impl Catalog for OneSample {
    fn head(&self) -> CatalogHead<'_> {
        CatalogHead { kind: DatasetKind::RawWebDataset, root: Path::new("/data"), group_word: "shard" }
    }

    fn groups(&self) -> Arc<Groups> {
        Arc::default()
    }
    fn samples(&self, _: SampleAt, _: usize, _: &Cancel) -> Outcome<Vec<BrowseSample>> {
        Ok(Vec::new())
    }
    fn read(&self, sample: &BrowseSample, part: usize, from: u64, limit: usize) -> Outcome<Vec<u8>> {
        let whole = sample.parts[part].name.repeat(TIMES).into_bytes();
        let from = usize::try_from(from).unwrap().min(whole.len());
        Ok(whole[from..whole.len().min(from + limit)].to_vec())
    }
    fn find(&self, _: &KeyQuery, _: &Cancel, _: &mut dyn FnMut(SampleAt) -> bool) -> Outcome<()> {
        Ok(())
    }
    fn locate(&self, _: Option<&str>, _: &str, _: &Cancel) -> Outcome<Option<SampleAt>> {
        Ok(None)
    }
    fn shard(&self, _: u32) -> Outcome<Option<Shard>> {
        Ok(None)
    }
    fn visit(&self, _: u32, _: VisitFields, _: &Cancel, _: &mut dyn FnMut(VisitedSample<'_>) -> bool) -> Outcome<()> {
        Ok(())
    }
}

fn sample(key: &str, parts: &[&str]) -> BrowseSample {
    let part =
        |name: &&str| BrowsePart { name: (*name).into(), byte_offset: 0, byte_size: (name.len() * TIMES) as u64 };
    BrowseSample {
        at: SampleAt::default(),
        key: key.into(),
        byte_offset: 0,
        byte_size: 0,
        parts: parts.iter().map(part).collect(),
        defect: None,
    }
}

fn run(sample: &BrowseSample, parts: &[usize], folder: &Path) -> Outcome<ExportedFiles> {
    export(&OneSample, sample, parts, folder, &Cancel::default())
}

#[test]
fn parts_are_exported_as_files_in_the_folders_of_the_key() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("new/place");
    let exported = run(&sample("a/b/0001", &["jpg", "txt.json"]), &[0, 1], &folder).unwrap();
    assert_eq!(exported.files, [folder.join("a/b/0001.jpg"), folder.join("a/b/0001.txt.json")]);
    assert_eq!(exported.bytes, (11 * TIMES) as u64);
    assert_eq!(std::fs::read(&exported.files[0]).unwrap(), "jpg".repeat(TIMES).into_bytes());
    let names: Vec<_> = std::fs::read_dir(folder.join("a/b")).unwrap().collect();
    assert_eq!(names.len(), 2, "nothing else is left: {names:?}");
}

#[test]
fn unsafe_names_are_refused_and_nothing_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("out");
    for key in
        ["../x", "/etc/x", "a//b", "a/../b", "./a", ".hidden", "-rf", "a\nb", "a\u{1b}[31m", "a\u{202e}b", "a\\b", ""]
    {
        let failure = run(&sample(key, &["jpg"]), &[0], &folder).unwrap_err();
        assert!(failure.why.contains("not safe"), "{key:?}: {failure}");
    }
    assert!(run(&sample(&"k".repeat(300), &["jpg"]), &[0], &folder).is_err());
    assert!(run(&sample("k", &["a/b"]), &[0], &folder).is_err());
    assert!(run(&sample("k", &["jpg", "..\u{7}"]), &[0, 1], &folder).is_err(), "one bad name refuses all");
    assert!(!folder.exists());
}

#[test]
fn export_neither_overwrites_files_nor_follows_links() {
    let dir = tempfile::tempdir().unwrap();
    let one = sample("k", &["jpg"]);
    run(&one, &[0], dir.path()).unwrap();
    assert!(run(&one, &[0], dir.path()).unwrap_err().why.contains("already"));
    std::os::unix::fs::symlink("/tmp", dir.path().join("inner")).unwrap();
    let failure = run(&sample("inner/k", &["jpg"]), &[0], dir.path()).unwrap_err();
    assert!(failure.why.contains("link"), "{failure}");
    std::os::unix::fs::symlink("/nowhere", dir.path().join("z.jpg")).unwrap();
    assert!(run(&sample("z", &["jpg"]), &[0], dir.path()).is_err(), "a link that leads nowhere is there, too");
}

#[test]
fn part_shorter_than_its_index_entry_leaves_no_file() {
    let dir = tempfile::tempdir().unwrap();
    let mut short = sample("k", &["jpg"]);
    short.parts[0].byte_size += 1;
    assert!(run(&short, &[0], dir.path()).unwrap_err().why.contains("ends after"));
    let cancel = Cancel::default();
    cancel.cancel();
    assert!(export(&OneSample, &sample("k", &["jpg"]), &[0], dir.path(), &cancel).unwrap_err().is_cancelled());
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn temporary_copy_has_a_safe_name_is_read_only_and_is_removed_on_drop() {
    let dir = tempfile::tempdir().unwrap();
    let copy = copy_of(&OneSample, &sample("../\u{1b}k", &["json"]), 0, Some(dir.path()), &Cancel::default()).unwrap();
    assert!(copy.file.starts_with(dir.path()));
    assert!(copy.file.to_string_lossy().ends_with("k.json"));
    assert_eq!(std::fs::metadata(&copy.file).unwrap().permissions().mode() & 0o777, 0o400);
    let file = copy.file.clone();
    drop(copy);
    assert!(!file.exists());
    let mut large = sample("k", &["bin"]);
    large.parts[0].byte_size = MAX_COPY_BYTES + 1;
    assert!(copy_of(&OneSample, &large, 0, Some(dir.path()), &Cancel::default()).is_err());
}
