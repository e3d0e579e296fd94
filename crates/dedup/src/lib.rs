//! Finds which bytes are removable: windows of a fixed length that occur elsewhere (docs/formats/bsade.md §4), near the speed of reading.
//!
//! Every window is owned by one *anchor*, the leftmost of its k-byte pieces with the least hash. Equal windows have equal anchors at the
//! same distance, so only windows around anchors with equal keys need to be compared, and there is one anchor in about half a window. The
//! data flow:
//!
//! 1. A [`Scanner`] takes documents in pieces and passes anchors to a [`Sink`]; the job divides them by [`partition_of`] and stores them as
//!    [`Record`]s.
//! 2. A [`Resolver`] takes all records of one partition, in any order, compares the bytes around equal keys and returns [`Interval`]s.
//! 3. [`merge`] sorts and joins the intervals of a file.
//!
//! Hashes decide only what is compared, never what is equal. The result does not depend on the pieces, the number of partitions, or the
//! order of records.
//!
//! In this crate, text is what bsade calls `tokenized`: the documents in global order, each after one byte 0xFF. Positions count bytes of
//! it.

// Tests make and damage files by hand.
#![cfg_attr(test, allow(clippy::disallowed_methods))]

mod all;
mod anchor;
mod bytes;
mod class;
mod context;
mod distribute;
mod estimate;
mod filter;
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
mod small_windows;
mod tally;
#[cfg(test)]
mod tests;
mod walk;
mod window_counts;
mod window_hash;

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

/// Decides which windows are removable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Length of a window in bytes, at least 1. Documents that are shorter have no windows.
    pub min_length: u64,
    /// Which places of a repeated window are kept.
    pub keep: Keep,
    /// How often a window has to occur in total, at least 2.
    pub min_count: u64,
}

impl Rule {
    /// Returns the rule of a plan, with the given `min_length`.
    pub fn of(plan: &DedupPlan, min_length: u64) -> Self {
        Self { min_length: min_length.max(1), keep: plan.keep, min_count: plan.min_count.max(LEAST_COUNT) }
    }

    /// Whether a window is removable as soon as an earlier equal one exists, so that nothing has to be counted.
    pub fn is_plain(&self) -> bool {
        self.keep == Keep::First && self.min_count <= LEAST_COUNT
    }

    /// Whether records of 16 bytes ([`CompactAnchor`]) can hold every anchor of `text_bytes` bytes of text under this rule. Otherwise they
    /// are whole [`Anchor`]s of 32 bytes.
    pub fn fits_narrow(&self, text_bytes: u64) -> bool {
        self.is_plain()
            && self.min_length <= CompactAnchor::MAX_WINDOW_BYTES
            && text_bytes <= CompactAnchor::MAX_TEXT_BYTES
    }
}

/// Reads text by position, from memory or from a scratch file.
pub trait TextReader {
    /// Reads `len` bytes from `at`, fewer only where the text ends. `spare` may hold the result; its previous content is lost.
    fn read<'a>(&'a self, at: u64, len: usize, spare: &'a mut Vec<u8>) -> Outcome<&'a [u8]>;
    /// Prefetches the byte at `at`, which is read soon.
    fn prefetch(&self, _at: u64) {}
    /// Returns the cache of known repeats, where reading takes so long that caching pays off.
    fn match_cache(&self) -> Option<&MatchCache> {
        None
    }
}

impl TextReader for [u8] {
    fn read<'a>(&'a self, at: u64, len: usize, _spare: &'a mut Vec<u8>) -> Outcome<&'a [u8]> {
        let start = usize::try_from(at).unwrap_or(usize::MAX).min(self.len());
        Ok(&self[start..start.saturating_add(len).min(self.len())])
    }
    #[inline]
    fn prefetch(&self, at: u64) {
        prefetch_index(self, at as usize);
    }
}

/// Receives what the scan of documents finds.
pub trait Sink {
    /// Receives an anchor, to be stored as a [`Record`] of its partition.
    fn anchor(&mut self, anchor: Anchor) -> Outcome<()>;
    /// Receives bytes that are already known to be removable, in runs and periodic text; only under a plain rule.
    fn interval(&mut self, found: Interval) -> Outcome<()>;
    /// Receives a passage that repeats in runs and periodic text.
    fn passage(&mut self, passage: Passage);
}
