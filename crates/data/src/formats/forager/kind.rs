//! How folders of samples are recognized.

use super::super::files_in;
use gristmill_core::TokenKind;
use gristmill_storage::files;
use std::path::{Path, PathBuf};

/// A folder with `index/sample_locations.bin`: samples, tokens or lines.
pub static SAMPLES: TokenKind = TokenKind {
    id: "forager-samples",
    title: "Forager",
    format: "forager",
    item: "sample",
    is_file: false,
    is_mixable: false,
    window: |length| (length + 1, length + 1),
    detect: |path| files::is_file(path.join("index").join("sample_locations.bin")),
    detect_damaged: |_| false,
    files,
    defect: |_| None,
};

/// An index without tokenized samples describes the lines of text files next to it.
fn files(path: &Path) -> Vec<PathBuf> {
    let samples = path.join("tokenized-samples");
    files_in(if files::is_dir(&samples) { &samples } else { path }, |_| true).collect()
}
