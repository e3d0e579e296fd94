//! The tokenizer of token folders, compared with a training configuration as nanotron does before training.

use super::ResolvedMixture;
use gristmill_core::{Problem, ProblemKind, Subject};
use gristmill_storage::files;
use gristmill_tokenizer::{possible_names, Tokenizer};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Tokenizer settings of a training configuration. Missing settings are not compared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TokenizerSettings {
    /// Value of `tokenizer.tokenizer_name_or_path`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokenizer: Option<String>,
    /// Value of `model.model_config.vocab_size`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vocab_size: Option<u64>,
}

/// The tokenizer named in the metadata of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderTokenizer {
    /// A folder with this tokenizer.
    pub folder: PathBuf,
    /// The first line of the metadata without the token size; raw.
    pub name: String,
}

impl FolderTokenizer {
    /// Returns the number of tokens of the tokenizer, including added ones. The error is the reason why the tokenizer cannot be read on
    /// this machine.
    pub fn vocabulary_size(&self) -> Result<u64, String> {
        let folder = files::absolute_or_same(&self.folder);
        let mut first = None;
        for named in possible_names(&folder, &self.name) {
            match Tokenizer::load_unproven(&named) {
                Ok(tokenizer) => return Ok(tokenizer.full_size()),
                Err(failure) => first = first.or(Some(failure.why)),
            }
        }
        Err(first.unwrap_or_default())
    }
}

impl ResolvedMixture {
    /// Returns the common tokenizer of the folders.
    pub fn tokenizer(&self) -> Option<FolderTokenizer> {
        self.folders.iter().find_map(|facts| {
            facts.tokenizer.clone().map(|name| FolderTokenizer { folder: facts.path.clone().into(), name })
        })
    }
}

impl TokenizerSettings {
    /// Whether there are no settings to compare.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Compares the settings with the tokenizer of the folders. Settings that nanotron refuses are problems; settings that cannot be
    /// compared are notes. `size_of` is only called if the size of the vocabulary is compared.
    pub fn compare(
        &self,
        made_with: Option<&FolderTokenizer>,
        size_of: impl FnOnce(&FolderTokenizer) -> Result<u64, String>,
    ) -> Vec<Problem> {
        const KIND: ProblemKind = ProblemKind::TokenizerMismatch;
        if self.is_empty() {
            return Vec::new();
        }
        let Some(made_with) = made_with else {
            let message = "no metadata names the tokenizer: it was not compared with the training configuration";
            return vec![Problem::note(KIND, Subject::default(), message)];
        };
        let (name, subject) = (&made_with.name, || Subject::path(&made_with.folder));
        let mut found = Vec::new();
        if let Some(other) = self.tokenizer.as_ref().filter(|other| *other != name) {
            let message = format!(
                "its tokenizer is {name:?}, and tokenizer_name_or_path of the training configuration is {other:?}: nanotron \
                 refuses this"
            );
            let hint = format!("tokenizer_name_or_path has to be {name:?}, as in the metadata");
            found.push(Problem::problem(KIND, subject(), message).with_hint(hint));
        }
        let Some(vocab_size) = self.vocab_size else { return found };
        match size_of(made_with) {
            Ok(size) if size == vocab_size => {}
            Ok(size) => {
                let message = format!(
                    "its tokenizer {name:?} has {size} tokens, those added included, and vocab_size of the training \
                     configuration is {vocab_size}: nanotron refuses this"
                );
                found.push(Problem::problem(KIND, subject(), message).with_hint(format!("vocab_size: {size}")));
            }
            Err(why) => {
                let message = format!("the size of its tokenizer {name:?} was not compared with vocab_size: {why}");
                found.push(Problem::note(KIND, subject(), message));
            }
        }
        found
    }
}
