//! Paths in plans.

use gristmill_storage::files;
use gristmill_storage::location::is_remote;
use std::path::{Path, PathBuf};

/// Resolves the links of the existing part of a path. A `..` in the rest is resolved lexically.
pub(crate) fn resolve_links(path: &Path) -> PathBuf {
    let whole = files::absolute_or_same(path);
    if is_remote(&whole) {
        return whole;
    }
    for there in whole.ancestors() {
        if let (Ok(real), Ok(rest)) = (files::canonicalize(there), whole.strip_prefix(there)) {
            return real.join(rest).components().collect();
        }
    }
    whole
}
