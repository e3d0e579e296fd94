//! The list of output files, and the log lines about disk space.

use super::rerun::{World, LINE_BY_LINE};
use super::*;
use crate::job::outputs::{OutputState, OutputsStatus};
use crate::job::task::Task;
use gristmill_core::text::bytes;
use gristmill_core::ExitClass;
use gristmill_storage::fs::fault::{Fault, FaultFs};
use rustix::io::Errno;

/// Runs a plan to its end; returns the listed files, the log and the result.
fn ended(plan: PackPlan, tuning: Tuning, fs: Arc<dyn Fs>) -> (OutputsStatus, Vec<String>, Outcome<PackReport>) {
    let task: Task<PackReport> = start_on(plan, options(1), tuning, fs).unwrap();
    while !task.is_finished() {
        std::thread::yield_now();
    }
    let status = task.status();
    (status.outputs, status.log, task.wait())
}

#[test]
fn every_file_of_a_finished_run_is_shown_with_its_size() {
    let world = World::new();
    let (outputs, _, report) = ended(world.plan(), LINE_BY_LINE, Arc::new(RealFs));
    let mut shown: Vec<(PathBuf, u64)> = Vec::new();
    for file in &outputs.files {
        assert_eq!(file.state, OutputState::Published, "{file:?}");
        shown.push((world.dir.path().join(&file.name), file.bytes));
    }
    let written = report.unwrap().targets.into_iter().flat_map(|target| target.outputs);
    let written: Vec<(PathBuf, u64)> = written.map(|file| (file.name.into(), file.bytes)).collect();
    assert_eq!(shown, written);
    assert!(shown.len() > 15 && shown.iter().all(|(path, bytes)| std::fs::metadata(path).unwrap().len() == *bytes));
    assert_eq!((outputs.more, outputs.left), (0, None));
}

#[test]
fn run_refused_because_of_its_data_leaves_no_files() {
    let world = World::new();
    let plan = PackPlan { text: TextField::Key("body".into()), ..world.plan() };
    let (outputs, _, end) = ended(plan, LINE_BY_LINE, Arc::new(RealFs));
    assert_eq!(end.unwrap_err().class, ExitClass::Data);
    assert!(outputs.files.iter().any(|file| file.state == OutputState::Removed), "{outputs:?}");
    let is_gone = |state| matches!(state, OutputState::Removed | OutputState::Waiting);
    assert!(outputs.files.iter().all(|file| is_gone(file.state) && file.bytes == 0), "{outputs:?}");
    assert_eq!(outputs.left, None);
    assert!(!world.dir.path().join("out.gristmill").exists());
}

#[test]
fn run_stopped_by_a_full_disk_lists_the_kept_files() {
    let counting = FaultFs::new(Fault::Nothing);
    ended(World::new().plan(), LINE_BY_LINE, Arc::new(counting.clone())).2.unwrap();
    let ops = counting.ops();
    let mut some_waited = false;
    for at in [ops / 4, ops / 2] {
        let world = World::new();
        let fs = Arc::new(FaultFs::new(Fault::Full { at, errno: Errno::NOSPC }));
        let (outputs, _, end) = ended(world.plan(), LINE_BY_LINE, fs);
        let context = format!("{at} of {ops}: {:?}", end.unwrap_err());
        let kept: Vec<_> = outputs.files.iter().filter(|file| file.state == OutputState::Kept).collect();
        let waiting = outputs.files.iter().filter(|file| file.state == OutputState::Waiting).count();
        assert_eq!(kept.len() + waiting, outputs.files.len(), "{context}");
        some_waited |= waiting > 0;
        let left = outputs.left.unwrap();
        let own = world.dir.path().join("out.gristmill");
        assert_eq!(left.folder, own, "{context}");
        let on_disk = files_below(&own);
        assert_eq!(left.bytes, on_disk, "{context}");
        let sum: u64 = kept.iter().map(|file| file.bytes).sum();
        assert!(sum > 0 && sum <= on_disk, "{context}: {sum} of {on_disk}");
        let (outputs, _, end) = ended(world.plan(), LINE_BY_LINE, Arc::new(RealFs));
        end.unwrap();
        assert!(outputs.files.iter().all(|file| file.state == OutputState::Published), "{context}");
    }
    assert!(some_waited);
}

fn files_below(folder: &Path) -> u64 {
    let entries = walkdir::WalkDir::new(folder).into_iter().map(Result::unwrap);
    entries.filter(|entry| entry.file_type().is_file()).map(|entry| entry.metadata().unwrap().len()).sum()
}

#[test]
fn log_states_needed_and_free_space_and_warns_only_if_space_is_insufficient() {
    let with = |free| Tuning { free_bytes: Some(free), ..LINE_BY_LINE };
    let said = |log: &[String], words: &str| log.iter().any(|line| line.contains(words));
    let world = World::new();
    let (_, log, end) = ended(world.plan(), with(100), Arc::new(RealFs));
    assert_eq!(end.unwrap_err().class, ExitClass::Environment);
    assert!(said(&log, "are needed, and 100 B are free") && said(&log, "full"), "{log:?}");
    // Enough for the estimate, but not for the worst case.
    let needed = preview(&world.plan(), &options(1), &Default::default()).unwrap().needed_bytes;
    let (_, log, end) = ended(world.plan(), with(needed), Arc::new(RealFs));
    end.unwrap();
    assert!(said(&log, "what is needed") && said(&log, &format!("{} are free", bytes(needed))), "{log:?}");
    assert!(said(&log, "the disk has room") && !said(&log, "full"), "{log:?}");
    // Enough for the worst case, so no documents are sampled.
    let world = World::new();
    let (_, log, end) = ended(world.plan(), with(1 << 30), Arc::new(RealFs));
    end.unwrap();
    assert!(!said(&log, "needed") && !said(&log, "full"), "{log:?}");
}
