//! What is known of an entry, as a page. A prepared data set's small files are read on a worker thread.

use super::{headline, Entry, Look, State};
use crate::engine::check::{info, InfoOptions, InfoReport, SplitInfo};
use crate::model::text::{bytes, count, grouped};
use crate::model::{DatasetKind, Outcome};
use crate::tui::keymap::{Action, Context};
use crate::tui::screen::{Effect, Input, Screen, Ui, UiEnv};
use crate::tui::screens::page::{Page, PageLine, Tone};
use crate::tui::work::Latest;
use ratatui::layout::Rect;
use ratatui::Frame;
use std::path::PathBuf;

/// The page of `i`.
pub struct InfoPage {
    page: Page,
    lines: Vec<PageLine>,
    worker: Latest<PathBuf, Outcome<InfoReport>>,
}

impl InfoPage {
    /// The page of an entry; what is not known yet follows.
    pub fn new(entry: &Entry, seen: &Look, env: &UiEnv) -> Self {
        let mut lines = first_lines(entry, seen, env.ascii);
        let mut worker = Latest::start("info", env.wake.clone(), |path: PathBuf| info(&path, &InfoOptions::default()));
        let mut shown = lines.clone();
        if seen.kind == DatasetKind::PreparedWebDataset {
            worker.ask(entry.path.clone());
            shown.push(PageLine::new(Tone::Muted, "reading what the preparation wrote"));
        }
        lines.push(PageLine::new(Tone::Plain, ""));
        let name = entry.path.file_name().map_or_else(|| entry.name.clone(), super::look::name_of);
        Self { page: Page::new(vec!["info".to_owned(), name], shown), lines, worker }
    }
}

fn first_lines(entry: &Entry, seen: &Look, ascii: bool) -> Vec<PageLine> {
    let mut lines =
        vec![PageLine::new(Tone::Heading, entry.path.to_string_lossy()), PageLine::new(Tone::Plain, headline(seen))];
    let amount = seen.amount(if ascii { "-" } else { "·" });
    if !amount.is_empty() {
        lines.push(PageLine::new(Tone::Plain, amount));
    }
    if !seen.parts.is_empty() {
        lines.push(PageLine::new(Tone::Plain, format!("parts of the first sample: {}", seen.parts.join(" "))));
    }
    match &seen.state {
        State::Interrupted => lines.push(PageLine::new(Tone::Warn, "A preparation was begun here and not finished.")),
        State::Locked(holder) => lines.push(PageLine::new(Tone::Warn, format!("In use by process {holder}."))),
        State::Stale(why) => lines.push(PageLine::new(Tone::Warn, format!("Out of date: {why}."))),
        State::Broken(why) => lines.push(PageLine::new(Tone::Error, why.clone())),
        State::None | State::Raw | State::Prepared => {}
    }
    lines
}

fn report_lines(report: &InfoReport) -> Vec<PageLine> {
    let item = |name: &str, value: String| PageLine::new(Tone::Plain, format!("{name:<16}{value}"));
    let sample_type = report.sample_type.clone().unwrap_or_else(|| "none: there is no dataset yaml".to_owned());
    let mut lines = vec![
        item("samples", grouped(report.samples)),
        item("shards", format!("{}, {}", grouped(report.shards), bytes(report.bytes))),
        item("format", report.version.clone().unwrap_or_else(|| "not told".to_owned())),
        item("sample type", sample_type),
    ];
    for field in report.field_map.iter().flatten() {
        lines.push(item("", format!("{} = {}", field.field, field.expr)));
    }
    if let Some(loader) = &report.sample_loader {
        lines.push(item("sample loader", loader.clone()));
    }
    let by_name = if report.has_sample_tables { "yes" } else { "no: index.sqlite is missing" };
    lines.push(item("found by name", by_name.to_owned()));
    if report.excluded_shards + report.excluded_samples > 0 {
        let (shards, samples) = (count(report.excluded_shards, "shard"), count(report.excluded_samples, "sample"));
        lines.push(item("excluded", format!("{shards}, {samples}")));
    }
    lines.push(PageLine::new(Tone::Plain, ""));
    lines.push(PageLine::new(Tone::Heading, "Splits"));
    lines.extend(report.splits.iter().map(split_line));
    if !report.unassigned.is_empty() {
        lines.push(item("in no split", count(report.unassigned.len() as u64, "shard")));
    }
    for problem in &report.problems {
        lines.push(PageLine::new(Tone::Warn, format!("! {problem}")));
    }
    lines
}

fn split_line(split: &SplitInfo) -> PageLine {
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

impl Screen for InfoPage {
    fn context(&self) -> Context {
        Context::Page
    }
    fn title(&self) -> Vec<String> {
        self.page.title()
    }
    fn draw(&mut self, frame: &mut Frame, area: Rect, ui: &Ui) {
        self.page.draw(frame, area, ui);
    }
    fn handle(&mut self, input: Input) -> Vec<Effect> {
        self.page.handle(input)
    }
    fn why_disabled(&self, action: Action) -> Option<String> {
        self.page.why_disabled(action)
    }

    fn tick(&mut self, _: &mut Vec<Effect>) -> bool {
        let Some(answer) = self.worker.take() else { return false };
        let mut lines = self.lines.clone();
        match answer {
            Ok(report) => lines.extend(report_lines(&report)),
            Err(failure) => {
                lines.push(PageLine::new(Tone::Error, failure.to_string()));
                lines.extend(failure.hint.map(|hint| PageLine::new(Tone::Muted, format!("hint: {hint}"))));
            }
        }
        self.page.set_lines(lines);
        true
    }
}
