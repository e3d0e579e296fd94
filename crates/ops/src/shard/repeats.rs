//! Finds keys that occur more than once with an external sort, and applies the plan's rule for repeated keys.

use super::list::{Listing, LINE};
use super::record::{subject_of, ListedSample, RecordReader, RecordSorter, SpoolContext};
use gristmill_core::shard_plan::RepeatedKeys;
use gristmill_core::text::{count_verb, display_safe_bytes, grouped};
use gristmill_core::{Failure, Outcome, Problem, ProblemKind, ProblemSink, ShardPlan, Subject};
use gristmill_data::source::tar::is_reserved;
use std::collections::HashMap;
use std::path::PathBuf;

const ACTIVITY: &str = "comparing the keys";
/// Maximum number of repeated keys that are reported with their places.
const MAX_LISTED: u64 = 1_000;
/// Maximum number of first samples whose part names are remembered, in about 32 MB. Every later sample of other keys is reported as a
/// problem.
const MAX_FIRST_SAMPLES: usize = 1 << 20;

/// Receives samples in their order.
pub(super) type TakeSample<'t> = &'t mut dyn FnMut(ListedSample) -> Outcome<()>;

/// Passes all samples in order to `take` after applying the rule for repeated keys.
pub(super) fn apply_key_rule<'a>(
    (plan, is_numbered): (&ShardPlan, bool),
    mut listing: Listing<'a>,
    context: SpoolContext<'a>,
    problems: &dyn ProblemSink,
    take: TakeSample<'_>,
) -> Outcome<()> {
    let keys = std::mem::replace(&mut listing.keys, RecordSorter::new(context, "none"));
    let rule = plan.choice.repeated_keys;
    let mut samples = Samples { reader: listing.records.open()?, next: 0 };
    // If keys are replaced by numbers, repeated keys are harmless unless their parts must be merged.
    if is_numbered && rule != RepeatedKeys::Merge {
        return samples.pass_rest(take);
    }
    let mut found = Repeats::new(context);
    found.search(keys, &listing, plan, problems)?;
    if found.keys == 0 {
        return samples.pass_rest(take);
    }
    match rule {
        RepeatedKeys::Fail => Err(found.refusal(plan)),
        RepeatedKeys::Prefix => found.prefix(plan, &mut samples, context, take),
        RepeatedKeys::KeepFirst => keep_first(found.members, &mut samples, problems, take),
        RepeatedKeys::Merge => merge(found.members, &mut samples, context, take),
    }
}

/// Reads the samples of the spool, and counts them.
struct Samples {
    reader: RecordReader,
    next: u64,
}

impl Samples {
    fn next_sample(&mut self) -> Outcome<Option<ListedSample>> {
        self.next += 1;
        self.reader.next_sample()
    }

    fn pass_until(&mut self, number: u64, take: TakeSample<'_>) -> Outcome<()> {
        while self.next < number {
            let Some(sample) = self.next_sample()? else { return Ok(()) };
            take(sample)?;
        }
        Ok(())
    }

    fn pass_rest(&mut self, take: TakeSample<'_>) -> Outcome<()> {
        self.pass_until(u64::MAX, take)
    }
}

struct Repeats<'a> {
    /// Samples whose key is repeated, by their numbers, with the number of the first of the key; with `prefix`, of the key in their shard.
    members: RecordSorter<'a, 1>,
    /// Number of repeated keys.
    keys: u64,
    /// Number of samples after the first of their key.
    later: u64,
    /// Whether a key occurs in two inputs.
    is_in_two_inputs: bool,
    /// Whether all repeated keys are those of rows.
    are_rows: bool,
    /// A key that occurs twice in one shard, if any.
    in_one_shard: Option<String>,
    /// The first key that is repeated.
    example: Option<String>,
}

impl<'a> Repeats<'a> {
    fn new(context: SpoolContext<'a>) -> Self {
        Self {
            members: RecordSorter::new(context, "repeats"),
            keys: 0,
            later: 0,
            is_in_two_inputs: false,
            are_rows: true,
            in_one_shard: None,
            example: None,
        }
    }

