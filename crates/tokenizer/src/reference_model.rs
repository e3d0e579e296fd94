//! The models with which the reference tokenizer is used.

use super::lazy_reference_model::LazyReferenceModel;
use serde::{Deserialize, Deserializer};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use tokenizers::models::{ModelWrapper, TrainerWrapper};
use tokenizers::{
    DecoderWrapper, Model, NormalizerWrapper, PostProcessorWrapper, PreTokenizedString, PreTokenizerWrapper, Result,
    Token, TokenizerImpl, TruncationDirection,
};

/// The tokenizer of the reference crate.
pub(super) type Raw =
    TokenizerImpl<ReferenceModel, NormalizerWrapper, PreTokenizerWrapper, PostProcessorWrapper, DecoderWrapper>;

#[derive(Debug)]
pub(super) enum ReferenceModel {
    /// A model that the reference crate has parsed.
    Whole(Box<ModelWrapper>),
    /// A byte-pair model that is built for the words of each text.
    Wordwise(Box<LazyReferenceModel>),
}

impl ReferenceModel {
    /// Returns the model that the reference crate has parsed; `None` for a lazy model.
    pub(super) fn complete_model(&self) -> Option<&ModelWrapper> {
        match self {
            Self::Whole(model) => Some(model),
            Self::Wordwise(_) => None,
        }
    }
}

/// Evaluates one expression for both kinds of models.
macro_rules! either {
    ($loaded:expr, $model:ident => $done:expr) => {
        match $loaded {
            ReferenceModel::Whole($model) => $done,
            ReferenceModel::Wordwise($model) => $done,
        }
    };
}

impl Model for ReferenceModel {
    type Trainer = TrainerWrapper;

    fn tokenize(&self, word: &str) -> Result<Vec<Token>> {
        either!(self, model => model.tokenize(word))
    }

    fn tokenize_in_pretokenized(
        &self,
        words: &mut PreTokenizedString,
        limit: Option<(usize, TruncationDirection)>,
    ) -> Result<()> {
        either!(self, model => model.tokenize_in_pretokenized(words, limit))
    }

    fn token_to_id(&self, token: &str) -> Option<u32> {
        either!(self, model => model.token_to_id(token))
    }

    fn id_to_token(&self, id: u32) -> Option<String> {
        either!(self, model => model.id_to_token(id))
    }

    fn get_vocab(&self) -> HashMap<String, u32> {
        either!(self, model => model.get_vocab())
    }

    fn get_vocab_size(&self) -> usize {
        either!(self, model => model.get_vocab_size())
    }

    /// Always fails, because models are never saved.
    fn save(&self, _folder: &Path, _prefix: Option<&str>) -> Result<Vec<PathBuf>> {
        Err("a model that is only read".into())
    }

    fn get_trainer(&self) -> Self::Trainer {
        match self {
            Self::Whole(model) => model.get_trainer(),
            Self::Wordwise(_) => TrainerWrapper::BpeTrainer(Default::default()),
        }
    }
}

impl<'de> Deserialize<'de> for ReferenceModel {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        ModelWrapper::deserialize(from).map(|model| Self::Whole(Box::new(model)))
    }
}
