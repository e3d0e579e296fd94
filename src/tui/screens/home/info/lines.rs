//! The engine's facts about a data set as lines of the page: the same facts as the `info` command prints.

use crate::tui::screens::page::{PageLine, Tone};
use crate::tui::theme::Glyphs;
use crate::tui::widgets::split_bar;
use gristmill_core::text::{bytes, count, duration, grouped};
use gristmill_core::{Problem, Severity};
use gristmill_data::formats::energon::jsonl_idx::IndexState;
use gristmill_ops::engine::check::{InfoReport, MediaFolderInfo, SplitInfo};
use gristmill_ops::engine::jsonl::{JsonlFacts, KeyFacts, Lengths};
use gristmill_ops::engine::media::MediaSpread;
use gristmill_ops::engine::mix::{MixFacts, MixNode, MixNodeKind};
use std::time::Duration;

/// Maximum number of names shown of one list.
const MAX_SHOWN_NAMES: usize = 8;
/// Maximum number of nodes listed of one split.
const MAX_NODES: usize = 200;
/// Maximum number of record keys listed.
const MAX_KEYS: usize = 50;
/// Number of first records shown.
const SHOWN_RECORDS: usize = 5;
/// Width in columns of the bar of a share.
const BAR_COLUMNS: usize = 14;

pub(super) fn item(name: &str, value: impl AsRef<str>) -> PageLine {
    PageLine::labelled(Tone::Plain, format!("{name:<16}"), value.as_ref())
}

pub(super) fn heading(lines: &mut Vec<PageLine>, text: impl Into<String>) {
    lines.push(PageLine::new(Tone::Plain, ""));
    lines.push(PageLine::new(Tone::Heading, text));
}

/// Returns the lines for a prepared WebDataset.
pub fn webdataset(report: &InfoReport) -> Vec<PageLine> {
    let sample_type = report.sample_type.clone().unwrap_or_else(|| "none: there is no dataset yaml".to_owned());
    let mut lines = vec![
        item("samples", grouped(report.samples)),
        item("shards", format!("{}, {}", grouped(report.shards), bytes(report.bytes))),
        item("format", report.version.as_deref().unwrap_or("not given")),
        item("sample type", sample_type),
    ];
    for field in report.field_map.iter().flatten() {
        lines.push(item("", format!("{} = {}", field.field, field.expr)));
    }
    if let Some(loader) = &report.sample_loader {
        lines.push(item("sample loader", loader));
    }
    lines.push(item("found by name", if report.has_sample_tables { "yes" } else { "no: index.sqlite is missing" }));
    if report.excluded_shards + report.excluded_samples > 0 {
        let (shards, samples) = (count(report.excluded_shards, "shard"), count(report.excluded_samples, "sample"));
        lines.push(item("excluded", format!("{shards}, {samples}")));
    }
    heading(&mut lines, "Splits");
    lines.extend(report.splits.iter().map(split));
    if !report.unassigned.is_empty() {
        lines.push(item("in no split", count(report.unassigned.len() as u64, "shard")));
    }
    report.media.iter().for_each(|media| spread(media, &mut lines));
    problems(&report.problems, &mut lines);
    lines
}

fn split(split: &SplitInfo) -> PageLine {
    let samples = count(split.samples, "sample");
    let shards = count(split.shards, "shard");
    let text = format!(
        "{:<12}{samples:>18}  {shards:>12}  {:>5.1} %  {}",
        split.name,
        split.share * 100.0,
        bytes(split.bytes)
    );
    PageLine::new(Tone::Plain, text)
}

/// Returns the lines for a folder of media that has media tables.
pub fn media_folder(report: &MediaFolderInfo) -> Vec<PageLine> {
    let mut lines = vec![item("database", bytes(report.database_bytes))];
    spread(&report.media, &mut lines);
    lines
}

