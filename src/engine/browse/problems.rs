//! Samples with something wrong, in the order of the data set: what the last run reported, what the scan found, and what was met
//! while looking.

use super::{BrowseSample, Catalog, SampleAt};
use crate::model::{Cancel, Outcome};
use crate::storage::own::OwnFolder;
use crate::storage::read::read_whole;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The largest report that is read, in bytes.
const LARGEST_REPORT: u64 = 1 << 28;
/// Problems that are kept; a report keeps far fewer.
const MOST: usize = 100_000;

/// Places with problems; each has the first reason that was given for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProblemList {
    places: BTreeMap<SampleAt, Arc<str>>,
}

impl ProblemList {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// What is wrong with a sample.
    pub fn get(&self, at: SampleAt) -> Option<&Arc<str>> {
        self.places.get(&at)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (SampleAt, &Arc<str>)> {
        self.places.iter().map(|(at, why)| (*at, why))
    }

    /// The first one behind a sample.
    pub fn after(&self, at: SampleAt) -> Option<SampleAt> {
        let behind = (std::ops::Bound::Excluded(at), std::ops::Bound::Unbounded);
        self.places.range(behind).next().map(|(at, _)| *at)
    }

    /// The last one before a sample.
    pub fn before(&self, at: SampleAt) -> Option<SampleAt> {
        self.places.range(..at).next_back().map(|(at, _)| *at)
    }

    /// Adds one; whether it is new.
    pub fn add(&mut self, at: SampleAt, why: Arc<str>) -> bool {
        if self.places.len() >= MOST || self.places.contains_key(&at) {
            return false;
        }
        self.places.insert(at, why);
        true
    }

    /// Adds the defects of a window; whether there was a new one.
    pub fn add_defects(&mut self, window: &[BrowseSample]) -> bool {
        let mut is_new = false;
        for sample in window {
            if let Some(defect) = &sample.defect {
                is_new |= self.add(sample.at, Arc::clone(defect));
            }
        }
        is_new
    }

    /// Adds what another list has.
    pub fn merge(&mut self, other: &Self) {
        for (at, why) in other.iter() {
            self.add(at, Arc::clone(why));
        }
    }
}

/// The part of a report that is wanted here.
#[derive(Deserialize)]
struct Report {
    #[serde(default)]
    result: ReportedResult,
}

#[derive(Default, Deserialize)]
struct ReportedResult {
    #[serde(default)]
    problems: Vec<Reported>,
}

#[derive(Deserialize)]
struct Reported {
    #[serde(default)]
    severity: String,
    #[serde(default)]
    message: String,
    #[serde(default)]
    subject: ReportedSubject,
}

#[derive(Default, Deserialize)]
struct ReportedSubject {
    shard: Option<String>,
    key: Option<String>,
    byte_offset: Option<u64>,
}

/// The problems (not the notes) in the report of the last run that are about a sample or a place in a shard. A report that is not
/// there, or cannot be understood, has none.
pub fn reported(catalog: &dyn Catalog, cancel: &Cancel) -> Outcome<ProblemList> {
    let mut list = ProblemList::default();
    let own = OwnFolder::for_webdataset(catalog.root());
    let Some(bytes) = read_whole(&own.report(), LARGEST_REPORT)? else { return Ok(list) };
    let Ok(report) = serde_json::from_slice::<Report>(&bytes) else { return Ok(list) };
    for problem in report.result.problems.into_iter().filter(|problem| problem.severity != "note") {
        cancel.check()?;
        let subject = problem.subject;
        let at = match (&subject.key, &subject.shard, subject.byte_offset) {
            (Some(key), shard, _) => named(catalog, shard.as_deref(), key, cancel)?,
            (None, Some(shard), Some(offset)) => sample_over(catalog, shard, offset, cancel)?,
            _ => None,
        };
        if let Some(at) = at {
            list.add(at, Arc::from(problem.message));
        }
    }
    Ok(list)
}

/// A report names a sample, or an entry of it.
fn named(catalog: &dyn Catalog, shard: Option<&str>, name: &str, cancel: &Cancel) -> Outcome<Option<SampleAt>> {
    if let Some(at) = catalog.locate(shard, name, cancel)? {
        return Ok(Some(at));
    }
    match crate::source::tar::split_name(name) {
        Some((key, _)) => catalog.locate(shard, key, cancel),
        None => Ok(None),
    }
}

/// The sample whose bytes hold an offset of a shard.
fn sample_over(catalog: &dyn Catalog, shard: &str, offset: u64, cancel: &Cancel) -> Outcome<Option<SampleAt>> {
    let groups = catalog.groups();
    let Some(group) = groups.named(shard) else { return Ok(None) };
    let (mut low, mut high) = (0, groups.group(group).map_or(0, |group| group.samples));
    while low < high {
        let index = low + (high - low) / 2;
        let Some(sample) = catalog.samples(SampleAt { group, index }, 1, cancel)?.pop() else { return Ok(None) };
        if sample.at.group != group {
            return Ok(None);
        }
        if sample.byte_offset.saturating_add(sample.byte_size) <= offset {
            low = index + 1;
        } else if sample.byte_offset > offset {
            high = index;
        } else {
            return Ok(Some(sample.at));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_are_gone_through_forward_and_back_and_keep_their_first_reason() {
        let at = |group, index| SampleAt { group, index };
        let mut list = ProblemList::default();
        assert!(list.add(at(1, 5), Arc::from("a")) && list.add(at(0, 9), Arc::from("b")));
        assert!(!list.add(at(1, 5), Arc::from("c")));
        assert_eq!(list.get(at(1, 5)).map(|why| &**why), Some("a"));
        assert_eq!(list.after(at(0, 0)), Some(at(0, 9)));
        assert_eq!(list.after(at(0, 9)), Some(at(1, 5)));
        assert_eq!(list.after(at(1, 5)), None);
        assert_eq!(list.before(at(1, 5)), Some(at(0, 9)));
        assert_eq!(list.before(at(0, 9)), None);
        let mut all = ProblemList::default();
        all.merge(&list);
        assert_eq!(all, list);
    }
}
