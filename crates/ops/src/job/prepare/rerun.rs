//! Reruns on a prepared data set: whether there is anything to do, and which results and settings of the previous run are kept.

use super::collect::Selection;
use super::excludes::{whole_shards, LATER_IS_EXCLUDED};
use super::Context;
use crate::engine::outputs::exclude_item;
use crate::engine::plan::{file as plan_file, unreadable_splits};
use crate::engine::recorded::{Recorded, MAX_REPORT_BYTES};
use crate::engine::select::select;
use crate::job::record::{findings_before, Findings};
use gristmill_core::handles::problems_of_lines;
use gristmill_core::shard::index_name;
use gristmill_core::{
    utc, DatasetFacts, Duplicates, Failure, Outcome, PreparePlan, PreparedFacts, Problem, ProblemKind, ProblemSink,
    Rerun, SampleMapping, Scope, Shard, SplitPlan,
};
use gristmill_data::formats::energon::{layout, tar_idx::WORD_BYTES};
use gristmill_pycompat::braces;
use gristmill_storage::files;
use gristmill_storage::listing::Listing;
use gristmill_storage::read::read_whole;
use gristmill_storage::run_folder::RunFolder;
use std::collections::{BTreeSet, HashSet};
use std::path::Path;
use std::time::SystemTime;

/// Returns the shards of the plan, and which of them need not be read again.
pub(super) fn selection(context: &Context, facts: &DatasetFacts) -> Outcome<Selection> {
    let selected = select(&context.plan, facts)?;
    for problem in selected.left_out {
        context.shared.problems.report(problem)?;
    }
    let chosen = selected.positions.iter().filter_map(|&p| facts.shards.get(p)).map(|s| s.name.as_str()).collect();
    let (unchanged, added, judged) = take_over(&context.plan, facts, &chosen)?;
    Ok(Selection { positions: selected.positions, unchanged, added, redecided: judged, is_renamed: false })
}

type Names = HashSet<String>;

/// Returns the results of the previous run that a run with these shards uses: the names of the shards that need not be read again, the
/// excludes that the previous run added itself, and those of these excludes that are decided again, because their shards are read again or
/// missing.
pub(super) fn take_over(
    plan: &PreparePlan,
    facts: &DatasetFacts,
    chosen: &HashSet<&str>,
) -> Outcome<(Names, Names, Names)> {
    let (mut unchanged, mut added, mut judged) = (HashSet::new(), HashSet::new(), HashSet::new());
    let Some(prepared) = facts.prepared.as_ref().filter(|_| plan.rerun != Rerun::Refuse) else {
        return Ok((unchanged, added, judged));
    };
    let found = all_findings_before(&RunFolder::for_webdataset(&facts.root))?.problems;
    if plan.rerun == Rerun::Update && files::is_file(facts.root.join(layout::NV_META).join(layout::INDEX_SQLITE)) {
        let fresh: HashSet<&str> =
            prepared.new_shards.iter().chain(&prepared.changed_shards).map(String::as_str).collect();
        let torn = without_index(facts, prepared)?;
        // The later samples of duplicate keys have no rows; they need rows if their first samples no longer exist.
        let may_be_first = !prepared.changed_shards.is_empty()
            || prepared.shard_counts.iter().any(|(name, _)| !chosen.contains(name.as_str()));
        let doubled: HashSet<&str> = match plan.duplicates == Duplicates::KeepFirst && may_be_first {
            true => found.iter().filter(|p| p.kind == ProblemKind::DuplicateKey).filter_map(in_shard).collect(),
            false => HashSet::new(),
        };
        let stays = |name: &&&str| !fresh.contains(*name) && !torn.contains(*name) && !doubled.contains(*name);
        unchanged = chosen.iter().filter(stays).map(|name| (*name).to_owned()).collect();
    }
    // An exclude by the user is kept, even if a run would also have added it.
    let of_plan = prepared.plan.as_ref().map_or(&[][..], |plan| &plan.excludes);
    let of_user: HashSet<&String> = of_plan.iter().chain(&prepared.user_excludes).collect();
    let there: HashSet<&str> = facts.shards.iter().map(|shard| shard.name.as_str()).collect();
    let folders: BTreeSet<&str> =
        prepared.excludes.iter().map(String::as_str).filter(|item| item.ends_with('/')).collect();
    for problem in &found {
        let is_ours = match problem.kind {
            ProblemKind::SampleExcluded | ProblemKind::AppleDouble => true,
            ProblemKind::DuplicateKey => problem.message.ends_with(LATER_IS_EXCLUDED),
            _ => false,
        };
        let Some(shard) = in_shard(problem).filter(|_| is_ours) else { continue };
        // A shard that the plan omits may be used again later, so its excludes are kept.
        let is_again = !unchanged.contains(shard) && (chosen.contains(shard) || !there.contains(shard));
        let mut items: Vec<String> = match problem.kind {
            ProblemKind::AppleDouble => apple_double_excludes(shard, &folders),
            _ => vec![exclude_item(shard, problem.subject.key.as_deref())],
        };
        items.retain(|item| !of_user.contains(item));
        judged.extend(items.iter().filter(|_| is_again).cloned());
        added.extend(items);
    }
    Ok((unchanged, added, judged))
}

