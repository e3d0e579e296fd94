//! Gathers the data of the facts view. Runs on a worker thread.

use crate::tui::widgets::{Chart, Unit};
use gristmill_core::text::{bytes, count, duration, grouped};
use gristmill_core::{Cancel, DatasetFacts, DatasetKind, RunOptions, ShardState};
use gristmill_data::source::decode::{part_class, PartClass};
use gristmill_data::source::kind::kind_of;
use gristmill_ops::datasets::{Dataset, FigureGroup, Figures};
use gristmill_ops::engine::jsonl::{self, JsonlFacts};
use gristmill_ops::engine::media::MediaSpread;
use gristmill_ops::engine::spread::DatasetSpread;
use gristmill_ops::engine::texts::TextLengths;
use gristmill_ops::job::scan::LiveScan;
use std::path::Path;
use std::time::Duration;

/// Maximum number of parts with a chart of their own.
const MAX_PARTS: usize = 6;
/// Maximum number of texts with a chart of their own.
const MAX_TEXTS: usize = 4;

/// The facts to draw.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FactsSheet {
    /// A few figures as text, not escaped.
    pub figures: Vec<String>,
    /// Distributions.
    pub charts: Vec<Chart>,
    /// Facts that could not be gathered, with the reason, not escaped.
    pub failures: Vec<String>,
}

impl FactsSheet {
    /// Appends another sheet.
    pub fn add(&mut self, other: Self) {
        self.figures.extend(other.figures);
        self.charts.extend(other.charts);
        // A failure of several groups is listed once.
        for trouble in other.failures {
            if !self.failures.contains(&trouble) {
                self.failures.push(trouble);
            }
        }
    }
}

/// The result of a request.
pub enum FactsResult {
    /// Facts to draw.
    Sheet(Box<FactsSheet>),
    /// A scan that has just started: a data set that is not prepared has no index to read.
    Scan(Box<LiveScan>),
}

/// Gathers one group of facts about the data at a path.
pub fn gather(path: &Path, piece: FigureGroup, options: &RunOptions, cancel: &Cancel) -> FactsResult {
    let is_raw = |kind: DatasetKind| kind.is_web_dataset() && !kind.has_splits();
    if piece == FigureGroup::Samples && kind_of(path).is_ok_and(is_raw) {
        return match LiveScan::start(path, options) {
            Ok(scan) => FactsResult::Scan(Box::new(scan)),
            Err(failure) => FactsResult::Sheet(Box::new(FactsSheet {
                failures: vec![failure.to_string()],
                ..FactsSheet::default()
            })),
        };
    }
    FactsResult::Sheet(Box::new(counted(path, piece, cancel)))
}

pub(super) fn counted(path: &Path, piece: FigureGroup, cancel: &Cancel) -> FactsSheet {
    let figures = Dataset::find(path).and_then(|set| set.figures(&[piece], &RunOptions::default(), cancel));
    match figures {
        Ok(figures) => sheet_of(&figures),
        Err(failure) => FactsSheet {
            failures: if failure.is_cancelled() { Vec::new() } else { vec![failure.to_string()] },
            ..FactsSheet::default()
        },
    }
}

fn sheet_of(figures: &Figures) -> FactsSheet {
    let mut sheet = FactsSheet::default();
    figures.jsonl.iter().for_each(|facts| sheet.add(of_jsonl(facts)));
    figures.samples.iter().for_each(|spread| sheet.add(of_dataset(spread)));
    figures.media.iter().for_each(|spread| sheet.add(media_sheet(spread)));
    figures.texts.iter().for_each(|lengths| sheet.add(of_texts(lengths)));
    sheet
}

fn of_jsonl(facts: &JsonlFacts) -> FactsSheet {
    let mut sheet = FactsSheet { figures: vec![bytes(facts.bytes)], ..FactsSheet::default() };
    if let Some(samples) = facts.samples {
        sheet.figures.insert(0, count(samples, "sample"));
    }
    sheet.figures.push(facts.index.word().to_owned());
    if !facts.is_complete {
        sheet.figures.push(format!("the first {} looked at", count(facts.looked_at, "record")));
    }
    let name = facts.text_key.as_deref().unwrap_or_default();
    let lengths = facts.text_lengths().and_then(|l| Chart::of_lengths("text length", l, Unit::Characters));
    sheet.charts.extend(lengths.map(|chart| Chart { title: length_title(name), ..chart }));
    sheet.charts.extend(Chart::of_lengths("bytes a line", &facts.line_bytes, Unit::Bytes));
    let keys: Vec<(String, u64)> = facts.keys.iter().map(|key| (key.name.clone(), key.seen)).collect();
    sheet.charts.extend(Chart::of_shares("records with key", &keys, facts.looked_at));
    sheet.failures.extend(facts.problems.iter().map(ToString::to_string));
    if facts.unparsed > 0 {
        let words = format!("{} cannot be parsed as JSON", count(facts.unparsed, "record"));
        sheet.failures.push(words);
    }
    sheet
}