fn spread(media: &MediaSpread, lines: &mut Vec<PageLine>) {
    heading(lines, "Media metadata");
    let (pictures, av) = (count(media.images, "picture"), grouped(media.av));
    lines.push(item("rows", format!("{}: {pictures}, {av} of sound or video", grouped(media.rows))));
    for filter in &media.filters {
        let patterns = if filter.patterns.is_empty() { String::new() } else { format!(" {}", filter.patterns) };
        let strategy = filter.strategy.to_lowercase();
        lines.push(item("picked by", format!("{strategy}{patterns}, first {} UTC", filter.created_at)));
    }
    let lists = [
        ("formats", &media.formats),
        ("modes", &media.modes),
        ("longer side", &media.sides),
        ("sizes", &media.sizes),
        ("video sizes", &media.video_sizes),
        ("durations", &media.durations),
        ("sound", &media.audio),
    ];
    lines
        .extend(lists.into_iter().filter(|(_, list)| !list.is_empty()).map(|(name, list)| item(name, list_text(list))));
    if media.seconds >= 1.0 {
        lines.push(item("plays for", duration(Duration::try_from_secs_f64(media.seconds).unwrap_or_default())));
    }
    if media.unreadable > 0 {
        lines.push(PageLine::new(Tone::Warn, format!("! {} cannot be read", count(media.unreadable, "row"))));
    }
}

fn list_text(list: &[(String, u64)]) -> String {
    let shown: Vec<String> =
        list.iter().take(MAX_SHOWN_NAMES).map(|(name, rows)| format!("{name} {}", grouped(*rows))).collect();
    match list.len().checked_sub(MAX_SHOWN_NAMES).filter(|more| *more > 0) {
        Some(more) => format!("{}, and {more} more", shown.join(", ")),
        None => shown.join(", "),
    }
}

/// Returns the lines for a JSONL file; `prepare` is the key in the list that writes its index.
pub fn jsonl(facts: &JsonlFacts, prepare: &str) -> Vec<PageLine> {
    let index = match &facts.index {
        IndexState::Fits { samples } => format!("fits the file, {}", bytes((samples + 1) * 8)),
        IndexState::Missing => format!("none: {prepare} on the list writes it"),
        IndexState::OutOfDate { why } => format!("out of date: {why}"),
    };
    let samples = facts.samples.map_or_else(|| "not known before it is indexed".to_owned(), grouped);
    let mut lines = vec![item("samples", samples), item("size", bytes(facts.bytes)), item("index", index)];
    if facts.line_bytes.count > 0 {
        lines.push(item("bytes a sample", range(&facts.line_bytes)));
    }
    if !facts.keys.is_empty() {
        heading(&mut lines, format!("Keys of {}", records(facts)));
        lines.extend(facts.keys.iter().take(MAX_KEYS).map(|key| key_line(key, facts.looked_at)));
        if let Some(more) = facts.keys.len().checked_sub(MAX_KEYS).filter(|more| *more > 0) {
            lines.push(PageLine::new(Tone::Muted, format!("and {more} more")));
        }
    }
    if !facts.records.is_empty() {
        heading(&mut lines, "First records");
        lines.extend(
            facts
                .records
                .iter()
                .take(SHOWN_RECORDS)
                .map(|r| PageLine::labelled(Tone::Plain, format!("{:<4}", r.line), &*r.text)),
        );
    }
    if facts.unparsed > 0 {
        let text = format!("! {} cannot be parsed", count(facts.unparsed, "record"));
        lines.push(PageLine::new(Tone::Warn, text));
    }
    problems(&facts.problems, &mut lines);
    lines
}

fn records(facts: &JsonlFacts) -> String {
    let records = count(facts.looked_at, "record");
    if facts.is_complete {
        records
    } else {
        format!("the first {records}")
    }
}

fn range(lengths: &Lengths) -> String {
    if lengths.min == lengths.max {
        return grouped(lengths.min);
    }
    format!("{} to {}, {:.0} on average", grouped(lengths.min), grouped(lengths.max), lengths.mean())
}

fn key_line(key: &KeyFacts, records: u64) -> PageLine {
    let kinds: Vec<&str> = key.kinds.iter().map(|(kind, _)| *kind).collect();
    let mut text = kinds.join(" or ");
    if key.seen < records {
        text.push_str(&format!(", in {} of {}", grouped(key.seen), grouped(records)));
    }
    if key.text.count > 0 {
        let (shortest, longest, mean) = (key.text.min, key.text.max, key.text.mean());
        text.push_str(&format!(", {} to {} characters, {mean:.0} on average", grouped(shortest), grouped(longest)));
    }
    item(&format!("{} ", key.name), text)
}

