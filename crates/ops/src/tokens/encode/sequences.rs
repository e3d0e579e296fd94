//! Documents that consist of sequences: the texts of several keys, each a string or a list of strings (docs/formats/megatron.md §2).

use super::encoding_spec::EncodingSpec;
use super::packed::{append_ids, can_store, shape, EncodedBlock, TOO_LARGE};
use super::sequence_rules::SequenceRules;
use gristmill_core::Outcome;
use gristmill_data::source::documents::{Document, DocumentVerdict};
use gristmill_tokenizer::{Batch, Encoder, Mismatch, ParityCheck, SpecialTokenFinder};

/// The reason why a document that the tokenizer cannot encode is omitted.
pub(super) const NOT_ENCODED: &str = "the tokenizer cannot encode its text";

impl EncodedBlock {
    /// Adds a document with the ids of the strings of each of its texts. Adds the template to each string, and the end token to the last
    /// sequence of each text. If the document is refused, returns the reason and adds nothing. `whole` is a reusable buffer.
    pub(super) fn add_sequences(
        &mut self,
        spec: &EncodingSpec,
        rules: &SequenceRules,
        texts: &[&[&[u32]]],
        whole: &mut Vec<u32>,
    ) -> Outcome<Result<(), &'static str>> {
        let before = (self.bytes.len(), self.sequences.lengths.len(), self.sequences.counts.len());
        let mut tokens = 0;
        for text in texts {
            let first = self.sequences.lengths.len();
            let mut last = None;
            for ids in *text {
                let shaped = shape(spec, ids, whole)?;
                if spec.may_overflow && !shaped.iter().all(|part| can_store(spec.token, part)) {
                    self.bytes.truncate(before.0);
                    self.sequences.lengths.truncate(before.1);
                    self.sequences.counts.truncate(before.2);
                    return Ok(Err(TOO_LARGE));
                }
                shaped.iter().for_each(|part| append_ids(spec.token, part, &mut self.bytes));
                let length: u64 = shaped.iter().map(|part| part.len() as u64).sum();
                last = shaped.iter().rev().find_map(|part| part.last().copied()).or(last);
                self.sequences.lengths.extend((length > 0 || rules.keeps_empty).then_some(length));
                tokens += length;
            }
            if let Some(end) = spec.end.after(last) {
                append_ids(spec.token, &[end], &mut self.bytes);
                tokens += 1;
                match self.sequences.lengths.get_mut(first..).and_then(<[u64]>::last_mut) {
                    Some(length) => *length += 1,
                    None => self.sequences.lengths.push(1),
                }
            }
            self.sequences.counts.push((self.sequences.lengths.len() - first) as u64);
        }
        self.lengths.push(tokens);
        Ok(Ok(()))
    }
}

/// The result of packing a document from its line.
pub(super) enum LineResult {
    Packed {
        /// Number of raw tokens of its texts.
        tokens: u64,
        /// Special tokens written in the texts, each listed once.
        special: Vec<u32>,
    },
    LeftOut {
        reason: &'static str,
        is_by_design: bool,
    },
    /// The fast tokenizer and the reference differ.
    Differs(Box<Mismatch>),
}

/// Encodes a document from its line.
pub(super) struct LineEncoder<'e> {
    pub(super) encoder: &'e mut Encoder,
    pub(super) finder: &'e SpecialTokenFinder,
    /// Set if the ids are compared with the reference.
    pub(super) guard: Option<&'e mut ParityCheck>,
    pub(super) batch: &'e mut Batch,
    pub(super) whole: &'e mut Vec<u32>,
}

