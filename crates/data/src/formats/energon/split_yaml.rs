//! `split.yaml` and its fallback `split.json`: splits and excludes (docs/formats/energon.md §7).

use super::fields::{self, ContentError};
use super::layout;
use gristmill_core::text::bytes as text_size;
use gristmill_core::{Failure, Outcome, Problem, ProblemKind, Subject};
use gristmill_pycompat::braces::{self, BraceError};
use gristmill_pycompat::{yaml_read, yaml_write, Node};
use gristmill_storage::files;
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// Maximum number of names to which the brace expressions of one file expand, so that a small file cannot exhaust the memory.
const MAX_EXPANDED: usize = 4_000_000;

const ACTIVITY: &str = "reading the splits";
const KEYS: [&str; 2] = ["split_parts", "exclude"];

/// Content of `split.yaml`, with items as written and braces not expanded.
///
/// Two files are equal if their splits and excludes are, regardless of the lines of keys.
#[derive(Clone, Debug, Default)]
pub struct SplitFile {
    /// Split name → shard expressions.
    pub split_parts: Vec<(String, Vec<String>)>,
    /// `SHARD` or `SHARD/KEY` expressions.
    pub exclude: Vec<String>,
    /// Lines of the key `exclude`, counted from 1, if it occurs more than once; the loader uses the last list.
    pub exclude_lines: Vec<u64>,
}

impl PartialEq for SplitFile {
    fn eq(&self, other: &Self) -> bool {
        (&self.split_parts, &self.exclude) == (&other.split_parts, &other.exclude)
    }
}

impl Eq for SplitFile {}

/// An item whose braces cannot be expanded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadItem {
    /// Split of the item; `None` for an exclude.
    pub split: Option<String>,
    /// The item as written.
    pub item: String,
    /// Reason.
    pub error: BraceError,
}

impl SplitFile {
    /// Reads `split.yaml`, or `split.json` if that is missing; returns `None` when neither exists.
    pub fn read(root: &Path) -> Outcome<Option<Self>> {
        let yaml = layout::in_nv_meta(root, layout::SPLIT_YAML);
        if files::exists(&yaml) {
            return Self::read_file(&yaml);
        }
        Self::read_file(&layout::in_nv_meta(root, layout::SPLIT_JSON))
    }

    /// Reads a file whose name decides the format: JSON with the extension `json`, otherwise YAML. Returns `None` when it is missing.
    pub fn read_file(path: &Path) -> Outcome<Option<Self>> {
        let is_json = path.extension().is_some_and(|e| e == "json");
        let Some(text) = fields::read_text(ACTIVITY, path, yaml_read::MAX_BYTES as u64)? else { return Ok(None) };
        let parsed = if is_json { Self::parse_json(&text) } else { Self::parse(&text) };
        parsed.map(Some).map_err(|error| error.into_failure(ACTIVITY, path))
    }

    /// Parses the text of a `split.yaml`.
    pub fn parse(text: &str) -> Result<Self, ContentError> {
        let (node, lines) = fields::parse_repeated(text, KEYS[1])?;
        let mut file = Self::from_node(node)?;
        file.exclude_lines = if lines.len() > 1 { lines } else { Vec::new() };
        Ok(file)
    }

    /// Returns the problem of a repeated key `exclude` in the file at this path; see [`repeated_excludes`].
    pub fn repeated_excludes(&self, path: &Path) -> Option<Problem> {
        repeated_excludes(&self.exclude_lines, path)
    }

    /// Parses the text of a `split.json`.
    pub fn parse_json(text: &str) -> Result<Self, ContentError> {
        Self::from_node(fields::parse_json(text)?)
    }

    pub(super) fn from_node(node: Node) -> Result<Self, ContentError> {
        let mut file = Self::default();
        let mut has_parts = false;
        for (key, value) in fields::map(node, "the file")? {
            match key.as_str() {
                "split_parts" => {
                    has_parts = true;
                    for (name, items) in fields::map(value, "'split_parts'")? {
                        let items = fields::texts(items, &format!("the split '{name}'"))?;
                        file.split_parts.push((name, items));
                    }
                }
                "exclude" => file.exclude = fields::texts(value, "'exclude'")?,
                _ => return Err(fields::unknown_key(&key, "the file", &KEYS)),
            }
        }
        if has_parts {
            Ok(file)
        } else {
            Err(ContentError::new("the key 'split_parts' is missing"))
        }
    }

    fn to_node(&self) -> Node {
        let parts = self.split_parts.iter().map(|(name, items)| (name.clone(), Node::strings(items.clone()))).collect();
        Node::Map(vec![
            (KEYS[0].to_owned(), Node::Map(parts)),
            (KEYS[1].to_owned(), Node::strings(self.exclude.clone())),
        ])
    }

    /// Returns the content of `split.yaml`, lists unchanged.
    pub fn render(&self) -> String {
        yaml_write::dump_for_loader(&self.to_node())
    }

