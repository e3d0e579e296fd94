//! Which bytes are removable: windows of a fixed length that occur elsewhere (docs/formats/bsade.md §4), found near the speed of reading.
//!
//! Every window is owned by one *anchor*, the leftmost of its k-byte pieces with the least hash. Equal windows have equal anchors
//! at the same distance, so only windows around anchors with equal keys need to be compared, and there is one anchor in about half a
//! window. The way of the data:
//!
//! 1. A [`Scanner`] takes documents in pieces and gives anchors to a [`Sink`]; the job divides them by
//!    [`partition_of`] and keeps them as [`Record`]s.
//! 2. A [`Resolver`] takes all records of one partition, in any order, compares the bytes around equal keys and gives [`Interval`]s.
//! 3. [`merge`] sorts and joins the intervals of a file.
//!
//! Hashes decide only what is compared, never what is equal. The result does not depend on the pieces, the number of
//! partitions, or the order of records.
//!
//! Text, everywhere here, is what bsade calls `tokenized`: the documents in global order, each after one byte 0xFF. Positions count
//! bytes of it.

mod all;
mod anchor;
mod bytes;
mod class;
mod context;
mod distribute;
mod estimate;
mod filter;
mod gear;
mod grams;
mod growth;
mod interval;
mod match_cache;
mod oversized_group;
mod owners;
mod passages;
mod periodic;
mod resolve;
mod scan;
mod tally;
#[cfg(test)]
mod tests;
mod tiny;
mod unseen;
mod walk;

pub use all::{find_all, find_in_passes, find_with, RepeatedText};
pub use anchor::{partition_of, Anchor, CompactAnchor, Record};
pub use estimate::{Estimate, Sampler, Samples};
pub use growth::ReadShare;
pub use interval::{merge, Interval};
pub use match_cache::MatchCache;
pub use oversized_group::OversizedGroup;
pub use passages::{Passage, Passages};
pub use resolve::Resolver;
pub use scan::Scanner;

use gristmill_core::dedup::{DedupPlan, Keep, LEAST_COUNT};
use gristmill_core::Outcome;
use prefetch_index::prefetch_index;

/// What is removable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Length of a window in bytes, at least 1. Documents that are shorter have no windows.
    pub min_length: u64,
    /// Which places of a repeated window stay.
    pub keep: Keep,
    /// How often a window has to occur, in all, at least 2.
    pub min_count: u64,
}

impl Rule {
    /// The rule of a plan; `min_length` is the one in question.
    pub fn of(plan: &DedupPlan, min_length: u64) -> Self {
        Self { min_length: min_length.max(1), keep: plan.keep, min_count: plan.min_count.max(LEAST_COUNT) }
    }

    /// Whether an earlier equal window is all that it takes, so that nothing has to be counted.
    pub fn is_plain(&self) -> bool {
        self.keep == Keep::First && self.min_count <= LEAST_COUNT
    }

    /// Whether records of 16 bytes ([`CompactAnchor`]) can hold every anchor of `text_bytes` bytes of text under this rule. Otherwise they
    /// are whole [`Anchor`]s, 32 bytes.
    pub fn fits_narrow(&self, text_bytes: u64) -> bool {
        self.is_plain() && self.min_length <= CompactAnchor::MAX_WINDOW_BYTES && text_bytes <= CompactAnchor::FURTHEST
    }
}

/// Reads text by position: from memory, or from a scratch file.
pub trait TextAt {
    /// `len` bytes from `at`, fewer only where the text ends. `spare` may hold them; what it held before is lost.
    fn read<'a>(&'a self, at: u64, len: usize, spare: &'a mut Vec<u8>) -> Outcome<&'a [u8]>;
    /// The byte at `at` will be read soon. Memory is fetched while other work goes on.
    fn touch(&self, _at: u64) {}
    /// What is known of it, where reading takes so long that it is worth keeping.
    fn known(&self) -> Option<&MatchCache> {
        None
    }
}

impl TextAt for [u8] {
    fn read<'a>(&'a self, at: u64, len: usize, _spare: &'a mut Vec<u8>) -> Outcome<&'a [u8]> {
        let start = usize::try_from(at).unwrap_or(usize::MAX).min(self.len());
        Ok(&self[start..start.saturating_add(len).min(self.len())])
    }
    #[inline]
    fn touch(&self, at: u64) {
        prefetch_index(self, at as usize);
    }
}

/// Takes what the scan of documents finds.
pub trait Sink {
    /// An anchor, to be kept as a [`Record`] of its partition.
    fn anchor(&mut self, anchor: Anchor) -> Outcome<()>;
    /// Bytes that are removable already, in runs and periodic text; only under a plain rule.
    fn interval(&mut self, found: Interval) -> Outcome<()>;
    /// A passage that repeats in it.
    fn passage(&mut self, passage: Passage);
}
