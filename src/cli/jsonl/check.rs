//! `lint` and `verify` of a JSONL file.

use super::super::check::checked;
use super::super::context::Context;
use super::super::exit::Finished;
use gristmill_ops::engine::check::CheckTexts;
use gristmill_ops::job::jsonl::{run_lint, run_verify};
use std::path::Path;

/// What is counted, in addition to the size.
const WORDS: CheckTexts = CheckTexts { shards: None, item: "file" };

/// Compares the index with the file and parses every line.
pub fn lint(path: &str, context: &Context) -> Finished {
    let options = context.run_options();
    checked(context, WORDS, |handles| run_lint(Path::new(path), &options, handles))
}

/// Computes the index again and compares it.
pub fn verify(path: &str, context: &Context) -> Finished {
    let options = context.run_options();
    checked(context, WORDS, |handles| run_verify(Path::new(path), &options, handles))
}
