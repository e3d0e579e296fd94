//! Derives the views from the text, and updates them after a change without processing unchanged parts again.

use super::shards::{exclude_view, expanded, is_plain, Shards};
use super::view::{ExcludeTotals, ExcludeView, Matches, ShardView, SplitView};
use gristmill_data::formats::energon::split_edit::{Item, ListEdit, SharedList, SplitDoc, SplitEntry};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

/// The state of the file when it was opened or last written.
#[derive(Debug)]
pub(super) struct FileBase {
    /// The bytes of the file.
    pub(super) bytes: Vec<u8>,
    /// The hash of these bytes.
    pub(super) hash: String,
    /// The ids of the splits.
    pub(super) splits: HashSet<u32>,
    /// The splits that contained each shard.
    pub(super) homes: HashMap<Arc<str>, Vec<u32>>,
    items: SharedList<Item>,
    /// The excludes, once they are looked up.
    excludes: OnceLock<HashSet<Arc<str>>>,
}

impl FileBase {
    pub(super) fn new(bytes: Vec<u8>, doc: &SplitDoc, views: &Views) -> Self {
        let mut homes: HashMap<Arc<str>, Vec<u32>> = HashMap::new();
        for (entry, view) in doc.splits().iter().zip(views.splits()) {
            for shard in view.shards.iter() {
                homes.entry(Arc::clone(&shard.name)).or_default().push(entry.id());
            }
        }
        let hash = blake3::hash(&bytes).to_hex().to_string();
        Self {
            bytes,
            hash,
            splits: doc.splits().iter().map(|split| split.id()).collect(),
            homes,
            items: doc.excludes().clone(),
            excludes: OnceLock::new(),
        }
    }

    /// Whether the file contained an exclude.
    pub(super) fn has_exclude(&self, item: &str) -> bool {
        let all = || self.items.iter().map(|item| Arc::clone(item.value())).collect();
        self.excludes.get_or_init(all).contains(item)
    }
}

/// The views, and the state of the text from which they were derived.
#[derive(Clone, Debug, Default)]
pub(super) struct Views {
    splits: Vec<SplitView>,
    loose: SplitView,
    /// Stored in chunks, like the items, so that a change does not copy the whole list while a worker holds a copy.
    excludes: SharedList<ExcludeView>,
    totals: ExcludeTotals,
    previous_splits: Vec<SplitEntry>,
    previous_excludes: SharedList<Item>,
    /// For each shard, the number of excludes that exclude it as a whole.
    excluded: Arc<Vec<u32>>,
    /// For each shard, the number of splits that contain it.
    homes: Vec<u32>,
    /// Results of lookups: the number of existing names of each item.
    checked: Arc<HashMap<Arc<str>, u64>>,
}

impl Views {
    pub(super) fn new(doc: &SplitDoc, shards: &Shards, base: Option<(&FileBase, &Self)>) -> Self {
        let mut views = Self {
            excluded: Arc::new(vec![0; shards.list().len()]),
            checked: base.map(|(_, old)| Arc::clone(&old.checked)).unwrap_or_default(),
            ..Self::default()
        };
        views.update(doc, shards, base.map(|(base, _)| base), true);
        views
    }

    pub(super) fn splits(&self) -> &[SplitView] {
        &self.splits
    }
    pub(super) fn loose(&self) -> &SplitView {
        &self.loose
    }
    pub(super) fn excludes(&self) -> &SharedList<ExcludeView> {
        &self.excludes
    }
    pub(super) fn totals(&self) -> ExcludeTotals {
        self.totals
    }
    pub(super) fn is_excluded(&self, id: u32) -> bool {
        self.excluded.get(id as usize).is_some_and(|count| *count > 0)
    }

    /// Updates the views after a change of the text.
    pub(super) fn update_views(&mut self, doc: &SplitDoc, shards: &Shards, base: &FileBase) {
        self.update(doc, shards, Some(base), false);
    }

    /// Adds results of lookups.
    pub(super) fn add_lookups(&mut self, found: HashMap<Arc<str>, u64>) {
        let (totals, is_open) = (&mut self.totals, |view: &ExcludeView| view.matches == Matches::Unknown);
        let learned = |view: &ExcludeView| is_open(view) && found.contains_key(&view.item);
        self.excludes.update(learned, |view| {
            totals.count(view, false);
            resolve_excludes(view, &found);
            totals.count(view, true);
        });
        if self.checked.is_empty() {
            self.checked = Arc::new(found);
        } else {
            Arc::make_mut(&mut self.checked).extend(found);
        }
    }

    /// Updates the views. Without a base, no split or exclude is marked as new, and no shard as moved.
    fn update(&mut self, doc: &SplitDoc, shards: &Shards, base: Option<&FileBase>, is_first: bool) {
        let excluded_changed = self.update_excludes(doc.excludes(), shards, base);
        let mut old: HashMap<u32, (SplitEntry, SplitView)> = std::mem::take(&mut self.previous_splits)
            .into_iter()
            .zip(std::mem::take(&mut self.splits))
            .map(|(entry, view)| (entry.id(), (entry, view)))
            .collect();
        let mut places_changed = is_first;
        for entry in doc.splits() {
            let kept = old.remove(&entry.id()).filter(|(seen, _)| seen.items().is_same(entry.items()));
            let view = match kept {
                Some((_, view)) if !excluded_changed => SplitView { name: Arc::clone(entry.name()), ..view },
                Some((_, mut view)) => {
                    for shard in Arc::make_mut(&mut view.shards) {
                        shard.is_excluded = shard.id.is_some_and(|id| self.is_excluded(id));
                    }
                    SplitView { name: Arc::clone(entry.name()), ..view }
                }
                None => {
                    places_changed = true;
                    self.split_view(entry, shards, base)
                }
            };
            self.splits.push(view);
        }
        places_changed |= !old.is_empty();
        self.previous_splits = doc.splits().to_vec();
        if places_changed || excluded_changed {
            self.update_loose(shards, base);
        }
        self.update_shares();
    }

