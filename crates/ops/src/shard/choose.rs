//! Chooses the samples and parts that are written: renames and selects parts, then checks required parts, then keys.

use super::divide::entry_name;
use super::examples::PartTally;
use super::key_list::KeyList;
use super::record::{subject_of, ListedSample};
use super::sample::Part;
use crate::engine::browse::find_list;
use crate::engine::plan::nearest;
use gristmill_core::text::{display_safe, display_safe_bytes};
use gristmill_core::{Cancel, Failure, Outcome, Problem, ProblemKind, ProblemSink, SampleMapping, ShardPlan, Subject};
use gristmill_data::source::tar::is_reserved;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

const ACTIVITY: &str = "choosing parts";

const RENAME_PART: &str = "--rename-part";
/// Maximum number of part names in a hint.
const MAX_NAMES: usize = 12;

/// Numbers of samples that the plan omits, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Number of samples of which no part remains.
    pub without_parts: u64,
    /// Number of samples without a required part.
    pub without_required: u64,
    /// Number of samples that a list of keys omits.
    pub by_keys: u64,
    /// Samples that `split.yaml` of the input excludes, individually or with their shards.
    #[serde(default)]
    pub excluded: u64,
}

impl LeftOut {
    /// Returns each number with its reason in words and the flag that affects it.
    pub(super) fn reasons(&self) -> [(u64, &'static str, &'static str); 4] {
        [
            (self.excluded, "that split.yaml excludes", "--keep-excluded"),
            (self.without_parts, "without a part that is kept", "--keep-parts and --drop-parts"),
            (self.without_required, "without a part that --require names", "--require"),
            (self.by_keys, "by a list of keys", "--keep-keys and --drop-keys"),
        ]
    }
}

/// Chooses samples and parts by the answers of a plan.
pub(super) struct Chooser<'a> {
    plan: &'a ShardPlan,
    /// Whether keys are replaced by numbers.
    is_numbered: bool,
    problems: &'a dyn ProblemSink,
    keep_keys: Option<KeyList>,
    drop_keys: Option<KeyList>,
    pub(super) left_out: LeftOut,
    /// Counts the parts of all samples, by their new names.
    pub(super) listed: PartTally,
    /// Counts the parts of the written samples; `None` unless a field map names parts.
    pub(super) written: Option<PartTally>,
    /// Part names that no sample had so far, each with its flag.
    unmatched: Vec<(&'static str, &'a str)>,
    /// Number of chosen samples that `split.yaml` of the input excludes.
    pub(super) kept_excluded: u64,
    chosen: u64,
}

