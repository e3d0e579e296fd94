//! The only way to stdout and stderr of the command line.
//!
//! Text from data is made safe by whoever composes a line (`Failure` and `Problem` do it themselves); what slipped past is
//! made safe here, where every line but help, completions and manual pages goes through [`guarded`]. A reader that went
//! away is no error; any other failure to write is remembered and ends the program with exit code 3.

use super::args::{Color, Globals};
use super::exit::error_value;
use anstream::ColorChoice;
use gristmill_core::text::{display_safe, display_safe_lines, is_printable};
use gristmill_core::{Failure, Problem, Severity};
use serde_json::{json, Value};
use std::borrow::Cow;
use std::ffi::OsString;
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

/// Roles of printed text; each has one look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// Something failed.
    Error,
    /// Something needs attention.
    Warning,
    /// Something went well.
    Good,
    /// Headings.
    Strong,
    /// Things of lesser weight.
    Faint,
}

/// `text` in its role's colours; whoever writes it strips them where they do not belong.
pub fn paint(look: Tone, text: &str) -> String {
    let code = match look {
        Tone::Error => LOOKS[0],
        Tone::Warning => LOOKS[1],
        Tone::Good => LOOKS[2],
        Tone::Strong => LOOKS[3],
        Tone::Faint => LOOKS[4],
    };
    format!("{code}{text}{PLAIN}")
}

const LOOKS: [&str; 5] = ["\x1b[1;31m", "\x1b[1;33m", "\x1b[32m", "\x1b[1m", "\x1b[2m"];
const PLAIN: &str = "\x1b[0m";

/// A text of ours made safe whatever got into it: only line feeds and the looks of [`paint`] stay.
fn guarded(text: &str) -> Cow<'_, str> {
    if !text.contains('\x1b') {
        return display_safe_lines(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\x1b') {
        out.push_str(&display_safe_lines(&rest[..at]));
        rest = &rest[at..];
        let code = LOOKS.into_iter().chain([PLAIN]).find(|code| rest.starts_with(code));
        match code {
            Some(code) => out.push_str(code),
            None => out.push('␛'),
        }
        rest = &rest[code.map_or(1, str::len)..];
    }
    out.push_str(&display_safe_lines(rest));
    Cow::Owned(out)
}

/// The only way to stdout and stderr.
pub struct Printer {
    json: bool,
    quiet: bool,
    verbose: u8,
    bar: Mutex<Option<indicatif::ProgressBar>>,
    broken: Mutex<Option<io::Error>>,
    /// The way out that was printed last: findings in a row that share one are not followed by it each time.
    last_hint: Mutex<Option<String>>,
}

impl Printer {
    /// A printer for the time before the arguments are parsed: it looks for `--json` and `--color` itself.
    pub fn from_raw_args(args: &[OsString]) -> Self {
        let mut json = false;
        let mut color = Color::Auto;
        let mut words = args.iter().skip(1).filter_map(|arg| arg.to_str()).take_while(|arg| *arg != "--").peekable();
        while let Some(word) = words.next() {
            json |= word == "--json";
            let value = if word == "--color" { words.peek().copied() } else { word.strip_prefix("--color=") };
            match value {
                Some("always") => color = Color::Always,
                Some("never") => color = Color::Never,
                _ => {}
            }
        }
        set_color(color);
        Self {
            json,
            quiet: false,
            verbose: 0,
            bar: Mutex::new(None),
            broken: Mutex::new(None),
            last_hint: Mutex::new(None),
        }
    }

    /// The same printer, with what the parsed flags say.
    #[must_use]
    pub fn configured(mut self, globals: &Globals) -> Self {
        self.json = globals.json;
        self.quiet = globals.quiet;
        self.verbose = globals.verbose;
        set_color(globals.color);
        self
    }

    /// Whether the result goes out as one object.
    pub fn is_json(&self) -> bool {
        self.json
    }

    /// Whether less should be said.
    pub fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Whether every note should be shown.
    pub fn is_verbose(&self) -> bool {
        self.verbose > 0
    }

    /// While a bar is drawn, lines are printed above it.
    pub fn attach_bar(&self, bar: Option<indicatif::ProgressBar>) {
        *self.bar.lock().unwrap_or_else(PoisonError::into_inner) = bar;
    }

    /// A line of the result: what was asked for. Kept back with `--json`.
    pub fn line(&self, text: impl AsRef<str>) {
        if !self.json {
            self.out(&guarded(text.as_ref()), true);
        }
    }

    /// A line about the work: kept back with `--json` and `-q`.
    pub fn say(&self, text: impl AsRef<str>) {
        if !self.json && !self.quiet {
            self.out(&guarded(text.as_ref()), true);
        }
    }

    /// A line about the work on stderr, for progress: kept back with `--json` and `-q`.
    pub fn progress_line(&self, text: impl AsRef<str>) {
        if !self.json && !self.quiet {
            self.err(&guarded(text.as_ref()), true);
        }
    }

    /// Text on stdout as it is, `--json` or not: help, completions, manual pages.
    pub fn raw(&self, text: &str) {
        self.out(text, false);
    }

