//! The fields of a line that is read in pieces.
//!
//! [`LineJudge`](crate::source::documents::LineJudge) reads the same bytes and checks whether the line is JSON; only positions are recorded
//! here, and they are meaningless for an invalid line.

use super::{MAX_KEY_BYTES, MAX_NESTED_BYTES};
use gristmill_pycompat::json_fields::{Field, Fields, LineShape};
use gristmill_pycompat::json_walk::Kind;
use memchr::memchr2;

/// State after the bytes of a line seen so far.
#[derive(Debug, Default)]
pub(super) struct Tracker {
    /// Bytes seen so far.
    at: u64,
    depth: u64,
    in_string: bool,
    is_escaped: bool,
    has_escapes: bool,
    /// In the outermost object: whether a key is next, or open.
    at_key: bool,
    /// Key of the open field, as a range of `keys`.
    key: (usize, usize),
    /// Value that is open.
    value: Option<Field>,
    /// The concatenated keys.
    pub(super) keys: Vec<u8>,
    /// Reason if the keys, or an object or array, exceed the limits.
    pub(super) excess: Option<&'static str>,
    has_begun: bool,
}

impl Tracker {
    /// Processes the next bytes.
    pub(super) fn take(&mut self, bytes: &[u8], fields: &mut Fields) {
        let mut from = 0;
        while let Some(byte) = bytes.get(from).copied() {
            if self.in_string && !self.is_escaped {
                let rest = bytes.get(from..).unwrap_or_default();
                let plain = memchr2(b'"', b'\\', rest).unwrap_or(rest.len());
                if self.at_key && self.depth == 1 {
                    self.key_bytes(rest.get(..plain).unwrap_or_default());
                }
                self.at += plain as u64;
                from += plain;
                let Some(byte) = bytes.get(from).copied() else { return };
                self.special(byte, fields);
            } else if self.in_string {
                self.is_escaped = false;
                if self.at_key && self.depth == 1 {
                    self.key_bytes(&[byte]);
                }
            } else {
                self.outside(byte, fields);
            }
            self.at += 1;
            from += 1;
        }
    }

    fn key_bytes(&mut self, bytes: &[u8]) {
        match self.keys.len() + bytes.len() > MAX_KEY_BYTES {
            true => self.excess = Some("its keys are more than 4 MiB"),
            false => self.keys.extend_from_slice(bytes),
        }
    }

    /// Processes a quote or a backslash in a string.
    fn special(&mut self, byte: u8, fields: &mut Fields) {
        if byte == b'\\' {
            (self.is_escaped, self.has_escapes) = (true, true);
            if self.at_key && self.depth == 1 {
                self.key_bytes(b"\\");
            }
            return;
        }
        self.in_string = false;
        if self.depth != 1 {
            return;
        }
        if self.at_key {
            self.key.1 = self.keys.len();
            self.at_key = false;
        } else {
            let has_escapes = self.has_escapes;
            if let Some(value) = &mut self.value {
                value.to = self.at + 1;
                value.has_escapes = has_escapes;
            }
            self.field(fields);
        }
    }

    fn outside(&mut self, byte: u8, fields: &mut Fields) {
        let opens = matches!(byte, b'{' | b'[');
        if !self.has_begun && !matches!(byte, b' ' | b'\t' | b'\r') {
            self.has_begun = true;
            if byte != b'{' {
                fields.set_shape(LineShape::Other(kind_of(byte)));
            }
            self.at_key = byte == b'{';
            self.in_string = byte == b'"';
            self.depth += u64::from(opens);
            return;
        }
        if self.depth == 1 && !self.at_key && self.value.is_none() {
            self.begin(byte);
        }
        match byte {
            b'"' => {
                (self.in_string, self.has_escapes) = (true, false);
                if self.at_key && self.depth == 1 {
                    self.key = (self.keys.len(), self.keys.len());
                }
            }
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                if self.depth == 1 {
                    if let Some(value) = &mut self.value {
                        value.to = self.at + 1;
                        if value.to - value.from > MAX_NESTED_BYTES {
                            self.excess = Some("a list or object in it is larger than 64 MiB");
                        }
                    }
                }
                if self.depth <= 1 {
                    self.field(fields);
                }
            }
            b',' if self.depth == 1 => {
                self.field(fields);
                self.at_key = true;
            }
            b' ' | b'\t' | b'\r' | b':' => {}
            _ => {
                if let Some(value) = self.value.as_mut().filter(|_| self.depth == 1) {
                    value.to = self.at + 1;
                }
            }
        }
    }

    /// Begins the value of a field, unless this byte only precedes it.
    fn begin(&mut self, byte: u8) {
        if matches!(byte, b' ' | b'\t' | b'\r' | b':' | b',' | b'}' | b']') {
            return;
        }
        let (key_from, key_to) = (self.key.0 as u64, self.key.1 as u64);
        let kind = kind_of(byte);
        let (from, to) = (self.at, self.at + 1);
        self.value = Some(Field { key_from, key_to, from, to, kind, has_escapes: false, has_half: false });
    }

    /// Ends the open field.
    fn field(&mut self, fields: &mut Fields) {
        if let Some(value) = self.value.take() {
            fields.push(value, self.keys.get(self.key.0..self.key.1).unwrap_or_default());
        }
    }
}

fn kind_of(first: u8) -> Kind {
    match first {
        b'"' => Kind::String,
        b'{' => Kind::Object,
        b'[' => Kind::Array,
        b't' => Kind::True,
        b'f' => Kind::False,
        b'n' => Kind::Null,
        b'N' | b'I' => Kind::NonFinite,
        _ => Kind::Number,
    }
}
