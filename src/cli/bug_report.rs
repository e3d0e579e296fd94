//! `bug-report`: prints versions and terminal capabilities, never data; also collects facts for `doctor`.

use super::context::Context;
use super::exit::{CommandResult, CommandSuccess};
use super::locale::{is_utf8, locale};
use gristmill_core::text::display_safe;
use serde_json::{json, Map};
use std::io::IsTerminal;

/// The properties of the terminal according to the environment; the terminal is not queried.
pub struct Terminal {
    /// Whether standard input, output and error are terminals.
    pub streams: [bool; 3],
    /// Columns and rows; `None` if unknown.
    pub size: Option<(u16, u16)>,
    /// Value of the effective locale variable.
    pub locale: String,
    /// Whether the locale is UTF-8.
    pub utf8: bool,
    /// Variables that identify the terminal.
    pub variables: Vec<(&'static str, String)>,
}

const VARIABLES: [&str; 10] = [
    "TERM",
    "COLORTERM",
    "TERM_PROGRAM",
    "TERM_PROGRAM_VERSION",
    "TMUX",
    "STY",
    "SSH_TTY",
    "NO_COLOR",
    "CLICOLOR_FORCE",
    "KITTY_WINDOW_ID",
];

/// Variables whose values may contain names of people or machines: only whether they are set is reported.
const ONLY_PRESENCE: [&str; 3] = ["TMUX", "STY", "SSH_TTY"];

/// Reads the properties of the terminal from the environment.
pub fn terminal() -> Terminal {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let locale = locale().unwrap_or_else(|| "C".to_owned());
    let variables = VARIABLES
        .into_iter()
        .filter_map(|name| {
            let value = set(name)?.to_string_lossy().into_owned();
            Some((name, if ONLY_PRESENCE.contains(&name) { "set".to_owned() } else { value }))
        })
        .collect();
    Terminal {
        streams: [std::io::stdin().is_terminal(), std::io::stdout().is_terminal(), std::io::stderr().is_terminal()],
        size: std::io::stdout().is_terminal().then(|| crossterm::terminal::size().ok()).flatten(),
        utf8: is_utf8(&locale),
        locale,
        variables,
    }
}

impl Terminal {
    /// Returns the properties as one line.
    pub fn describe(&self) -> String {
        let [input, output, _] = self.streams;
        let term =
            self.variables.iter().find(|(name, _)| *name == "TERM").map_or("no TERM", |(_, value)| value.as_str());
        match (input && output, self.size) {
            (true, Some((columns, rows))) => format!("{term}, {columns}×{rows}"),
            (true, None) => term.to_owned(),
            (false, _) => format!("not a terminal ({term}): no questions are asked"),
        }
    }
}

/// Returns name, version and build of the program.
pub fn program() -> String {
    let kind = if cfg!(debug_assertions) { "debug" } else { "release" };
    format!("gristmill {} ({kind}, {}-{})", env!("CARGO_PKG_VERSION"), std::env::consts::ARCH, std::env::consts::OS)
}

/// Returns kernel name and release.
pub fn system() -> String {
    let uname = rustix::system::uname();
    format!(
        "{} {} {}",
        uname.sysname().to_string_lossy(),
        uname.release().to_string_lossy(),
        uname.machine().to_string_lossy()
    )
}

/// Prints the bug report.
pub fn run(context: &Context) -> CommandResult {
    let terminal = terminal();
    let mut lines = vec![
        ("program", program()),
        ("energon", gristmill_data::formats::energon::ENERGON_VERSION.to_owned()),
        ("sqlite", rusqlite::version().to_owned()),
        ("system", system()),
        ("threads", context.run_options().threads.to_string()),
        (
            "streams are terminals",
            format!("in {}, out {}, err {}", terminal.streams[0], terminal.streams[1], terminal.streams[2]),
        ),
        ("size", terminal.size.map_or_else(|| "unknown".to_owned(), |(columns, rows)| format!("{columns}×{rows}"))),
        ("locale", terminal.locale),
    ];
    lines.extend(terminal.variables);
    for (name, value) in &lines {
        context.printer.line(format!("{name}: {}", display_safe(value)));
    }
    let report: Map<_, _> = lines.into_iter().map(|(name, value)| (name.replace(' ', "_"), json!(value))).collect();
    Ok(CommandSuccess::ok(Map::from_iter([("report".to_owned(), json!(report))])))
}