    fn search(
        &mut self,
        keys: RecordSorter<'_, 1>,
        listing: &Listing<'_>,
        plan: &ShardPlan,
        problems: &dyn ProblemSink,
    ) -> Outcome<()> {
        let is_listed = plan.choice.repeated_keys == RepeatedKeys::Fail;
        let is_by_shard = plan.choice.repeated_keys == RepeatedKeys::Prefix;
        let mut before: (Vec<u8>, u64, u64) = (Vec::new(), u64::MAX, u64::MAX);
        let mut first_of_group = u64::MAX;
        keys.for_each(&mut |key, [number]| {
            if before.1 == u64::MAX || before.0 != key {
                before.0.clear();
                before.0.extend_from_slice(key);
                (before.1, before.2, first_of_group) = (number, number, number);
                return Ok(());
            }
            let (first, last) = (before.1, std::mem::replace(&mut before.2, number));
            if first == last {
                self.keys += 1;
                self.members.push(&first.to_be_bytes(), [first])?;
            }
            self.later += 1;
            let text = || String::from_utf8_lossy(key).into_owned();
            self.example.get_or_insert_with(text);
            let (one, other) = (listing.range_of(last), listing.range_of(number));
            let (one, other) = (one.map(|at| (at.input, &at.shard)), other.map(|at| (at.input, &at.shard)));
            self.is_in_two_inputs |= one.map(|at| at.0) != other.map(|at| at.0);
            self.are_rows &= listing.row_of(last).is_some() && listing.row_of(number).is_some();
            if one == other {
                self.in_one_shard.get_or_insert_with(text);
            } else if is_by_shard {
                first_of_group = number;
            }
            self.members.push(&number.to_be_bytes(), [first_of_group])?;
            if is_listed && self.later <= MAX_LISTED {
                let row = listing.row_of(number).filter(|row| row.item != LINE);
                let which = row.map(|row| format!(" of {} {}", row.item, grouped(row.number))).unwrap_or_default();
                let is_row = listing.row_of(number).is_some();
                let why = match listing.range_of(first).map(|at| (at.input, &at.shard)) == other && !is_row {
                    true => "the key is at two places of this shard".to_owned(),
                    false => format!("the key{which} is also in {}", listing.place_of(first, &plan.inputs)),
                };
                let subject = listing.subject_of(number, &plan.inputs).key(text());
                problems.report(Problem::problem(ProblemKind::DuplicateKey, subject, why))?;
            }
            Ok(())
        })
    }

    fn refusal(&self, plan: &ShardPlan) -> Failure {
        let example = self.example.clone().unwrap_or_default();
        let why = format!("{} more than once; nothing is written", count_verb(self.keys, "key", "occurs", "occur"));
        let hint = match (self.in_one_shard.is_some(), plan.inputs.len()) {
            _ if self.are_rows => "--key number numbers the rows; --duplicates keep-first leaves later rows out",
            (true, 1) => {
                "--duplicates merge brings the parts of each key together; keep-first leaves later samples out"
            }
            (false, 1) => "--duplicates prefix puts the name of the shard before each key; keep-first leaves later samples out",
            _ => {
                "--duplicates merge brings the parts of all inputs together; prefix puts names of input and shard before \
                 each key; keep-first leaves later samples out"
            }
        };
        Failure::data(ACTIVITY, why)
            .on(Subject::default().key(example))
            .of_kind(ProblemKind::DuplicateKey)
            .with_hint(hint)
    }

    /// Puts the name of the shard before every key, and that of the input if two inputs share keys. Parts of a key within one shard are
    /// brought together.
    fn prefix(
        self,
        plan: &ShardPlan,
        samples: &mut Samples,
        context: SpoolContext<'_>,
        take: TakeSample<'_>,
    ) -> Outcome<()> {
        let names = if self.is_in_two_inputs { input_names(&plan.inputs) } else { Vec::new() };
        let mut pass = |mut listed: ListedSample| {
            let mut key = Vec::new();
            let input = names.get(listed.input as usize).map(String::as_str).unwrap_or_default();
            for prefix in [input, &listed.sample.shard].into_iter().filter(|prefix| !prefix.is_empty()) {
                key.extend_from_slice(prefix.as_bytes());
                key.push(b'/');
            }
            if is_reserved(&key) {
                let why = "readers skip names whose first folder is __…__, and it would be the first one of every key";
                let failure =
                    Failure::data(ACTIVITY, why).on(subject_of(&listed.sample)).of_kind(ProblemKind::ReservedName);
                return Err(failure.with_hint("rename the folder, or name the shards one by one"));
            }
            key.append(&mut listed.sample.key);
            listed.sample.key = key;
            take(listed)
        };
        match self.in_one_shard {
            Some(_) => merge(self.members, samples, context, &mut pass),
            None => samples.pass_rest(&mut pass),
        }
    }
}

/// Returns a name for each input: its last path component, with a number if an earlier input has the same name.
fn input_names(inputs: &[PathBuf]) -> Vec<String> {
    let name = |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let own: Vec<String> = inputs.iter().map(name).collect();
    let mut names: Vec<String> = Vec::with_capacity(own.len());
    for name in &own {
        let is_free =
            |candidate: &String| !names.contains(candidate) && (candidate == name || !own.contains(candidate));
        let numbered = (2_u32..).map(|number| format!("{name}-{number}"));
        let free = std::iter::once(name.clone()).chain(numbered).find(is_free);
        names.push(free.unwrap_or_default());
    }
    names
}

