//! Cuts and pads text by its display width, never by bytes or characters.

use crate::tui::theme::Glyphs;
use gristmill_core::text::display_safe;
use std::path::Path;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// Escapes text from the data for display: see [`display_safe`].
pub fn safe(text: &str) -> String {
    display_safe(text).into_owned()
}

/// Returns the last component of a path, or the path if it has none. Raw.
pub fn last_name(path: &Path) -> String {
    path.file_name().map_or_else(|| path.to_string_lossy(), |name| name.to_string_lossy()).into_owned()
}

/// Returns the display width of `text` in columns.
pub fn width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// Returns the longest beginning of `text` that fits `columns` and consists of whole characters.
pub fn prefix(text: &str, columns: usize) -> &str {
    let mut used = 0;
    for (start, grapheme) in text.grapheme_indices(true) {
        used += width(grapheme);
        if used > columns {
            return &text[..start];
        }
    }
    text
}

/// Returns the longest end of `text` that fits `columns` and consists of whole characters.
pub fn suffix(text: &str, columns: usize) -> &str {
    let mut used = 0;
    let mut from = text.len();
    for (start, grapheme) in text.grapheme_indices(true).rev() {
        used += width(grapheme);
        if used > columns {
            break;
        }
        from = start;
    }
    &text[from..]
}

/// Returns `text` escaped, and cut at its end to fit `columns`.
pub fn fit_end(text: &str, columns: usize, glyphs: &Glyphs) -> String {
    let text = display_safe(text);
    if width(&text) <= columns {
        return text.into_owned();
    }
    let mark = prefix(glyphs.ellipsis, columns);
    format!("{}{mark}", prefix(&text, columns.saturating_sub(width(mark))))
}

/// Returns `text` escaped, and cut in its middle to fit `columns`: for names and paths, whose ends are the most informative.
pub fn fit_middle(text: &str, columns: usize, glyphs: &Glyphs) -> String {
    let text = display_safe(text);
    if width(&text) <= columns {
        return text.into_owned();
    }
    let mark = prefix(glyphs.ellipsis, columns);
    let room = columns.saturating_sub(width(mark));
    let tail = suffix(&text, room.div_ceil(2));
    let head = prefix(&text, room.saturating_sub(width(tail)));
    format!("{head}{mark}{tail}")
}

/// Returns `text` padded with spaces at its end up to `columns`. Neither cuts nor escapes it.
pub fn pad_end(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

/// Returns `text` padded with spaces at its start up to `columns`. Neither cuts nor escapes it.
pub fn pad_start(text: &str, columns: usize) -> String {
    format!("{}{text}", " ".repeat(columns.saturating_sub(width(text))))
}

/// Escapes `text` and breaks it into lines of at most `columns`, at spaces if possible; leading spaces indent every line.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(1);
    let text = display_safe(text);
    let indent = text.len() - text.trim_start_matches(' ').len();
    if indent > 0 && indent + 8 < columns {
        let lines = wrap(&text[indent..], columns - indent);
        return lines.into_iter().map(|line| format!("{}{line}", " ".repeat(indent))).collect();
    }
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split(' ') {
        let mut word = word;
        if !line.is_empty() && width(&line) + 1 + width(word) <= columns {
            line.push(' ');
            line.push_str(word);
            continue;
        }
        if !line.is_empty() {
            lines.push(std::mem::take(&mut line));
        }
        while width(word) > columns {
            let mut head = prefix(word, columns);
            if head.is_empty() {
                // A character wider than the whole line is put on a line of its own.
                head = word.graphemes(true).next().unwrap_or(word);
            }
            lines.push(head.to_owned());
            word = &word[head.len()..];
        }
        line.push_str(word);
    }
    lines.push(line);
    lines
}
