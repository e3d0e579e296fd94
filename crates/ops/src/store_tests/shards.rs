//! New shards from a store and in a store: their bytes are those of a run on local files.

use super::{assert_same, copy, files, golden, options};
use crate::shard::ShardReport;
use gristmill_core::options::Answer;
use gristmill_core::{ExitClass, Failure};
use gristmill_storage::files::exists;
use gristmill_storage::memory_store::put;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Runs `shard` with these flags, `NAME=VALUE`; `@` is the root.
fn shard(root: &Path, input: &Path, flags: &str) -> Result<Box<dyn crate::job::report::Report>, Failure> {
    let at = |text: &str| text.replace('@', root.to_str().unwrap());
    let mut plan = crate::operations::operation("shard").unwrap().plan_for(vec![input.to_str().unwrap().to_owned()]);
    for flag in flags.split_whitespace() {
        let (name, answer) = match flag.split_once('=') {
            Some((name, value)) => (name, Answer::Text(at(value))),
            None => (flag, Answer::On),
        };
        plan.set(name, &answer).unwrap();
    }
    assert!(plan.check(true).is_empty(), "{:?}", plan.check(true));
    plan.start(true, options()).unwrap().wait()?;
    plan.start(false, options()).unwrap().wait()
}

/// Returns what a run wrote; the uuid of an index is another one in each run.
fn written(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = files(root);
    found.retain(|name, _| !name.ends_with("index.uuid"));
    found
}

/// Runs `shard` from and to each combination of a folder and a store, and compares what it writes with the local run.
fn compare_shards(case: &str, flags: &str, outputs: &[&str]) {
    let given = golden(&format!("webdataset/{case}/given/input"));
    let (dir, bucket) = (tempfile::tempdir().unwrap(), PathBuf::from(format!("mem://shard-{case}")));
    copy(&given, &bucket.join("input"));
    shard(dir.path(), &given, flags).unwrap();
    for (number, input) in [bucket.join("input"), given.clone()].iter().enumerate() {
        let root = bucket.join(format!("run-{number}"));
        shard(&root, input, flags).unwrap();
        for output in outputs {
            assert_same(&written(&root.join(output)), &written(&dir.path().join(output)), case);
        }
        let own = root.join(format!("{}.gristmill", outputs[0]));
        assert!(exists(own.join("report.json")) && !exists(own.join("lock")), "{case}");
        let again = shard(&root, input, flags).unwrap();
        assert!(again.typed::<ShardReport>().unwrap().nothing_to_do, "{case}");
    }
}

#[test]
fn shards_of_shards() {
    compare_shards("reshard_count", "output=@/out max-count=7", &["out"]);
    compare_shards("reshard_shuffle", "output=@/out max-count=16 shuffle", &["out"]);
    compare_shards("reshard_filter", "output=@/out split=train drop-parts=json", &["out"]);
}

#[test]
fn shards_of_files_and_media_apart() {
    compare_shards("folder_splits", "output=@/out splits-by-folder", &["out"]);
    compare_shards("media_split", "output=@/out media-to=@/media", &["out", "media"]);
}

#[test]
fn objects_that_are_in_the_way_are_refused() {
    let bucket = PathBuf::from("mem://shard-taken");
    put(&bucket.join("out/x.txt"), b"x");
    let refused = shard(&bucket, &golden("webdataset/reshard_count/given/input"), "output=@/out").err().unwrap();
    assert_eq!(refused.class, ExitClass::Data);
    assert!(!exists(bucket.join("out/shard_000000.tar")));
    let refused =
        shard(&bucket, &golden("webdataset/reshard_count/given/input"), "output=mem://shard-bucket").err().unwrap();
    assert_eq!(refused.class, ExitClass::Usage);
}
