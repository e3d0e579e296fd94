//! A plan as the equivalent command.

use std::path::Path;

/// A plan as arguments, and the files that they name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandLine {
    /// Program, command, path, flags; not quoted.
    pub arguments: Vec<String>,
    /// Name and content of the files that the command needs.
    pub files: Vec<(String, String)>,
}

impl CommandLine {
    /// Returns the command quoted for a shell, on one line unless an argument itself has several.
    pub fn text(&self) -> String {
        self.arguments.iter().map(|a| shell_quote(a)).collect::<Vec<_>>().join(" ")
    }

    /// Creates a command that begins with these words: the program, and its command.
    pub fn of_words(words: &[&str]) -> Self {
        Self { arguments: words.iter().map(|word| (*word).to_owned()).collect(), files: Vec::new() }
    }

    pub(super) fn push(&mut self, argument: &str) {
        self.arguments.push(argument.to_owned());
    }

    /// Adds a path that is not the value of a flag: one that looks like a flag is prefixed with `./`.
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

/// Quotes one argument for a POSIX shell. Invisible characters are written as escapes (`$'\n'`), so that a copied line is the same line.
pub fn shell_quote(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    if gristmill_core::text::display_safe(text) == text {
        return format!("'{}'", text.replace('\'', r"'\''"));
    }
    let mut out = String::from("$'");
    for c in text.chars() {
        escape_into(&mut out, c);
    }
    out.push('\'');
    out
}

fn escape_into(out: &mut String, c: char) {
    use std::fmt::Write as _;
    let mut utf8 = [0; 4];
    let alone: &str = c.encode_utf8(&mut utf8);
    match c {
        '\'' => out.push_str("\\'"),
        '\\' => out.push_str("\\\\"),
        '\n' => out.push_str("\\n"),
        '\t' => out.push_str("\\t"),
        c if gristmill_core::text::display_safe(alone) == alone => out.push(c),
        _ => {
            for byte in alone.bytes() {
                let _ = write!(out, "\\{byte:03o}");
            }
        }
    }
}
