//! Checks a plan before any work is done.

mod excludes;
mod keys;
mod loading;
mod rerun;
#[cfg(test)]
mod tests;

pub use keys::{key_refusals, keys_in_new_shards, prefix_hint, same_keys, scattered_problem, unusable_samples};
pub use rerun::{already_prepared, unreadable_splits};

use super::splits;
use gristmill_core::plan::PLAN_VERSION;
use gristmill_core::text::{self, shell_quote};
use gristmill_core::{
    DatasetFacts, MediaFilter, PartFacts, PreparePlan, PreparedFacts, Problem, ProblemKind, Rerun, SampleMapping,
    Scope, ShardState, SplitPlan, Subject, Tgz,
};
use gristmill_data::source::documents::Compression;
use std::collections::{BTreeMap, HashSet};
use std::path::Path;

/// Limit of names in one message.
const MAX_NAMES: usize = 3;

/// Returns all problems and notes on a plan for this data set, refusals first. Without refusals, the plan can run.
///
/// Facts grow during the scan of the data set; problems with facts that are still unknown are not reported.
pub fn validate(plan: &PreparePlan, facts: &DatasetFacts) -> Vec<Problem> {
    if facts.kind.is_prepared_without_questions() {
        return Vec::new();
    }
    let mut problems = plan.findings.clone();
    if plan.version > PLAN_VERSION {
        let message = format!("the plan has version {}; this program knows up to {PLAN_VERSION}", plan.version);
        problems.push(Problem::refusal(ProblemKind::Other, Subject::default(), message));
    }
    if !source(plan, facts, &mut problems) {
        return problems;
    }
    rerun::check(plan, facts, &mut problems);
    excludes::check_shard_patterns(plan, facts, &mut problems);
    if plan.scope != Scope::TarIndexOnly {
        check_splits(plan, facts, &mut problems);
        compressed(plan, facts, &mut problems);
        excludes::check_items(plan, facts, &mut problems);
        if !keeps_loading(plan, facts) {
            loading::check(plan, facts, &mut problems);
        }
        dataset_yaml_name(plan, &mut problems);
    }
    keys::check(plan, facts, &mut problems);
    let excluded = splits::excluded(&plan.exclude_shards, &facts.shards);
    let taken = || facts.shards.iter().zip(&excluded).filter(|(_, excluded)| !**excluded).map(|(shard, _)| shard);
    problems.extend(many_shards(taken().count()));
    if taken().all(|shard| matches!(shard.state, ShardState::Scanned | ShardState::Failed)) {
        problems.extend(cut_names(&facts.root, &facts.parts));
    }
    media(plan, &mut problems);
    if plan.scope == Scope::WithoutSampleTables {
        let message =
            "no index.sqlite is written: training works; access by name, use as an auxiliary data set and mounting \
                       do not, and keys that occur twice are not looked for";
        problems.push(Problem::note(ProblemKind::Other, Subject::field("--skip-sample-tables"), message));
    }
    problems.sort_by_key(|p| std::cmp::Reverse(p.severity));
    problems
}

/// Returns the refusal of media metadata without a full database to store it.
pub fn media_without_database(plan: &PreparePlan) -> Option<Problem> {
    let flag = match plan.scope {
        _ if plan.media.is_none() => return None,
        Scope::Full => return None,
        Scope::TarIndexOnly => "--tar-index-only",
        Scope::WithoutSampleTables => "--skip-sample-tables",
    };
    let message = format!(
        "media metadata cannot be made together with {flag}: it is written to the database of the sample tables"
    );
    let problem = Problem::refusal(ProblemKind::MissingAnswer, Subject::field(flag), message);
    Some(problem.with_hint("leave one of the two out; gristmill prepare-media describes media of a prepared data set"))
}

/// Checks the selection of media, and that the plan includes the database in which their metadata is stored.
fn media(plan: &PreparePlan, problems: &mut Vec<Problem>) {
    let Some(media) = &plan.media else { return };
    problems.extend(media_without_database(plan));
    let is_blank = |pattern: &String| pattern.trim().is_empty();
    if matches!(&media.filter, MediaFilter::Glob(patterns) if patterns.iter().all(is_blank)) {
        let message = "no pattern is given";
        let problem = Problem::refusal(ProblemKind::BadPattern, Subject::field("--media-metadata-by-glob"), message);
        problems.push(problem.with_hint("for example --media-metadata-by-glob '*.jpg,*.png'"));
    }
}

