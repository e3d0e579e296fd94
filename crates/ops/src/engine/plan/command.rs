//! The equivalent command of a plan.

use gristmill_core::text::shell_quote;
use std::path::Path;

/// A command line, and the files that it names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandLine {
    /// Program, command, path, flags; not quoted.
    pub arguments: Vec<String>,
    /// Name and content of each file that the command needs.
    pub files: Vec<(String, String)>,
}

impl CommandLine {
    /// Returns the command quoted for a shell. It is a single line unless an argument contains a newline.
    pub fn text(&self) -> String {
        self.arguments.iter().map(|a| shell_quote(a)).collect::<Vec<_>>().join(" ")
    }

    /// Creates a command that begins with these words: the program and its subcommand.
    pub fn of_words(words: &[&str]) -> Self {
        Self { arguments: words.iter().map(|word| (*word).to_owned()).collect(), files: Vec::new() }
    }

    pub(super) fn push(&mut self, argument: &str) {
        self.arguments.push(argument.to_owned());
    }

    /// Adds a path as a positional argument. A path that looks like a flag is prefixed with `./`.
    pub fn path(&mut self, path: &Path) {
        let path = path.to_string_lossy();
        self.arguments.push(if path.starts_with('-') { format!("./{path}") } else { path.into_owned() });
    }

    /// Adds a flag if `wanted`.
    pub fn flag_if(&mut self, wanted: bool, flag: &str) {
        if wanted {
            self.push(flag);
        }
    }

    /// Adds a flag with its value. A value that looks like a flag is joined to it with `=`.
    pub fn value(&mut self, flag: &str, value: &str) {
        if value.starts_with('-') || value.is_empty() {
            self.arguments.push(format!("{flag}={value}"));
        } else {
            self.push(flag);
            self.push(value);
        }
    }
}