/// Removes the part names that a sample has, for the flags selected by `is_of`.
fn remove_matched(unmatched: &mut Vec<(&'static str, &str)>, parts: &[Part], is_of: impl Fn(&str) -> bool) {
    unmatched.retain(|(flag, name)| !is_of(flag) || parts.iter().all(|part| part.name != name.as_bytes()));
}

/// Returns the names and sizes of parts.
fn names_of(parts: &[Part]) -> impl Iterator<Item = (&[u8], u64)> {
    parts.iter().map(|part| (part.name.as_slice(), part.bytes))
}

impl<'a> Chooser<'a> {
    pub(super) fn new(
        plan: &'a ShardPlan,
        is_numbered: bool,
        problems: &'a dyn ProblemSink,
        run_folder: &Path,
        cancel: &Cancel,
    ) -> Outcome<Self> {
        let read = |path: &Option<PathBuf>| {
            let list = path.as_deref().map(|path| find_list(path, run_folder)).transpose()?;
            list.map(|list| KeyList::read(&list, cancel)).transpose()
        };
        let choice = &plan.choice;
        let renamed = choice.rename_parts.iter().map(|(old, _)| (RENAME_PART, old.as_str()));
        let kept = choice.keep_parts.iter().map(|name| ("--keep-parts", name.as_str()));
        let dropped = choice.drop_parts.iter().map(|name| ("--drop-parts", name.as_str()));
        let has_field_map = matches!(plan.preparation.loading, SampleMapping::FieldMap { .. });
        Ok(Self {
            plan,
            is_numbered,
            problems,
            keep_keys: read(&plan.choice.keep_keys)?,
            drop_keys: read(&plan.choice.drop_keys)?,
            left_out: LeftOut::default(),
            listed: PartTally::default(),
            written: has_field_map.then(PartTally::default),
            unmatched: renamed.chain(kept).chain(dropped).collect(),
            kept_excluded: 0,
            chosen: 0,
        })
    }

    /// Returns the sample as it will be written, with its parts sorted by name; `None` if it is omitted.
    pub(super) fn choose(&mut self, mut listed: ListedSample) -> Outcome<Option<ListedSample>> {
        let choice = &self.plan.choice;
        let sample = &mut listed.sample;
        remove_matched(&mut self.unmatched, &sample.parts, |flag| flag == RENAME_PART);
        for part in &mut sample.parts {
            if let Some((_, new)) = choice.rename_parts.iter().find(|(old, _)| old.as_bytes() == part.name) {
                part.name = new.clone().into_bytes();
            }
        }
        remove_matched(&mut self.unmatched, &sample.parts, |flag| flag != RENAME_PART);
        self.listed.add(names_of(&sample.parts));
        let is_in = |names: &[String], part: &Part| names.iter().any(|name| name.as_bytes() == part.name);
        let is_kept = |part: &Part| choice.keep_parts.is_empty() || is_in(&choice.keep_parts, part);
        sample.parts.retain(|part| is_kept(part) && !is_in(&choice.drop_parts, part));
        sample.parts.sort_by(|a, b| a.name.cmp(&b.name));
        if let Some(pair) = sample.parts.windows(2).find(|pair| pair[0].name == pair[1].name) {
            let why = format!("two parts get the name '{}'", display_safe_bytes(&pair[0].name));
            let failure = Failure::data(ACTIVITY, why).on(subject_of(sample)).of_kind(ProblemKind::RepeatedPart);
            return Err(failure.with_hint("--drop-parts leaves parts out, --rename-part gives another name"));
        }
        if sample.parts.is_empty() {
            self.left_out.without_parts += 1;
            return Ok(None);
        }
        let has = |name: &String| sample.parts.iter().any(|part| part.name == name.as_bytes());
        if !choice.require.iter().all(has) {
            self.left_out.without_required += 1;
            return Ok(None);
        }
        let is_kept = self.keep_keys.as_mut().is_none_or(|list| list.has(sample));
        let is_dropped = self.drop_keys.as_mut().is_some_and(|list| list.has(sample));
        if !is_kept || is_dropped {
            self.left_out.by_keys += 1;
            return Ok(None);
        }
        self.report_case(&listed)?;
        if self.is_numbered {
            listed.sample.key = format!("{:09}", self.chosen).into_bytes();
        }
        if !self.has_readable_names(&listed)? {
            return Ok(None);
        }
        if let Some(tally) = &mut self.written {
            tally.add(names_of(&listed.sample.parts));
        }
        self.chosen += 1;
        self.kept_excluded += u64::from(std::mem::take(&mut listed.sample.is_excluded));
        Ok(Some(listed))
    }

    /// Whether readers accept all names of a sample. Reports a sample that they would skip.
    fn has_readable_names(&self, listed: &ListedSample) -> Outcome<bool> {
        let sample = &listed.sample;
        if !sample.key.starts_with(b"__") {
            return Ok(true);
        }
        let mut name = Vec::new();
        let is_skipped = |part: &&Part| {
            entry_name(&mut name, &sample.key, &part.name);
            is_reserved(&name)
        };
        let Some(part) = sample.parts.iter().find(is_skipped) else { return Ok(true) };
        let part = display_safe_bytes(&part.name);
        let why =
            format!("readers skip names whose first component is __…__, as that of its part '{part}'; it is left out");
        let problem = Problem::problem(ProblemKind::ReservedName, subject_of(sample), why);
        self.problems.report(problem.with_hint("choose other keys or names of parts")).map(|()| false)
    }

    /// Reports parts whose names differ only in case.
    fn report_case(&self, listed: &ListedSample) -> Outcome<()> {
        let parts = &listed.sample.parts;
        if parts.len() < 2 || !parts.iter().any(|part| part.name.iter().any(u8::is_ascii_uppercase)) {
            return Ok(());
        }
        let mut seen = HashSet::new();
        let repeated = parts.iter().find(|part| !seen.insert(String::from_utf8_lossy(&part.name).to_lowercase()));
        let Some(part) = repeated else { return Ok(()) };
        let name = display_safe_bytes(&part.name);
        let why =
            format!("two parts differ in upper and lower case only, such as '{name}': webdataset refuses the sample");
        self.problems.report(Problem::problem(ProblemKind::RepeatedPart, subject_of(&listed.sample), why))
    }

    /// Reports keys of lists that match no sample.
    ///
    /// # Errors
    /// A flag names a part that no sample has.
    pub(super) fn finish(&self) -> Outcome<()> {
        if let Some((flag, name)) = self.unmatched.first() {
            let names: Vec<String> = self.listed.shares().into_iter().map(|share| share.name).collect();
            let known = names.iter().map(String::as_str);
            let shown: Vec<_> = known.clone().take(MAX_NAMES).map(|name| format!("'{}'", display_safe(name))).collect();
            let there = format!("{}{}", shown.join(", "), if names.len() > MAX_NAMES { " …" } else { "" });
            let hint = match nearest(name, known) {
                Some(near) => format!("did you mean '{}'? The parts are {there}", display_safe(near)),
                None => format!("the parts are {there}"),
            };
            let failure = Failure::usage(ACTIVITY, format!("no sample has the part '{}'", display_safe(name)));
            return Err(failure.on(Subject::field(*flag)).of_kind(ProblemKind::MatchesNothing).with_hint(hint));
        }
        [&self.keep_keys, &self.drop_keys]
            .into_iter()
            .flatten()
            .try_for_each(|list| list.report_unmatched(self.problems))
    }
}
