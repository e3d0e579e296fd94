//! How packed files, and folders of packed files, are recognized.

use super::packed::{is_packed, may_be_packed};
use super::PACKED_SUFFIX;
use gristmill_core::TokenKind;
use gristmill_storage::files;
use gristmill_storage::walk::walk;
use std::path::{Path, PathBuf};

/// A `.pbin` file.
pub static PACKED_FILE: TokenKind = TokenKind {
    id: "packed-tokens",
    title: "Modalities",
    format: "modalities",
    item: "document",
    is_file: true,
    is_mixable: false,
    window: |length| (length + 1, length),
    detect: |path| is_named_packed(path) && files::is_file(path) || is_packed(path),
    detect_damaged: |_| false,
    files: |path| vec![path.to_owned()],
    defect,
};

/// A folder that contains only `.pbin` files.
pub static PACKED_FOLDER: TokenKind = TokenKind {
    id: "packed-folder",
    is_file: false,
    detect: |path| packed_files(path).is_some(),
    detect_damaged: |_| false,
    files: |path| packed_files(path).unwrap_or_default(),
    defect: |_| None,
    ..PACKED_FILE
};

/// Whether a path has the suffix of packed files.
pub fn is_named_packed(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().ends_with(PACKED_SUFFIX.as_bytes())
}

fn defect(path: &Path) -> Option<&'static str> {
    match files::metadata(path) {
        Ok(info) if info.is_empty() => Some("the file is empty"),
        _ if !may_be_packed(path) => Some("its header is not that of packed tokens"),
        _ => None,
    }
}

/// Returns the `.pbin` files of a folder at any depth, sorted; `None` if there are none, or if there are other files. Hidden files and the
/// files that Gristmill stores next to its outputs are ignored.
pub fn packed_files(folder: &Path) -> Option<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in walk(folder, usize::MAX) {
        let entry = entry.ok()?;
        if entry.kind().is_dir() {
            continue;
        }
        if !entry.kind().is_file() || !is_named_packed(entry.path()) {
            return None;
        }
        found.push(entry.into_path());
    }
    found.sort();
    (!found.is_empty()).then_some(found)
}