    /// `error: …` and its hint on stderr; with `--json` as one line of JSON.
    pub fn error(&self, failure: &Failure) {
        if self.json {
            return self.event(json!({ "event": "error", "error": error_value(failure) }));
        }
        self.err(&guarded(&format!("{} {failure}", paint(Tone::Error, "error:"))), true);
        self.hint(failure.hint.as_deref());
    }

    /// One finding on stderr: problems as warnings, notes only with `-v`.
    pub fn problem(&self, problem: &Problem) {
        if self.json {
            return self.event(json!({ "event": "problem", "problem": problem }));
        }
        let label = match problem.severity {
            Severity::Note if !self.is_verbose() => return,
            Severity::Note => paint(Tone::Faint, "note:"),
            Severity::Problem => paint(Tone::Warning, "warning:"),
            Severity::Refusal => paint(Tone::Error, "error:"),
        };
        self.err(&guarded(&format!("{label} {problem}")), true);
        self.hint_once(problem.hint.as_deref());
    }

    /// A note that is told with or without `-v`; kept back with `-q`.
    pub fn note(&self, problem: &Problem) {
        if self.json {
            return self.event(json!({ "event": "problem", "problem": problem }));
        }
        if !self.quiet {
            self.err(&guarded(&format!("{} {problem}", paint(Tone::Strong, "note:"))), true);
            self.hint(problem.hint.as_deref());
        }
    }

    /// `warning: …` on stderr, for what has no [`Problem`] of its own.
    pub fn warning(&self, text: &str, hint: Option<&str>) {
        if self.json {
            return self.event(json!({ "event": "warning", "message": text, "hint": hint }));
        }
        self.err(&format!("{} {}", paint(Tone::Warning, "warning:"), display_safe(text)), true);
        self.hint(hint);
    }

    /// The same way out as of the finding before is not printed again.
    fn hint_once(&self, hint: Option<&str>) {
        let mut last = self.last_hint.lock().unwrap_or_else(PoisonError::into_inner);
        if last.as_deref() != hint {
            self.hint(hint);
            *last = hint.map(str::to_owned);
        }
    }

    fn hint(&self, hint: Option<&str>) {
        if let Some(hint) = hint {
            self.err(&format!("{} {}", paint(Tone::Strong, "hint:"), display_safe(hint)), true);
        }
    }

    /// One JSON line on stderr; only with `--json`.
    pub fn event(&self, value: Value) {
        if self.json {
            self.err(&json_line(&value), true);
        }
    }

    /// The result object on stdout; only with `--json`.
    pub fn result(&self, value: Value) {
        if self.json {
            self.out(&json_line(&value), true);
        }
    }

    /// Why something could not be written to stdout, once. A closed pipe does not count.
    pub fn write_failure(&self) -> Option<Failure> {
        let error = self.broken.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        Some(Failure::environment("writing the output", error.to_string()))
    }

    fn out(&self, text: &str, newline: bool) {
        self.above_the_bar(|| {
            let mut stdout = anstream::stdout().lock();
            let end = if newline { "\n" } else { "" };
            if let Err(error) = write!(stdout, "{text}{end}").and_then(|()| stdout.flush()) {
                if error.kind() != io::ErrorKind::BrokenPipe {
                    self.broken.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                }
            }
        });
    }

    fn err(&self, text: &str, newline: bool) {
        self.above_the_bar(|| {
            let mut stderr = anstream::stderr().lock();
            // There is no further place to complain at.
            let _ = write!(stderr, "{text}{}", if newline { "\n" } else { "" });
        });
    }

    fn above_the_bar(&self, write: impl FnOnce()) {
        let bar = self.bar.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match bar {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }
}

/// A value as one line of JSON that is safe to print: what [`display_safe`] would replace is written as `\uXXXX`, so that
/// whoever parses it still gets the true text. Such characters occur only inside strings.
fn json_line(value: &Value) -> String {
    use std::fmt::Write as _;
    let text = value.to_string();
    if text.is_ascii() && !text.contains('\x7f') {
        return text;
    }
    let mut out = String::with_capacity(text.len() + 64);
    let mut units = [0; 2];
    for c in text.chars() {
        if is_printable(c) {
            out.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut units) {
            let _ = write!(out, "\\u{unit:04x}");
        }
    }
    out
}

fn set_color(color: Color) {
    match color {
        Color::Auto => ColorChoice::Auto,
        Color::Always => ColorChoice::Always,
        Color::Never => ColorChoice::Never,
    }
    .write_global();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_looks_and_line_feeds_get_through() {
        let line = format!("{} a\nb", paint(Tone::Error, "error:"));
        assert_eq!(guarded(&line), line);
        assert_eq!(guarded("name\x1b[2J\x1b[31m\x1b]0;x\x07\u{202e}"), "name␛[2J␛[31m␛]0;x␇<U+202E>");
        assert_eq!(guarded("plain"), "plain");
        assert_eq!(guarded("\x1b"), "␛");
        assert_eq!(guarded("a\rb\tc"), "a␍b␉c");
    }
}
