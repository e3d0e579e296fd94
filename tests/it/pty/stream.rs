//! Checks the bytes that the program sends to a terminal: all of them must be written by the program itself.

use base64_of::decoded;

/// Modes that the program switches.
const MODES: [&str; 6] = ["1049", "2004", "25", "1000", "1006", "7"];
/// More modes, which are only reset when the program ends.
const RESETS: [&str; 4] = ["1002", "1003", "1005", "1015"];
/// The query for Kitty's pictures, between `ESC _` and `ESC \`.
const PICTURE_QUESTION: &str = "Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA";

/// Returns a sentence for each foreign sequence in a stream, which is neither text nor written by the program itself, and the text that was
/// copied to the clipboard.
pub fn strays(raw: &[u8]) -> (Vec<String>, Vec<String>) {
    let Ok(text) = std::str::from_utf8(raw) else { return (vec!["bytes that are not UTF-8".into()], Vec::new()) };
    let mut found = Vec::new();
    let mut copied = Vec::new();
    let mut marks = 0;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        marks = if matches!(c, '\u{300}'..='\u{36f}') { marks + 1 } else { 0 };
        match c {
            '\x1b' => rest = escape(rest, &mut found, &mut copied),
            '\r' | '\n' => {}
            c if is_stray(c) => found.push(format!("U+{:04X} before {:?}", c as u32, head(rest))),
            _ if marks == 17 => found.push("a flood of combining marks".into()),
            _ => {}
        }
    }
    for text in &copied {
        found.extend(text.chars().filter(|&c| is_stray(c)).map(|c| format!("U+{:04X} in the clipboard", c as u32)));
    }
    (found, copied)
}

/// Whether a character is interpreted by a terminal, reverses the direction of text, or is invisible.
fn is_stray(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{feff}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{e0000}'..='\u{e0fff}')
}

fn head(text: &str) -> String {
    text.chars().take(24).collect()
}

/// Parses the sequence after an ESC, and returns the rest of the text.
fn escape<'a>(rest: &'a str, found: &mut Vec<String>, copied: &mut Vec<String>) -> &'a str {
    if let Some(body) = rest.strip_prefix('[') {
        let end = body.find(|c: char| matches!(c, '@'..='~')).unwrap_or(body.len());
        let (parameters, after) = body.split_at(end);
        let last = after.chars().next().unwrap_or(' ');
        if !is_own(parameters, last) {
            found.push(format!("CSI {parameters:?} {last:?}"));
        }
        return after.get(last.len_utf8()..).unwrap_or("");
    }
    if let Some(body) = rest.strip_prefix(']') {
        let end = body.find(['\x07', '\x1b', '\u{9c}']).unwrap_or(body.len());
        if let (Some(title), Some(after)) = (body[..end].strip_prefix("2;"), body[end..].strip_prefix("\x1b\\")) {
            found.extend(title.chars().filter(|&c| is_stray(c)).map(|c| format!("U+{:04X} in the title", c as u32)));
            return after;
        }
        match body[..end].strip_prefix("52;c;").and_then(decoded) {
            Some(text) if body[end..].starts_with('\x07') => copied.push(text),
            _ => found.push(format!("OSC {:?}", head(body))),
        }
        return body.get(end + 1..).unwrap_or("");
    }
    if let Some(after) = rest.strip_prefix('_').and_then(|body| body.strip_prefix(PICTURE_QUESTION)) {
        if let Some(after) = after.strip_prefix("\x1b\\") {
            return after;
        }
    }
    found.push(format!("ESC {:?}", head(rest)));
    rest
}

/// Whether the program itself writes a control sequence: positions, colours, clearing, its modes, its queries.
fn is_own(parameters: &str, last: char) -> bool {
    let are_numbers = parameters.chars().all(|c| c.is_ascii_digit() || c == ';' || c == ':');
    match last {
        'H' | 'm' | 'J' | 'K' | 'A' | 'B' | 'C' | 'D' => are_numbers,
        'h' => parameters == "?2026" || parameters.strip_prefix('?').is_some_and(|mode| MODES.contains(&mode)),
        'l' => {
            let is_reset = |mode| MODES.contains(&mode) || RESETS.contains(&mode) || mode == "2026";
            parameters.strip_prefix('?').is_some_and(is_reset)
        }
        // The size of a cell in pixels; the title of the window, saved and restored.
        't' => ["16", "22;0", "23;0"].contains(&parameters),
        'c' => parameters.is_empty(),
        _ => false,
    }
}

mod base64_of {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    /// Decodes base64 to text.
    pub fn decoded(text: &str) -> Option<String> {
        let mut bits = 0_u32;
        let mut held = 0;
        let mut bytes = Vec::new();
        for letter in text.trim_end_matches('=').bytes() {
            bits = bits << 6 | u32::try_from(LETTERS.iter().position(|&l| l == letter)?).ok()?;
            held += 6;
            if held >= 8 {
                held -= 8;
                bytes.push((bits >> held & 0xff) as u8);
            }
        }
        String::from_utf8(bytes).ok()
    }
}

#[test]
fn stream_check_recognizes_foreign_escape_sequences() {
    for own in [
        "plain ▸ text\x1b[12;3Hthere\x1b[38;2;1;2;3m",
        "\x1b[?2026h\x1b[?1049h\x1b[?2004h\x1b[?25l\x1b[?1000h\x1b[?1006h\x1b[?2026l",
        "\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\\x1b[16t\x1b[c",
    ] {
        assert_eq!(strays(own.as_bytes()), (Vec::new(), Vec::new()), "{own:?}");
    }
    assert_eq!(strays(b"\x1b]52;c;aGk=\x07"), (Vec::new(), vec!["hi".to_owned()]));
    for stray in [
        "\x1b]0;owned\x07",
        "\x1b]8;;http://x\x1b\\",
        "\x1b]52;c;aBtb\x07",
        "\x1b]52;p;aGk=\x07",
        "\x1bP+q544e\x1b\\",
        "\x1bc",
        "\x1b(0",
        "\x1b[?1h",
        "\x1b[5n",
        "\x1b_Gother;AAAA\x1b\\",
        "\u{9b}31m",
        "\u{9d}0;x\u{9c}",
        "a\u{202e}b",
        "a\u{200b}b",
        "\x07",
        "\x0e",
        "e\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}",
    ] {
        assert_ne!(strays(stray.as_bytes()).0, Vec::<String>::new(), "{stray:?}");
    }
    assert_ne!(strays(b"\xff").0, Vec::<String>::new());
}
