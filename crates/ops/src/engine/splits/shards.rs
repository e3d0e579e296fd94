//! The shards of the data set by name, and the resolution of excludes and shard expressions to them.

use super::view::{ExcludeView, Matches, Names};
use gristmill_pycompat::braces;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

/// Shards in the order of `.info.json`.
#[derive(Debug, Default)]
pub(super) struct Shards {
    list: Vec<(Arc<str>, u64)>,
    by_name: HashMap<Arc<str>, u32>,
}

impl Shards {
    pub(super) fn new(counts: Vec<(String, u64)>) -> Self {
        let list: Vec<(Arc<str>, u64)> = counts.into_iter().map(|(name, samples)| (name.into(), samples)).collect();
        let by_name = (0..).zip(&list).map(|(id, (name, _))| (Arc::clone(name), id)).collect();
        Self { list, by_name }
    }
    pub(super) fn list(&self) -> &[(Arc<str>, u64)] {
        &self.list
    }
    pub(super) fn id(&self, name: &str) -> Option<u32> {
        self.by_name.get(name).copied()
    }
    pub(super) fn name(&self, id: u32) -> Option<&Arc<str>> {
        self.list.get(id as usize).map(|(name, _)| name)
    }
    pub(super) fn samples(&self, id: u32) -> u64 {
        self.list.get(id as usize).map_or(0, |(_, samples)| *samples)
    }
    /// Returns the shard and the key that a name refers to. The shard is the whole name, or the part before one of its slashes.
    pub(super) fn shard_and_key<'n>(&self, name: &'n str) -> Option<(u32, Option<&'n str>)> {
        if let Some(id) = self.id(name) {
            return Some((id, None));
        }
        let places = name.match_indices('/');
        places.map(|(at, _)| name.split_at(at)).find_map(|(shard, key)| Some((self.id(shard)?, key.get(1..))))
    }
}

/// Returns the names in an expression. Fails if its braces cannot be expanded.
pub(super) fn expanded(item: &str) -> Result<Cow<'_, [String]>, braces::BraceError> {
    braces::expand(item, braces::MAX_RESULTS).map(Cow::Owned)
}

/// Whether an expression is a literal name.
pub(super) fn is_plain(item: &str) -> bool {
    !item.contains(['{', '}', '\\'])
}

/// Whether an expression could contain a name: the text before its first brace or backslash must be a prefix of the name.
pub(super) fn may_name(item: &str, name: &str) -> bool {
    match item.find(['{', '}', '\\']) {
        None => item == name,
        Some(at) => name.as_bytes().starts_with(item.as_bytes().get(..at).unwrap_or_default()),
    }
}

/// Returns the view of an exclude whose samples have not been looked up.
pub(super) fn exclude_view(item: &Arc<str>, note: Option<&Arc<str>>, is_new: bool, shards: &Shards) -> ExcludeView {
    let view = |names, matches, shards| ExcludeView {
        item: Arc::clone(item),
        note: note.cloned(),
        names,
        matches,
        is_new,
        shards,
    };
    if is_plain(item) {
        return match shards.shard_and_key(item) {
            Some((id, None)) => view(Names::Shard, Matches::Some(1), Arc::from([id].as_slice())),
            Some((_, Some(_))) => view(Names::Sample, Matches::Unknown, Arc::default()),
            None => view(Names::NoShard, Matches::Nothing, Arc::default()),
        };
    }
    let Ok(names) = expanded(item) else { return view(Names::Broken, Matches::Nothing, Arc::default()) };
    let (mut whole, mut samples) = (Vec::new(), 0u64);
    for name in names.iter() {
        match shards.shard_and_key(name) {
            Some((id, None)) => whole.push(id),
            Some((_, Some(_))) => samples += 1,
            None => {}
        }
    }
    let named = match (names.len(), whole.len(), samples) {
        (_, 0, 0) => Names::NoShard,
        (1, 1, _) => Names::Shard,
        (1, _, _) => Names::Sample,
        (many, _, _) => Names::Range(many as u64),
    };
    let matches = match (whole.len() as u64, samples) {
        (0, 0) => Matches::Nothing,
        (shards, 0) => Matches::Some(shards),
        _ => Matches::Unknown,
    };
    view(named, matches, whole.into())
}
