//! The result of packing a piece of text.

use super::document_ids::DocumentIds;
use super::encoding_spec::EncodingSpec;
use super::sequence_rules::Sequences;
use gristmill_core::pack::TokenType;
use gristmill_core::{Outcome, ProblemKind};
use gristmill_tokenizer::{Mismatch, Side};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Maximum number of findings per piece that are stored with their places; further findings are only counted.
pub const MAX_PIECE_FINDINGS: usize = 1_000;

/// Number of documents that were omitted for one reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SkipCount {
    /// The reason, in user-facing words.
    pub reason: &'static str,
    /// Whether the reference program omits them too.
    pub is_by_design: bool,
    /// Number of documents.
    pub documents: u64,
}

/// A document that a format omits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The specs that omit the document, one bit for each.
    pub specs: u8,
    /// Line number of the document, counted from 0.
    pub line: u64,
    /// Offset of the line in the uncompressed text, in bytes; for a row, the row group, counted from 0.
    pub start: u64,
    /// The reason, in user-facing words.
    pub reason: &'static str,
    /// The column of a row whose text cannot be read, if it is known.
    pub column: Option<Box<str>>,
    /// Whether the reference program omits the document too.
    pub is_by_design: bool,
    /// The kind of problem.
    pub kind: ProblemKind,
}

/// The documents of a piece, encoded for one format.
#[derive(Clone, Debug, Default)]
pub struct EncodedBlock {
    /// The tokens of all documents, in the bytes of the file.
    pub bytes: Vec<u8>,
    /// One byte per token, if the spec has masks.
    pub mask: Vec<u8>,
    /// Number of tokens of each document.
    pub lengths: Vec<u64>,
    /// The sequences of the documents, if the spec has them.
    pub sequences: Sequences,
    /// Line number of each document, if the spec needs it.
    pub lines: Vec<u64>,
    /// The id of each document, if the spec reads ids from a key.
    pub ids: DocumentIds,
    /// Number of characters of each document's text, if the spec needs it.
    pub chars: Vec<u64>,
    /// Number of tokens of each document that truncation removed; empty if the spec has no truncation.
    pub lost: Vec<u64>,
    /// Number of tokens that padding added to each document; empty if the spec has no padding.
    pub filled: Vec<u64>,
    /// Omitted documents, by reason.
    pub skipped: Vec<SkipCount>,
    /// The first line that cannot be packed, and the reason. The reference program stops or begins to lose documents at this line.
    pub first_refused: Option<(u64, &'static str)>,
}

/// Counts of documents whose texts contain special tokens of the tokenizer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpecialTokenCounts {
    /// Number of documents.
    pub documents: u64,
    /// Line number of the first document, counted from 0.
    pub first_line: u64,
    /// Number of documents for each token id.
    pub tokens: BTreeMap<u32, u64>,
}

impl SpecialTokenCounts {
    pub(super) fn add(&mut self, line: u64, ids: &[u32]) {
        if ids.is_empty() {
            return;
        }
        if self.documents == 0 {
            self.first_line = line;
        }
        self.documents += 1;
        ids.iter().for_each(|id| *self.tokens.entry(*id).or_default() += 1);
    }

    /// Adds the counts of a later piece.
    pub fn append(&mut self, later: &Self) {
        if self.documents == 0 {
            self.first_line = later.first_line;
        }
        self.documents += later.documents;
        later.tokens.iter().for_each(|(id, documents)| *self.tokens.entry(*id).or_default() += documents);
    }
}

/// The result of packing a piece. Its memory is reused for the next piece.
#[derive(Debug, Default)]
pub struct PackedPiece {
    /// One block for each spec.
    pub encoded_blocks: Vec<EncodedBlock>,
    /// Number of lines, spans or rows that were read.
    pub items: u64,
    /// Number of bytes of the lines and spans, or of the texts of rows.
    pub text_bytes: u64,
    /// Number of documents that at least one format packed.
    pub documents: u64,
    /// Number of raw tokens of these documents.
    pub tokens: u64,
    /// Documents with special tokens in their texts.
    pub special: SpecialTokenCounts,
    /// The first findings, at most [`MAX_PIECE_FINDINGS`].
    pub findings: Vec<Finding>,
    /// Further findings: whether by design, kind, and number.
    pub unlisted: Vec<(bool, ProblemKind, u64)>,
    /// The keys of the first line whose text is missing.
    pub keys: Vec<String>,
    /// A difference between the fast tokenizer and the reference; the whole piece is then invalid.
    pub mismatch: Option<Mismatch>,
}

