//! Converts settings of packing to the plan, and back.

use super::settings::PackSetting as S;
use super::MASKED_BY_DEFAULT;
use crate::engine::plan::setting::{number_of, Setting as _};
use gristmill_core::pack::{
    DocumentShuffle, EndToken, ForagerTarget, MaskedParts, ModalitiesTarget, NameProfile, NanosetsTarget, SampleSize,
    TextField, TokenType, DEFAULT_BATCH_LINES, DEFAULT_SEED,
};
use gristmill_core::PackPlan;

/// The initial number of tokens in a sample of Forager.
pub const FIRST_SAMPLE_SIZE: u64 = 4_096;

/// The types of a Forager token in the order of selection; `None` is the reference's default.
const TYPES: [Option<TokenType>; 7] = [
    None,
    Some(TokenType::U8),
    Some(TokenType::U16),
    Some(TokenType::U32),
    Some(TokenType::I32),
    Some(TokenType::I64),
    Some(TokenType::U64),
];

/// Returns the answer as it is typed.
pub(super) fn words(setting: S, plan: &PackPlan) -> String {
    let number = |value: Option<u64>| value.map(|value| value.to_string()).unwrap_or_default();
    let modalities = plan.modalities.clone().unwrap_or_default();
    let nanosets = plan.nanosets.clone().unwrap_or_default();
    let forager = plan.forager.clone().unwrap_or_else(|| ForagerTarget::new(SampleSize::Fixed(FIRST_SAMPLE_SIZE)));
    match setting {
        S::Glob => plan.glob.clone().unwrap_or_default(),
        S::PathsFile => plan.paths_file.clone().unwrap_or_default(),
        S::Keys => match &plan.text {
            TextField::Key(words) | TextField::Jq(words) => words.clone(),
        },
        S::Jq => {
            if let TextField::Jq(program) = &plan.text {
                program.clone()
            } else {
                String::new()
            }
        }
        S::Tokenizer => plan.tokenizer.clone(),
        S::End => end_words(plan.end.as_ref()),
        S::Output => plan.output.clone(),
        S::TruncateTo => number(modalities.truncate_to.map(u64::from)),
        S::PadTo => number(modalities.pad_to.map(u64::from)),
        S::PadToken => modalities.pad_token.unwrap_or_default(),
        S::EodToken => modalities.eod_token.unwrap_or_default(),
        S::Index => modalities.index.unwrap_or_default(),
        S::BatchLines => number(Some(modalities.batch_lines).filter(|lines| *lines != DEFAULT_BATCH_LINES)),
        S::Tasks => number(nanosets.tasks.map(u64::from)),
        S::ChunkSize => number(nanosets.chunk_size),
        S::FileTokens => number(nanosets.max_tokens_per_file),
        S::Rank => number(nanosets.rank.map(u64::from)),
        S::Skip => number(Some(nanosets.skip).filter(|skip| *skip > 0)),
        S::Limit => number(nanosets.limit),
        S::Prefix => nanosets.prefix.unwrap_or_default(),
        S::Logs => nanosets.logging_dir.unwrap_or_default(),
        S::SampleSize => match forager.sample_size {
            SampleSize::Fixed(size) => size.to_string(),
            SampleSize::Variable => String::new(),
        },
        S::MaskParts => forager.masks.map_or_else(|| MASKED_BY_DEFAULT.join(","), |masks| masks.parts.join(",")),
        S::Suffix => forager.file_suffix,
        S::IndexFolder => forager.index_folder,
        S::TokenizerName => plan.tokenizer_name.clone().unwrap_or_default(),
        S::Seed => plan.seed.to_string(),
        _ => String::new(),
    }
}

/// Sets a typed answer.
pub(super) fn set(setting: S, plan: &mut PackPlan, words: &str) -> Result<(), String> {
    let value = words.to_owned();
    let filled = Some(value.clone()).filter(|value| !value.is_empty());
    match setting {
        S::Glob => plan.glob = filled,
        S::PathsFile => plan.paths_file = filled,
        S::Keys if value.starts_with('.') => plan.text = TextField::Jq(value),
        S::Keys => plan.text = filled.map_or_else(TextField::default, TextField::Key),
        S::Jq => plan.text = TextField::Jq(value),
        S::Tokenizer => plan.tokenizer = value,
        S::End => plan.end = filled.map(|words| end_of(&words)),
        S::Output => plan.output = value,
        S::PadToken => change_modalities(plan, |target| target.pad_token = filled),
        S::EodToken => change_modalities(plan, |target| target.eod_token = filled),
        S::Index => change_modalities(plan, |target| target.index = filled),
        S::Prefix => change_nanosets(plan, |target| target.prefix = filled),
        S::Logs => change_nanosets(plan, |target| target.logging_dir = filled),
        S::MaskParts => change_masks(plan, |masks| {
            let parts = value.split(',').map(str::trim).filter(|part| !part.is_empty());
            masks.parts = parts.map(str::to_owned).collect();
        }),
        S::Suffix => change_forager(plan, |target| target.file_suffix = value),
        S::IndexFolder => change_forager(plan, |target| target.index_folder = value),
        S::TokenizerName => plan.tokenizer_name = filled,
        _ => match number_of(&value) {
            None if filled.is_some() => return Err(format!("{}: that is not a number", setting.label())),
            number => set_number(setting, plan, number),
        },
    }
    Ok(())
}

