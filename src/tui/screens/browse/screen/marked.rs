//! A marked range of samples or shards, and the actions `x` and `s` on it: each is one change, undone in one step.

use super::super::rows::Span;
use super::super::state::Pane;
use super::BrowseScreen;
use crate::tui::screen::{Effect, UiEnv};
use crate::tui::widgets::{Level, Toast};
use crate::tui::work::Stoppable;
use gristmill_core::text::{count, grouped};
use gristmill_core::{Cancel, Outcome};
use gristmill_data::formats::energon::collapse::collapse;
use gristmill_ops::engine::browse::{BrowseSample, Catalog, Marks};
use gristmill_ops::engine::splits::{Edit, ExcludeItem};
use gristmill_pycompat::braces;
use std::collections::HashSet;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// Maximum number of samples excluded in one change; for more, the user must exclude whole shards.
pub(super) const MAX_MARKED_SAMPLES: u64 = 20_000;
/// Number of samples read between two checks for cancellation.
const CANCEL_CHECK_EVERY: usize = 1_024;
/// Maximum number of exclude items in one edit of a change.
const EXCLUDES_PER_EDIT: usize = 50;

/// A request to read the keys of the marked samples.
struct MarksQuestion {
    catalog: Arc<dyn Catalog>,
    marks: Arc<Marks>,
    spans: Vec<Span>,
}

/// Keys of samples in one shard.
struct ShardKeys {
    group: u32,
    keys: Vec<String>,
}

/// The marked samples, grouped by the effect of `x` on them.
#[derive(Default)]
struct MarksByAction {
    /// Samples that are not excluded yet.
    not_excluded: Vec<ShardKeys>,
    /// Samples that are excluded by name.
    excluded: Vec<ShardKeys>,
}

/// The worker that reads the keys of marked samples.
pub(super) struct Marker {
    worker: Stoppable<MarksQuestion, Outcome<MarksByAction>>,
}

impl Marker {
    pub(super) fn start(env: &UiEnv) -> Self {
        Self { worker: Stoppable::start("browse-marked", env.wake.clone(), sorted) }
    }

    /// Whether keys are being read.
    pub(super) fn is_busy(&self) -> bool {
        self.worker.is_waiting()
    }
}

fn sorted(question: MarksQuestion, cancel: &Cancel) -> Outcome<MarksByAction> {
    let mut sorted = MarksByAction::default();
    each_sample(&*question.catalog, &question.spans, cancel, |sample| {
        let group = sample.at.group;
        if question.marks.is_shard_excluded(group) {
            return;
        }
        let is_excluded = question.marks.is_sample_named(group, &sample.key);
        let list = if is_excluded { &mut sorted.excluded } else { &mut sorted.not_excluded };
        match list.last_mut().filter(|keys| keys.group == group) {
            Some(keys) => keys.keys.push(sample.key.to_string()),
            None => list.push(ShardKeys { group, keys: vec![sample.key.to_string()] }),
        }
    })?;
    Ok(sorted)
}

/// Calls `take` with each sample of the spans, in order.
pub(super) fn each_sample(
    catalog: &dyn Catalog,
    spans: &[Span],
    cancel: &Cancel,
    mut take: impl FnMut(BrowseSample),
) -> Outcome<()> {
    for span in spans {
        let (mut from, mut left) = (span.from, span.count);
        while left > 0 {
            cancel.check()?;
            let samples = catalog.samples(from, left.min(CANCEL_CHECK_EVERY), cancel)?;
            let Some(last) = samples.last() else { break };
            left = left.saturating_sub(samples.len());
            let groups = catalog.groups();
            let next = groups.locate(groups.number(last.at) + 1);
            samples.into_iter().for_each(&mut take);
            match next {
                Some(next) => from = next,
                None => break,
            }
        }
    }
    Ok(())
}

/// Returns the exclude items for the keys of a shard; consecutive numbers become one brace range.
fn items(shard: &str, keys: &[String]) -> Vec<ExcludeItem> {
    let escaped: Vec<String> = keys.iter().map(|key| braces::escape(key)).collect();
    let shard = braces::escape(shard);
    let single: HashSet<&String> = escaped.iter().collect();
    let item = |key: String| match single.contains(&key) {
        true => ExcludeItem::escaped(format!("{shard}/{key}")),
        false => ExcludeItem::written(format!("{shard}/{key}")),
    };
    collapse(&escaped).into_iter().map(item).collect()
}

/// Combines many exclude items into one change.
fn combine_excludes(title: String, items: Vec<ExcludeItem>) -> Edit {
    let edits = items.chunks(EXCLUDES_PER_EDIT).map(|items| Edit::Exclude { items: items.to_vec() }).collect();
    Edit::Many { title, edits }
}

