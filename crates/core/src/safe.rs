//! Escapes untrusted text for display. Untrusted text must not reach a screen, a message or a log in any other way.
//!
//! All content of a data set is untrusted: names, texts, numbers in headers. Characters that control a terminal, reverse the order of
//! characters or are invisible are replaced by visible substitutes, so that no character disappears. Safe text is unchanged, so escaping it
//! twice has no effect.

use std::borrow::Cow;
use std::fmt::Write as _;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthChar;

/// Maximum number of characters after the first one of a grapheme cluster; these are mostly combining marks.
const MAX_MARKS: usize = 16;

/// Escapes untrusted text for display on one line: controls, escapes, bidi and invisible characters become visible substitutes.
///
/// No character disappears: `\n` becomes `␊`, ESC `␛`, other C0 controls their control pictures, C1 and format characters `<U+202E>`. At
/// most 16 marks remain on a base character; `…` replaces further ones. A mark without a base character gets `◌` as its base, so that it
/// cannot combine with text printed before it.
pub fn display_safe(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|b| (0x20..0x7f).contains(&b)) {
        return Cow::Borrowed(text);
    }
    let mapped = replace_controls(text);
    if mapped.is_ascii() {
        return Cow::Owned(mapped);
    }
    let mut out = String::with_capacity(mapped.len() + 16);
    for cluster in mapped.graphemes(true) {
        let Some(first) = cluster.chars().next() else { continue };
        let mut most = MAX_MARKS + 1;
        let is_invisible = first.width() == Some(0);
        if is_invisible || out.is_empty() && !first.is_ascii() {
            // A cluster starts with a mark only at the start of the text. Any other cluster without width is invisible.
            if is_mark(first) {
                out.push('◌');
                most = MAX_MARKS;
            } else if is_invisible {
                push_code_point(first, &mut out);
                continue;
            }
        }
        let end = cluster.char_indices().nth(most).map_or(cluster.len(), |(end, _)| end);
        out.push_str(&cluster[..end]);
        if end < cluster.len() {
            out.push('…');
        }
    }
    Cow::Owned(out)
}

/// Like [`display_safe`] for bytes that may not be UTF-8: invalid bytes become `\xNN`.
pub fn display_safe_bytes(bytes: &[u8]) -> String {
    let mut out = String::new();
    for chunk in bytes.utf8_chunks() {
        out.push_str(&display_safe(chunk.valid()));
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out
}

/// Like [`display_safe`] for text of several lines: line feeds remain.
pub fn display_safe_lines(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|b| b == b'\n' || (0x20..0x7f).contains(&b)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for (at, line) in text.split('\n').enumerate() {
        if at > 0 {
            out.push('\n');
        }
        out.push_str(&display_safe(line));
    }
    Cow::Owned(out)
}

/// Whether [`display_safe`] does not change a character.
pub fn is_printable(c: char) -> bool {
    let is_safe = !c.is_control() && !is_unsafe(c);
    // A character without width must be a mark, so it is tested on a base character.
    is_safe && (c.width() != Some(0) || display_safe(&format!("a{c}")).chars().eq(['a', c]))
}

fn replace_controls(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut before = None;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{200c}' | '\u{200d}' if joins(before, chars.peek().copied()) => out.push(c),
            '\u{200d}' if joins_pictographs(&out, chars.peek().copied()) => out.push(c),
            '\u{0}'..='\u{1f}' => out.push(char::from_u32(0x2400 + c as u32).unwrap_or('?')),
            '\u{7f}' => out.push('␡'),
            c if is_unsafe(c) || !may_follow(c, before) => push_code_point(c, &mut out),
            c => out.push(c),
        }
        before = Some(c);
    }
    out
}

fn push_code_point(c: char, out: &mut String) {
    let _ = write!(out, "<U+{:04X}>", c as u32);
}

/// Whether a variation selector may follow the previous character, whose glyph it selects. Only one selector is permitted, and selectors
/// for ideographs only after an ideograph, because a long run of them could carry an invisible message.
fn may_follow(c: char, before: Option<char>) -> bool {
    let is_ideograph =
        |b: char| matches!(b as u32, 0x2e80..=0x2fff | 0x3400..=0x9fff | 0xf900..=0xfaff | 0x20000..=0x3ffff);
    match c as u32 {
        0xfe00..=0xfe0f => before.is_some_and(|b| b > ' ' && !is_selector(b) && is_printable(b)),
        0xe0100..=0xe01ef => before.is_some_and(is_ideograph),
        _ => true,
    }
}

/// Whether a joiner or non-joiner is between letters of a script in which it changes their form.
fn joins(before: Option<char>, after: Option<char>) -> bool {
    let is_shaped = |c: char| {
        let shaped = matches!(c as u32, 0x620..=0x64a | 0x66e..=0x6d3 | 0x6fa..=0x6ff | 0x710..=0x74f | 0x750..=0x77f
            | 0x8a0..=0x8c9 | 0x900..=0xdff | 0xfb50..=0xfbb1 | 0xfbd3..=0xfd3d | 0xfe70..=0xfefc);
        shaped && !is_unsafe(c)
    };
    before.is_some_and(is_shaped) && after.is_some_and(|c| is_shaped(c) && c.width() != Some(0))
}