/// Returns the excludes that a run added for AppleDouble files of a shard, which are among those that end with the slash of a folder.
fn apple_double_excludes(shard: &str, folders: &BTreeSet<&str>) -> Vec<String> {
    let prefix = format!("{}/", exclude_item(shard, None));
    let items = folders.range::<&str, _>(prefix.as_str()..);
    items.take_while(|item| item.starts_with(&prefix)).map(|item| (*item).to_owned()).collect()
}

fn in_shard(problem: &Problem) -> Option<&str> {
    problem.subject.shard.as_deref()
}

/// Returns the plan to execute if files of the previous run are missing. The same plan on unchanged shards becomes an update, which
/// restores missing files and keeps splits, excludes and `dataset.yaml`, because a user may have changed them.
pub(super) fn repair_plan(asked: &PreparePlan, facts: &DatasetFacts) -> PreparePlan {
    let mut plan = asked.clone();
    let Some(prepared) = &facts.prepared else { return plan };
    let Some(old) = prepared.plan.as_deref() else { return plan };
    let meta = facts.root.join(layout::NV_META);
    let has_changes = [&prepared.new_shards, &prepared.changed_shards, &prepared.missing_shards]
        .iter()
        .any(|names| !names.is_empty());
    let is_same = asked.rerun == Rerun::Refuse && plan_file::hash(old) == plan_file::hash(asked) && !has_changes;
    if is_same && asked.scope != Scope::TarIndexOnly && files::is_file(meta.join(layout::SPLIT_YAML)) {
        if is_whole(asked, facts, prepared) {
            return plan;
        }
        plan.rerun = Rerun::Update;
        (plan.splits, plan.loading) = (SplitPlan::Unset, SampleMapping::Unset);
        plan.excludes.clear();
    }
    // An update does not change an existing `dataset.yaml`, but restores a missing one.
    if plan.rerun == Rerun::Update && plan.loading == SampleMapping::Unset && lacks_dataset_yaml(facts, old) {
        plan.loading = old.loading.clone();
        plan.dataset_yaml_name.clone_from(&old.dataset_yaml_name);
    }
    plan
}

/// Whether `dataset.yaml`, which describes how samples are loaded, is missing.
fn lacks_dataset_yaml(facts: &DatasetFacts, old: &PreparePlan) -> bool {
    let is_made = !matches!(old.loading, SampleMapping::Unset | SampleMapping::NoDatasetYaml);
    is_made && !files::is_file(facts.root.join(layout::NV_META).join(&old.dataset_yaml_name))
}

/// Whether the same plan has already run on the same inputs, or an update would not find changes.
pub(super) fn nothing_to_do(
    context: &Context,
    own: &RunFolder,
    facts: &DatasetFacts,
    selection: &Selection,
) -> Outcome<bool> {
    let Some(prepared) = &facts.prepared else { return Ok(false) };
    match context.plan.rerun {
        Rerun::Overwrite => Ok(false),
        Rerun::Update => {
            Ok(update_finds_nothing((&context.plan, &context.recorded_plan), facts, prepared, &selection.positions))
        }
        Rerun::Refuse => {
            let Some(recorded) = Recorded::read(own)? else { return Ok(false) };
            let shards: Vec<Shard> = {
                let state = context.shared.lock();
                selection.positions.iter().filter_map(|&p| state.shards.get(p).cloned()).collect()
            };
            let is_same = recorded.plan_hash == plan_file::hash(&context.recorded_plan)
                && recorded.matches(&shards, &prepared.changed_shards);
            let splits = facts.root.join(layout::NV_META).join(layout::SPLIT_YAML);
            let has_splits = context.plan.scope == Scope::TarIndexOnly || files::is_file(splits);
            Ok(is_same && has_splits && is_whole(&context.plan, facts, prepared))
        }
    }
}

/// Whether an update of the shards at these positions would not change the data set, according to its plan and the record that it would
/// write.
pub(super) fn update_finds_nothing(
    plans: (&PreparePlan, &PreparePlan),
    facts: &DatasetFacts,
    prepared: &PreparedFacts,
    positions: &[usize],
) -> bool {
    // New shards that the plan omits are not considered.
    let has_fresh = positions
        .iter()
        .filter_map(|&p| facts.shards.get(p))
        .any(|shard| prepared.new_shards.contains(&shard.name) || prepared.changed_shards.contains(&shard.name));
    let is_same_list = positions.len() == prepared.shard_counts.len();
    let is_the_same = !has_fresh && is_same_list && prepared.missing_shards.is_empty();
    is_the_same && !has_new_answers(plans, prepared) && is_whole(plans.0, facts, prepared)
}

