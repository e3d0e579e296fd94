//! Checks of the plan alone: missing answers, and answers that are wrong for any data.

use super::places::overlaps;
use gristmill_core::pack::{
    DocumentShuffle, ForagerTarget, ModalitiesTarget, NanosetsTarget, SampleSize, TextField, DEFAULT_BATCH_LINES,
};
use gristmill_core::{PackPlan, Problem, ProblemKind, Subject};
use std::path::{Component, Path};

/// Forager's reader of samples with masks accepts only this name of the index (docs/formats/forager.md §1).
const INDEX_OF_MASKS: &str = "index";
/// The folder of Forager's samples, next to the index.
const SAMPLES: &str = "tokenized-samples";
/// The most tokens of a sample; a larger number is a typing error, and the sample would be held in memory.
const MAX_TOKENS: u64 = 1 << 30;

fn missing(what: &str, hint: &str) -> Problem {
    Problem::refusal(ProblemKind::MissingAnswer, Subject::default(), what).with_hint(hint)
}

/// Returns everything that is missing or wrong in the plan alone: open questions, then refusals.
pub fn missing_or_wrong(plan: &PackPlan) -> Vec<Problem> {
    open_questions(plan).into_iter().chain(refusals(plan)).collect()
}

/// Returns one refusal per question that the plan leaves open; its hint names the flag.
pub fn open_questions(plan: &PackPlan) -> Vec<Problem> {
    let mut open = Vec::new();
    if plan.inputs.is_empty() {
        open.push(match plan.paths_file {
            Some(_) => missing("the folder that the listed paths start from is not given", "name it; `.` for this one"),
            None => missing("no input is given", "name .jsonl files or folders of them"),
        });
    }
    let formats = plan.formats();
    if formats.is_empty() {
        let hint = "--format modalities, nanosets or forager; may be given more than once";
        open.push(missing("nothing says for which framework", hint));
    }
    if plan.tokenizer.is_empty() {
        let hint = "--tokenizer FILE: a tokenizer.json or a SentencePiece .model";
        open.push(missing("no tokenizer is given", hint));
    }
    if plan.output.is_empty() {
        open.push(missing("nothing says where the tokens go", "--output PATH"));
    }
    if let Some(target) = &plan.modalities {
        if target.eod_token.is_none() && plan.end.is_none() {
            let hint = "--eos-token TEXT, or --eos-id N";
            open.push(missing("every document of a .pbin ends with a token, and nothing says which", hint));
        }
    }
    if let Some(target) = &plan.forager {
        let by_size = matches!(target.sample_size, SampleSize::Fixed(_));
        if target.sample_size == SampleSize::Fixed(0) {
            let hint = "--sample-size N, or --variable for one sample a document";
            open.push(missing("nothing says how many tokens a Forager sample has", hint));
        }
        if by_size && plan.end.is_none() {
            let hint = "--eos-token TEXT, or --eos-id N";
            open.push(missing("Forager samples need a token between documents, and none is given", hint));
        }
    }
    open
}

fn wrong(flag: &str, why: impl Into<String>) -> Problem {
    Problem::refusal(ProblemKind::BadName, Subject::field(flag), why)
}

/// Returns one refusal for each wrong answer. Checks the kind of the named paths, not their content.
pub fn refusals(plan: &PackPlan) -> Vec<Problem> {
    let mut wrong_ones = Vec::new();
    if matches!(&plan.text, TextField::Jq(program) if program.trim().is_empty()) {
        wrong_ones.push(wrong("--jq", "the program is empty").with_hint("for example --jq .text"));
    }
    if matches!(&plan.glob, Some(glob) if glob.is_empty()) {
        wrong_ones.push(wrong("--glob", "it is empty, and no name fits"));
    }
    let is_cut = plan.nanosets.as_ref().is_some_and(|target| target.skip > 0 || target.limit.is_some());
    if plan.limit_tokens.is_some() && is_cut {
        let why = "it counts the documents of all tasks, and --skip and --limit those of each";
        wrong_ones.push(wrong("--limit-tokens", why).with_hint("give one of them"));
    }
    wrong_ones.extend(plan.modalities.iter().flat_map(|target| of_modalities(plan, target)));
    wrong_ones.extend(plan.nanosets.iter().flat_map(of_nanosets));
    wrong_ones.extend(plan.forager.iter().flat_map(of_forager));
    wrong_ones.extend(overlaps(plan));
    wrong_ones
}

