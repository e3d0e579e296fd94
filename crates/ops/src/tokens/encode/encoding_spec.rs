//! How a format transforms the raw ids of a text.

use super::document_ids::IdSource;
use super::sequence_rules::SequenceRules;
use gristmill_core::pack::{MaskedParts, SpecialToken, TextField, TokenType};
use gristmill_core::{Failure, Outcome, PackPlan, Subject};
use gristmill_data::source::documents::{DocumentFields, DocumentRules, OtherFields};
use gristmill_tokenizer::{Side, Template, Tokenizer, Truncation};

/// The end token that a format appends to documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// No end token.
    Never,
    /// This token, even if the document already ends with it.
    Always(u32),
    /// This token, unless the document already ends with it.
    UnlessThere(u32),
    /// This token, unless the document has no tokens.
    AfterTokens(u32),
}

impl End {
    /// Returns the id of the end token, whatever the condition for appending it.
    fn id(self) -> Option<u32> {
        match self {
            Self::Never => None,
            Self::Always(id) | Self::UnlessThere(id) | Self::AfterTokens(id) => Some(id),
        }
    }

    /// Returns the id of the end token if it is appended to a document whose last token is `last`.
    pub(super) fn after(self, last: Option<u32>) -> Option<u32> {
        self.id().filter(|id| match self {
            Self::Never | Self::Always(_) => true,
            Self::UnlessThere(_) => last != Some(*id),
            Self::AfterTokens(_) => last.is_some(),
        })
    }
}

/// Padding of each document to a minimum length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DocumentPadding {
    /// Minimum number of tokens of a document.
    pub length: usize,
    /// The padding token.
    pub id: u32,
    /// The side on which padding is added.
    pub side: Side,
}

/// The data that a format stores in addition to the tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// No additional data.
    Plain,
    /// One byte per token: 1 if training uses the token. The document lists the ranges that training ignores (docs/formats/nanosets.md §2).
    LossMask,
    /// Documents are lists of parts, with one byte per token: 1 if training ignores the token (docs/formats/forager.md §3.4).
    Parts(MaskedParts),
    /// Documents are divided into sequences (docs/formats/megatron.md §2).
    Sequences(SequenceRules),
}

impl Kind {
    /// Whether documents are encoded from the extracted text, unless that text is a list.
    pub(super) fn reads_text(&self) -> bool {
        match self {
            Self::Plain | Self::LossMask => true,
            Self::Parts(_) => false,
            Self::Sequences(rules) => rules.is_plan_text,
        }
    }

    /// Returns the rules that divide documents into sequences; `None` if the format has no sequences.
    pub(super) fn sequences(&self) -> Option<&SequenceRules> {
        match self {
            Self::Sequences(rules) => Some(rules),
            _ => None,
        }
    }
}

/// How a format transforms the raw ids of a text.
#[derive(Clone, Debug)]
pub struct EncodingSpec {
    /// The name of the format.
    pub format: &'static str,
    /// The rules that decide which lines are refused.
    pub rules: DocumentRules,
    /// The ids added before and after the ids of the text.
    pub template: Template,
    /// The maximum length of documents.
    pub truncation: Option<Truncation>,
    /// The minimum length of documents.
    pub padding: Option<DocumentPadding>,
    /// The token that is prepended to documents that do not begin with it. `None` for documents with masks.
    pub begin: Option<u32>,
    /// The end token.
    pub end: End,
    /// The integer type of a stored token.
    pub token: TokenType,
    /// The data that is stored in addition to the tokens.
    pub kind: Kind,
    /// Whether a document without tokens is refused.
    pub needs_tokens: bool,
    /// Whether the vocabulary has ids that may be too large for the token type.
    pub may_overflow: bool,
    /// Whether line numbers of documents and of refused lines are recorded, to reproduce the losses of the reference program.
    pub wants_lines: bool,
    /// Whether truncation and padding come from the plan, not from the tokenizer file.
    pub is_length_planned: bool,
    /// Whether the lengths of the texts in characters are recorded, for statistics.
    pub wants_chars: bool,
    /// The source of the document ids.
    pub ids: IdSource,
}

/// Returns the failure for a missing end token. `why` is the reason why one is required.
pub fn no_end(why: &str) -> Failure {
    Failure::usage("the end token", format!("none is given, and {why}"))
        .with_hint("name it: --eos-token '<|endoftext|>'")
}

/// Returns the id of an end token; fails if the vocabulary has none.
pub fn end_id(tokenizer: &Tokenizer, end: &SpecialToken) -> Outcome<u32> {
    match end {
        SpecialToken::Text(token) => tokenizer.expect_id(token),
        SpecialToken::Id(id) => known_id(tokenizer, *id),
    }
}

