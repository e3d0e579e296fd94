//! Whether the samples that are excluded one by one are there, by the index.

use super::editor::SplitEditor;
use super::shards::{expanded, is_plain, Shards};
use crate::formats::energon::info::Info;
use crate::formats::energon::layout;
use crate::formats::energon::tables::Tables;
use gristmill_core::{Cancel, Outcome};
use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

/// What was found; see [`SplitEditor::take_checked`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckedItems {
    /// Item → how many of its names are there.
    pub found: HashMap<Arc<str>, u64>,
}

/// Looks up excludes in `index.sqlite`: for each item, how many of the shards and samples it names are there. Reads storage, so
/// it belongs on a worker; the editor takes the answer with [`SplitEditor::take_checked`].
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

/// What is looked at.
struct Index {
    tables: Tables,
    shards: Shards,
    /// Shards of which some samples have no row, once that was asked.
    partial: OnceCell<HashSet<u32>>,
}

impl Index {
    fn has(&self, name: &str) -> Outcome<bool> {
        let Some((id, key)) = self.shards.shard_and_key(name) else { return Ok(false) };
        let Some(key) = key else { return Ok(true) };
        match self.tables.sample_by_key(key)? {
            None => Ok(false),
            Some(sample) if sample.tar_file_id == id => Ok(true),
            // Of a key that is there twice only one has a row; the other is in training if it is not excluded.
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
    /// The excludes of which it is not known yet whether they match anything.
    pub fn unchecked_items(&self) -> Vec<Arc<str>> {
        let views = self.excludes().iter().filter(|view| view.matches == super::Matches::Unknown);
        views.map(|view| Arc::clone(&view.item)).collect()
    }

    /// Takes over what a copy of this editor, made from the same file, has learned; for long lists, so that the learning can be done
    /// where nobody waits. Answers whether it could be; otherwise the items are to be asked for again.
    pub fn take_learned(&mut self, learned: Self) -> bool {
        if !Arc::ptr_eq(&self.base, &learned.base) {
            return false;
        }
        self.views = learned.views;
        // What was changed meanwhile is little.
        self.refresh();
        self.touched();
        true
    }

    /// Takes in what [`check_items`] found.
    pub fn take_checked(&mut self, checked: CheckedItems) {
        if !checked.found.is_empty() {
            self.views.learn(checked.found);
            self.touched();
        }
    }
}
