//! Facts derived from the texts of merges, without ids.

use super::boundary_filter::BoundaryFilter;
use super::first_merge_ranks::FirstMergeRanks;
use super::prefix_merges::{PrefixMerges, MAX_BOUNDARY_TOKENS};
use super::shape::SplitRules;
use crate::byte_level;
use crate::file::{File, ModelFile};

/// The character that represents a space.
const BLANK: char = 'Ġ';

/// Positions at which words can be cut, and merges that can be done first, for a byte vocabulary.
pub(crate) struct MergeStats {
    pub(super) cuts: BoundaryFilter,
    pub(super) early: PrefixMerges,
    pub(super) seeds: FirstMergeRanks,
}

impl MergeStats {
    /// Computes the facts of a file with a byte vocabulary; `None` for other vocabularies.
    pub(crate) fn of(file: &File<'_>) -> Option<Self> {
        let shape = SplitRules::of(&file.normalizer, &file.pre_tokenizer).ok()?;
        shape.is_of_bytes().then(|| Self::of_merges(&file.model))
    }

    fn of_merges(file: &ModelFile<'_>) -> Self {
        let (cuts, early, seeds) = (
            BoundaryFilter::new(file.merges.bytes()),
            PrefixMerges::reaching(MAX_BOUNDARY_TOKENS),
            FirstMergeRanks::default(),
        );
        let mut spelt = Self { cuts, early, seeds };
        tokens(file, |rank, token| {
            spelt.cuts.add(token);
            spelt.early.add(rank, token);
            spelt.seeds.add(rank, token);
        });
        spelt
    }
}

/// Passes the rank and the product of each merge of a byte vocabulary to `put`, as bytes. Skips most ASCII tokens, which are irrelevant to
/// longer characters.
pub(super) fn tokens(file: &ModelFile<'_>, mut put: impl FnMut(u32, &[u8])) {
    let is_plain = |spelled: &str| spelled.strip_prefix(BLANK).unwrap_or(spelled).is_ascii();
    let mut token = Vec::new();
    for (rank, (left, right)) in file.merges.iter().enumerate() {
        if is_plain(left) && is_plain(right) {
            continue;
        }
        token.clear();
        token.extend(left.chars().chain(right.chars()).filter_map(byte_level::byte_of));
        put(rank as u32, &token);
    }
}
