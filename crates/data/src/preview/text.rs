//! Converts text from the data to safe text, and divides it into lines by display width and grapheme.

use gristmill_core::text::{display_safe, display_safe_bytes};
use std::ops::Range;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// Converts untrusted text: line breaks are kept, tabs expanded, and all other unprintable characters made visible. Longer texts end in a
/// line with the number of omitted characters.
pub fn safe_lines(raw: &str, limit: usize) -> String {
    let end = raw.char_indices().nth(limit).map_or(raw.len(), |(at, _)| at);
    let mut out = String::with_capacity(end);
    for (i, line) in raw[..end].split('\n').enumerate() {
        if i > 0 {
            out.push('\n');
        }
        let line = line.strip_suffix('\r').unwrap_or(line);
        out.push_str(&display_safe(&line.replace('\t', "    ")));
    }
    if end < raw.len() {
        let left = raw[end..].chars().count();
        out.push_str(&format!("\n… {} more", gristmill_core::text::count(left as u64, "character")));
    }
    out
}

/// Converts bytes to safe text line by line: invalid bytes are written as `\xNN`, tabs are expanded.
pub(super) fn safe_byte_lines(content: &[u8]) -> String {
    let mut out = String::with_capacity(content.len());
    let content = content.strip_suffix(b"\n").unwrap_or(content);
    for (at, line) in content.split(|b| *b == b'\n').enumerate() {
        if at > 0 {
            out.push('\n');
        }
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        for (at, piece) in line.split(|b| *b == b'\t').enumerate() {
            if at > 0 {
                out.push_str("    ");
            }
            out.push_str(&display_safe_bytes(piece));
        }
    }
    out
}

/// Cuts safe text into lines of at most `width` columns, at spaces where there are any. Stops after `height` lines; the last one then ends
/// in `…`.
pub fn wrap(text: &str, width: usize, height: usize) -> Vec<String> {
    let mut lines = Vec::new();
    if width == 0 || height == 0 {
        return lines;
    }
    for paragraph in text.split('\n') {
        wrap_paragraph(paragraph, width, height + 1, &mut lines);
        if lines.len() > height {
            break;
        }
    }
    if lines.len() > height {
        lines.truncate(height);
        if let Some(last) = lines.last_mut() {
            let cut = cut_end(&format!("{last} …"), width);
            *last = cut;
        }
    }
    lines
}

fn wrap_paragraph(paragraph: &str, width: usize, height: usize, lines: &mut Vec<String>) {
    let mut line = String::new();
    let mut used = 0;
    for word in paragraph.split_word_bounds() {
        let word_width = word.width();
        if used + word_width <= width {
            line.push_str(word);
            used += word_width;
            continue;
        }
        if lines.len() >= height {
            return;
        }
        if word_width <= width {
            lines.push(std::mem::take(&mut line).trim_end().to_owned());
            let word = word.trim_start();
            line.push_str(word);
            used = word.width();
            continue;
        }
        for grapheme in word.graphemes(true) {
            let grapheme_width = grapheme.width();
            if used + grapheme_width > width {
                lines.push(std::mem::take(&mut line));
                used = 0;
                if lines.len() >= height {
                    return;
                }
            }
            line.push_str(grapheme);
            used += grapheme_width;
        }
    }
    lines.push(line.trim_end().to_owned());
}

/// Returns the byte ranges of the lines when safe text is wrapped to `width` columns: at spaces if possible. These spaces belong to no
/// line; everything else does.
pub fn wrap_ranges(text: &str, width: usize) -> Vec<Range<usize>> {
    let width = width.max(2);
    let mut out = Vec::new();
    let mut start = 0;
    for line in text.split('\n') {
        wrap_line(line, start, width, &mut out);
        start += line.len() + 1;
    }
    out
}

fn wrap_line(line: &str, base: usize, width: usize, out: &mut Vec<Range<usize>>) {
    let mut from = 0;
    loop {
        let rest = &line[from..];
        let fits = fitting_bytes(rest, width);
        if fits == rest.len() {
            out.push(base + from..base + line.len());
            return;
        }
        // The line may also end directly before a space, which is then the break.
        let reach = rest[fits..].chars().next().filter(|c| *c == ' ').map_or(fits, |_| fits + 1);
        match rest[..reach].rfind(' ').filter(|at| !rest[..*at].trim().is_empty()) {
            Some(space) => {
                out.push(base + from..base + from + space);
                from += space + 1;
            }
            None => {
                out.push(base + from..base + from + fits);
                from += fits;
            }
        }
    }
}

/// Returns the length in bytes of the longest beginning of `text` that fits; at least one character.
fn fitting_bytes(text: &str, width: usize) -> usize {
    let plain = text.bytes().take(width + 1).take_while(u8::is_ascii).count();
    if plain > width || plain == text.len() {
        return plain.min(width);
    }
    let (mut used, mut end) = (0, 0);
    for grapheme in text.graphemes(true) {
        used += grapheme.width();
        if used > width && end > 0 {
            break;
        }
        end += grapheme.len();
    }
    end
}

/// Truncates text to at most `width` columns; a cut is marked by `…`.
pub fn cut_end(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 0;
    for grapheme in text.graphemes(true) {
        let w = grapheme.width();
        if used + w + 1 > width {
            break;
        }
        out.push_str(grapheme);
        used += w;
    }
    if width > 0 {
        out.push('…');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn safe_lines_keeps_line_breaks_and_escapes_other_controls() {
        assert_eq!(safe_lines("a\tb\r\nc\x1b[0m", 100), "a    b\nc␛[0m");
        assert_eq!(safe_lines("abcdef", 4), "abcd\n… 2 characters more");
    }

    #[test]
    fn text_wraps_at_spaces_and_long_words_are_cut() {
        assert_eq!(wrap("a man riding a wave", 8, 9), ["a man", "riding a", "wave"]);
        assert_eq!(wrap("abcdefghij", 4, 9), ["abcd", "efgh", "ij"]);
        assert_eq!(wrap("one\n\ntwo", 10, 9), ["one", "", "two"]);
    }

    #[test]
    fn wrap_ranges_cover_every_character_except_spaces_at_breaks() {
        let cut =
            |text: &str, width| wrap_ranges(text, width).into_iter().map(|r| text[r].to_owned()).collect::<Vec<_>>();
        assert_eq!(cut("a man riding a wave", 8), ["a man", "riding a", "wave"]);
        assert_eq!(cut("abcdefghij\n\nx", 4), ["abcd", "efgh", "ij", "", "x"]);
        assert_eq!(cut("    indented words here", 12), ["    indented", "words here"]);
        assert_eq!(cut("日本語テキスト", 5), ["日本", "語テ", "キス", "ト"]);
        assert_eq!(cut("e\u{301}e\u{301}e\u{301}", 2).len(), 2);
    }

    #[test]
    fn wide_characters_count_two_columns() {
        assert_eq!(wrap("日本語テキスト", 5, 9).concat(), "日本語テキスト");
        assert!(wrap("日本語テキスト", 5, 9).iter().all(|l| l.width() <= 5));
        assert_eq!(cut_end("日本語", 5), "日本…");
    }

    #[test]
    fn wrapped_text_beyond_the_line_limit_ends_with_an_ellipsis() {
        let lines = wrap("one two three four five", 9, 2);
        assert_eq!(lines.len(), 2);
        assert!(lines[1].ends_with('…'), "{lines:?}");
        assert!(wrap("x", 0, 3).is_empty());
    }
}
