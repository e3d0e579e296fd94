//! Which fields there are, and what stands in them at the start.

use super::answers::end_words;
use super::state::{PackState, FIRST_SAMPLE_SIZE};
use super::step::Field;
use crate::engine::plan::pack::MASKED_BY_DEFAULT;
use crate::model::pack::{ForagerTarget, MaskedParts, SampleSize, TextField, DEFAULT_BATCH_LINES};

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
            (Field::PathsFile, plan.paths_file.clone().unwrap_or_default()),
            (Field::Jq, if let TextField::Jq(program) = &plan.text { program.clone() } else { String::new() }),
            (Field::Tokenizer, plan.tokenizer.clone()),
            (Field::End, end_words(plan.end.as_ref())),
            (Field::Output, plan.output.clone()),
            (Field::TruncateTo, number(modalities.truncate_to.map(u64::from))),
            (Field::PadTo, number(modalities.pad_to.map(u64::from))),
            (Field::PadToken, modalities.pad_token.unwrap_or_default()),
            (Field::EodToken, modalities.eod_token.unwrap_or_default()),
            (Field::Index, modalities.index.unwrap_or_default()),
            (Field::BatchLines, number(Some(modalities.batch_lines).filter(|lines| *lines != DEFAULT_BATCH_LINES))),
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
        values.into_iter().for_each(|(field, value)| self.form.set(field, &value));
    }

    /// Whether a field has a meaning with the other answers.
    pub(super) fn is_there(&self, field: Field) -> bool {
        match field {
            Field::Jq => matches!(self.plan.text, TextField::Jq(_)),
            Field::Found => !self.seen.tokenizers.is_empty(),
            Field::TruncateTo | Field::PadTo | Field::EodToken | Field::Index | Field::SkipBadLines => {
                self.plan.modalities.is_some()
            }
            // Batches count only where the other program's bytes are asked for.
            Field::BatchLines => self.plan.modalities.is_some() && self.plan.compat,
            Field::PadToken => self.plan.modalities.as_ref().is_some_and(|target| target.pad_to.is_some()),
            Field::Tasks
            | Field::PathsFile
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
        }
    }
}
