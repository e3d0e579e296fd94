//! Filters samples by split, parts, exclusion, size, key and problem.

use super::matches::{BitsBuilder, MatchesBuilder};
use super::{Catalog, KeyQuery, Marks, Matches, ProblemList, SampleAt, VisitFields, VisitedSample};
use gristmill_core::{Cancel, Outcome};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Minimum time between two published results.
const PUBLISH_INTERVAL: Duration = Duration::from_millis(50);
/// Samples between two checks whether to publish.
const PROGRESS_EVERY: u64 = 4_096;

/// A choice of split.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SplitChoice {
    /// Shards of this split.
    Named(Arc<str>),
    /// Shards that are in no split.
    Loose,
}

/// The conditions on a sample; every condition that is set must hold.
#[derive(Clone, Debug, Default)]
pub struct SampleFilter {
    /// The shard of the sample must be in this split.
    pub split: Option<SplitChoice>,
    /// The sample must have each of these parts.
    pub has: Vec<String>,
    /// The sample must have none of these parts.
    pub lacks: Vec<String>,
    /// `true`: the sample must be excluded, by its own name or with its shard; `false`: it must not be; `None`: either.
    pub excluded: Option<bool>,
    /// Minimum size of the sample in bytes, including headers and padding of the archive.
    pub min_bytes: Option<u64>,
    /// Maximum size of the sample in bytes, including headers and padding of the archive.
    pub max_bytes: Option<u64>,
    /// The key must match.
    pub key: Option<KeyQuery>,
    /// Whether the sample must have a known problem.
    pub problems: bool,
}

impl SampleFilter {
    /// Whether the filter accepts every sample.
    pub fn is_empty(&self) -> bool {
        self.split.is_none()
            && self.has.is_empty()
            && self.lacks.is_empty()
            && self.excluded.is_none()
            && self.min_bytes.is_none()
            && self.max_bytes.is_none()
            && self.key.is_none()
            && !self.problems
    }

    /// Returns the filter in words: `in val · has txt · not excluded`. Empty for an empty filter; names are raw.
    pub fn title(&self) -> String {
        let size = gristmill_core::text::bytes;
        let mut words = Vec::new();
        match &self.split {
            Some(SplitChoice::Named(name)) => words.push(format!("in {name}")),
            Some(SplitChoice::Loose) => words.push("in no split".to_owned()),
            None => {}
        }
        words.extend(self.has.iter().map(|part| format!("has {part}")));
        words.extend(self.lacks.iter().map(|part| format!("lacks {part}")));
        words.extend(self.excluded.map(|yes| if yes { "excluded" } else { "not excluded" }.to_owned()));
        words.extend(self.min_bytes.map(|bytes| format!("at least {}", size(bytes))));
        words.extend(self.max_bytes.map(|bytes| format!("at most {}", size(bytes))));
        match &self.key {
            Some(KeyQuery::Prefix(text)) => words.push(format!("key begins with {text}")),
            Some(KeyQuery::Substring(text)) => words.push(format!("key holds {text}")),
            Some(KeyQuery::Regex(pattern)) => words.push(format!("key like /{pattern}/")),
            None => {}
        }
        if self.problems {
            words.push("with a problem".to_owned());
        }
        words.join(" · ")
    }

    /// Decides about a whole shard without reading its samples: `Some(false)` if none matches, `Some(true)` if all match, otherwise `None`.
    fn match_group(&self, group: u32, marks: &Marks) -> Option<bool> {
        let in_split = match &self.split {
            Some(SplitChoice::Named(name)) => marks.splits_of(group).any(|split| split == name),
            Some(SplitChoice::Loose) => marks.split_of(group).is_none(),
            None => true,
        };
        if !in_split {
            return Some(false);
        }
        let shard_excluded = marks.is_shard_excluded(group);
        let names_some = marks.samples_named_in(group) > 0 && !shard_excluded;
        match self.excluded {
            Some(true) if !shard_excluded && !names_some => return Some(false),
            Some(false) if shard_excluded => return Some(false),
            _ => {}
        }
        let asks_samples = (self.excluded.is_some() && names_some) || self.needs_samples();
        (!asks_samples).then_some(true)
    }

