//! From what is typed and switched to the plan, and what is proposed where nobody said anything.

use super::state::PackState;
use super::step::{Field, TYPES};
use crate::model::pack::{
    DocumentShuffle, EndToken, ForagerTarget, MaskedParts, ModalitiesTarget, NameProfile, NanosetsTarget, SampleSize,
    TextField, DEFAULT_BATCH_LINES, DEFAULT_SEED,
};
use crate::model::PackPlan;
use crate::tui::form::{number_of, Field as _};
use std::path::Path;

impl PackState {
    /// Takes what was typed into the plan.
    pub(super) fn take_typed(&mut self, field: Field) {
        let value = self.form.value(field);
        let filled = Some(value.clone()).filter(|value| !value.is_empty());
        self.form.troubles.remove(&field);
        match field {
            Field::Glob => self.plan.glob = filled,
            Field::PathsFile => self.plan.paths_file = filled,
            Field::Jq => self.plan.text = TextField::Jq(value),
            Field::Tokenizer => self.plan.tokenizer = value,
            Field::End => {
                self.proposes_end = false;
                self.plan.end = filled.map(|words| end_of(&words));
            }
            Field::Output => {
                self.proposes_output = false;
                self.plan.output = value;
            }
            Field::PadToken => self.change_modalities(|target| target.pad_token = filled),
            Field::EodToken => self.change_modalities(|target| target.eod_token = filled),
            Field::Index => self.change_modalities(|target| target.index = filled),
            Field::Prefix => self.change_nanosets(|target| target.prefix = filled),
            Field::Logs => self.change_nanosets(|target| target.logging_dir = filled),
            Field::MaskParts => self.change_masks(|masks| {
                let parts = value.split(',').map(str::trim).filter(|part| !part.is_empty());
                masks.parts = parts.map(str::to_owned).collect();
            }),
            Field::Suffix => self.change_forager(|target| target.file_suffix = value),
            Field::IndexFolder => self.change_forager(|target| target.index_folder = value),
            Field::TokenizerName => self.plan.tokenizer_name = filled,
            _ => match number_of(&value) {
                None if filled.is_some() => {
                    self.form.troubles.insert(field, format!("{}: that is not a number", field.label()));
                }
                number => self.take_number(field, number),
            },
        }
    }

    fn take_number(&mut self, field: Field, number: Option<u64>) {
        let small = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        match field {
            Field::TruncateTo => self.change_modalities(|target| target.truncate_to = number.map(small)),
            Field::PadTo => self.change_modalities(|target| target.pad_to = number.map(small)),
            Field::BatchLines => self.change_modalities(|target| {
                target.batch_lines = number.unwrap_or(DEFAULT_BATCH_LINES);
            }),
            Field::Tasks => self.change_nanosets(|target| target.tasks = number.map(small)),
            Field::ChunkSize => self.change_nanosets(|target| target.chunk_size = number),
            Field::FileTokens => self.change_nanosets(|target| target.max_tokens_per_file = number),
            Field::Rank => self.change_nanosets(|target| target.rank = number.map(small)),
            Field::Skip => self.change_nanosets(|target| target.skip = number.unwrap_or(0)),
            Field::Limit => self.change_nanosets(|target| target.limit = number),
            Field::SampleSize => self.change_forager(|target| {
                target.sample_size = number.map_or(SampleSize::Variable, SampleSize::Fixed);
            }),
            Field::Seed => self.plan.seed = number.unwrap_or(DEFAULT_SEED),
            _ => {}
        }
    }

    fn change_modalities(&mut self, change: impl FnOnce(&mut ModalitiesTarget)) {
        if let Some(target) = &mut self.plan.modalities {
            change(target);
        }
    }

    fn change_nanosets(&mut self, change: impl FnOnce(&mut NanosetsTarget)) {
        if let Some(target) = &mut self.plan.nanosets {
            change(target);
        }
    }

    fn change_forager(&mut self, change: impl FnOnce(&mut ForagerTarget)) {
        if let Some(target) = &mut self.plan.forager {
            change(target);
        }
    }

    fn change_masks(&mut self, change: impl FnOnce(&mut MaskedParts)) {
        if let Some(masks) = self.plan.forager.as_mut().and_then(|target| target.masks.as_mut()) {
            change(masks);
        }
    }

    /// Whether a switch is on.
    pub(super) fn says(&self, field: Field) -> bool {
        let (nanosets, forager) = (self.plan.nanosets.as_ref(), self.plan.forager.as_ref());
        match field {
            Field::Modalities => self.plan.modalities.is_some(),
            Field::SkipBadLines => self.plan.modalities.as_ref().is_some_and(|target| target.skip_bad_lines),
            Field::Nanosets => nanosets.is_some(),
            Field::Shuffle => nanosets.is_some_and(|target| target.shuffle == DocumentShuffle::Documents),
            Field::NanosetsMasks => nanosets.is_some_and(|target| target.loss_masks),
            Field::Classic => nanosets.is_some_and(|target| target.names == NameProfile::Classic),
            Field::Forager => forager.is_some(),
            Field::ForagerMasks => forager.is_some_and(|target| target.masks.is_some()),
            Field::MaskEnd => forager.and_then(|target| target.masks.as_ref()).is_some_and(|masks| masks.mask_end),
            Field::SpecialTokens => forager.is_some_and(|target| target.special_tokens),
            Field::Overwrite => self.plan.overwrite,
            _ => false,
        }
    }

