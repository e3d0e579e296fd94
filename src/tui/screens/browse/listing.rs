//! The listed samples, and their rows.

use gristmill_ops::engine::browse::{Groups, Matches, SampleAt};
use std::sync::Arc;

/// The samples that are listed.
#[derive(Clone, Default)]
pub enum Listing {
    /// All samples of the data set.
    #[default]
    All,
    /// The samples that pass a filter.
    Picked(Arc<Matches>),
}

impl Listing {
    /// Returns the number of rows.
    pub fn len(&self, groups: &Groups) -> u64 {
        match self {
            Self::All => groups.total(),
            Self::Picked(picked) => picked.total(),
        }
    }

    /// Returns the sample in a row.
    pub fn at(&self, row: u64, groups: &Groups) -> Option<SampleAt> {
        match self {
            Self::All => groups.locate(row),
            Self::Picked(picked) => picked.select(row),
        }
    }

    /// Returns the row of a sample; if the sample is not listed, the row of the next listed one.
    pub fn row_of(&self, at: SampleAt, groups: &Groups) -> u64 {
        match self {
            Self::All => groups.number(at),
            Self::Picked(picked) => picked.rank(at),
        }
    }

    /// Whether a sample is listed.
    pub fn contains(&self, at: SampleAt) -> bool {
        match self {
            Self::All => true,
            Self::Picked(picked) => picked.contains(at),
        }
    }

    /// Whether a filter is applied.
    pub fn is_filtered(&self) -> bool {
        matches!(self, Self::Picked(_))
    }
}
