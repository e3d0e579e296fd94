//! White space and printable characters as defined by Python's `str`.

use unicode_normalization::char::is_public_assigned;

/// Whether a character is white space according to Python's `str.isspace`. Unicode's `White_Space` lacks the separators U+001C to U+001F.
pub fn is_white_space(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{1c}'..='\u{1f}')
}

/// Removes white space at both ends of a text, as Python's `str.strip` does.
pub fn strip(text: &str) -> &str {
    text.trim_matches(is_white_space)
}

/// Whether `repr` writes a character as it is, as `str.isprintable` says: it is assigned, and neither a control or format character nor
/// another separator than the space.
pub fn is_printable(c: char) -> bool {
    let is_format = matches!(c,
        '\u{ad}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{890}'..='\u{891}' | '\u{8e2}' | '\u{180e}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
        | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0001}' | '\u{e0020}'..='\u{e007f}');
    c == ' ' || !(c.is_control() || c.is_whitespace() || is_format) && is_public_assigned(c)
}

#[cfg(test)]
mod tests {
    use super::{is_printable, strip};

    #[test]
    fn format_private_unassigned_and_separating_characters_are_not_printable() {
        for c in " aé\u{301}日😀\u{ac00}\u{fffd}".chars() {
            assert!(is_printable(c), "{c:?}");
        }
        for c in
            "\n\0\u{7f}\u{a0}\u{ad}\u{200b}\u{2028}\u{3000}\u{e000}\u{378}\u{feff}\u{e0041}\u{f0000}\u{fffe}".chars()
        {
            assert!(!is_printable(c), "{c:?}");
        }
    }

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
