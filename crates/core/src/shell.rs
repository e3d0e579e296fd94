//! Quoting of arguments for a shell.

use super::safe::display_safe;
use std::path::Path;

/// Quotes an argument for a POSIX shell. Invisible characters are escaped (`$'\n'`), so that a copied command is unchanged.
pub fn shell_quote(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    if display_safe(text) == text {
        return format!("'{}'", text.replace('\'', r"'\''"));
    }
    let mut out = String::from("$'");
    for c in text.chars() {
        escape_into(&mut out, c);
    }
    out.push('\'');
    out
}

/// Replaces the word PATH in a hint by a quoted path, so that the command in it can be copied.
pub fn hint_for(path: &Path, hint: &str) -> String {
    hint.replacen("PATH", &shell_quote(&path.to_string_lossy()), 1)
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
        c if display_safe(alone) == alone => out.push(c),
        _ => {
            for byte in alone.bytes() {
                let _ = write!(out, "\\{byte:03o}");
            }
        }
    }
}