impl LineEncoder<'_> {
    /// Adds the document of a line.
    pub(super) fn add(
        self,
        spec: &EncodingSpec,
        rules: &SequenceRules,
        line: &[u8],
        document: &Document<'_>,
        encoded: &mut EncodedBlock,
    ) -> Outcome<LineResult> {
        let refused = |reason| Ok(LineResult::LeftOut { reason, is_by_design: false });
        let texts = match rules.texts_of(spec.rules, line, document) {
            Ok(texts) => texts,
            Err(DocumentVerdict::Skip(reason)) => return Ok(LineResult::LeftOut { reason, is_by_design: true }),
            Err(DocumentVerdict::Refuse(reason) | DocumentVerdict::Take(reason)) => return refused(reason),
        };
        let Self { encoder, finder, mut guard, batch, whole } = self;
        let strings: Vec<&str> = texts.iter().flatten().map(String::as_str).collect();
        encoder.encode_all(&strings, batch)?;
        let (mut tokens, mut special, mut all) = (0, Vec::new(), Vec::with_capacity(strings.len()));
        for (number, text) in strings.iter().enumerate() {
            let Some(ids) = batch.ids(number) else { return refused(NOT_ENCODED) };
            if let Some(mismatch) = guard.as_mut().map(|guard| guard.check(text, ids)).transpose()?.flatten() {
                return Ok(LineResult::Differs(Box::new(mismatch)));
            }
            for id in finder.find(text, ids) {
                if !special.contains(&id) {
                    special.push(id);
                }
            }
            tokens += ids.len() as u64;
            all.push(ids);
        }
        let mut rest = all.as_slice();
        let mut of_keys = Vec::with_capacity(texts.len());
        for strings in &texts {
            let (here, later) = rest.split_at(strings.len().min(rest.len()));
            of_keys.push(here);
            rest = later;
        }
        Ok(match encoded.add_sequences(spec, rules, &of_keys, whole)? {
            Ok(()) => LineResult::Packed { tokens, special },
            Err(reason) => LineResult::LeftOut { reason, is_by_design: false },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::encoding_spec::{End, Kind};
    use super::super::IdSource;
    use super::*;
    use gristmill_core::pack::TokenType;
    use gristmill_data::source::documents::{texts_at, DocumentRules};
    use gristmill_tokenizer::Template;

    fn spec(end: End, prefix: &[u32]) -> EncodingSpec {
        EncodingSpec {
            format: "any",
            rules: DocumentRules::PYTHON,
            template: Template { prefix: prefix.to_vec(), suffix: Vec::new() },
            truncation: None,
            padding: None,
            begin: None,
            end,
            token: TokenType::U8,
            kind: Kind::Plain,
            needs_tokens: false,
            may_overflow: true,
            wants_lines: false,
            is_length_planned: true,
            wants_chars: false,
            ids: IdSource::Unused,
        }
    }

    fn add(block: &mut EncodedBlock, spec: &EncodingSpec, keeps_empty: bool, texts: &[&[&[u32]]]) -> bool {
        let rules = SequenceRules { keys: Vec::new(), is_plan_text: true, takes_lists: true, keeps_empty };
        block.add_sequences(spec, &rules, texts, &mut Vec::new()).unwrap().is_ok()
    }

    #[test]
    fn the_end_token_belongs_to_the_last_sequence_of_each_text() {
        let (mut block, spec) = (EncodedBlock::default(), spec(End::AfterTokens(9), &[]));
        assert!(add(&mut block, &spec, false, &[&[&[1, 2], &[], &[3]], &[&[]], &[]]));
        assert!(add(&mut block, &spec, false, &[&[&[4], &[]], &[&[5]], &[&[], &[6]]]));
        assert_eq!(block.bytes, [1, 2, 3, 9, 4, 9, 5, 9, 6, 9]);
        assert_eq!(block.sequences.lengths, [2, 2, 2, 2, 2]);
        assert_eq!(block.sequences.counts, [2, 0, 0, 1, 1, 1]);
        assert_eq!(block.lengths, [4, 6]);
        let first = block.sequences.first(1, 2);
        assert_eq!((first.lengths, first.counts), (vec![2, 2], vec![2, 0, 0]));
        assert!(!add(&mut block, &spec, false, &[&[&[1], &[256]], &[], &[]]), "the id does not fit");
        assert_eq!((block.bytes.len(), block.sequences.lengths.len(), block.sequences.counts.len()), (10, 5, 6));
    }

    #[test]
    fn empty_strings_are_sequences_only_if_kept() {
        let added = |end: End, prefix: &[u32], keeps_empty: bool| {
            let mut block = EncodedBlock::default();
            assert!(add(&mut block, &spec(end, prefix), keeps_empty, &[&[&[]]]));
            (block.bytes, block.sequences.lengths)
        };
        assert_eq!(added(End::Always(9), &[], true), (vec![9], vec![1]));
        assert_eq!(added(End::Never, &[], true), (vec![], vec![0]));
        assert_eq!(added(End::Never, &[], false), (vec![], vec![]));
        assert_eq!(added(End::AfterTokens(9), &[7], false), (vec![7, 9], vec![2]));
    }

    #[test]
    fn texts_are_read_from_a_key() {
        let read = |line: &str, key: &str| texts_at(line.as_bytes(), key, true);
        assert_eq!(read(r#"{"a": "x\n", "b": ["y", "", "\u00e9"]}"#, "a"), Ok(vec!["x\n".to_owned()]));
        let list = ["y", "", "\u{e9}"].map(str::to_owned).to_vec();
        assert_eq!(read(r#"{"a": "x\n", "b": ["y", "", "\u00e9"]}"#, "b"), Ok(list));
        assert_eq!(read(r#"{"a": []}"#, "a"), Ok(Vec::new()));
        for (line, why) in [
            (r#"{"b": 1}"#, "no text"),
            (r#"{"a": null}"#, "null"),
            (r#"{"a": 5}"#, "number"),
            (r#"{"a": {}}"#, "empty object"),
            (r#"{"a": ["x", 1]}"#, "not a string"),
            (r#"{"a": [["x"]]}"#, "not a string"),
            (r#"{"a": ["\ud800"]}"#, "not a string"),
            (r#"{"a": "\udc00"}"#, "surrogate"),
        ] {
            assert!(read(line, "a").unwrap_err().contains(why), "{line}");
        }
        assert!(texts_at(br#"{"a": ["x"]}"#, "a", false).unwrap_err().contains("an array"));
    }
}
