//! Writes the listed samples as a new data set: opens the form of `shard` with the answers for them. A worker reads the field map of the
//! data set, and writes a list of keys if flags cannot describe the samples.

use super::super::listing::Listing;
use super::super::rows::Span;
use super::super::state::Pane;
use super::BrowseScreen;
use crate::tui::form;
use crate::tui::screen::{Effect, UiEnv};
use crate::tui::widgets::{Level, Toast};
use crate::tui::work::Stoppable;
use gristmill_core::shard_plan::InputKind;
use gristmill_core::{Cancel, Outcome, SampleMapping, ShardPlan};
use gristmill_data::formats::energon::dataset_yaml::DatasetYaml;
use gristmill_data::formats::energon::layout::DATASET_YAML;
use gristmill_ops::engine::browse::{write_key_list, Catalog, Groups, Matches, SampleAt, SampleFilter, SplitChoice};
use gristmill_ops::operations::{erase, WriteShards};
use gristmill_storage::files;
use std::path::PathBuf;
use std::sync::Arc;

/// The samples to be written as a list of keys.
enum KeySelection {
    Matches(Arc<Matches>),
    /// Numbers of the first sample and after the last one, counted over all groups.
    Spans(Vec<(u64, u64)>),
}

impl KeySelection {
    fn contains(&self, at: SampleAt, groups: &Groups) -> bool {
        match self {
            Self::Matches(matches) => matches.contains(at),
            Self::Spans(spans) => {
                let number = groups.number(at);
                let span = spans.partition_point(|(start, _)| *start <= number).checked_sub(1);
                span.and_then(|span| spans.get(span)).is_some_and(|(_, end)| number < *end)
            }
        }
    }
}

struct SetQuestion {
    catalog: Arc<dyn Catalog>,
    /// The samples to list; `None` if flags describe them.
    chosen: Option<KeySelection>,
}

struct SetAnswers {
    keys: Option<PathBuf>,
    /// Sample type and field map of a prepared data set.
    loading: Option<SampleMapping>,
}

/// The worker that computes answers, and the plan that waits for them.
pub(super) struct KeyLister {
    worker: Stoppable<SetQuestion, Outcome<SetAnswers>>,
    plan: Option<ShardPlan>,
}

impl KeyLister {
    pub(super) fn start(env: &UiEnv) -> Self {
        Self { worker: Stoppable::start("browse-keys", env.wake.clone(), find_answers), plan: None }
    }

    /// Whether answers are being computed.
    pub(super) fn is_busy(&self) -> bool {
        self.worker.is_waiting()
    }
}

fn find_answers(question: SetQuestion, cancel: &Cancel) -> Outcome<SetAnswers> {
    let catalog = &*question.catalog;
    // A file that cannot be read is ignored: the form then has its default answers.
    let yaml = || DatasetYaml::read(catalog.root(), DATASET_YAML).ok().flatten();
    let loading = match catalog.kind().is_web_dataset() {
        true => yaml().and_then(|yaml| yaml.to_loading()),
        false => None,
    };
    let keys = question.chosen.map(|chosen| list_keys(catalog, &chosen, cancel)).transpose()?;
    Ok(SetAnswers { keys, loading })
}

fn list_keys(catalog: &dyn Catalog, chosen: &KeySelection, cancel: &Cancel) -> Outcome<PathBuf> {
    let groups = catalog.groups();
    let is_empty = |group: &u32| match chosen {
        KeySelection::Matches(matches) => matches.in_group(*group) == 0,
        KeySelection::Spans(spans) => {
            let number = |group| groups.number(SampleAt { group, index: 0 });
            let (from, to) = (number(*group), number(*group + 1));
            !spans.iter().any(|(start, end)| *start < to && from < *end)
        }
    };
    let count = u32::try_from(groups.groups.len()).unwrap_or(u32::MAX);
    let mut with_samples = (0..count).filter(|group| !is_empty(group));
    let is_listed = |at| chosen.contains(at, &groups);
    write_key_list(catalog, &mut with_samples, &is_listed, cancel)
}

