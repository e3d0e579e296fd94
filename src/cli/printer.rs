//! All output of the command line to stdout and stderr.
//!
//! Text from data is escaped where a line is composed (`Failure` and `Problem` do it themselves). In addition, every line except
//! help, completions and manual pages is escaped by [`guarded`]. A closed pipe is not an error; any other write failure is stored, and the
//! program ends with exit code 3.

use super::globals::{Color, Globals};
use anstream::ColorChoice;
use gristmill_core::text::{display_safe, display_safe_lines, is_printable};
use gristmill_core::{Failure, Mutex, Problem, Severity};
use serde_json::{json, Value};
use std::borrow::Cow;
use std::ffi::OsString;
use std::fmt::Debug;
use std::io::{self, Write};

/// Size in bytes of the values of a [`LongList`] that are printed together.
const LIST_BYTES: usize = 64 << 10;

/// The role of printed text, which determines its style.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// Failures.
    Error,
    /// Things that need attention.
    Warning,
    /// Successes.
    Success,
    /// Headings.
    Strong,
    /// Secondary text.
    Faint,
}

/// Returns `text` in the colours of its role; the colours are removed on writing if the output does not support them.
pub fn paint(look: Tone, text: &str) -> String {
    let code = match look {
        Tone::Error => STYLE_CODES[0],
        Tone::Warning => STYLE_CODES[1],
        Tone::Success => STYLE_CODES[2],
        Tone::Strong => STYLE_CODES[3],
        Tone::Faint => STYLE_CODES[4],
    };
    format!("{code}{text}{PLAIN}")
}

const STYLE_CODES: [&str; 5] = ["\x1b[1;31m", "\x1b[1;33m", "\x1b[32m", "\x1b[1m", "\x1b[2m"];
const PLAIN: &str = "\x1b[0m";

/// Escapes a composed line: only line feeds and the styles of [`paint`] stay.
fn guarded(text: &str) -> Cow<'_, str> {
    if !text.contains('\x1b') {
        return display_safe_lines(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\x1b') {
        out.push_str(&display_safe_lines(&rest[..at]));
        rest = &rest[at..];
        let code = STYLE_CODES.into_iter().chain([PLAIN]).find(|code| rest.starts_with(code));
        match code {
            Some(code) => out.push_str(code),
            None => out.push('␛'),
        }
        rest = &rest[code.map_or(1, str::len)..];
    }
    out.push_str(&display_safe_lines(rest));
    Cow::Owned(out)
}

/// A list of the result object that may be too long to be kept as JSON.
pub trait LongList: Debug {
    /// Returns the name of the field.
    fn name(&self) -> &'static str;
    /// Passes the values to `print`.
    fn each(&self, print: &mut dyn FnMut(&Value));
}

/// The only access to stdout and stderr.
pub struct Printer {
    json: bool,
    quiet: bool,
    verbose: u8,
    bar: Mutex<Option<indicatif::ProgressBar>>,
    broken: Mutex<Option<io::Error>>,
    /// The last printed hint: consecutive findings with the same hint print it only once.
    last_hint: Mutex<Option<String>>,
}

impl Printer {
    /// Returns a printer for use before the arguments are parsed: it searches for `--json` and `--color` itself.
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

    /// Configures the printer by the parsed flags.
    #[must_use]
    pub fn configured(mut self, globals: &Globals) -> Self {
        self.json = globals.json;
        self.quiet = globals.quiet;
        self.verbose = globals.verbose;
        set_color(globals.color);
        self
    }

    /// Whether the result is printed as one object.
    pub fn is_json(&self) -> bool {
        self.json
    }

    /// Whether output is reduced by `-q`.
    pub fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Whether every note is shown.
    pub fn is_verbose(&self) -> bool {
        self.verbose > 0
    }

    /// Attaches a progress bar: lines are then printed above it.
    pub fn attach_bar(&self, bar: Option<indicatif::ProgressBar>) {
        *self.bar.lock() = bar;
    }

    /// Prints a line of the result; nothing with `--json`.
    pub fn line(&self, text: impl AsRef<str>) {
        if !self.json {
            self.out(&guarded(text.as_ref()), true);
        }
    }

    /// Prints a line about the work; nothing with `--json` and `-q`.
    pub fn print_status(&self, text: impl AsRef<str>) {
        if !self.json && !self.quiet {
            self.out(&guarded(text.as_ref()), true);
        }
    }

    /// Prints a line about the progress on stderr; nothing with `--json` and `-q`.
    pub fn progress_line(&self, text: impl AsRef<str>) {
        if !self.json && !self.quiet {
            self.err(&guarded(text.as_ref()), true);
        }
    }