/// Omits all samples of a key but the first. Reports a problem if one of them has parts that the first one lacks, because separated parts
/// of a sample become several samples with the same key.
fn keep_first(
    members: RecordSorter<'_, 1>,
    samples: &mut Samples,
    problems: &dyn ProblemSink,
    take: TakeSample<'_>,
) -> Outcome<()> {
    let mut first_parts = FirstParts::default();
    members.for_each(&mut |number, [first]| {
        let number = number_of(number);
        samples.pass_until(number, take)?;
        let Some(listed) = samples.next_sample()? else { return Ok(()) };
        if number == first {
            first_parts.insert(number, &listed);
            return take(listed);
        }
        let subject = subject_of(&listed.sample);
        problems.report(match first_parts.lacking(first, &listed) {
            None => Problem::note(ProblemKind::DuplicateKey, subject, "a later sample of this key, left out"),
            Some(part) => {
                let why =
                    format!("a later sample of this key, left out with its part '{part}', which the first one lacks");
                let problem = Problem::problem(ProblemKind::DuplicateKey, subject, why);
                problem.with_hint("--duplicates merge brings the parts of a key together, if none is repeated")
            }
        })
    })?;
    samples.pass_rest(take)
}

/// Part names of first samples. Equal lists of names are stored once.
#[derive(Default)]
struct FirstParts {
    sets: HashMap<Vec<Vec<u8>>, u32>,
    names: Vec<Vec<Vec<u8>>>,
    of_sample: HashMap<u64, u32>,
}

impl FirstParts {
    fn insert(&mut self, number: u64, listed: &ListedSample) {
        if self.of_sample.len() >= MAX_FIRST_SAMPLES {
            return;
        }
        let names: Vec<Vec<u8>> = listed.sample.parts.iter().map(|part| part.name.clone()).collect();
        let set = *self.sets.entry(names).or_insert_with_key(|names| {
            self.names.push(names.clone());
            u32::try_from(self.names.len() - 1).unwrap_or(u32::MAX)
        });
        self.of_sample.insert(number, set);
    }

    /// Returns a part of a later sample that the first sample lacks. If the first sample is not remembered, every part counts as lacking.
    fn lacking(&self, first: u64, later: &ListedSample) -> Option<String> {
        let known = self.of_sample.get(&first).and_then(|set| self.names.get(*set as usize));
        let is_lacking = |name: &Vec<u8>| known.is_none_or(|known| !known.contains(name));
        let mut names = later.sample.parts.iter().map(|part| &part.name);
        names.find(|name| is_lacking(name)).map(|name| display_safe_bytes(name))
    }
}

/// Merges the parts of each key into its first sample.
fn merge(
    members: RecordSorter<'_, 1>,
    samples: &mut Samples,
    context: SpoolContext<'_>,
    take: TakeSample<'_>,
) -> Outcome<()> {
    let mut ordered = RecordSorter::<2>::new(context, "merged");
    let mut record = Vec::new();
    let mut push = |ordered: &mut RecordSorter<'_, 2>, first: u64, number: u64, sample: &ListedSample| {
        record.clear();
        record.extend_from_slice(&first.to_be_bytes());
        record.extend_from_slice(&number.to_be_bytes());
        sample.encode(&mut record);
        ordered.push(&record, [first, number])
    };
    members.for_each(&mut |number, [first]| {
        let number = number_of(number);
        while samples.next <= number {
            let at = samples.next;
            let Some(sample) = samples.next_sample()? else { return Ok(()) };
            push(&mut ordered, if at == number { first } else { at }, at, &sample)?;
        }
        Ok(())
    })?;
    while let (at, Some(sample)) = (samples.next, samples.next_sample()?) {
        push(&mut ordered, at, at, &sample)?;
    }
    let mut open: Option<(u64, ListedSample)> = None;
    ordered.for_each(&mut |record, [first, _]| {
        let next = ListedSample::decode(record.get(16..).unwrap_or_default())?;
        match &mut open {
            Some((number, sample)) if *number == first => add_parts(sample, next),
            _ => open.replace((first, next)).map_or(Ok(()), |(_, sample)| take(sample)),
        }
    })?;
    open.map_or(Ok(()), |(_, sample)| take(sample))
}

fn add_parts(to: &mut ListedSample, from: ListedSample) -> Outcome<()> {
    let shard = from.sample.shard;
    for part in from.sample.parts {
        if to.sample.parts.iter().any(|known| known.name == part.name) {
            let name = display_safe_bytes(&part.name);
            let why = format!("several samples of the key have a part '{name}', so they cannot become one");
            let failure = Failure::data(ACTIVITY, why).on(subject_of(&to.sample)).of_kind(ProblemKind::RepeatedPart);
            let hint = match (to.input, &to.sample.shard) == (from.input, &shard) {
                true => "--duplicates keep-first keeps the first sample of each key, and only its parts",
                false => {
                    "--duplicates prefix puts the name of the shard before each key, and brings parts within one shard together; \
                     keep-first keeps the first sample of each key, and only its parts"
                }
            };
            return Err(failure.with_hint(hint));
        }
        to.sample.parts.push(part);
    }
    Ok(())
}

fn number_of(text: &[u8]) -> u64 {
    text.try_into().map_or(0, u64::from_be_bytes)
}
