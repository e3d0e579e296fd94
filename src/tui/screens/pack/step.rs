//! The steps of the guided pack, and the fields in them.

use crate::tui::form;
use crate::tui::keymap::Action;
pub use gristmill_ops::engine::plan::pack::PackSetting as Field;
use gristmill_ops::engine::plan::setting::Setting as _;

/// A step, in the order in which they are asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Step {
    /// Which files.
    #[default]
    Source,
    /// Where the text stands.
    Text,
    /// Which tokenizer.
    Tokenizer,
    /// What is made, and where.
    Targets,
    /// What a run would do.
    Review,
}

impl form::Step for Step {
    const ALL: &'static [Self] = &[Self::Source, Self::Text, Self::Tokenizer, Self::Targets, Self::Review];

    fn title(self) -> &'static str {
        match self {
            Self::Source => "Source",
            Self::Text => "Text",
            Self::Tokenizer => "Tokenizer",
            Self::Targets => "Formats",
            Self::Review => "Review",
        }
    }

    fn id(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Text => "text",
            Self::Tokenizer => "tokenizer",
            Self::Targets => "formats",
            Self::Review => "review",
        }
    }

    fn of_action(action: Action) -> Option<Self> {
        match action {
            Action::GoSource => Some(Self::Source),
            Action::GoText => Some(Self::Text),
            Action::GoTokenizer => Some(Self::Tokenizer),
            Action::GoFormats => Some(Self::Targets),
            Action::GoReview => Some(Self::Review),
            _ => None,
        }
    }
}

impl form::Field for Field {
    type Step = Step;

    fn step(self) -> Step {
        match self {
            Self::Files | Self::Glob => Step::Source,
            Self::Keys | Self::Jq => Step::Text,
            Self::Tokenizer | Self::Found | Self::End => Step::Tokenizer,
            _ => Step::Targets,
        }
    }

    fn is_advanced(self) -> bool {
        let is_main = match self.step() {
            Step::Targets => matches!(
                self,
                Self::Modalities
                    | Self::Nanosets
                    | Self::Tasks
                    | Self::Shuffle
                    | Self::Forager
                    | Self::SampleSize
                    | Self::TokenType
                    | Self::Output
            ),
            _ => true,
        };
        !is_main
    }

    /// The settings of a format are indented below its name.
    fn indent(self) -> u16 {
        if self.group().is_some() {
            4
        } else {
            0
        }
    }
}