    /// Prints text on stdout unchanged, also with `--json`: help, completions, manual pages.
    pub fn raw(&self, text: &str) {
        self.out(text, false);
    }

    /// Prints `error: …` and its hint on stderr; with `--json` as one line of JSON.
    pub fn error(&self, failure: &Failure) {
        if self.json {
            return self.event(json!({ "event": "error", "error": error_value(failure) }));
        }
        self.err(&guarded(&format!("{} {failure}", paint(Tone::Error, "error:"))), true);
        self.hint(failure.hint.as_deref());
    }

    /// Prints one finding on stderr: problems as warnings, notes only with `-v`.
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

    /// Prints a note, even without `-v`; nothing with `-q`.
    pub fn note(&self, problem: &Problem) {
        if self.json {
            return self.event(json!({ "event": "problem", "problem": problem }));
        }
        if !self.quiet {
            self.err(&guarded(&format!("{} {problem}", paint(Tone::Strong, "note:"))), true);
            self.hint(problem.hint.as_deref());
        }
    }

    /// Prints `warning: …` on stderr, for something without a [`Problem`].
    pub fn warning(&self, text: &str, hint: Option<&str>) {
        if self.json {
            return self.event(json!({ "event": "warning", "message": text, "hint": hint }));
        }
        self.err(&format!("{} {}", paint(Tone::Warning, "warning:"), display_safe(text)), true);
        self.hint(hint);
    }

    /// Prints a hint, unless the previous finding had the same hint.
    fn hint_once(&self, hint: Option<&str>) {
        let mut last = self.last_hint.lock();
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

    /// Prints one JSON line on stderr; only with `--json`.
    pub fn event(&self, value: Value) {
        if self.json {
            self.err(&json_line(&value), true);
        }
    }

    /// Prints the result object on stdout; only with `--json`.
    pub fn result(&self, value: Value) {
        if self.json {
            self.out(&json_line(&value), true);
        }
    }

    /// Prints the result object with a list whose values are made while they are printed; only with `--json`.
    pub fn result_with_list(&self, value: &Value, list: &dyn LongList) {
        if !self.json {
            return;
        }
        let object = json_line(value);
        let fields = object.strip_suffix('}').unwrap_or(&object);
        let mut text = format!("{fields},{}:[", json_line(&Value::from(list.name())));
        let mut is_first = true;
        list.each(&mut |item| {
            if !std::mem::take(&mut is_first) {
                text.push(',');
            }
            text.push_str(&json_line(item));
            if text.len() > LIST_BYTES {
                self.out(&text, false);
                text.clear();
            }
        });
        text.push_str("]}");
        self.out(&text, true);
    }

    /// Returns the failure of writing to stdout, once. A closed pipe is not a failure.
    pub fn write_failure(&self) -> Option<Failure> {
        let error = self.broken.lock().take()?;
        Some(Failure::environment("writing the output", error.to_string()))
    }

    fn out(&self, text: &str, newline: bool) {
        self.above_the_bar(|| {
            let mut stdout = anstream::stdout().lock();
            let end = if newline { "\n" } else { "" };
            if let Err(error) = write!(stdout, "{text}{end}").and_then(|()| stdout.flush()) {
                if error.kind() != io::ErrorKind::BrokenPipe {
                    self.broken.lock().get_or_insert(error);
                }
            }
        });
    }

    fn err(&self, text: &str, newline: bool) {
        self.above_the_bar(|| {
            let mut stderr = anstream::stderr().lock();
            // If stderr fails, the error cannot be reported.
            let _ = write!(stderr, "{}{}", text, if newline { "\n" } else { "" });
        });
    }

    fn above_the_bar(&self, write: impl FnOnce()) {
        let bar = self.bar.lock().clone();
        match bar {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }
}

/// Returns a value as one line of JSON that is safe to print: characters that [`display_safe`] would replace become `\uXXXX`, so that a
/// parser returns the original text. Such characters occur only inside strings.
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

/// Returns a failure as JSON, for the result object and the event on stderr.
pub fn error_value(failure: &Failure) -> Value {
    let mut value = json!(failure);
    value["message"] = json!(failure.to_string());
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strips_control_sequences_except_own_styles() {
        let line = format!("{} a\nb", paint(Tone::Error, "error:"));
        assert_eq!(guarded(&line), line);
        assert_eq!(guarded("name\x1b[2J\x1b[31m\x1b]0;x\x07\u{202e}"), "name␛[2J␛[31m␛]0;x␇<U+202E>");
        assert_eq!(guarded("plain"), "plain");
        assert_eq!(guarded("\x1b"), "␛");
        assert_eq!(guarded("a\rb\tc"), "a␍b␉c");
    }
}