/// Sets the answers that describe the samples of a filter; returns `false` if flags cannot describe them.
fn by_flags(filter: &SampleFilter, plan: &mut ShardPlan) -> bool {
    let needs_list = !filter.lacks.is_empty()
        || filter.excluded == Some(true)
        || filter.min_bytes.is_some()
        || filter.max_bytes.is_some()
        || filter.key.is_some()
        || filter.problems;
    match &filter.split {
        _ if needs_list => return false,
        Some(SplitChoice::Loose) => return false,
        Some(SplitChoice::Named(name)) => plan.choice.splits = vec![name.to_string()],
        None => {}
    }
    plan.choice.require.clone_from(&filter.has);
    plan.choice.keep_excluded = filter.excluded.is_none();
    true
}

/// Returns the conditions of a filter on single files that differ for samples made of several files.
fn unsupported_condition(filter: &SampleFilter) -> Option<String> {
    let of_parts = SampleFilter {
        has: if filter.has.len() > 1 { filter.has.clone() } else { Vec::new() },
        lacks: filter.lacks.clone(),
        min_bytes: filter.min_bytes,
        max_bytes: filter.max_bytes,
        ..SampleFilter::default()
    };
    (!of_parts.is_empty()).then(|| of_parts.title())
}

fn info_toast(words: impl Into<String>) -> Vec<Effect> {
    vec![Effect::Toast(Toast::new(Level::Info, words))]
}

impl BrowseScreen {
    /// Whether the marked samples can be written as a new data set.
    pub(in super::super) fn can_write_marked(&self) -> bool {
        let kind = self.catalog().map(|catalog| catalog.kind());
        kind.is_some_and(|kind| kind.is_web_dataset() || kind.has_loose_files())
    }

    /// Opens the form for a new data set of the marked or listed samples; a list of keys is written first if it is needed.
    pub(in super::super) fn write_set(&mut self) -> Vec<Effect> {
        let Some(catalog) = self.catalog().cloned() else { return Vec::new() };
        let kind = catalog.kind();
        if self.active_filter.as_ref().is_some_and(|filter| filter.is_over) && self.state.list.len == 0 {
            return info_toast("the filter leaves no sample that could be written");
        }
        let mut plan = form::shards_of(&self.path);
        if kind.is_tokens() {
            return info_toast("packed tokens are not samples with parts");
        }
        if !self.can_write_marked() {
            // The keys of rows depend on the answers of the form, so rows cannot be listed by their keys.
            if self.active_filter.is_some() || self.state.marked_rows().is_some() {
                return info_toast("W writes all rows of a file: clear the filter and the marks first");
            }
            if files::is_dir(&self.path) {
                plan.read_as = InputKind::Rows;
            }
            return self.open_shards(plan);
        }
        if let Some(unwritten) = self.session.as_ref().and_then(|session| session.unwritten_changes()) {
            return info_toast(format!("write with w first: {unwritten}"));
        }
        let chosen = if let Some(rows) = self.state.marked_rows() {
            let spans = match self.state.pane {
                Pane::Groups => self.spans_of_groups(*rows.start(), *rows.end()),
                _ => self.state.marked_spans(rows),
            };
            let span = |span: &Span| {
                let start = self.state.groups.number(span.from);
                (start, start + span.count as u64)
            };
            Some(KeySelection::Spans(spans.iter().map(span).collect()))
        } else {
            let has_files = kind.has_loose_files();
            let of_files = self
                .active_filter
                .as_ref()
                .filter(|_| has_files)
                .and_then(|active_filter| unsupported_condition(&active_filter.filter));
            if let Some(words) = of_files {
                let why = format!("'{words}' holds for single files here, and what is written are samples of several");
                return info_toast(format!("{why}: leave it out of the filter, or mark the files to be written"));
            }
            match (&self.active_filter, &self.state.listing) {
                (None, _) => None,
                // Listed files name parts by their last extension, samples by all extensions.
                (Some(active_filter), _) if !has_files && by_flags(&active_filter.filter, &mut plan) => None,
                (Some(active_filter), Listing::Picked(matches)) if active_filter.is_over => {
                    Some(KeySelection::Matches(Arc::clone(matches)))
                }
                (Some(_), _) => {
                    return info_toast("the filter is still running: wait until it has examined all samples")
                }
            }
        };
        self.lister.worker.submit(SetQuestion { catalog, chosen });
        self.lister.plan = Some(plan);
        Vec::new()
    }