/// Reports shards that are indexed but cannot be in a split, because the loader cannot read them.
fn compressed(plan: &PreparePlan, facts: &DatasetFacts, problems: &mut Vec<Problem>) {
    if plan.compat || plan.tgz == Tgz::Rewrite {
        return;
    }
    let names: HashSet<&str> = facts.shards.iter().map(|shard| shard.name.as_str()).collect();
    let excluded = splits::excluded(&plan.exclude_shards, &facts.shards);
    for (shard, _) in facts.shards.iter().zip(excluded).filter(|(shard, excluded)| shard.is_tgz && !excluded) {
        let twin = shard.name.strip_suffix(".tgz").map(|stem| format!("{stem}.tar"));
        if twin.is_some_and(|twin| names.contains(twin.as_str())) {
            // The division of shards reports that two shards have the same index name.
            continue;
        }
        let message = "compressed: it is indexed, but left out of the splits, since the loader cannot read it";
        problems.push(
            Problem::problem(ProblemKind::CompressedShard, Subject::shard(&shard.name), message)
                .with_hint("--tgz rewrite makes a plain .tar next to it; --exclude leaves it out altogether"),
        );
    }
}

/// Whether an update keeps the answers of an earlier run.
pub(super) fn is_update(plan: &PreparePlan, facts: &DatasetFacts) -> bool {
    plan.rerun == Rerun::Update && facts.prepared.is_some()
}

/// Whether the existing dataset yaml is kept: with `--update`, unless the plan contains another answer.
fn keeps_loading(plan: &PreparePlan, facts: &DatasetFacts) -> bool {
    is_update(plan, facts) && plan.loading == SampleMapping::Unset
}

/// Checks that there are shards. If there are none, no other problem is reported.
fn source(plan: &PreparePlan, facts: &DatasetFacts, problems: &mut Vec<Problem>) -> bool {
    let root = || Subject::path(&facts.root);
    if let Err(refusal) = facts.kind.info().shards {
        let problem = Problem::refusal(ProblemKind::NoShards, root(), refusal.why);
        problems.push(problem.with_hint(refusal.hint.replace("{}", &shell_quote(&facts.root.to_string_lossy()))));
        return false;
    }
    if facts.shards.is_empty() {
        problems.push(no_shards(facts));
        return false;
    }
    if splits::excluded(&plan.exclude_shards, &facts.shards).iter().all(|out| *out) {
        let message = "--exclude leaves out every shard";
        problems.push(Problem::refusal(ProblemKind::NoShards, root(), message));
    }
    true
}

/// Returns the problem of a folder without shards. Files that look like shards but are not read are named.
fn no_shards(facts: &DatasetFacts) -> Problem {
    let unread = facts.findings.iter().filter(|finding| finding.kind == ProblemKind::UnreadShard);
    let mut names: Vec<&str> = unread.filter_map(|finding| finding.subject.shard.as_deref()).collect();
    let more = names.len().saturating_sub(MAX_NAMES);
    names.truncate(MAX_NAMES);
    let mut message = "there is no tar shard in this folder".to_owned();
    if !names.is_empty() {
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let verb = text::agree(names.len() as u64, "looks like a shard and is", "look like shards and are");
        message = format!("{message}; {}{more} {verb} not read", names.join(", "));
    }
    let hint = "shards are files that end in .tar or .tgz, at any depth; names that start with a dot do not count";
    Problem::refusal(ProblemKind::NoShards, Subject::path(&facts.root), message).with_hint(hint)
}

/// Number of shards above which file systems, stores and the start of training become slow.
const MAX_SHARDS: usize = 10_000;

/// Returns a note on a very large number of shards, for every command that reads a data set.
pub fn many_shards(shards: usize) -> Option<Problem> {
    let message = format!(
        "{} shards: Energon is made for fewer than {}; more are useful only where a store limits requests by prefix",
        text::grouped(shards as u64),
        text::grouped(MAX_SHARDS as u64)
    );
    let problem = || Problem::note(ProblemKind::ManyShards, Subject::default(), message);
    (shards > MAX_SHARDS).then(|| problem().with_hint("pack the samples into fewer, larger shards"))
}

