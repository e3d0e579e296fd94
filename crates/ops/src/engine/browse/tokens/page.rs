//! Prepares a row of packed tokens for display, page by page.

use super::file::{LossMask, TokenFile, MAX_ENDS};
use super::{TokenSet, IDS};
use crate::engine::browse::BrowseSample;
use gristmill_core::text::{bytes, count, display_safe, grouped};
use gristmill_core::{Cancel, Outcome};
use gristmill_data::preview::tokens::{TokenRun, TokenSpellings};
use gristmill_data::preview::{Drawable, Page, PartPreview};
use std::sync::Arc;

/// Tokens of running text on one page.
const TEXT_TOKENS: u64 = 8_192;
/// Tokens on one page of rows.
const ROW_TOKENS: u64 = 2_048;

/// Returns a page of a part of a row, from byte `from` on, where the previous page ended. Reads from storage, so it must run on a worker.
pub fn page(set: &TokenSet, row: &BrowseSample, part: usize, from: u64, cancel: &Cancel) -> PartPreview {
    let name = row.parts.get(part).map_or("", |part| &*part.name);
    let mut out = PartPreview {
        name: display_safe(name).into_owned(),
        title: name.to_owned(),
        body: Drawable::fact("(empty)"),
        facts: Vec::new(),
        notes: Vec::new(),
        page: Page::whole(row.byte_size),
    };
    if let Err(failure) = cancel.check().and_then(|()| fill(set, row, name == IDS, from, &mut out)) {
        out.notes.insert(0, failure.to_string());
        out.body = Drawable::fact("it could not be shown");
    }
    out
}

fn fill(set: &TokenSet, row: &BrowseSample, is_rows: bool, from: u64, out: &mut PartPreview) -> Outcome<()> {
    let file = set.file(row.at.group)?;
    let size = file.code.size();
    let extent = file.extent(row.byte_size);
    let total = extent / size;
    let most = if is_rows { ROW_TOKENS } else { TEXT_TOKENS };
    // A page begins at a whole token, whatever offset is requested.
    let first = (from / size).min(total);
    let shown = (total - first).min(most);
    let limit = usize::try_from(shown * size).unwrap_or(0);
    let raw = file.read(row.byte_offset, extent, first * size, limit)?;
    let ids = file.code.ids(&raw);
    let end = first + ids.len() as u64;
    out.page = Page { from: first * size, to: (end * size).min(extent), of: total * size };
    out.title = format!("{} {}", out.name, count(total, "token"));
    let start = row.byte_offset.saturating_sub(file.data_from) / size;
    let masked = masked(file, row, start + first, first, ids.len(), out);
    let breaks = breaks(set, file, row, start, first, &ids)?;
    let pieces = set.vocabulary().map(|vocabulary| vocabulary.as_ref() as &dyn TokenSpellings);
    let is_tail = set.window.is_some_and(|window| total < window.block);
    let run = TokenRun { ids: &ids, first, masked: &masked, breaks: &breaks, waste_from: is_tail.then_some(0), pieces };
    if total > 0 {
        // Without a vocabulary there is no text, so the ids are shown instead.
        let shown = if is_rows || pieces.is_none() { run.as_rows() } else { run.as_text() };
        out.body = Drawable::Tokens(Arc::new(shown));
    }
    notes(set, file, row, is_tail, is_rows, out);
    facts(set, file, row, start, total, &masked, out);
    let documents = breaks.len();
    if set.window.is_some() && documents > 0 {
        out.facts.push(("borders of documents in it".into(), grouped(documents as u64)));
    }
    Ok(())
}

/// Returns which of the shown tokens are not used in training.
fn masked(
    file: &TokenFile,
    row: &BrowseSample,
    in_file: u64,
    in_row: u64,
    count: usize,
    out: &mut PartPreview,
) -> Vec<bool> {
    let read = match &file.loss {
        None => return Vec::new(),
        Some(LossMask::File(path)) => super::super::read_in_file(path, in_file, count as u64, 0, count),
        Some(LossMask::AfterTokens(tokens)) => {
            let at = row.byte_offset.saturating_add(tokens.saturating_mul(file.code.size())).saturating_add(in_row);
            file.read(at, count as u64, 0, count)
        }
    };
    match read {
        Ok(bytes) => {
            if bytes.len() < count {
                out.notes.push("its loss mask is cut short".into());
            }
            let unread = u8::from(matches!(file.loss, Some(LossMask::AfterTokens(_))));
            bytes.iter().map(|byte| *byte == unread).collect()
        }
        Err(failure) => {
            out.notes.push(format!("its loss mask cannot be read: {}", failure.why));
            Vec::new()
        }
    }
}

