//! How a format transforms the raw ids of a text.

use crate::formats::modalities::token_bytes;
use crate::formats::nanosets::TokenSize;
use gristmill_core::pack::{
    EndToken, ForagerTarget, MaskedParts, ModalitiesTarget, NanosetsTarget, SampleSize, TokenType,
};
use gristmill_core::text::display_safe;
use gristmill_core::{Failure, Outcome, PackFormat, PackPlan, Problem, ProblemKind, Subject};
use gristmill_tokenizer::{PaddingLength, Side, Template, Tokenizer, TokenizerKind, Truncation};

/// The end token of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// None.
    Never,
    /// This one, even if the document already ends with it.
    Always(u32),
    /// This one, unless the document ends with it.
    UnlessThere(u32),
}

/// Padding of each document to a length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fill {
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
}

/// How a format transforms the raw ids of a text.
#[derive(Clone, Debug)]
pub struct EncodingSpec {
    /// The format, whose rules apply to lines.
    pub format: PackFormat,
    /// Ids added around the text's own.
    pub template: Template,
    /// The maximum length of documents.
    pub truncation: Option<Truncation>,
    /// The minimum length of documents.
    pub fill: Option<Fill>,
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
    /// Whether the lengths of the texts in characters are needed, for statistics.
    pub wants_chars: bool,
}

/// Returns the specs of a plan, in the order of its formats. Fails if an end token is missing from the plan or the vocabulary, or does
/// not fit into a token.
pub fn specs(plan: &PackPlan, tokenizer: &Tokenizer) -> Outcome<Vec<EncodingSpec>> {
    let mut specs = Vec::new();
    if let Some(target) = &plan.modalities {
        specs.push(of_modalities(plan, target, tokenizer)?);
    }
    if let Some(target) = &plan.nanosets {
        specs.push(of_nanosets(plan, target, tokenizer)?);
    }
    if let Some(target) = &plan.forager {
        specs.push(of_forager(plan, target, tokenizer)?);
    }
    if specs.is_empty() {
        return Err(
            Failure::usage("packing", "no format is chosen").with_hint("--format modalities, nanosets or forager")
        );
    }
    Ok(specs)
}

fn of_modalities(plan: &PackPlan, target: &ModalitiesTarget, tokenizer: &Tokenizer) -> Outcome<EncodingSpec> {
    let end = match (&target.eod_token, &plan.end) {
        (Some(token), _) => modalities_end(plan, tokenizer, token)?,
        (None, Some(EndToken::Text(token))) => modalities_end(plan, tokenizer, token)?,
        (None, Some(EndToken::Id(id))) => known_id(tokenizer, *id)?,
        (None, None) => return Err(no_end("every document of a .pbin ends with one")),
    };
    let fill = match target.pad_to {
        Some(length) => Some(Fill {
            length: as_length(length),
            id: match &target.pad_token {
                Some(token) => tokenizer.expect_id(token)?,
                None => tokenizer.padding().map(|padding| padding.id).ok_or_else(|| {
                    Failure::usage("filling documents up", "the tokenizer does not say which token to put")
                        .with_hint("name it with --pad-token, or as pad_token below special_tokens of a configuration")
                })?,
            },
            side: tokenizer.padding().map_or(Side::Right, |padding| padding.side),
        }),
        None => None,
    };
    let truncation = target.truncate_to.map(|length| Truncation {
        max_length: as_length(length),
        side: tokenizer.truncation().map_or(Side::Right, |stored| stored.side),
    });
    let token = match token_bytes(tokenizer.base_size()) {
        1 => TokenType::U8,
        2 => TokenType::U16,
        _ => TokenType::U32,
    };
    // SentencePiece adds nothing around a text.
    let template = match tokenizer.kind() {
        TokenizerKind::SentencePiece => Template::default(),
        TokenizerKind::Json => tokenizer.template()?,
    };
    let spec = EncodingSpec {
        truncation,
        fill,
        end: End::UnlessThere(end),
        needs_tokens: true,
        wants_lines: plan.compat,
        ..EncodingSpec::new(PackFormat::Modalities, template, token, tokenizer)
    };
    spec.checked()
}

/// Returns the unknown token, which the reference program uses for an end token that is not in the vocabulary; `None` if the token exists
/// or the tokenizer has no unknown token.
pub fn unknown_end(tokenizer: &Tokenizer, token: &str) -> Option<u32> {
    let is_missing = tokenizer.kind() == TokenizerKind::Json && tokenizer.id_of(token).is_none();
    tokenizer.unknown().filter(|_| is_missing)
}

/// Returns the note that the unknown token `id` ends documents.
pub fn unknown_end_note(token: &str, id: u32) -> Problem {
    let token = display_safe(token);
    let why = format!(
        "the end token `{token}` is not in the tokenizer's vocabulary: the unknown token (id {id}) ends each document, as in Modalities"
    );
    Problem::note(ProblemKind::Other, Subject::field(PackFormat::Modalities.word()), why)
}