/// Whether all files of the previous run exist and are complete. A file may have been removed or truncated since.
fn is_whole(plan: &PreparePlan, facts: &DatasetFacts, prepared: &PreparedFacts) -> bool {
    let in_meta = |name: &str| files::is_file(facts.root.join(layout::NV_META).join(name));
    let has_tables = plan.scope == Scope::WithoutSampleTables || in_meta(layout::INDEX_SQLITE);
    // A data set that was prepared by another program may lack files that this program writes.
    let has_texts = prepared.plan.as_deref().is_none_or(|old| {
        let has_uuid = old.scope == Scope::WithoutSampleTables || in_meta(layout::INDEX_UUID);
        has_uuid && !lacks_dataset_yaml(facts, old)
    });
    let has_splits = plan.scope == Scope::TarIndexOnly || in_meta(layout::SPLIT_YAML) || in_meta(layout::SPLIT_JSON);
    has_tables && has_texts && has_splits && without_index(facts, prepared).is_ok_and(|names| names.is_empty())
}

/// Returns prepared shards whose `.tar.idx` is missing or has the wrong length, which is one number for each sample plus one for the end.
fn without_index<'p>(facts: &DatasetFacts, prepared: &'p PreparedFacts) -> Outcome<HashSet<&'p str>> {
    let listing = Listing::of(&facts.root).map_err(|error| Failure::io("looking for indexes", &facts.root, &error))?;
    let lacks = |(name, samples): &&(String, u64)| {
        let index = listing.info(&facts.root.join(index_name(name))).ok().flatten();
        // A shard without samples need not have an index.
        *samples > 0 && index.is_none_or(|file| file.len() != WORD_BYTES as u64 * (samples + 1))
    };
    Ok(prepared.shard_counts.iter().filter(lacks).map(|(name, _)| name.as_str()).collect())
}

/// Whether an update has settings that the data set does not have yet.
fn has_new_answers((plan, recorded): (&PreparePlan, &PreparePlan), prepared: &PreparedFacts) -> bool {
    let known: HashSet<&String> = prepared.excludes.iter().collect();
    let excludes_more = plan.excludes.iter().any(|item| !known.contains(item));
    let differs = match prepared.plan.as_deref() {
        Some(old) => plan_file::hash(recorded) != plan_file::hash(old),
        None => plan.splits != SplitPlan::Unset || !plan.exclude_shards.is_empty(),
    };
    excludes_more || differs || plan.loading != SampleMapping::Unset
}

/// Returns the findings of the previous run on these shards and, if there is nothing to do, the excludes that matched nothing. Omits
/// findings that the data set itself shows, and outdated findings: on shards that have since been excluded, and on sample excludes that
/// have since been removed.
pub(super) fn earlier_findings(
    own: &RunFolder,
    facts: &DatasetFacts,
    shards: &HashSet<&str>,
    is_done: bool,
) -> Outcome<Findings> {
    let excludes = facts.prepared.as_ref().map(|prepared| prepared.excludes.as_slice()).unwrap_or_default();
    let excluded = whole_shards(excludes, &facts.shards);
    // A user may have combined several items with braces.
    let single: HashSet<String> =
        excludes.iter().flat_map(|item| braces::expand(item, braces::MAX_RESULTS).unwrap_or_default()).collect();
    let listed: HashSet<&String> = excludes.iter().collect();
    let holds = |found: &Problem| {
        if found.kind == ProblemKind::MatchesNothing {
            return is_done && found.subject.field.as_ref().is_some_and(|item| listed.contains(item));
        }
        // A later run for media metadata does not update this report.
        if found.kind == ProblemKind::StaleMedia {
            return false;
        }
        let shard = found.subject.shard.as_deref().filter(|shard| shards.contains(shard) && !excluded.contains(*shard));
        let Some(shard) = shard else { return false };
        let sample = found.subject.key.as_ref().map(|key| format!("{shard}/{key}"));
        found.kind != ProblemKind::SampleExcluded || sample.is_none_or(|sample| single.contains(&sample))
    };
    let mut found = all_findings_before(own)?;
    found.retain(holds);
    Ok(found)
}

