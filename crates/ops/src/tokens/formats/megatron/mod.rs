//! Megatron-LM's indexed token files: pairs of `.bin` and `.idx` (docs/formats/megatron.md).

mod check;
mod encoding;
mod files;
mod index;
mod merge;
mod merge_operation;
mod options;
mod output;
mod pair;
mod reader;
mod repair;
mod writer;

pub use merge::PairMergePlan;
pub use merge_operation::MegatronMerge;
pub(super) use options::{CHOICE, GROUP};

use super::super::format::{
    folder_name, AssignedFiles, EndTokenNeed, FileAssignmentRequest, FormatInfo, OutputTarget, TokenFormat,
};
use crate::job::operation::Entry;
use crate::tokens::encode::EncodingSpec;
use crate::tokens::options::{shared_answer, special_tokens_answer, SharedAnswer};
use gristmill_core::pack::{MegatronTarget, TokenType};
use gristmill_core::{Outcome, PackPlan, Problem, ProblemKind, Subject};
use gristmill_data::source::documents::{DocumentRules, Quirks};
use gristmill_tokenizer::Tokenizer;
use std::path::PathBuf;

/// The format `megatron`.
pub(super) struct Megatron;

/// Returns the problem for a pair without tokens.
fn no_tokens(subject: Subject, documents: u64) -> Problem {
    let what = if documents == 0 { "there are no documents" } else { "no document has a token" };
    let why = format!("{what}, and readers of Megatron cannot open a pair without tokens");
    Problem::problem(ProblemKind::EmptyFile, subject, why)
}

fn target(plan: &PackPlan) -> MegatronTarget {
    plan.megatron.clone().unwrap_or_default()
}

impl TokenFormat for Megatron {
    common_methods!(megatron, MegatronTarget::default);

    fn info(&self) -> FormatInfo {
        FormatInfo {
            operations: &[&Entry::<MegatronMerge>::NEW],
            readers: &[&reader::PairReader, &reader::FolderReader],
            own_end: Some(shared_answer!(megatron.eod_token)),
            token_type: Some(shared_answer!(megatron.token_type)),
            max_tokens_per_file: Some(shared_answer!(megatron.max_tokens_per_file)),
            special_tokens: Some(special_tokens_answer!(megatron)),
            ..FormatInfo::default()
        }
    }

    fn end_token(&self, plan: &PackPlan) -> EndTokenNeed {
        match target(plan).eod_token {
            None => EndTokenNeed::Useful,
            Some(_) => EndTokenNeed::Unused,
        }
    }

    fn refusals(&self, plan: &PackPlan) -> Vec<Problem> {
        check::refusals(plan, &target(plan))
    }

    fn notes(&self, plan: &PackPlan, tokenizer: &Tokenizer) -> Vec<Problem> {
        check::notes(plan, &target(plan), tokenizer)
    }

    /// Ends with a slash, so that the pairs are in a folder instead of next to the input.
    fn output_name(&self, stem: &str, _: bool) -> String {
        format!("{}/", folder_name(stem))
    }

    /// Empty texts are omitted by design, because training cannot use them.
    fn document_rules(&self) -> DocumentRules {
        let refused = DocumentRules::PYTHON_TEXT.refused.with(Quirks::SECOND_HALF_IN_TEXT);
        DocumentRules { skips_empty: true, refused, ..DocumentRules::PYTHON_TEXT }
    }

    fn encoding(&self, plan: &PackPlan, tokenizer: &Tokenizer) -> Outcome<EncodingSpec> {
        encoding::encoding(plan, &target(plan), tokenizer)
    }

    /// If the plan has no other format, the pairs may be in the folder of the text.
    fn own_places(&self, plan: &PackPlan, place: &OutputTarget) -> Vec<PathBuf> {
        match place.is_only_target && !files::is_folder(plan) {
            true => Vec::new(),
            false => vec![place.path.clone()],
        }
    }

    /// If the plan has no other format, the output is the prefix of the names of the pairs.
    fn opened(&self, plan: &PackPlan, place: OutputTarget) -> PathBuf {
        let target = target(plan);
        files::Pairs::of(plan, &target, place, target.token_type.unwrap_or(TokenType::U16)).first()
    }

    /// The reference program writes pairs without documents; the run reports such a pair as a problem.
    fn may_be_empty(&self, _: &PackPlan) -> bool {
        true
    }

    /// A text byte becomes at most a token, and the length, offset and mark of a document.
    fn max_bytes_per_text_byte(&self, _: &PackPlan) -> u64 {
        4 + index::DOCUMENT_BYTES + 2 * index::LENGTH_BYTES
    }
}
