//! The content of a folder of token files, and the number of its windows.

use super::listing::{inspect_file, names, TokenFile};
use gristmill_core::{Failure, Handles, Outcome, Problem, ProblemKind, Subject};
use gristmill_data::formats::nanosets::windows::{count, file_order};
use gristmill_data::formats::nanosets::{index, index_path, TokenSize};
use gristmill_storage::files;
use gristmill_storage::waiting::map_at_once;
use serde::Serialize;
use std::path::Path;

/// Facts of one file of a folder, and its windows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileFacts {
    /// The token file.
    #[serde(flatten)]
    pub file: TokenFile,
    /// Number of documents in its index.
    pub documents: Option<u64>,
    /// Number of windows of the requested sequence length; `None` if none was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub windows: Option<u64>,
    /// Number of tokens at its end that are in no window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unused_tokens: Option<u64>,
}

/// Facts of a folder.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FolderFacts {
    /// Path of the folder.
    pub path: String,
    /// Name of the tokenizer in the first metadata.
    pub tokenizer: Option<String>,
    /// Size of a token.
    pub token_size: TokenSize,
    /// Tokens of all files.
    pub tokens: u64,
    /// Documents of all files.
    pub documents: u64,
    /// Bytes of all data files.
    pub bytes: u64,
    /// Sequence length in tokens; a window contains one token more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sequence_length: Option<u64>,
    /// Windows of all files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub windows: Option<u64>,
    /// Number of tokens at the ends of files that are in no window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unused_tokens: Option<u64>,
    /// Files with loss masks.
    pub files_with_loss: u64,
    /// The files, sorted by name.
    pub files: Vec<FileFacts>,
    /// Positions of the files in the order in which nanotron numbers their windows.
    pub reading_order: Vec<usize>,
    /// Mismatches between files and metadata.
    pub problems: Vec<Problem>,
}

/// Reads names, sizes and metadata of a folder, but not the tokens. `token_size` overrides the metadata. Fails for a folder without token
/// files.
pub fn folder_facts(
    folder: &Path,
    sequence_length: Option<u64>,
    token_size: Option<TokenSize>,
    handles: &Handles<'_>,
) -> Outcome<FolderFacts> {
    let look = |name: &String| {
        handles.cancel.check()?;
        match inspect_file(folder, name) {
            Err(failure) if failure.class == gristmill_core::ExitClass::Data => {
                let size = token_size.unwrap_or(TokenSize::Two);
                let problem = Problem::of_failure(ProblemKind::BadFile, failure);
                Ok((super::listing::undescribed(folder, name, size)?, Some(problem)))
            }
            file => Ok((file?, None)),
        }
    };
    let (mut files, found): (Vec<TokenFile>, Vec<Option<Problem>>) =
        map_at_once(&names(folder, handles.problems)?, look)?.into_iter().unzip();
    let mut problems: Vec<Problem> = found.into_iter().flatten().collect();
    if files.is_empty() {
        return Err(super::listing::none_in(folder));
    }
    let first = files.iter().find_map(|file| file.metadata.clone());
    let token_size = token_size.or(first.as_ref().map(|metadata| metadata.token_size)).unwrap_or(TokenSize::Two);
    for file in &mut files {
        file.tokens = file.bytes / token_size.bytes();
        problems.extend(metadata_problems(file, token_size, first.as_ref().map(|m| m.tokenizer.as_str())));
    }
    let examined = map_at_once(&files, |file| {
        handles.cancel.check()?;
        Ok(facts_of(file.clone(), sequence_length))
    })?;
    let (files, found): (Vec<FileFacts>, Vec<Option<Problem>>) = examined.into_iter().unzip();
    problems.extend(found.into_iter().flatten());
    let sum = |of: &dyn Fn(&FileFacts) -> u64| files.iter().map(of).sum::<u64>();
    let facts = FolderFacts {
        path: folder.to_string_lossy().into_owned(),
        tokenizer: first.map(|metadata| metadata.tokenizer),
        token_size,
        tokens: sum(&|file| file.file.tokens),
        documents: sum(&|file| file.documents.unwrap_or(0)),
        bytes: sum(&|file| file.file.bytes),
        sequence_length,
        windows: sequence_length.map(|_| sum(&|file| file.windows.unwrap_or(0))),
        unused_tokens: sequence_length.map(|_| sum(&|file| file.unused_tokens.unwrap_or(0))),
        files_with_loss: sum(&|file| u64::from(file.file.has_loss)),
        reading_order: file_order(files.len()),
        files,
        problems: Vec::new(),
    };
    for problem in &problems {
        handles.problems.report(problem.clone())?;
    }
    Ok(FolderFacts { problems, ..facts })
}

