//! Operations that change prepared data sets: updates, compressed shards, media.

use super::{assert_same, copy, files, golden, options, text};
use crate::engine::browse::{Catalog, SampleAt};
use crate::job::media;
use crate::job::prepare::{PrepareJob, PrepareReport};
use gristmill_core::plan::SplitPlan;
use gristmill_core::{
    Cancel, Duplicates, ExitClass, MediaFilter, MediaPlan, PrepareMediaPlan, PreparePlan, Rerun, SampleMapping, Tgz,
};
use gristmill_storage::fs::{Fs as _, RealFs};
use gristmill_storage::local_copy::copy_of_version;
use gristmill_storage::memory_store::put;
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The same data set in a folder and in the store.
struct Sets {
    dir: tempfile::TempDir,
    store: PathBuf,
}

impl Sets {
    fn new(name: &str, input: &Path) -> Self {
        let sets = Self { dir: tempfile::tempdir().unwrap(), store: PathBuf::from(format!("mem://prepared/{name}")) };
        copy(input, &sets.store);
        for (name, bytes) in files(input) {
            sets.write_local(&name, &bytes);
        }
        sets
    }

    fn write_local(&self, name: &str, bytes: &[u8]) {
        let path = self.dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        self.write_local(name, bytes);
        put(&self.store.join(name), bytes);
    }

    fn remove(&self, name: &str) {
        [self.dir.path(), &self.store].iter().for_each(|root| RealFs.remove_file(&root.join(name)).unwrap());
    }

    /// Calls `run` for both, and compares their files afterwards.
    fn compare(&self, run: impl Fn(&Path)) -> BTreeMap<String, Vec<u8>> {
        let [local, stored] = [self.dir.path(), &self.store].map(|root| {
            run(root);
            let mut set = files(root);
            set.remove(".nv-meta/index.uuid");
            // Names of backups contain the time.
            set.retain(|name, _| !name.contains(".bak-"));
            set.values_mut().for_each(|bytes| blank_times(bytes));
            set
        });
        assert_same(&stored, &local, &text(&self.store));
        stored
    }
}

/// Replaces the times at which media filters were added, such as `2026-11-29 08:37:03`.
fn blank_times(bytes: &mut [u8]) {
    const FORM: &[u8; 19] = b"0000-00-00 00:00:00";
    let is_time = |text: &[u8]| {
        text.iter().zip(FORM).all(|(byte, form)| *byte == *form || byte.is_ascii_digit() && *form == b'0')
    };
    for at in 0..bytes.len().saturating_sub(FORM.len()) {
        if is_time(&bytes[at..at + FORM.len()]) {
            bytes[at..at + FORM.len()].copy_from_slice(FORM);
        }
    }
}

fn prepare(root: &Path, change: impl Fn(&mut PreparePlan)) -> PrepareReport {
    let mut plan = PreparePlan::new(text(root));
    plan.splits = SplitPlan::Ratio("8,1,1".into());
    plan.loading = SampleMapping::Crude { cooker: false };
    change(&mut plan);
    PrepareJob::start(plan, options(), None).unwrap().wait().unwrap()
}

fn shard(number: u32) -> Vec<u8> {
    let name = format!("energon/captioning_fieldmap/input/shards/shard_000{number}.tar");
    std::fs::read(golden(&name)).unwrap()
}

#[test]
fn update_after_shard_changes_is_the_same_in_a_store() {
    let sets = Sets::new("update", &golden("energon/captioning_fieldmap/input"));
    sets.remove("shards/shard_0003.tar");
    sets.compare(|root| _ = prepare(root, |_| ()));
    let plan = |root: &Path| PreparePlan { rerun: Rerun::Update, ..PreparePlan::new(text(root)) };
    let update = |root: &Path| PrepareJob::start(plan(root), options(), None).unwrap().wait().unwrap();
    sets.write("shards/added.tar", &shard(3));
    let added = sets.compare(|root| assert!(!update(root).nothing_to_do));
    assert!(added.contains_key("shards/added.tar.idx"));
    sets.remove("shards/shard_0002.tar");
    let removed = sets.compare(|root| _ = update(root));
    let info = |set: &BTreeMap<String, Vec<u8>>| String::from_utf8(set[".nv-meta/.info.json"].clone()).unwrap();
    assert!(info(&added).contains("shard_0002") && !info(&removed).contains("shard_0002"), "{}", info(&removed));
    sets.write("shards/shard_0000.tar", &shard(2));
    let changed = sets.compare(|root| _ = update(root));
    assert!(changed["shards/shard_0000.tar.idx"] != removed["shards/shard_0000.tar.idx"]);
    sets.compare(|root| _ = update(root));
    sets.compare(|root| assert!(update(root).nothing_to_do));
}

