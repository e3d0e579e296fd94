//! The files and first documents of a plan, which forms and prompts show before a run, and the answers proposed from them.

use crate::tokens::formats;
use gristmill_core::pack::{SpecialToken, TextField};
use gristmill_core::text::{bytes, count, display_safe};
use gristmill_core::{Cancel, Failure, Outcome, PackPlan, Problem};
use gristmill_data::source::documents::{
    self, keys_of, split_choices, DocumentRules, DocumentVerdict, Extractor, Selection, SplitChoices, TextFile,
};
use gristmill_storage::files;
use gristmill_storage::location::output_next_to;
use gristmill_tokenizer::Tokenizer;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Maximum number of listed files.
const SHOWN_FILES: usize = 1_000;
/// Number of files from which documents are read.
const SAMPLED_FILES: usize = 4;
/// Number of documents that are read from each file.
const DOCUMENTS_EACH: usize = 32;
/// Maximum size of a shown document, in bytes.
const MAX_DOCUMENT_BYTES: usize = 1 << 20;
/// Maximum size of a text that is stored for display and encoding, in bytes.
const SHOWN_TEXT: usize = 20_000;
/// Maximum length of an example, in characters.
const MAX_EXAMPLE_CHARS: usize = 200;
/// Maximum number of splits and subsets in a line.
const SHOWN_NAMES: usize = 8;
/// Maximum number of keys in a message.
const SHOWN_KEYS: usize = 8;
/// Spellings of common end tokens, the most likely first.
const END_TOKENS: [&str; 9] =
    ["<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>", "<|eos|>", "<|eot_id|>", "<|im_end|>", "<eod>", "[SEP]"];
/// The default key of texts.
const USUAL_KEY: &str = "text";

/// The number of tokens per sample that forms and prompts propose.
const PROPOSED_SAMPLE_SIZE: u64 = 4_096;

/// The options for which an answer can be proposed from the data.
pub const PROPOSED_OPTIONS: [&str; 4] = ["text-key", "eos-token", "sample-size", "output"];

/// Number and size of files, or the reason why there are none.
pub type FilesAndBytes = Result<(u64, u64), String>;

/// The files that a run would read.
#[derive(Clone, Debug, Default)]
pub struct InputFiles {
    /// Number and size of the files selected by the rules of each format, or the reason why there are none.
    pub by_format: Vec<(&'static str, FilesAndBytes)>,
    /// The files of the first format that finds any, at most 1,000.
    pub shown: Vec<TextFile>,
    /// Number of these files.
    pub total: u64,
    /// Size of these files on disk, in bytes.
    pub bytes: u64,
    /// Whether the only input is a single file.
    pub is_one_file: bool,
    /// Problems of files that look like data but are not read.
    pub problems: Vec<Problem>,
}

/// A key of the first documents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentKey {
    /// Name of the key, not escaped for display.
    pub name: String,
    /// Number of documents that have it.
    pub documents: usize,
    /// The start of its value in the first of these documents, not escaped for display.
    pub example: String,
    /// Whether this value is a string.
    pub is_text: bool,
}

/// The first documents of the first files.
#[derive(Clone, Debug, Default)]
pub struct FirstDocuments {
    /// The lines of the documents: file name, line number counted from 1, bytes.
    pub lines: Vec<(Arc<str>, u64, Arc<[u8]>)>,
    /// Whether the documents are rows of tables, in which a key with dots may be a path.
    pub are_rows: bool,
    /// The keys of documents that are objects: keys with strings first, then by frequency.
    pub keys: Vec<DocumentKey>,
    /// Failures and damage found while reading.
    pub failures: Vec<String>,
}

/// The texts of the first documents.
#[derive(Clone, Debug, Default)]
pub struct DocumentTexts {
    /// The field from which the texts are read.
    pub field: TextField,
    /// The failure if the field cannot be read from any document, because a jq program does not compile.
    pub failure: Option<Failure>,
    /// The text of each document, or the reason why it has none; not escaped for display.
    pub texts: Vec<Result<Arc<str>, String>>,
}