/// Returns all findings of the finished run, including problems that its report does not list.
fn all_findings_before(own: &RunFolder) -> Outcome<Findings> {
    let mut found = findings_before(own, MAX_REPORT_BYTES)?;
    if let Some(lines) = read_whole(&own.unlisted_problems(), MAX_REPORT_BYTES)? {
        let unlisted = problems_of_lines(&lines);
        found.problems.extend(unlisted.filter(|problem| problem.severity >= gristmill_core::Severity::Problem));
    }
    Ok(found)
}

/// Refuses an update of a data set whose `split.yaml` cannot be read, as the splits and excludes of the user would be lost.
pub(super) fn check_splits_readable(plan: &PreparePlan, facts: &DatasetFacts) -> Outcome<()> {
    let broken = unreadable_splits(facts).filter(|_| plan.rerun == Rerun::Update);
    broken.map_or(Ok(()), |problem| Err(problem.into_failure()))
}

/// Returns the name of the backup of a replaced file: `split.yaml.bak-20261120T120501Z`.
pub(super) fn backup_name(name: &str, now: SystemTime) -> String {
    format!("{name}.bak-{}", utc::stamp(now))
}

/// Returns the name of the backup, or a similar name if a backup of the same second exists.
pub(super) fn free_backup_name(root: &Path, name: &str, now: SystemTime) -> Outcome<String> {
    let name = backup_name(name, now);
    let more = (2..1_000).map(|number| format!("{name}-{number}"));
    for name in std::iter::once(name.clone()).chain(more) {
        let path = root.join(layout::NV_META).join(&name);
        if !files::try_exists(&path).map_err(|error| Failure::io("looking for earlier backups", &path, &error))? {
            return Ok(name);
        }
    }
    Ok(name)
}

/// Returns the changes compared to an earlier preparation, one line each. `chosen` contains the names of the shards of the plan.
pub(super) fn differences(
    plan: &PreparePlan,
    facts: &DatasetFacts,
    chosen: &HashSet<&str>,
    judged: &HashSet<String>,
) -> Vec<String> {
    use gristmill_core::text::count;
    let Some(prepared) = &facts.prepared else { return Vec::new() };
    let mut lines = Vec::new();
    let mut add = |names: &[String], what: &str| {
        if let Some(first) = names.first() {
            let more = if names.len() > 1 { format!(" and {} more", names.len() - 1) } else { String::new() };
            lines.push(format!("{} {what}: {first}{more}", count(names.len() as u64, "shard")));
        }
    };
    // A shard that the plan omits is not added to a split.
    let taken = |names: &[String]| -> Vec<String> {
        names.iter().filter(|name| chosen.contains(name.as_str())).cloned().collect()
    };
    add(&taken(&prepared.new_shards), "new");
    add(&taken(&prepared.changed_shards), "changed since indexed");
    add(&prepared.missing_shards, "gone from the disk");
    let anew = prepared.excludes.iter().filter(|item| judged.contains(*item)).count() as u64;
    if anew > 0 {
        lines.push(format!("{} of damaged or doubled samples decided again", count(anew, "exclude item")));
    }
    let excludes = prepared.excludes.len() as u64 - anew;
    if excludes > 0 {
        let outcome = if plan.rerun == Rerun::Overwrite && plan.reset_excludes { "dropped" } else { "kept" };
        lines.push(format!("{} {outcome}", count(excludes, "exclude item")));
    }
    if matches!(plan.rerun, Rerun::Overwrite | Rerun::Update) {
        lines.push("the old split.yaml is kept next to the new one".into());
    }
    lines
}

/// Whether the existing database is removed because this plan has no tables. A database with media tables is replaced by a database with
/// only these.
pub(super) fn drops_database(plan: &PreparePlan) -> bool {
    plan.scope == gristmill_core::Scope::WithoutSampleTables
}

/// Fails with a refusal, and lists it with the other findings.
pub(super) fn refuse(context: &Context, problems: Vec<Problem>) -> Outcome<()> {
    let mut first = None;
    for problem in problems {
        match problem.severity == gristmill_core::Severity::Refusal && first.is_none() {
            true => first = Some(problem),
            false => context.shared.problems.report(problem)?,
        }
    }
    first.map_or(Ok(()), |problem| Err(problem.into_failure()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn excludes_for_apple_doubles_of_a_shard_are_found_by_its_name() {
        let folders = BTreeSet::from(["a.tar/", "a.tar/._x/", "a.tar/d/", "a.tar2/d/", "b.tar/d/"]);
        assert_eq!(apple_double_excludes("a.tar", &folders), ["a.tar/", "a.tar/._x/", "a.tar/d/"]);
        assert!(apple_double_excludes("c.tar", &folders).is_empty());
    }

    #[test]
    fn backups_carry_the_time_in_utc() {
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_709_210_096);
        assert_eq!(backup_name("split.yaml", time), "split.yaml.bak-20240229T123456Z");
    }
}