/// Returns a part name without the suffix of compression: the dot in `json.gz` belongs to the suffix.
fn unpacked(name: &str) -> &str {
    Compression::of_name(name).map_or(name, |(stem, _)| stem)
}

/// Returns a problem if part names look like the rest of a file name that was cut at its first dot: names with spaces, or names with dots
/// most of which occur in only one sample.
pub fn cut_names(root: &Path, parts: &BTreeMap<String, PartFacts>) -> Option<Problem> {
    let has_blank = |name: &&String| name.contains(char::is_whitespace);
    let with_blanks: Vec<&String> = parts.keys().filter(has_blank).collect();
    let with_dots: Vec<(&String, u64)> = parts
        .iter()
        .filter(|(name, _)| unpacked(name).contains('.'))
        .map(|(name, part)| (name, part.samples))
        .collect();
    let again = with_dots.iter().filter(|(_, samples)| *samples > 1).count();
    let is_cut = with_dots.len() >= 3 && again * 10 <= with_dots.len();
    let mut names = with_blanks;
    if is_cut {
        names.extend(
            with_dots.iter().filter(|(name, samples)| *samples == 1 && !has_blank(name)).map(|(name, _)| *name),
        );
    }
    if names.is_empty() {
        return None;
    }
    let listed: Vec<String> = names.iter().take(MAX_NAMES).map(|name| format!("'{name}'")).collect();
    let more = names.len().saturating_sub(listed.len());
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let message = format!(
        "names of entries are cut at their first dot, the rest is the name of the part: {}{more}; dots in file names may not be \
         meant so",
        listed.join(", ")
    );
    let problem = Problem::note(ProblemKind::CutName, Subject::path(root), message);
    Some(problem.with_hint("pack again with file names that have no dot before the suffix"))
}

fn check_splits(plan: &PreparePlan, facts: &DatasetFacts, problems: &mut Vec<Problem>) {
    let has_splits = facts.prepared.as_ref().is_some_and(|p: &PreparedFacts| !p.splits.is_empty());
    let stays = is_update(plan, facts) && has_splits;
    if plan.splits == SplitPlan::Unset && !stays {
        problems.push(
            Problem::refusal(
                ProblemKind::MissingAnswer,
                Subject::field("--split-ratio"),
                "no way to divide the shards into train, val and test is given",
            )
            .with_hint("--split-ratio 8,1,1, --split-parts NAME:REGEX, or --splits-from FILE"),
        );
        return;
    }
    let resolved = splits::resolve_in(plan, facts);
    let trains = resolved.splits.is_empty() || resolved.splits.iter().any(|(name, _)| name == "train");
    if !trains && !resolved.is_refused() {
        let names: Vec<&str> = resolved.splits.iter().map(|(name, _)| name.as_str()).collect();
        let message = format!("no split is called train; there are {}", names.join(", "));
        problems.push(
            Problem::note(ProblemKind::Other, Subject::field("train"), message)
                .with_hint("trainers ask for train, val and test unless other names are configured"),
        );
    }
    let nothing = resolved.splits.iter().all(|(_, shards)| shards.is_empty());
    if nothing && !resolved.splits.is_empty() && !resolved.is_refused() {
        let message = "no split would have a single shard";
        problems.push(Problem::note(ProblemKind::EmptySplit, Subject::default(), message));
    }
    problems.extend(resolved.problems);
}

fn dataset_yaml_name(plan: &PreparePlan, problems: &mut Vec<Problem>) {
    let name = plan.dataset_yaml_name.as_str();
    let taken = [
        ".",
        "..",
        ".info.json",
        ".info.yaml",
        "split.yaml",
        "split.json",
        "index.sqlite",
        "index.uuid",
        "gristmill",
        "sample_loader.py",
        "cooker.py",
    ];
    let why = if name.is_empty() {
        "the dataset yaml needs a name"
    } else if name.contains(['/', '\\']) || name == ".." {
        "the dataset yaml is always inside .nv-meta: a plain file name is needed, not a path"
    } else if name.chars().any(char::is_control) || name.starts_with('.') {
        "the dataset yaml needs a visible name of printable characters"
    } else if taken.contains(&name) {
        "this name belongs to another file of the data set"
    } else {
        return;
    };
    problems.push(
        Problem::refusal(ProblemKind::BadName, Subject::field(name), why)
            .with_hint("for example --dataset-yaml-name captions.yaml"),
    );
}