/// Returns `id`; fails if the vocabulary does not have it.
pub fn known_id(tokenizer: &Tokenizer, id: u32) -> Outcome<u32> {
    match tokenizer.token_of(id) {
        Some(_) => Ok(id),
        None => Err(Failure::usage("the end token", format!("the tokenizer has no token {id}"))),
    }
}

/// Converts a number of tokens to `usize`; saturates.
pub fn as_length(length: u32) -> usize {
    usize::try_from(length).unwrap_or(usize::MAX)
}

impl EncodingSpec {
    /// Returns the encoding of a format without truncation, padding, begin and end token, and masks.
    pub fn new(
        (format, rules): (&'static str, DocumentRules),
        template: Template,
        token: TokenType,
        tokenizer: &Tokenizer,
    ) -> Self {
        Self {
            format,
            rules,
            template,
            truncation: None,
            padding: None,
            begin: None,
            end: End::Never,
            token,
            kind: Kind::Plain,
            needs_tokens: false,
            may_overflow: u64::from(tokenizer.facts().greatest_id) > token.greatest(),
            wants_lines: false,
            is_length_planned: false,
            wants_chars: false,
            ids: IdSource::Unused,
        }
    }

    /// Returns the number of raw ids of a text that truncation removes, and the number of tokens that padding adds.
    pub(super) fn length_change(&self, ids: usize) -> (u64, u64) {
        let around = self.template.prefix.len() + self.template.suffix.len();
        let lost = self.truncation.as_ref().map_or(0, |truncation| truncation.truncated_ids(ids, around));
        let added = self.padding.as_ref().map_or(0, |fill| fill.length.saturating_sub(ids - lost + around));
        (lost as u64, added as u64)
    }

    /// Checks that documents can be packed with this spec.
    ///
    /// # Errors
    /// A token does not fit into the token type, or truncation leaves no room for the template.
    pub fn checked(self) -> Outcome<Self> {
        let end = self.end.id();
        let around = self.template.prefix.iter().chain(&self.template.suffix);
        let named = around.chain(&end).map(|id| ("--eos-token", *id)).chain(self.begin.map(|id| ("--bos-token", id)));
        if let Some((flag, id)) = named.into_iter().find(|(_, id)| u64::from(*id) > self.token.greatest()) {
            let why = format!("token {id} does not fit into {} bytes", self.token.bytes());
            let failure = Failure::usage(format!("packing for {}", self.format), why);
            return Err(failure.on(Subject::field(flag)));
        }
        if let Some(truncation) = &self.truncation {
            truncation.truncate(&[], self.template.prefix.len() + self.template.suffix.len())?;
        }
        Ok(self)
    }
}

/// Returns the document fields that the formats read.
pub fn fields_of(plan: &PackPlan, specs: &[EncodingSpec]) -> DocumentFields {
    let mut names: Vec<String> = Vec::new();
    for spec in specs {
        let (keys, id) = match (&spec.kind, &spec.ids) {
            (Kind::LossMask | Kind::Parts(_), _) => {
                return DocumentFields { text: plan.text.clone(), others: OtherFields::All }
            }
            (Kind::Sequences(rules), IdSource::Key(path)) => (rules.keys.as_slice(), path.first()),
            (Kind::Sequences(rules), _) => (rules.keys.as_slice(), None),
            (Kind::Plain, IdSource::Key(path)) => (&[][..], path.first()),
            (Kind::Plain, _) => (&[][..], None),
        };
        for name in keys.iter().chain(id) {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
    }
    // If only the texts of keys are read, the column of the text need not exist.
    let has_keys = |spec: &EncodingSpec| matches!(&spec.kind, Kind::Sequences(rules) if !rules.keys.is_empty());
    let text = match (&plan.text, names.first()) {
        (TextField::Key(text), Some(first)) if specs.iter().all(has_keys) && !names.contains(text) => {
            TextField::Key(first.clone())
        }
        (text, _) => text.clone(),
    };
    let others = if names.is_empty() { OtherFields::None } else { OtherFields::Named(names) };
    DocumentFields { text, others }
}

#[cfg(test)]
mod tests {
    use super::End;

    #[test]
    fn end_token_is_added_according_to_the_last_token() {
        let put = |end: End| [None, Some(1), Some(2)].map(|last| end.after(last).is_some());
        assert_eq!(put(End::Never), [false, false, false]);
        assert_eq!(put(End::Always(2)), [true, true, true]);
        assert_eq!(put(End::UnlessThere(2)), [true, true, false]);
        assert_eq!(put(End::AfterTokens(2)), [false, true, true]);
    }
}
