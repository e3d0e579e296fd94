//! Shows the progress of a job: a bar on terminals, JSON lines with `--json`, otherwise a line every ten seconds or five percent.

use super::context::Context;
use super::printer::Printer;
use gristmill_core::text::{bytes, count, duration, grouped};
use gristmill_ops::job::{JobStatus, Phase};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::json;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Maximum time between two lines while the job makes progress.
const LINE_EVERY: Duration = Duration::from_secs(10);
/// Columns of the bar without its figures.
const FIXED_COLUMNS: usize = 42;
/// Number of percent of the job between two lines.
const LINE_PERCENT: u64 = 5;

enum Kind {
    Silent,
    Bar(ProgressBar),
    Lines,
    Json,
}

/// The progress display of one job.
pub struct ProgressView<'a> {
    printer: &'a Printer,
    kind: Kind,
    phase: Option<Phase>,
    last: Instant,
    last_percent: u64,
    /// The word for the work, if it replaces that for the phase.
    verb: Option<&'static str>,
}

impl<'a> ProgressView<'a> {
    /// Returns the display for the flags and the terminal.
    pub fn new(context: &'a Context) -> Self {
        let printer = &context.printer;
        let kind = if printer.is_json() {
            Kind::Json
        } else if printer.is_quiet() || context.globals.no_progress {
            Kind::Silent
        } else if std::io::stderr().is_terminal() && !context.globals.plain && !is_dumb() {
            Kind::Bar(bar(printer, context.globals.ascii))
        } else {
            Kind::Lines
        };
        Self { printer, kind, phase: None, last: Instant::now(), last_percent: 0, verb: None }
    }

    /// Returns the display with its own word for the work.
    pub fn named(context: &'a Context, verb: &'static str) -> Self {
        let mut view = Self::new(context);
        view.verb = Some(verb);
        view
    }

    /// Shows the current status.
    pub fn update(&mut self, status: &JobStatus) {
        let new_phase = self.phase != Some(status.phase);
        if new_phase {
            self.phase = Some(status.phase);
        }
        let percent = percent(status);
        let verb = self.verb.unwrap_or_else(|| verb(status.phase));
        let due = match self.kind {
            Kind::Json => new_phase || self.last.elapsed() >= Duration::from_millis(500),
            Kind::Lines => {
                let step = percent / LINE_PERCENT > self.last_percent / LINE_PERCENT;
                // Short phases print no lines: for five percent, a line is printed only after at least a second.
                self.last.elapsed() >= LINE_EVERY || step && self.last.elapsed() >= Duration::from_secs(1)
            }
            Kind::Silent | Kind::Bar(_) => false,
        };
        match &self.kind {
            Kind::Bar(bar) => draw(bar, status, verb),
            Kind::Json if due => self.printer.event(event(status)),
            Kind::Lines if due => self.printer.progress_line(line(status, percent, verb)),
            _ => {}
        }
        if due {
            self.last = Instant::now();
            self.last_percent = percent;
        }
    }

    /// Removes the bar.
    pub fn finish(&self) {
        if let Kind::Bar(bar) = &self.kind {
            bar.finish_and_clear();
        }
        self.printer.attach_bar(None);
    }
}

impl Drop for ProgressView<'_> {
    fn drop(&mut self) {
        self.finish();
    }
}

fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

fn bar(printer: &Printer, ascii: bool) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(100), ProgressDrawTarget::stderr_with_hz(10));
    if let Ok(style) = ProgressStyle::with_template("{prefix:>10} [{bar:20}] {percent:>3} %  {wide_msg}") {
        bar.set_style(style.progress_chars(if ascii { "#-" } else { "█▉▊▋▌▍▎▏ " }));
    }
    printer.attach_bar(Some(bar.clone()));
    bar
}

fn draw(bar: &ProgressBar, status: &JobStatus, verb: &'static str) {
    bar.set_position(percent(status));
    bar.set_prefix(verb);
    let figures = left(status).into_iter().chain(speeds(status));
    let columns = crossterm::terminal::size().map_or(usize::MAX, |(columns, _)| usize::from(columns));
    bar.set_message(fitted(figures, columns.saturating_sub(FIXED_COLUMNS)));
}

/// Returns the first figures that fit completely; the remaining time comes first.
fn fitted(figures: impl Iterator<Item = String>, columns: usize) -> String {
    let mut shown = String::new();
    for figure in figures {
        let gap = if shown.is_empty() { "" } else { "  " };
        if shown.len() + gap.len() + figure.len() > columns {
            break;
        }
        shown.push_str(gap);
        shown.push_str(&figure);
    }
    shown
}

fn verb(phase: Phase) -> &'static str {
    match phase {
        Phase::Open => "opening",
        Phase::Download => "downloading",
        Phase::Scan => "reading",
        Phase::Media => "probing media",
        Phase::Tables => "indexing",
        Phase::Find => "finding",
        Phase::Write => "writing",
        Phase::Publish => "publishing",
    }
}

/// Returns the percentage of the whole job, rounded down: 100 only at its end.
fn percent(status: &JobStatus) -> u64 {
    status.share.map_or(0, |share| (share * 100.0) as u64)
}

/// Returns the amount of work done, and its speed.
fn speeds(status: &JobStatus) -> Vec<String> {
    let p = status.progress;
    let mut texts = match (p.items_done, p.items_total) {
        (0, 0) => Vec::new(),
        (done, 0) => vec![count(done, status.item)],
        (done, total) => vec![format!("{} of {}", grouped(done), count(total, status.item))],
    };
    if status.bytes_per_second >= 1.0 {
        texts.push(format!("{}/s", bytes(status.bytes_per_second as u64)));
    }
    if status.tokens_per_second >= 1.0 {
        texts.push(format!("{}/s", count(status.tokens_per_second as u64, "token")));
    }
    texts
}

fn left(status: &JobStatus) -> Option<String> {
    status.remaining.map(|left| format!("{} left", duration(left)))
}

fn line(status: &JobStatus, percent: u64, verb: &str) -> String {
    let figures = speeds(status).into_iter().chain(left(status));
    std::iter::once(format!("{verb}: {percent} %")).chain(figures).collect::<Vec<_>>().join(", ")
}

fn event(status: &JobStatus) -> serde_json::Value {
    let mut event = json!({
        "event": "progress",
        "phase": status.phase,
        "state": status.state,
        "progress": status.progress,
        "share": status.share,
        "elapsed_seconds": status.elapsed.as_secs_f64(),
        "remaining_seconds": status.remaining.map(|left| left.as_secs_f64()),
        "bytes_per_second": status.bytes_per_second,
    });
    if let Some(fields) = event.as_object_mut().filter(|_| status.progress.tokens_done > 0) {
        fields.insert("tokens_per_second".into(), json!(status.tokens_per_second));
    }
    event
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn omits_figures_that_do_not_fit() {
        let shown = |columns| fitted(["0:12 left", "9 documents", "1.0 MiB/s"].map(str::to_owned).into_iter(), columns);
        assert_eq!(shown(100), "0:12 left  9 documents  1.0 MiB/s");
        assert_eq!(shown(32), "0:12 left  9 documents");
        assert_eq!(shown(9), "0:12 left");
        assert_eq!(shown(8), "");
    }
}
