//! Encodes text into ids with tokenizer files, fast and with the same ids as the reference tokenizer.
//!
//! A `tokenizer.json` is read by the crate that the Python package is built on (the reference). If a faster tokenizer accepts the same
//! file, either the one in `bpe` or another crate, it is used as long as both produce the same ids. A [`ParityCheck`] compares them at the
//! start and occasionally during a run; for a large vocabulary, the reference is built only from the parts that a text needs
//! (`lazy_reference_model`). SentencePiece models are read by code in this crate. Texts of numbers need no file (`numbers`).

// Tests create and damage files directly.
#![cfg_attr(test, allow(clippy::disallowed_methods))]

mod adversarial;
mod borrowed_text;
mod bpe;
mod byte_level;
mod encoder;
mod facts;
mod fast;
mod file;
mod foreign;
mod join;
mod json;
mod lazy_reference_model;
mod lists;
mod load;
mod numbers;
mod parity_check;
mod reference;
mod reference_model;
mod sentencepiece;
mod special;
mod stored;
mod tokenizer;
mod vocab_merges;
mod warnings;

pub use encoder::{token_at_char, Batch, Encoder, TokenSpan};
pub use facts::{AddedTokenFacts, Padding, PaddingLength, Side, Template, TokenizerFacts, TokenizerKind, Truncation};
#[cfg(any(test, feature = "testing"))]
pub use fast::DIFFERENCE_MARK;
pub use join::Join2;
pub use load::{path_of, possible_names};
pub use numbers::numbers_name;
pub use parity_check::{Mismatch, ParityCheck};
pub use special::SpecialTokenFinder;
pub use tokenizer::Tokenizer;
pub use vocab_merges::{vocab_merges_files, vocab_merges_name, GPT2_END};

#[cfg(test)]
mod tests;
