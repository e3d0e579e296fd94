//! The normalizers and pre-tokenizers that are accepted. Each is recognized by its exact form in the file.

use super::split::Style;
use serde_json::Value;

/// How a text is normalized and split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SplitRules {
    pub(super) normal: Normalization,
    pub(super) splitting: Splitting,
}

/// How a text is normalized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Normalization {
    Nothing,
    /// Unicode composition (NFC).
    Nfc,
    /// Replaces spaces by marks. If `is_before`, also adds a mark before the text.
    Marks {
        is_before: bool,
    },
}

/// How a text is split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Splitting {
    /// Splits by a pattern, and then encodes words as bytes.
    Bytes {
        style: Style,
        /// Whether a space is added before a text that does not start with one.
        has_blank: bool,
        /// Whether each digit is split off before the pattern is applied.
        has_digits: bool,
    },
    /// Replaces spaces by marks.
    Marks { scheme: Scheme, is_split: bool },
    /// The text is not split.
    Whole,
}

/// The pieces of a text that get a mark before them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scheme {
    Always,
    First,
    Never,
}

impl Scheme {
    pub(super) fn wants(self, is_first: bool) -> bool {
        self == Self::Always || (self == Self::First && is_first)
    }
}

impl SplitRules {
    /// Returns the rules for these parts of the file. The error is the reason why they are not accepted.
    pub(super) fn of(normalizer: &Value, pre_tokenizer: &Value) -> Result<Self, String> {
        let normal = normal(normalizer).ok_or_else(|| unknown("normalizer", normalizer))?;
        let splitting = splitting(pre_tokenizer).ok_or_else(|| unknown("way of splitting", pre_tokenizer))?;
        let is_known = matches!(
            (normal, splitting),
            (Normalization::Nothing | Normalization::Nfc, Splitting::Bytes { .. })
                | (Normalization::Nothing, Splitting::Marks { .. })
                | (Normalization::Marks { .. }, Splitting::Whole)
        );
        if is_known {
            Ok(Self { normal, splitting })
        } else {
            Err("its normalizer and its way of splitting are not met together".into())
        }
    }

    /// Whether the vocabulary is a byte vocabulary.
    pub(super) fn is_of_bytes(&self) -> bool {
        matches!(self.splitting, Splitting::Bytes { .. })
    }

    /// Whether the reference treats a whole text as one word.
    pub(super) fn has_whole_texts(&self) -> bool {
        matches!(self.splitting, Splitting::Whole | Splitting::Marks { is_split: false, .. })
    }
}

fn unknown(what: &str, value: &Value) -> String {
    format!("its {what} `{}` is not known in this form", kind(value).unwrap_or("none"))
}

fn kind(value: &Value) -> Option<&str> {
    value.get("type")?.as_str()
}

fn is(value: &Value, name: &str, expected: bool) -> bool {
    value.get(name).and_then(Value::as_bool) == Some(expected)
}

fn text<'a>(value: &'a Value, names: &[&str]) -> Option<&'a str> {
    names.iter().try_fold(value, |value, name| value.get(name))?.as_str()
}

fn normal(value: &Value) -> Option<Normalization> {
    if value.is_null() {
        return Some(Normalization::Nothing);
    }
    match kind(value)? {
        "NFC" => Some(Normalization::Nfc),
        "Replace" if is_blank_to_mark(value) => Some(Normalization::Marks { is_before: false }),
        "Sequence" => match value.get("normalizers")?.as_array()?.as_slice() {
            [] => Some(Normalization::Nothing),
            [one] => normal(one),
            [first, second] => {
                let is_prepend = kind(first) == Some("Prepend") && text(first, &["prepend"]) == Some("▁");
                (is_prepend && is_blank_to_mark(second)).then_some(Normalization::Marks { is_before: true })
            }
            _ => None,
        },
        _ => None,
    }
}

fn is_blank_to_mark(value: &Value) -> bool {
    kind(value) == Some("Replace")
        && text(value, &["pattern", "String"]) == Some(" ")
        && text(value, &["content"]) == Some("▁")
}

fn splitting(value: &Value) -> Option<Splitting> {
    if value.is_null() {
        return Some(Splitting::Whole);
    }
    match kind(value)? {
        "ByteLevel" => {
            let has_blank = value.get("add_prefix_space")?.as_bool()?;
            let has_pattern = value.get("use_regex").is_none_or(|uses| uses.as_bool() == Some(true));
            has_pattern.then_some(Splitting::Bytes { style: Style::Gpt2, has_blank, has_digits: false })
        }
        "Metaspace" => metaspace(value),
        // Spaces are already replaced by marks, so the pattern never matches.
        "Split" if text(value, &["pattern", "String"]) == Some(" ") && is(value, "invert", false) => {
            (text(value, &["behavior"]) == Some("MergedWithPrevious")).then_some(Splitting::Whole)
        }
        "Sequence" => match value.get("pretokenizers")?.as_array()?.as_slice() {
            [one] => splitting(one),
            [first, second] if kind(first) == Some("Split") => {
                let style = Style::of(text(first, &["pattern", "Regex"])?)?;
                let is_isolated = text(first, &["behavior"]) == Some("Isolated") && is(first, "invert", false);
                let is_plain = kind(second) == Some("ByteLevel")
                    && is(second, "add_prefix_space", false)
                    && is(second, "use_regex", false);
                (is_isolated && is_plain).then_some(Splitting::Bytes { style, has_blank: false, has_digits: false })
            }
            [first, second] if kind(first) == Some("Digits") && is(first, "individual_digits", true) => {
                match splitting(second)? {
                    Splitting::Bytes { style: Style::Gpt2, has_blank: false, has_digits: false }
                        if kind(second) == Some("ByteLevel") =>
                    {
                        Some(Splitting::Bytes { style: Style::Gpt2, has_blank: false, has_digits: true })
                    }
                    _ => None,
                }
            }
            _ => None,
        },
        _ => None,
    }
}

fn metaspace(value: &Value) -> Option<Splitting> {
    let scheme = match value.get("prepend_scheme") {
        None => Scheme::Always,
        Some(scheme) => match scheme.as_str()? {
            "always" => Scheme::Always,
            "first" => Scheme::First,
            "never" => Scheme::Never,
            _ => return None,
        },
    };
    // The older form of the prepend scheme `never`.
    let is_never = is(value, "add_prefix_space", false);
    let is_split = match value.get("split") {
        None | Some(Value::Null) => true,
        Some(split) => split.as_bool()?,
    };
    (text(value, &["replacement"]) == Some("▁"))
        .then_some(Splitting::Marks { scheme: if is_never { Scheme::Never } else { scheme }, is_split })
}
