//! Looks up in the index whether individually excluded samples exist.

use super::editor::SplitEditor;
use super::shards::{expanded, is_plain, Shards};
use gristmill_core::{Cancel, Outcome};
use gristmill_data::formats::energon::info::Info;
use gristmill_data::formats::energon::layout;
use gristmill_data::formats::energon::tables::Tables;
use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

/// The result of a check; see [`SplitEditor::take_checked`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckedItems {
    /// Number of existing names of each item.
    pub found: HashMap<Arc<str>, u64>,
}

/// Looks up excludes in `index.sqlite`. Returns for each item how many of its shards and samples exist. Reads from storage, so it must run
/// on a worker. The result must be passed to [`SplitEditor::take_checked`].
pub fn check_items(root: &Path, items: &[Arc<str>], cancel: &Cancel) -> Outcome<CheckedItems> {
    let shards = Shards::new(Info::read(root)?.map(|info| info.shard_counts).unwrap_or_default());
    let mut tables = Tables::open(&layout::in_nv_meta(root, layout::INDEX_SQLITE))?;
    tables.stop_with(cancel)?;
    let index = Index { tables, shards, partial: OnceCell::new() };
    let mut checked = CheckedItems::default();
    for item in items {
        cancel.check()?;
        let mut count = 0;
        if is_plain(item) {
            count += u64::from(index.has(item)?);
        } else {
            for name in expanded(item).unwrap_or_default().iter() {
                cancel.check()?;
                count += u64::from(index.has(name)?);
            }
        }
        checked.found.insert(Arc::clone(item), count);
    }
    Ok(checked)
}

/// The index of a data set.
struct Index {
    tables: Tables,
    shards: Shards,
    /// Shards in which some samples have no row; set on first use.
    partial: OnceCell<HashSet<u32>>,
}

impl Index {
    fn has(&self, name: &str) -> Outcome<bool> {
        let Some((id, key)) = self.shards.shard_and_key(name) else { return Ok(false) };
        let Some(key) = key else { return Ok(true) };
        match self.tables.sample_by_key(key)? {
            None => Ok(false),
            Some(sample) if sample.tar_file_id == id => Ok(true),
            // Only one of several samples with the same key has a row, but the others are used in training unless they are excluded, too.
            Some(_) => Ok(self.partial()?.contains(&id)),
        }
    }

    fn partial(&self) -> Outcome<&HashSet<u32>> {
        if let Some(known) = self.partial.get() {
            return Ok(known);
        }
        let rows: HashMap<u32, u64> = self.tables.samples_per_shard()?.into_iter().collect();
        let has_more = |id: &u32| self.shards.samples(*id) > rows.get(id).copied().unwrap_or(0);
        let all = 0..u32::try_from(self.shards.list().len()).unwrap_or(u32::MAX);
        Ok(self.partial.get_or_init(|| all.filter(has_more).collect()))
    }
}

impl SplitEditor {
    /// Returns the excludes that have not been looked up yet.
    pub fn unchecked_items(&self) -> Vec<Arc<str>> {
        let views = self.excludes().iter().filter(|view| view.matches == super::Matches::Unknown);
        views.map(|view| Arc::clone(&view.item)).collect()
    }

    /// Takes the lookups of a copy of this editor that was made from the same file, so that long lists can be looked up in the background.
    /// Returns whether this was possible; otherwise, the items must be looked up again.
    pub fn take_learned(&mut self, learned: Self) -> bool {
        if !Arc::ptr_eq(&self.base, &learned.base) {
            return false;
        }
        self.views = learned.views;
        // Only the changes made since the copy are processed.
        self.refresh();
        self.touched();
        true
    }

    /// Adds the result of [`check_items`].
    pub fn take_checked(&mut self, checked: CheckedItems) {
        if !checked.found.is_empty() {
            self.views.add_lookups(checked.found);
            self.touched();
        }
    }
}
