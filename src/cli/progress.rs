//! Progress of a job: a bar on terminals, JSON lines with `--json`, else a line every ten seconds or five percent.

use super::context::Context;
use super::printer::Printer;
use crate::job::{JobStatus, Phase};
use crate::model::text::{bytes, count, duration};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::json;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// A line at least this often while something moves.
const LINE_EVERY: Duration = Duration::from_secs(10);
/// A line whenever this much of the phase is done.
const LINE_PERCENT: u64 = 5;

enum Kind {
    Silent,
    Bar(ProgressBar),
    Lines,
    Json,
}

/// Shows the readings of one job.
pub struct ProgressView<'a> {
    printer: &'a Printer,
    kind: Kind,
    phase: Option<Phase>,
    last: Instant,
    last_percent: u64,
    /// Said in place of the phase.
    verb: Option<&'static str>,
}

impl<'a> ProgressView<'a> {
    /// A view of the kind that the flags and the terminal ask for.
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

    /// A view that calls the work by its own name.
    pub fn named(context: &'a Context, verb: &'static str) -> Self {
        let mut view = Self::new(context);
        view.verb = Some(verb);
        view
    }

    /// Shows one reading.
    pub fn update(&mut self, status: &JobStatus) {
        let new_phase = self.phase != Some(status.phase);
        if new_phase {
            self.phase = Some(status.phase);
            self.last_percent = 0;
        }
        let percent = percent(status);
        let verb = self.verb.unwrap_or_else(|| verb(status.phase));
        let due = match self.kind {
            Kind::Json => new_phase || self.last.elapsed() >= Duration::from_millis(500),
            Kind::Lines => {
                let step = percent / LINE_PERCENT > self.last_percent / LINE_PERCENT;
                // Short phases say nothing; a step of five percent counts only once a second has passed.
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

    /// Takes the bar away.
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
    let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::stderr_with_hz(10));
    if let Ok(style) = ProgressStyle::with_template("{prefix:>9} [{bar:20}] {percent:>3} %  {wide_msg}") {
        bar.set_style(style.progress_chars(if ascii { "#-" } else { "█▉▊▋▌▍▎▏ " }));
    }
    printer.attach_bar(Some(bar.clone()));
    bar
}

fn draw(bar: &ProgressBar, status: &JobStatus, verb: &'static str) {
    let p = status.progress;
    let by_bytes = p.bytes_total > 0;
    bar.set_length(if by_bytes { p.bytes_total } else { p.items_total.max(1) });
    bar.set_position(if by_bytes { p.bytes_done } else { p.items_done });
    bar.set_prefix(verb);
    // What does not fit is cut off, so what people wait for comes first.
    let left = status.remaining.map(|left| format!("{} left  ", duration(left)));
    bar.set_message(format!("{}{}", left.unwrap_or_default(), speeds(status)));
}

fn verb(phase: Phase) -> &'static str {
    match phase {
        Phase::Open => "opening",
        Phase::Scan => "reading",
        Phase::Media => "probing media",
        Phase::Tables => "indexing",
        Phase::Find => "finding",
        Phase::Write => "rewriting",
        Phase::Publish => "writing",
    }
}

fn percent(status: &JobStatus) -> u64 {
    let p = status.progress;
    let (done, total) = if p.bytes_total > 0 { (p.bytes_done, p.bytes_total) } else { (p.items_done, p.items_total) };
    if total == 0 {
        0
    } else {
        (u128::from(done) * 100 / u128::from(total)).min(100) as u64
    }
}

fn figures(status: &JobStatus) -> String {
    let left = status.remaining.map(|left| format!("  {} left", duration(left)));
    format!("{}{}", speeds(status), left.unwrap_or_default())
}

/// What is done, and how fast it goes.
fn speeds(status: &JobStatus) -> String {
    let p = status.progress;
    let mut text = match p.items_total {
        0 => count(p.items_done, status.item),
        total => format!("{} of {}", p.items_done, count(total, status.item)),
    };
    if status.bytes_per_second >= 1.0 {
        text.push_str(&format!("  {}/s", bytes(status.bytes_per_second as u64)));
    }
    if status.tokens_per_second >= 1.0 {
        text.push_str(&format!("  {}/s", count(status.tokens_per_second as u64, "token")));
    }
    text
}

fn line(status: &JobStatus, percent: u64, verb: &str) -> String {
    format!("{}: {percent} %, {}", verb, figures(status).replace("  ", ", "))
}

fn event(status: &JobStatus) -> serde_json::Value {
    let mut event = json!({
        "event": "progress",
        "phase": status.phase,
        "state": status.state,
        "progress": status.progress,
        "elapsed_seconds": status.elapsed.as_secs_f64(),
        "remaining_seconds": status.remaining.map(|left| left.as_secs_f64()),
        "bytes_per_second": status.bytes_per_second,
    });
    if let Some(fields) = event.as_object_mut().filter(|_| status.progress.tokens_done > 0) {
        fields.insert("tokens_per_second".into(), json!(status.tokens_per_second));
    }
    event
}
