//! Parses the input bytes of the terminal: separates its answers to queries from keys.

use ratatui::crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};

/// Maximum length of an answer or pasted text, in bytes; longer ones are dropped.
const MAX_SEQUENCE_BYTES: usize = 1 << 20;

/// An event parsed from the input bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::tui) enum ParsedEvent {
    /// A key, a paste or a mouse event.
    Typed(Event),
    /// The answer to the query for kitty graphics: whether they are supported.
    Kitty(bool),
    /// Width and height of a cell in pixels.
    CellSize(u16, u16),
    /// The device attributes of the terminal: whether it supports sixel graphics.
    Attributes(bool),
}

/// Input bytes that are not complete events yet.
#[derive(Default)]
pub(in crate::tui) struct EscapeParser {
    waiting: Vec<u8>,
}

/// The event at the beginning of the input bytes.
enum ParsedInput {
    /// A complete event: its length in bytes, and the event; `None` for sequences that are ignored.
    Whole(usize, Option<ParsedEvent>),
    /// An incomplete event.
    Unfinished,
}

impl EscapeParser {
    /// Appends input bytes, and passes the complete events to `give`.
    pub(in crate::tui) fn push_bytes(&mut self, bytes: &[u8], give: &mut dyn FnMut(ParsedEvent)) {
        self.waiting.extend_from_slice(bytes);
        let mut at = 0;
        while let Some(rest) = self.waiting.get(at..).filter(|rest| !rest.is_empty()) {
            match piece(rest) {
                ParsedInput::Whole(length, found) => {
                    found.into_iter().for_each(&mut *give);
                    at += length.max(1);
                }
                ParsedInput::Unfinished if rest.len() > MAX_SEQUENCE_BYTES => at = self.waiting.len(),
                ParsedInput::Unfinished => break,
            }
        }
        self.waiting.drain(..at.min(self.waiting.len()));
    }

