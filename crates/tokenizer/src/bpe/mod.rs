//! The fast tokenizer for byte-pair files. Computes raw ids only.
//!
//! Only files of known forms are accepted: the byte-level splitting of GPT-2, and the patterns of GPT-4, Llama 3, Qwen 2 and GPT-4o
//! ([`split`]), and vocabularies that replace a space by `▁` ([`marks`]). Other files need another tokenizer.

mod added;
mod boundary_filter;
mod cache;
mod classes;
mod entry;
mod first_merge_ranks;
mod hash;
mod index;
mod join;
mod keys;
mod long_words;
mod marks;
mod merge;
mod merge_stats;
mod merged_tokens;
mod model;
mod order;
mod pairs;
mod pieces;
mod prefix_merges;
mod shape;
mod split;
mod symbols;
mod table;
mod vocabulary;
mod wide;
mod words;

#[cfg(test)]
mod tests;

use super::file::File;
use added::{AddedTokens, Part};
use classes::Classes;
use model::Model;
use shape::{Normalization, SplitRules, Splitting};
use split::{Gpt2, Gpt4oSplitter, Numbers, Scan, Style};
use std::borrow::Cow;
use tokenizers::{AddedVocabulary, NormalizedString, NormalizerWrapper};
use unicode_normalization::{is_nfc_quick, IsNormalized};
use words::WordEncoder;

pub(super) use hash::of_bytes;
pub(super) use index::Index;
pub(super) use merge_stats::MergeStats;
pub(super) use pairs::Merge;
pub(super) use vocabulary::Lists;

/// A tokenizer with an accepted form.
#[derive(Debug)]
pub(super) struct Bpe {
    model: Model,
    added: AddedTokens,
    shape: SplitRules,
}

/// The part of a tokenizer that takes long to build and needs only the file, so that it can be built while the reference reads the same
/// file.
#[derive(Debug)]
pub(super) struct Tables {
    model: Model,
    shape: SplitRules,
}

/// Buffers of one thread, for one tokenizer.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    words: WordEncoder,
    /// A piece with a space added before it, or with spaces replaced by marks.
    piece: String,
}

impl Scratch {
    /// Returns buffers whose cache of words grows by at most `bytes` bytes.
    pub(super) fn with_cache_bytes(bytes: usize) -> Self {
        Self { words: WordEncoder::with_cache_bytes(bytes), ..Self::default() }
    }

    /// Starts a new batch of texts.
    pub(super) fn begin(&mut self) {
        self.words.begin();
    }

    /// Adds the ids of a text that another tokenizer encoded.
    pub(super) fn put_ids(&mut self, ids: &[u32]) {
        self.words.put_text(ids);
    }
}

impl Tables {
    /// Builds the tables of a `tokenizer.json` and its lists, if the file could be read. Computes `spelt` if it is not given. The error is
    /// the reason why the file is not accepted.
    pub(super) fn new(
        file: Option<&File<'_>>,
        lists: Option<&Result<Lists<'_>, String>>,
        spelt: Option<MergeStats>,
    ) -> Result<Self, String> {
        let unusual = "its model is not of byte pairs, or not written in the usual form";
        let (file, lists) = file.zip(lists).ok_or(unusual)?;
        let shape = SplitRules::of(&file.normalizer, &file.pre_tokenizer)?;
        let model = Model::new(&file.model, lists.as_ref()?, spelt.or_else(|| MergeStats::of(file)))?;
        if model.takes_whole() && shape.has_whole_texts() {
            return Err("it takes whole texts for words of its vocabulary".into());
        }
        Ok(Self { model, shape })
    }
}

impl Bpe {
    /// Returns a tokenizer with the tables of a file, and the added tokens and the normalizer of the reference tokenizer.
    pub(super) fn new(
        tables: Tables,
        added: &AddedVocabulary,
        normalizer: Option<&NormalizerWrapper>,
    ) -> Result<Self, String> {
        let Tables { model, shape } = tables;
        Ok(Self { model, added: AddedTokens::new(added, normalizer)?, shape })
    }

    /// Appends the raw ids of a text. Returns `false` without changing `out` if the result of the reference tokenizer cannot be determined.
    pub(super) fn encode(&self, text: &str, scratch: &mut Scratch, out: &mut Vec<u32>) -> bool {
        scratch.begin();
        let is_done = self.append_text(text, scratch) && scratch.words.finish(&self.model);
        if is_done {
            out.extend_from_slice(scratch.words.ids());
        }
        is_done
    }

