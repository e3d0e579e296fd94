//! Checks of the answers to `--format forager`.

use crate::tokens::format::{is_file_name, missing_answer, note, wrong_answer, STORED_TRUNCATION};
use gristmill_core::pack::{ForagerTarget, SampleSize, SpecialToken};
use gristmill_core::{PackPlan, Problem};
use gristmill_tokenizer::Tokenizer;

/// Forager's reader of samples with masks accepts only this name of the index (docs/formats/forager.md §1).
const INDEX_OF_MASKS: &str = "index";
/// Maximum number of tokens per sample. A sample is held in memory, and a larger number is a typing error.
const MAX_TOKENS: u64 = 1 << 30;

/// Returns one refusal for each required option of the format without an answer.
pub(super) fn open_questions(plan: &PackPlan, target: &ForagerTarget) -> Vec<Problem> {
    let mut open = Vec::new();
    if target.sample_size == SampleSize::Fixed(0) {
        let hint = "--sample-size N, or --variable for one sample a document";
        open.push(missing_answer("no sample size is given", hint));
    }
    if matches!(target.sample_size, SampleSize::Fixed(_)) && plan.end.is_none() {
        let hint = "--eos-token TEXT, or --eos-id N";
        open.push(missing_answer("Forager samples need a token between documents, and none is given", hint));
    }
    open
}

/// Returns one refusal for each wrong answer to the options of the format.
pub(super) fn refusals(target: &ForagerTarget) -> Vec<Problem> {
    let mut wrong_ones = Vec::new();
    if matches!(target.sample_size, SampleSize::Fixed(size) if size > MAX_TOKENS) {
        wrong_ones.push(wrong_answer("--sample-size", "2^30 tokens at most"));
    }
    if target.masks.is_some() && target.sample_size == SampleSize::Variable {
        let why = "samples with masks have a fixed size";
        wrong_ones.push(wrong_answer("--variable", why).with_hint("--sample-size N in its place"));
    }
    // The suffix becomes part of the name of a sample file, so a `/` would change its folder.
    if target.file_suffix.contains(['/', '\0', '\n']) {
        wrong_ones.push(wrong_answer("--file-suffix", "it has to be the end of a file name"));
    }
    if !is_file_name(&target.index_folder) {
        wrong_ones.push(wrong_answer("--index-folder", "it has to be the name of a folder"));
    } else if target.index_folder == super::SAMPLES {
        wrong_ones.push(wrong_answer("--index-folder", "this is the folder of the samples"));
    } else if target.masks.is_some() && target.index_folder != INDEX_OF_MASKS {
        let why = format!("the reader of samples with masks knows only '{INDEX_OF_MASKS}'");
        wrong_ones.push(wrong_answer("--index-folder", why));
    }
    wrong_ones
}

/// Returns notes on duplicated tokens, and on the truncation and padding that the tokenizer file requests.
pub(super) fn notes(plan: &PackPlan, target: &ForagerTarget, tokenizer: &Tokenizer) -> Vec<Problem> {
    let template = tokenizer.template().unwrap_or_default();
    let mut notes = Vec::new();
    let end = plan.end.as_ref().and_then(|end| id_of(tokenizer, end));
    let is_fixed = matches!(target.sample_size, SampleSize::Fixed(_));
    if is_fixed && target.special_tokens && end.is_some() && template.suffix.last().copied() == end {
        let why = "the tokenizer ends each text with the end token, and Forager adds it again";
        notes.push(note("forager", why).with_hint("--no-special-tokens leaves out that of the tokenizer"));
    }
    if tokenizer.padding().is_some() {
        notes.push(note("forager", "the tokenizer file asks for padding, and texts are filled up by it"));
    }
    if tokenizer.truncation().is_some() {
        notes.push(note("forager", STORED_TRUNCATION));
    }
    notes
}

fn id_of(tokenizer: &Tokenizer, end: &SpecialToken) -> Option<u32> {
    match end {
        SpecialToken::Text(text) => tokenizer.id_of(text),
        SpecialToken::Id(id) => Some(*id),
    }
}