/// Returns where documents begin in a row, with a description.
fn breaks(
    set: &TokenSet,
    file: &TokenFile,
    row: &BrowseSample,
    start: u64,
    first: u64,
    ids: &[i128],
) -> Outcome<Vec<(usize, String)>> {
    if set.window.is_some() {
        let (from, to) = (start + first, start + first + ids.len() as u64);
        let (document, ends) = file.ends_within(from, to)?;
        let mut breaks: Vec<(usize, String)> = Vec::new();
        if let Some(document) = document.filter(|_| first == 0) {
            breaks.push((0, format!("document {}", grouped(document))));
        }
        let next = document.unwrap_or(0) + 1;
        for (end, number) in ends.into_iter().zip(next..) {
            let at = usize::try_from(end.saturating_sub(from)).unwrap_or(usize::MAX);
            breaks.push((at, format!("document {}", grouped(number))));
        }
        return Ok(breaks);
    }
    // Samples of a fixed size do not record the ends of documents, so these are found by the end token.
    let is_sample = matches!(file.table, super::file::Table::Rows(..)) && row.byte_size > 0;
    let is_end = |id: &i128| {
        let id = u32::try_from(*id).ok();
        id.is_some_and(|id| match (set.end, set.vocabulary()) {
            (Some(end), _) => id == end,
            (None, Some(vocabulary)) => vocabulary.ends_documents(id),
            (None, None) => false,
        })
    };
    let ends = ids.iter().enumerate().filter(|(at, id)| is_sample && at + 1 < ids.len() && is_end(id));
    Ok(ends.map(|(at, _)| (at + 1, "next document".to_owned())).take(MAX_ENDS).collect())
}

fn notes(set: &TokenSet, file: &TokenFile, row: &BrowseSample, is_tail: bool, is_rows: bool, out: &mut PartPreview) {
    out.notes.extend(row.defect.iter().map(|why| display_safe(why).into_owned()));
    out.notes.extend(file.defect.iter().map(|why| display_safe(why).into_owned()));
    if is_tail {
        out.notes.push("left over at the end of the file: it fills no window, training never reads it".into());
    }
    if let Some(why) = set.note().filter(|_| !is_rows) {
        out.notes.push(format!("ids have no text without their tokenizer; {}", display_safe(why)));
    }
}

fn facts(
    set: &TokenSet,
    file: &TokenFile,
    row: &BrowseSample,
    start: u64,
    total: u64,
    masked: &[bool],
    out: &mut PartPreview,
) {
    // If masks follow the tokens of each sample, an offset in the file cannot be converted to a number of tokens.
    if !matches!(file.loss, Some(LossMask::AfterTokens(_))) {
        let span = format!("{} to {}", grouped(start), grouped(start + total));
        out.facts.push(("tokens of the file".into(), format!("{span} of {}", grouped(file.tokens()))));
    }
    if let Some(window) = set.window {
        let tokens = file.tokens();
        let words = format!(
            "{} of {} tokens, {} left over",
            grouped(window.count(tokens)),
            grouped(window.block),
            grouped(window.waste(tokens))
        );
        out.facts.push(("windows of the file".into(), words));
    }
    if !masked.is_empty() {
        let untrained = masked.iter().filter(|masked| **masked).count();
        out.facts.push(("not trained on".into(), format!("{} of those shown", grouped(untrained as u64))));
    }
    let stored = format!("{} an id, {}", count(file.code.size(), "byte"), bytes(row.byte_size));
    out.facts.push(("stored".into(), stored));
    if let Some(vocabulary) = set.vocabulary() {
        out.facts.push(("tokenizer".into(), display_safe(vocabulary.name()).into_owned()));
    }
}
