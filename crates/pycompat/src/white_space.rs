//! White space as defined by Python's `str`.

/// Whether a character is white space according to Python's `str.isspace`. Unicode's `White_Space` lacks the separators U+001C to U+001F.
pub fn is_white_space(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{1c}'..='\u{1f}')
}

/// Removes white space at both ends of a text, as Python's `str.strip` does.
pub fn strip(text: &str) -> &str {
    text.trim_matches(is_white_space)
}

#[cfg(test)]
mod tests {
    use super::strip;

    #[test]
    fn strip_removes_all_python_white_space() {
        // All characters for which Python 3.12 returns true for `c.isspace()`.
        let all = "\t\n\u{b}\u{c}\r\u{1c}\u{1d}\u{1e}\u{1f} \u{85}\u{a0}\u{1680}\u{2000}\u{2001}\u{2002}\u{2003}\u{2004}\u{2005}\
                   \u{2006}\u{2007}\u{2008}\u{2009}\u{200a}\u{2028}\u{2029}\u{202f}\u{205f}\u{3000}";
        assert_eq!(all.chars().count(), 29);
        assert_eq!(strip(&format!("{all}a b{all}")), "a b");
        assert_eq!(strip(all), "");
        for kept in ["\u{200b}", "\u{feff}", "\u{180e}", "\0"] {
            assert_eq!(strip(kept), kept);
        }
    }
}
