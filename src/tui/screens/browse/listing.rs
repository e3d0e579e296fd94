//! Which samples the list has, and in which row each stands.

use gristmill_ops::engine::browse::{Groups, Matches, SampleAt};
use std::sync::Arc;

/// The samples that are listed.
#[derive(Clone, Default)]
pub enum Listing {
    /// All of the data set.
    #[default]
    All,
    /// Those that a filter leaves.
    Picked(Arc<Matches>),
}

impl Listing {
    /// How many rows there are.
    pub fn len(&self, groups: &Groups) -> u64 {
        match self {
            Self::All => groups.total(),
            Self::Picked(picked) => picked.total(),
        }
    }

    /// The sample in a row.
    pub fn at(&self, row: u64, groups: &Groups) -> Option<SampleAt> {
        match self {
            Self::All => groups.locate(row),
            Self::Picked(picked) => picked.select(row),
        }
    }

    /// The row of a sample; of one that is not listed, the row of the next that is.
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
            Self::Picked(picked) => picked.holds(at),
        }
    }

    /// Whether a filter leaves samples out.
    pub fn is_filtered(&self) -> bool {
        matches!(self, Self::Picked(_))
    }
}
