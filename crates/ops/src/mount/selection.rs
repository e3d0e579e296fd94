//! The samples that a folder shows: all, those of a split that training reads, or the excluded ones.

use crate::engine::browse::{Groups, Marks};
use gristmill_core::{Failure, Outcome, Subject};
use gristmill_data::formats::energon::layout;
use gristmill_data::formats::energon::split_yaml::{BadItem, SplitFile};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// A rule that selects samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Selection {
    /// Every indexed sample.
    All,
    /// The samples of a split, except excluded ones.
    Split(Arc<str>),
    /// The samples that are excluded, individually or with their shard.
    Excluded,
}

impl Selection {
    /// Whether there is a folder for this shard.
    pub(super) fn has_shard(&self, marks: &Marks, group: u32) -> bool {
        match self {
            Self::All => true,
            Self::Split(name) => !marks.is_shard_excluded(group) && marks.splits_of(group).any(|known| known == name),
            Self::Excluded => marks.is_shard_excluded(group) || marks.samples_named_in(group) > 0,
        }
    }

    /// Whether a sample is shown.
    pub(super) fn has_sample(&self, marks: &Marks, group: u32, key: &str) -> bool {
        self.has_shard(marks, group)
            && match self {
                Self::All => true,
                Self::Split(_) => !marks.is_sample_named(group, key),
                Self::Excluded => marks.is_shard_excluded(group) || marks.is_sample_named(group, key),
            }
    }
}

/// The samples that a folder shows.
pub(super) struct Scope<'a> {
    /// The splits and excludes.
    pub(super) marks: &'a Marks,
    /// The rule that selects samples.
    pub(super) selection: &'a Selection,
    /// The range of sample numbers.
    pub(super) range: Range<u64>,
}

/// Reads the splits and excludes of a data set.
pub(super) fn read_marks(root: &Path, groups: &Groups) -> Outcome<Marks> {
    let Some(file) = SplitFile::read(root)? else { return Ok(Marks::new::<String>(groups, &[], &[])) };
    let ((splits, bad), (excludes, bad_excludes)) = (file.expanded(), file.expanded_excludes());
    if let Some(BadItem { item, error, .. }) = bad.into_iter().chain(bad_excludes).next() {
        let why = format!("the braces of '{item}' cannot be expanded: {error}");
        return Err(
            Failure::data("reading the splits", why).on(Subject::path(layout::in_nv_meta(root, layout::SPLIT_YAML)))
        );
    }
    let splits: Vec<(Arc<str>, Vec<String>)> =
        splits.into_iter().map(|(name, shards)| (Arc::from(name), shards)).collect();
    Ok(Marks::new(groups, &splits, &excludes))
}
