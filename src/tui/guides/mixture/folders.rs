//! Finds token folders, and reads the number of tokens in their files.

use crate::tui::guides::weights::WeightedRow;
use gristmill_core::text::display_safe;
use gristmill_core::{DatasetKind, ProblemLog};
use gristmill_data::source::kind::token_folder_kind;
use gristmill_ops::tokens::formats::mixture::{listing, windows};
use gristmill_storage::files::{self, FolderEntry};
use std::path::{Path, PathBuf};

/// Maximum number of inspected folders.
const MAX_FOLDERS: usize = 2_000;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct TokenFolder {
    /// Absolute path of the folder.
    pub(super) path: PathBuf,
    /// Number of tokens of each file, in the order of names.
    pub(super) tokens: Vec<u64>,
    /// Why the folder cannot be used, not escaped.
    pub(super) failure: Option<String>,
}

/// The row of a token folder; its weight is empty if folders are weighted by their windows.
pub(super) type FolderRow = WeightedRow<TokenFolder>;

impl TokenFolder {
    /// Returns the number of windows for a sequence length in tokens.
    pub(super) fn windows(&self, sequence_length: u64) -> u64 {
        self.tokens.iter().map(|tokens| windows::count(*tokens, sequence_length)).sum()
    }
}

/// Returns the given token folders in their order, then the other ones directly below `folder`, by name.
pub(super) fn find(folder: &Path, given: &[PathBuf]) -> Result<Vec<FolderRow>, String> {
    let entries = files::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(FolderEntry::into_path).take(MAX_FOLDERS).collect();
    paths.sort();
    paths.retain(|path| !given.contains(path));
    paths.splice(0..0, given.iter().cloned());
    Ok(paths.into_iter().filter(|path| is_token_folder(path)).map(|path| read(folder, path)).collect())
}

/// Returns the token folder at a path, or the reason why it is not a token folder.
pub(super) fn open(folder: &Path, path: PathBuf) -> Result<FolderRow, String> {
    match is_token_folder(&path) {
        true => Ok(read(folder, path)),
        false => Err(format!("{} is not a folder of .ds files", display_safe(&path.to_string_lossy()))),
    }
}

fn is_token_folder(path: &Path) -> bool {
    files::is_dir(path) && token_folder_kind(path).and_then(DatasetKind::tokens).is_some_and(|kind| kind.is_mixable)
}

fn read(folder: &Path, path: PathBuf) -> FolderRow {
    let (tokens, failure) = match listing::files(&path, &ProblemLog::default()) {
        Ok(files) => (files.iter().map(|file| file.tokens).collect(), None),
        Err(failure) => (Vec::new(), Some(failure.to_string())),
    };
    row(TokenFolder { path, tokens, failure }, folder)
}

/// Returns the row of a token folder, which can be part of the mixture unless it is unusable. `folder` is the searched folder.
pub(super) fn row(token_folder: TokenFolder, folder: &Path) -> FolderRow {
    let path = token_folder.path.clone();
    FolderRow { is_usable: token_folder.failure.is_none(), ..WeightedRow::new(token_folder, &path, folder) }
}
