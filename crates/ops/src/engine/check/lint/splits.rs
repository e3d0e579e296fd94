//! Checks `split.yaml` and the field map against the index.

use crate::engine::check::{bad_file, PreparedDataset};
use crate::engine::plan::nearest;
use gristmill_core::field_map::FieldExpression;
use gristmill_core::text::{agree, count, count_verb};
use gristmill_core::{Outcome, Problem, ProblemKind, ProblemSink, Subject};
use gristmill_data::formats::energon::dataset_yaml::{DatasetYaml, SampleSource};
use gristmill_data::formats::energon::layout;
use gristmill_data::formats::energon::split_yaml::splits_without_samples;
use gristmill_storage::location::hint_for;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

/// Limit of names that are reported individually; further names are counted.
const MAX_NAMED: usize = 5;

/// The effect of the splits on the shards.
#[derive(Default)]
pub(in crate::engine::check) struct Splits {
    pub(super) excluded_keys: HashMap<String, HashSet<String>>,
    pub(super) trained: HashSet<String>,
}

pub(in crate::engine::check) fn check(prepared: &PreparedDataset, problems: &dyn ProblemSink) -> Outcome<Splits> {
    if let Some(failure) = &prepared.splits_failure {
        let problem = bad_file(failure.clone());
        let way = "correct it, or take the one before it, split.yaml.bak-…; gristmill prepare PATH \
                   --force-overwrite divides them again";
        let hint = problem.hint.clone().unwrap_or_else(|| hint_for(&prepared.root, way));
        problems.report(problem.with_hint(hint))?;
    }
    let Some(file) = &prepared.splits else {
        if prepared.splits_failure.is_none() {
            let path = layout::in_nv_meta(&prepared.root, layout::SPLIT_YAML);
            let message = "split.yaml is missing: no trainer can load this data set";
            problems.report(
                Problem::problem(ProblemKind::MissingFile, Subject::path(path), message)
                    .with_hint(hint_for(&prepared.root, "gristmill prepare PATH --force-overwrite")),
            )?;
        }
        return Ok(Splits::default());
    };
    if let Some(problem) = file.repeated_excludes(&layout::in_nv_meta(&prepared.root, layout::SPLIT_YAML)) {
        problems.report(problem)?;
    }
    let names: HashSet<&str> = prepared.info.shard_counts.iter().map(|(name, _)| name.as_str()).collect();
    let (splits, bad) = file.expanded();
    let (items, bad_excludes) = file.expanded_excludes();
    for bad in bad.iter().chain(&bad_excludes) {
        let place = bad.split.as_deref().unwrap_or("exclude");
        let message = format!("'{}' cannot be expanded: {}", bad.item, bad.error);
        problems.report(Problem::problem(ProblemKind::BadBraces, Subject::field(place), message))?;
    }
    let (excluded_shards, excluded_keys) = excludes(&items, &names, problems)?;
    let mut trained = HashSet::new();
    for (split, shards) in &splits {
        unknown(&prepared.root, (split, shards), &names, problems)?;
        let left = shards.iter().filter(|s| names.contains(s.as_str()) && !excluded_shards.contains(s.as_str()));
        let mut any = false;
        for shard in left {
            any = true;
            trained.insert(shard.clone());
        }
        if !any {
            let why = if shards.is_empty() { "it has no shard" } else { "every shard of it is excluded or unknown" };
            let message = format!("split '{split}' is empty: {why}; a trainer that uses it fails");
            problems.report(Problem::note(ProblemKind::EmptySplit, Subject::field(split), message))?;
        }
    }
    let counts = prepared.info.shard_counts.iter().map(|(name, samples)| (name.as_str(), *samples)).collect();
    splits_without_samples(&splits, &items, &counts).into_iter().try_for_each(|problem| problems.report(problem))?;
    shared(&splits, problems)?;
    Ok(Splits { excluded_keys, trained })
}

/// Reports shards that are not in the index, which prevent the loader from starting.
fn unknown(
    root: &Path,
    (split, shards): (&str, &[String]),
    names: &HashSet<&str>,
    problems: &dyn ProblemSink,
) -> Outcome<()> {
    let lost: Vec<&String> = shards.iter().filter(|s| !names.contains(s.as_str())).collect();
    for shard in lost.iter().take(MAX_NAMED) {
        let message = format!("split '{split}' names a shard that the index does not have; the loader does not start");
        let problem = Problem::problem(ProblemKind::MatchesNothing, Subject::shard(shard.as_str()), message);
        problems.report(match nearest(shard, names.iter().copied().take(10_000)) {
            Some(near) => problem.with_hint(format!("did you mean '{near}'? Correct split.yaml")),
            None => problem.with_hint(hint_for(root, "correct split.yaml, or gristmill prepare PATH --update")),
        })?;
    }
    if lost.len() > MAX_NAMED {
        let message = format!(
            "{} of this split {} not in the index",
            count((lost.len() - MAX_NAMED) as u64, "more name"),
            agree((lost.len() - MAX_NAMED) as u64, "is", "are")
        );
        problems.report(Problem::problem(ProblemKind::MatchesNothing, Subject::field(split), message))?;
    }
    Ok(())
}

