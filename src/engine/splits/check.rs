//! Whether the samples that are excluded one by one are there, by the index.

use super::editor::SplitEditor;
use super::shards::{expanded, is_plain, Shards};
use crate::formats::energon::info::Info;
use crate::formats::energon::layout;
use crate::formats::energon::tables::Tables;
use crate::model::{Cancel, Outcome};
use std::collections::HashMap;
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
    let mut checked = CheckedItems::default();
    for item in items {
        cancel.check()?;
        let mut count = 0;
        if is_plain(item) {
            count += u64::from(is_there(&tables, &shards, item)?);
        } else {
            for name in expanded(item).unwrap_or_default().iter() {
                cancel.check()?;
                count += u64::from(is_there(&tables, &shards, name)?);
            }
        }
        checked.found.insert(Arc::clone(item), count);
    }
    Ok(checked)
}

fn is_there(tables: &Tables, shards: &Shards, name: &str) -> Outcome<bool> {
    match shards.shard_and_key(name) {
        None => Ok(false),
        Some((_, None)) => Ok(true),
        Some((id, Some(key))) => Ok(tables.sample_by_key(key)?.is_some_and(|sample| sample.tar_file_id == id)),
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
