//! Facts about the data for the form of pack, computed by its workers.

use gristmill_core::pack::SpecialToken;
use gristmill_core::{Outcome, PackPlan};
use gristmill_data::preview::tokens::TokenText;
use gristmill_data::source::documents::SplitChoices;
use gristmill_ops::operations::pack::{DataFacts, DocumentKey, DocumentTexts, FirstDocuments, InputFiles};
use gristmill_ops::tokens::pack::PackPreview;
use gristmill_tokenizer::TokenizerFacts;
use std::sync::Arc;

/// A tokenizer, and a real document encoded by it.
#[derive(Clone, Debug)]
pub struct TokenizerPreview {
    /// Facts from its file.
    pub facts: TokenizerFacts,
    /// The token that usually ends documents.
    pub usual_end: Option<&'static str>,
    /// The first special tokens, not escaped.
    pub specials: Vec<String>,
    /// Tokens that the template adds before and after a document: text, not escaped.
    pub template: (Vec<String>, Vec<String>),
    /// The document token by token, with the tokens that are added around it.
    pub text: Option<TokenText>,
    /// The ids of the same tokens.
    pub ids: Option<TokenText>,
    /// Number of tokens and of characters of the document.
    pub size: (u64, u64),
    /// Notes, escaped for display.
    pub warnings: Vec<String>,
    /// The end token of the plan, if the vocabulary does not contain it.
    pub unknown_end: Option<String>,
}

/// All facts about the data.
#[derive(Default)]
pub struct PackFacts {
    /// The input files in the order in which they are packed.
    pub files: Option<Arc<Outcome<InputFiles>>>,
    /// The splits and subsets that can be chosen.
    pub choices: SplitChoices,
    /// The first documents of the input files.
    pub documents: Option<Arc<FirstDocuments>>,
    /// The texts of the documents, from the text field.
    pub extracted: Option<Arc<DocumentTexts>>,
    /// Paths and names of the tokenizers that were found.
    pub tokenizers: Vec<String>,
    /// The name of the requested tokenizer, and its facts.
    pub tokenizer: Option<(String, Arc<Outcome<TokenizerPreview>>)>,
    /// The plan and the preview of its run.
    pub preview: Option<(PackPlan, Arc<Outcome<PackPreview>>)>,
}

impl PackFacts {
    /// Returns the facts about a tokenizer.
    pub fn tokenizer_of(&self, name: &str) -> Option<&Outcome<TokenizerPreview>> {
        self.tokenizer.as_ref().filter(|(of, _)| of == name).map(|(_, tokenizer_preview)| tokenizer_preview.as_ref())
    }

    /// Returns why a tokenizer cannot be used, by itself or with this end token.
    pub fn tokenizer_blocker(&self, name: &str, end: Option<&SpecialToken>) -> Option<String> {
        match self.tokenizer_of(name)? {
            Err(failure) => Some(failure.to_string()),
            Ok(tokenizer_preview) => match (&tokenizer_preview.unknown_end, end) {
                (Some(unknown), Some(SpecialToken::Text(text))) if unknown == text => {
                    let text = crate::tui::widgets::text::safe(text);
                    Some(format!("the end token {text} is not in the vocabulary"))
                }
                _ => None,
            },
        }
    }

    /// Returns why a format finds no files to read.
    pub fn files_blocker(&self, format: &str) -> Option<&str> {
        let files = self.files.as_ref()?.as_ref().as_ref().ok()?;
        files.by_format.iter().find(|(of, _)| *of == format)?.1.as_ref().err().map(String::as_str)
    }

    /// Returns the keys of documents; empty until they are known.
    pub fn keys(&self) -> &[DocumentKey] {
        self.documents.as_ref().map_or(&[], |documents| &documents.keys)
    }

    /// Returns the facts from which answers are suggested.
    pub fn data(&self, plan: &PackPlan) -> DataFacts<'_> {
        let tokenizer_preview =
            self.tokenizer_of(&plan.tokenizer).and_then(|tokenizer_preview| tokenizer_preview.as_ref().ok());
        let is_one_file = self.files.as_ref().is_some_and(|files| files.as_ref().as_ref().is_ok_and(|f| f.is_one_file));
        DataFacts {
            keys: self.keys(),
            is_one_file,
            usual_end: tokenizer_preview.and_then(|tokenizer_preview| tokenizer_preview.usual_end),
        }
    }

    /// Returns why the files cannot be listed.
    pub fn listing_failure(&self) -> Option<String> {
        self.files.as_ref().and_then(|found| found.as_ref().as_ref().err()).map(ToString::to_string)
    }

    /// Returns why no document has text in the selected field.
    pub fn text_blocker(&self) -> Option<String> {
        self.documents.as_ref()?.text_blocker(self.extracted.as_ref()?)
    }
}