impl EncodedBlock {
    /// Returns the first documents; a token has `width` bytes. The result has no record of omitted documents.
    pub fn first(&self, documents: usize, width: usize) -> Self {
        let first = |values: &[u64]| values.get(..documents).unwrap_or_default().to_vec();
        let lengths = first(&self.lengths);
        let sequences = self.sequences.first(documents, self.lengths.len());
        let tokens = usize::try_from(lengths.iter().sum::<u64>()).unwrap_or(usize::MAX);
        let bytes = self.bytes.get(..tokens.saturating_mul(width)).unwrap_or_default().to_vec();
        Self {
            bytes,
            mask: self.mask.get(..tokens).unwrap_or_default().to_vec(),
            lengths,
            sequences,
            lines: first(&self.lines),
            ids: self.ids.first(documents),
            chars: first(&self.chars),
            lost: first(&self.lost),
            filled: first(&self.filled),
            skipped: Vec::new(),
            first_refused: None,
        }
    }

    /// Divides the documents among outputs by their lines; a token has `width` bytes. Drops documents without an output. Supports only
    /// formats without sequences and ids, and the results have no record of omitted documents.
    pub fn divide(&self, width: usize, output_of: impl Fn(u64) -> Option<usize>) -> BTreeMap<usize, Self> {
        let mut parts: BTreeMap<usize, Self> = BTreeMap::new();
        let mut from = 0;
        for (number, (length, line)) in self.lengths.iter().zip(&self.lines).enumerate() {
            let to = from + usize::try_from(*length).unwrap_or(usize::MAX);
            let tokens = std::mem::replace(&mut from, to)..to;
            let Some(output) = output_of(*line) else { continue };
            let part = parts.entry(output).or_default();
            let bytes = self.bytes.get(tokens.start * width..tokens.end * width);
            part.bytes.extend_from_slice(bytes.unwrap_or_default());
            part.mask.extend_from_slice(self.mask.get(tokens).unwrap_or_default());
            part.lengths.push(*length);
            part.lines.push(*line);
            part.chars.extend(self.chars.get(number));
            part.lost.extend(self.lost.get(number));
            part.filled.extend(self.filled.get(number));
        }
        parts
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.mask.clear();
        self.lengths.clear();
        self.sequences.clear();
        self.lines.clear();
        self.ids.clear();
        self.chars.clear();
        self.lost.clear();
        self.filled.clear();
        self.skipped.clear();
        self.first_refused = None;
    }

    pub(super) fn skip(&mut self, line: u64, reason: &'static str, is_by_design: bool) {
        if !is_by_design {
            self.first_refused.get_or_insert((line, reason));
        }
        let same = |count: &&mut SkipCount| count.reason == reason && count.is_by_design == is_by_design;
        match self.skipped.iter_mut().find(same) {
            Some(count) => count.documents += 1,
            None => self.skipped.push(SkipCount { reason, is_by_design, documents: 1 }),
        }
    }

    /// Returns the number of tokens of all documents.
    pub fn tokens(&self) -> u64 {
        self.lengths.iter().sum()
    }

