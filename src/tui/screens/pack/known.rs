//! Facts about the data, from the workers.

use gristmill_core::pack::{EndToken, TextField};
use gristmill_core::{Failure, Outcome, PackFormat, PackPlan, Problem};
use gristmill_ops::job::pack::PackPreview;
use gristmill_ops::preview::tokens::TokenText;
use gristmill_ops::source::text::TextFile;
use gristmill_tokenizer::TokenizerFacts;
use std::sync::Arc;

/// Files and their bytes, or why there are none.
pub type Counted = Result<(u64, u64), String>;

/// The files that a run would read.
#[derive(Clone, Debug, Default)]
pub struct Files {
    /// Files and bytes by the rules of each format, or why there are none.
    pub by_format: Vec<(PackFormat, Counted)>,
    /// Those of the first format that finds any, at most [`SHOWN_FILES`].
    pub shown: Vec<TextFile>,
    /// Their number.
    pub total: u64,
    /// Their size on disk, in bytes.
    pub bytes: u64,
    /// One file was given itself.
    pub is_one_file: bool,
    /// Files that look like data and are left out.
    pub problems: Vec<Problem>,
}

/// Files that are listed.
pub const SHOWN_FILES: usize = 1_000;

/// A key of documents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeySeen {
    /// Its name, raw.
    pub name: String,
    /// Documents that have it, of those that were looked at.
    pub documents: usize,
    /// The beginning of its value in the first of them, raw.
    pub example: String,
    /// It is text there.
    pub is_text: bool,
}

/// Real documents.
#[derive(Clone, Debug, Default)]
pub struct Documents {
    /// Lines as they are: name of the file, number of the line from 1, bytes.
    pub lines: Vec<(Arc<str>, u64, Arc<[u8]>)>,
    /// The keys of those that are objects, most frequent first.
    pub keys: Vec<KeySeen>,
    /// Problems while they were read.
    pub troubles: Vec<String>,
}

/// Values of the text field in the real documents.
#[derive(Clone, Debug, Default)]
pub struct Extracted {
    /// For which field.
    pub field: TextField,
    /// The field itself is wrong: a program that does not compile.
    pub failure: Option<Failure>,
    /// One for each line: its text, or why there is none. Raw.
    pub texts: Vec<Result<Arc<str>, String>>,
}

impl Extracted {
    /// Documents with text.
    pub fn with_text(&self) -> usize {
        self.texts.iter().filter(|text| text.as_ref().is_ok_and(|text| !text.is_empty())).count()
    }
}

/// A tokenizer, and a real document encoded by it.
#[derive(Clone, Debug)]
pub struct TokenizerLook {
    /// Facts from its file.
    pub facts: TokenizerFacts,
    /// The token that usually ends documents: the first added one of a known spelling.
    pub usual_end: Option<String>,
    /// Special tokens, raw, the first few.
    pub specials: Vec<String>,
    /// Tokens that the template adds before and after a document: spellings, raw.
    pub template: (Vec<String>, Vec<String>),
    /// The document, token by token, what is put around it included.
    pub text: Option<TokenText>,
    /// The same as ids.
    pub ids: Option<TokenText>,
    /// Its tokens and characters.
    pub size: (u64, u64),
    /// Notes, safe to be displayed.
    pub warnings: Vec<String>,
    /// The end token that it was looked at with, where the vocabulary has none like it.
    pub unknown_end: Option<String>,
}

/// All facts.
#[derive(Default)]
pub struct PackFacts {
    /// The files.
    pub files: Option<Arc<Outcome<Files>>>,
    /// Documents of them.
    pub documents: Option<Arc<Documents>>,
    /// Their keys.
    pub keys: Vec<KeySeen>,
    /// Values of the text field.
    pub extracted: Option<Arc<Extracted>>,
    /// Tokenizers that were found: paths and names.
    pub tokenizers: Vec<String>,
    /// The tokenizer that was asked for, by name.
    pub tokenizer: Option<(String, Arc<Outcome<TokenizerLook>>)>,
    /// The preview of the run, and its plan.
    pub preview: Option<(PackPlan, Arc<Outcome<PackPreview>>)>,
}

impl PackFacts {
    /// Facts about a tokenizer.
    pub fn tokenizer_of(&self, name: &str) -> Option<&Outcome<TokenizerLook>> {
        self.tokenizer.as_ref().filter(|(of, _)| of == name).map(|(_, look)| look.as_ref())
    }

    /// Why a tokenizer cannot be used, alone or with this end token.
    pub fn tokenizer_blocker(&self, name: &str, end: Option<&EndToken>) -> Option<String> {
        match self.tokenizer_of(name)? {
            Err(failure) => Some(failure.to_string()),
            Ok(look) => match (&look.unknown_end, end) {
                (Some(unknown), Some(EndToken::Text(text))) if unknown == text => {
                    let text = crate::tui::widgets::text::safe(text);
                    Some(format!("the end token {text} is not in the vocabulary"))
                }
                _ => None,
            },
        }
    }

    /// Why a format finds no files to read.
    pub fn files_blocker(&self, format: PackFormat) -> Option<&str> {
        let files = self.files.as_ref()?.as_ref().as_ref().ok()?;
        files.by_format.iter().find(|(of, _)| *of == format)?.1.as_ref().err().map(String::as_str)
    }

    /// The token that documents usually end with.
    pub fn usual_end(&self, name: &str) -> Option<String> {
        self.tokenizer_of(name)?.as_ref().ok()?.usual_end.clone()
    }

    /// Returns why no file can be listed.
    pub fn listing_failure(&self) -> Option<String> {
        self.files.as_ref().and_then(|found| found.as_ref().as_ref().err()).map(ToString::to_string)
    }

    /// Whether one file was given itself.
    pub fn is_one_file(&self) -> bool {
        self.files.as_ref().is_some_and(|files| files.as_ref().as_ref().is_ok_and(|files| files.is_one_file))
    }

    /// Why the text field gives nothing to pack.
    pub fn text_blocker(&self) -> Option<String> {
        let extracted = self.extracted.as_ref()?;
        if let Some(failure) = &extracted.failure {
            return Some(failure.to_string());
        }
        if extracted.texts.is_empty() || extracted.with_text() > 0 {
            return None;
        }
        let keys: Vec<String> =
            self.keys.iter().take(8).map(|key| crate::tui::widgets::text::safe(&key.name)).collect();
        Some(match keys.is_empty() {
            true => "no document has text there, and none is a JSON object".to_owned(),
            false => format!("no document has text there; the lines have the keys: {}", keys.join(", ")),
        })
    }
}
