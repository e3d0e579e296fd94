//! Tokenized samples of Forager and their index (docs/formats/forager.md §3).

mod browser;
mod check;
mod encoding;
mod facts;
mod files;
mod index;
pub(crate) mod index_job;
mod names;
mod options;
mod output;
mod reader;
mod samples;
mod writer;

pub(super) use options::{CHOICE, GROUP, LOSS_MASKS};

use super::super::format::{AssignedFiles, EndTokenNeed, FileAssignmentRequest, FormatInfo, OutputTarget, TokenFormat};
use crate::tokens::encode::EncodingSpec;
use crate::tokens::index::IndexFormatInfo;
use crate::tokens::options::{shared_answer, special_tokens_answer, SharedAnswer};
use gristmill_core::options::Choice;
use gristmill_core::pack::{ForagerTarget, MaskedParts, SampleSize};
use gristmill_core::{Outcome, PackPlan, Problem};
use gristmill_data::formats::forager::INDEX_FOLDER;
use gristmill_data::source::documents::{DocumentRules, InputRules};
use gristmill_storage::files::is_dir;
use gristmill_storage::remote::is_hub_url;
use gristmill_tokenizer::Tokenizer;
use index_job::ForagerIndexPlan;
use options::{usual_forager, usual_parts};
use std::path::{Path, PathBuf};

/// The folder of the samples, next to the index.
const SAMPLES: &str = "tokenized-samples";

/// The plain index of a folder.
pub(super) const INDEX: IndexFormatInfo = IndexFormatInfo {
    choice: Choice { name: "forager", help: "One index/ for a folder; every line is a sample as it is" },
    title: "Forager",
    needs: "--format forager",
    is_of_folder: true,
    run: |request, context| {
        let index_folder = request.index_folder.clone().unwrap_or_else(|| INDEX_FOLDER.to_owned());
        let plan = ForagerIndexPlan { index_folder, is_dry: request.is_dry, ..ForagerIndexPlan::new(&request.source) };
        index_job::run(&plan, context)
    },
};

/// The format `forager`.
pub(super) struct Forager;

fn target(plan: &PackPlan) -> ForagerTarget {
    plan.forager.clone().unwrap_or_else(usual_forager)
}

impl TokenFormat for Forager {
    common_methods!(forager, usual_forager);

    fn info(&self) -> FormatInfo {
        FormatInfo {
            readers: &[&reader::SamplesReader],
            token_type: Some(shared_answer!(forager.token_type)),
            special_tokens: Some(special_tokens_answer!(forager)),
            input_rules: &InputRules::PLAIN_JSON_LINES,
            ..FormatInfo::default()
        }
    }

    fn loss_masks(&self, plan: &PackPlan) -> Option<bool> {
        Some(target(plan).masks.is_some())
    }

    fn set_loss_masks(&self, plan: &mut PackPlan, is_on: bool) {
        if let Some(target) = &mut plan.forager {
            let usual = || MaskedParts { parts: usual_parts(), mask_end: false };
            target.masks = is_on.then(|| target.masks.take().unwrap_or_else(usual));
        }
    }

    fn end_token(&self, plan: &PackPlan) -> EndTokenNeed {
        match target(plan).sample_size {
            SampleSize::Fixed(_) => EndTokenNeed::Required,
            SampleSize::Variable => EndTokenNeed::Unused,
        }
    }

    fn open_questions(&self, plan: &PackPlan) -> Vec<Problem> {
        check::open_questions(plan, &target(plan))
    }

    fn refusals(&self, plan: &PackPlan) -> Vec<Problem> {
        check::refusals(&target(plan))
    }

    fn notes(&self, plan: &PackPlan, tokenizer: &Tokenizer) -> Vec<Problem> {
        check::notes(plan, &target(plan), tokenizer)
    }

    fn sample_size(&self, plan: &PackPlan) -> Option<u64> {
        match target(plan).sample_size {
            SampleSize::Fixed(size) => Some(size),
            SampleSize::Variable => None,
        }
    }

    fn set_sample_size(&self, plan: &mut PackPlan, tokens: u64) {
        if let Some(target) = &mut plan.forager {
            target.sample_size = SampleSize::Fixed(tokens);
        }
    }

    /// The default output is the folder of the text.
    fn default_output(&self, plan: &PackPlan) -> Option<String> {
        let [input] = plan.inputs.as_slice() else { return None };
        if is_hub_url(input) {
            return None;
        }
        let path = Path::new(input);
        Some(match path.parent().map(|parent| parent.to_string_lossy().into_owned()) {
            _ if is_dir(path) => input.clone(),
            Some(parent) if !parent.is_empty() => parent,
            _ => ".".into(),
        })
    }

    fn document_rules(&self) -> DocumentRules {
        DocumentRules::JQ
    }

    fn encoding(&self, plan: &PackPlan, tokenizer: &Tokenizer) -> Outcome<EncodingSpec> {
        encoding::encoding(plan, &target(plan), tokenizer)
    }

    /// Only these folders belong to this program, because the output may also contain the text.
    fn own_places(&self, plan: &PackPlan, place: &OutputTarget) -> Vec<PathBuf> {
        vec![place.path.join(SAMPLES), place.path.join(target(plan).index_folder)]
    }

    /// A text byte becomes at most one token, with either a mask byte or a row of the index.
    fn max_bytes_per_text_byte(&self, plan: &PackPlan) -> u64 {
        let target = target(plan);
        let token = target.token_type().bytes() as u64;
        match target.sample_size {
            SampleSize::Fixed(_) => token + u64::from(target.masks.is_some()),
            SampleSize::Variable => token + 32,
        }
    }
}