    /// Updates the excludes. Returns whether the set of shards excluded as a whole has changed.
    fn update_excludes(&mut self, items: &SharedList<Item>, shards: &Shards, base: Option<&FileBase>) -> bool {
        if self.previous_excludes.is_same(items) {
            return false;
        }
        let (front, back) = self.previous_excludes.common(items);
        let checked = &self.checked;
        let made = items.range(front, items.len() - back).map(|item| {
            let is_new = base.is_some_and(|base| !base.has_exclude(item.value()));
            let mut view = exclude_view(item.value(), item.note(), is_new, shards);
            resolve_excludes(&mut view, checked);
            view
        });
        let excluded = Arc::make_mut(&mut self.excluded);
        let totals = &mut self.totals;
        let mut changed = false;
        let mut count = |view: &ExcludeView, by: i32| {
            totals.count(view, by > 0);
            for &id in view.shards.iter() {
                if let Some(count) = excluded.get_mut(id as usize) {
                    *count = count.saturating_add_signed(by);
                    changed = true;
                }
            }
        };
        let made = made.inspect(|view| count(view, 1));
        if self.excludes.is_empty() {
            self.excludes = made.collect();
        } else {
            let inserted: Vec<ExcludeView> = made.collect();
            let end = self.excludes.len() - back;
            self.excludes.range(front, end).for_each(|gone| count(gone, -1));
            self.excludes.splice(vec![ListEdit { at: front, removed: end - front, inserted }]);
        }
        self.previous_excludes = items.clone();
        changed
    }

    fn split_view(&self, entry: &SplitEntry, shards: &Shards, base: Option<&FileBase>) -> SplitView {
        let mut views = Vec::with_capacity(entry.items().len());
        for (number, item) in (0u32..).zip(entry.items().iter()) {
            let names: Cow<'_, [String]> = match is_plain(item.value()) {
                true => {
                    views.push(self.shard_view(Arc::clone(item.value()), number, entry.id(), shards, base));
                    continue;
                }
                false => expanded(item.value()).unwrap_or_default(),
            };
            for name in names.iter() {
                let name = match shards.id(name).and_then(|id| shards.name(id)) {
                    Some(known) => Arc::clone(known),
                    None => name.as_str().into(),
                };
                views.push(self.shard_view(name, number, entry.id(), shards, base));
            }
        }
        SplitView {
            name: Arc::clone(entry.name()),
            shards: Arc::new(views),
            samples: 0,
            share: 0.0,
            is_new: base.is_some_and(|base| !base.splits.contains(&entry.id())),
        }
    }

    fn shard_view(&self, name: Arc<str>, item: u32, split: u32, shards: &Shards, base: Option<&FileBase>) -> ShardView {
        let id = shards.id(&name);
        let was_here = |base: &FileBase| base.homes.get(&name).is_some_and(|homes| homes.contains(&split));
        ShardView {
            id,
            samples: id.map_or(0, |id| shards.samples(id)),
            is_moved: base.is_some_and(|base| !was_here(base)),
            is_excluded: id.is_some_and(|id| self.is_excluded(id)),
            item,
            name,
        }
    }

    fn update_loose(&mut self, shards: &Shards, base: Option<&FileBase>) {
        self.homes = vec![0; shards.list().len()];
        for shard in self.splits.iter().flat_map(|split| split.shards.iter()) {
            if let Some(count) = shard.id.and_then(|id| self.homes.get_mut(id as usize)) {
                *count += 1;
            }
        }
        let loose = (0u32..).zip(shards.list()).zip(&self.homes).filter(|(_, homes)| **homes == 0);
        let loose = loose.map(|((id, (name, samples)), _)| ShardView {
            name: Arc::clone(name),
            id: Some(id),
            samples: *samples,
            is_moved: base.is_some_and(|base| base.homes.contains_key(name)),
            is_excluded: self.is_excluded(id),
            item: 0,
        });
        self.loose.shards = Arc::new(loose.collect());
    }

    fn update_shares(&mut self) {
        for split in self.splits.iter_mut().chain([&mut self.loose]) {
            split.samples = split.shards.iter().filter(|shard| !shard.is_excluded).map(|shard| shard.samples).sum();
        }
        let all: u64 = self.splits.iter().map(|split| split.samples).sum();
        for split in &mut self.splits {
            split.share = if all == 0 { 0.0 } else { split.samples as f64 / all as f64 };
        }
    }
}

/// Sets the result of the item's lookup.
fn resolve_excludes(view: &mut ExcludeView, checked: &HashMap<Arc<str>, u64>) {
    if view.matches != Matches::Unknown {
        return;
    }
    match checked.get(&view.item) {
        Some(0) => view.matches = Matches::Nothing,
        Some(count) => view.matches = Matches::Some(*count),
        None => {}
    }
}
