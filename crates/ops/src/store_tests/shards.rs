//! Writes new shards from and to a store. Their bytes must equal those of a run on local files.

use super::{assert_same, cases, copy, files, golden, options};
use crate::operations::{operation, AnyPlan};
use crate::shard::ShardReport;
use gristmill_core::options::{Answer, ValueKind};
use gristmill_core::{ExitClass, Failure};
use gristmill_storage::files::exists;
use gristmill_storage::memory_store::put;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

type ShardResult = Result<Box<dyn crate::job::report::Report>, Failure>;

/// Returns the plan of a command. Relative input paths start from `inputs`, other relative paths from `root`.
fn plan_of(command: &[&str], inputs: &Path, root: &Path) -> Box<dyn AnyPlan> {
    let operation = operation("shard").unwrap();
    let at = |folder: &Path, path: &str| folder.join(path).to_str().unwrap().to_owned();
    let (mut words, mut given, mut answers) = (command.iter(), Vec::new(), BTreeMap::<&str, Vec<String>>::new());
    while let Some(word) = words.next() {
        let Some(name) = word.strip_prefix("--") else {
            given.push(at(inputs, word));
            continue;
        };
        let row = operation.options().into_iter().find(|row| row.info.name == name).unwrap();
        let values = answers.entry(row.info.name).or_default();
        match row.kind {
            ValueKind::Switch => {}
            // Outputs are the only relative paths that are not inputs.
            ValueKind::Path if ["output", "media-to"].contains(&name) => values.push(at(root, words.next().unwrap())),
            ValueKind::Path => values.push(at(inputs, words.next().unwrap())),
            _ => values.push((*words.next().unwrap()).to_owned()),
        }
    }
    let mut plan = operation.plan_for(given);
    for (name, mut values) in answers {
        let answer = match values.len() {
            0 => Answer::On,
            1 => Answer::Text(values.remove(0)),
            _ => Answer::List(values),
        };
        plan.set(name, &answer).unwrap();
    }
    plan
}

/// Runs `shard` with these arguments.
fn shard(command: &[&str], inputs: &Path, root: &Path) -> ShardResult {
    let plan = plan_of(command, inputs, root);
    assert!(plan.check(true).is_empty(), "{:?}", plan.check(true));
    plan.start(true, options()).unwrap().wait()?;
    plan.start(false, options()).unwrap().wait()
}

/// Returns the files that a run wrote, except the uuid of an index, which is random.
fn written(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = files(root);
    found.retain(|name, _| !name.ends_with("index.uuid"));
    found
}

/// Runs every golden case for each combination of input and output in a folder or a store, and compares it with the local run. Other tests
/// compare the local run with the expected bytes.
#[test]
fn golden_shard_cases_are_the_same_from_and_to_a_store() {
    let cases = cases("webdataset");
    assert!(cases.len() >= 15, "{cases:?}");
    for folder in cases {
        let name = folder.file_name().unwrap().to_str().unwrap();
        let facts = gristmill_storage::files::read(folder.join("case.json")).unwrap();
        let facts: serde_json::Value = serde_json::from_slice(&facts).unwrap();
        let given = folder.join("given");
        let (dir, bucket) = (tempfile::tempdir().unwrap(), PathBuf::from(format!("mem://shard-{name}")));
        copy(&given, &bucket);
        for run in facts["runs"].as_array().unwrap() {
            let words: Vec<&str> =
                run["command"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
            let command: Vec<&str> = words[2..].iter().copied().filter(|word| *word != "--yes").collect();
            compare_shards(name, &command, [&given, &bucket], dir.path());
        }
    }
}

/// Compares one command's outputs in a store with those of the local run.
fn compare_shards(name: &str, command: &[&str], [given, bucket]: [&Path; 2], local: &Path) {
    let wanted = shard(command, given, local);
    let after = |flag: &str| command.iter().position(|word| *word == flag).map(|at| command[at + 1]);
    let outputs: Vec<&str> = ["--output", "--media-to"].into_iter().filter_map(after).collect();
    for (number, inputs) in [bucket, given].into_iter().enumerate() {
        let root = bucket.join(format!("run-{number}"));
        let found = shard(command, inputs, &root);
        if let Err(failure) = &wanted {
            assert_eq!(found.err().unwrap().class, failure.class, "{name}");
            continue;
        }
        found.unwrap_or_else(|failure| panic!("{name}: {failure}"));
        for output in &outputs {
            assert_same(&written(&root.join(output)), &written(&local.join(output)), name);
        }
        let own = root.join(format!("{}.gristmill", outputs[0]));
        assert!(exists(own.join("report.json")) && !exists(own.join("lock")), "{name}");
        let again = shard(command, inputs, &root).unwrap();
        assert!(again.typed::<ShardReport>().unwrap().nothing_to_do, "{name}");
    }
}

#[test]
fn output_folder_of_a_store_with_objects_is_refused() {
    let bucket = PathBuf::from("mem://shard-taken");
    put(&bucket.join("out/x.txt"), b"x");
    let given = golden("webdataset/reshard_count/given");
    let refused = shard(&["input", "--output", "out"], &given, &bucket).err().unwrap();
    assert_eq!(refused.class, ExitClass::Data);
    assert!(!exists(bucket.join("out/shard_000000.tar")));
    let refused = shard(&["input", "--output", ""], &given, &PathBuf::from("mem://shard-bucket")).err().unwrap();
    assert_eq!(refused.class, ExitClass::Usage);
}
