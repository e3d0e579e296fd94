//! Finding out what is known: reads files and loads tokenizers, so it runs on workers.

use super::known::{Documents, Extracted, Files, KeySeen, TokenizerLook, SHOWN_FILES};
use gristmill_core::pack::{EndToken, TextField};
use gristmill_core::text::{count, display_safe, grouped};
use gristmill_core::{Cancel, Outcome, PackFormat, PackPlan};
use gristmill_ops::preview::tokens::{TokenText, TokenTone};
use gristmill_ops::source::text::{self, keys_of, Blocks, Extractor, Position, Selection, TextFile, Verdict};
use gristmill_tokenizer::{TokenSpan, Tokenizer};
use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Files that documents are taken from.
const LOOKED_INTO: usize = 4;
/// Documents that are taken from each.
const DOCUMENTS_EACH: usize = 32;
/// Bytes of a block that documents are taken from.
const BLOCK: usize = 256 << 10;
/// A longer document is left alone.
const MAX_DOCUMENT_BYTES: usize = 1 << 20;
/// Bytes of a text that are kept to be shown, and encoded.
const SHOWN_TEXT: usize = 20_000;
/// Characters of an example.
const EXAMPLE: usize = 200;
/// Maximum number of special tokens that are listed.
const MAX_SPECIALS: usize = 12;
/// Tokenizers that are offered.
const MAX_TOKENIZERS: usize = 50;
/// Spellings of tokens that end documents.
const ENDS: [&str; 6] = ["<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>", "<|eos|>", "[SEP]"];

/// Finds the files of a plan, by the rules of each format.
pub fn files(plan: &PackPlan, cancel: &Cancel) -> Outcome<Files> {
    let inputs: Vec<PathBuf> = plan.inputs.iter().map(PathBuf::from).collect();
    let mut found = Files { is_one_file: matches!(inputs.as_slice(), [one] if one.is_file()), ..Files::default() };
    let mut first_failure = None;
    for format in PackFormat::ALL {
        cancel.check()?;
        match text::list(&inputs, Selection::of(plan), format, cancel) {
            Ok(listing) => {
                let bytes = listing.files.iter().map(|file| file.bytes).sum();
                found.by_format.push((format, Ok((listing.files.len() as u64, bytes))));
                let is_asked = plan.formats().first().is_none_or(|first| *first == format);
                if found.shown.is_empty() || is_asked && found.total < listing.files.len() as u64 {
                    (found.total, found.bytes) = (listing.files.len() as u64, bytes);
                    found.shown = listing.files.into_iter().take(SHOWN_FILES).collect();
                    found.problems = listing.problems;
                }
            }
            Err(failure) if failure.is_cancelled() => return Err(failure),
            Err(failure) => {
                found.by_format.push((format, Err(failure.why.clone())));
                first_failure.get_or_insert(failure);
            }
        }
    }
    match first_failure {
        Some(failure) if found.shown.is_empty() => Err(failure),
        _ => Ok(found),
    }
}

