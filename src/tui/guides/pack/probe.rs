//! Finds and loads tokenizers for the form of pack. Slow, so it must run on workers.

use super::pack_facts::TokenizerPreview;
use gristmill_core::pack::SpecialToken;
use gristmill_core::text::{count, display_safe, grouped};
use gristmill_core::{Outcome, PackPlan};
use gristmill_data::preview::tokens::{TokenText, TokenTone};
use gristmill_ops::operations::pack::usual_end;
use gristmill_storage::files::{self, FolderEntry};
use gristmill_storage::location::is_remote;
use gristmill_tokenizer::{TokenSpan, Tokenizer};
use std::ops::Range;
use std::path::{Path, PathBuf};
use unicode_segmentation::UnicodeSegmentation;

/// Maximum number of listed special tokens.
const MAX_SPECIALS: usize = 12;
/// Maximum number of listed tokenizers.
const MAX_TOKENIZERS: usize = 50;

/// Finds tokenizers near the inputs (if these are in a store, in the working folder) and in the local cache of the hub.
pub fn tokenizers(inputs: &[PathBuf], hubs: &[PathBuf]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut add = |path: PathBuf| {
        let name = path.to_string_lossy().into_owned();
        if !found.contains(&name) && found.len() < MAX_TOKENIZERS {
            found.push(name);
        }
    };
    let near = inputs.iter().flat_map(|input| input.ancestors().take(3));
    // A bucket with text rarely contains a tokenizer.
    let here = inputs.iter().any(|input| is_remote(input)).then_some(Path::new("."));
    for folder in here.into_iter().chain(near).filter(|folder| files::is_dir(folder)) {
        files_of(folder).into_iter().for_each(&mut add);
        for name in ["tokenizer", "tokenizers"] {
            let below = folder.join(name);
            files_of(&below).into_iter().for_each(&mut add);
            let Ok(entries) = files::read_dir(&below) else { continue };
            let mut folders: Vec<PathBuf> = entries.flatten().map(FolderEntry::into_path).take(200).collect();
            folders.sort();
            folders.into_iter().filter(|path| files::is_file(path.join("tokenizer.json"))).for_each(&mut add);
        }
    }
    for hub in hubs {
        let Ok(entries) = files::read_dir(hub) else { continue };
        let names = entries.flatten().filter_map(|entry| entry.file_name().to_str().map(str::to_owned));
        let mut names: Vec<String> =
            names.filter_map(|name| Some(name.strip_prefix("models--")?.replace("--", "/"))).take(1_000).collect();
        names.sort();
        names.into_iter().for_each(|name| add(PathBuf::from(name)));
    }
    found
}

