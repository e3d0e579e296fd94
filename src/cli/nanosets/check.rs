//! `info`, `lint` and `verify` of folders of token files and of Forager's samples.

use super::super::context::Context;
use super::super::exit::{fields, Finished};
use super::super::facts::{head, item, more, print_facts, size, MAX_LISTED};
use super::super::lint::{checked, vocabulary, LintTexts};
use gristmill_core::table::{Align, Table};
use gristmill_core::text::{display_safe, grouped};
use gristmill_core::{DatasetKind, Failure, Handles, ProblemLog, Progress, Subject};
use gristmill_ops::engine::check::forager::{check_forager, forager_facts, ForagerFacts};
use gristmill_ops::engine::modalities::check::Vocabulary;
use gristmill_ops::engine::nanosets::check::Depth;
use gristmill_ops::engine::nanosets::{folder_facts, FolderFacts};
use gristmill_ops::job::check::{run_forager, run_token_folder};
use gristmill_ops::source::kind::kind_of;
use std::path::Path;

/// What is counted of token files, in addition to the size.
const DOCUMENTS: LintTexts = LintTexts { shards: Some("file"), item: "file" };
/// What is counted of samples, in addition to the size.
const SAMPLES: LintTexts = LintTexts { shards: Some("file"), item: "sample" };

/// Whether a path is an existing folder of token files or of Forager's samples.
pub fn is_ours(path: &str) -> bool {
    kind(path).is_some()
}

fn kind(path: &str) -> Option<DatasetKind> {
    let kind = kind_of(Path::new(path)).ok()?;
    matches!(kind, DatasetKind::TokenFolder | DatasetKind::ForagerSamples).then_some(kind)
}

/// Prints the content of a folder and its number of windows.
pub fn info(path: &str, sequence_length: Option<u64>, context: &Context) -> Finished {
    let (progress, cancel, log) = (Progress::default(), context.signals.listen(), ProblemLog::default());
    let handles = Handles { progress: &progress, cancel: &cancel, problems: &log };
    let kind = kind(path).unwrap_or(DatasetKind::TokenFolder);
    if sequence_length == Some(0) {
        let failure = Failure::usage("counting windows", "a sequence of no token cannot be used");
        return Err(failure.on(Subject::field("--sequence-length")).into());
    }
    let (lines, result) = match kind {
        DatasetKind::ForagerSamples => {
            let facts = forager_facts(Path::new(path), &handles)?;
            (forager_lines(path, &facts), fields(facts))
        }
        _ => {
            let facts = folder_facts(Path::new(path), sequence_length, None, &handles)?;
            (folder_lines(path, &facts), fields(facts))
        }
    };
    Ok(print_facts((path, kind), lines, &log.to_vec(), result, context))
}

/// Checks indexes, metadata and sizes.
pub fn lint(path: &str, context: &Context) -> Finished {
    check(path, Depth::Index, None, context)
}

/// Also reads every token. No id may exceed the highest of `tokenizer`.
pub fn verify(path: &str, tokenizer: Option<&str>, context: &Context) -> Finished {
    let vocabulary = tokenizer.map(vocabulary).transpose()?;
    check(path, Depth::Tokens, vocabulary, context)
}

fn check(path: &str, depth: Depth, vocabulary: Option<Vocabulary>, context: &Context) -> Finished {
    let at = Path::new(path);
    let threads = context.run_options().threads;
    match kind(path) {
        Some(DatasetKind::ForagerSamples) => checked(context, SAMPLES, |handles| match depth {
            Depth::Index => check_forager(at, handles),
            Depth::Tokens => run_forager(at, vocabulary.as_ref(), threads, handles),
        }),
        _ => checked(context, DOCUMENTS, |handles| run_token_folder(at, depth, vocabulary.as_ref(), threads, handles)),
    }
}

fn folder_lines(path: &str, facts: &FolderFacts) -> Vec<String> {
    let mut lines = head(path, DatasetKind::TokenFolder.title());
    lines.push(item("tokenizer", facts.tokenizer.as_deref().unwrap_or("not given")));
    lines.push(item("bytes a token", &facts.token_size.bytes().to_string()));
    lines.push(item("tokens", &grouped(facts.tokens)));
    lines.push(item("documents", &grouped(facts.documents)));
    lines.push(item("files", &grouped(facts.files.len() as u64)));
    lines.push(item("size", &size(facts.bytes)));
    if facts.files_with_loss > 0 {
        lines.push(item("files with loss masks", &grouped(facts.files_with_loss)));
    }
    if let (Some(length), Some(windows), Some(unused)) = (facts.sequence_length, facts.windows, facts.unused_tokens) {
        lines.push(item("sequence length", &grouped(length)));
        lines.push(item("windows", &grouped(windows)));
        lines.push(item("tokens in no window", &grouped(unused)));
    }
    let right = Align::Right;
    let mut table = Table::new(&[
        ("file", Align::Left),
        ("tokens", right),
        ("documents", right),
        (if facts.windows.is_some() { "windows" } else { "" }, right),
    ]);
    for file in facts.files.iter().take(MAX_LISTED) {
        table.row([
            display_safe(&file.file.name).into_owned(),
            grouped(file.file.tokens),
            file.documents.map_or_else(|| "?".to_owned(), grouped),
            file.windows.map(grouped).unwrap_or_default(),
        ]);
    }
    lines.extend(table.lines());
    lines.extend(more(facts.files.len()));
    lines
}

fn forager_lines(path: &str, facts: &ForagerFacts) -> Vec<String> {
    let mut lines = head(path, DatasetKind::ForagerSamples.title());
    lines.push(item("samples", &grouped(facts.samples)));
    lines.push(item("size of all samples", &size(facts.bytes)));
    let lengths = match facts.shortest == facts.longest {
        true => grouped(facts.longest),
        false => format!("{} to {}", grouped(facts.shortest), grouped(facts.longest)),
    };
    lines.push(item("bytes a sample", &lengths));
    if let Some(tokens) = facts.sample_size {
        lines.push(item("tokens a sample", &grouped(tokens)));
        let arrays: Vec<String> = facts.arrays.iter().map(|(name, dtype)| format!("{name} ({dtype})")).collect();
        lines.push(item("arrays", &arrays.join(", ")));
    }
    let mut table = Table::new(&[("file", Align::Left), ("samples", Align::Right), ("size", Align::Right)]);
    for file in facts.files.iter().take(MAX_LISTED) {
        let bytes = file.bytes.map_or_else(|| "missing".to_owned(), size);
        table.row([display_safe(&file.name).into_owned(), grouped(file.samples), bytes]);
    }
    lines.extend(table.lines());
    lines.extend(more(facts.files.len()));
    lines
}
