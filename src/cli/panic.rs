//! The message for internal errors of the program.

use gristmill_core::catch_panic::is_caught;
use gristmill_core::text::display_safe_lines;
use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::Write as _;
use std::panic::PanicHookInfo;

/// Installs a panic hook that prints the escaped message, which may contain text from the data, and a line about what to do.
pub fn install() {
    std::panic::set_hook(Box::new(|info| {
        if is_caught() {
            return;
        }
        // If stderr fails, the error cannot be reported.
        let _ = anstream::stderr().lock().write_all(message(info).as_bytes());
    }));
}

fn message(info: &PanicHookInfo) -> String {
    let thread = std::thread::current();
    let name = thread.name().unwrap_or("unnamed").to_owned();
    let mut text = format!("gristmill crashed in thread '{name}': {info}\n");
    let trace = Backtrace::capture();
    if trace.status() == BacktraceStatus::Captured {
        text.push_str(&format!("{trace}\n"));
    }
    text.push_str("No partial output is visible. Please report this with the output of `gristmill bug-report`.\n");
    display_safe_lines(&text).into_owned()
}
