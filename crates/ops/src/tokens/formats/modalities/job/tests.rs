//! After any failure while a file is written from others or repaired, the output is either the complete old or the complete new file.

use super::*;
use crate::job::task::{Task, TaskContext};
use crate::tokens::formats::modalities::engine::filter::KeepConditions;
use gristmill_core::{ExitClass, Outcome, RunOptions};
use gristmill_data::formats::modalities::packed::{Header, PackedReader};
use gristmill_pycompat::pickle::write_index;
use gristmill_pycompat::random::Seed;
use gristmill_storage::fs::fault::{Fault, FaultFs};
use gristmill_storage::fs::{Fs, RealFs};
use gristmill_storage::publish::write_file;
use gristmill_storage::read::open_read;
use proptest::prelude::*;
use rustix::io::Errno;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Runs a job that writes through `fs`.
fn on<R: Send + 'static>(
    fs: Arc<dyn Fs>,
    work: impl FnOnce(&TaskContext) -> Outcome<R> + Send + 'static,
) -> Outcome<R> {
    Task::start("modalities", RunOptions::default(), fs, work)?.wait()
}

/// Returns a packed file of two-byte tokens, whose documents end with 0. `early` bytes are subtracted from the offsets of the second half.
fn packed(documents: &[Vec<u16>], early: u64) -> Vec<u8> {
    let (mut data, mut items) = (Vec::new(), Vec::new());
    for document in documents {
        let start = data.len() as u64;
        data.extend(document.iter().chain([&0]).flat_map(|token| token.to_le_bytes()));
        items.push((start, data.len() as u64 - start));
    }
    let half = items.len() / 2;
    items[half..].iter_mut().for_each(|item| item.0 -= early);
    let header = Header { data_bytes: data.len() as u64, token_bytes: 2 };
    let mut bytes = [&header.to_bytes()[..], &data].concat();
    let mut out = |piece: &[u8]| {
        bytes.extend_from_slice(piece);
        Ok(())
    };
    write_index(items.len() as u64, items.iter().copied(), &mut out).unwrap();
    bytes
}

fn some_documents() -> Vec<Vec<u16>> {
    (1..60).map(|n| (0..n).map(|token| token + 1).collect()).collect()
}

fn put(path: &Path, bytes: &[u8]) {
    write_file(&RealFs, path, bytes, 0o644).unwrap();
}

fn read_documents(path: &Path) -> Vec<Vec<u32>> {
    let packed = PackedReader::open(open_read(path).unwrap()).unwrap();
    let mut items = packed.items();
    let mut documents = Vec::new();
    while let Some((offset, length)) = items.next_item().unwrap() {
        let (mut bytes, mut ids) = (vec![0; length as usize], Vec::new());
        packed.read(offset, &mut bytes).unwrap();
        packed.layout().tokens(&bytes, &mut ids);
        documents.push(ids);
    }
    documents
}

fn plan(what: Rewrite, output: PathBuf) -> RewritePlan {
    RewritePlan { what, output, existing: ExistingOutput::Replace, compat: false }
}

/// A run in a folder, on a file system that may fail.
type Run = dyn Fn(&Path, Arc<dyn Fs>) -> gristmill_core::Outcome<()>;

