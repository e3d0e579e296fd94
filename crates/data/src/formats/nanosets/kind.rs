//! How token folders are recognized.

use super::super::files_in;
use super::DS;
use gristmill_core::TokenKind;
use std::path::{Path, PathBuf};

/// A folder with `.ds` files directly in it.
pub static FOLDER: TokenKind = TokenKind {
    id: "token-folder",
    title: "Nanosets",
    format: "nanosets",
    item: "document",
    is_file: false,
    is_mixable: true,
    window: |length| (length + 1, length + 1),
    detect: |path| files(path).next().is_some(),
    detect_damaged: |_| false,
    files: |path| files(path).collect(),
    defect: |_| None,
};

fn files(path: &Path) -> impl Iterator<Item = PathBuf> {
    files_in(path, |name| name.ends_with(DS.as_bytes()))
}