/// Real documents of the first few files, and their keys.
pub fn documents(files: &[TextFile], cancel: &Cancel) -> Documents {
    let mut found = Documents::default();
    for file in files.iter().filter(|file| file.bytes > 0).take(LOOKED_INTO) {
        if let Err(failure) = documents_of(file, &mut found, cancel) {
            if failure.is_cancelled() {
                return found;
            }
            found.troubles.push(failure.to_string());
        }
    }
    let mut seen: HashMap<String, KeySeen> = HashMap::new();
    for (_, _, line) in &found.lines {
        for name in keys_of(line) {
            let known = seen.entry(name.clone()).or_insert_with(|| {
                let (example, is_text) = example(line, &name);
                KeySeen { name, documents: 0, example, is_text }
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

fn documents_of(file: &TextFile, found: &mut Documents, cancel: &Cancel) -> Outcome<()> {
    let mut blocks = Blocks::open(file, BLOCK, Position::default(), cancel)?;
    let name: Arc<str> = Arc::from(file.name.as_str());
    if let Some(block) = blocks.next(Vec::new())? {
        let whole = |line: &text::Line<'_>| !line.is_overlong() && line.bytes.len() <= MAX_DOCUMENT_BYTES;
        let filled = |line: &text::Line<'_>| !line.bytes.trim_ascii().is_empty();
        for line in block.lines().filter(whole).filter(filled).take(DOCUMENTS_EACH) {
            found.lines.push((Arc::clone(&name), line.number + 1, Arc::from(line.bytes)));
        }
    }
    found.troubles.extend(blocks.damage().map(|damage| damage.problem(file).message));
    Ok(())
}

/// Returns the value of a key, and whether it is text.
fn example(line: &[u8], name: &str) -> (String, bool) {
    match text::value_of(line, &[name]) {
        Some(serde_json::Value::String(words)) => (words.chars().take(EXAMPLE).collect(), true),
        Some(value) => (value.to_string().chars().take(EXAMPLE).collect(), false),
        None => (String::new(), false),
    }
}

/// Returns the values of a field in documents, by the rules of the first selected format.
pub fn extract(field: &TextField, documents: &Documents, format: PackFormat) -> Extracted {
    let mut found = Extracted { field: field.clone(), ..Extracted::default() };
    let mut extractor = match Extractor::new(field) {
        Ok(extractor) => extractor,
        Err(failure) => {
            found.failure = Some(failure);
            return found;
        }
    };
    for (_, _, line) in &documents.lines {
        let document = extractor.document(line);
        found.texts.push(match document.verdict(format) {
            Verdict::Take(text) => Ok(Arc::from(clipped(text))),
            Verdict::Skip(why) | Verdict::Refuse(why) => Err(why.to_owned()),
        });
    }
    found
}

fn clipped(text: &str) -> &str {
    let end = (0..=SHOWN_TEXT.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    text.get(..end).unwrap_or_default()
}

/// Tokenizers that lie near the inputs, and those of the local hub cache.
pub fn tokenizers(inputs: &[PathBuf], hubs: &[PathBuf]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut add = |path: PathBuf| {
        let name = path.to_string_lossy().into_owned();
        if !found.contains(&name) && found.len() < MAX_TOKENIZERS {
            found.push(name);
        }
    };
    for folder in inputs.iter().flat_map(|input| input.ancestors().take(3)).filter(|folder| folder.is_dir()) {
        files_of(folder).into_iter().for_each(&mut add);
        for name in ["tokenizer", "tokenizers"] {
            let below = folder.join(name);
            files_of(&below).into_iter().for_each(&mut add);
            let Ok(entries) = std::fs::read_dir(&below) else { continue };
            let mut folders: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).take(200).collect();
            folders.sort();
            folders.into_iter().filter(|path| path.join("tokenizer.json").is_file()).for_each(&mut add);
        }
    }
    for hub in hubs {
        let Ok(entries) = std::fs::read_dir(hub) else { continue };
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<String> =
            names.filter_map(|name| Some(name.strip_prefix("models--")?.replace("--", "/"))).take(1_000).collect();
        names.sort();
        names.into_iter().for_each(|name| add(PathBuf::from(name)));
    }
    found
}

/// Files of a folder that may be tokenizers, by their names.
fn files_of(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let is_one = |path: &PathBuf| {
        let name = path.file_name().map(|name| name.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
        name.ends_with("tokenizer.json")
            || name.ends_with(".model") && name.contains("tok")
            || name.ends_with(".model") && name.contains("sp")
            || name.ends_with(".json") && folder.file_name().is_some_and(|name| name == "tokenizers")
    };
    let mut files: Vec<PathBuf> = entries.flatten().take(2_000).map(|entry| entry.path()).filter(is_one).collect();
    files.sort();
    files
}

/// Looks at a loaded tokenizer, with one document encoded as the plan says.
pub fn probe_tokenizer(tokenizer: &Tokenizer, document: Option<&str>, plan: &PackPlan) -> Outcome<TokenizerLook> {
    let facts = tokenizer.facts();
    let spelled = |ids: &[u32]| -> Vec<String> {
        ids.iter().map(|id| tokenizer.token_of(*id).unwrap_or_else(|| format!("#{id}"))).collect()
    };
    let template = tokenizer.template()?;
    let usual_end = ENDS.iter().find(|end| tokenizer.id_of(end).is_some()).map(|end| (*end).to_owned());
    let specials = facts.added.iter().filter(|token| token.is_special).map(|token| token.text.clone());
    let mut unknown_end = None;
    let mut warnings: Vec<String> = facts.warnings.iter().map(|words| display_safe(words).into_owned()).collect();
    let end = match &plan.end {
        Some(EndToken::Id(id)) => Some(*id),
        Some(EndToken::Text(text)) => {
            let id = tokenizer.id_of(text);
            if id.is_none() {
                unknown_end = Some(text.clone());
                warnings.insert(0, format!("the end token {} is not in the vocabulary", display_safe(text)));
            }
            id
        }
        None => None,
    };
    if end.is_none() && template.suffix.is_empty() && plan.end.is_none() {
        warnings.push("nothing ends a document: neither an end token nor the template".to_owned());
    }
    let mut look = TokenizerLook {
        usual_end,
        specials: specials.take(MAX_SPECIALS).collect(),
        template: (spelled(&template.prefix), spelled(&template.suffix)),
        facts,
        text: None,
        ids: None,
        size: (0, 0),
        warnings,
        unknown_end,
    };
    if let Some(document) = document {
        let spans = tokenizer.encoder().encode_spans(document)?;
        look.size = (spans.len() as u64, document.chars().count() as u64);
        let named = |id: u32| (id, tokenizer.token_of(id).unwrap_or_else(|| format!("#{id}")));
        let before: Vec<(u32, String)> = template.prefix.iter().map(|id| named(*id)).collect();
        let after = match end {
            Some(end) => vec![named(end)],
            None => template.suffix.iter().map(|id| named(*id)).collect(),
        };
        (look.text, look.ids) = drawn(document, &spans, &before, &after);
    }
    Ok(look)
}

/// Returns a document as text with alternating tokens, and as ids.
fn drawn(
    document: &str,
    spans: &[TokenSpan],
    before: &[(u32, String)],
    after: &[(u32, String)],
) -> (Option<TokenText>, Option<TokenText>) {
    let (mut text, mut ids) = (Marked::default(), Marked::default());
    let special = |(id, spelling): &(u32, String), text: &mut Marked, ids: &mut Marked| {
        text.push(&display_safe(spelling), TokenTone::Special);
        ids.push(&format!("{id} "), TokenTone::Special);
    };
    before.iter().for_each(|token| special(token, &mut text, &mut ids));
    let mut shown = 0;
    for (at, span) in spans.iter().enumerate() {
        let tone = if at.is_multiple_of(2) { TokenTone::Even } else { TokenTone::Odd };
        // A character of several tokens is shown once, and text that no token covers together with the next token.
        let piece = document.get(shown..span.bytes.end.max(shown)).unwrap_or_default();
        shown = shown.max(span.bytes.end);
        let lines: Vec<String> = piece.split('\n').map(|line| display_safe(line).into_owned()).collect();
        text.push(&lines.join("↵\n"), tone);
        ids.push(&format!("{} ", span.id), tone);
    }
    after.iter().for_each(|token| special(token, &mut text, &mut ids));
    (Some(text.done()), Some(ids.done()))
}

#[derive(Default)]
struct Marked {
    text: String,
    marks: Vec<(Range<usize>, TokenTone)>,
}

impl Marked {
    fn push(&mut self, words: &str, tone: TokenTone) {
        let from = self.text.len();
        self.text.push_str(words);
        if self.text.len() > from {
            self.marks.push((from..self.text.len(), tone));
        }
    }

    fn done(self) -> TokenText {
        TokenText { text: self.text.into(), marks: self.marks.into() }
    }
}

/// Returns the tokens that the template adds around a document as text; raw.
pub fn template_words(template: &(Vec<String>, Vec<String>)) -> String {
    match (template.0.is_empty(), template.1.is_empty()) {
        (true, true) => "nothing is put around a document".to_owned(),
        (false, true) => format!("{} before a document", template.0.join(" ")),
        (true, false) => format!("{} after a document", template.1.join(" ")),
        (false, false) => format!("{} before and {} after a document", template.0.join(" "), template.1.join(" ")),
    }
}

/// Returns the size of a vocabulary as text.
pub fn size_words(look: &TokenizerLook) -> String {
    let added = look.facts.full_size.saturating_sub(look.facts.base_size);
    let fast = if look.facts.is_fast { "fast" } else { "by the reference" };
    format!("{}, {} and {} added, {fast}", look.facts.model, count(look.facts.base_size, "token"), grouped(added))
}
