//! `info`, `lint` and `verify` of folders of packed files: file by file.

use super::super::context::Context;
use super::super::exit::{fields, Finished};
use super::super::facts::{head, item, more, print_facts, size, MAX_LISTED};
use super::super::lint::{checked, vocabulary, LintTexts};
use gristmill_core::table::{Align, Table};
use gristmill_core::text::{display_safe, grouped};
use gristmill_core::{DatasetKind, Handles, ProblemLog, Progress};
use gristmill_ops::engine::modalities::folder::{packed_folder, PackedFolder};
use gristmill_ops::engine::nanosets::check::Depth;
use gristmill_ops::job::check::run_packed_folder;
use gristmill_ops::source::kind::kind_of;
use std::path::Path;

/// What is counted, in addition to the size.
const DOCUMENTS: LintTexts = LintTexts { shards: Some("file"), item: "document" };

/// Whether a path is an existing folder of packed files.
pub fn is_ours(path: &str) -> bool {
    kind_of(Path::new(path)).is_ok_and(|kind| kind == DatasetKind::PackedFolder)
}

/// Prints the content of a folder.
pub fn info(path: &str, context: &Context) -> Finished {
    let (progress, cancel, log) = (Progress::default(), context.signals.listen(), ProblemLog::default());
    let handles = Handles { progress: &progress, cancel: &cancel, problems: &log };
    let facts = packed_folder(Path::new(path), &handles)?;
    Ok(print_facts((path, DatasetKind::PackedFolder), lines(path, &facts), &facts.problems, fields(&facts), context))
}

fn lines(path: &str, facts: &PackedFolder) -> Vec<String> {
    let mut lines = head(path, DatasetKind::PackedFolder.title());
    lines.extend([
        item("documents", &grouped(facts.documents)),
        item("tokens", &grouped(facts.tokens)),
        item("files", &grouped(facts.files.len() as u64)),
        item("size", &size(facts.bytes)),
    ]);
    let right = Align::Right;
    let mut table =
        Table::new(&[("file", Align::Left), ("tokens", right), ("documents", right), ("bytes a token", right)]);
    for file in facts.files.iter().take(MAX_LISTED) {
        let figure = |number: Option<u64>| number.map_or_else(|| "?".to_owned(), grouped);
        let known = file.facts.as_ref();
        table.row([
            display_safe(&file.name).into_owned(),
            figure(known.map(|facts| facts.tokens)),
            figure(known.map(|facts| facts.documents)),
            figure(known.map(|facts| u64::from(facts.layout.token_bytes))),
        ]);
    }
    lines.extend(table.lines());
    lines.extend(more(facts.files.len()));
    lines
}

/// Checks header and index of each file.
pub fn lint(path: &str, context: &Context) -> Finished {
    let threads = context.run_options().threads;
    checked(context, DOCUMENTS, |handles| run_packed_folder(Path::new(path), Depth::Index, None, threads, handles))
}

/// Also reads every token of each file. No id may exceed the highest of `tokenizer`.
pub fn verify(path: &str, tokenizer: Option<&str>, context: &Context) -> Finished {
    let vocabulary = tokenizer.map(vocabulary).transpose()?;
    let threads = context.run_options().threads;
    checked(context, DOCUMENTS, |handles| {
        run_packed_folder(Path::new(path), Depth::Tokens, vocabulary.as_ref(), threads, handles)
    })
}
