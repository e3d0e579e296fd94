//! Checks of raw indexes (docs/formats/modalities.md §2).

pub(crate) use super::engine::check::{lint_index, verify_index};

use gristmill_core::text::shell_quote;
use gristmill_data::formats::modalities::with_suffix;
use std::path::{Path, PathBuf};

/// Returns the path of the file that an index is for, unless the user names another one.
pub(crate) fn source_of(index: &Path) -> PathBuf {
    with_suffix(index, ".jsonl")
}

/// Returns the hint on writing an index again.
pub(crate) fn rerun_hint(index: &Path) -> String {
    let quoted = shell_quote(&source_of(index).to_string_lossy());
    format!("make it again: gristmill index {quoted} --format modalities")
}