    /// Switches a switch on or off.
    pub(super) fn switch(&mut self, field: Field, on: bool) {
        match field {
            Field::Modalities => {
                self.plan.modalities =
                    on.then(|| ModalitiesTarget { batch_lines: DEFAULT_BATCH_LINES, ..ModalitiesTarget::default() });
                self.retype(&[Field::TruncateTo, Field::PadTo, Field::PadToken, Field::EodToken, Field::Index]);
                self.retype(&[Field::BatchLines]);
            }
            Field::SkipBadLines => self.change_modalities(|target| target.skip_bad_lines = on),
            Field::Nanosets => {
                self.plan.nanosets = on.then(NanosetsTarget::default);
                self.retype(&[Field::Tasks, Field::ChunkSize, Field::FileTokens, Field::Rank, Field::Skip]);
                self.retype(&[Field::Limit, Field::Prefix, Field::Logs]);
            }
            Field::Shuffle => self.change_nanosets(|target| {
                target.shuffle = if on { DocumentShuffle::Documents } else { DocumentShuffle::None };
            }),
            Field::NanosetsMasks => self.change_nanosets(|target| target.loss_masks = on),
            Field::Classic => self.change_nanosets(|target| {
                target.names = if on { NameProfile::Classic } else { NameProfile::Modern };
            }),
            Field::Forager => {
                self.plan.forager = on.then(|| ForagerTarget::new(SampleSize::Variable));
                self.retype(&[Field::SampleSize, Field::Suffix, Field::IndexFolder]);
            }
            Field::ForagerMasks => {
                let masks = || MaskedParts { parts: Vec::new(), mask_end: false };
                self.change_forager(|target| target.masks = on.then(masks));
                self.retype(&[Field::MaskParts]);
            }
            Field::MaskEnd => self.change_masks(|masks| masks.mask_end = on),
            Field::SpecialTokens => self.change_forager(|target| target.special_tokens = on),
            Field::Overwrite => self.plan.overwrite = on,
            _ => {}
        }
    }

    /// Takes what stands in fields that have come back.
    fn retype(&mut self, fields: &[Field]) {
        fields.iter().for_each(|field| self.take_typed(*field));
    }

    /// The type of a Forager token, in words.
    pub(super) fn token_type(&self) -> String {
        let chosen = self.plan.forager.as_ref();
        match (chosen.and_then(|target| target.token_type), chosen) {
            (Some(named), _) => named.numpy_name().to_owned(),
            (None, Some(target)) => format!("{}, as is usual", target.token_type().numpy_name()),
            (None, None) => String::new(),
        }
    }

    pub(super) fn step_type(&mut self, forward: bool) {
        let now = self.plan.forager.as_ref().and_then(|target| target.token_type);
        let at = TYPES.iter().position(|known| *known == now).unwrap_or(0);
        let next = (at + if forward { 1 } else { TYPES.len() - 1 }) % TYPES.len();
        self.change_forager(|target| target.token_type = TYPES.get(next).copied().flatten());
    }

    /// Proposes what nobody has said otherwise: the end token, and where the tokens go.
    pub fn propose(&mut self) {
        if self.proposes_end {
            let end = self.seen.usual_end(&self.plan.tokenizer);
            self.plan.end = end.clone().map(EndToken::Text);
            self.form.set(Field::End, &end.unwrap_or_default());
        }
        if self.proposes_output {
            self.plan.output = usual_output(&self.plan, self.seen.is_one_file());
            self.form.set(Field::Output, &self.plan.output);
        }
    }
}

/// The end token as it is typed: its spelling, or `#` and its number.
pub(super) fn end_words(end: Option<&EndToken>) -> String {
    match end {
        None => String::new(),
        Some(EndToken::Text(text)) => text.clone(),
        Some(EndToken::Id(id)) => format!("#{id}"),
    }
}

fn end_of(words: &str) -> EndToken {
    match words.strip_prefix('#').and_then(|id| id.parse().ok()) {
        Some(id) => EndToken::Id(id),
        None => EndToken::Text(words.to_owned()),
    }
}

/// Where the tokens go unless somebody says otherwise: beside the input.
fn usual_output(plan: &PackPlan, is_one_file: bool) -> String {
    let Some(input) = plan.inputs.first() else { return String::new() };
    let path = Path::new(input);
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_else(|| "text".to_owned());
    let stem = match (is_one_file, name.find(".jsonl")) {
        (true, Some(at)) if at > 0 => name.get(..at).unwrap_or(&name).to_owned(),
        _ => name,
    };
    let formats = plan.formats();
    let is_one_packed = is_one_file && formats.len() == 1 && plan.modalities.is_some();
    let name = if is_one_packed { format!("{stem}.pbin") } else { format!("{stem}-tokens") };
    match path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        Some(parent) => parent.join(name).to_string_lossy().into_owned(),
        None => name,
    }
}