fn set_number(setting: S, plan: &mut PackPlan, number: Option<u64>) {
    let small = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    match setting {
        S::TruncateTo => change_modalities(plan, |target| target.truncate_to = number.map(small)),
        S::PadTo => change_modalities(plan, |target| target.pad_to = number.map(small)),
        S::BatchLines => change_modalities(plan, |target| {
            target.batch_lines = number.unwrap_or(DEFAULT_BATCH_LINES);
        }),
        S::Tasks => change_nanosets(plan, |target| target.tasks = number.map(small)),
        S::ChunkSize => change_nanosets(plan, |target| target.chunk_size = number),
        S::FileTokens => change_nanosets(plan, |target| target.max_tokens_per_file = number),
        S::Rank => change_nanosets(plan, |target| target.rank = number.map(small)),
        S::Skip => change_nanosets(plan, |target| target.skip = number.unwrap_or(0)),
        S::Limit => change_nanosets(plan, |target| target.limit = number),
        S::SampleSize => change_forager(plan, |target| {
            target.sample_size = number.map_or(SampleSize::Variable, SampleSize::Fixed);
        }),
        S::Seed => plan.seed = number.unwrap_or(DEFAULT_SEED),
        _ => {}
    }
}

fn change_modalities(plan: &mut PackPlan, change: impl FnOnce(&mut ModalitiesTarget)) {
    if let Some(target) = &mut plan.modalities {
        change(target);
    }
}

fn change_nanosets(plan: &mut PackPlan, change: impl FnOnce(&mut NanosetsTarget)) {
    if let Some(target) = &mut plan.nanosets {
        change(target);
    }
}

fn change_forager(plan: &mut PackPlan, change: impl FnOnce(&mut ForagerTarget)) {
    if let Some(target) = &mut plan.forager {
        change(target);
    }
}

fn change_masks(plan: &mut PackPlan, change: impl FnOnce(&mut MaskedParts)) {
    if let Some(masks) = plan.forager.as_mut().and_then(|target| target.masks.as_mut()) {
        change(masks);
    }
}

/// Whether a switch is on.
pub(super) fn is_on(setting: S, plan: &PackPlan) -> bool {
    let (nanosets, forager) = (plan.nanosets.as_ref(), plan.forager.as_ref());
    match setting {
        S::Modalities => plan.modalities.is_some(),
        S::SkipBadLines => plan.modalities.as_ref().is_some_and(|target| target.skip_bad_lines),
        S::Nanosets => nanosets.is_some(),
        S::Shuffle => nanosets.is_some_and(|target| target.shuffle == DocumentShuffle::Documents),
        S::NanosetsMasks => nanosets.is_some_and(|target| target.loss_masks),
        S::Classic => nanosets.is_some_and(|target| target.names == NameProfile::Classic),
        S::Forager => forager.is_some(),
        S::ForagerMasks => forager.is_some_and(|target| target.masks.is_some()),
        S::MaskEnd => forager.and_then(|target| target.masks.as_ref()).is_some_and(|masks| masks.mask_end),
        S::SpecialTokens => forager.is_some_and(|target| target.special_tokens),
        S::Overwrite => plan.overwrite,
        _ => false,
    }
}

/// Turns a switch on or off.
pub(super) fn switch(setting: S, plan: &mut PackPlan, on: bool) {
    match setting {
        S::Modalities => {
            plan.modalities =
                on.then(|| ModalitiesTarget { batch_lines: DEFAULT_BATCH_LINES, ..ModalitiesTarget::default() });
        }
        S::SkipBadLines => change_modalities(plan, |target| target.skip_bad_lines = on),
        S::Nanosets => plan.nanosets = on.then(NanosetsTarget::default),
        S::Shuffle => change_nanosets(plan, |target| {
            target.shuffle = if on { DocumentShuffle::Documents } else { DocumentShuffle::None };
        }),
        S::NanosetsMasks => change_nanosets(plan, |target| target.loss_masks = on),
        S::Classic => change_nanosets(plan, |target| {
            target.names = if on { NameProfile::Classic } else { NameProfile::Modern };
        }),
        S::Forager => plan.forager = on.then(|| ForagerTarget::new(SampleSize::Fixed(FIRST_SAMPLE_SIZE))),
        S::ForagerMasks => {
            let parts = MASKED_BY_DEFAULT.map(str::to_owned).to_vec();
            change_forager(plan, |target| target.masks = on.then_some(MaskedParts { parts, mask_end: false }));
        }
        S::MaskEnd => change_masks(plan, |masks| masks.mask_end = on),
        S::SpecialTokens => change_forager(plan, |target| target.special_tokens = on),
        S::Overwrite => plan.overwrite = on,
        _ => {}
    }
}

/// Returns the types of a Forager token in words, and the index of the selected one.
pub(super) fn types(plan: &PackPlan) -> (Vec<(String, &'static str)>, usize) {
    let Some(target) = &plan.forager else { return (Vec::new(), 0) };
    let usual = ForagerTarget { token_type: None, ..target.clone() }.token_type();
    let words = |named: &Option<TokenType>| match named {
        Some(named) => named.numpy_name().to_owned(),
        None => format!("{}, as is usual", usual.numpy_name()),
    };
    let chosen = TYPES.iter().position(|known| *known == target.token_type).unwrap_or(0);
    (TYPES.iter().map(|named| (words(named), "")).collect(), chosen)
}

/// Selects one of the types.
pub(super) fn choose_type(plan: &mut PackPlan, number: usize) {
    change_forager(plan, |target| target.token_type = TYPES.get(number).copied().flatten());
}

/// Returns the end token as it is typed: its spelling, or `#` and its number.
fn end_words(end: Option<&EndToken>) -> String {
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
