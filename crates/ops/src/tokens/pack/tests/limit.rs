//! The token limit is exact, and gives the same result with all numbers of threads, all block sizes and after kills.

use super::rerun::{World, LINE_BY_LINE};
use super::*;
use gristmill_storage::fs::fault::{Fault, FaultFs};

fn limited(world: &World, limit: u64) -> PackPlan {
    let mut plan = PackPlan { limit_tokens: Some(limit), ..world.plan() };
    plan.nanosets = Some(NanosetsTarget { tasks: Some(1), ..NanosetsTarget::default() });
    plan.forager = Some(ForagerTarget::new(SampleSize::Variable));
    plan
}

fn pack(world: &World, limit: u64, threads: usize, tuning: Tuning) -> PackReport {
    start_on(limited(world, limit), options(threads), tuning, Arc::new(RealFs)).unwrap().wait().unwrap()
}

/// Returns the cumulative token count at the end of each document of the token folder.
fn ends(files: &BTreeMap<String, Vec<u8>>) -> Vec<u64> {
    let index = files.iter().find(|(name, _)| name.ends_with(".ds.index")).unwrap().1;
    index.chunks_exact(8).map(|end| u64::from_le_bytes(end.try_into().unwrap())).collect()
}

#[test]
fn each_format_ends_with_the_document_that_reaches_the_limit() {
    let all = World::new();
    let whole = pack(&all, u64::MAX, 2, Tuning::default());
    let all_ends = ends(&files(&all.output()));
    assert_eq!(all_ends.last(), Some(&whole.targets[1].tokens));
    for limit in [1, all_ends[3], all_ends[3] + 1, all_ends[20]] {
        let world = World::new();
        let report = pack(&world, limit, 1, LINE_BY_LINE);
        let expected = files(&world.output());
        let documents = all_ends.iter().position(|end| *end >= limit).unwrap() + 1;
        assert_eq!(ends(&expected), all_ends[..documents], "{limit}");
        assert_eq!(report.targets[1].documents as usize, documents, "{limit}");
        assert!(report.targets.iter().all(|target| target.tokens >= limit), "{limit}: {report:?}");
        let most = report.targets.iter().map(|target| target.documents).max();
        assert_eq!(Some(report.documents), most, "{limit}");
        assert!(report.problems.iter().any(|problem| problem.message.contains("the limit is reached")));
        for (threads, block) in [(3, Some(40)), (2, Some(700)), (4, None)] {
            let world = World::new();
            pack(&world, limit, threads, Tuning { block_bytes: block, ..Tuning::default() });
            assert_same(&files(&world.output()), &expected, &format!("{limit} {threads} {block:?}"));
        }
    }
}

#[test]
fn limited_run_resumed_after_a_kill_gives_the_same_files() {
    let whole = World::new();
    pack(&whole, 60, 1, LINE_BY_LINE);
    let expected = files(&whole.output());
    let counting = FaultFs::new(Fault::Nothing);
    let world = World::new();
    start_on(limited(&world, 60), options(1), LINE_BY_LINE, Arc::new(counting.clone())).unwrap().wait().unwrap();
    for at in (0..counting.ops()).step_by(9) {
        let world = World::new();
        let killed = Arc::new(FaultFs::new(Fault::Kill { at }));
        let _ = start_on(limited(&world, 60), options(1), LINE_BY_LINE, killed).and_then(|task| task.wait());
        pack(&world, 60, 2, Tuning { block_bytes: Some(100), ..Tuning::default() });
        assert_same(&files(&world.output()), &expected, &format!("killed at {at}"));
    }
}