    /// Adds a document with the format's template, truncation, padding, begin token and end token. If the document is refused, returns the
    /// reason and adds nothing. `whole` is a reusable buffer.
    pub(super) fn add(
        &mut self,
        spec: &EncodingSpec,
        ids: &[u32],
        whole: &mut Vec<u32>,
    ) -> Outcome<Result<(), &'static str>> {
        let shaped = shape(spec, ids, whole)?;
        let begin = spec.begin.filter(|id| shaped.iter().find_map(|part| part.first()) != Some(id));
        let last = shaped.iter().rev().find_map(|part| part.last()).or(begin.as_ref());
        let end = spec.end.after(last.copied());
        let tokens: usize = shaped.iter().map(|part| part.len()).sum();
        if tokens == 0 && spec.needs_tokens {
            return Ok(Err("the tokenizer makes no token of its text"));
        }
        if spec.may_overflow && !shaped.iter().all(|part| can_store(spec.token, part)) {
            return Ok(Err(TOO_LARGE));
        }
        append_ids(spec.token, begin.as_slice(), &mut self.bytes);
        shaped.iter().for_each(|part| append_ids(spec.token, part, &mut self.bytes));
        append_ids(spec.token, end.as_slice(), &mut self.bytes);
        self.lengths.push((tokens + usize::from(begin.is_some()) + usize::from(end.is_some())) as u64);
        self.note_lengths(spec, spec.length_change(ids.len()));
        Ok(Ok(()))
    }

    fn note_lengths(&mut self, spec: &EncodingSpec, (lost, filled): (u64, u64)) {
        self.lost.extend(spec.truncation.is_some().then_some(lost));
        self.filled.extend(spec.padding.is_some().then_some(filled));
    }

    /// Adds a document unchanged, with its mask. `changed` is the result of [`EncodingSpec::length_change`] for its texts.
    pub(super) fn add_masked(
        &mut self,
        spec: &EncodingSpec,
        ids: &[u32],
        mask: &[u8],
        changed: (u64, u64),
    ) -> Result<(), &'static str> {
        if spec.may_overflow && !can_store(spec.token, ids) {
            return Err(TOO_LARGE);
        }
        append_ids(spec.token, ids, &mut self.bytes);
        self.mask.extend_from_slice(mask);
        self.lengths.push(ids.len() as u64);
        self.note_lengths(spec, changed);
        Ok(())
    }
}

pub(super) const TOO_LARGE: &str = "it has a token whose id does not fit into the format's token size";

/// Returns the ids of a document without its end token, as three consecutive slices. `whole` is a reusable buffer.
pub(super) fn shape<'a>(spec: &'a EncodingSpec, ids: &'a [u32], whole: &'a mut Vec<u32>) -> Outcome<[&'a [u32]; 3]> {
    let Some(fill) = spec.padding else { return spec.template.with_special_ids(ids, spec.truncation.as_ref()) };
    whole.clear();
    spec.template.apply(ids, spec.truncation.as_ref(), whole)?;
    let missing = fill.length.saturating_sub(whole.len());
    match fill.side {
        Side::Right => whole.resize(whole.len() + missing, fill.id),
        Side::Left => drop(whole.splice(..0, std::iter::repeat_n(fill.id, missing))),
    }
    Ok([whole, &[], &[]])
}

pub(super) fn can_store(token: TokenType, ids: &[u32]) -> bool {
    ids.iter().all(|id| u64::from(*id) <= token.greatest())
}

/// Number of ids converted to bytes at a time.
const AT_ONCE: usize = 256;

/// Appends ids in the bytes of the token type. All ids must fit into the type.
pub(super) fn append_ids(token: TokenType, ids: &[u32], out: &mut Vec<u8>) {
    match token {
        TokenType::U8 => out.extend(ids.iter().map(|id| *id as u8)),
        TokenType::U16 => put_each(ids, out, |id| (id as u16).to_le_bytes()),
        // The file has the same bytes as the memory.
        TokenType::U32 | TokenType::I32 if cfg!(target_endian = "little") => {
            out.extend_from_slice(bytemuck::cast_slice(ids));
        }
        TokenType::U32 | TokenType::I32 => put_each(ids, out, u32::to_le_bytes),
        TokenType::I64 | TokenType::U64 => put_each(ids, out, |id| u64::from(id).to_le_bytes()),
    }
}