    fn spans_of_groups(&self, first: u64, last: u64) -> Vec<Span> {
        let groups = self.state.groups.groups.iter().zip(0_u32..);
        let is_marked = |group: u32| (first..=last).contains(&u64::from(group));
        let marked = groups.filter(|(_, group)| is_marked(*group));
        marked
            .map(|(known, group)| Span {
                from: SampleAt { group, index: 0 },
                count: usize::try_from(known.samples).unwrap_or(usize::MAX),
            })
            .collect()
    }

    fn open_shards(&self, plan: ShardPlan) -> Vec<Effect> {
        vec![Effect::Push(form::open(erase::<WriteShards>(plan), self.env.clone()))]
    }

    /// Opens the form with the sample type and field map of the data set. If the plan has no other answers, a draft replaces them.
    fn open_loaded_shards(&self, mut plan: ShardPlan, loading: SampleMapping) -> Vec<Effect> {
        let is_proposed = plan == form::shards_of(&self.path);
        plan.preparation.loading = loading;
        if !is_proposed {
            return self.open_shards(plan);
        }
        vec![Effect::Push(form::open_proposed(erase::<WriteShards>(plan), self.env.clone()))]
    }

    /// Opens the form once all answers are known.
    pub(super) fn gather_key_list(&mut self, effects: &mut Vec<Effect>) -> bool {
        let Some(answers) = self.lister.worker.take() else { return false };
        match (answers, self.lister.plan.take()) {
            (Ok(SetAnswers { keys, loading }), Some(mut plan)) => {
                // The listed samples are written even if they are excluded.
                plan.choice.keep_excluded |= keys.is_some();
                plan.choice.keep_keys = keys;
                effects.extend(match loading {
                    Some(loading) => self.open_loaded_shards(plan, loading),
                    None => self.open_shards(plan),
                });
            }
            (Err(failure), _) => effects.push(Effect::failure(&failure)),
            (Ok(_), None) => {}
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_ops::engine::browse::KeyQuery;

    #[test]
    fn filter_conditions_that_single_files_lack_are_named() {
        let of_files = |filter: SampleFilter| unsupported_condition(&filter);
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let lacks = SampleFilter { lacks: names(&["txt"]), has: names(&["png"]), ..SampleFilter::default() };
        assert_eq!(of_files(lacks), Some("lacks txt".to_owned()));
        assert!(of_files(SampleFilter { max_bytes: Some(9), ..SampleFilter::default() }).is_some());
        assert!(of_files(SampleFilter { has: names(&["png", "txt"]), ..SampleFilter::default() }).is_some());
        let key = KeyQuery::parse("a").ok();
        assert_eq!(of_files(SampleFilter { has: names(&["png"]), key, ..SampleFilter::default() }), None);
    }

    #[test]
    fn filter_is_written_as_flags_where_flags_suffice() {
        let plan_of = |filter: SampleFilter| {
            let mut plan = ShardPlan::default();
            by_flags(&filter, &mut plan).then_some(plan.choice)
        };
        let split = |name: &str| Some(SplitChoice::Named(name.into()));
        let choice =
            plan_of(SampleFilter { split: split("val"), has: vec!["txt".into()], ..SampleFilter::default() }).unwrap();
        assert_eq!(
            (choice.splits, choice.require, choice.keep_excluded),
            (vec!["val".into()], vec!["txt".into()], true)
        );
        let choice = plan_of(SampleFilter { excluded: Some(false), ..SampleFilter::default() }).unwrap();
        assert!(!choice.keep_excluded);
        for filter in [
            SampleFilter { excluded: Some(true), ..SampleFilter::default() },
            SampleFilter { split: Some(SplitChoice::Loose), ..SampleFilter::default() },
            SampleFilter { lacks: vec!["txt".into()], ..SampleFilter::default() },
            SampleFilter { min_bytes: Some(1), ..SampleFilter::default() },
            SampleFilter { key: KeyQuery::parse("a").ok(), ..SampleFilter::default() },
            SampleFilter { problems: true, ..SampleFilter::default() },
        ] {
            assert!(plan_of(filter).is_none());
        }
    }
}
