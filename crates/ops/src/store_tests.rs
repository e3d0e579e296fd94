//! Runs golden cases in a store. The same plan must give the same bytes as with local files, which other tests compare with the reference
//! programs.

mod commands;
mod prepared;
mod shards;
mod splits;

use crate::job::dedup::Tuning;
use crate::job::prepare::PrepareJob;
use gristmill_core::pack::{
    DocumentShuffle, ForagerTarget, MaskedParts, MdsTarget, MegatronTarget, ModalitiesTarget, NanosetsTarget,
    OlmoTarget, SampleSize, SpecialToken,
};
use gristmill_core::plan::SplitPlan;
use gristmill_core::{DedupPlan, PackPlan, PreparePlan, RunOptions, SampleMapping};
use gristmill_storage::files::exists;
use gristmill_storage::fs::RealFs;
use gristmill_storage::memory_store::put;
use gristmill_storage::walk::Walk;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Returns the folder of a golden case.
fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden").join(name)
}

/// Returns the folders of the golden cases of a kind.
fn cases(kind: &str) -> Vec<PathBuf> {
    let folders = gristmill_storage::files::read_dir(golden(kind)).unwrap().map(|entry| entry.unwrap().into_path());
    folders.filter(|path| exists(path.join("case.json"))).collect()
}

/// Returns all files below a folder or an address by relative name, except those of run folders.
fn files(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in Walk::new(root).into_iter().map(Result::unwrap) {
        let name = entry.path().strip_prefix(root).unwrap().to_str().unwrap().to_owned();
        // Tables of OLMo contain the paths of the inputs.
        if entry.kind().is_file() && !name.contains("gristmill/") && !name.ends_with(".csv.gz") {
            found.insert(name, gristmill_storage::files::read(entry.path()).unwrap());
        }
    }
    found
}

/// Copies a folder into the store.
fn copy(from: &Path, to: &Path) {
    files(from).into_iter().for_each(|(name, bytes)| put(&to.join(name), &bytes));
}

fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

fn options() -> RunOptions {
    RunOptions { threads: 2, ..RunOptions::default() }
}

#[track_caller]
fn assert_same(stored: &BTreeMap<String, Vec<u8>>, local: &BTreeMap<String, Vec<u8>>, what: &str) {
    assert_eq!(stored.keys().collect::<Vec<_>>(), local.keys().collect::<Vec<_>>(), "{what}");
    assert!(!local.is_empty(), "{what}");
    for (name, bytes) in local {
        assert!(stored[name] == *bytes, "{what}: {name} differs");
    }
}

/// Runs a plan on a folder and on its copy in the store, and compares the outputs.
fn compare(what: &str, input: &Path, run: impl Fn(&Path, &Path)) {
    let (dir, bucket) = (tempfile::tempdir().unwrap(), PathBuf::from(format!("mem://{what}")));
    copy(input, &bucket.join("input"));
    run(input, &dir.path().join("output"));
    run(&bucket.join("input"), &bucket.join("output"));
    assert_same(&files(&bucket.join("output")), &files(&dir.path().join("output")), what);
    let own = bucket.join("output.gristmill");
    assert!(exists(own.join("report.json")) && !exists(own.join("lock")), "{what}");
    // The same plan has nothing to do, independent of the state folder.
    run(&bucket.join("input"), &bucket.join("output"));
    assert_same(&files(&bucket.join("output")), &files(&dir.path().join("output")), what);
}

fn pack_plan(input: &Path, output: &Path) -> PackPlan {
    let tokenizer = golden("modalities/tokenizers/bpe1k");
    PackPlan {
        end: Some(SpecialToken::Text("<|endoftext|>".into())),
        ..PackPlan::new(vec![text(input)], text(&tokenizer), text(output))
    }
}

fn pack(plan: &PackPlan) {
    crate::tokens::pack::start(plan.clone(), options()).unwrap().wait().unwrap();
}