/// Appends the bytes of each id.
fn put_each<const BYTES: usize>(ids: &[u32], out: &mut Vec<u8>, bytes: impl Fn(u32) -> [u8; BYTES]) {
    out.reserve(ids.len() * BYTES);
    let mut space = [[0; BYTES]; AT_ONCE];
    for some in ids.chunks(AT_ONCE) {
        space.iter_mut().zip(some).for_each(|(space, id)| *space = bytes(*id));
        out.extend_from_slice(space.get(..some.len()).unwrap_or_default().as_flattened());
    }
}

impl PackedPiece {
    /// Clears the piece for `specs` specs.
    pub fn clear(&mut self, specs: usize) {
        self.encoded_blocks.resize_with(specs, EncodedBlock::default);
        self.encoded_blocks.iter_mut().for_each(EncodedBlock::clear);
        (self.items, self.text_bytes) = (0, 0);
        self.documents = 0;
        self.tokens = 0;
        self.special = SpecialTokenCounts::default();
        self.findings.clear();
        self.unlisted.clear();
        self.keys.clear();
        self.mismatch = None;
    }

    /// Returns the approximate memory held, in bytes.
    pub fn memory_bytes(&self) -> usize {
        let encoded = |encoded: &EncodedBlock| {
            let lengths = encoded.lengths.capacity() * 8;
            encoded.bytes.capacity()
                + encoded.mask.capacity()
                + lengths
                + encoded.ids.memory_bytes()
                + encoded.sequences.memory_bytes()
        };
        self.encoded_blocks.iter().map(encoded).sum()
    }

    pub(super) fn find(&mut self, finding: Finding) {
        // Formats that omit the same line for the same reason share one finding.
        if let Some(last) = self.findings.last_mut() {
            if last.line == finding.line
                && last.start == finding.start
                && last.reason == finding.reason
                && last.is_by_design == finding.is_by_design
                && last.specs & finding.specs == 0
            {
                last.specs |= finding.specs;
                return;
            }
        }
        let same = self.findings.iter().filter(|known| known.is_by_design == finding.is_by_design).count();
        if same < MAX_PIECE_FINDINGS {
            self.findings.push(finding);
            return;
        }
        let key = (finding.is_by_design, finding.kind);
        match self.unlisted.iter_mut().find(|(is_by_design, kind, _)| (*is_by_design, *kind) == key) {
            Some((_, _, count)) => *count += 1,
            None => self.unlisted.push((key.0, key.1, 1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::encoding_spec::End;
    use super::super::{IdSource, Kind};
    use super::*;
    use gristmill_data::source::documents::DocumentRules;
    use gristmill_tokenizer::Template;

    #[test]
    fn begin_and_end_tokens_are_not_doubled() {
        let spec = |begin, end| EncodingSpec {
            format: "any",
            rules: DocumentRules::PYTHON,
            template: Template::default(),
            truncation: None,
            padding: None,
            begin,
            end,
            token: TokenType::U8,
            kind: Kind::Plain,
            needs_tokens: false,
            may_overflow: false,
            wants_lines: false,
            is_length_planned: false,
            wants_chars: false,
            ids: IdSource::Unused,
        };
        let packed = |begin, end, ids: &[u32]| {
            let mut block = EncodedBlock::default();
            block.add(&spec(begin, end), ids, &mut Vec::new()).unwrap().unwrap();
            assert_eq!(block.lengths, [block.bytes.len() as u64]);
            block.bytes
        };
        let both = |ids: &[u32]| packed(Some(1), End::UnlessThere(2), ids);
        assert_eq!(both(&[5]), [1, 5, 2]);
        assert_eq!(both(&[1, 5]), [1, 5, 2]);
        assert_eq!(both(&[5, 2]), [1, 5, 2]);
        assert_eq!(both(&[1, 5, 2]), [1, 5, 2]);
        assert_eq!(both(&[2]), [1, 2]);
        assert_eq!(both(&[]), [1, 2]);
        assert_eq!(packed(Some(7), End::UnlessThere(7), &[]), [7], "one token does both");
        assert_eq!(packed(Some(7), End::Always(7), &[5]), [7, 5, 7]);
        assert_eq!(packed(None, End::Never, &[5]), [5]);
    }
}
