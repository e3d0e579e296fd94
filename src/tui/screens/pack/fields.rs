//! Which fields there are, and what stands in them at the start.

use super::answers::end_words;
use super::state::{PackState, FIRST_SAMPLE_SIZE};
use super::step::{Field, Step};
use crate::engine::plan::pack::MASKED_BY_DEFAULT;
use crate::model::pack::{ForagerTarget, MaskedParts, SampleSize, TextField};
use crate::tui::widgets::TextField as Input;

impl PackState {
    /// Writes the answers of the plan into the fields.
    pub(super) fn fill_inputs(&mut self) {
        let number = |value: Option<u64>| value.map(|value| value.to_string()).unwrap_or_default();
        let plan = &self.plan;
        let modalities = plan.modalities.clone().unwrap_or_default();
        let nanosets = plan.nanosets.clone().unwrap_or_default();
        let size = match plan.forager.as_ref().map(|target| target.sample_size) {
            Some(SampleSize::Fixed(size)) => size.to_string(),
            Some(SampleSize::Variable) => String::new(),
            None => FIRST_SAMPLE_SIZE.to_string(),
        };
        let forager = plan.forager.clone().unwrap_or_else(|| ForagerTarget::new(SampleSize::Variable));
        let masked = |masks: &MaskedParts| masks.parts.join(",");
        let parts = forager.masks.as_ref().map_or_else(|| MASKED_BY_DEFAULT.join(","), masked);
        let values = [
            (Field::Glob, plan.glob.clone().unwrap_or_default()),
            (Field::Jq, if let TextField::Jq(program) = &plan.text { program.clone() } else { String::new() }),
            (Field::Tokenizer, plan.tokenizer.clone()),
            (Field::End, end_words(plan.end.as_ref())),
            (Field::Output, plan.output.clone()),
            (Field::TruncateTo, number(modalities.truncate_to.map(u64::from))),
            (Field::PadTo, number(modalities.pad_to.map(u64::from))),
            (Field::PadToken, modalities.pad_token.unwrap_or_default()),
            (Field::EodToken, modalities.eod_token.unwrap_or_default()),
            (Field::Index, modalities.index.unwrap_or_default()),
            (Field::Tasks, number(nanosets.tasks.map(u64::from))),
            (Field::ChunkSize, number(nanosets.chunk_size)),
            (Field::FileTokens, number(nanosets.max_tokens_per_file)),
            (Field::Rank, number(nanosets.rank.map(u64::from))),
            (Field::Skip, number(Some(nanosets.skip).filter(|skip| *skip > 0))),
            (Field::Limit, number(nanosets.limit)),
            (Field::Prefix, nanosets.prefix.unwrap_or_default()),
            (Field::Logs, nanosets.logging_dir.unwrap_or_default()),
            (Field::SampleSize, size),
            (Field::MaskParts, parts),
            (Field::Suffix, forager.file_suffix),
            (Field::IndexFolder, forager.index_folder),
            (Field::TokenizerName, plan.tokenizer_name.clone().unwrap_or_default()),
            (Field::Seed, plan.seed.to_string()),
        ];
        self.inputs = values.into_iter().map(|(field, value)| (field, Input::new(&value))).collect();
    }

    /// The fields of a step that are there now, in order.
    pub fn fields(&self) -> Vec<Field> {
        let uses_jq = matches!(self.plan.text, TextField::Jq(_));
        let all: &[Field] = match self.step {
            Step::Source => &[Field::Files, Field::Glob],
            Step::Text => &[Field::Keys, Field::Jq],
            Step::Tokenizer => &[Field::Tokenizer, Field::Found, Field::End],
            Step::Targets => &[
                Field::Modalities,
                Field::TruncateTo,
                Field::PadTo,
                Field::PadToken,
                Field::EodToken,
                Field::Index,
                Field::SkipBadLines,
                Field::Nanosets,
                Field::Tasks,
                Field::Shuffle,
                Field::ChunkSize,
                Field::FileTokens,
                Field::NanosetsMasks,
                Field::Rank,
                Field::Skip,
                Field::Limit,
                Field::Prefix,
                Field::Classic,
                Field::Logs,
                Field::Forager,
                Field::SampleSize,
                Field::TokenType,
                Field::ForagerMasks,
                Field::MaskParts,
                Field::MaskEnd,
                Field::SpecialTokens,
                Field::Suffix,
                Field::IndexFolder,
                Field::Output,
                Field::TokenizerName,
                Field::Seed,
                Field::Overwrite,
            ],
            Step::Review => &[],
        };
        let is_there = |field: &Field| match field {
            Field::Jq => uses_jq,
            Field::Found => !self.seen.tokenizers.is_empty(),
            Field::TruncateTo | Field::PadTo | Field::EodToken | Field::Index | Field::SkipBadLines => {
                self.plan.modalities.is_some()
            }
            Field::PadToken => self.plan.modalities.as_ref().is_some_and(|target| target.pad_to.is_some()),
            Field::Tasks
            | Field::Shuffle
            | Field::ChunkSize
            | Field::FileTokens
            | Field::NanosetsMasks
            | Field::Rank
            | Field::Skip
            | Field::Limit
            | Field::Prefix
            | Field::Classic
            | Field::Logs => self.plan.nanosets.is_some(),
            Field::SampleSize
            | Field::TokenType
            | Field::ForagerMasks
            | Field::SpecialTokens
            | Field::Suffix
            | Field::IndexFolder => self.plan.forager.is_some(),
            Field::MaskParts | Field::MaskEnd => {
                self.plan.forager.as_ref().is_some_and(|target| target.masks.is_some())
            }
            _ => true,
        };
        all.iter().copied().filter(is_there).filter(|field| self.advanced || !field.is_advanced()).collect()
    }
}
