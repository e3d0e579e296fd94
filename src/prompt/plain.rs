//! Output to stderr without escape sequences, for logs and screen readers.

use std::io::{self, Stderr, Write};
use std::os::fd::{AsRawFd, RawFd};

/// Writes to stderr, but omits cursor movements and clearing; a move to the left becomes a backspace.
#[derive(Debug)]
pub(super) struct PlainWriter {
    stderr: Stderr,
    filter: Filter,
}

impl PlainWriter {
    pub(super) fn new() -> Self {
        Self { stderr: io::stderr(), filter: Filter::default() }
    }
}

impl Write for PlainWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut plain = Vec::with_capacity(bytes.len());
        self.filter.pass(bytes, &mut plain);
        self.stderr.write_all(&plain)?;
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        self.stderr.flush()
    }
}

impl AsRawFd for PlainWriter {
    fn as_raw_fd(&self) -> RawFd {
        self.stderr.as_raw_fd()
    }
}

/// The state of the parser of escape sequences at the end of the last write.
#[derive(Debug, Default)]
enum Filter {
    #[default]
    Text,
    Escape,
    Sequence(usize),
}

impl Filter {
    fn pass(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        for &byte in bytes {
            *self = match (&*self, byte) {
                (Self::Text, 0x1b) => Self::Escape,
                (Self::Text, byte) => {
                    out.push(byte);
                    Self::Text
                }
                (Self::Escape, b'[') => Self::Sequence(0),
                (Self::Escape, _) => Self::Text,
                (Self::Sequence(number), b'0'..=b'9') => {
                    Self::Sequence((number * 10 + usize::from(byte - b'0')).min(1000))
                }
                (Self::Sequence(number), b'D') => {
                    for _ in 0..*number {
                        out.extend_from_slice(b"\x08 \x08");
                    }
                    Self::Text
                }
                (Self::Sequence(number), 0x20..=0x3f) => Self::Sequence(*number),
                (Self::Sequence(_), _) => Self::Text,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removes_escape_sequences_and_maps_cursor_left_to_backspace() {
        let mut filter = Filter::default();
        let mut out = Vec::new();
        for piece in ["Name: ab\x1b", "[1D\x1b[0", "K\n\x1b[2K\x1b[1A\x1b[?25lé"] {
            filter.pass(piece.as_bytes(), &mut out);
        }
        assert_eq!(String::from_utf8(out).unwrap(), "Name: ab\x08 \x08\né");
    }
}
