//! Checks of the answers to `--format nanosets`.

use super::super::shared_answers;
use crate::tokens::format::{is_file_name, note, wrong_answer, STORED_TRUNCATION};
use gristmill_core::pack::NanosetsTarget;
use gristmill_core::{PackPlan, Problem};
use gristmill_tokenizer::{Template, Tokenizer};

/// Returns one refusal for each wrong answer to the options of the format.
pub(super) fn refusals(plan: &PackPlan, target: &NanosetsTarget) -> Vec<Problem> {
    let mut wrong_ones = Vec::new();
    if plan.limit_tokens.is_some() && (target.skip > 0 || target.limit.is_some()) {
        let why = "it counts the documents of all tasks, and --skip and --limit those of each";
        wrong_ones.push(wrong_answer("--limit-tokens", why).with_hint("give one of them"));
    }
    if target.tasks == Some(0) {
        wrong_ones.push(wrong_answer("--tasks", "at least 1 is needed"));
    }
    if target.tasks.is_some_and(|tasks| tasks > 99_999) {
        wrong_ones.push(wrong_answer("--tasks", "names of token files have five digits for the task: 99,999 at most"));
    }
    if let (Some(rank), Some(tasks)) = (target.rank, target.tasks) {
        if rank >= tasks {
            let why = match tasks {
                0 | 1 => format!("the rank of {} is 0", gristmill_core::text::count(u64::from(tasks), "task")),
                _ => format!("the ranks of {tasks} tasks are 0 to {}", tasks - 1),
            };
            wrong_ones.push(wrong_answer("--rank", why));
        }
    }
    if target.chunk_size == Some(0) {
        wrong_ones.push(wrong_answer("--chunk-size", "at least 1 is needed"));
    }
    if target.max_tokens_per_file == Some(0) {
        wrong_ones.push(wrong_answer("--max-tokens-per-file", "at least 1 is needed"));
    }
    let is_for_others = shared_answers(plan, |info| info.max_tokens_per_file).count() > 1;
    if target.max_tokens_per_file.is_some() && !target.is_shuffled() && !is_for_others {
        let why = "files are split only where something is shuffled";
        let hint = "add --shuffle documents or --chunk-size C, or leave the flag out";
        wrong_ones.push(wrong_answer("--max-tokens-per-file", why).with_hint(hint));
    }
    if target.prefix.as_deref().is_some_and(|prefix| !is_file_name(prefix)) {
        wrong_ones.push(wrong_answer("--prefix", "it has to be the start of a file name"));
    }
    wrong_ones
}

/// Returns notes on the end of documents, and on the truncation and padding that the tokenizer file requests.
pub(super) fn notes(plan: &PackPlan, tokenizer: &Tokenizer) -> Vec<Problem> {
    let template = tokenizer.template().unwrap_or_default();
    let mut notes = Vec::new();
    match &plan.end {
        None if template.suffix.is_empty() => {
            let why = "no token ends a document: models cannot see where the next one begins";
            notes.push(note("nanosets", why).with_hint("--eos-token TEXT adds one"));
        }
        Some(_) if !template.is_empty() => {
            let left_out = spelled(tokenizer, &template);
            let why =
                format!("the end token takes the place of the tokenizer's template: {left_out} will not be added");
            notes.push(note("nanosets", why).with_hint("without --eos-token the template is used"));
        }
        _ => {}
    }
    if tokenizer.padding().is_some() {
        let why = "the tokenizer file asks for padding: each 10,000 documents are filled up together";
        notes.push(note("nanosets", why));
    }
    if tokenizer.truncation().is_some() {
        notes.push(note("nanosets", STORED_TRUNCATION));
    }
    notes
}

fn spelled(tokenizer: &Tokenizer, template: &Template) -> String {
    let ids = template.prefix.iter().chain(&template.suffix);
    let texts: Vec<String> = ids.map(|id| tokenizer.token_of(*id).unwrap_or_else(|| id.to_string())).collect();
    texts.join(" ")
}
