//! What a person can do to splits and excludes, as values: a draft saves them, a command makes one.

use crate::engine::outputs::exclude_item;
use gristmill_core::text::count;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// One change. Names of shards are those of `.info.json`, not escaped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Edit {
    /// Shards leave the splits they are in and go to another.
    MoveShards {
        /// Which.
        #[serde(with = "names")]
        shards: Vec<Arc<str>>,
        /// Where to; `None` is in no split.
        #[serde(with = "perhaps")]
        to: Option<Arc<str>>,
    },
    /// Adds an empty split.
    AddSplit {
        /// Its name.
        name: String,
    },
    /// Gives a split another name.
    RenameSplit {
        /// Its name so far.
        #[serde(with = "name")]
        from: Arc<str>,
        /// Its new name.
        to: String,
    },
    /// Removes a split; its shards are in no split then.
    RemoveSplit {
        /// Its name.
        #[serde(with = "name")]
        name: Arc<str>,
    },
    /// Adds excludes behind the others. Those that are there already are left alone.
    Exclude {
        /// What to exclude.
        items: Vec<ExcludeItem>,
    },
    /// Takes one shard, or one sample, out of whatever excludes it; a brace range is split when it must be.
    Include {
        /// The shard.
        #[serde(with = "name")]
        shard: Arc<str>,
        /// The sample; `None` is the shard as a whole.
        #[serde(with = "perhaps")]
        key: Option<Arc<str>>,
    },
    /// Removes an exclude, whatever it names.
    RemoveItem {
        /// Its position, from 0.
        index: usize,
    },
    /// Removes the first exclude that is written like this.
    RemoveExclude {
        /// As it stands in the file, quotes resolved.
        item: String,
    },
    /// Sets or removes the note of an exclude.
    SetNote {
        /// Its position, from 0.
        index: usize,
        /// The note, on one line.
        note: Option<String>,
    },
    /// Replaces the whole text, after it was edited as text.
    ReplaceText {
        /// The new text.
        text: String,
    },
    /// Several changes that are one step for undo.
    Many {
        /// What they are together, in words: `balance 8,1,1`.
        title: String,
        /// The changes, in order.
        edits: Vec<Edit>,
    },
}

/// Something to exclude.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExcludeItem {
    /// A shard, `SHARD/KEY`, or a brace range of either.
    pub item: String,
    /// How it is to be read.
    #[serde(default)]
    pub meaning: Meaning,
    /// Why; written as a comment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// How the text of an [`ExcludeItem`] is to be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Meaning {
    /// As a person typed it: braces are ranges and a backslash escapes, unless it can only be a name.
    #[default]
    Typed,
    /// One name of the index, its braces and backslashes escaped already. It is written as it is, and never taken for a range.
    Escaped,
}

impl ExcludeItem {
    /// One sample, by the names of its shard and key as they are.
    pub fn sample(shard: &str, key: &str) -> Self {
        Self::escaped(exclude_item(shard, Some(key)))
    }
    /// A shard, by its name as it is.
    pub fn shard(shard: &str) -> Self {
        Self::escaped(exclude_item(shard, None))
    }
    /// One name whose braces and backslashes are escaped, as `engine::outputs::exclude_item` gives it.
    pub fn escaped(item: impl Into<String>) -> Self {
        Self { item: item.into(), meaning: Meaning::Escaped, note: None }
    }
    /// As a person wrote it; braces are ranges.
    pub fn written(item: impl Into<String>) -> Self {
        Self { item: item.into(), meaning: Meaning::Typed, note: None }
    }
    /// Adds a note; an empty one is none.
    #[must_use]
    pub fn with_note(mut self, note: Option<String>) -> Self {
        self.note = note.filter(|note| !note.trim().is_empty());
        self
    }
}

impl Edit {
    /// What it does, for lists of changes and for undo. Raw; make it safe before it is shown.
    pub fn title(&self) -> String {
        match self {
            Self::MoveShards { shards, to } => {
                let what = match shards.as_slice() {
                    [one] => one.to_string(),
                    many => count(many.len() as u64, "shard"),
                };
                match to {
                    Some(to) => format!("move {what} to {to}"),
                    None => format!("take {what} out of the splits"),
                }
            }
            Self::AddSplit { name } => format!("add split {name}"),
            Self::RenameSplit { from, to } => format!("rename split {from} to {to}"),
            Self::RemoveSplit { name } => format!("remove split {name}"),
            Self::Exclude { items } => match items.as_slice() {
                [one] => format!("exclude {}", one.item),
                many => format!("exclude {}", count(many.len() as u64, "item")),
            },
            Self::Include { shard, key: None } => format!("include {shard}"),
            Self::Include { shard, key: Some(key) } => format!("include {shard}/{key}"),
            Self::RemoveItem { index } => format!("remove exclude {}", index + 1),
            Self::RemoveExclude { item } => format!("remove exclude {item}"),
            Self::SetNote { index, note: Some(_) } => format!("note on exclude {}", index + 1),
            Self::SetNote { index, note: None } => format!("remove the note of exclude {}", index + 1),
            Self::ReplaceText { .. } => "edit as text".to_owned(),
            Self::Many { title, .. } => title.clone(),
        }
    }
}

mod name {
    use serde::{Deserialize, Deserializer, Serializer};
    use std::sync::Arc;

    pub(super) fn serialize<S: Serializer>(name: &Arc<str>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(name)
    }
    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<str>, D::Error> {
        String::deserialize(deserializer).map(Arc::from)
    }
}

mod perhaps {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::sync::Arc;

    pub(super) fn serialize<S: Serializer>(name: &Option<Arc<str>>, serializer: S) -> Result<S::Ok, S::Error> {
        name.as_deref().serialize(serializer)
    }
    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Arc<str>>, D::Error> {
        Ok(Option::<String>::deserialize(deserializer)?.map(Arc::from))
    }
}

mod names {
    use serde::{Deserialize, Deserializer, Serializer};
    use std::sync::Arc;

    pub(super) fn serialize<S: Serializer>(names: &[Arc<str>], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(names.iter().map(AsRef::<str>::as_ref))
    }
    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Arc<str>>, D::Error> {
        Ok(Vec::<String>::deserialize(deserializer)?.into_iter().map(Arc::from).collect())
    }
}
