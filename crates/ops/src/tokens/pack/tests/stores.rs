//! Packs many small files from a store.

use super::*;
use gristmill_storage::memory_store::{opens_below, put};

/// Number of files; larger than the number that is fetched at the same time.
const FILES: usize = 70;

fn text(number: usize) -> Vec<u8> {
    (0..20).flat_map(|line| format!("{{\"text\": \"file {number} line {line}\"}}\n").into_bytes()).collect()
}

#[test]
fn each_input_is_opened_once_and_output_does_not_depend_on_threads_and_location() {
    let dir = tempfile::tempdir().unwrap();
    let local = dir.path().join("input");
    std::fs::create_dir(&local).unwrap();
    let name = |number: usize| format!("{number:03}.jsonl");
    (0..FILES).for_each(|number| std::fs::write(local.join(name(number)), text(number)).unwrap());
    let pack = |input: &Path, output: &Path, threads: usize| {
        let mut plan = plan(input, "modalities/tokenizers/bpe1k", output);
        plan.nanosets = Some(NanosetsTarget::default());
        start(plan, options(threads)).unwrap().wait().unwrap();
        files(output)
    };
    let expected = pack(&local, &dir.path().join("made"), 2);
    for threads in [1, 2, 7] {
        let bucket = PathBuf::from(format!("mem://pack/small-{threads}"));
        (0..FILES).for_each(|number| put(&bucket.join("input").join(name(number)), &text(number)));
        let made = pack(&bucket.join("input"), &bucket.join("made"), threads);
        assert_same(&made, &expected, &format!("{threads} threads"));
        assert_eq!(opens_below(&bucket.join("input")), FILES as u64, "{threads} threads");
    }
}
