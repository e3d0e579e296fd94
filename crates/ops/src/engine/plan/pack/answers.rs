//! Checks of the plan alone: missing answers, and answers that are wrong for any data.

use super::super::flags::COMPAT;
use super::flags as p;
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
        let hint = format!("{} modalities, nanosets or forager; may be given more than once", p::FORMAT);
        open.push(missing("nothing says for which framework", &hint));
    }
    if plan.tokenizer.is_empty() {
        let hint = format!("{} FILE: a tokenizer.json or a SentencePiece .model", p::TOKENIZER);
        open.push(missing("no tokenizer is given", &hint));
    }
    if plan.output.is_empty() {
        open.push(missing("nothing says where the tokens go", &format!("{} PATH", p::OUTPUT)));
    }
    if let Some(target) = &plan.modalities {
        if target.eod_token.is_none() && plan.end.is_none() {
            let hint = format!("{} TEXT, or {} N", p::EOS_TOKEN, p::EOS_ID);
            open.push(missing("every document of a .pbin ends with a token, and nothing says which", &hint));
        }
    }
    if let Some(target) = &plan.forager {
        let by_size = matches!(target.sample_size, SampleSize::Fixed(_));
        if target.sample_size == SampleSize::Fixed(0) {
            let hint = format!("{} N, or {} for one sample a document", p::SAMPLE_SIZE, p::VARIABLE);
            open.push(missing("nothing says how many tokens a Forager sample has", &hint));
        }
        if by_size && plan.end.is_none() {
            let hint = format!("{} TEXT, or {} N", p::EOS_TOKEN, p::EOS_ID);
            open.push(missing("Forager samples need a token between documents, and none is given", &hint));
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
        wrong_ones.push(wrong(p::JQ, "the program is empty").with_hint("for example --jq .text"));
    }
    if matches!(&plan.glob, Some(glob) if glob.is_empty()) {
        wrong_ones.push(wrong(p::GLOB, "it is empty, and no name fits"));
    }
    let is_cut = plan.nanosets.as_ref().is_some_and(|target| target.skip > 0 || target.limit.is_some());
    if plan.limit_tokens.is_some() && is_cut {
        let why = format!("it counts the documents of all tasks, and {} and {} those of each", p::SKIP, p::LIMIT);
        wrong_ones.push(wrong(p::LIMIT_TOKENS, why).with_hint("give one of them"));
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
        wrong_ones.push(wrong(p::BATCH_LINES, "at least 1 is needed"));
    }
    if target.batch_lines != DEFAULT_BATCH_LINES && !plan.compat {
        let why = format!("batches of lines count only with {COMPAT}");
        wrong_ones.push(wrong(p::BATCH_LINES, why).with_hint("a bad document never takes others with it here"));
    }
    if target.pad_to == Some(0) {
        wrong_ones.push(wrong(p::PAD_TO, "at least 1 is needed"));
    }
    if target.truncate_to == Some(0) {
        wrong_ones.push(wrong(p::TRUNCATE_TO, "at least 1 is needed: nothing of a document would be left"));
    }
    if target.pad_token.is_some() && target.pad_to.is_none() {
        wrong_ones.push(wrong(p::PAD_TOKEN, format!("it needs {} N", p::PAD_TO)));
    }
    if target.index.is_some() && plan.inputs.len() > 1 {
        wrong_ones.push(wrong(p::INDEX, "it is the index of one file, and several inputs are given"));
    }
    wrong_ones
}

fn of_nanosets(target: &NanosetsTarget) -> Vec<Problem> {
    let mut wrong_ones = Vec::new();
    if target.tasks == Some(0) {
        wrong_ones.push(wrong(p::TASKS, "at least 1 is needed"));
    }
    if target.tasks.is_some_and(|tasks| tasks > 99_999) {
        wrong_ones.push(wrong(p::TASKS, "names of token files have five digits for the task: 99,999 at most"));
    }
    if let (Some(rank), Some(tasks)) = (target.rank, target.tasks) {
        if rank >= tasks {
            let why = match tasks {
                0 | 1 => format!("the rank of {} is 0", gristmill_core::text::count(u64::from(tasks), "task")),
                _ => format!("the ranks of {tasks} tasks are 0 to {}", tasks - 1),
            };
            wrong_ones.push(wrong(p::RANK, why));
        }
    }
    if target.chunk_size == Some(0) {
        wrong_ones.push(wrong(p::CHUNK_SIZE, "at least 1 is needed"));
    }
    if target.max_tokens_per_file == Some(0) {
        wrong_ones.push(wrong(p::MAX_TOKENS_PER_FILE, "at least 1 is needed"));
    }
    if target.max_tokens_per_file.is_some() && target.shuffle == DocumentShuffle::None && target.chunk_size.is_none() {
        let why = "files are split only where something is shuffled";
        let hint = format!("add {} documents or {} C, or leave the flag out", p::SHUFFLE, p::CHUNK_SIZE);
        wrong_ones.push(wrong(p::MAX_TOKENS_PER_FILE, why).with_hint(hint));
    }
    if target.prefix.as_deref().is_some_and(|prefix| !is_name(prefix)) {
        wrong_ones.push(wrong(p::PREFIX, "it has to be the start of a file name"));
    }
    wrong_ones
}

fn of_forager(target: &ForagerTarget) -> Vec<Problem> {
    let mut wrong_ones = Vec::new();
    if matches!(target.sample_size, SampleSize::Fixed(size) if size > MAX_TOKENS) {
        wrong_ones.push(wrong(p::SAMPLE_SIZE, "2^30 tokens at most"));
    }
    if target.masks.is_some() && target.sample_size == SampleSize::Variable {
        let why = "samples with masks have a fixed size";
        wrong_ones.push(wrong(p::VARIABLE, why).with_hint(format!("{} N in its place", p::SAMPLE_SIZE)));
    }
    // It becomes part of the name of a sample file; a `/` would lead elsewhere.
    if target.file_suffix.contains(['/', '\0', '\n']) {
        wrong_ones.push(wrong(p::FILE_SUFFIX, "it has to be the end of a file name"));
    }
    if !is_name(&target.index_folder) {
        wrong_ones.push(wrong(p::INDEX_FOLDER, "it has to be the name of a folder"));
    } else if target.index_folder == SAMPLES {
        wrong_ones.push(wrong(p::INDEX_FOLDER, "this is the folder of the samples"));
    } else if target.masks.is_some() && target.index_folder != INDEX_OF_MASKS {
        let why = format!("the reader of samples with masks knows only '{INDEX_OF_MASKS}'");
        wrong_ones.push(wrong(p::INDEX_FOLDER, why));
    }
    wrong_ones
}

/// Whether a text is the name of one entry of a folder.
fn is_name(text: &str) -> bool {
    let mut parts = Path::new(text).components();
    let is_plain = matches!(parts.next(), Some(Component::Normal(name)) if name == text);
    is_plain && parts.next().is_none() && !text.contains(['\0', '\n'])
}
