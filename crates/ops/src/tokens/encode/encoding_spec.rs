//! How a format transforms the raw ids of a text.

use super::document_ids::IdSource;
use super::sequence_rules::SequenceRules;
use gristmill_core::pack::{MaskedParts, SpecialToken, TokenType};
use gristmill_core::{Failure, Outcome, PackPlan, Subject};
use gristmill_data::source::documents::{DocumentFields, DocumentRules, OtherFields};
use gristmill_tokenizer::{Side, Template, Tokenizer, Truncation};

/// The end token of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// None.
    Never,
    /// This one, even if the document already ends with it.
    Always(u32),
    /// This one, unless the document ends with it.
    UnlessThere(u32),
    /// This one, unless the document has no token.
    AfterTokens(u32),
}

impl End {
    /// Returns the id, which may not be put after every document.
    fn id(self) -> Option<u32> {
        match self {
            Self::Never => None,
            Self::Always(id) | Self::UnlessThere(id) | Self::AfterTokens(id) => Some(id),
        }
    }

    /// Returns the id if it is put after a document whose last token is this one.
    pub(super) fn after(self, last: Option<u32>) -> Option<u32> {
        self.id().filter(|id| match self {
            Self::Never | Self::Always(_) => true,
            Self::UnlessThere(_) => last != Some(*id),
            Self::AfterTokens(_) => last.is_some(),
        })
    }
}

/// Padding of each document to a length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DocumentPadding {
    /// Minimum number of tokens of a document.
    pub length: usize,
    /// The padding token.
    pub id: u32,
    /// The side on which it is added.
    pub side: Side,
}

/// The data that accompanies the tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// None.
    Plain,
    /// One byte per token, 1 if it is trained on; the document gives the ranges that are not (docs/formats/nanosets.md §2).
    LossMask,
    /// Documents are lists of parts; one byte per token, 1 if it is not trained on (docs/formats/forager.md §3.4).
    Parts(MaskedParts),
    /// Documents are sequences (docs/formats/megatron.md §2).
    Sequences(SequenceRules),
}

impl Kind {
    /// Whether documents are encoded from the extracted text, unless it is a list.
    pub(super) fn reads_text(&self) -> bool {
        match self {
            Self::Plain | Self::LossMask => true,
            Self::Parts(_) => false,
            Self::Sequences(rules) => rules.is_plan_text,
        }
    }

    /// Returns how documents are divided into sequences, if they are.
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
    /// Which lines are refused.
    pub rules: DocumentRules,
    /// Ids added around the text's own.
    pub template: Template,
    /// The maximum length of documents.
    pub truncation: Option<Truncation>,
    /// The minimum length of documents.
    pub padding: Option<DocumentPadding>,
    /// The token that begins documents, unless a document begins with it. Documents with masks have none.
    pub begin: Option<u32>,
    /// The end token.
    pub end: End,
    /// The type of a written token.
    pub token: TokenType,
    /// The data that accompanies the tokens.
    pub kind: Kind,
    /// Whether a document without tokens is refused.
    pub needs_tokens: bool,
    /// Whether the tokenizer has ids that may not fit into a token.
    pub may_overflow: bool,
    /// Whether reasons are needed line by line, as are the lines of documents: the losses of the reference are reproduced.
    pub wants_lines: bool,
    /// Whether truncation and padding are answers of the plan, and not of the tokenizer file.
    pub is_length_planned: bool,
    /// Whether the lengths of the texts in characters are needed, for statistics.
    pub wants_chars: bool,
    /// Where the ids of documents come from.
    pub ids: IdSource,
}

/// Returns the failure that an end token is missing, with the reason why one is needed.
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

/// Returns an id that the tokenizer has; fails if it has none.
pub fn known_id(tokenizer: &Tokenizer, id: u32) -> Outcome<u32> {
    match tokenizer.token_of(id) {
        Some(_) => Ok(id),
        None => Err(Failure::usage("the end token", format!("the tokenizer has no token {id}"))),
    }
}

/// Returns a number of tokens as a length in memory.
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

    /// Returns how many of a text's raw ids truncation cuts off, and how many tokens padding adds.
    pub(super) fn length_change(&self, ids: usize) -> (u64, u64) {
        let around = self.template.prefix.len() + self.template.suffix.len();
        let lost = self.truncation.as_ref().map_or(0, |truncation| truncation.truncated_ids(ids, around));
        let added = self.padding.as_ref().map_or(0, |fill| fill.length.saturating_sub(ids - lost + around));
        (lost as u64, added as u64)
    }

    /// Refuses a spec that no document could be packed with.
    ///
    /// # Errors
    /// A token does not fit, or truncation leaves no room for the template.
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

/// Returns the fields of documents that formats read.
pub fn fields_of(plan: &PackPlan, specs: &[EncodingSpec]) -> DocumentFields {
    let mut others = OtherFields::None;
    for spec in specs {
        others = match (others, &spec.kind, &spec.ids) {
            (OtherFields::All, ..) | (_, Kind::LossMask | Kind::Parts(_) | Kind::Sequences(_), _) => OtherFields::All,
            (OtherFields::None, _, IdSource::Key(path)) => {
                OtherFields::Named(path.first().cloned().into_iter().collect())
            }
            (OtherFields::Named(names), _, IdSource::Key(path)) => {
                let other = path.first().filter(|name| !names.contains(name)).cloned();
                OtherFields::Named(names.into_iter().chain(other).collect())
            }
            (others, ..) => others,
        };
    }
    DocumentFields { text: plan.text.clone(), others }
}

#[cfg(test)]
mod tests {
    use super::End;

    #[test]
    fn an_end_token_is_put_by_what_the_document_ends_with() {
        let put = |end: End| [None, Some(1), Some(2)].map(|last| end.after(last).is_some());
        assert_eq!(put(End::Never), [false, false, false]);
        assert_eq!(put(End::Always(2)), [true, true, true]);
        assert_eq!(put(End::UnlessThere(2)), [true, true, false]);
        assert_eq!(put(End::AfterTokens(2)), [false, true, true]);
    }
}
