//! Finds token folders, and reads the number of tokens in their files.

use gristmill_core::text::display_safe;
use gristmill_core::{DatasetKind, ProblemLog};
use gristmill_data::formats::nanosets::windows;
use gristmill_data::source::kind::token_folder_kind;
use gristmill_ops::tokens::formats::nanosets::engine::listing;
use gristmill_storage::files::{self, FolderEntry};
use std::path::{Path, PathBuf};

/// Maximum number of inspected folders.
const MAX_FOLDERS: usize = 2_000;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct TokenFolder {
    /// Absolute path of the folder.
    pub(super) path: PathBuf,
    /// Path relative to the searched folder, not escaped.
    pub(super) name: String,
    /// Number of tokens of each file, in the order of names.
    pub(super) tokens: Vec<u64>,
    /// Why the folder cannot be used, not escaped.
    pub(super) failure: Option<String>,
}

impl TokenFolder {
    /// Returns the number of windows for a sequence length in tokens.
    pub(super) fn windows(&self, sequence_length: u64) -> u64 {
        self.tokens.iter().map(|tokens| windows::count(*tokens, sequence_length)).sum()
    }
}

/// Returns the given token folders in their order, then the other ones directly below `folder`, by name.
pub(super) fn find(folder: &Path, given: &[PathBuf]) -> Result<Vec<TokenFolder>, String> {
    let entries = files::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(FolderEntry::into_path).take(MAX_FOLDERS).collect();
    paths.sort();
    paths.retain(|path| !given.contains(path));
    paths.splice(0..0, given.iter().cloned());
    Ok(paths.into_iter().filter(|path| is_token_folder(path)).map(|path| read(folder, path)).collect())
}

/// Returns the token folder at a path, or the reason why it is not a token folder.
pub(super) fn open(folder: &Path, path: PathBuf) -> Result<TokenFolder, String> {
    match is_token_folder(&path) {
        true => Ok(read(folder, path)),
        false => Err(format!("{} is not a folder of .ds files", display_safe(&path.to_string_lossy()))),
    }
}

fn is_token_folder(path: &Path) -> bool {
    files::is_dir(path) && token_folder_kind(path).and_then(DatasetKind::tokens).is_some_and(|kind| kind.is_mixable)
}

fn read(folder: &Path, path: PathBuf) -> TokenFolder {
    let name = path.strip_prefix(folder).unwrap_or(&path).to_string_lossy().into_owned();
    match listing::files(&path, &ProblemLog::default()) {
        Ok(files) => TokenFolder { name, path, tokens: files.iter().map(|file| file.tokens).collect(), failure: None },
        Err(failure) => TokenFolder { name, path, tokens: Vec::new(), failure: Some(failure.to_string()) },
    }
}