/// Returns the end token. With `--compat` the unknown token replaces a missing one.
fn modalities_end(plan: &PackPlan, tokenizer: &Tokenizer, token: &str) -> Outcome<u32> {
    match (tokenizer.expect_id(token), unknown_end(tokenizer, token)) {
        (Err(_), Some(id)) if plan.compat => Ok(id),
        (Err(failure), Some(id)) => {
            let near = failure.hint.as_ref().map_or_else(String::new, |near| format!("{near} "));
            let hint = format!("{near}--eos-id {id} or --compat takes the unknown token, as Modalities does");
            Err(failure.with_hint(hint))
        }
        (Ok(id), _) if tokenizer.kind() == TokenizerKind::SentencePiece && Some(id) == tokenizer.unknown() => {
            Err(Failure::usage("looking up the end token", format!("`{token}` is the unknown piece of the tokenizer")))
        }
        (found, _) => found,
    }
}
fn of_nanosets(plan: &PackPlan, target: &NanosetsTarget, tokenizer: &Tokenizer) -> Outcome<EncodingSpec> {
    // An end token replaces the whole template.
    let template = match &plan.end {
        Some(end) => Template { prefix: Vec::new(), suffix: vec![end_id(tokenizer, end)?] },
        None => tokenizer.template()?,
    };
    let token = match TokenSize::of_vocabulary(tokenizer.full_size()) {
        TokenSize::Two => TokenType::U16,
        TokenSize::Four => TokenType::U32,
    };
    if target.loss_masks && tokenizer.padding().is_some() {
        return Err(Failure::usage("loss masks", "the tokenizer file fills texts up, and masks say nothing of that")
            .with_hint("take the padding out of the tokenizer file: set \"padding\" to null"));
    }
    let spec = EncodingSpec {
        truncation: tokenizer.truncation(),
        kind: if target.loss_masks { Kind::LossMask } else { Kind::Plain },
        wants_chars: target.logging_dir.is_some(),
        ..EncodingSpec::new(PackFormat::Nanosets, template, token, tokenizer)
    };
    spec.checked()
}

fn of_forager(plan: &PackPlan, target: &ForagerTarget, tokenizer: &Tokenizer) -> Outcome<EncodingSpec> {
    let end = match (target.sample_size, &plan.end) {
        (SampleSize::Variable, _) => End::Never,
        (SampleSize::Fixed(_), Some(end)) => End::Always(end_id(tokenizer, end)?),
        (SampleSize::Fixed(_), None) => return Err(no_end("samples of a fixed length need one between documents")),
    };
    match (target.sample_size, &target.masks) {
        (SampleSize::Fixed(0), _) => return Err(Failure::usage("the sample size", "it has to be at least 1")),
        (SampleSize::Variable, Some(_)) => {
            return Err(Failure::usage("loss masks of Forager", "they need samples of a fixed length")
                .with_hint("give --sample-size"));
        }
        _ => {}
    }
    let template = if target.special_tokens { tokenizer.template()? } else { Template::default() };
    let fill = tokenizer.padding().and_then(|padding| match padding.length {
        PaddingLength::Fixed(length) => {
            let multiple = padding.multiple_of.filter(|multiple| *multiple > 0).unwrap_or(1);
            let length = length.div_ceil(multiple).saturating_mul(multiple);
            Some(Fill { length, id: padding.id, side: padding.side })
        }
        // The longest of one document adds nothing.
        PaddingLength::Longest => None,
    });
    let spec = EncodingSpec {
        truncation: tokenizer.truncation(),
        fill,
        end,
        kind: target.masks.clone().map_or(Kind::Plain, Kind::Parts),
        ..EncodingSpec::new(PackFormat::Forager, template, target.token_type(), tokenizer)
    };
    spec.checked()
}

fn no_end(why: &str) -> Failure {
    Failure::usage("the end token", format!("none is given, and {why}"))
        .with_hint("name it: --eos-token '<|endoftext|>'")
}

fn end_id(tokenizer: &Tokenizer, end: &EndToken) -> Outcome<u32> {
    match end {
        EndToken::Text(token) => tokenizer.expect_id(token),
        EndToken::Id(id) => known_id(tokenizer, *id),
    }
}

fn known_id(tokenizer: &Tokenizer, id: u32) -> Outcome<u32> {
    match tokenizer.token_of(id) {
        Some(_) => Ok(id),
        None => Err(Failure::usage("the end token", format!("the tokenizer has no token {id}"))),
    }
}

fn as_length(length: u32) -> usize {
    usize::try_from(length).unwrap_or(usize::MAX)
}

impl EncodingSpec {
    fn new(format: PackFormat, template: Template, token: TokenType, tokenizer: &Tokenizer) -> Self {
        Self {
            format,
            template,
            truncation: None,
            fill: None,
            end: End::Never,
            token,
            kind: Kind::Plain,
            needs_tokens: false,
            may_overflow: u64::from(tokenizer.facts().greatest_id) > token.greatest(),
            wants_lines: false,
            wants_chars: false,
        }
    }

    /// Returns how many of a text's raw ids truncation cuts off, and how many tokens padding adds.
    pub(super) fn length_change(&self, ids: usize) -> (u64, u64) {
        let around = self.template.prefix.len() + self.template.suffix.len();
        let lost = self.truncation.as_ref().map_or(0, |truncation| truncation.lost(ids, around));
        let added = self.fill.as_ref().map_or(0, |fill| fill.length.saturating_sub(ids - lost + around));
        (lost as u64, added as u64)
    }

    /// Refuses a spec that no document could be packed with.
    fn checked(self) -> Outcome<Self> {
        let end = match self.end {
            End::Never => None,
            End::Always(id) | End::UnlessThere(id) => Some(id),
        };
        let around = self.template.prefix.iter().chain(&self.template.suffix).chain(&end);
        if let Some(id) = around.copied().find(|id| u64::from(*id) > self.token.greatest()) {
            let why = format!("token {id} does not fit into {} bytes", self.token.bytes());
            let failure = Failure::usage(format!("packing for {}", self.format.word()), why);
            return Err(failure.on(Subject::field("--eos-token")));
        }
        if let Some(truncation) = &self.truncation {
            truncation.truncate(&[], self.template.prefix.len() + self.template.suffix.len())?;
        }
        Ok(self)
    }
}
