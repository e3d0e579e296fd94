//! Builds the reference tokenizer and the fast tokenizer from a `tokenizer.json`.
//!
//! Packing cannot start before this is done, and for a large vocabulary it takes as long as encoding about ten megabytes of text.
//! Independent steps therefore run in parallel: parsing the merges and everything before them; indexing tokens, then merges, and analysing
//! the spellings; building the tables and the reference.

use super::bpe::{Lists, MergeStats, Tables};
use super::fast::FastTokenizer;
use super::file::File;
use super::join::{join_both, Join2};
use super::reference::Reference;

/// The result of loading a file.
pub(super) struct LoadedTokenizer {
    pub(super) reference: Reference,
    /// The fast tokenizer, or the reason why only the reference can be used.
    pub(super) fast: Result<FastTokenizer, String>,
    pub(super) greatest_id: u32,
}

/// Builds both tokenizers from the bytes of a file. The error is the reason why this is not possible.
pub(super) fn build(bytes: &[u8], together: Join2<'_>) -> Result<LoadedTokenizer, String> {
    let file = File::read(bytes, together);
    let (lists, spelt) = match &file {
        Some(file) => {
            let (lists, spelt) = Lists::new(&file.model, together, || MergeStats::of(file));
            (Some(lists), spelt.flatten())
        }
        None => (None, None),
    };
    let (file, lists) = (file.as_ref(), lists.as_ref());
    let tables = || Tables::new(file, lists, spelt);
    let (tables, reference) =
        join_both(together, tables, || Reference::parse(bytes, file, lists)).ok_or_else(unread)?;
    let reference = reference?;
    let greatest_id = greatest_id(&reference, file);
    let fast = FastTokenizer::parse(bytes, tables, &reference, greatest_id);
    Ok(LoadedTokenizer { reference, fast, greatest_id })
}

fn unread() -> String {
    "nothing was read".to_owned()
}

/// Returns the greatest id of the model's and the added tokens.
fn greatest_id(reference: &Reference, file: Option<&File<'_>>) -> u32 {
    let tokenizer = reference.tokenizer();
    match file {
        Some(file) => file.model.vocab.ids().chain(tokenizer.get_added_tokens_decoder().into_keys()).max().unwrap_or(0),
        None => tokenizer.get_vocab(true).into_values().max().unwrap_or(0),
    }
}
