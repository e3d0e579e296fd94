//! `split.yaml` as a person edits it.

mod items;

pub use items::{Shared, Splice};

use super::fields::ContentError;
use super::split_yaml::SplitFile;
use std::sync::Arc;

/// One of the lists of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum List {
    /// The shards of a split, by its position in the file.
    Split(usize),
    /// The excludes.
    Exclude,
}

/// An item of a list, with what a person wrote around it.
#[derive(Clone, Debug)]
pub struct Item {
    value: Arc<str>,
    note: Option<Arc<str>>,
}

impl Item {
    /// What the loader reads: quotes resolved, braces not expanded.
    pub fn value(&self) -> &Arc<str> {
        &self.value
    }
    /// The comment on the item's line, else the comment lines right above it; without `#`.
    pub fn note(&self) -> Option<&Arc<str>> {
        self.note.as_ref()
    }
}

/// An item to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewItem {
    /// As the loader is to read it; quoted where that is needed.
    pub value: Arc<str>,
    /// Written behind it as a comment.
    pub note: Option<Arc<str>>,
}

/// A split of the file.
#[derive(Clone, Debug)]
pub struct SplitEntry {
    id: u32,
    name: Arc<str>,
    items: Shared<Item>,
}

impl SplitEntry {
    /// Stays the same when the split is renamed or others come and go.
    pub fn id(&self) -> u32 {
        self.id
    }
    /// Its name.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }
    /// Its shard expressions.
    pub fn items(&self) -> &Shared<Item> {
        &self.items
    }
}

/// The text of a `split.yaml`, understood. Copies are cheap.
#[derive(Clone, Debug)]
pub struct SplitDoc {
    splits: Vec<SplitEntry>,
    exclude: Shared<Item>,
    next_id: u32,
}

impl SplitDoc {
    /// Reads a text.
    pub fn parse(text: &str) -> Result<Self, ContentError> {
        let file = SplitFile::parse(text.strip_prefix('\u{feff}').unwrap_or(text))?;
        let item = |value: &String| Item { value: value.as_str().into(), note: None };
        let splits: Vec<_> = (0..)
            .zip(&file.split_parts)
            .map(|(id, (name, items))| SplitEntry {
                id,
                name: name.as_str().into(),
                items: items.iter().map(item).collect(),
            })
            .collect();
        Ok(Self { next_id: splits.len() as u32, splits, exclude: file.exclude.iter().map(item).collect() })
    }

    /// The text as it is to be written.
    pub fn text(&self) -> String {
        let texts = |items: &Shared<Item>| items.iter().map(|item| item.value.to_string()).collect();
        let split_parts = self.splits.iter().map(|split| (split.name.to_string(), texts(&split.items))).collect();
        SplitFile { split_parts, exclude: texts(&self.exclude) }.render()
    }

    /// The splits in the order of the file.
    pub fn splits(&self) -> &[SplitEntry] {
        &self.splits
    }

    /// The excludes in the order of the file.
    pub fn excludes(&self) -> &Shared<Item> {
        &self.exclude
    }

    /// The items of a list; nothing for a split that is not there.
    pub fn items(&self, list: List) -> Option<&Shared<Item>> {
        match list {
            List::Split(index) => self.splits.get(index).map(|split| &split.items),
            List::Exclude => Some(&self.exclude),
        }
    }

    /// Changes a list. The changes are in ascending order and do not overlap; positions are those before any change.
    pub fn change(&mut self, list: List, changes: Vec<Splice<NewItem>>) {
        let items = match list {
            List::Split(index) => self.splits.get_mut(index).map(|split| &mut split.items),
            List::Exclude => Some(&mut self.exclude),
        };
        let Some(items) = items else { return };
        let made = |change: Splice<NewItem>| Splice {
            at: change.at,
            removed: change.removed,
            inserted: change.inserted.into_iter().map(|new| Item { value: new.value, note: new.note }).collect(),
        };
        items.splice(changes.into_iter().map(made).collect());
    }

    /// Sets or removes the note of an exclude.
    pub fn set_note(&mut self, index: usize, note: Option<&str>) {
        let Some(item) = self.exclude.get(index) else { return };
        let item = Item { value: Arc::clone(&item.value), note: note.map(Arc::from) };
        self.exclude.splice(vec![Splice { at: index, removed: 1, inserted: vec![item] }]);
    }

    /// Adds an empty split behind the others.
    pub fn add_split(&mut self, name: &str) {
        self.splits.push(SplitEntry { id: self.next_id, name: name.into(), items: Shared::default() });
        self.next_id += 1;
    }

    /// Renames a split.
    pub fn rename_split(&mut self, index: usize, name: &str) {
        if let Some(split) = self.splits.get_mut(index) {
            split.name = name.into();
        }
    }

    /// Removes a split and its list.
    pub fn remove_split(&mut self, index: usize) {
        if index < self.splits.len() {
            self.splits.remove(index);
        }
    }

    /// Takes the place of `other`, whose text was replaced by this: splits of the same name stay the same ones.
    pub fn follow(&mut self, other: &Self) {
        self.next_id = other.next_id;
        for split in &mut self.splits {
            split.id = match other.splits.iter().find(|before| before.name == split.name) {
                Some(before) => before.id,
                None => {
                    self.next_id += 1;
                    self.next_id - 1
                }
            };
        }
    }
}
