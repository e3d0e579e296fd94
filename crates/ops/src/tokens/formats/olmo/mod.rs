//! Token files for OLMo, each with a table of its documents: `part-0-00000.npy` and `part-0-00000.csv.gz` (docs/formats/olmo.md).

mod check;
mod encoding;
mod files;
mod options;
mod output;
mod reader;
mod shuffle;
mod table;
mod table_reader;
mod writer;

pub(super) use options::{CHOICE, GROUP};

use super::super::format::{AssignedFiles, EndTokenNeed, FileAssignmentRequest, FormatInfo, OutputTarget, TokenFormat};
use crate::tokens::encode::EncodingSpec;
use crate::tokens::options::{document_shuffle_answer, shared_answer, SharedAnswer};
use gristmill_core::pack::{OlmoTarget, DEFAULT_OLMO_FILE_TOKENS};
use gristmill_core::{Outcome, PackPlan, Problem, ProblemKind, Subject};
use gristmill_data::source::documents::{DocumentRules, Quirks};
use gristmill_tokenizer::Tokenizer;
use std::path::{Path, PathBuf};

/// The format `olmo`.
pub(super) struct Olmo;

/// Returns the problem for a set without documents.
fn no_documents(path: &Path) -> Problem {
    let why = "there is no document: the pair of files is empty";
    Problem::problem(ProblemKind::EmptyFile, Subject::path(path), why)
}

fn target(plan: &PackPlan) -> OlmoTarget {
    plan.olmo.clone().unwrap_or_default()
}

/// Returns the accessors for the limit of a file. The default limit counts as no answer.
fn file_limit() -> SharedAnswer<u64> {
    let SharedAnswer { get, .. } = shared_answer!(olmo.max_tokens_per_file);
    SharedAnswer {
        get,
        set: |plan, tokens| {
            if let Some(target) = &mut plan.olmo {
                target.max_tokens_per_file = tokens.filter(|tokens| *tokens != DEFAULT_OLMO_FILE_TOKENS);
            }
        },
    }
}

impl TokenFormat for Olmo {
    common_methods!(olmo, OlmoTarget::default);

    fn info(&self) -> FormatInfo {
        FormatInfo {
            readers: &[&reader::PartsReader],
            takes_begin_token: true,
            names_inputs: true,
            token_type: Some(shared_answer!(olmo.token_type)),
            max_tokens_per_file: Some(file_limit()),
            document_shuffle: Some(document_shuffle_answer!(olmo)),
            ..FormatInfo::default()
        }
    }

    fn end_token(&self, _: &PackPlan) -> EndTokenNeed {
        EndTokenNeed::Useful
    }

    fn open_questions(&self, plan: &PackPlan) -> Vec<Problem> {
        check::open_questions(plan)
    }

    fn refusals(&self, plan: &PackPlan) -> Vec<Problem> {
        check::refusals(&target(plan))
    }

    fn notes(&self, plan: &PackPlan, tokenizer: &Tokenizer) -> Vec<Problem> {
        check::notes(plan, tokenizer)
    }

    /// Like the reference program, omits empty texts silently and refuses lone surrogates.
    fn document_rules(&self) -> DocumentRules {
        DocumentRules {
            refused: DocumentRules::PYTHON_TEXT.refused.with(Quirks::SECOND_HALF_IN_TEXT),
            skips_empty: true,
            ..DocumentRules::PYTHON_TEXT
        }
    }

    fn encoding(&self, plan: &PackPlan, tokenizer: &Tokenizer) -> Outcome<EncodingSpec> {
        encoding::encoding(plan, &target(plan), tokenizer)
    }

    /// A set without documents is an empty pair of files, reported as a problem.
    fn may_be_empty(&self, _: &PackPlan) -> bool {
        true
    }

    fn own_places(&self, _: &PackPlan, place: &OutputTarget) -> Vec<PathBuf> {
        vec![place.path.clone()]
    }

    /// A text byte becomes at most a token, and the numbers and the id of a row.
    fn max_bytes_per_text_byte(&self, _: &PackPlan) -> u64 {
        4 + 8
    }
}