impl BrowseScreen {
    /// Returns the marked shards in order, or the selected one if none are marked.
    pub(in super::super) fn list_marked_shards(&self) -> Vec<Arc<str>> {
        let rows = self.state.marked_rows().filter(|_| self.state.pane == Pane::Groups);
        let selected = self.state.group_list.selected as u64;
        let rows = rows.unwrap_or(selected..=selected);
        let groups = rows.filter_map(|row| self.state.groups.groups.get(usize::try_from(row).ok()?));
        groups.map(|group| Arc::clone(&group.name)).collect()
    }

    /// Excludes the marked samples or shards; if all of them are already excluded, includes them again.
    pub(in super::super) fn exclude_marked(&mut self, rows: RangeInclusive<u64>) -> Vec<Effect> {
        let Some(session) = self.session.clone() else { return Vec::new() };
        if self.state.pane == Pane::Groups {
            let is_fresh = |row: &u64| !u32::try_from(*row).is_ok_and(|at| self.marks.is_shard_excluded(at));
            let fresh: Vec<u64> = rows.clone().filter(is_fresh).collect();
            let name = |row: u64| self.state.groups.groups.get(usize::try_from(row).ok()?).map(|g| Arc::clone(&g.name));
            let edit = if fresh.is_empty() {
                let edits: Vec<Edit> = rows.filter_map(name).map(|shard| Edit::Include { shard, key: None }).collect();
                Edit::Many { title: format!("take back {}", count(edits.len() as u64, "shard")), edits }
            } else {
                let items: Vec<ExcludeItem> =
                    fresh.into_iter().filter_map(name).map(|shard| ExcludeItem::shard(&shard)).collect();
                combine_excludes(format!("exclude {}", count(items.len() as u64, "shard")), items)
            };
            self.state.mark = None;
            return session.apply(edit);
        }
        let marked = rows.end() - rows.start() + 1;
        if marked > MAX_MARKED_SAMPLES {
            let words = format!(
                "{} samples are marked, and {} at most are excluded at once; x in the list of shards excludes whole ones",
                grouped(marked),
                grouped(MAX_MARKED_SAMPLES)
            );
            return vec![Effect::Toast(Toast::new(Level::Warn, words))];
        }
        let Some(catalog) = self.catalog().cloned() else { return Vec::new() };
        let spans = self.state.marked_spans(rows);
        self.marker.worker.submit(MarksQuestion { catalog, marks: Arc::clone(&self.marks), spans });
        self.state.mark = None;
        Vec::new()
    }

    /// Applies the change once the keys are read.
    pub(super) fn gather_marked(&mut self, effects: &mut Vec<Effect>) -> bool {
        let Some(answer) = self.marker.worker.take() else { return false };
        let Some(session) = self.session.clone() else { return true };
        let sorted = match answer {
            Ok(sorted) => sorted,
            Err(failure) => {
                effects.push(Effect::failure(&failure));
                return true;
            }
        };
        let shard = |keys: &ShardKeys| self.state.groups.group(keys.group).map(|group| Arc::clone(&group.name));
        let total = |lists: &[ShardKeys]| count(lists.iter().map(|keys| keys.keys.len() as u64).sum(), "sample");
        let edit = if !sorted.not_excluded.is_empty() {
            let items = sorted.not_excluded.iter().filter_map(|keys| Some(items(&shard(keys)?, &keys.keys))).flatten();
            combine_excludes(format!("exclude {}", total(&sorted.not_excluded)), items.collect())
        } else if !sorted.excluded.is_empty() {
            let include = |keys: &ShardKeys| {
                let shard = shard(keys)?;
                let include =
                    |key: &String| Edit::Include { shard: Arc::clone(&shard), key: Some(key.as_str().into()) };
                Some(keys.keys.iter().map(include).collect::<Vec<_>>())
            };
            let edits = sorted.excluded.iter().filter_map(include).flatten().collect();
            Edit::Many { title: format!("take back {}", total(&sorted.excluded)), edits }
        } else {
            let words = "the shards of what is marked are excluded as a whole; x in their list includes them again";
            effects.push(Effect::Toast(Toast::new(Level::Warn, words)));
            return true;
        };
        effects.extend(session.apply(edit));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consecutive_marked_keys_become_one_range_and_braces_are_escaped() {
        let keys: Vec<String> = ["007", "008", "009", "x{1}", "b"].map(String::from).to_vec();
        let items: Vec<String> = items("s_{0}.tar", &keys).into_iter().map(|item| item.item).collect();
        assert_eq!(items, [r"s_\{0\}.tar/{007..009}", r"s_\{0\}.tar/x\{1\}", r"s_\{0\}.tar/b"]);
    }
}
