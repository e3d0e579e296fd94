//! Where a run writes, and what an earlier run has left there.

use crate::job::record::{self, refuse, Decision, RecordedInput, RecordedPlan};
use gristmill_core::{Failure, Outcome, ShardPlan, Subject};
use gristmill_storage::files;
use gristmill_storage::location::is_bucket;
use gristmill_storage::read::stamp_at;
use gristmill_storage::run_folder::RunFolder;
use serde_json::Value;
use std::path::{Path, PathBuf};

const WHAT: &str = "writing shards";

/// The part of `report.json` that later runs read.
pub(super) type Recorded = record::Recorded<ShardPlan>;

impl RecordedPlan for ShardPlan {
    const DOING: &'static str = WHAT;
    const COMMAND: &'static str = "shard";
    const MAX_RECORD_BYTES: u64 = 1 << 30;

    fn differences(earlier: &Self, now: &Self) -> Vec<String> {
        let value = |plan: &Self| serde_json::to_value(plan).unwrap_or_default();
        let mut found = Vec::new();
        compare("", &value(earlier), &value(now), &mut found);
        found
    }
}

/// Adds the answers in which two plans differ.
fn compare(name: &str, earlier: &Value, now: &Value, found: &mut Vec<String>) {
    let (Value::Object(old), Value::Object(new)) = (earlier, now) else {
        let text = |value: &Value| match value {
            Value::Null => "no answer".to_owned(),
            value => value.to_string(),
        };
        if earlier != now {
            found.push(format!("{name} is {} instead of {}", text(now), text(earlier)));
        }
        return;
    };
    let mut names: Vec<&String> = old.keys().chain(new.keys()).collect();
    names.sort();
    names.dedup();
    for name in names {
        compare(name, old.get(name).unwrap_or(&Value::Null), new.get(name).unwrap_or(&Value::Null), found);
    }
}

/// A settled plan and its folders.
pub(super) struct OutputLayout {
    /// The plan with paths that do not depend on the current folder.
    pub(super) plan: ShardPlan,
    pub(super) output: PathBuf,
    pub(super) own: RunFolder,
}

impl OutputLayout {
    pub(super) fn of(plan: &ShardPlan) -> Outcome<Self> {
        let mut plan = plan.clone();
        let absolute = |path: &PathBuf| match files::absolute(path) {
            Ok(whole) => Ok(files::without_slash(&whole)),
            Err(error) => Err(Failure::io(WHAT, path, &error)),
        };
        for path in plan.inputs.iter_mut().chain(&mut plan.choice.keep_keys).chain(&mut plan.choice.drop_keys) {
            *path = absolute(path)?;
        }
        let Some(output) = plan.output.as_ref() else {
            return Err(Failure::usage(WHAT, "where the shards go is not given").on(Subject::field("--output")));
        };
        let output = match absolute(output)? {
            path if path.file_name().is_some() => path,
            path => files::canonicalize(&path).map_err(|error| Failure::io(WHAT, &path, &error))?,
        };
        if is_bucket(&output) || output.file_name().is_none() {
            let failure = Failure::usage(WHAT, "it is a bucket or the root of the file system: name a folder in it");
            return Err(failure.on(Subject::path(&output)));
        }
        plan.output = Some(output.clone());
        for input in &plan.inputs {
            if input.starts_with(&output) || output.starts_with(input) {
                let why = "the output and an input are inside of each other";
                let failure = Failure::usage(WHAT, why).on(Subject::path(&output));
                return Err(failure.with_hint("name an output outside of the inputs"));
            }
        }
        let own = RunFolder::for_output(&output);
        Ok(Self { plan, output, own })
    }

    /// Returns the folder that contains everything that becomes visible.
    pub(super) fn root(&self) -> &Path {
        self.output.parent().unwrap_or(&self.output)
    }

    /// Returns the hash of the plan.
    pub(super) fn hash(&self) -> String {
        let canonical = serde_json::to_string(&self.plan).unwrap_or_default();
        format!("{:032x}", xxhash_rust::xxh3::xxh3_128(canonical.as_bytes()))
    }

    /// Decides whether the plan may run, and whether it has already run.
    pub(super) fn decide(&self) -> Outcome<Decision> {
        let refuse = |why: String, hint: &str| Err(refuse::<ShardPlan>(&self.output, why, hint));
        let Some(recorded) = Recorded::of_what_is_there(&self.own)? else {
            return match holds_something(&self.output)? {
                true => refuse("there is something of that name already".into(), "name another folder"),
                false => Ok(Decision::Run),
            };
        };
        if let Some(why) = recorded.other_plan(&self.plan) {
            return refuse(why, "name another output");
        }
        let now = |input: &RecordedInput| {
            let stamp = stamp_at(&input.path).unwrap_or_default();
            RecordedInput { path: input.path.clone(), stamp }
        };
        let inputs: Vec<RecordedInput> = recorded.inputs.iter().map(now).collect();
        if let Some(why) = recorded.other_input(&inputs) {
            return refuse(why, "name another output");
        }
        if recorded.plan_hash != self.hash() || !recorded.is_whole() {
            return refuse("shards that an earlier run wrote were changed or removed".into(), "name another output");
        }
        Ok(Decision::Nothing)
    }
}

/// Whether there is a file of this name, or a folder with something else than empty folders in it.
fn holds_something(place: &Path) -> Outcome<bool> {
    if !files::is_dir(place) {
        return Ok(files::is_taken(place));
    }
    let entries = files::read_dir(place).map_err(|error| Failure::io(WHAT, place, &error))?;
    for entry in entries {
        let entry = entry.map_err(|error| Failure::io(WHAT, place, &error))?;
        if holds_something(entry.path())? {
            return Ok(true);
        }
    }
    Ok(false)
}