#[test]
fn pack_of_every_format_is_the_same_in_a_store() {
    let input = golden("nanosets/02_modern_noshuffle/input");
    compare("pack-several", &input, |input, output| {
        let masks = Some(MaskedParts { parts: vec!["text".into()], mask_end: false });
        pack(&PackPlan {
            nanosets: Some(NanosetsTarget {
                tasks: Some(2),
                shuffle: DocumentShuffle::Documents,
                loss_masks: true,
                ..NanosetsTarget::default()
            }),
            modalities: Some(ModalitiesTarget::default()),
            forager: Some(ForagerTarget { masks, ..ForagerTarget::new(SampleSize::Fixed(16)) }),
            mds: Some(MdsTarget { sample_size: 16, ..MdsTarget::default() }),
            megatron: Some(MegatronTarget::default()),
            olmo: Some(OlmoTarget::default()),
            ..pack_plan(input, output)
        });
    });
    compare("pack-nanosets", &input, |input, output| {
        let target = NanosetsTarget { tasks: Some(3), ..NanosetsTarget::default() };
        pack(&PackPlan { nanosets: Some(target), ..pack_plan(input, output) });
    });
}

#[test]
fn pack_of_every_document_format_is_the_same_in_a_store() {
    for (at, folder) in ["csv/csv_rows/input", "json", "arrow/p15_arrow_files/input", "parquet/p01_parquet_files/input"]
        .iter()
        .enumerate()
    {
        compare(&format!("documents-{at}"), &golden(folder), |input, output| {
            pack(&PackPlan {
                nanosets: Some(NanosetsTarget::default()),
                glob: Some("**/*".into()),
                ..pack_plan(input, output)
            });
        });
    }
}

#[test]
fn dedup_is_the_same_in_a_store() {
    let cases =
        cases("dedup").into_iter().chain(["p21_dedup", "p22_dedup_unicode"].map(|name| golden("parquet").join(name)));
    for case in cases {
        let name = case.file_name().unwrap().to_str().unwrap();
        compare(&format!("dedup-{name}"), &case.join("input"), |input, output| {
            let plan = DedupPlan { min_length: Some(30), ..DedupPlan::new(text(input), text(output)) };
            crate::job::dedup::start_on(plan, options(), Tuning::default(), Arc::new(RealFs)).unwrap().wait().unwrap();
        });
    }
}

#[test]
fn prepare_is_the_same_in_a_store() {
    for case in ["captioning_fieldmap", "odd_names", "presplit_folders", "media_by_extension"] {
        let (dir, store) = (tempfile::tempdir().unwrap(), PathBuf::from(format!("mem://prepare-{case}/set")));
        let input = golden("energon").join(case).join("input");
        for (name, bytes) in files(&input) {
            let path = dir.path().join(&name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        }
        copy(&input, &store);
        let prepare = |root: &Path| {
            let mut plan = PreparePlan::new(text(root));
            plan.splits = SplitPlan::Ratio("8,1,1".into());
            plan.loading = SampleMapping::Crude { cooker: false };
            PrepareJob::start(plan, options(), None).unwrap().wait().unwrap()
        };
        let (local, stored) = (prepare(dir.path()), prepare(&store));
        assert_eq!((local.shards, local.samples), (stored.shards, stored.samples), "{case}");
        let [mut stored, mut local] = [&store, dir.path()].map(files);
        for set in [&mut stored, &mut local] {
            assert!(set.remove(".nv-meta/index.uuid").is_some_and(|uuid| uuid.len() == 36), "{case}");
        }
        assert_same(&stored, &local, case);
    }
}

#[test]
fn jsonl_index_is_the_same_in_a_store() {
    let inputs = files(&golden("energon/jsonl_edges/input"));
    assert!(inputs.len() >= 10);
    for (name, bytes) in inputs {
        let (dir, store) = (tempfile::tempdir().unwrap(), Path::new("mem://lines").join(&name));
        let local = dir.path().join(&name);
        std::fs::write(&local, &bytes).unwrap();
        put(&store, &bytes);
        let prepare = |path: &Path| {
            let plan = PreparePlan::new(path.to_string_lossy());
            crate::job::jsonl::start(&plan, false, options(), Arc::new(RealFs)).unwrap().wait()
        };
        let samples =
            [&local, &store].map(|path| prepare(path).map(|report| report.samples).map_err(|failure| failure.why));
        assert_eq!(samples[0], samples[1], "{name}");
        let read = |path: &Path| gristmill_storage::files::read(path.with_extension("jsonl.idx")).ok();
        assert_eq!(read(&store), read(&local), "{name}");
        assert_eq!(
            read(&store),
            std::fs::read(golden("energon/jsonl_edges/expected").join(format!("{name}.idx"))).ok(),
            "{name}"
        );
        assert!(samples[1].is_err() || prepare(&store).unwrap().nothing_to_do, "{name}");
    }
}
