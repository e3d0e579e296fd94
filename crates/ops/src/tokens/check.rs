//! Checks of a plan without its data: missing answers, and answers that are wrong for any data.

use super::encode::EncodingSpec;
use super::format::{missing_answer, wrong_answer};
use super::formats;
use super::overlaps::overlaps;
use gristmill_core::pack::TextField;
use gristmill_core::text::count;
use gristmill_core::{PackPlan, Problem};
use gristmill_tokenizer::Tokenizer;

/// Returns the open questions and then the refusals of a plan, without reading its data.
pub fn plan_problems(plan: &PackPlan) -> Vec<Problem> {
    open_questions(plan).into_iter().chain(refusals(plan)).collect()
}

/// Returns one refusal per question that the plan leaves open; its hint names the flag.
pub fn open_questions(plan: &PackPlan) -> Vec<Problem> {
    let mut open = Vec::new();
    if plan.inputs.is_empty() {
        open.push(match plan.paths_file {
            Some(_) => missing_answer(
                "the folder that the listed paths start from is not given",
                "name it; `.` is the current folder",
            ),
            None => missing_answer("no input is given", "name .jsonl files or folders of them"),
        });
    }
    let formats = formats::chosen(plan);
    if formats.is_empty() {
        let hint = format!("--format {}; may be given more than once", formats::listed());
        open.push(missing_answer("no format is given", hint));
    }
    if plan.tokenizer.is_empty() {
        let hint = "--tokenizer FILE: a tokenizer.json or a SentencePiece .model";
        open.push(missing_answer("no tokenizer is given", hint));
    }
    if plan.output.is_empty() {
        open.push(missing_answer("no output is given", "--output PATH"));
    }
    open.extend(formats.into_iter().flat_map(|format| format.open_questions(plan)));
    open
}

/// Returns one refusal for each wrong answer. Checks whether the named paths are files or folders, but does not read them.
pub fn refusals(plan: &PackPlan) -> Vec<Problem> {
    let mut wrong_ones = Vec::new();
    if matches!(&plan.text, TextField::Jq(program) if program.trim().is_empty()) {
        wrong_ones.push(wrong_answer("--jq", "the program is empty").with_hint("for example --jq .text"));
    }
    if matches!(&plan.glob, Some(glob) if glob.is_empty()) {
        wrong_ones.push(wrong_answer("--glob", "it is empty, and no name fits"));
    }
    if !plan.input_names.is_empty() && plan.input_names.len() != plan.inputs.len() {
        let (names, inputs) = (plan.input_names.len() as u64, plan.inputs.len() as u64);
        let why = format!("{} for {}", count(names, "name"), count(inputs, "input"));
        wrong_ones.push(wrong_answer("--input-name", why).with_hint("give one for each input, or none"));
    }
    if plan.paths_file.is_some() && (plan.split.is_some() || plan.subset.is_some()) {
        let flag = if plan.split.is_some() { "--split" } else { "--subset" };
        let why = "it chooses files of a folder, and --paths-file lists files";
        wrong_ones.push(wrong_answer(flag, why).with_hint("give one of them"));
    }
    if plan.strip && formats::chosen(plan).into_iter().any(|format| format.loss_masks(plan) == Some(true)) {
        let why = "loss masks refer to the characters of whole texts";
        wrong_ones.push(wrong_answer("--strip", why).with_hint("leave out --strip or --loss-masks"));
    }
    wrong_ones.extend(formats::chosen(plan).into_iter().flat_map(|format| format.refusals(plan)));
    wrong_ones.extend(overlaps(plan));
    wrong_ones
}

/// Returns notes on documents without an end token, tokens that a template adds or that are omitted, and padding and truncation stored in
/// the tokenizer file. None of them prevents a run.
pub fn notes(plan: &PackPlan, tokenizer: &Tokenizer) -> Vec<Problem> {
    formats::chosen(plan).into_iter().flat_map(|format| format.notes(plan, tokenizer)).collect()
}

/// Returns the warnings about the tokenizer file that apply to the plan with these encodings.
pub(super) fn tokenizer_warnings(plan: &PackPlan, tokenizer: &Tokenizer, specs: &[EncodingSpec]) -> Vec<String> {
    let uses_template = specs.iter().any(|spec| !spec.template.prefix.is_empty());
    tokenizer.facts().warnings_for(plan.end.is_some(), uses_template)
}

#[cfg(test)]
mod tests;
