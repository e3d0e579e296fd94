//! The steps of the guided dedup, and the fields in them.

use crate::tui::form;
use crate::tui::keymap::Action;
use gristmill_core::dedup::SHOWN_LENGTHS;
pub use gristmill_ops::engine::plan::dedup::DedupSetting as Field;

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

impl form::Field for Field {
    type Step = Step;

    fn step(self) -> Step {
        match self {
            Self::TextKey | Self::Against => Step::Source,
            Self::Lengths | Self::Own => Step::Length,
            _ => Step::Mode,
        }
    }

    fn is_advanced(self) -> bool {
        matches!(self, Self::Against | Self::ExportRanges | Self::ExportIndex | Self::Overwrite)
    }
}

/// The minimum lengths that are offered and estimated, in bytes.
pub const LENGTHS: [u64; 5] = SHOWN_LENGTHS;
