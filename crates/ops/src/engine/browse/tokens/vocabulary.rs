//! The text of ids, cached after the first use.

use gristmill_core::Outcome;
use gristmill_data::preview::tokens::TokenSpellings;
use gristmill_tokenizer::{Tokenizer, TokenizerKind};
use std::collections::HashSet;

/// A tokenizer that is only used to decode ids.
pub struct Vocabulary {
    name: String,
    tokenizer: Tokenizer,
    special: HashSet<u32>,
}

impl Vocabulary {
    /// Loads a `tokenizer.json`, a folder with one, a SentencePiece model, or a name in the local hub cache.
    pub fn load(named: &str) -> Outcome<Self> {
        let tokenizer = Tokenizer::load_unproven(named)?;
        let special = tokenizer.facts().added.iter().filter(|token| token.is_special).map(|token| token.id).collect();
        Ok(Self { name: named.to_owned(), tokenizer, special })
    }

    /// Returns the name or path from which it was loaded.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the id of a token.
    pub fn id_of(&self, token: &str) -> Option<u32> {
        self.tokenizer.id_of(token)
    }

    /// Whether the text of each token except the last ends with a space.
    pub fn separates_tokens(&self) -> bool {
        self.tokenizer.facts().kind == TokenizerKind::Numbers
    }

    /// Whether a token ends documents, judging by its spelling.
    pub fn ends_documents(&self, id: u32) -> bool {
        const USUAL: [&str; 7] =
            ["<|endoftext|>", "</s>", "<|end_of_text|>", "<eos>", "<|eos|>", "<|im_end|>", "[SEP]"];
        self.special.contains(&id) && self.tokenizer.token_of(id).is_some_and(|token| USUAL.contains(&token.as_str()))
    }
}

impl TokenSpellings for Vocabulary {
    fn piece(&self, id: u32) -> Option<Vec<u8>> {
        self.tokenizer.token_of(id).map(|_| self.tokenizer.piece(id))
    }

    fn is_special(&self, id: u32) -> bool {
        self.special.contains(&id)
    }
}
