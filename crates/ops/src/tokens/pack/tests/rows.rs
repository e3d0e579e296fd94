//! Rows that are assigned to tasks: kills, threads, blocks, and runs of single ranks do not affect the output.

use super::rerun::LINE_BY_LINE;
use super::*;
use gristmill_core::pack::TaskShare;
use gristmill_storage::fs::fault::{Fault, FaultFs};

const DEALS: [TaskShare; 2] = [TaskShare::Rows, TaskShare::Blocks];

/// Returns a plan that packs some rows of many files of rows or lines.
fn dealt(input: &str, deal: TaskShare, output: &Path) -> PackPlan {
    let mut plan = plan(&case(input), "modalities/tokenizers/wl200", output);
    plan.split = Some("train[3:-2]".into());
    plan.nanosets = Some(NanosetsTarget { tasks: Some(3), deal, skip: 1, ..NanosetsTarget::default() });
    plan
}

fn pack(plan: &PackPlan, threads: usize, tuning: Tuning, fs: Arc<dyn Fs>) -> Outcome<PackReport> {
    start_on(plan.clone(), options(threads), tuning, fs)?.wait()
}

const INPUTS: [&str; 2] = ["parquet/p02_codecs_and_encodings/input", "huggingface/p14_hf_jsonl/input"];

#[test]
fn a_killed_run_continues_to_the_same_rows() {
    for (input, deal) in INPUTS.into_iter().zip(DEALS) {
        let dir = tempfile::tempdir().unwrap();
        pack(&dealt(input, deal, &dir.path().join("whole")), 1, LINE_BY_LINE, Arc::new(RealFs)).unwrap();
        let expected = files(&dir.path().join("whole"));
        let counting = FaultFs::new(Fault::Nothing);
        pack(&dealt(input, deal, &dir.path().join("count")), 1, LINE_BY_LINE, Arc::new(counting.clone())).unwrap();
        let ops = counting.ops();
        let mut resumed = 0;
        for at in (0..ops).step_by(usize::try_from(ops / 20).unwrap().max(1)) {
            let output = dir.path().join(format!("out-{at}"));
            let plan = dealt(input, deal, &output);
            let killed = pack(&plan, 1, LINE_BY_LINE, Arc::new(FaultFs::new(Fault::Kill { at })));
            let again = pack(&plan, 2, Tuning { block_bytes: Some(300), ..LINE_BY_LINE }, Arc::new(RealFs)).unwrap();
            resumed += u64::from(killed.is_err() && again.resumed_bytes > 0);
            assert_same(&files(&output), &expected, &format!("{deal:?} killed at {at} of {ops}"));
        }
        assert!(resumed > 3, "{resumed}");
    }
}

#[test]
fn row_order_does_not_depend_on_threads_blocks_and_single_ranks() {
    for (input, deal) in INPUTS.into_iter().flat_map(|input| DEALS.map(|deal| (input, deal))) {
        let dir = tempfile::tempdir().unwrap();
        pack(&dealt(input, deal, &dir.path().join("whole")), 1, Tuning::default(), Arc::new(RealFs)).unwrap();
        let expected = files(&dir.path().join("whole"));
        for (threads, block) in [(2, 1), (7, 100), (3, 4_000)] {
            let output = dir.path().join(format!("out-{block}"));
            let tuning = Tuning { block_bytes: Some(block), ..Tuning::default() };
            pack(&dealt(input, deal, &output), threads, tuning, Arc::new(RealFs)).unwrap();
            assert_same(&files(&output), &expected, &format!("{input} {deal:?} {threads} {block}"));
        }
        for rank in 0..3 {
            let mut plan = dealt(input, deal, &dir.path().join("ranks"));
            plan.nanosets.as_mut().unwrap().rank = Some(rank);
            pack(&plan, 2, Tuning { block_bytes: Some(200), ..Tuning::default() }, Arc::new(RealFs)).unwrap();
        }
        assert_same(&files(&dir.path().join("ranks")), &expected, &format!("{input} {deal:?} rank by rank"));
    }
}