    /// Whether the input ends with an incomplete event.
    pub(in crate::tui) fn has_rest(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Ends the input, and passes on the remaining bytes as keys. Returns whether they are the beginning of an answer.
    pub(in crate::tui) fn finish(self, pass: &mut dyn FnMut(Event)) -> bool {
        match self.waiting.as_slice() {
            [0x1b] => pass(typed(KeyCode::Esc, KeyModifiers::NONE)),
            [0x1b, b'_', ..] => return true,
            _ => {}
        }
        false
    }
}

fn typed(code: KeyCode, modifiers: KeyModifiers) -> Event {
    Event::Key(KeyEvent::new(code, modifiers))
}

fn key(length: usize, code: KeyCode, modifiers: KeyModifiers) -> ParsedInput {
    ParsedInput::Whole(length, Some(ParsedEvent::Typed(typed(code, modifiers))))
}

fn piece(bytes: &[u8]) -> ParsedInput {
    match bytes {
        [0x1b] => ParsedInput::Unfinished,
        [0x1b, b'[', rest @ ..] => control(rest),
        [0x1b, b'O'] => ParsedInput::Unfinished,
        [0x1b, b'O', letter, ..] => {
            ParsedInput::Whole(3, letter_key(*letter).map(|c| ParsedEvent::Typed(typed(c, KeyModifiers::NONE))))
        }
        [0x1b, b'_' | b'P' | b']' | b'^' | b'X', rest @ ..] => string(rest),
        [0x1b, 0x1b, ..] => key(1, KeyCode::Esc, KeyModifiers::NONE),
        [0x1b, rest @ ..] => match piece(rest) {
            ParsedInput::Whole(length, Some(ParsedEvent::Typed(Event::Key(inner)))) => {
                key(length + 1, inner.code, inner.modifiers | KeyModifiers::ALT)
            }
            ParsedInput::Whole(length, _) => ParsedInput::Whole(length + 1, None),
            ParsedInput::Unfinished => ParsedInput::Unfinished,
        },
        [byte, ..] => plain(*byte, bytes),
        [] => ParsedInput::Unfinished,
    }
}

/// Parses a character or a control character.
fn plain(byte: u8, bytes: &[u8]) -> ParsedInput {
    let control = |letter: u8| key(1, KeyCode::Char(char::from(letter)), KeyModifiers::CONTROL);
    match byte {
        b'\r' => key(1, KeyCode::Enter, KeyModifiers::NONE),
        b'\t' => key(1, KeyCode::Tab, KeyModifiers::NONE),
        0x7f => key(1, KeyCode::Backspace, KeyModifiers::NONE),
        0 => control(b' '),
        0x01..=0x1a => control(byte - 1 + b'a'),
        0x1c..=0x1f => control(byte - 0x1c + b'4'),
        _ => {
            let length = match byte {
                0x00..=0x7f => 1,
                0xc2..=0xdf => 2,
                0xe0..=0xef => 3,
                0xf0..=0xf4 => 4,
                _ => return ParsedInput::Whole(1, None),
            };
            let Some(character) = bytes.get(..length) else { return ParsedInput::Unfinished };
            let Some(c) = std::str::from_utf8(character).ok().and_then(|c| c.chars().next()) else {
                return ParsedInput::Whole(1, None);
            };
            let modifiers = if c.is_uppercase() { KeyModifiers::SHIFT } else { KeyModifiers::NONE };
            key(length, KeyCode::Char(c), modifiers)
        }
    }
}

fn letter_key(letter: u8) -> Option<KeyCode> {
    Some(match letter {
        b'A' => KeyCode::Up,
        b'B' => KeyCode::Down,
        b'C' => KeyCode::Right,
        b'D' => KeyCode::Left,
        b'H' => KeyCode::Home,
        b'F' => KeyCode::End,
        b'P'..=b'S' => KeyCode::F(letter - b'P' + 1),
        _ => return None,
    })
}

/// Parses the bytes after `ESC [`.
fn control(rest: &[u8]) -> ParsedInput {
    let Some(end) = rest.iter().position(|b| (0x40..=0x7e).contains(b)) else { return ParsedInput::Unfinished };
    let (parameters, last) = (rest.get(..end).unwrap_or_default(), rest.get(end).copied().unwrap_or_default());
    let length = end + 3;
    if (parameters, last) == (b"200".as_slice(), b'~') {
        return paste(rest.get(end + 1..).unwrap_or_default(), length);
    }
    ParsedInput::Whole(length, sequence(parameters, last))
}

fn sequence(parameters: &[u8], last: u8) -> Option<ParsedEvent> {
    let text = std::str::from_utf8(parameters).ok()?;
    if let Some(attributes) = text.strip_prefix('?') {
        return (last == b'c').then(|| ParsedEvent::Attributes(attributes.split(';').skip(1).any(|a| a == "4")));
    }
    if let Some(mouse) = text.strip_prefix('<') {
        return self::mouse(mouse, last).map(ParsedEvent::Typed);
    }
    let numbers: Vec<u16> = text.split(';').map(|n| n.parse().unwrap_or(0)).collect();
    if let ([6, height, width], b't') = (numbers.as_slice(), last) {
        return Some(ParsedEvent::CellSize(*width, *height));
    }
    let modifiers = modifiers(numbers.get(1).copied().unwrap_or(1));
    let code = match (last, numbers.first().copied().unwrap_or(0)) {
        (b'Z', _) => return Some(ParsedEvent::Typed(typed(KeyCode::BackTab, KeyModifiers::SHIFT))),
        (b'I', _) => return Some(ParsedEvent::Typed(Event::FocusGained)),
        (b'O', _) => return Some(ParsedEvent::Typed(Event::FocusLost)),
        (b'~', 1 | 7) => KeyCode::Home,
        (b'~', 2) => KeyCode::Insert,
        (b'~', 3) => KeyCode::Delete,
        (b'~', 4 | 8) => KeyCode::End,
        (b'~', 5) => KeyCode::PageUp,
        (b'~', 6) => KeyCode::PageDown,
        (b'~', number @ 11..=15) => KeyCode::F(u8::try_from(number - 10).ok()?),
        (b'~', number @ 17..=21) => KeyCode::F(u8::try_from(number - 11).ok()?),
        (b'~', number @ 23..=24) => KeyCode::F(u8::try_from(number - 12).ok()?),
        (letter, _) => letter_key(letter)?,
    };
    Some(ParsedEvent::Typed(typed(code, modifiers)))
}

/// Decodes modifiers in the encoding of terminals: one more than their bits.
fn modifiers(number: u16) -> KeyModifiers {
    let bits = number.saturating_sub(1);
    let mut out = KeyModifiers::NONE;
    for (bit, modifier) in [(1, KeyModifiers::SHIFT), (2, KeyModifiers::ALT), (4, KeyModifiers::CONTROL)] {
        out.set(modifier, bits & bit != 0);
    }
    out
}

fn mouse(parameters: &str, last: u8) -> Option<Event> {
    let mut numbers = parameters.split(';').map(|n| n.parse::<u16>().ok());
    let (code, column, row) = (numbers.next()??, numbers.next()??, numbers.next()??);
    let button = match code & 3 {
        0 => MouseButton::Left,
        1 => MouseButton::Middle,
        _ => MouseButton::Right,
    };
    let kind = match (code & 0x60, code & 3, last) {
        (0x40, 0, _) => MouseEventKind::ScrollUp,
        (0x40, 1, _) => MouseEventKind::ScrollDown,
        (0, 3, _) | (0x20, 3, _) => MouseEventKind::Moved,
        (0, _, b'M') => MouseEventKind::Down(button),
        (0, _, _) => MouseEventKind::Up(button),
        (0x20, _, _) => MouseEventKind::Drag(button),
        _ => return None,
    };
    let mut modifiers = KeyModifiers::NONE;
    for (bit, modifier) in [(4, KeyModifiers::SHIFT), (8, KeyModifiers::ALT), (16, KeyModifiers::CONTROL)] {
        modifiers.set(modifier, code & bit != 0);
    }
    Some(Event::Mouse(MouseEvent { kind, column: column.checked_sub(1)?, row: row.checked_sub(1)?, modifiers }))
}

fn paste(rest: &[u8], length: usize) -> ParsedInput {
    const END: &[u8] = b"\x1b[201~";
    match memchr::memmem::find(rest, END) {
        Some(end) => {
            let text = String::from_utf8_lossy(rest.get(..end).unwrap_or_default()).into_owned();
            ParsedInput::Whole(length + end + END.len(), Some(ParsedEvent::Typed(Event::Paste(text))))
        }
        None => ParsedInput::Unfinished,
    }
}

/// Parses the bytes after the introducer of a terminal string: an answer, which ends with `ESC \` or BEL.
fn string(rest: &[u8]) -> ParsedInput {
    let end = rest.iter().enumerate().find_map(|(at, byte)| match byte {
        7 => Some((at, 1)),
        0x1b if rest.get(at + 1) == Some(&b'\\') => Some((at, 2)),
        _ => None,
    });
    let Some((end, mark)) = end else { return ParsedInput::Unfinished };
    let answer = rest.get(..end).unwrap_or_default();
    let found = answer.starts_with(b"Gi=31").then(|| ParsedEvent::Kitty(answer.ends_with(b";OK")));
    ParsedInput::Whole(2 + end + mark, found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the events of bytes that arrive one by one, the most difficult case.
    fn found(bytes: &[u8]) -> Vec<ParsedEvent> {
        let (mut parser, mut out) = (EscapeParser::default(), Vec::new());
        for byte in bytes {
            parser.push_bytes(&[*byte], &mut |found| out.push(found));
        }
        parser.finish(&mut |event| out.push(ParsedEvent::Typed(event)));
        out
    }

    fn keys(bytes: &[u8]) -> Vec<(KeyCode, KeyModifiers)> {
        let event = |found| match found {
            ParsedEvent::Typed(Event::Key(key)) => (key.code, key.modifiers),
            other => panic!("{other:?}"),
        };
        found(bytes).into_iter().map(event).collect()
    }

    #[test]
    fn escape_parser_reads_keys_and_modifiers() {
        const NONE: KeyModifiers = KeyModifiers::NONE;
        assert_eq!(keys(b"aG"), [(KeyCode::Char('a'), NONE), (KeyCode::Char('G'), KeyModifiers::SHIFT)]);
        assert_eq!(keys("日".as_bytes()), [(KeyCode::Char('日'), NONE)]);
        assert_eq!(keys(b"\r\t\x7f"), [(KeyCode::Enter, NONE), (KeyCode::Tab, NONE), (KeyCode::Backspace, NONE)]);
        assert_eq!(
            keys(b"\x03\x12"),
            [(KeyCode::Char('c'), KeyModifiers::CONTROL), (KeyCode::Char('r'), KeyModifiers::CONTROL)]
        );
        assert_eq!(
            keys(b"\x1b[A\x1bOB\x1b[1;5C"),
            [(KeyCode::Up, NONE), (KeyCode::Down, NONE), (KeyCode::Right, KeyModifiers::CONTROL)]
        );
        assert_eq!(
            keys(b"\x1b[6~\x1b[H\x1b[15~\x1bOP"),
            [(KeyCode::PageDown, NONE), (KeyCode::Home, NONE), (KeyCode::F(5), NONE), (KeyCode::F(1), NONE)]
        );
        assert_eq!(
            keys(b"\x1b1\x1b[Z\x1b"),
            [(KeyCode::Char('1'), KeyModifiers::ALT), (KeyCode::BackTab, KeyModifiers::SHIFT), (KeyCode::Esc, NONE)]
        );
    }

    #[test]
    fn escape_parser_reads_complete_pastes_and_mouse_events() {
        assert_eq!(found(b"\x1b[200~a\x1b[Ab\x1b[201~"), [ParsedEvent::Typed(Event::Paste("a\x1b[Ab".into()))]);
        let Some(ParsedEvent::Typed(Event::Mouse(mouse))) = found(b"\x1b[<65;10;3M").pop() else { panic!() };
        assert_eq!((mouse.kind, mouse.column, mouse.row), (MouseEventKind::ScrollDown, 9, 2));
    }

    #[test]
    fn terminal_replies_are_distinguished_from_keys() {
        assert_eq!(found(b"\x1b_Gi=31;OK\x1b\\"), [ParsedEvent::Kitty(true)]);
        assert_eq!(found(b"\x1b_Gi=31;ENOTSUPPORTED:x\x1b\\"), [ParsedEvent::Kitty(false)]);
        assert_eq!(found(b"\x1b[6;20;10t"), [ParsedEvent::CellSize(10, 20)]);
        assert_eq!(found(b"\x1b[?62;4;22c\x1b[?64c"), [ParsedEvent::Attributes(true), ParsedEvent::Attributes(false)]);
        assert_eq!(found(b"\x1b]11;rgb:0/0/0\x07\x1bP>|x\x1b\\"), []);
    }

    proptest::proptest! {
        #[test]
        fn escape_parser_accepts_arbitrary_bytes(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..100)) {
            found(&bytes);
        }
    }
}