impl DocumentTexts {
    /// Returns the number of documents with text.
    pub fn with_text(&self) -> usize {
        self.texts.iter().filter(|text| text.as_ref().is_ok_and(|text| !text.is_empty())).count()
    }
}

impl InputFiles {
    /// Returns a line for each chosen format whose files differ from the shown ones; if no format is chosen, for all formats.
    pub fn format_lines(&self, plan: &PackPlan) -> Vec<String> {
        let chosen = formats::names(plan);
        let asked = self.by_format.iter().filter(|(format, _)| chosen.is_empty() || chosen.contains(format));
        let line = |(format, listed): &(&str, Result<(u64, u64), String>)| match listed {
            Ok((files, _)) if *files == self.total => None,
            Ok((files, size)) => Some(format!("  for {format}: {}, {}", count(*files, "file"), bytes(*size))),
            Err(why) => Some(format!("  for {format}: {why}")),
        };
        asked.filter_map(line).collect()
    }
}

/// Finds the files of a plan by the rules of each format.
///
/// # Errors
/// No format finds a file, or an input cannot be read.
pub fn find_files(plan: &PackPlan, cancel: &Cancel) -> Outcome<InputFiles> {
    let inputs: Vec<PathBuf> = plan.inputs.iter().map(PathBuf::from).collect();
    let mut found =
        InputFiles { is_one_file: matches!(inputs.as_slice(), [one] if files::is_file(one)), ..InputFiles::default() };
    let mut first_failure = None;
    for format in formats::TOKEN_FORMATS {
        cancel.check()?;
        match documents::list(&inputs, Selection::of(plan), format.info().input_rules, cancel) {
            Ok(listing) => {
                let bytes = listing.files.iter().map(|file| file.bytes).sum();
                found.by_format.push((format.name(), Ok((listing.files.len() as u64, bytes))));
                let is_asked = formats::names(plan).first().is_none_or(|first| *first == format.name());
                if found.shown.is_empty() || is_asked && found.total < listing.files.len() as u64 {
                    (found.total, found.bytes) = (listing.files.len() as u64, bytes);
                    found.shown = listing.files.into_iter().take(SHOWN_FILES).collect();
                    found.problems = listing.problems;
                }
            }
            Err(failure) if failure.is_cancelled() => return Err(failure),
            Err(failure) => {
                found.by_format.push((format.name(), Err(failure.why.clone())));
                first_failure.get_or_insert(failure);
            }
        }
    }
    match first_failure {
        Some(failure) if found.shown.is_empty() => Err(failure),
        _ => Ok(found),
    }
}

/// Returns the splits and subsets from which a plan can choose. Empty unless the only input is a folder.
pub fn find_choices(plan: &PackPlan, cancel: &Cancel) -> SplitChoices {
    match plan.inputs.as_slice() {
        [input] if files::is_dir(input) => split_choices(Path::new(input), plan.subset.as_deref(), cancel),
        _ => SplitChoices::default(),
    }
}

/// Returns the options for choosing among several splits or subsets, each with a line that lists them.
pub fn lines_of_choices(choices: &SplitChoices) -> Vec<(&'static str, String)> {
    let named = |(name, files): &(String, u64)| format!("{} ({})", display_safe(name), count(*files, "file"));
    let splits: Vec<String> = choices.splits.iter().map(named).collect();
    let subsets: Vec<String> = choices.subsets.iter().map(|name| display_safe(name).into_owned()).collect();
    let line = |(option, title, names): (&'static str, &str, Vec<String>)| {
        let more = match names.len().saturating_sub(SHOWN_NAMES) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        (option, format!("{title}: {}{more}", names[..names.len().min(SHOWN_NAMES)].join(", ")))
    };
    let all = [("split", "Splits", splits), ("subset", "Subsets", subsets)];
    all.into_iter().filter(|(.., names)| names.len() > 1).map(line).collect()
}

