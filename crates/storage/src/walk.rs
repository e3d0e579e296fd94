//! Walks through folders.

use super::run_folder::is_beside_output;
use std::path::Path;

/// Walks everything below a root that is not hidden and not kept next to an output by this program, following links; errors are yielded as
/// items.
pub fn walk(root: &Path, depth: usize) -> impl Iterator<Item = walkdir::Result<walkdir::DirEntry>> {
    let shown = |entry: &walkdir::DirEntry| {
        let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        let is_ours = || entry.file_type().is_dir() && is_beside_output(entry.path());
        entry.depth() == 0 || !is_hidden && !is_ours()
    };
    walkdir::WalkDir::new(root).follow_links(true).max_depth(depth).into_iter().filter_entry(shown)
}
