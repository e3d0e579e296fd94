//! AppleDouble entries of a shard: files `._NAME` that the tar of macOS adds and that the key rule assigns to samples.

use super::problem::{Problem, ProblemKind, Subject};
use super::text::count;
use serde::{Deserialize, Serialize};

/// Maximum number of keys of AppleDouble samples that can be excluded in one shard; a shard with more is refused.
pub const MAX_APPLE_DOUBLE_KEYS: usize = 10_000;

/// Position of the AppleDouble entries within a shard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AppleDoublePlace {
    /// Only between, before or after whole samples: they can be excluded.
    #[default]
    BetweenSamples,
    /// Between the parts of a sample, or in one sample with other entries.
    InsideSamples,
    /// Between samples, under more than [`MAX_APPLE_DOUBLE_KEYS`] keys.
    TooManyKeys,
}

/// The AppleDouble entries of one shard that would be parts of samples.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppleDouble {
    /// Number of these entries.
    pub entries: u64,
    /// Name of the first entry.
    pub first: String,
    /// Offset of the header of the first entry, in bytes of the (decompressed) archive.
    pub byte_offset: u64,
    /// Position of the entries relative to the samples.
    pub place: AppleDoublePlace,
}

impl AppleDouble {
    /// Whether the shard is unusable without repacking.
    pub fn is_refused(&self) -> bool {
        self.place != AppleDoublePlace::BetweenSamples
    }

    /// Returns a note if the entries can be excluded, otherwise a problem.
    pub fn problem(&self, shard: &str) -> Problem {
        let subject = Subject::shard(shard).key(&self.first).at(self.byte_offset);
        let files = count(self.entries, "AppleDouble file");
        let verb = super::text::agree(self.entries, "is", "are");
        let make = if self.is_refused() { Problem::problem } else { Problem::note };
        let place = match self.place {
            AppleDoublePlace::BetweenSamples => "between the samples and excluded from training".to_owned(),
            AppleDoublePlace::InsideSamples => {
                "between the parts of samples, and the loader begins a new sample at each".to_owned()
            }
            AppleDoublePlace::TooManyKeys => {
                let most = super::text::grouped(MAX_APPLE_DOUBLE_KEYS as u64);
                format!("between the samples in more than {most} folders, too many to exclude")
            }
        };
        let message = format!("{files} of macOS (names that begin with ._) {verb} {place}");
        make(ProblemKind::AppleDouble, subject, message).with_hint(APPLE_DOUBLE_HINT)
    }
}

/// Hint: how to pack a shard without AppleDouble files.
const APPLE_DOUBLE_HINT: &str =
    "pack the shard again without them: COPYFILE_DISABLE=1 tar … on macOS, tar --exclude='._*' … elsewhere";
