//! Checks of the answers to `--format mds`.

use super::compression::Compression;
use super::hashes;
use super::shard::{sample_bytes, MAX_SHARD_BYTES};
use crate::tokens::format::{missing_answer, note, wrong_answer};
use gristmill_core::pack::MdsTarget;
use gristmill_core::{PackPlan, Problem};
use gristmill_tokenizer::Tokenizer;

/// Returns one refusal for each required option of the format without an answer.
pub(super) fn open_questions(target: &MdsTarget) -> Vec<Problem> {
    let is_open = target.sample_size == 0;
    is_open.then(|| missing_answer("no sample size is given", "--sample-size N")).into_iter().collect()
}

/// Returns one refusal for each wrong answer to the options of the format.
pub(super) fn refusals(target: &MdsTarget) -> Vec<Problem> {
    let mut wrong_ones = Vec::new();
    if sample_bytes(target.sample_size) > MAX_SHARD_BYTES {
        wrong_ones.push(wrong_answer("--sample-size", "a sample is larger than 4 GiB, and a shard is not"));
    }
    if target.size_limit.is_some_and(|limit| limit > MAX_SHARD_BYTES) {
        wrong_ones.push(wrong_answer("--size-limit", "a shard is smaller than 4 GiB"));
    }
    if let Some(name) = target.hashes.iter().find(|name| !hashes::is_known(name)) {
        let known: Vec<&str> = hashes::HASHES.iter().map(|(name, _)| *name).collect();
        let hint = format!("one of {}", known.join(", "));
        wrong_ones.push(wrong_answer("--hashes", format!("{name:?} is unknown")).with_hint(hint));
    }
    let is_twice = |at: usize| target.hashes.iter().take(at).any(|name| target.hashes.get(at) == Some(name));
    if let Some(name) = (0..target.hashes.len()).find(|at| is_twice(*at)).and_then(|at| target.hashes.get(at)) {
        wrong_ones.push(wrong_answer("--hashes", format!("{name} is given twice")));
    }
    if let Some(Err(why)) = target.compression.as_deref().map(Compression::parse) {
        wrong_ones.push(wrong_answer("--compression", why).with_hint("for example --compression zstd:7"));
    }
    wrong_ones
}

/// Returns notes on the tokens at the beginning and end of a document.
pub(super) fn notes(plan: &PackPlan, tokenizer: &Tokenizer) -> Vec<Problem> {
    let template = tokenizer.template().unwrap_or_default();
    if plan.begin.is_some() || plan.end.is_some() || !template.is_empty() {
        return Vec::new();
    }
    let why = "no token begins or ends a document: models cannot see where the next one begins";
    vec![note("mds", why).with_hint("--eos-token TEXT adds one")]
}