fn broken_anywhere(fault: fn(u64) -> Fault, run: &Run, target: &str) {
    let begin = || {
        let folder = tempfile::tempdir().unwrap();
        put(&folder.path().join("a.pbin"), &packed(&some_documents(), 12));
        put(&folder.path().join("b.pbin"), &packed(&some_documents(), 0));
        put(&folder.path().join("out.pbin"), b"old");
        folder
    };
    let folder = begin();
    let fs = Arc::new(FaultFs::new(Fault::Nothing));
    run(folder.path(), fs.clone()).unwrap();
    let wanted = std::fs::read(folder.path().join(target)).unwrap();
    assert!(fs.ops() > 8, "{} operations", fs.ops());
    for at in 0..fs.ops() {
        let folder = begin();
        let before = std::fs::read(folder.path().join(target)).unwrap();
        let result = run(folder.path(), Arc::new(FaultFs::new(fault(at))));
        let after = std::fs::read(folder.path().join(target)).unwrap();
        assert!(after == before || after == wanted, "operation {at}: half a file ({result:?})");
        match result {
            Ok(()) => assert!(after == wanted, "operation {at}: reported as done"),
            Err(failure) => assert_eq!(failure.class, ExitClass::Environment, "operation {at}: {failure}"),
        }
        run(folder.path(), Arc::new(RealFs)).unwrap_or_else(|failure| panic!("operation {at}, again: {failure}"));
        assert_eq!(std::fs::read(folder.path().join(target)).unwrap(), wanted, "operation {at}, again");
    }
}

#[test]
fn failed_shuffle_leaves_the_old_or_the_new_output() {
    let shuffle = |root: &Path, fs: Arc<dyn Fs>| {
        let plan = plan(Rewrite::ShufflePacked(root.join("b.pbin"), Seed::from(7)), root.join("out.pbin"));
        on(fs, move |context| run_rewrite(&plan, context)).map(drop)
    };
    broken_anywhere(|at| Fault::Full { at, errno: Errno::NOSPC }, &shuffle, "out.pbin");
    broken_anywhere(|at| Fault::Once { at, errno: Errno::IO }, &shuffle, "out.pbin");
}

#[test]
fn failed_repair_leaves_the_old_or_the_new_file() {
    let repair = |root: &Path, fs: Arc<dyn Fs>| {
        let path = root.join("a.pbin");
        on(fs, move |context| repair::run(&path, false, context)).map(drop)
    };
    broken_anywhere(|at| Fault::Once { at, errno: Errno::IO }, &repair, "a.pbin");
}

#[test]
fn repair_refuses_documents_with_different_end_tokens() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pbin");
    let mut bytes = packed(&some_documents(), 12);
    // Replaces the end token of the first document.
    bytes[14] = 9;
    put(&path, &bytes);
    let failure = start_repair(&path, false, RunOptions::default()).unwrap().wait().unwrap_err();
    assert!(failure.why.contains("do not all end with the same token"), "{failure}");
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn shuffled_merged_and_filtered_files_hold_the_same_documents(
        documents in proptest::collection::vec(proptest::collection::vec(1u16.., 0..20), 1..40),
        seed in any::<u64>(),
        cut in 1usize..40,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let cut = cut.min(documents.len());
        put(&at("a.pbin"), &packed(&documents[..cut], 0));
        put(&at("b.pbin"), &packed(&documents[cut..], 0));
        let run = |what, output: &str| {
            let plan = plan(what, at(output));
            on(Arc::new(RealFs), move |context| run_rewrite(&plan, context)).unwrap()
        };
        run(Rewrite::Merge(vec![at("a.pbin"), at("b.pbin")]), "m.pbin");
        let whole: Vec<Vec<u32>> =
            documents.iter().map(|document| document.iter().map(|t| u32::from(*t)).chain([0]).collect()).collect();
        prop_assert_eq!(read_documents(&at("m.pbin")), whole.clone());
        prop_assert_eq!(std::fs::read(at("m.pbin")).unwrap(), packed(&documents, 0));
        run(Rewrite::ShufflePacked(at("m.pbin"), Seed::from(seed)), "s.pbin");
        let (mut shuffled, mut sorted) = (read_documents(&at("s.pbin")), whole.clone());
        shuffled.sort();
        sorted.sort();
        prop_assert_eq!(shuffled, sorted);
        let keep = KeepConditions { least_tokens: Some(1), documents: Some(vec![(0, cut as u64 - 1)]), most_tokens: None };
        run(Rewrite::Filter(at("m.pbin"), keep), "f.pbin");
        prop_assert_eq!(read_documents(&at("f.pbin")), &whole[..cut]);
    }
}
