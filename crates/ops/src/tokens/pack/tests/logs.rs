//! The log folder: the files that datatrove's tools read, and files that they wrote.

use super::rerun::World;
use super::*;
use gristmill_core::ExitClass;

fn world() -> (World, PackPlan, PathBuf) {
    let world = World::new();
    let logs = world.dir.path().join("logs");
    let mut plan = world.plan();
    (plan.modalities, plan.forager) = (None, None);
    plan.nanosets = plan.nanosets.map(|target| NanosetsTarget {
        logging_dir: Some(logs.to_str().unwrap().into()),
        skip: 0,
        ..target
    });
    (world, plan, logs)
}

fn json(path: &Path) -> serde_json::Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

#[test]
fn ranks_finished_by_another_run_are_not_packed_again() {
    let (world, plan, logs) = world();
    world.put("logs/completions/00001", b"");
    run(&plan).unwrap();
    let made = files(&world.output());
    assert!(made.keys().all(|name| name.starts_with("00000_")), "{:?}", made.keys());
    let stats = json(&logs.join("stats/00000.json"));
    assert_eq!(stats[0]["stats"]["input_files"], 3);
    assert!(stats[1]["stats"]["tokens"]["total"].as_u64().unwrap() > 100, "{stats}");
    assert!(logs.join("completions/00000").is_file() && !logs.join("stats/00001.json").exists());
    assert!(run(&plan).unwrap().nothing_to_do);
    std::fs::remove_file(logs.join("completions/00001")).unwrap();
    run(&plan).unwrap();
    assert!(files(&world.output()).keys().any(|name| name.starts_with("00001_")));
}

#[test]
fn task_logs_and_statistics_are_written() {
    let (world, plan, logs) = world();
    run(&plan).unwrap();
    let executor = json(&logs.join("executor.json"));
    assert_eq!((executor["world_size"].as_u64(), executor["tasks"].as_u64()), (Some(2), Some(2)));
    assert_eq!(executor["pipeline"][0]["text_key"], "text");
    let output = world.output();
    assert_eq!(executor["pipeline"][1]["output_folder"], format!("DataFolder(path='{}')", output.display()));
    let log = std::fs::read_to_string(logs.join("logs/task_00001.log")).unwrap();
    let said: Vec<&str> = log.lines().map(|line| line.split_once(" - ").unwrap().1).collect();
    assert_eq!(
        said[..4],
        [
            "Launching pipeline for rank=1",
            "Reading input file 1.jsonl, 1/2",
            "Reading input file 3.jsonl, 2/2",
            "Processing done for rank=1",
        ]
    );
    assert!(said[4].starts_with("Stats: Task 1: 9 documents, "), "{log}");
    assert!(log.contains(" | SUCCESS  | gristmill:pack - "), "{log}");
}

#[test]
fn failed_run_writes_its_reason_to_every_task_log() {
    let (_world, mut plan, logs) = world();
    plan.text = TextField::Key("content".into());
    let failure = run(&plan).unwrap_err();
    for rank in 0..2 {
        let log = std::fs::read_to_string(logs.join(format!("logs/task_{rank:05}.log"))).unwrap();
        assert!(log.contains(" | ERROR    | ") && log.contains(&failure.to_string()), "{log}");
    }
    assert_eq!(json(&logs.join("executor.json"))["world_size"], 2);
    assert!(!logs.join("completions").exists() && !logs.join("stats.json").exists());
}

#[test]
fn log_folder_of_a_different_task_count_is_refused() {
    let (world, plan, logs) = world();
    world.put("logs/executor.json", br#"{"tasks": 3, "world_size": 3}"#);
    run(&plan).unwrap();
    // The number of tasks of this run now applies.
    assert_eq!(json(&logs.join("executor.json"))["world_size"], 2);
    let mut other = plan.clone();
    other.nanosets.as_mut().unwrap().tasks = Some(3);
    for failure in [run(&other).unwrap_err(), preview(&other, &options(1), &Default::default()).unwrap_err()] {
        assert_eq!(failure.class, ExitClass::Data);
        assert!(failure.hint.as_ref().unwrap().starts_with("--tasks 2 "), "{failure:?}");
    }
    // As in the reference program, ranks 0 and 1 are skipped.
    (other.compat, other.output) = (true, format!("{}-3", other.output));
    run(&other).unwrap();
    assert!(files(Path::new(&other.output)).keys().any(|name| name.starts_with("00002_")));
}