pub(super) fn metadata_problems(file: &TokenFile, token_size: TokenSize, tokenizer: Option<&str>) -> Vec<Problem> {
    let on = || Subject::path(gristmill_data::formats::nanosets::metadata_path(&file.path));
    let mut found = Vec::new();
    let mut say = |kind, subject: Subject, message: String| found.push(Problem::problem(kind, subject, message));
    if !file.bytes.is_multiple_of(token_size.bytes()) {
        let message = format!(
            "its size of {} is not a multiple of {}",
            gristmill_core::text::count(file.bytes, "byte"),
            token_size.bytes()
        );
        say(ProblemKind::BadFile, Subject::path(&file.path), message);
    }
    let Some(metadata) = &file.metadata else {
        if !files::exists(gristmill_data::formats::nanosets::metadata_path(&file.path)) {
            let message = "there is no metadata file next to it: its tokenizer is not known";
            found.push(Problem::note(ProblemKind::MissingFile, Subject::path(&file.path), message));
        }
        return found;
    };
    if metadata.token_size != token_size {
        let message = format!(
            "it says {} a token, and the folder has {}",
            gristmill_core::text::count(metadata.token_size.bytes(), "byte"),
            token_size.bytes()
        );
        say(ProblemKind::IndexMismatch, on(), message);
    }
    if metadata.tokens != file.tokens {
        let message = format!(
            "it says {}, and the file has {}",
            gristmill_core::text::count(metadata.tokens, "token"),
            file.tokens
        );
        say(ProblemKind::IndexMismatch, on(), message);
    }
    if let Some(other) = tokenizer.filter(|name| *name != metadata.tokenizer) {
        let message = format!("its tokenizer is {:?}, and that of the folder is {other:?}", metadata.tokenizer);
        say(ProblemKind::IndexMismatch, on(), message);
    }
    if !metadata.is_plain() {
        let message = "the name of its tokenizer holds '|', at which readers take the line apart";
        say(ProblemKind::BadName, on(), message.to_owned());
    }
    found
}

/// Reads the index of a file. Returns the facts, and a problem if the index is invalid.
fn facts_of(file: TokenFile, sequence_length: Option<u64>) -> (FileFacts, Option<Problem>) {
    let path = index_path(&file.path);
    let (documents, problem) = match file.has_index.then(|| last_end(&path)) {
        None => {
            let message = "there is no .ds.index next to it: where its documents end is not known";
            (None, Some(Problem::problem(ProblemKind::MissingFile, Subject::path(&file.path), message)))
        }
        Some(Ok((count, end))) => {
            let message = || format!("its last document ends after token {end}, and the file has {}", file.tokens);
            let problem = || Problem::problem(ProblemKind::IndexMismatch, Subject::path(&path), message());
            (Some(count), (end != file.tokens).then(problem))
        }
        Some(Err(failure)) => (None, Some(Problem::of_failure(ProblemKind::BadFile, failure).on(Subject::path(&path)))),
    };
    let windows = sequence_length.map(|length| count(file.tokens, length));
    let unused =
        sequence_length.zip(windows).map(|(length, n)| file.tokens - n.saturating_mul(length.saturating_add(1)));
    (FileFacts { documents, windows, unused_tokens: unused, file }, problem)
}

fn last_end(path: &Path) -> Result<(u64, u64), Failure> {
    let index = index::Index::open(path)?;
    Ok((index.documents(), index.last_end()?))
}