fn of_modalities(plan: &PackPlan, target: &ModalitiesTarget) -> Vec<Problem> {
    let mut wrong_ones = Vec::new();
    if target.batch_lines == 0 {
        wrong_ones.push(wrong("--batch-lines", "at least 1 is needed"));
    }
    if target.batch_lines != DEFAULT_BATCH_LINES && !plan.compat {
        let why = "batches of lines count only with --compat";
        wrong_ones.push(wrong("--batch-lines", why).with_hint("a bad document never takes others with it here"));
    }
    if target.pad_to == Some(0) {
        wrong_ones.push(wrong("--pad-to", "at least 1 is needed"));
    }
    if target.truncate_to == Some(0) {
        wrong_ones.push(wrong("--truncate-to", "at least 1 is needed: nothing of a document would be left"));
    }
    if target.pad_token.is_some() && target.pad_to.is_none() {
        wrong_ones.push(wrong("--pad-token", "it needs --pad-to N"));
    }
    if target.index.is_some() && plan.inputs.len() > 1 {
        wrong_ones.push(wrong("--index", "it is the index of one file, and several inputs are given"));
    }
    wrong_ones
}

fn of_nanosets(target: &NanosetsTarget) -> Vec<Problem> {
    let mut wrong_ones = Vec::new();
    if target.tasks == Some(0) {
        wrong_ones.push(wrong("--tasks", "at least 1 is needed"));
    }
    if target.tasks.is_some_and(|tasks| tasks > 99_999) {
        wrong_ones.push(wrong("--tasks", "names of token files have five digits for the task: 99,999 at most"));
    }
    if let (Some(rank), Some(tasks)) = (target.rank, target.tasks) {
        if rank >= tasks {
            let why = match tasks {
                0 | 1 => format!("the rank of {} is 0", gristmill_core::text::count(u64::from(tasks), "task")),
                _ => format!("the ranks of {tasks} tasks are 0 to {}", tasks - 1),
            };
            wrong_ones.push(wrong("--rank", why));
        }
    }
    if target.chunk_size == Some(0) {
        wrong_ones.push(wrong("--chunk-size", "at least 1 is needed"));
    }
    if target.max_tokens_per_file == Some(0) {
        wrong_ones.push(wrong("--max-tokens-per-file", "at least 1 is needed"));
    }
    if target.max_tokens_per_file.is_some() && target.shuffle == DocumentShuffle::None && target.chunk_size.is_none() {
        let why = "files are split only where something is shuffled";
        let hint = "add --shuffle documents or --chunk-size C, or leave the flag out";
        wrong_ones.push(wrong("--max-tokens-per-file", why).with_hint(hint));
    }
    if target.prefix.as_deref().is_some_and(|prefix| !is_name(prefix)) {
        wrong_ones.push(wrong("--prefix", "it has to be the start of a file name"));
    }
    wrong_ones
}

fn of_forager(target: &ForagerTarget) -> Vec<Problem> {
    let mut wrong_ones = Vec::new();
    if matches!(target.sample_size, SampleSize::Fixed(size) if size > MAX_TOKENS) {
        wrong_ones.push(wrong("--sample-size", "2^30 tokens at most"));
    }
    if target.masks.is_some() && target.sample_size == SampleSize::Variable {
        let why = "samples with masks have a fixed size";
        wrong_ones.push(wrong("--variable", why).with_hint("--sample-size N in its place"));
    }
    // It becomes part of the name of a sample file; a `/` would lead elsewhere.
    if target.file_suffix.contains(['/', '\0', '\n']) {
        wrong_ones.push(wrong("--file-suffix", "it has to be the end of a file name"));
    }
    if !is_name(&target.index_folder) {
        wrong_ones.push(wrong("--index-folder", "it has to be the name of a folder"));
    } else if target.index_folder == SAMPLES {
        wrong_ones.push(wrong("--index-folder", "this is the folder of the samples"));
    } else if target.masks.is_some() && target.index_folder != INDEX_OF_MASKS {
        let why = format!("the reader of samples with masks knows only '{INDEX_OF_MASKS}'");
        wrong_ones.push(wrong("--index-folder", why));
    }
    wrong_ones
}

/// Whether a text is the name of one entry of a folder.
fn is_name(text: &str) -> bool {
    let mut parts = Path::new(text).components();
    let is_plain = matches!(parts.next(), Some(Component::Normal(name)) if name == text);
    is_plain && parts.next().is_none() && !text.contains(['\0', '\n'])
}
