//! The log file: written only on request, only to the state folder. It is safe to print on a terminal: text from the data is escaped before
//! it is written.

use super::context::Context;
use super::globals::LogLevel;
use gristmill_core::text::{display_safe_bytes, display_safe_lines};
use gristmill_core::{Failure, Outcome, Subject};
use gristmill_storage::xdg;
use std::io::{self, Write};
use std::sync::Mutex;
use tracing::level_filters::LevelFilter;
use tracing_appender::rolling::{RollingFileAppender, Rotation};
use tracing_subscriber::EnvFilter;

/// Maximum number of log files.
const KEPT_FILES: usize = 7;

/// Starts the log file of the full screen, which cannot report errors elsewhere; never fails.
pub fn start_for_screen(context: &Context) {
    if context.globals.log_level.is_none() {
        let _ = open(LevelFilter::INFO);
    }
}

/// Starts the log file if `--log-level` is given.
pub fn start(context: &Context, command: &str) -> Outcome<()> {
    let Some(level) = context.globals.log_level else { return Ok(()) };
    let filter = match level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    };
    open(filter)?;
    tracing::info!(version = env!("CARGO_PKG_VERSION"), command, "started");
    Ok(())
}

fn open(filter: LevelFilter) -> Outcome<()> {
    let folder = xdg::state_dir().join("log");
    super::paths::make_folder(&folder, 0o700)?;
    let refused = |why: String| Failure::environment("opening the log file", why).on(Subject::path(&folder));
    let appender = RollingFileAppender::builder()
        .rotation(Rotation::DAILY)
        .filename_prefix("gristmill")
        .filename_suffix("log")
        .max_log_files(KEPT_FILES)
        .build(&folder)
        .map_err(|error| refused(error.to_string()))?;
    // Messages of other crates may contain addresses with signatures, so they are not logged.
    let ours = EnvFilter::new(format!("gristmill={filter}"));
    // Each line is written immediately, so that none is lost if the program is killed.
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(ours)
        .with_ansi(false)
        .with_writer(Mutex::new(SafeWriter(appender)))
        .finish();
    tracing::subscriber::set_global_default(subscriber).map_err(|error| refused(error.to_string()))
}

/// Escapes lines before they are written; the subscriber writes one whole line at a time.
struct SafeWriter<W: Write>(W);

impl<W: Write> Write for SafeWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match std::str::from_utf8(bytes) {
            Ok(text) => self.0.write_all(display_safe_lines(text).as_bytes())?,
            Err(_) => self.0.write_all(display_safe_bytes(bytes).as_bytes())?,
        }
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_writer_escapes_control_and_invalid_bytes() {
        let mut writer = SafeWriter(Vec::new());
        writer.write_all("shard \u{1b}]0;x\u{7}.tar\n".as_bytes()).unwrap();
        writer.write_all(b"odd \xff").unwrap();
        assert_eq!(String::from_utf8(writer.0).unwrap(), "shard ␛]0;x␇.tar\nodd \\xff");
    }
}
