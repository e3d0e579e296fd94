//! The outputs of a run, and the files of an earlier run in them.

use super::set_writers::PartKind;
use crate::job::record::{self, refuse, Decision, RecordedInput, RecordedPlan};
use gristmill_core::text::display_safe;
use gristmill_core::{Failure, Outcome, ShardPlan, Subject};
use gristmill_storage::files;
use gristmill_storage::location::is_remote;
use gristmill_storage::read::stamp_at;
use gristmill_storage::run_folder::RunFolder;
use gristmill_storage::stores::is_bucket;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const ACTIVITY: &str = "writing shards";

/// The fields of `report.json` that later runs read.
pub(super) type Recorded = record::Recorded<ShardPlan>;

impl RecordedPlan for ShardPlan {
    const ACTIVITY: &'static str = ACTIVITY;
    const COMMAND: &'static str = "shard";
    const MAX_RECORD_BYTES: u64 = 1 << 30;

    fn differences(earlier: &Self, now: &Self) -> Vec<String> {
        let value = |plan: &Self| serde_json::to_value(plan).unwrap_or_default();
        let mut found = Vec::new();
        compare("", &value(earlier), &value(now), &mut found);
        found
    }
}

/// Fields of the plan whose flags have different names, by their path in the plan.
const FLAGS: &[(&str, &str)] = &[
    ("inputs", "the input"),
    ("read-as", "--as"),
    ("rows.split", "--split-column"),
    ("choice.splits", "--split"),
    ("choice.rename-parts", "--rename-part"),
    ("choice.repeated-keys", "--duplicates"),
    ("preparation.splits", "the way of dividing the new shards"),
    ("preparation.loading", "the sample type"),
    ("preparation.media", "the choice of media metadata"),
];

/// Adds the answers in which two plans differ. `place` is the path of the compared values in the plan.
fn compare(place: &str, earlier: &Value, now: &Value, found: &mut Vec<String>) {
    let is_whole = FLAGS.iter().any(|(known, _)| *known == place);
    if let (Value::Object(old), Value::Object(new), false) = (earlier, now, is_whole) {
        let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
        for name in names {
            let below = if place.is_empty() { name.clone() } else { format!("{place}.{name}") };
            compare(&below, old.get(name).unwrap_or(&Value::Null), new.get(name).unwrap_or(&Value::Null), found);
        }
    } else if earlier != now {
        let field = place.rsplit('.').next().unwrap_or(place);
        let flag = FLAGS.iter().find(|(known, _)| *known == place);
        let flag = flag.map_or_else(|| format!("--{field}"), |(_, flag)| (*flag).to_owned());
        found.push(match (answer(earlier), answer(now)) {
            (Some(old), Some(new)) => format!("{flag} is {new} instead of {old}"),
            (None, Some(new)) => format!("{flag} is {new}, and was not given"),
            (Some(old), None) => format!("{flag} was {old}, and is not given"),
            (None, None) => format!("{flag} differs"),
        });
    }
}

/// Returns an answer as text for a command line; `None` if it is empty, or an object.
fn answer(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(display_safe(text).into_owned()),
        Value::Array(values) => Some(values.iter().map(answer).collect::<Option<Vec<String>>>()?.join(", ")),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        Value::Null | Value::Object(_) => None,
    }
}

/// A plan with absolute paths, and its outputs.
pub(super) struct OutputLayout {
    /// The plan with absolute paths.
    pub(super) plan: ShardPlan,
    /// The output from which the name of the run folder is derived.
    pub(super) output: PathBuf,
    /// Folders of the sets, with the parts that each set gets.
    pub(super) sets: Vec<(PartKind, PathBuf)>,
    /// The file of text lines.
    pub(super) lines: Option<PathBuf>,
    pub(super) metadataset: Option<PathBuf>,
    pub(super) run_folder: RunFolder,
}

/// Returns the absolute form of a path.
fn absolute(path: &PathBuf) -> Outcome<PathBuf> {
    match files::absolute(path) {
        Ok(whole) => Ok(files::without_slash(&whole)),
        Err(error) => Err(Failure::io(ACTIVITY, path, &error)),
    }
}

/// Returns the plan with absolute paths of inputs and lists of keys.
fn with_absolute_inputs(plan: &ShardPlan) -> Outcome<ShardPlan> {
    let mut plan = plan.clone();
    for path in plan.inputs.iter_mut().chain(&mut plan.choice.keep_keys).chain(&mut plan.choice.drop_keys) {
        *path = absolute(path)?;
    }
    plan.rows.media_root = plan.rows.media_root.as_ref().map(absolute).transpose()?;
    Ok(plan)
}

impl OutputLayout {
    /// Returns the layout of a plan without an output, for listing its samples as one set. Nothing can be written with it.
    pub(super) fn without_output(plan: &ShardPlan) -> Outcome<Self> {
        let plan = ShardPlan { append: false, ..with_absolute_inputs(plan)? };
        let output = PathBuf::new();
        let (sets, own) = (vec![(PartKind::All, output.clone())], RunFolder::for_output(&output));
        Ok(Self { plan, output, sets, lines: None, metadataset: None, run_folder: own })
    }

