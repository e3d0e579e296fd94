//! Finds removable text: windows of a fixed length that occur elsewhere (docs/formats/bsade.md §4), nearly as fast as the text can be read.
//!
//! Every window is owned by one *anchor*, the leftmost of its k-byte pieces with the smallest hash. Equal windows have equal anchors at the
//! same distance, so only windows around anchors with equal keys must be compared, and there is about one anchor per half a window. The
//! data flow:
//!
//! 1. A [`Scanner`] reads documents in pieces and passes anchors to a [`Sink`]; the job divides them by [`partition_of`] and stores them as
//!    [`Record`]s.
//! 2. A [`Resolver`] receives all records of one partition, in any order, compares the bytes around equal keys and returns [`Interval`]s.
//! 3. [`merge`] sorts and joins the intervals of a file.
//!
//! Hashes only select the text to compare; equality is always determined by comparing bytes. The result does not depend on the pieces, the
//! number of partitions, or the order of records.
//!
//! In this crate, text has the form that bsade calls `tokenized`: the documents in global order, each after one byte 0xFF. Positions are
//! offsets in this text, in bytes.

// Tests create and damage files directly.
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

/// The rule that determines removable windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Length of a window in bytes, at least 1. Shorter documents have no windows.
    pub min_length: u64,
    /// The occurrences of a repeated window that are kept.
    pub keep: Keep,
    /// Minimum number of occurrences of a repeated window, at least 2.
    pub min_count: u64,
}

impl Rule {
    /// Returns the rule of a plan, with the given `min_length`.
    pub fn of(plan: &DedupPlan, min_length: u64) -> Self {
        Self { min_length: min_length.max(1), keep: plan.keep, min_count: plan.min_count.max(LEAST_COUNT) }
    }

    /// Whether a window is removable as soon as there is an earlier equal one, so that windows need not be counted.
    pub fn is_plain(&self) -> bool {
        self.keep == Keep::First && self.min_count <= LEAST_COUNT
    }

    /// Whether records of 16 bytes ([`CompactAnchor`]) can store every anchor of `text_bytes` bytes of text under this rule. Otherwise
    /// records are [`Anchor`]s of 32 bytes.
    pub fn fits_narrow(&self, text_bytes: u64) -> bool {
        self.is_plain()
            && self.min_length <= CompactAnchor::MAX_WINDOW_BYTES
            && text_bytes <= CompactAnchor::MAX_TEXT_BYTES
    }
}

/// Reads text by position, from memory or from a scratch file.
pub trait TextReader {
    /// Reads `len` bytes from `at`, fewer only at the end of the text. The result may be in `spare`, whose content is overwritten.
    fn read<'a>(&'a self, at: u64, len: usize, spare: &'a mut Vec<u8>) -> Outcome<&'a [u8]>;
    /// Prefetches the byte at `at`, which will be read soon.
    fn prefetch(&self, _at: u64) {}
    /// Returns the cache of known repeats; `None` if reading is so fast that caching would not help.
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

/// Receives the results of scanning documents.
pub trait Sink {
    /// Receives an anchor, to be stored as a [`Record`] of its partition.
    fn anchor(&mut self, anchor: Anchor) -> Outcome<()>;
    /// Receives a range that is already known to be removable, in runs and periodic text. Called only for a plain rule.
    fn interval(&mut self, found: Interval) -> Outcome<()>;
    /// Receives a passage that repeats in runs and periodic text.
    fn passage(&mut self, passage: Passage);
}
