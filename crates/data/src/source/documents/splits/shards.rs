//! Files that are missing by the numbers in the names of others.

use super::patterns::shard_number;
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of missing files that are named.
const MAX_NAMED: usize = 5;

/// Missing files of one numbered set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingShards {
    /// Their number.
    pub count: u64,
    /// Number of files that the set has by its names.
    pub all: u32,
    /// The first ones.
    pub first: Vec<String>,
}

/// Returns what is missing of each numbered set.
pub(in crate::source) fn missing<'p>(paths: impl Iterator<Item = &'p str>) -> Vec<MissingShards> {
    let mut sets: BTreeMap<(&str, u32, &str), BTreeSet<u32>> = BTreeMap::new();
    for path in paths {
        let name_start = path.rfind('/').map_or(0, |at| at + 1);
        let ends = path.match_indices('-').map(|(at, _)| at).filter(|at| *at >= name_start);
        let numbered = ends.filter_map(|at| Some((path.get(..at)?, shard_number(path.get(at..)?)?))).next_back();
        if let Some((start, (this, all, rest))) = numbered {
            // What follows a number may differ from file to file, such as a hash; the ending does not.
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
