//! Warnings about a `tokenizer.json`, shown before packing.

use super::facts::{AddedTokenFacts, NO_END, TEMPLATE_PREFIX};
use super::reference::Reference;

/// Returns the warnings about a tokenizer, one sentence each.
pub(super) fn warnings(reference: &Reference, added: &[AddedTokenFacts], greatest_id: u32) -> Vec<String> {
    let tokenizer = reference.tokenizer();
    let mut out = Vec::new();
    for (text, said, id) in reference.renumbered() {
        let id = id.map_or_else(|| "no id".to_owned(), |id| format!("the id {id}"));
        out.push(format!("the added token `{text}` has {id}, not {said} as the file says"));
    }
    if let Some(dropout) = reference.dropout() {
        out.push(format!("the file drops merges at random ({dropout}): ids come out differently each time"));
    }
    if let Some(truncation) = &reference.truncation {
        out.push(format!(
            "the file cuts texts to {}",
            gristmill_core::text::count(truncation.max_length as u64, "token")
        ));
    }
    if reference.padding.is_some() {
        out.push("the file pads texts; how much depends on which documents come together".to_owned());
    }
    match reference.template() {
        Ok(template) if !template.prefix.is_empty() => {
            out.push(format!("{TEMPLATE_PREFIX}{} before every text", spelled(reference, &template.prefix)));
        }
        Ok(_) => {}
        Err(failure) => out.push(format!("the template cannot be used: {}", failure.why)),
    }
    let base = tokenizer.get_vocab_size(false) as u64;
    if u64::from(greatest_id) >= tokenizer.get_vocab_size(true) as u64 {
        out.push(format!(
            "ids go up to {greatest_id}, although the vocabulary has only {}",
            gristmill_core::text::count(tokenizer.get_vocab_size(true) as u64, "token")
        ));
    } else if token_bytes(u64::from(greatest_id) + 1) > token_bytes(base) {
        out.push(format!(
            "added tokens go up to {greatest_id}, which does not fit the token size of the {base} tokens of the model"
        ));
    }
    if !has_end(added, reference) {
        out.push(NO_END.to_owned());
    }
    out
}

/// Returns the size of an id in bytes, for a vocabulary of this size.
fn token_bytes(size: u64) -> u32 {
    (size.max(2) - 1).ilog2() / 8 + 1
}

/// Returns the spellings of tokens, joined for a sentence.
fn spelled(reference: &Reference, ids: &[u32]) -> String {
    let name = |id: &u32| reference.tokenizer().id_to_token(*id).unwrap_or_else(|| id.to_string());
    ids.iter().map(|id| format!("`{}`", name(id))).collect::<Vec<_>>().join(" ")
}

/// Whether the template ends texts with a token, or an added token has a common name of end tokens.
fn has_end(added: &[AddedTokenFacts], reference: &Reference) -> bool {
    let is_end = |text: &str| {
        let text = text.to_ascii_lowercase();
        text == "</s>"
            || ["eos", "eod", "eot", "end_of_text", "endoftext", "end▁of▁sentence", "im_end", "[sep]"]
                .iter()
                .any(|word| text.contains(word))
    };
    let ends = reference.template().is_ok_and(|template| !template.suffix.is_empty());
    ends || added.iter().any(|token| is_end(&token.text)) || reference.tokenizer().token_to_id("</s>").is_some()
}
