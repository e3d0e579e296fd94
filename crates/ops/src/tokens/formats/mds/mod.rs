//! MDS, the shards of MosaicML Streaming: `shard.00000.mds` … and `index.json` (docs/formats/mds.md).

mod browser;
mod check;
mod compression;
mod files;
mod hashes;
mod index;
mod options;
mod output;
mod reader;
mod set;
mod shard;
mod shard_reader;
mod unpacked_shards;
mod writer;

pub(super) use options::{CHOICE, GROUP};

use super::super::format::{AssignedFiles, EndTokenNeed, FileAssignmentRequest, FormatInfo, OutputTarget, TokenFormat};
use crate::tokens::encode::{end_id, EncodingSpec, End};
use gristmill_core::pack::{MdsTarget, TokenType};
use gristmill_core::{Outcome, PackPlan, Problem};
use gristmill_data::source::documents::DocumentRules;
use gristmill_tokenizer::Tokenizer;
use std::path::PathBuf;

/// The format `mds`.
pub(super) struct Mds;

fn target(plan: &PackPlan) -> MdsTarget {
    plan.mds.clone().unwrap_or_default()
}

impl TokenFormat for Mds {
    common_methods!(mds, MdsTarget::default);

    fn info(&self) -> FormatInfo {
        FormatInfo { readers: &[&reader::ShardsReader], takes_begin_token: true, ..FormatInfo::default() }
    }

    fn end_token(&self, _: &PackPlan) -> EndTokenNeed {
        EndTokenNeed::Useful
    }

    fn sample_size(&self, plan: &PackPlan) -> Option<u64> {
        Some(target(plan).sample_size)
    }

    fn set_sample_size(&self, plan: &mut PackPlan, tokens: u64) {
        if let Some(target) = &mut plan.mds {
            target.sample_size = tokens;
        }
    }

    fn open_questions(&self, plan: &PackPlan) -> Vec<Problem> {
        check::open_questions(&target(plan))
    }

    fn refusals(&self, plan: &PackPlan) -> Vec<Problem> {
        check::refusals(&target(plan))
    }

    fn notes(&self, plan: &PackPlan, tokenizer: &Tokenizer) -> Vec<Problem> {
        check::notes(plan, tokenizer)
    }

    fn document_rules(&self) -> DocumentRules {
        DocumentRules::PYTHON_TEXT
    }

    /// Adds the begin token, the template and the end token to every document (docs/formats/mds.md §1).
    fn encoding(&self, plan: &PackPlan, tokenizer: &Tokenizer) -> Outcome<EncodingSpec> {
        let mut template = tokenizer.template()?;
        if let Some(begin) = &plan.begin {
            template.prefix.insert(0, end_id(tokenizer, begin)?);
        }
        let end = plan.end.as_ref().map(|end| end_id(tokenizer, end)).transpose()?;
        let spec = EncodingSpec {
            end: end.map_or(End::Never, End::Always),
            is_length_planned: true,
            ..EncodingSpec::new(self.identity(), template, TokenType::I32, tokenizer)
        };
        spec.checked()
    }

    fn own_places(&self, _: &PackPlan, place: &OutputTarget) -> Vec<PathBuf> {
        vec![place.path.clone()]
    }

    /// A text byte becomes at most a sample of one token: the token, its header and its offset.
    fn max_bytes_per_text_byte(&self, _: &PackPlan) -> u64 {
        4 + 10
    }
}
