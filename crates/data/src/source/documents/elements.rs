//! Conversion of the elements of a JSON array to lines.

use super::line_form::LineForm;
use gristmill_core::text::grouped;

/// Changes the bytes of an array so that each element is a line; no offset changes.
#[derive(Clone, Debug, Default)]
pub(super) struct Elements {
    state: State,
    /// Number of open objects and arrays in the element.
    depth: u64,
    is_in_string: bool,
    is_escaped: bool,
    /// Whether the current line contains an element or a part of one.
    has_content: bool,
    /// The last byte that is not white space.
    last: u8,
    /// Whether there is text after the end of the array.
    has_rest: bool,
    /// Number of bytes processed so far.
    bytes: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Before,
    Inside,
    After,
}

impl LineForm for Elements {
    fn apply(&mut self, bytes: &mut [u8]) {
        self.bytes += bytes.len() as u64;
        for byte in bytes {
            *byte = match self.state {
                State::Before => {
                    if *byte == b'[' {
                        self.state = State::Inside;
                    }
                    b' '
                }
                State::Inside => self.take_inner_byte(*byte),
                State::After => {
                    self.has_rest |= !byte.is_ascii_whitespace();
                    b' '
                }
            };
        }
    }

    fn has_open_line(&self) -> bool {
        // A truncated element at the end of the text is not a line.
        let is_whole = self.depth == 0 && !self.is_in_string && matches!(self.last, b'}' | b']' | b'"');
        self.has_content && (self.state == State::After || is_whole)
    }

    fn damage(&self, _: u64) -> Option<(String, &'static str)> {
        let (message, hint) = match self.state {
            State::After if self.has_rest => {
                ("the text after the array is not read".to_owned(), "keep each array in a file of its own")
            }
            State::After => return None,
            State::Before | State::Inside => {
                let message = format!("the list ends early at byte {}: the file is cut short", grouped(self.bytes));
                (message, "get the file again from its source")
            }
        };
        Some((message, hint))
    }
}

impl Elements {
    fn take_inner_byte(&mut self, byte: u8) -> u8 {
        self.has_content |= !byte.is_ascii_whitespace() && (byte != b']' || self.depth > 0);
        if !byte.is_ascii_whitespace() {
            self.last = byte;
        }
        match byte {
            // A line end in a string is invalid JSON; the replacement is invalid too and keeps the element on one line.
            b'\n' if self.is_in_string => {
                self.is_escaped = false;
                return b'\r';
            }
            // Some readers end lines at both characters.
            b'\n' | b'\r' if !self.is_in_string => return b' ',
            _ if self.is_escaped => self.is_escaped = false,
            b'\\' => self.is_escaped = self.is_in_string,
            b'"' => self.is_in_string = !self.is_in_string,
            _ if self.is_in_string => {}
            b'{' | b'[' => self.depth += 1,
            b',' if self.depth == 0 => return b'\n',
            b']' if self.depth == 0 => {
                self.state = State::After;
                return b' ';
            }
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        byte
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> (String, Elements) {
        let (mut bytes, mut elements) = (text.as_bytes().to_vec(), Elements::default());
        // Applies the change to single bytes, and to all bytes at once.
        let mut pieces = bytes.clone();
        let mut by_byte = Elements::default();
        pieces.iter_mut().for_each(|byte| by_byte.apply(std::slice::from_mut(byte)));
        elements.apply(&mut bytes);
        assert_eq!((&bytes, elements.damage(0)), (&pieces, by_byte.damage(0)));
        assert_eq!(bytes.len(), text.len());
        (String::from_utf8(bytes).unwrap(), elements)
    }

    #[test]
    fn elements_become_lines_at_the_same_offsets() {
        let (found, elements) = lines("\n[\n {\"a\": [1, 2],\n \"b\": \"x, \\\"]\"},\n {}, \"\\\\\"\n]\n");
        assert_eq!(found, "    {\"a\": [1, 2],  \"b\": \"x, \\\"]\"}\n  {}\n \"\\\\\"   ");
        assert_eq!((elements.damage(0), elements.has_open_line()), (None, true));
        assert!(!lines("[ \n]").1.has_open_line());
        assert!(lines("[{}, {}").1.has_open_line() && !lines("[{}, {\"a").1.has_open_line());
        assert!(!lines("[{}, 12").1.has_open_line() && !lines("[{}, nu").1.has_open_line());
        assert_eq!(lines("[1,\r\n2]\r\n").0, " 1\n  2   ");
    }

    #[test]
    fn damage_of_a_json_array_is_found() {
        for text in ["[", "[{}", "[{}]]"] {
            assert!(lines(text).1.damage(0).is_some(), "{text}");
        }
        assert_eq!(lines("[\"a\\\n\", 1]").0, " \"a\\\r\"\n 1 ");
        assert_eq!(lines("[\"a\nb\", 1]").0, " \"a\rb\"\n 1 ");
    }
}
