//! `info` of folders of outputs: tokens packed in several formats, and indexes of mixtures.

use super::context::Context;
use super::exit::{fields, Finished};
use super::facts::{head, item, more, print_facts, MAX_LISTED};
use gristmill_core::table::{Align, Table};
use gristmill_core::text::{grouped, size};
use gristmill_core::{DatasetKind, Handles, ProblemLog, Progress};
use gristmill_ops::engine::check::mixture_index::{mixture_facts, MixtureFacts};
use gristmill_ops::tokens::packed_formats::{format_facts, FormatFacts};
use serde_json::{json, Map};
use std::path::Path;

/// Prints the content of a folder of this kind.
pub fn info(path: &str, kind: DatasetKind, context: &Context) -> Finished {
    let (progress, cancel, log) = (Progress::default(), context.signals.listen(), ProblemLog::default());
    let handles = Handles { progress: &progress, cancel: &cancel, problems: &log };
    if kind == DatasetKind::MixtureIndex {
        let facts = mixture_facts(Path::new(path), u64::MAX, &handles)?;
        return Ok(print_facts((path, kind), mixture_lines(path, &facts), &log.to_vec(), fields(&facts), context));
    }
    let (formats, problems) = format_facts(Path::new(path), &handles)?;
    let mut result = Map::new();
    result.insert("formats".into(), json!(formats));
    Ok(print_facts((path, kind), format_lines(path, &formats), &problems, result, context))
}

fn format_lines(path: &str, formats: &[FormatFacts]) -> Vec<String> {
    let mut lines = head(path, DatasetKind::PackedFormats.title());
    lines.push(item("size", &size(formats.iter().map(|format| format.bytes).sum())));
    let right = Align::Right;
    let mut table = Table::new(&[
        ("format", Align::Left),
        ("files", right),
        ("documents or samples", right),
        ("size", right),
        ("state", Align::Left),
    ]);
    for format in formats {
        table.row([
            format.format.to_owned(),
            grouped(format.files),
            grouped(format.items),
            size(format.bytes),
            format.state.to_owned(),
        ]);
    }
    lines.extend(table.lines());
    lines
}

fn mixture_lines(path: &str, facts: &MixtureFacts) -> Vec<String> {
    let mut lines = head(path, DatasetKind::MixtureIndex.title());
    lines.push(item("samples", &grouped(facts.samples)));
    lines.push(item("data sets", &grouped(facts.datasets.len() as u64)));
    lines.push(item("size", &size(facts.bytes)));
    let mut table = Table::new(&[("data set", Align::Left), ("samples", Align::Right)]);
    for (number, samples) in facts.datasets.iter().take(MAX_LISTED) {
        table.row([number.to_string(), grouped(*samples)]);
    }
    lines.extend(table.lines());
    lines.extend(more(facts.datasets.len().saturating_sub(MAX_LISTED) as u64));
    lines
}
