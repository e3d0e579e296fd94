//! The token files of a folder.

use gristmill_core::{Failure, Outcome, Problem, ProblemKind, ProblemSink, Subject};
use gristmill_data::formats::nanosets::{index_path, loss_path, metadata_path, Metadata, Shard, TokenSize, DS};
use gristmill_storage::files;
use std::path::{Path, PathBuf};

/// A token file of a folder.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct TokenFile {
    /// Name of the file in the folder.
    pub name: String,
    /// Path of the file.
    #[serde(skip)]
    pub path: PathBuf,
    /// Size of the data in bytes.
    pub bytes: u64,
    /// Number of tokens, by the token size in the metadata, or of 2 bytes without metadata.
    pub tokens: u64,
    /// Content of the metadata; `None` if there is none.
    pub metadata: Option<Metadata>,
    /// Whether the file has a document index.
    pub has_index: bool,
    /// Whether the file has loss masks.
    pub has_loss: bool,
}

/// Returns the names of all `*.ds` files directly in a folder, sorted by code point, as in the readers and the merge of the reference
/// program. A matching entry that is not a file, or whose name is not UTF-8, is reported and omitted.
pub fn names(folder: &Path, problems: &dyn ProblemSink) -> Outcome<Vec<String>> {
    let failed = |error: &std::io::Error| Failure::io("reading the folder", folder, error);
    let mut names = Vec::new();
    for entry in files::read_dir(folder).map_err(|error| failed(&error))? {
        let entry = entry.map_err(|error| failed(&error))?;
        let name = entry.file_name();
        if !name.as_encoded_bytes().ends_with(DS.as_bytes()) {
            continue;
        }
        let subject = || Subject::path(entry.path());
        let Some(name) = name.to_str() else {
            let message = "its name is not UTF-8, and it was left out";
            problems.report(Problem::problem(ProblemKind::ShardNameNotUtf8, subject(), message))?;
            continue;
        };
        if entry.is_file() {
            names.push(name.to_owned());
        } else {
            let message = "it is named like a token file but is not one; it was left out";
            problems.report(Problem::problem(ProblemKind::NotAFile, subject(), message))?;
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// Reads the facts of one file of a folder. Fails if its metadata cannot be parsed.
pub fn inspect_file(folder: &Path, name: &str) -> Outcome<TokenFile> {
    let metadata = Metadata::read(&metadata_path(&folder.join(name)))?;
    let token_size = metadata.as_ref().map_or(TokenSize::Two, |metadata| metadata.token_size);
    Ok(TokenFile { metadata, ..undescribed(folder, name, token_size)? })
}

/// Returns a file with the given token size, without reading its metadata.
pub(super) fn undescribed(folder: &Path, name: &str, token_size: TokenSize) -> Outcome<TokenFile> {
    let path = folder.join(name);
    let shard = Shard::open(&path, token_size)?;
    Ok(TokenFile {
        name: name.to_owned(),
        bytes: shard.file().len(),
        tokens: shard.tokens(),
        metadata: None,
        has_index: files::is_file(index_path(&path)),
        has_loss: files::is_file(loss_path(&path)),
        path,
    })
}

/// Returns the failure for a folder without token files.
pub(super) fn none_in(folder: &Path) -> Failure {
    Failure::usage("looking for token files", "there is no .ds file directly in it").on(Subject::path(folder))
}

/// Returns all files of a folder. Fails if there are none.
pub fn files(folder: &Path, problems: &dyn ProblemSink) -> Outcome<Vec<TokenFile>> {
    let names = names(folder, problems)?;
    if names.is_empty() {
        return Err(none_in(folder));
    }
    names.iter().map(|name| inspect_file(folder, name)).collect()
}