fn of_dataset(spread: &DatasetSpread) -> FactsSheet {
    let mut sheet = FactsSheet { figures: vec![count(spread.samples, "sample")], ..FactsSheet::default() };
    if spread.looked_at == 0 {
        sheet.figures.push("no sample tables: parts are not known".to_owned());
    } else if spread.looked_at < spread.samples {
        sheet.figures.push(format!("the first {} looked at", grouped(spread.looked_at)));
    }
    sheet.charts.extend(Chart::of_lengths("bytes a sample", &spread.sample_bytes, Unit::Bytes));
    let missing: Vec<(String, u64)> = spread
        .parts
        .iter()
        .map(|part| (part.name.clone(), spread.looked_at.saturating_sub(part.bytes.count)))
        .filter(|(_, missing)| *missing > 0)
        .collect();
    let with: Vec<(String, u64)> = spread.parts.iter().map(|p| (p.name.clone(), p.bytes.count)).collect();
    sheet.charts.extend(Chart::of_shares("samples with part", &with, spread.looked_at));
    sheet.charts.extend(Chart::of_shares("samples that lack a part", &missing, spread.looked_at));
    // Text parts are skipped: their charts count characters and are gathered by [`FigureGroup::Texts`].
    let is_text = |name: &str| part_class(name) == PartClass::Text;
    for part in spread.parts.iter().filter(|part| !is_text(&part.name)).take(MAX_PARTS) {
        sheet.charts.extend(Chart::of_lengths(&format!("bytes of {}", part.name), &part.bytes, Unit::Bytes));
    }
    sheet
}

fn media_sheet(spread: &MediaSpread) -> FactsSheet {
    let mut sheet = FactsSheet::default();
    sheet.figures.push(format!("{} of media", count(spread.rows, "row")));
    for filter in &spread.filters {
        let patterns = if filter.patterns.is_empty() { String::new() } else { format!(" {}", filter.patterns) };
        sheet.figures.push(format!("picked by {}{patterns}", filter.strategy.to_lowercase()));
    }
    if spread.seconds >= 1.0 {
        sheet
            .figures
            .push(format!("{} of sound and video", duration(Duration::from_secs_f64(spread.seconds.min(1e12)))));
    }
    if spread.unreadable > 0 {
        sheet.failures.push(format!("{} cannot be read", count(spread.unreadable, "row")));
    }
    let sides = Chart::of("longer side of pictures, in pixels", &spread.sides);
    let extent = spread.extent.map(|[low, high]| format!("{}×{} to {}×{}", low.0, low.1, high.0, high.1));
    sheet.charts.extend(sides.map(|chart| Chart { note: extent.unwrap_or_default(), ..chart }));
    let lists = [
        ("width x height of pictures, the most frequent", &spread.sizes),
        ("formats", &spread.formats),
        ("modes", &spread.modes),
        ("durations", &spread.durations),
        ("width x height of videos", &spread.video_sizes),
        ("sound", &spread.audio),
    ];
    sheet.charts.extend(lists.into_iter().filter_map(|(title, counts)| Chart::of(title, counts)));
    sheet
}

fn of_texts(lengths: &TextLengths) -> FactsSheet {
    let mut sheet = FactsSheet::default();
    for spread in lengths.texts.iter().take(MAX_TEXTS) {
        let chart = Chart::of_lengths(&length_title(&spread.name), &spread.characters, Unit::Characters);
        sheet.charts.extend(chart);
    }
    if !lengths.is_complete && !sheet.charts.is_empty() {
        sheet.figures.push(format!("texts of {}, evenly spread", count(lengths.looked_at, "sample")));
    }
    if lengths.unread > 0 {
        sheet.failures.push(format!("{} cannot be read as text", count(lengths.unread, "text part")));
    }
    sheet
}

fn length_title(name: &str) -> String {
    format!("length of '{name}', in characters")
}

/// Returns the facts that a scan has found so far.
pub fn of_scan(facts: &DatasetFacts) -> FactsSheet {
    let mut sheet = FactsSheet { figures: vec![count(facts.samples_seen, "sample")], ..FactsSheet::default() };
    let read = facts.shards.iter().filter(|s| s.state == ShardState::Scanned).count() as u64;
    let of = count(facts.shards.len() as u64, "shard");
    sheet.figures.push(format!("{} of {of} read", grouped(read)));
    let mut parts: Vec<(String, u64, u64)> =
        facts.parts.iter().map(|(name, p)| (name.clone(), p.samples, p.bytes / p.samples.max(1))).collect();
    parts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let with: Vec<(String, u64)> = parts.iter().map(|(n, s, _)| (n.clone(), *s)).collect();
    let lacking = |(name, samples, _): &(String, u64, u64)| {
        Some((name.clone(), facts.samples_seen.saturating_sub(*samples))).filter(|(_, n)| *n > 0)
    };
    let missing: Vec<(String, u64)> = parts.iter().filter_map(lacking).collect();
    let sizes: Vec<(String, u64)> = parts.iter().map(|(n, _, b)| (n.clone(), *b)).collect();
    sheet.charts.extend(Chart::of_shares("samples with part", &with, facts.samples_seen));
    sheet.charts.extend(Chart::of_shares("samples that lack a part", &missing, facts.samples_seen));
    sheet.charts.extend(Chart::of("bytes of a part, on average", &sizes));
    let scanned: Vec<&gristmill_core::ShardFacts> =
        facts.shards.iter().filter(|s| s.state == ShardState::Scanned && s.samples > 0).collect();
    let mut a_sample = jsonl::Lengths::default();
    scanned.iter().for_each(|s| a_sample.add(s.stamp.bytes / s.samples));
    sheet.charts.extend(Chart::of_lengths("bytes a sample, on average of each shard", &a_sample, Unit::Bytes));
    sheet
}
