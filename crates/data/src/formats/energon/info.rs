//! `.info.json` and its older form `.info.yaml`: the shards and the number of samples in each (docs/formats/energon.md §6).

use super::fields::{self, ContentError};
use super::{layout, ENERGON_VERSION};
use gristmill_core::Outcome;
use gristmill_pycompat::{json_write, yaml_write, Node};
use std::path::Path;

const ACTIVITY: &str = "reading the shard counts";
const KEYS: [&str; 2] = ["energon_version", "shard_counts"];
/// Maximum size of the file, in bytes; far more than 10⁶ shards need.
const LIMIT_BYTES: u64 = 1 << 30;

/// Content of `.info.json`. The position of a shard is its `tar_file_id`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Info {
    /// Format version that wrote the file.
    pub energon_version: Option<String>,
    /// Shard name → number of samples, in index order.
    pub shard_counts: Vec<(String, u64)>,
}

impl Info {
    /// Creates the content with the current format version.
    pub fn new(shard_counts: Vec<(String, u64)>) -> Self {
        Self { energon_version: Some(ENERGON_VERSION.to_owned()), shard_counts }
    }

    /// Reads `.info.json`, or `.info.yaml` if that is missing; returns `None` when the data set is not prepared.
    pub fn read(root: &Path) -> Outcome<Option<Self>> {
        Self::read_with(root, fields::read_text)
    }

    /// Like [`read`](Self::read), but uses the cached data of stores, which may be out of date; sufficient for display.
    pub fn read_cached(root: &Path) -> Outcome<Option<Self>> {
        Self::read_with(root, fields::read_cached_text)
    }

    fn read_with(root: &Path, read_text: fields::ReadText) -> Outcome<Option<Self>> {
        let json = layout::in_nv_meta(root, layout::INFO_JSON);
        if let Some(text) = read_text(ACTIVITY, &json, LIMIT_BYTES)? {
            return Self::parse_json(&text).map(Some).map_err(|error| error.into_failure(ACTIVITY, &json));
        }
        let yaml = layout::in_nv_meta(root, layout::INFO_YAML);
        match read_text(ACTIVITY, &yaml, LIMIT_BYTES)? {
            Some(text) => {
                let mut info = Self::parse_yaml(&text).map_err(|error| error.into_failure(ACTIVITY, &yaml))?;
                // `.info.yaml` has sorted keys, so the order of the shards in the index is restored: it is the order of their path
                // components.
                if info.shard_counts.is_sorted_by(|a, b| a.0 < b.0) {
                    info.shard_counts.sort_by(|a, b| a.0.split('/').cmp(b.0.split('/')));
                }
                Ok(Some(info))
            }
            None => Ok(None),
        }
    }

    /// Parses the text of an `.info.json`.
    pub fn parse_json(text: &str) -> Result<Self, ContentError> {
        Self::from_node(fields::parse_json(text)?)
    }

    /// Parses the text of an `.info.yaml`.
    pub fn parse_yaml(text: &str) -> Result<Self, ContentError> {
        Self::from_node(fields::parse_yaml(text)?)
    }

    fn from_node(node: Node) -> Result<Self, ContentError> {
        let mut info = Self::default();
        let mut counted = false;
        for (key, value) in fields::map(node, "the file")? {
            match key.as_str() {
                "energon_version" => info.energon_version = version(value)?,
                "shard_counts" => {
                    info.shard_counts = counts(value)?;
                    counted = true;
                }
                _ => return Err(fields::unknown_key(&key, "the file", &KEYS)),
            }
        }
        if counted {
            Ok(info)
        } else {
            Err(ContentError::new("the key 'shard_counts' is missing"))
        }
    }

    fn to_node(&self) -> Node {
        let counts = self.shard_counts.iter().map(|(name, n)| (name.clone(), Node::Int((*n).into()))).collect();
        let version = self.energon_version.clone().map_or(Node::Null, Node::Str);
        Node::Map(vec![(KEYS[0].to_owned(), version), (KEYS[1].to_owned(), Node::Map(counts))])
    }

    /// Returns the content of `.info.json`.
    pub fn to_json(&self) -> String {
        json_write::indent2(&self.to_node())
    }

    /// Returns the content of `.info.yaml`: keys are sorted, so the shards are in the order of their names.
    pub fn to_yaml(&self) -> String {
        yaml_write::dump_sorted(&self.to_node())
    }

    /// Returns the number of samples in all shards.
    pub fn samples(&self) -> u64 {
        self.shard_counts.iter().map(|(_, n)| n).sum()
    }
}

fn version(value: Node) -> Result<Option<String>, ContentError> {
    match value {
        Node::Null => Ok(None),
        value => fields::text(value, "'energon_version'").map(Some),
    }
}

fn counts(value: Node) -> Result<Vec<(String, u64)>, ContentError> {
    let entries = fields::map(value, "'shard_counts'")?;
    let count = |(name, value): (String, Node)| match value {
        Node::Int(n) if u64::try_from(n).is_ok() => Ok((name, n as u64)),
        other => Err(ContentError::new(format!(
            "the count of the shard '{name}' must be a whole number of 0 or more, here is {}",
            other.describe()
        ))),
    };
    entries.into_iter().map(count).collect()
}

#[cfg(test)]
#[path = "info_tests.rs"]
mod tests;