type ExcludedNames<'i> = (HashSet<&'i str>, HashMap<String, HashSet<String>>);

/// Returns the excluded shards, and the excluded keys of each shard. An item that names no shard has no effect.
fn excludes<'i>(items: &'i [String], names: &HashSet<&str>, problems: &dyn ProblemSink) -> Outcome<ExcludedNames<'i>> {
    let mut shards = HashSet::new();
    let mut keys: HashMap<String, HashSet<String>> = HashMap::new();
    let mut lost = 0;
    for item in items {
        if names.contains(item.as_str()) {
            shards.insert(item.as_str());
            continue;
        }
        let split =
            item.match_indices('/').map(|(at, _)| (&item[..at], &item[at + 1..])).find(|(s, _)| names.contains(s));
        match split {
            Some((shard, key)) => {
                keys.entry(shard.to_owned()).or_default().insert(key.to_owned());
            }
            None => {
                lost += 1;
                if lost <= MAX_NAMED {
                    let message = format!("the exclude '{item}' names no shard of the index; it excludes nothing");
                    problems.report(
                        Problem::problem(ProblemKind::MatchesNothing, Subject::field("exclude"), message)
                            .with_hint("an item is SHARD or SHARD/KEY; correct it in split.yaml, or remove it"),
                    )?;
                }
            }
        }
    }
    if lost > MAX_NAMED {
        let message =
            format!("{} no shard of the index", count_verb((lost - MAX_NAMED) as u64, "more exclude", "names", "name"));
        problems.report(Problem::problem(ProblemKind::MatchesNothing, Subject::field("exclude"), message))?;
    }
    Ok((shards, keys))
}

/// Reports a shard in two splits, or twice in one.
fn shared(splits: &[(String, Vec<String>)], problems: &dyn ProblemSink) -> Outcome<()> {
    let mut first: HashMap<&str, &str> = HashMap::new();
    let mut pairs: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for (split, shards) in splits {
        for shard in shards {
            match first.get(shard.as_str()) {
                Some(&other) => pairs.entry((other, split)).or_default().push(shard),
                None => {
                    first.insert(shard, split);
                }
            }
        }
    }
    for ((a, b), shards) in pairs {
        let place = if a == b { format!("twice in split '{a}'") } else { format!("in both '{a}' and '{b}'") };
        let verb = agree(shards.len() as u64, "is", "are");
        let example = shards.first().copied().unwrap_or_default();
        let message = format!("{} {verb} {place}, e.g. {example}", count(shards.len() as u64, "shard"));
        problems.report(Problem::note(ProblemKind::ShardInTwoSplits, Subject::field(b), message))?;
    }
    Ok(())
}

/// Reports fields that the class does not have, and required fields that are missing.
pub(super) fn check_fields(yaml: &DatasetYaml, file: &str, problems: &dyn ProblemSink) -> Outcome<()> {
    let SampleSource::FieldMap(fields) = &yaml.source else { return Ok(()) };
    for field in fields {
        if !FieldExpression::fits_grammar(&field.expr) {
            let message = format!(
                "{file}: an option of '{}' is not a valid expression and is read as the name of a part",
                field.expr
            );
            problems.report(Problem::problem(ProblemKind::FieldFails, Subject::field(&field.field), message))?;
        }
    }
    let Some(class) = yaml.sample_type.built_in() else { return Ok(()) };
    for field in fields.iter().filter(|f| !class.fields.iter().any(|k| k.name == f.field) && !f.field.starts_with("__"))
    {
        let message = format!("{file}: {} has no field '{}'", class.class, field.field);
        let problem = Problem::problem(ProblemKind::UnknownField, Subject::field(&field.field), message);
        problems.report(match nearest(&field.field, class.fields.iter().map(|k| k.name)) {
            Some(near) => problem.with_hint(format!("did you mean '{near}'?")),
            None => problem,
        })?;
    }
    for needed in class.fields.iter().filter(|k| k.default.is_none() && !fields.iter().any(|f| f.field == k.name)) {
        let message = format!("{file}: {} needs its field '{}'; every sample fails without", class.class, needed.name);
        problems.report(Problem::problem(ProblemKind::MissingField, Subject::field(needed.name), message))?;
    }
    Ok(())
}