    /// Adds the next text of a batch, after [`begin`](Scratch::begin). Returns `false` if the result of the reference tokenizer cannot be
    /// determined; the caller must then call [`put_ids`](Scratch::put_ids).
    pub(super) fn append_text(&self, text: &str, scratch: &mut Scratch) -> bool {
        let is_done = added::split(self.added.raw.as_ref(), text, |part| match part {
            Part::Token(id) => {
                scratch.words.push(id);
                true
            }
            Part::Text(piece, from) => self.piece(piece, from, scratch),
        });
        if is_done {
            scratch.words.end_text();
        } else {
            scratch.words.discard_text();
        }
        is_done
    }

    /// Moves the ids of all texts of the batch to `ids`, and the end of each text to `ends`. Other values may follow the last id. Returns
    /// `false` if the vocabulary lacks a symbol; the results of all texts are then invalid.
    pub(super) fn finish(&self, scratch: &mut Scratch, ids: &mut Vec<u32>, ends: &mut Vec<usize>) -> bool {
        let is_done = scratch.words.finish(&self.model);
        scratch.words.swap(ids, ends);
        is_done
    }

    /// Encodes text between added tokens that are searched for in the raw text.
    fn piece(&self, piece: &str, from: usize, scratch: &mut Scratch) -> bool {
        let normalized = self.normalized(piece);
        added::split(self.added.normalized.as_ref(), &normalized, |part| match part {
            Part::Token(id) => {
                scratch.words.push(id);
                true
            }
            Part::Text(text, at) => self.text(text, from + at == 0, scratch),
        })
    }

    fn normalized<'a>(&self, piece: &'a str) -> Cow<'a, str> {
        match self.shape.normal {
            Normalization::Nothing => Cow::Borrowed(piece),
            Normalization::Nfc if is_composed(piece) => Cow::Borrowed(piece),
            Normalization::Nfc => {
                let mut text = NormalizedString::from(piece);
                text.nfc();
                Cow::Owned(text.get().to_owned())
            }
            Normalization::Marks { is_before } => {
                let mut text = String::with_capacity(piece.len() + piece.len() / 2 + 4);
                if is_before {
                    text.push_str(model::MARK);
                }
                marks::put(piece, &mut text);
                Cow::Owned(text)
            }
        }
    }

    /// Encodes normalized text between added tokens.
    fn text(&self, text: &str, is_first: bool, scratch: &mut Scratch) -> bool {
        let Scratch { words, piece } = scratch;
        match self.shape.splitting {
            Splitting::Bytes { style, has_blank, has_digits } => {
                let text = if has_blank && !text.starts_with(' ') {
                    piece.clear();
                    piece.push(' ');
                    piece.push_str(text);
                    piece.as_str()
                } else {
                    text
                };
                let is_done = if has_digits {
                    let mut parts = split_digits(text);
                    parts.all(|part| self.split(style, part, words))
                } else {
                    self.split(style, text, words)
                };
                shrink_buffer(piece);
                is_done
            }
            Splitting::Whole => marks::words(&self.model, text, false, words),
            Splitting::Marks { scheme, is_split } => {
                piece.clear();
                let has_mark = text.starts_with([' ', marks::MARK]);
                if scheme.wants(is_first) && !has_mark {
                    piece.push(marks::MARK);
                }
                marks::put(text, piece);
                let is_done = marks::words(&self.model, piece, is_split, words);
                shrink_buffer(piece);
                is_done
            }
        }
    }

    fn split(&self, style: Style, text: &str, words: &mut WordEncoder) -> bool {
        let classes = Classes::get();
        match style {
            Style::Gpt2 => self.scan(&Gpt2(classes), text, words),
            Style::Numbers(digits) => self.scan(&Numbers { classes, digits }, text, words),
            Style::Gpt4o => self.scan(&Gpt4oSplitter(classes), text, words),
        }
    }

    fn scan(&self, scanner: &impl Scan, text: &str, words: &mut WordEncoder) -> bool {
        words.encode(&self.model, text.as_bytes(), scanner)
    }
}

/// Whether NFC normalization is known not to change a text.
fn is_composed(text: &str) -> bool {
    // Characters below U+0300 are composed and do not combine.
    text.bytes().all(|byte| byte < 0xcc) || is_nfc_quick(text.chars()) == IsNormalized::Yes
}

/// Splits a text into single numeric characters and the parts between them.
fn split_digits(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let end = match rest.find(char::is_numeric) {
            Some(0) => first.len_utf8(),
            Some(at) => at,
            None => rest.len(),
        };
        let (part, remainder) = rest.split_at(end);
        rest = remainder;
        Some(part)
    })
}

/// Frees the buffer of a long text.
fn shrink_buffer(piece: &mut String) {
    if piece.capacity() > 1 << 20 {
        *piece = String::new();
    }
}
