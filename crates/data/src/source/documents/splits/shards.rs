//! Detection of missing files from the numbers in the names of others.

use super::patterns::shard_number;
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of missing files that are listed by name.
const MAX_NAMED: usize = 5;

/// Missing files of one numbered set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingShards {
    /// Number of missing files.
    pub count: u64,
    /// Number of files that the set should have according to the names.
    pub all: u32,
    /// Names of the first missing files.
    pub first: Vec<String>,
}

/// Returns the missing files of each numbered set.
pub(in crate::source) fn missing<'p>(paths: impl Iterator<Item = &'p str>) -> Vec<MissingShards> {
    let mut sets: BTreeMap<(&str, u32, &str), BTreeSet<u32>> = BTreeMap::new();
    for path in paths {
        let name_start = path.rfind('/').map_or(0, |at| at + 1);
        let ends = path.match_indices('-').map(|(at, _)| at).filter(|at| *at >= name_start);
        let numbered = ends.filter_map(|at| Some((path.get(..at)?, shard_number(path.get(at..)?)?))).next_back();
        if let Some((start, (this, all, rest))) = numbered {
            // The text after a number, such as a hash, may differ between the files of a set; the ending does not.
            let ending = rest.find('.').and_then(|at| rest.get(at..)).unwrap_or_default();
            sets.entry((start, all, ending)).or_default().insert(this);
        }
    }
    let missing = sets.into_iter().filter_map(|((start, all, ending), numbers)| {
        let count = u64::from(all) - numbers.range(..all).count() as u64;
        let absent = (0..all).filter(|number| !numbers.contains(number)).take(MAX_NAMED);
        let first = || absent.map(|number| format!("{start}-{number:05}-of-{all:05}{ending}")).collect();
        (count > 0).then(|| MissingShards { count, all, first: first() })
    });
    missing.collect()
}
