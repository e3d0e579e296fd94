//! The steps of the guided dedup, and the fields in them.

use crate::model::dedup::SHOWN_LENGTHS;
use crate::tui::form::{self, Kind};
use crate::tui::keymap::Action;

/// A step, in the order in which they are asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Step {
    /// Which files.
    #[default]
    Source,
    /// How long a repeat has to be.
    Length,
    /// What happens to what repeats, and where the result goes.
    Mode,
    /// What a run would do.
    Review,
}

impl form::Step for Step {
    const ALL: &'static [Self] = &[Self::Source, Self::Length, Self::Mode, Self::Review];

    fn title(self) -> &'static str {
        match self {
            Self::Source => "Source",
            Self::Length => "Min. length",
            Self::Mode => "Mode",
            Self::Review => "Review",
        }
    }

    fn id(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Length => "length",
            Self::Mode => "mode",
            Self::Review => "review",
        }
    }

    fn of_action(action: Action) -> Option<Self> {
        match action {
            Action::GoSource => Some(Self::Source),
            Action::GoLength => Some(Self::Length),
            Action::GoMode => Some(Self::Mode),
            Action::GoReview => Some(Self::Review),
            _ => None,
        }
    }
}

/// A field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Field {
    /// `--text-key`.
    TextKey,
    /// `--against`.
    Against,
    /// `--minlen`, of those that are offered.
    Lengths,
    /// `--minlen`, typed.
    Own,
    /// `--mode`.
    Mode,
    /// `--variant`.
    Variant,
    /// `--annotate-key`.
    AnnotateKey,
    /// `--keep`.
    Keep,
    /// `--min-count`.
    MinCount,
    /// `--output`.
    Output,
    /// `--export-ranges`.
    ExportRanges,
    /// `--export-index`.
    ExportIndex,
    /// `--force-overwrite`.
    Overwrite,
}

impl form::Field for Field {
    type Step = Step;
    const ALL: &'static [Self] = &[
        Self::TextKey,
        Self::Against,
        Self::Lengths,
        Self::Own,
        Self::Mode,
        Self::Variant,
        Self::AnnotateKey,
        Self::Keep,
        Self::MinCount,
        Self::Output,
        Self::ExportRanges,
        Self::ExportIndex,
        Self::Overwrite,
    ];

    fn step(self) -> Step {
        match self {
            Self::TextKey | Self::Against => Step::Source,
            Self::Lengths | Self::Own => Step::Length,
            _ => Step::Mode,
        }
    }

    fn kind(self) -> Kind {
        match self {
            Self::Lengths => Kind::List,
            Self::Mode | Self::Variant | Self::Keep => Kind::Choice,
            Self::Overwrite => Kind::Switch,
            _ => Kind::Text,
        }
    }

    fn label(self) -> &'static str {
        match self {
            Self::TextKey => "text field",
            Self::Against => "earlier set",
            Self::Lengths => "minimum length",
            Self::Own => "bytes",
            Self::Mode => "what repeats",
            Self::Variant => "listed as",
            Self::AnnotateKey => "listed under",
            Self::Keep => "copies",
            Self::MinCount => "occurrences",
            Self::Output => "output",
            Self::ExportRanges => "ranges to",
            Self::ExportIndex => "index to",
            Self::Overwrite => "overwrite",
        }
    }

    fn note(self) -> &'static str {
        match self {
            Self::TextKey => "text",
            Self::Against => "none; a folder that counts as coming first and is not changed",
            Self::Lengths | Self::Mode | Self::Variant | Self::Keep => "",
            Self::Own => "a number of bytes",
            Self::AnnotateKey => "metadata.sa_remove_ranges",
            Self::MinCount => "2: whatever occurs twice is a repeat",
            Self::Output => "the folder that gets the same tree",
            Self::ExportRanges => "nowhere; a folder for remove_ranges alone",
            Self::ExportIndex => "nowhere; a folder for the index that bsade would make",
            Self::Overwrite => "replace what is there",
        }
    }

    fn is_advanced(self) -> bool {
        matches!(self, Self::Against | Self::ExportRanges | Self::ExportIndex | Self::Overwrite)
    }
}

/// The minimum lengths that are offered and estimated, in bytes.
pub const LENGTHS: [u64; 5] = SHOWN_LENGTHS;
