//! `verify` of an index written by bsade or `dedup --export-index`.

use super::run_options;
use crate::cli::context::Context;
use crate::cli::exit::Finished;
use crate::cli::lint::{checked, LintTexts};
use gristmill_ops::job::dedup::{is_index, verify_index};
use std::path::Path;

/// Whether a path is an index.
pub fn is_ours(path: &str) -> bool {
    is_index(Path::new(path))
}

/// Reads the whole index and compares its files with each other.
pub fn verify(path: &str, context: &Context) -> Finished {
    let options = run_options(context);
    let words = LintTexts { shards: Some("shard"), item: "document" };
    checked(context, words, |handles| verify_index(Path::new(path), options.threads, options.memory_bytes, handles))
}
