//! The steps of the guided dedup, and the fields in them.

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

impl Step {
    /// All of them in order.
    pub const ALL: [Self; 4] = [Self::Source, Self::Length, Self::Mode, Self::Review];

    /// Its name in the list of steps.
    pub fn title(self) -> &'static str {
        match self {
            Self::Source => "Source",
            Self::Length => "Min. length",
            Self::Mode => "Mode",
            Self::Review => "Review",
        }
    }

    /// Its name in a draft.
    pub fn id(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Length => "length",
            Self::Mode => "mode",
            Self::Review => "review",
        }
    }

    /// Its number, from 0.
    pub fn index(self) -> usize {
        Self::ALL.iter().position(|step| *step == self).unwrap_or(0)
    }

    /// The one after it; the last one stays.
    pub fn next(self) -> Self {
        Self::ALL.get(self.index() + 1).copied().unwrap_or(self)
    }

    /// The one before it.
    pub fn previous(self) -> Option<Self> {
        self.index().checked_sub(1).and_then(|index| Self::ALL.get(index).copied())
    }
}

/// How a field is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Typed.
    Text,
    /// On or off.
    Switch,
    /// One of two, stepped through by the arrows.
    Choice,
    /// A list that the cursor moves in.
    List,
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

impl Field {
    /// How it is answered.
    pub fn kind(self) -> Kind {
        match self {
            Self::Lengths => Kind::List,
            Self::Mode | Self::Variant | Self::Keep => Kind::Choice,
            Self::Overwrite => Kind::Switch,
            _ => Kind::Text,
        }
    }

    /// What it is called.
    pub fn label(self) -> &'static str {
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

    /// What it means, or what an empty field means.
    pub fn note(self) -> &'static str {
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

    /// Whether it is shown only when everything is.
    pub fn is_advanced(self) -> bool {
        matches!(self, Self::Against | Self::ExportRanges | Self::ExportIndex | Self::Overwrite)
    }
}

/// The minimum lengths that are offered and estimated, in bytes.
pub const LENGTHS: [u64; 5] = [50, 100, 200, 500, 1_000];
