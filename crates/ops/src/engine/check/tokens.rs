//! What checks of all token formats share.

use gristmill_core::{Problem, ProblemKind, Subject};
use std::path::Path;

/// The depth of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Checks indexes, metadata and sizes.
    Index,
    /// Also checks every token and loss mask.
    Tokens,
}

/// The vocabulary against which the tokens of a file are checked.
#[derive(Clone, Debug)]
pub struct Vocabulary {
    /// Name of the tokenizer.
    pub name: String,
    /// Largest id of the vocabulary.
    pub greatest: u32,
}

/// Returns the problem of a set without any document.
pub(crate) fn no_document(folder: &Path) -> Problem {
    let message = "it has no document: a loader fails at its first sample";
    let problem = Problem::problem(ProblemKind::EmptyShard, Subject::path(folder), message);
    problem.with_hint("pack it again from files that have documents")
}
