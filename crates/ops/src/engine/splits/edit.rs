//! Edits of splits and excludes as values, for drafts and commands.

use crate::engine::outputs::exclude_item;
use gristmill_core::text::count;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// One change. Names of shards are those in `.info.json`, not escaped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Edit {
    /// Moves shards from their splits to another one.
    MoveShards {
        /// The shards to move.
        #[serde(with = "names")]
        shards: Vec<Arc<str>>,
        /// The target split; `None` puts them in no split.
        #[serde(with = "perhaps")]
        to: Option<Arc<str>>,
    },
    /// Adds an empty split.
    AddSplit {
        /// Name of the new split.
        name: String,
    },
    /// Renames a split.
    RenameSplit {
        /// Current name of the split.
        #[serde(with = "name")]
        from: Arc<str>,
        /// New name of the split.
        to: String,
    },
    /// Removes a split. Its shards are then in no split.
    RemoveSplit {
        /// Name of the split.
        #[serde(with = "name")]
        name: Arc<str>,
    },
    /// Appends excludes. Existing ones are not changed.
    Exclude {
        /// The excludes to add.
        items: Vec<ExcludeItem>,
    },
    /// Removes a shard or a sample from all excludes that contain it. A brace range is divided if necessary.
    Include {
        /// Name of the shard.
        #[serde(with = "name")]
        shard: Arc<str>,
        /// The key of the sample; `None` means the shard as a whole.
        #[serde(with = "perhaps")]
        key: Option<Arc<str>>,
    },
    /// Removes an exclude by its position.
    RemoveItem {
        /// Position of the exclude, from 0.
        index: usize,
    },
    /// Removes the first exclude with this text.
    RemoveExclude {
        /// The text in the file, after quotes are resolved.
        item: String,
    },
    /// Sets or removes the note of an exclude.
    SetNote {
        /// Position of the exclude, from 0.
        index: usize,
        /// The note, on one line; `None` removes it.
        note: Option<String>,
    },
    /// Replaces the whole text, after the user edited it as text.
    ReplaceText {
        /// The new text.
        text: String,
    },
    /// Several edits that are undone together.
    Many {
        /// A description of the combined edit: `balance 8,1,1`.
        title: String,
        /// The edits, in order.
        edits: Vec<Edit>,
    },
}

/// An exclude to add.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExcludeItem {
    /// A shard, `SHARD/KEY`, or a brace range of either.
    pub item: String,
    /// How the text is interpreted.
    #[serde(default)]
    pub meaning: Meaning,
    /// Reason for the exclude; written as a comment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// The interpretation of the text of an [`ExcludeItem`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Meaning {
    /// As typed by the user: braces are ranges and a backslash escapes the next character, unless the text can only be a name.
    #[default]
    Typed,
    /// One name of the index whose braces and backslashes are already escaped. It is written unchanged, and never interpreted as a range.
    Escaped,
}

impl ExcludeItem {
    /// Creates an exclude of one sample from the unescaped names of its shard and key.
    pub fn sample(shard: &str, key: &str) -> Self {
        Self::escaped(exclude_item(shard, Some(key)))
    }
    /// Creates an exclude of a shard from its unescaped name.
    pub fn shard(shard: &str) -> Self {
        Self::escaped(exclude_item(shard, None))
    }
    /// Creates an exclude from a name whose braces and backslashes are escaped, as returned by `engine::outputs::exclude_item`.
    pub fn escaped(item: impl Into<String>) -> Self {
        Self { item: item.into(), meaning: Meaning::Escaped, note: None }
    }
    /// Creates an exclude from text written by the user, in which braces are ranges.
    pub fn written(item: impl Into<String>) -> Self {
        Self { item: item.into(), meaning: Meaning::Typed, note: None }
    }
    /// Sets the note, unless it is empty.
    #[must_use]
    pub fn with_note(mut self, note: Option<String>) -> Self {
        self.note = note.filter(|note| !note.trim().is_empty());
        self
    }
}

impl Edit {
    /// Returns a description for lists of changes and for undo. Raw.
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