/// Reads the first documents of the first files.
pub fn read_documents(files: &[TextFile], cancel: &Cancel) -> FirstDocuments {
    let mut found = FirstDocuments::default();
    for file in files.iter().filter(|file| file.bytes > 0).take(SAMPLED_FILES) {
        if let Err(failure) = documents_of(file, &mut found, cancel) {
            if failure.is_cancelled() {
                return found;
            }
            found.failures.push(failure.to_string());
        }
    }
    let mut seen: HashMap<String, DocumentKey> = HashMap::new();
    for (_, _, line) in &found.lines {
        for name in keys_of(line) {
            let known = seen.entry(name.clone()).or_insert_with(|| {
                let (example, is_text) = example(line, &name);
                DocumentKey { name, documents: 0, example, is_text }
            });
            known.documents += 1;
        }
    }
    found.keys = seen.into_values().collect();
    found.keys.sort_by(|a, b| {
        (!a.is_text, std::cmp::Reverse(a.documents), &a.name).cmp(&(
            !b.is_text,
            std::cmp::Reverse(b.documents),
            &b.name,
        ))
    });
    found
}

fn documents_of(file: &TextFile, found: &mut FirstDocuments, cancel: &Cancel) -> Outcome<()> {
    let first = file.source.first_documents(file, DOCUMENTS_EACH, cancel)?;
    found.are_rows |= file.source.is_table();
    let name: Arc<str> = Arc::from(file.name.as_str());
    let whole = first.lines.into_iter().filter(|(_, line)| line.len() <= MAX_DOCUMENT_BYTES);
    found.lines.extend(whole.map(|(number, line)| (Arc::clone(&name), number + 1, line)));
    found.failures.extend(first.damage);
    Ok(())
}

/// Returns the start of the value of a key, and whether it is text.
fn example(line: &[u8], name: &str) -> (String, bool) {
    match documents::value_of(line, &[name]) {
        Some(serde_json::Value::String(words)) => (start_of(&words), true),
        Some(value) => (start_of(&value.to_string()), false),
        None => (String::new(), false),
    }
}

