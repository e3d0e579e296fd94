//! Token folders of Nanosets and datatrove: `.ds` files with their indexes (docs/formats/nanosets.md §1 to §4).

mod browser;
mod check;
mod counts;
mod encoding;
pub mod engine;
mod files;
mod finish;
pub mod job;
mod logs;
pub mod mixture;
pub mod operations;
mod options;
mod output;
mod reader;
mod stats;
mod writer;

pub(super) use options::{CHOICE, GROUP, LOSS_MASKS};

use super::super::format::{AssignedFiles, EndTokenNeed, FileAssignmentRequest, FormatInfo, OutputTarget, TokenFormat};
use crate::tokens::encode::EncodingSpec;
use crate::tokens::options::{document_shuffle_answer, shared_answer, SharedAnswer};
use gristmill_core::pack::NanosetsTarget;
use gristmill_core::{Outcome, PackPlan, Problem};
use gristmill_data::source::documents::{DocumentRules, InputRules};
use gristmill_tokenizer::Tokenizer;
use std::path::PathBuf;

/// The format `nanosets`.
pub(super) struct Nanosets;

fn target(plan: &PackPlan) -> NanosetsTarget {
    plan.nanosets.clone().unwrap_or_default()
}

impl TokenFormat for Nanosets {
    common_methods!(nanosets, NanosetsTarget::default);

    fn info(&self) -> FormatInfo {
        FormatInfo {
            unit: "chunk",
            readers: &[&reader::FolderReader],
            operations: operations::OPERATIONS,
            max_tokens_per_file: Some(shared_answer!(nanosets.max_tokens_per_file)),
            document_shuffle: Some(document_shuffle_answer!(nanosets)),
            input_rules: &InputRules::EVERY_FILE,
            ..FormatInfo::default()
        }
    }

    fn loss_masks(&self, plan: &PackPlan) -> Option<bool> {
        Some(target(plan).loss_masks)
    }

    fn set_loss_masks(&self, plan: &mut PackPlan, is_on: bool) {
        if let Some(target) = &mut plan.nanosets {
            target.loss_masks = is_on;
        }
    }

    fn end_token(&self, _: &PackPlan) -> EndTokenNeed {
        EndTokenNeed::Useful
    }

    fn refusals(&self, plan: &PackPlan) -> Vec<Problem> {
        check::refusals(plan, &target(plan))
    }

    fn notes(&self, plan: &PackPlan, tokenizer: &Tokenizer) -> Vec<Problem> {
        check::notes(plan, tokenizer)
    }

    fn paths<'p>(&self, plan: &'p mut PackPlan) -> Vec<&'p mut String> {
        plan.nanosets.iter_mut().flat_map(|target| &mut target.logging_dir).collect()
    }

    fn document_rules(&self) -> DocumentRules {
        DocumentRules::ORJSON
    }

    fn encoding(&self, plan: &PackPlan, tokenizer: &Tokenizer) -> Outcome<EncodingSpec> {
        encoding::encoding(plan, &target(plan), tokenizer)
    }

    /// Returns the number that nanotron requires as the `vocab_size` of the model.
    fn vocab_size(&self, tokenizer: &Tokenizer) -> Option<u64> {
        Some(tokenizer.full_size())
    }

    fn own_places(&self, plan: &PackPlan, place: &OutputTarget) -> Vec<PathBuf> {
        files::log_folder(plan).into_iter().chain([place.path.clone()]).collect()
    }

    fn run_suffix(&self, plan: &PackPlan) -> Option<String> {
        target(plan).rank.map(|rank| format!("rank-{rank:05}"))
    }

    /// One of many tasks may have no input, and tools that monitor tasks like datatrove's expect the files of each task.
    fn may_be_empty(&self, plan: &PackPlan) -> bool {
        let target = target(plan);
        target.rank.is_some() || target.logging_dir.is_some()
    }

    fn selects_documents(&self, plan: &PackPlan) -> bool {
        let target = target(plan);
        target.skip > 0 || target.limit.is_some()
    }

    fn records_progress(&self, plan: &PackPlan) -> bool {
        target(plan).logging_dir.is_some()
    }

    /// A text byte becomes at most a token, an entry of the index, and a byte of the mask.
    fn max_bytes_per_text_byte(&self, plan: &PackPlan) -> u64 {
        4 + 8 + u64::from(target(plan).loss_masks)
    }

    fn assigns_rows(&self, plan: &PackPlan) -> bool {
        !target(plan).deal.is_files()
    }
}