/// Whether a joiner after this text is between pictographs, of which it makes one.
fn joins_pictographs(before: &str, after: Option<char>) -> bool {
    let is_modifier = |c: &char| matches!(*c as u32, 0xfe0f | 0x1f3fb..=0x1f3ff);
    let is_joined = |before: char, after: char| format!("{before}\u{200d}{after}").graphemes(true).count() == 1;
    let is_pictograph_before = |c: char| is_joined(c, '👩');
    let is_pictograph_after = |c: char| is_joined('👩', c) && !is_mark(c);
    before.chars().rev().find(|c| !is_modifier(c)).is_some_and(is_pictograph_before)
        && after.is_some_and(is_pictograph_after)
}

fn is_selector(c: char) -> bool {
    matches!(c as u32, 0xfe00..=0xfe0f | 0xe0100..=0xe01ef)
}

/// Whether a character combines with the previous one.
fn is_mark(c: char) -> bool {
    let mut pair = String::from("a");
    pair.push(c);
    pair.graphemes(true).count() == 1
}

/// Whether a character must be replaced: controls other than C0, bidi controls, invisible characters (zero-width, fillers, tags, format
/// controls, noncharacters), and characters that combine with the next one, because a substitute must not become part of another cluster.
fn is_unsafe(c: char) -> bool {
    let number = c as u32;
    matches!(number,
        0x80..=0x9f | 0xad | 0x34f | 0x600..=0x605 | 0x61c | 0x6dd | 0x70f | 0x890 | 0x891 | 0x8e2 | 0xd4e
        | 0x115f | 0x1160 | 0x17b4 | 0x17b5 | 0x180b..=0x180f | 0x200b..=0x200f | 0x2028..=0x202e | 0x2060..=0x206f | 0x3164 | 0xfdd0..=0xfdef | 0xfeff | 0xffa0 | 0xfff0..=0xfffb
        | 0x110bd | 0x110cd | 0x111c2 | 0x111c3 | 0x1193f | 0x11941 | 0x11a3a | 0x11a84..=0x11a89 | 0x11d46 | 0x11f02
        | 0x13430..=0x13455 | 0x1bca0..=0x1bca3 | 0x1d173..=0x1d17a | 0xe0000..=0xe00ff | 0xe01f0..=0xe0fff)
        || number & 0xfffe == 0xfffe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_and_bidi_characters_are_replaced_by_visible_symbols() {
        assert_eq!(display_safe("plain.tar"), "plain.tar");
        assert_eq!(display_safe("a\x1b[31mb\n"), "a␛[31mb␊");
        assert_eq!(display_safe("x\u{202e}y\u{9b}z"), "x<U+202E>y<U+009B>z");
        assert_eq!(display_safe_bytes(b"a\xffb"), "a\\xffb");
        assert_eq!(display_safe("a\u{200b}b\u{e0041}c\u{7f}"), "a<U+200B>b<U+E0041>c␡");
    }

    #[test]
    fn text_of_every_script_is_displayed_unchanged() {
        for text in ["Übergrößenträger", "数据集", "мир", "❤\u{fe0f}", "한국어", "שלום", "नमस्ते", "葛\u{e0100}", "🇩🇪"]
        {
            assert_eq!(display_safe(text), text);
        }
    }

    #[test]
    fn joiners_are_kept_between_letters_that_they_shape_and_escaped_elsewhere() {
        for text in ["می\u{200c}خواهم", "क्\u{200d}ष"] {
            assert_eq!(display_safe(text), text);
        }
        assert_eq!(display_safe("a\u{200c}b"), "a<U+200C>b");
        assert_eq!(display_safe("می\u{200c}\u{200c}خ"), "می<U+200C><U+200C>خ");
        assert_eq!(display_safe("م\u{200d}"), "م<U+200D>");
        for text in ["👩\u{200d}👩\u{200d}👧", "👩🏽\u{200d}🚀", "❤\u{fe0f}\u{200d}🔥"] {
            assert_eq!(display_safe(text), text);
        }
        for (before, after) in [("a", "👩"), ("👩", "a"), ("→", "→"), ("👩", "\u{301}"), ("👩", "ำ"), ("👩", "")]
        {
            let shown = display_safe(&format!("{before}\u{200d}{after}")).into_owned();
            assert!(shown.starts_with(&format!("{before}<U+200D>")), "{shown}");
        }
    }

    #[test]
    fn limits_consecutive_marks_and_selectors() {
        let tower = format!("e{}x", "\u{301}".repeat(200));
        assert_eq!(display_safe(&tower), format!("e{}…x", "\u{301}".repeat(16)));
        assert_eq!(display_safe("a\u{fe0f}\u{fe0e}b"), "a\u{fe0f}<U+FE0E>b");
        assert_eq!(display_safe("a\u{e0101}"), "a<U+E0101>");
        assert_eq!(display_safe("\u{fe0f}a"), "<U+FE0F>a");
    }

    #[test]
    fn combining_mark_without_base_does_not_join_previous_text() {
        assert_eq!(display_safe("\u{301}a"), "◌\u{301}a");
    }

    #[test]
    fn display_safe_lines_keeps_only_line_feeds_unescaped() {
        assert_eq!(display_safe_lines("a\nb\r\n\x1bc"), "a\nb␍\n␛c");
        assert_eq!(display_safe_lines("a\nb"), "a\nb");
    }
}