/// Returns the files of a folder that may be tokenizers by their names.
fn files_of(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = files::read_dir(folder) else { return Vec::new() };
    let is_one = |path: &PathBuf| {
        let name = path.file_name().map(|name| name.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
        name.ends_with("tokenizer.json")
            || name.ends_with(".model") && name.contains("tok")
            || name.ends_with(".model") && name.contains("sp")
            || name.ends_with(".json") && folder.file_name().is_some_and(|name| name == "tokenizers")
    };
    let mut files: Vec<PathBuf> = entries.flatten().take(2_000).map(FolderEntry::into_path).filter(is_one).collect();
    files.sort();
    files
}

/// Returns facts about a loaded tokenizer, and one document encoded according to the plan.
pub fn probe_tokenizer(tokenizer: &Tokenizer, document: Option<&str>, plan: &PackPlan) -> Outcome<TokenizerPreview> {
    let facts = tokenizer.facts();
    let spelled = |ids: &[u32]| -> Vec<String> {
        ids.iter().map(|id| tokenizer.token_of(*id).unwrap_or_else(|| format!("#{id}"))).collect()
    };
    let template = tokenizer.template()?;
    let specials = facts.added.iter().filter(|token| token.is_special).map(|token| token.text.clone());
    let mut unknown_end = None;
    let mut warnings: Vec<String> = facts.warnings.iter().map(|words| display_safe(words).into_owned()).collect();
    let end = match &plan.end {
        Some(SpecialToken::Id(id)) => Some(*id),
        Some(SpecialToken::Text(text)) => {
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
        warnings.push("documents have no end: there is no end token, and the template adds none".to_owned());
    }
    let mut preview = TokenizerPreview {
        usual_end: usual_end(tokenizer),
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
        preview.size = (spans.len() as u64, document.chars().count() as u64);
        let named = |id: u32| (id, tokenizer.token_of(id).unwrap_or_else(|| format!("#{id}")));
        let before: Vec<(u32, String)> = template.prefix.iter().map(|id| named(*id)).collect();
        let after = match end {
            Some(end) => vec![named(end)],
            None => template.suffix.iter().map(|id| named(*id)).collect(),
        };
        (preview.text, preview.ids) = drawn(document, &spans, &before, &after);
    }
    Ok(preview)
}

/// Returns the tokens of a document as text with alternating styles, and as ids.
fn drawn(
    document: &str,
    spans: &[TokenSpan],
    before: &[(u32, String)],
    after: &[(u32, String)],
) -> (Option<TokenText>, Option<TokenText>) {
    let (mut text, mut ids) = (TokenTextBuilder::default(), TokenTextBuilder::default());
    let special = |(id, spelling): &(u32, String), text: &mut TokenTextBuilder, ids: &mut TokenTextBuilder| {
        text.push(&display_safe(spelling), TokenTone::Special);
        ids.push(&format!("{id} "), TokenTone::Special);
    };
    before.iter().for_each(|token| special(token, &mut text, &mut ids));
    let mut shown = 0;
    for (at, span) in spans.iter().enumerate() {
        let tone = if at.is_multiple_of(2) { TokenTone::Even } else { TokenTone::Odd };
        // A character of several tokens, with its marks, is shown once; text that no token covers is shown with the next token.
        let rest = document.get(shown..).unwrap_or_default();
        let starts = rest.grapheme_indices(true).map(|(start, _)| shown + start);
        let end = starts.chain([document.len()]).find(|start| *start >= span.bytes.end).unwrap_or(shown);
        let piece = document.get(shown..end).unwrap_or_default();
        shown = end;
        let lines: Vec<String> = piece.split('\n').map(|line| display_safe(line).into_owned()).collect();
        text.push(&lines.join("↵\n"), tone);
        ids.push(&format!("{} ", span.id), tone);
    }
    after.iter().for_each(|token| special(token, &mut text, &mut ids));
    (Some(text.done()), Some(ids.done()))
}

#[derive(Default)]
struct TokenTextBuilder {
    text: String,
    marks: Vec<(Range<usize>, TokenTone)>,
}

impl TokenTextBuilder {
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

/// Returns the tokens that the template adds around a document as text, not escaped.
pub fn template_words(template: &(Vec<String>, Vec<String>)) -> String {
    match (template.0.is_empty(), template.1.is_empty()) {
        (true, true) => "no tokens are added to a document".to_owned(),
        (false, true) => format!("{} before a document", template.0.join(" ")),
        (true, false) => format!("{} after a document", template.1.join(" ")),
        (false, false) => {
            format!("{} before and {} after a document", template.0.join(" "), template.1.join(" "))
        }
    }
}

/// Returns the size of a vocabulary as text.
pub fn size_words(preview: &TokenizerPreview) -> String {
    let added = preview.facts.full_size.saturating_sub(preview.facts.base_size);
    let fast = if preview.facts.is_fast { "fast" } else { "by the reference" };
    format!("{}, {} and {} added, {fast}", preview.facts.model, count(preview.facts.base_size, "token"), grouped(added))
}

#[cfg(test)]
mod tests {
    use super::template_words;

    #[test]
    fn template_words_name_the_tokens_of_each_side() {
        let of = |before: &[&str], after: &[&str]| {
            let owned = |tokens: &[&str]| tokens.iter().map(|token| (*token).to_owned()).collect();
            template_words(&(owned(before), owned(after)))
        };
        assert_eq!(of(&["<s>"], &["</s>"]), "<s> before and </s> after a document");
        assert_eq!(of(&["<s>"], &[]), "<s> before a document");
    }
}
