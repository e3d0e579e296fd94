//! Finds shards of a set that its index does not have, for `--append`.

use super::layout::{OutputLayout, Recorded};
use super::pattern::NamePattern;
use super::ADDING;
use crate::engine::dataset::{left_out_on_purpose, recorded_plan};
use gristmill_core::text::{agree, count_verb, display_safe};
use gristmill_core::{Failure, Outcome, Subject};
use gristmill_data::source::discover::discover;
use gristmill_storage::files;
use gristmill_storage::location::hint_for;
use gristmill_storage::run_folder::RunFolder;
use std::collections::HashSet;

/// Maximum number of shards that a message names.
const MAX_NAMES: usize = 3;

/// Refuses a set with shards that are neither in its index, whose names these are, nor in the record of an earlier run. A run that was
/// stopped on another machine may have left them. Their keys are unknown, so samples could be written twice.
pub(super) fn check_indexed(layout: &OutputLayout, indexed: &[String]) -> Outcome<()> {
    // The next run finishes this publication, which knows its shards.
    if files::exists(layout.run_folder.renames()) {
        return Ok(());
    }
    let set = layout.output.as_path();
    let pattern = NamePattern::parse(&layout.plan.division.pattern).map_err(|why| Failure::usage(ADDING, why))?;
    let recorded = Recorded::read(&layout.run_folder)?.map(|recorded| recorded.outputs).unwrap_or_default();
    let published = recorded.iter().filter_map(|output| output.path.strip_prefix(set).ok()?.to_str());
    let known: HashSet<&str> = indexed.iter().map(String::as_str).chain(published).collect();
    let plan = recorded_plan(&RunFolder::for_webdataset(set))?;
    let is_left_out = left_out_on_purpose(plan.as_ref());
    let has_number = |name: &str| name.rsplit('/').next().and_then(|name| pattern.number(name)).is_some();
    let shards = discover(set)?.shards;
    let names = shards.iter().map(|shard| shard.name.as_str());
    let unknown: Vec<&str> =
        names.filter(|name| has_number(name) && !known.contains(name) && !is_left_out(name)).collect();
    if unknown.is_empty() {
        return Ok(());
    }
    let names: Vec<_> = unknown.iter().take(MAX_NAMES).map(|name| display_safe(name)).collect();
    let more = unknown.len().saturating_sub(MAX_NAMES);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let number = count_verb(unknown.len() as u64, "shard", "is", "are");
    let why = format!("{number} in the set and not in its index: {}{more}", names.join(", "));
    let them = agree(unknown.len() as u64, "it", "them");
    let hint = format!(
        "remove {them} and run the command again if a stopped run of `shard --append` left {them}; {} adds {them}",
        hint_for(set, "gristmill prepare PATH --update")
    );
    Err(Failure::usage(ADDING, why).on(Subject::path(set)).with_hint(hint))
}