/// Returns a text, truncated to the length of an example.
fn start_of(text: &str) -> String {
    match text.char_indices().nth(MAX_EXAMPLE_CHARS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Returns the texts of documents, using the document rules of a format.
pub fn extract_texts(field: &TextField, documents: &FirstDocuments, rules: DocumentRules) -> DocumentTexts {
    let mut found = DocumentTexts { field: field.clone(), ..DocumentTexts::default() };
    let path = match field {
        TextField::Key(key) if documents.are_rows && documents.keys.iter().all(|known| known.name != *key) => {
            Some(path_program(key))
        }
        _ => None,
    };
    let mut extractor = match Extractor::new(path.as_ref().unwrap_or(field)) {
        Ok(extractor) => extractor,
        Err(failure) => {
            found.failure = Some(failure);
            return found;
        }
    };
    for (_, _, line) in &documents.lines {
        let document = extractor.document(line);
        found.texts.push(match document.verdict(rules) {
            DocumentVerdict::Take(text) => Ok(Arc::from(clipped(text))),
            DocumentVerdict::Skip(why) | DocumentVerdict::Refuse(why) => Err(why.to_owned()),
        });
    }
    found
}

/// Returns the jq program for a path of keys separated by dots.
fn path_program(path: &str) -> TextField {
    let key = |key: &str| format!(".{}", serde_json::Value::from(key));
    TextField::Jq(path.split('.').map(key).collect())
}

fn clipped(text: &str) -> &str {
    let end = (0..=SHOWN_TEXT.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    text.get(..end).unwrap_or_default()
}

impl FirstDocuments {
    /// Returns the names of the most important keys, separated by commas and not escaped for display; empty if no document is a JSON
    /// object.
    pub fn key_names(&self) -> String {
        let names: Vec<&str> = self.keys.iter().take(SHOWN_KEYS).map(|key| key.name.as_str()).collect();
        names.join(", ")
    }

    /// Returns the reason why the text field yields no text; `None` if it does, or if there are no documents.
    pub fn text_blocker(&self, texts: &DocumentTexts) -> Option<String> {
        if let Some(failure) = &texts.failure {
            return Some(failure.to_string());
        }
        if texts.texts.is_empty() || texts.with_text() > 0 {
            return None;
        }
        Some(match self.keys.is_empty() {
            true => "no document has text there, and none is a JSON object".to_owned(),
            false => {
                let unit = if self.are_rows { "rows" } else { "lines" };
                format!("no document has text there; the {unit} have the keys: {}", display_safe(&self.key_names()))
            }
        })
    }
}

/// Returns the first common end token that the vocabulary has.
pub fn usual_end(tokenizer: &Tokenizer) -> Option<&'static str> {
    END_TOKENS.into_iter().find(|text| tokenizer.id_of(text).is_some())
}

/// Facts about the data of a plan.
#[derive(Clone, Copy, Debug, Default)]
pub struct DataFacts<'a> {
    /// The keys of the first documents; empty if not known yet.
    pub keys: &'a [DocumentKey],
    /// Whether the only input is a single file.
    pub is_one_file: bool,
    /// The likely end token of the tokenizer.
    pub usual_end: Option<&'a str>,
}

impl DataFacts<'_> {
    /// Returns the answer to an option that is proposed from the data and from other answers.
    pub fn propose(&self, plan: &PackPlan, option: &str) -> Option<String> {
        match option {
            "text-key" if matches!(plan.text, TextField::Key(_)) => self.text_key().map(str::to_owned),
            "eos-token" if !matches!(plan.end, Some(SpecialToken::Id(_))) => self.usual_end.map(str::to_owned),
            "output" => self.output(plan),
            "sample-size" => formats::sample_size(plan).map(|_| PROPOSED_SAMPLE_SIZE.to_string()),
            _ => None,
        }
    }

    /// Returns the key of the text, if it is not the default.
    fn text_key(&self) -> Option<&str> {
        if self.keys.iter().any(|key| key.name == USUAL_KEY) {
            return None;
        }
        let texts = || self.keys.iter().filter(|key| key.is_text);
        let longest = texts().max_by_key(|key| (key.documents, key.example.len()));
        texts().find(|key| key.name == "content").or(longest).map(|key| key.name.as_str())
    }

    /// Returns the proposed output, which is next to the input.
    fn output(&self, plan: &PackPlan) -> Option<String> {
        let path = Path::new(plan.inputs.first()?);
        let name = path.file_name().map_or_else(|| "text".to_owned(), |name| name.to_string_lossy().into_owned());
        let stem = match (self.is_one_file, name.find(".jsonl")) {
            (true, Some(at)) if at > 0 => name.get(..at).unwrap_or(&name).to_owned(),
            _ => name,
        };
        let name = formats::output_name(plan, &stem, self.is_one_file);
        Some(output_next_to(path, &name).to_string_lossy().into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proposed_output_for_megatron_is_a_separate_folder() {
        let mut plan = PackPlan::new(vec!["s3://b/web.jsonl".into()], "t", "");
        let facts = DataFacts { is_one_file: true, ..DataFacts::default() };
        plan.megatron = Some(gristmill_core::pack::MegatronTarget::default());
        assert_eq!(facts.propose(&plan, "output").as_deref(), Some("s3://b/web-tokens/"));
        plan.megatron = None;
        plan.modalities = Some(gristmill_core::pack::ModalitiesTarget::default());
        assert_eq!(facts.propose(&plan, "output").as_deref(), Some("s3://b/web.pbin"));
    }

    #[test]
    fn long_example_is_cut_with_an_ellipsis() {
        assert_eq!(start_of(&"é".repeat(MAX_EXAMPLE_CHARS)), "é".repeat(MAX_EXAMPLE_CHARS));
        assert_eq!(start_of(&"é".repeat(MAX_EXAMPLE_CHARS + 1)), format!("{}…", "é".repeat(MAX_EXAMPLE_CHARS)));
    }
}
