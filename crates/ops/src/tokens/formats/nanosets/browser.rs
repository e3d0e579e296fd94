//! A folder of `.ds` files (docs/formats/nanosets.md §1).

use crate::engine::browse::tokens::{CompanionInfo, Listing, LossMask, RowSpan, SpanTable, Table, TokenFile, ACTIVITY};
use crate::engine::browse::TokenBrowser;
use gristmill_core::{Failure, Outcome, Subject};
use gristmill_data::formats::nanosets::index::Index;
use gristmill_data::formats::nanosets::metadata::Metadata;
use gristmill_data::formats::nanosets::{index_path, loss_path, metadata_path, DS};
use gristmill_data::preview::tokens::TokenCode;
use gristmill_storage::files::{self, FolderEntry};
use gristmill_storage::waiting::map_at_once;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Limit of the listed files.
const MAX_FILES: usize = 100_000;

/// Lists a folder of `.ds` files.
pub struct TokenFolderBrowser;

impl TokenBrowser for TokenFolderBrowser {
    fn files(&self, listing: &mut Listing<'_>) -> Outcome<Vec<TokenFile>> {
        files(listing.path, &mut listing.named)
    }
}

/// Returns the files of a folder in the order in which the frameworks read them, which is that of their names.
fn files(root: &Path, named: &mut CompanionInfo) -> Outcome<Vec<TokenFile>> {
    let entries = files::read_dir(root).map_err(|error| Failure::io(ACTIVITY, root, &error))?;
    let mut paths: Vec<PathBuf> = entries
        .filter_map(Result::ok)
        .filter(|entry| entry.file_name().as_encoded_bytes().ends_with(DS.as_bytes()) && entry.is_file())
        .map(FolderEntry::into_path)
        .take(MAX_FILES)
        .collect();
    paths.sort();
    if paths.is_empty() {
        return Err(Failure::usage(ACTIVITY, "no .ds file is in it").on(Subject::path(root)));
    }
    let (files, tokenizers): (Vec<TokenFile>, Vec<Option<String>>) =
        map_at_once(&paths, |path| Ok(file(path)))?.into_iter().unzip();
    tokenizers.iter().flatten().for_each(|tokenizer| named.add(tokenizer));
    Ok(files)
}

/// Describes one file, and returns the tokenizer named in its metadata. Problems of the file and of its companions are part of the result
/// instead of errors, so that the other files can still be viewed.
fn file(path: &Path) -> (TokenFile, Option<String>) {
    let mut trouble: Option<String> = None;
    let metadata = Metadata::read(&metadata_path(path)).unwrap_or_else(|failure| {
        trouble = Some(failure.why);
        None
    });
    let bytes = files::metadata(path).map_or(0, |facts| facts.len());
    let size = metadata.as_ref().map_or(2, |found| found.token_size.bytes());
    let code = TokenCode::little(u8::try_from(size).unwrap_or(2));
    let index = match Index::open(&index_path(path)) {
        Ok(index) => Some(index),
        Err(failure) => {
            trouble.get_or_insert(failure.why);
            None
        }
    };
    let loss = Some(loss_path(path)).filter(|loss| files::is_file(loss)).map(LossMask::File);
    if trouble.is_none() {
        trouble = find_inconsistency(bytes, &metadata, index.as_ref());
    }
    let table =
        index.map_or(Table::Whole, |index| Table::Spans(Arc::new(DocumentEnds { index, token_bytes: code.size() })));
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let file = TokenFile {
        name: Arc::from(name),
        path: path.to_owned(),
        bytes,
        data_from: 0,
        data_bytes: bytes - bytes % size,
        code,
        table,
        loss,
        has_text: false,
        defect: trouble.map(Arc::from),
    };
    (file, metadata.map(|found| found.tokenizer))
}

/// The documents of a file, by its index of their ends (`.ds.index`).
struct DocumentEnds {
    index: Index,
    token_bytes: u64,
}

impl SpanTable for DocumentEnds {
    fn rows(&self) -> u64 {
        self.index.documents()
    }

    fn spans(&self, first: u64, count: usize) -> Outcome<Vec<RowSpan>> {
        let before = u64::from(first > 0);
        let mut ends = self.index.ends(first - before, count.saturating_add(1))?.into_iter();
        let mut from = if first > 0 { ends.next().unwrap_or(0) } else { 0 };
        let size = self.token_bytes;
        let place = |end: u64| {
            let place = RowSpan { from: from.saturating_mul(size), to: end.saturating_mul(size), defect: None };
            from = end;
            place
        };
        Ok(ends.take(count).map(place).collect())
    }

    fn ends_within(&self, from: u64, to: u64, most: usize) -> Outcome<(Option<u64>, Vec<u64>)> {
        let first = self.index.document_of(from)?;
        let count = usize::try_from(to.saturating_sub(from)).map_or(most, |tokens| tokens.min(most));
        let ends = self.index.ends(first, count)?;
        Ok((Some(first), ends.into_iter().take_while(|end| *end < to).collect()))
    }

    fn index_path(&self) -> Option<&Path> {
        Some(self.index.path())
    }
}

/// Returns the first inconsistency between the files of one shard.
fn find_inconsistency(bytes: u64, metadata: &Option<Metadata>, index: Option<&Index>) -> Option<String> {
    let Some(metadata) = metadata else { return Some("it has no .ds.metadata: two bytes a token are taken".into()) };
    let size = metadata.token_size.bytes();
    let tokens = bytes / size;
    if !bytes.is_multiple_of(size) {
        return Some(format!("its size is not a multiple of {size} bytes"));
    }
    if metadata.tokens != tokens {
        return Some(format!(
            "it holds {}, its metadata says {}",
            gristmill_core::text::count(tokens, "token"),
            metadata.tokens
        ));
    }
    match index?.last_end() {
        Ok(end) if end != tokens => {
            Some(format!("it holds {}, its index ends at {end}", gristmill_core::text::count(tokens, "token")))
        }
        Ok(_) => None,
        Err(failure) => Some(failure.why),
    }
}
