//! The settings of a plan of deduplicating.

use crate::engine::plan::setting::{number_of, Kind, Setting};
use gristmill_core::dedup::{Keep, Mode, Variant, ANNOTATE_KEY, FIELD_OF_VARIANT_B, LEAST_COUNT, TEXT_KEY};
use gristmill_core::DedupPlan;

/// A setting of a plan of deduplicating.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DedupSetting {
    /// `--text-key`.
    TextKey,
    /// `--against`.
    Against,
    /// `--minlen`, selected from a list of proposals.
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

impl Setting for DedupSetting {
    type Plan = DedupPlan;
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
            Self::Lengths => "bytes of text",
            Self::Mode | Self::Variant | Self::Keep => "",
            Self::Own => "a number of bytes",
            Self::AnnotateKey => "metadata.sa_remove_ranges",
            Self::MinCount => "2: whatever occurs twice is a repeat",
            Self::Output => "the folder that gets the same tree",
            Self::ExportRanges => "nowhere; a folder for remove_ranges alone",
            Self::ExportIndex => "nowhere; a folder for the index that bsade would make",
            Self::Overwrite => "replace what is there",
        }
    }

    fn is_path(self) -> bool {
        matches!(self, Self::Against | Self::Output | Self::ExportRanges | Self::ExportIndex)
    }

    fn is_there(self, plan: &DedupPlan) -> bool {
        let is_listed = plan.mode == Mode::Annotate;
        match self {
            Self::Variant => is_listed,
            Self::AnnotateKey => is_listed && plan.variant == Variant::A,
            _ => true,
        }
    }

    fn is_second_way(self) -> bool {
        self == Self::Own
    }

    /// Default values are empty.
    fn words(self, plan: &DedupPlan) -> String {
        let unusual = |value: &str, usual: &str| if value == usual { String::new() } else { value.to_owned() };
        match self {
            Self::TextKey => unusual(&plan.text_key, TEXT_KEY),
            Self::Against => plan.against.clone().unwrap_or_default(),
            Self::Lengths | Self::Own => plan.min_length.map(|length| length.to_string()).unwrap_or_default(),
            Self::AnnotateKey => unusual(&plan.annotate_key, ANNOTATE_KEY),
            Self::MinCount => unusual(&plan.min_count.to_string(), &LEAST_COUNT.to_string()),
            Self::Output => plan.output.clone(),
            Self::ExportRanges => plan.export_ranges.clone().unwrap_or_default(),
            Self::ExportIndex => plan.export_index.clone().unwrap_or_default(),
            Self::Mode | Self::Variant | Self::Keep | Self::Overwrite => String::new(),
        }
    }

    fn set(self, plan: &mut DedupPlan, words: &str) -> Result<(), String> {
        let filled = Some(words.to_owned()).filter(|words| !words.is_empty());
        match self {
            Self::TextKey => plan.text_key = filled.unwrap_or_else(|| TEXT_KEY.into()),
            Self::Against => plan.against = filled,
            Self::AnnotateKey => plan.annotate_key = filled.unwrap_or_else(|| ANNOTATE_KEY.into()),
            Self::ExportRanges => plan.export_ranges = filled,
            Self::ExportIndex => plan.export_index = filled,
            Self::Output => plan.output = words.to_owned(),
            Self::MinCount if filled.is_none() => plan.min_count = LEAST_COUNT,
            Self::Lengths | Self::Own if filled.is_none() => plan.min_length = None,
            Self::MinCount | Self::Lengths | Self::Own => match number_of(words) {
                Some(number) if self == Self::MinCount => plan.min_count = number,
                Some(number) if number > 0 => plan.min_length = Some(number),
                _ => return Err(format!("{}: that is not a number above 0", self.label())),
            },
            Self::Mode | Self::Variant | Self::Keep | Self::Overwrite => {}
        }
        Ok(())
    }

    fn is_on(self, plan: &DedupPlan) -> bool {
        self == Self::Overwrite && plan.overwrite
    }

    fn switch(self, plan: &mut DedupPlan, on: bool) {
        if self == Self::Overwrite {
            plan.overwrite = on;
        }
    }

    fn choices(self, plan: &DedupPlan) -> (Vec<(String, &'static str)>, usize) {
        let (choices, chosen) = match self {
            Self::Mode => (
                [("cut out", "the text becomes shorter"), ("listed", "the text stays; each record lists its ranges")],
                plan.mode == Mode::Annotate,
            ),
            Self::Variant => {
                ([("variant a", "under a dotted key"), ("variant b", FIELD_OF_VARIANT_B)], plan.variant == Variant::B)
            }
            Self::Keep => (
                [("keep the first", "in the order of the documents"), ("keep none", "every copy goes")],
                plan.keep == Keep::None,
            ),
            _ => return (Vec::new(), 0),
        };
        (choices.map(|(words, meaning)| (words.to_owned(), meaning)).to_vec(), usize::from(chosen))
    }

    /// Where a variant or a key does not apply, the plan has the default one.
    fn choose(self, plan: &mut DedupPlan, number: usize) {
        let is_first = number == 0;
        match self {
            Self::Mode => plan.mode = if is_first { Mode::Remove } else { Mode::Annotate },
            Self::Variant => plan.variant = if is_first { Variant::A } else { Variant::B },
            Self::Keep => plan.keep = if is_first { Keep::First } else { Keep::None },
            _ => {}
        }
        if plan.mode == Mode::Remove {
            plan.variant = Variant::A;
        }
        if !Self::AnnotateKey.is_there(plan) {
            plan.annotate_key = ANNOTATE_KEY.into();
        }
    }
}
