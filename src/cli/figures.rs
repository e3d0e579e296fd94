//! `facts`: prints the figures of the facts view, as lines or as JSON.

use super::context::Context;
use super::exit::{fields, CommandResult};
use super::facts::{head, item, print_facts, MAX_LISTED};
use super::media::spread_lines;
use super::paths;
use gristmill_core::text::{bytes, count, display_safe, grouped};
use gristmill_ops::datasets::{Dataset, FigureGroup, Figures};
use gristmill_ops::engine::jsonl::Lengths;

use std::path::Path;

/// Prints the figures of a data set.
pub fn run(path: &Path, context: &Context) -> CommandResult {
    let path = paths::local_or_readable(path)?;
    let cancel = context.signals.cancel_on_signal();
    let figures = Dataset::find(Path::new(&path))?.figures(&FigureGroup::ALL, &context.run_options(), &cancel)?;
    let of_lines = figures.jsonl.iter().flat_map(|facts| &facts.problems);
    let problems: Vec<_> = of_lines.chain(figures.scan.iter().flat_map(|scan| &scan.losses)).cloned().collect();
    Ok(print_facts((&path, figures.kind), lines(&path, &figures), &problems, fields(&figures), context))
}

fn lines(path: &str, figures: &Figures) -> Vec<String> {
    let mut lines = head(path, figures.kind.title());
    if let Some(facts) = &figures.jsonl {
        lines.push(item("size", &bytes(facts.bytes)));
        lines.extend(facts.samples.map(|samples| item("samples", &grouped(samples))));
        lines.push(item("lines", &spread(&facts.line_bytes, "bytes")));
        let keys = facts.keys.iter().take(MAX_LISTED);
        lines.extend(keys.map(|key| item(&format!("key '{}'", display_safe(&key.name)), &count(key.seen, "record"))));
        let texts = facts.text_lengths().zip(facts.text_key.as_deref());
        lines.extend(texts.map(|(lengths, key)| item(&text_of(key), &spread(lengths, "characters"))));
    }
    if let Some(samples) = &figures.samples {
        lines.push(item("samples", &grouped(samples.samples)));
        lines.push(item("size of a sample", &spread(&samples.sample_bytes, "bytes")));
        for part in samples.parts.iter().take(MAX_LISTED) {
            let value = format!("{}, {}", count(part.bytes.count, "sample"), spread(&part.bytes, "bytes"));
            lines.push(item(&format!("part '{}'", display_safe(&part.name)), &value));
        }
    }
    if let Some(scan) = &figures.scan {
        lines.push(item("shards", &grouped(scan.shards)));
        lines.push(item("samples", &grouped(scan.samples)));
        for part in scan.parts.iter().take(MAX_LISTED) {
            let value = format!("{}, {}", count(part.samples, "sample"), bytes(part.bytes));
            lines.push(item(&format!("part '{}'", display_safe(&part.name)), &value));
        }
    }
    lines.extend(figures.media.iter().flat_map(spread_lines));
    for text in figures.texts.iter().flat_map(|texts| &texts.texts).take(MAX_LISTED) {
        lines.push(item(&text_of(&text.name), &spread(&text.characters, "characters")));
    }
    lines
}

fn text_of(name: &str) -> String {
    format!("text '{}'", display_safe(name))
}

/// Returns a distribution of lengths as text.
fn spread(lengths: &Lengths, unit: &str) -> String {
    let mean = grouped(lengths.mean().round() as u64);
    match lengths.count {
        0 => "none".to_owned(),
        _ => format!("{} to {} {unit}, {mean} on average", grouped(lengths.min), grouped(lengths.max)),
    }
}