    /// Returns the layout of a plan.
    ///
    /// # Errors
    /// A path is invalid, or an output and an input contain one another.
    pub(super) fn of(plan: &ShardPlan) -> Outcome<Self> {
        let mut plan = with_absolute_inputs(plan)?;
        let apart = &mut plan.apart;
        for path in [&mut apart.media_to, &mut apart.text_to, &mut apart.metadataset].into_iter().flatten() {
            *path = absolute_output(&absolute(path)?)?;
        }
        if apart.text_to.is_some() {
            plan.output = None;
        }
        plan.output = plan.output.as_ref().map(|output| absolute_output(&absolute(output)?)).transpose()?;
        let Some(output) = plan.output.clone().or_else(|| plan.apart.text_to.clone()) else {
            return Err(Failure::usage(ACTIVITY, "no output is given").on(Subject::field("--output")));
        };
        let sets = match (&plan.apart.media_to, &plan.output) {
            (None, _) => vec![(PartKind::All, output.clone())],
            (Some(media), None) => vec![(PartKind::Media, media.clone())],
            (Some(media), Some(rest)) => vec![(PartKind::Rest, rest.clone()), (PartKind::Media, media.clone())],
        };
        let (lines, metadataset) = (plan.apart.text_to.clone(), plan.apart.metadataset.clone());
        let own = RunFolder::for_output(&output);
        let layout = Self { plan, output, sets, lines, metadataset, run_folder: own };
        layout.refuse_overlap()?;
        Ok(layout)
    }

    /// Returns all published paths, except indexes and metadata.
    pub(super) fn places(&self) -> impl Iterator<Item = &PathBuf> {
        self.sets.iter().map(|(_, path)| path).chain(&self.lines).chain(&self.metadataset)
    }

    /// Refuses a plan if an output and an input, or two outputs, contain one another.
    fn refuse_overlap(&self) -> Outcome<()> {
        let places: Vec<&PathBuf> = self.places().collect();
        let are_nested = |one: &Path, other: &Path| {
            let (one, other) = (resolved(one), resolved(other));
            one.starts_with(&other) || other.starts_with(&one)
        };
        for (position, place) in places.iter().enumerate() {
            if self.plan.inputs.iter().any(|input| are_nested(input, place)) {
                let failure = Failure::usage(ACTIVITY, "the output and an input overlap");
                return Err(failure.on(Subject::path(place)).with_hint("name an output outside of the inputs"));
            }
            if places.iter().take(position).any(|other| are_nested(other, place)) {
                let failure = Failure::usage(ACTIVITY, "two outputs overlap");
                return Err(failure.on(Subject::path(place)).with_hint("name folders and files apart from each other"));
            }
        }
        Ok(())
    }

    /// Returns the folder that contains all published files.
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
        let recorded = Recorded::of_what_is_there(&self.run_folder)?;
        if self.plan.append {
            let is_done = recorded.is_some_and(|recorded| {
                let is_same = recorded.plan == self.plan && recorded.plan_hash == self.hash();
                is_same && recorded.is_whole() && recorded.other_input(&current_inputs(&recorded)).is_none()
            });
            return Ok(if is_done { Decision::Nothing } else { Decision::Run });
        }
        let Some(recorded) = recorded else {
            for place in self.places() {
                if is_not_empty(place)? {
                    let why = "the output exists already, and no record says that gristmill shard wrote it".to_owned();
                    let hint = match files::is_dir(place) {
                        true => "name another output; --append adds shards to a prepared set",
                        false => "name another file, or remove this one",
                    };
                    return Err(record::refuse::<ShardPlan>(place, why, hint));
                }
            }
            return Ok(Decision::Run);
        };
        let changed = || "shards that an earlier run wrote were changed or removed".to_owned();
        let is_changed = || recorded.plan_hash != self.hash() || !recorded.is_whole();
        let why = recorded.other_plan(&self.plan).or_else(|| recorded.other_input(&current_inputs(&recorded)));
        if let Some(why) = why.or_else(|| is_changed().then(changed)) {
            let own = display_safe(&self.run_folder.path().to_string_lossy()).into_owned();
            return refuse(why, &format!("name another output, or remove this one and {own} first"));
        }
        Ok(Decision::Nothing)
    }
}

/// Returns the recorded inputs with their current stamps.
fn current_inputs(recorded: &Recorded) -> Vec<RecordedInput> {
    let now = |input: &RecordedInput| {
        let stamp = stamp_at(&input.path).unwrap_or_default();
        RecordedInput { path: input.path.clone(), stamp }
    };
    recorded.inputs.iter().map(now).collect()
}

/// Returns an absolute output path from which the name of a run folder can be derived.
fn absolute_output(path: &Path) -> Outcome<PathBuf> {
    let path = match path.file_name() {
        Some(_) => path.to_owned(),
        None => files::canonicalize(path).map_err(|error| Failure::io(ACTIVITY, path, &error))?,
    };
    if is_bucket(&path) || path.file_name().is_none() {
        let failure = Failure::usage(ACTIVITY, "it is a bucket or the root of the file system: name a folder in it");
        return Err(failure.on(Subject::path(&path)));
    }
    Ok(path)
}

/// Returns a path without symbolic links and `..`, as far as its folders exist.
fn resolved(path: &Path) -> PathBuf {
    let (mut above, mut rest) = (path, Vec::new());
    if is_remote(path) {
        // Stores have no symbolic links.
        return files::absolute_or_same(path);
    }
    loop {
        if let Ok(there) = files::canonicalize(above) {
            return rest.into_iter().rev().fold(there, |path, name| path.join(name));
        }
        match (above.parent(), above.file_name()) {
            (Some(parent), Some(name)) => {
                rest.push(name);
                above = parent;
            }
            _ => return path.to_owned(),
        }
    }
}

/// Whether a path is an existing file, or a folder that contains more than empty folders.
fn is_not_empty(place: &Path) -> Outcome<bool> {
    if !files::is_dir(place) {
        return files::try_is_taken(place);
    }
    let entries = files::read_dir(place).map_err(|error| Failure::io(ACTIVITY, place, &error))?;
    for entry in entries {
        let entry = entry.map_err(|error| Failure::io(ACTIVITY, place, &error))?;
        if is_not_empty(entry.path())? {
            return Ok(true);
        }
    }
    Ok(false)
}