#[test]
fn rewrite_of_compressed_shards_is_the_same_in_a_store() {
    let sets = Sets::new("tgz", &golden("energon/captioning_fieldmap/input"));
    sets.remove("shards/shard_0001.tar");
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(&shard(1)).unwrap();
    sets.write("shards/packed.tgz", &packed.finish().unwrap());
    let made = sets.compare(|root| _ = prepare(root, |plan| plan.tgz = Tgz::Rewrite));
    assert!(made["shards/packed.tar"] == shard(1) && made.contains_key("shards/packed.tar.idx"));
}

#[test]
fn media_metadata_run_keeps_info_json_and_is_the_same_in_a_store() {
    let sets = Sets::new("media", &golden("energon/media_by_extension/input"));
    sets.compare(|root| _ = prepare(root, |plan| plan.splits = SplitPlan::Ratio("1,0,0".into())));
    let info = std::fs::read(sets.dir.path().join(".nv-meta/.info.json")).unwrap();
    let plan = |root: &Path, patterns: &str| PrepareMediaPlan {
        version: gristmill_core::plan::PLAN_VERSION,
        path: text(root),
        media: MediaPlan { filter: MediaFilter::Glob(vec![patterns.into()]), decode: false },
        prune: false,
        compat: false,
    };
    for patterns in ["*.png", "*"] {
        let made = sets.compare(|root| {
            let report = media::start_on(plan(root, patterns), options(), Arc::new(RealFs)).unwrap().wait().unwrap();
            assert!(report.rows_written > 0);
        });
        assert_eq!(made[".nv-meta/.info.json"], info);
    }
}

#[test]
fn media_metadata_of_a_plain_folder_are_the_same_in_a_store() {
    let sets = Sets::new("folder", &golden("media/images"));
    let made = sets.compare(|root| {
        let media = MediaPlan { filter: MediaFilter::Glob(vec!["*".into()]), decode: false };
        let version = gristmill_core::plan::PLAN_VERSION;
        let plan = PrepareMediaPlan { version, path: text(root), media, prune: false, compat: false };
        for _ in 0..2 {
            assert!(media::start_on(plan.clone(), options(), Arc::new(RealFs)).unwrap().wait().unwrap().images > 0);
        }
    });
    assert!(made.contains_key(".nv-meta/index.sqlite"));
}

#[test]
fn samples_of_a_store_are_listed_before_the_index_is_downloaded() {
    let sets = Sets::new("browse", &golden("energon/captioning_fieldmap/input"));
    sets.compare(|root| _ = prepare(root, |_| ()));
    let cancel = Cancel::default();
    let open = |root: &Path| crate::engine::browse::prepared::open(root).unwrap();
    let window = |catalog: &dyn Catalog| {
        let samples = catalog.samples(SampleAt { group: 0, index: 0 }, 40, &cancel).unwrap();
        samples
            .into_iter()
            .map(|sample| (sample.key, sample.byte_offset, sample.byte_size, sample.parts))
            .collect::<Vec<_>>()
    };
    let local = open(sets.dir.path());
    let expected = window(&*local.catalog);
    assert!(!expected.is_empty() && expected.iter().all(|(key, ..)| !key.is_empty()));
    let database = sets.store.join(".nv-meta/index.sqlite");
    let stamp = gristmill_storage::read::stamp_at(&database).unwrap();
    let stored = open(&sets.store);
    assert_eq!(window(&*stored.catalog), expected);
    assert!(copy_of_version(&database, stamp).is_none(), "nothing needed the index");
    stored.background.into_iter().for_each(|work| work(&cancel));
    assert!(copy_of_version(&database, stamp).is_some());
    assert_eq!(window(&*stored.catalog), expected);
    // Looking up a key always uses the index.
    RealFs.remove_file(&sets.store.join(".nv-meta/index.uuid")).unwrap();
    let stored = open(&sets.store);
    let key = expected[3].0.to_string();
    assert_eq!(stored.catalog.locate(None, &key, &cancel).unwrap(), Some(SampleAt { group: 0, index: 3 }));
}

#[test]
fn shards_in_a_store_are_not_rewritten_with_key_prefixes() {
    let root = PathBuf::from("mem://prepared/doubled");
    let shards = files(&golden("energon/captioning_fieldmap/input"));
    let shard = shards.iter().find(|(name, _)| name.ends_with(".tar")).unwrap().1;
    ["a.tar", "b.tar"].iter().for_each(|name| put(&root.join(name), shard));
    let before = files(&root);
    let mut plan = PreparePlan::new(text(&root));
    (plan.splits, plan.loading) = (SplitPlan::Ratio("1,0,0".into()), SampleMapping::Crude { cooker: false });
    plan.duplicates = Duplicates::Prefix;
    let failure = PrepareJob::start(plan, options(), None).unwrap().wait().unwrap_err();
    assert_eq!(failure.class, ExitClass::Usage, "{failure}");
    let hint = failure.hint.unwrap();
    assert!(hint.contains("shard mem://prepared/doubled --output NEW --duplicates prefix"), "{hint}");
    assert_same(&files(&root), &before, "doubled");
}
