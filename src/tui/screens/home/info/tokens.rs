//! The engine's facts about packed tokens as lines of the page: the same facts as the `info` command prints.

use super::lines::{heading, item, problems};
use crate::tui::screens::page::{PageLine, Tone};
use gristmill_core::text::{bytes, count, grouped};
use gristmill_core::Problem;
use gristmill_ops::engine::check::forager::ForagerFacts;
use gristmill_ops::engine::check::outputs::{FormatFacts, MixtureFacts};
use gristmill_ops::engine::modalities::check::PackedFacts;
use gristmill_ops::engine::modalities::folder::{PackedFile, PackedFolder};
use gristmill_ops::engine::nanosets::FolderFacts;

/// Maximum number of files listed.
const MAX_FILES: usize = 50;

/// Returns the lines for a `.pbin` file.
pub fn packed(facts: &PackedFacts) -> Vec<PageLine> {
    let order = if facts.layout.is_big_endian { ", big-endian" } else { "" };
    let mut lines = vec![
        item("documents", grouped(facts.documents)),
        item("tokens", grouped(facts.tokens)),
        item("bytes a token", format!("{}{order}", facts.layout.token_bytes)),
        item("size", bytes(facts.bytes)),
        item("layout", facts.era),
    ];
    if facts.documents > 0 {
        let mean = grouped((facts.tokens as f64 / facts.documents as f64).round() as u64);
        let lengths = format!("{} to {}, {mean} on average", grouped(facts.shortest), count(facts.longest, "token"));
        lines.push(item("a document", lengths));
    }
    if let Some(token) = facts.end_token {
        lines.push(item("the first ends", format!("with the token {token}")));
    }
    problems(&facts.problems, &mut lines);
    lines
}

/// Returns the lines for a folder of `.pbin` files.
pub fn packed_folder(facts: &PackedFolder) -> Vec<PageLine> {
    let mut lines = vec![
        item("tokens", grouped(facts.tokens)),
        item("documents", grouped(facts.documents)),
        item("files", format!("{}, {}", grouped(facts.files.len() as u64), bytes(facts.bytes))),
    ];
    problems(&facts.problems, &mut lines);
    let row = |file: &PackedFile| {
        let told = match &file.facts {
            Some(facts) => format!("{}, {}", count(facts.tokens, "token"), count(facts.documents, "document")),
            None => "it cannot be read".to_owned(),
        };
        (file.name.clone(), told)
    };
    push_list(facts.files.iter().map(row), facts.files.len(), &mut lines);
    lines
}

/// Returns the lines for tokens packed in several formats.
pub fn formats(formats: &[FormatFacts], found: &[Problem]) -> Vec<PageLine> {
    let mut lines: Vec<PageLine> = formats
        .iter()
        .map(|format| {
            let files = count(format.files, "file");
            item(format.format, format!("{files}, {}, {}", bytes(format.bytes), format.state))
        })
        .collect();
    problems(found, &mut lines);
    lines
}

/// Returns the lines for the index of a mixture.
pub fn mixture(facts: &MixtureFacts) -> Vec<PageLine> {
    let mut lines = vec![
        item("samples", grouped(facts.samples)),
        item("data sets", grouped(facts.datasets.len() as u64)),
        item("size", bytes(facts.bytes)),
    ];
    let row = |(number, samples): (&u64, &u64)| (format!("data set {number}"), count(*samples, "sample"));
    push_list(facts.datasets.iter().map(row), facts.datasets.len(), &mut lines);
    lines
}

/// Returns the lines for a folder of `.ds` files; `found` are the problems found while reading.
pub fn folder(facts: &FolderFacts, found: &[Problem]) -> Vec<PageLine> {
    let mut lines = vec![
        item("tokenizer", facts.tokenizer.as_deref().unwrap_or("not given")),
        item("bytes a token", facts.token_size.bytes().to_string()),
        item("tokens", grouped(facts.tokens)),
        item("documents", grouped(facts.documents)),
        item("files", format!("{}, {}", grouped(facts.files.len() as u64), bytes(facts.bytes))),
    ];
    if facts.files_with_loss > 0 {
        lines.push(item("with loss masks", count(facts.files_with_loss, "file")));
    }
    problems(found, &mut lines);
    let row = |file: &gristmill_ops::engine::nanosets::FileFacts| {
        let documents = file.documents.map_or_else(|| "? documents".to_owned(), |n| count(n, "document"));
        (file.file.name.clone(), format!("{}, {documents}", count(file.file.tokens, "token")))
    };
    push_list(facts.files.iter().map(row), facts.files.len(), &mut lines);
    lines
}

/// Returns the lines for Forager samples; `found` are the problems found while reading.
pub fn samples(facts: &ForagerFacts, found: &[Problem]) -> Vec<PageLine> {
    let lengths = match facts.shortest == facts.longest {
        true => grouped(facts.longest),
        false => format!("{} to {}", grouped(facts.shortest), grouped(facts.longest)),
    };
    let mut lines = vec![
        item("samples", grouped(facts.samples)),
        item("size", bytes(facts.bytes)),
        item("bytes a sample", lengths),
    ];
    if let Some(tokens) = facts.sample_size {
        let arrays: Vec<String> = facts.arrays.iter().map(|(name, dtype)| format!("{name} ({dtype})")).collect();
        lines.push(item("tokens a sample", grouped(tokens)));
        lines.push(item("arrays", arrays.join(", ")));
    }
    problems(found, &mut lines);
    let row = |file: &gristmill_ops::engine::check::forager::ForagerFile| {
        let size = file.bytes.map_or_else(|| "missing".to_owned(), bytes);
        (file.name.clone(), format!("{}, {size}", count(file.samples, "sample")))
    };
    push_list(facts.files.iter().map(row), facts.files.len(), &mut lines);
    lines
}

fn push_list(files: impl Iterator<Item = (String, String)>, all: usize, lines: &mut Vec<PageLine>) {
    heading(lines, "Files");
    lines.extend(
        files.take(MAX_FILES).map(|(name, facts)| PageLine::labelled(Tone::Plain, format!("{name}  "), &facts)),
    );
    if let Some(more) = all.checked_sub(MAX_FILES).filter(|more| *more > 0) {
        lines.push(PageLine::new(Tone::Muted, format!("and {more} more")));
    }
}