    fn needs_samples(&self) -> bool {
        !self.has.is_empty()
            || !self.lacks.is_empty()
            || self.min_bytes.is_some()
            || self.max_bytes.is_some()
            || self.key.is_some()
            || self.problems
    }

    fn required_fields(&self, group: u32, marks: &Marks) -> VisitFields {
        VisitFields {
            keys: self.key.is_some() || (self.excluded.is_some() && marks.samples_named_in(group) > 0),
            sizes: self.min_bytes.is_some() || self.max_bytes.is_some(),
            parts: !self.has.is_empty() || !self.lacks.is_empty(),
        }
    }

    /// Whether a sample matches, in a group for which [`match_group`](Self::match_group) returned `None`.
    fn takes(&self, group: u32, sample: &VisitedSample<'_>, marks: &Marks, problems: &ProblemList) -> bool {
        let excluded = || marks.is_shard_excluded(group) || marks.is_sample_named(group, sample.key);
        self.min_bytes.is_none_or(|least| sample.byte_size >= least)
            && self.max_bytes.is_none_or(|most| sample.byte_size <= most)
            && self.has.iter().all(|part| sample.parts.contains(&part.as_str()))
            && !self.lacks.iter().any(|part| sample.parts.contains(&part.as_str()))
            && self.key.as_ref().is_none_or(|key| key.matches(sample.key))
            && self.excluded.is_none_or(|wanted| excluded() == wanted)
            && (!self.problems || problems.get(SampleAt { group, index: sample.index }).is_some())
    }
}

/// Filters a data set and publishes the matches about twenty times a second, and at the end. A shard that cannot be read is recorded and
/// skipped. An error means that the search was cancelled.
pub fn run(
    catalog: &dyn Catalog,
    filter: &SampleFilter,
    marks: &Marks,
    problems: &ProblemList,
    cancel: &Cancel,
    publish: &mut dyn FnMut(Arc<Matches>),
) -> Outcome<()> {
    let mut builder = MatchesBuilder::default();
    let mut clock = Clock { last: Instant::now(), is_running: false };
    let mut group = 0;
    while let Some(known) = catalog.groups().group(group) {
        cancel.check()?;
        match filter.match_group(group, marks) {
            Some(all) => builder.whole_group(if all { known.samples } else { 0 }),
            None => {
                let mut bits = BitsBuilder::default();
                let mut seen = 0u64;
                let looked = catalog.visit(group, filter.required_fields(group, marks), cancel, &mut |sample| {
                    if filter.takes(group, &sample, marks, problems) {
                        bits.add(sample.index);
                    }
                    seen += 1;
                    if seen.is_multiple_of(PROGRESS_EVERY) && clock.is_due() {
                        publish(Arc::new(builder.snapshot(Some(&bits), false)));
                    }
                    true
                });
                match looked {
                    Err(failure) if failure.is_cancelled() => return Err(failure),
                    Err(failure) => builder.failed(group, Arc::from(failure.why)),
                    Ok(()) => {}
                }
                builder.finish_group(&bits);
            }
        }
        if clock.is_due() {
            publish(Arc::new(builder.snapshot(None, false)));
        }
        group += 1;
    }
    cancel.check()?;
    publish(Arc::new(builder.snapshot(None, catalog.groups().is_complete)));
    Ok(())
}

struct Clock {
    last: Instant,
    is_running: bool,
}

impl Clock {
    /// Whether to publish now. The first call always returns true, so that the first matches appear at once.
    fn is_due(&mut self) -> bool {
        if self.is_running && self.last.elapsed() < PUBLISH_INTERVAL {
            return false;
        }
        self.is_running = true;
        self.last = Instant::now();
        true
    }
}
