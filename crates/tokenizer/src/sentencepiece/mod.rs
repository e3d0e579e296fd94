//! SentencePiece models: encodes text into the same ids as the C++ library.

mod bpe;
mod charsmap;
mod message;
mod pieces;
mod trie;
mod unigram;

use super::{AddedTokenFacts, TokenSpan};
use bpe::Bpe;
use charsmap::{Normalizer, SPACE};
use gristmill_core::{Failure, Outcome};
use message::{ModelMessage, ModelType, PieceKind};
pub(super) use pieces::byte_of;
use pieces::{char_length, PieceTable};
use std::ops::Range;
use unigram::Unigram;

/// Maximum length of a text in bytes; offsets have 32 bits.
const MAX_TEXT_BYTES: usize = 1 << 30;

#[derive(Debug)]
pub(super) struct Model {
    pieces: PieceTable,
    normalizer: Normalizer,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Unigram(Unigram),
    Bpe(Bpe),
    Word,
    Char,
}

/// Buffers of one thread for encoding texts.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    normalized: Vec<u8>,
    /// Id of each piece, and its length in bytes of the normalized text.
    cut: Vec<(u32, u32)>,
    best: Vec<unigram::BestCut>,
    bpe: bpe::Scratch,
}

impl Model {
    /// Parses a `.model` file. The error is the reason why it is unusable.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, String> {
        let model = <ModelMessage as prost::Message>::decode(bytes)
            .map_err(|_| "it is not a SentencePiece model".to_owned())?;
        if model.pieces.is_empty() {
            return Err("it has no pieces".into());
        }
        let pieces = PieceTable::new(&model)?;
        let normalizer = Normalizer::new(&model, &pieces)?;
        let kind = match model.trainer.as_ref().map_or(ModelType::Unigram, |trainer| trainer.model_type()) {
            ModelType::Unigram => Kind::Unigram(Unigram::new(&pieces)),
            ModelType::Bpe => Kind::Bpe(Bpe::new(&pieces)),
            ModelType::Word => Kind::Word,
            ModelType::Char => Kind::Char,
        };
        Ok(Self { pieces, normalizer, kind })
    }

    pub(super) fn word(&self) -> &'static str {
        match self.kind {
            Kind::Unigram(_) => "Unigram",
            Kind::Bpe(_) => "BPE",
            Kind::Word => "Word",
            Kind::Char => "Char",
        }
    }

    pub(super) fn size(&self) -> usize {
        self.pieces.all.len()
    }

    pub(super) fn has_rules(&self) -> bool {
        self.normalizer.has_rules()
    }

    pub(super) fn unknown(&self) -> u32 {
        self.pieces.unknown
    }

    pub(super) fn id_of(&self, piece: &str) -> Option<u32> {
        self.pieces.id_of(piece.as_bytes())
    }

    pub(super) fn piece(&self, id: u32) -> Option<&str> {
        self.pieces.all.get(id as usize).map(|piece| piece.text.as_str())
    }

    /// Returns user-defined and control pieces, which are not part of the trained vocabulary.
    pub(super) fn added(&self) -> Vec<AddedTokenFacts> {
        let all = self.pieces.all.iter().zip(0u32..);
        all.filter(|(piece, _)| matches!(piece.kind, PieceKind::UserDefined | PieceKind::Control))
            .map(|(piece, id)| AddedTokenFacts {
                id,
                text: piece.text.clone(),
                is_special: piece.kind == PieceKind::Control,
            })
            .collect()
    }

    /// Appends the ids of a text.
    pub(super) fn encode(&self, text: &str, scratch: &mut Scratch, out: &mut Vec<u32>) -> Outcome<()> {
        let from = out.len();
        self.cut(text, scratch, None)?;
        let mut at = 0;
        let mut after_unknown = false;
        for (id, length) in &scratch.cut {
            let bytes = &scratch.normalized[at..at + *length as usize];
            at += bytes.len();
            let is_unknown = *id == self.pieces.unknown;
            match &self.pieces.bytes {
                Some(ids) if is_unknown => out.extend(bytes.iter().map(|byte| ids[usize::from(*byte)])),
                // Adjacent unknown pieces become one unknown piece.
                _ if is_unknown && after_unknown => {}
                _ => out.push(*id),
            }
            after_unknown = is_unknown;
            if self.pieces.kind(*id) == Some(PieceKind::Control) {
                out.truncate(from);
                return Err(Failure::data("encoding the text", "a character of it is a control token of the model"));
            }
        }
        Ok(())
    }

    /// Returns ids with their ranges in the text.
    pub(super) fn spans(&self, text: &str, scratch: &mut Scratch) -> Outcome<Vec<TokenSpan>> {
        let mut origins = Vec::new();
        self.cut(text, scratch, Some(&mut origins))?;
        let mut spans: Vec<TokenSpan> = Vec::with_capacity(scratch.cut.len());
        let mut at = 0;
        let mut after_unknown = false;
        for (id, length) in &scratch.cut {
            let normalized = &scratch.normalized[at..at + *length as usize];
            let (start, end) = (origins[at], origins[at + normalized.len()]);
            at += normalized.len();
            let is_unknown = *id == self.pieces.unknown;
            match (&self.pieces.bytes, spans.last_mut()) {
                // As in the reference, the last byte token has the range of the character; the others have empty ranges.
                (Some(ids), _) if is_unknown => {
                    for (byte, left) in normalized.iter().zip((0..normalized.len()).rev()) {
                        spans.push(span(ids[usize::from(*byte)], start..if left == 0 { end } else { start }));
                    }
                }
                (_, Some(last)) if is_unknown && after_unknown => last.bytes.end = end,
                _ => spans.push(span(*id, start..end)),
            }
            after_unknown = is_unknown;
        }
        count_chars(text, &mut spans);
        Ok(spans)
    }

    /// Normalizes a text and divides it into pieces. Writes both to `scratch`.
    fn cut(&self, text: &str, scratch: &mut Scratch, origins: Option<&mut Vec<usize>>) -> Outcome<()> {
        let Scratch { normalized, cut, best, bpe } = scratch;
        cut.clear();
        self.normalizer.normalize(text.as_bytes(), &self.pieces, normalized, origins);
        if normalized.len() > MAX_TEXT_BYTES {
            return Err(Failure::data("encoding the text", "it is longer than 1 GiB"));
        }
        match &self.kind {
            Kind::Unigram(unigram) => unigram.cut(normalized, &self.pieces, best, cut),
            Kind::Bpe(model) => model.cut(normalized, &self.pieces, bpe, cut),
            Kind::Word => self.append_pieces(normalized, cut, word_length),
            Kind::Char => self.append_pieces(normalized, cut, |text| {
                let user = self.pieces.user_defined.as_ref().and_then(|trie| trie.longest(text));
                user.map_or_else(|| char_length(text), |(length, _)| length)
            }),
        }
        Ok(())
    }

    fn append_pieces(&self, text: &[u8], cut: &mut Vec<(u32, u32)>, length: impl Fn(&[u8]) -> usize) {
        let mut rest = text;
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(length(rest));
            cut.push((self.pieces.id_of(piece).unwrap_or(self.pieces.unknown), piece.len() as u32));
            rest = after;
        }
    }

    /// Returns the bytes that an id represents; for control pieces, their names.
    pub(super) fn bytes_of(&self, id: u32) -> Vec<u8> {
        let Some(piece) = self.pieces.all.get(id as usize) else { return Vec::new() };
        match (piece.kind, byte_of(&piece.text)) {
            (PieceKind::Byte, Some(byte)) => vec![byte],
            (PieceKind::Control | PieceKind::Unknown, _) => piece.text.clone().into_bytes(),
            _ => piece.text.replace('▁', " ").into_bytes(),
        }
    }

    /// Returns the text of these ids, without the space that the model added before it.
    pub(super) fn decode(&self, ids: &[u32]) -> String {
        let bytes: Vec<u8> = ids.iter().flat_map(|id| self.bytes_of(*id)).collect();
        let text = String::from_utf8_lossy(&bytes);
        match text.strip_prefix(' ') {
            Some(rest) if self.normalizer.adds_leading_space() => rest.to_owned(),
            _ => text.into_owned(),
        }
    }
}

/// Returns the length of the first word: up to the next space symbol, ignoring one at the start.
fn word_length(text: &[u8]) -> usize {
    let first = char_length(text);
    first + memchr::memmem::find(&text[first..], SPACE).unwrap_or(text.len() - first)
}

fn span(id: u32, bytes: Range<usize>) -> TokenSpan {
    TokenSpan { id, chars: 0..0, bytes, is_template: false }
}

/// Computes character ranges from byte ranges, whose offsets must not decrease.
fn count_chars(text: &str, spans: &mut [TokenSpan]) {
    let (mut bytes, mut chars) = (0, 0);
    let mut chars_at = |place: usize| {
        let from = text.as_bytes().get(bytes..place).unwrap_or_default();
        // Counts all bytes except continuation bytes.
        chars += from.iter().filter(|byte| (**byte as i8) >= -0x40).count();
        bytes = bytes.max(place);
        chars
    };
    for span in spans {
        let start = chars_at(span.bytes.start);
        span.chars = start..chars_at(span.bytes.end);
    }
}