/// Returns the lines for a metadataset: each split as a tree of shares; `prepare` is the key in the list that writes what it lacks.
pub fn mixture(facts: &MixFacts, prepare: &str, glyphs: &Glyphs) -> Vec<PageLine> {
    let mut lines = vec![item("version", facts.version.to_string())];
    for join in &facts.joins {
        let state = match join.is_prepared {
            true => "its index is there".to_owned(),
            false => format!("its index is not written: {prepare} on the list writes it"),
        };
        lines.push(item("join", format!("in {}: {state}", join.split)));
    }
    for aux in &facts.aux {
        let all = count(aux.found + aux.missing, "name");
        lines.push(item("media of", format!("{}: {} of {all} found", aux.member, grouped(aux.found))));
    }
    // Problems are listed before the trees, which are long, because they say why the loader stops.
    problems(&facts.problems, &mut lines);
    for split in &facts.splits {
        heading(&mut lines, format!("{}: {}", split.name, summary(&split.root)));
        let mut left = MAX_NODES;
        node(&split.root, 0, glyphs, &mut left, &mut lines);
        if left == 0 {
            lines.push(PageLine::new(Tone::Muted, format!("only the first {MAX_NODES} are listed")));
        }
    }
    lines
}

fn summary(root: &MixNode) -> String {
    match (root.samples_per_epoch, root.kind) {
        (None, _) => "samples per epoch are not known".to_owned(),
        (Some(samples), MixNodeKind::Blend) => {
            format!("{} in all, drawn by weight without end", count(samples, "sample"))
        }
        (Some(samples), _) => format!("{} an epoch", count(samples, "sample")),
    }
}

fn node(node: &MixNode, depth: usize, glyphs: &Glyphs, left: &mut usize, lines: &mut Vec<PageLine>) {
    if *left == 0 {
        return;
    }
    *left -= 1;
    let indent = "  ".repeat(depth.min(20));
    let part = node.split_part.as_ref().map_or_else(String::new, |split| format!(" [{split}]"));
    let (share, bar) = (node.share * 100.0, split_bar(node.share, BAR_COLUMNS, glyphs));
    let tone = if node.kind == MixNodeKind::Unusable { Tone::Error } else { Tone::Plain };
    lines.push(PageLine::new(tone, format!("{share:>5.1} % {bar} {indent}{}{part}", node.label)));
    lines.push(PageLine::labelled(Tone::Muted, format!("{:23}{indent}", ""), node_facts(node)));
    for child in &node.children {
        if node.kind == MixNodeKind::Join {
            lines.push(PageLine::new(Tone::Plain, format!("{:23}{indent}with {}", "", child.label)));
        } else {
            self::node(child, depth + 1, glyphs, left, lines);
        }
    }
}

fn node_facts(node: &MixNode) -> String {
    if node.kind == MixNodeKind::Unusable {
        return "cannot be used".to_owned();
    }
    let mut facts = vec![node.samples.map_or_else(|| "samples not known".to_owned(), |n| count(n, "sample"))];
    facts.extend(node.weight.map(|weight| format!("weight {weight}")));
    if let Some(repetitions) = node.repetitions {
        facts.push(gristmill_core::text::times(repetitions));
        facts.extend(node.samples_per_epoch.map(|n| format!("{} an epoch", grouped(n))));
    }
    let uneven = node.oversampling.filter(|factor| (factor - 1.0).abs() > 0.005);
    facts.extend(uneven.map(|factor| format!("seen {factor:.2}x as often as an even mixture")));
    facts.join(", ")
}

pub(super) fn problems(problems: &[Problem], lines: &mut Vec<PageLine>) {
    if problems.is_empty() {
        return;
    }
    heading(lines, "Problems");
    for problem in problems {
        let tone = match problem.severity {
            Severity::Refusal => Tone::Error,
            Severity::Problem => Tone::Warn,
            Severity::Note => Tone::Muted,
        };
        lines.push(PageLine::new(tone, format!("! {problem}")));
        lines.extend(problem.hint.as_ref().map(|hint| PageLine::new(Tone::Muted, format!("  hint: {hint}"))));
    }
}