    /// Returns the splits with their shard names, braces expanded. Items that cannot be expanded are returned separately.
    pub fn expanded(&self) -> (Vec<(String, Vec<String>)>, Vec<BadItem>) {
        let (mut bad, mut left) = (Vec::new(), MAX_EXPANDED);
        let splits = self.split_parts.iter();
        let splits =
            splits.map(|(name, items)| (name.clone(), expand_all(Some(name), items, &mut left, &mut bad))).collect();
        (splits, bad)
    }

    /// Returns the exclude items, braces expanded. Items that cannot be expanded are returned separately.
    pub fn expanded_excludes(&self) -> (Vec<String>, Vec<BadItem>) {
        let (mut bad, mut left) = (Vec::new(), MAX_EXPANDED);
        (expand_all(None, &self.exclude, &mut left, &mut bad), bad)
    }
}

/// Refuses to write a file that would be larger than its readers accept. `activity` is the name of the step in the failure.
pub fn check_size(activity: &str, path: &Path, bytes: u64) -> Outcome<()> {
    let most = yaml_read::MAX_BYTES as u64;
    if bytes <= most {
        return Ok(());
    }
    let why =
        format!("it would have {}, and at most {} are read; nothing was written", text_size(bytes), text_size(most));
    let hint = "exclude whole shards, or samples by ranges in braces, such as SHARD/{000..999}";
    Err(Failure::data(activity, why).on(Subject::path(path)).with_hint(hint))
}

/// Returns the problem of a file with the key `exclude` on several lines; `None` if there is at most one.
pub fn repeated_excludes(lines: &[u64], path: &Path) -> Option<Problem> {
    let (last, earlier) = lines.split_last()?;
    let earlier: Vec<String> = earlier.iter().map(u64::to_string).collect();
    let (lines, lists) = match earlier.as_slice() {
        [one] => (format!("line {one}"), "the list there has"),
        many => (format!("lines {}", many.join(", ")), "the lists there have"),
    };
    let message = format!(
        "the key 'exclude' is on {lines} and again on line {last}; the loader takes the last one, {lists} no effect"
    );
    let mut subject = Subject::path(path);
    subject.line = Some(*last);
    let hint = "join the lists under one key; gristmill splits does so with the first change it writes";
    Some(Problem::problem(ProblemKind::RepeatedKey, subject, message).with_hint(hint))
}

/// Returns a problem for each split whose samples are all excluded one by one, given the number of samples of each shard. The loader does not
/// fail on such a split: it looks for a sample forever.
pub fn splits_without_samples(
    splits: &[(String, Vec<String>)],
    excludes: &[String],
    counts: &HashMap<&str, u64>,
) -> Vec<Problem> {
    let mut keys: HashMap<&str, HashSet<&str>> = HashMap::new();
    let mut shards = HashSet::new();
    for item in excludes {
        if counts.contains_key(item.as_str()) {
            shards.insert(item.as_str());
            continue;
        }
        let mut divided = item.match_indices('/').map(|(at, _)| (&item[..at], &item[at + 1..]));
        if let Some((shard, key)) = divided.find(|(shard, _)| counts.contains_key(shard)) {
            keys.entry(shard).or_default().insert(key);
        }
    }
    let is_without = |(_, of): &&(String, Vec<String>)| {
        let of = of.iter().map(String::as_str).filter(|shard| !shards.contains(shard));
        let (mut samples, mut left) = (0, 0);
        for shard in of {
            let count = counts.get(shard).copied().unwrap_or(0);
            samples += count;
            left += count.saturating_sub(keys.get(shard).map_or(0, |keys| keys.len() as u64));
        }
        samples > 0 && left == 0
    };
    let problem = |(name, _): &(String, Vec<String>)| {
        let message = format!("every sample of split '{name}' is excluded: a trainer that uses it waits forever");
        let problem = Problem::problem(ProblemKind::EmptySplit, Subject::field(name.as_str()), message);
        problem.with_hint("remove excludes, or divide the shards into other splits")
    };
    splits.iter().filter(is_without).map(problem).collect()
}

/// Expands the braces of items within a budget: for each item that denotes several names, `left` is reduced by their number minus one.
fn expand_all(split: Option<&String>, items: &[String], left: &mut usize, bad: &mut Vec<BadItem>) -> Vec<String> {
    let mut names = Vec::with_capacity(items.len());
    for item in items {
        match braces::expand(item, braces::MAX_RESULTS.min((*left).max(1))) {
            Ok(expanded) => {
                *left = left.saturating_sub(expanded.len().saturating_sub(1));
                names.extend(expanded);
            }
            Err(error) => bad.push(BadItem { split: split.cloned(), item: item.clone(), error }),
        }
    }
    names
}

#[cfg(test)]
#[path = "split_yaml_tests.rs"]
mod tests;
