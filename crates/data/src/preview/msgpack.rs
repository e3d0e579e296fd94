//! MessagePack as tree lines, parsed once from beginning to end. A false length allocates no memory, and nesting of any depth cannot
//! overflow the stack.

use super::text::safe_byte_lines;
use super::tree::TextSpan;
use super::tree_build::{Builder, Tree, MAX_DEPTH, MAX_VALUE_CHARACTERS};
use gristmill_core::text::{bytes as size_words, count};

/// A parsed document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Document {
    /// One value without children; safe to show.
    Scalar(String),
    /// A map or an array.
    Tree(Tree),
}

/// Location of the first MessagePack error in a document, and the reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not valid MessagePack: {what} at byte {at}")]
pub struct MsgpackError {
    /// Description for the user.
    pub what: &'static str,
    /// Offset in bytes.
    pub at: usize,
}

/// Parses a document. `is_whole` is false when `bytes` are only its beginning: a missing end is then not an error.
pub fn parse(bytes: &[u8], is_whole: bool) -> Result<Document, MsgpackError> {
    let mut reader = Reader { bytes, at: 0 };
    match reader.document(is_whole) {
        Ok(document) => Ok(document),
        Err(stop) => Err(MsgpackError {
            what: match stop {
                ReadEnd::End => "it ends too early",
                ReadEnd::Wrong(what) => what,
            },
            at: reader.at,
        }),
    }
}

enum ReadEnd {
    End,
    Wrong(&'static str),
}

/// One element of a document.
enum Item {
    Scalar(String),
    Text(String, TextSpan),
    Array(u64),
    Map(u64),
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn document(&mut self, is_whole: bool) -> Result<Document, ReadEnd> {
        let document = match self.item(MAX_VALUE_CHARACTERS)? {
            Item::Scalar(value) | Item::Text(value, _) => Document::Scalar(value),
            Item::Array(items) => Document::Tree(self.tree(false, items, is_whole)?),
            Item::Map(pairs) => Document::Tree(self.tree(true, pairs, is_whole)?),
        };
        if is_whole && self.at < self.bytes.len() {
            return Err(ReadEnd::Wrong("more follows after its end"));
        }
        Ok(document)
    }

    fn tree(&mut self, is_map: bool, length: u64, is_whole: bool) -> Result<Tree, ReadEnd> {
        let mut builder = Builder::new(is_map);
        match self.fill(&mut builder, length) {
            Ok(()) => {}
            Err(ReadEnd::End) if !is_whole => builder.note("only its beginning was read"),
            Err(stop) => return Err(stop),
        }
        Ok(builder.finish())
    }

    fn fill(&mut self, builder: &mut Builder, length: u64) -> Result<(), ReadEnd> {
        // Number of values that are still expected in each open map or array.
        let mut left = vec![length];
        while let Some(more) = left.last_mut() {
            if *more == 0 {
                left.pop();
                builder.close();
                continue;
            }
            *more -= 1;
            let is_map = builder.innermost().is_some_and(|(is_map, _)| is_map);
            let label = if is_map { Some(self.key(builder)?) } else { None };
            let room = builder.remaining_chars();
            let (is_map, length) = match self.item(room)? {
                Item::Scalar(value) => {
                    builder.scalar(label, value);
                    continue;
                }
                Item::Text(value, span) => {
                    builder.text(label, &value, span);
                    continue;
                }
                Item::Array(length) => (false, length),
                Item::Map(length) => (true, length),
            };
            if builder.depth() >= MAX_DEPTH {
                return Err(ReadEnd::Wrong("it is nested deeper than 1,000 levels"));
            }
            builder.begin(label, is_map);
            left.push(length);
        }
        Ok(())
    }

    fn key(&mut self, builder: &mut Builder) -> Result<String, ReadEnd> {
        match self.item(builder.remaining_chars())? {
            Item::Scalar(key) | Item::Text(key, _) => {
                builder.note_key(&key);
                Ok(key)
            }
            Item::Array(_) | Item::Map(_) => Err(ReadEnd::Wrong("a key is itself a list or a map")),
        }
    }

    /// Reads the next value; a text is truncated to `room` characters.
    fn item(&mut self, room: usize) -> Result<Item, ReadEnd> {
        let marker = self.take(1)?[0];
        let scalar = |value: String| Ok(Item::Scalar(value));
        match marker {
            0x00..=0x7f => scalar(marker.to_string()),
            0x80..=0x8f => Ok(Item::Map(u64::from(marker & 0x0f))),
            0x90..=0x9f => Ok(Item::Array(u64::from(marker & 0x0f))),
            0xa0..=0xbf => self.text(u64::from(marker & 0x1f), room),
            0xc0 => scalar("null".into()),
            0xc1 => Err(ReadEnd::Wrong("a byte has no meaning")),
            0xc2 => scalar("false".into()),
            0xc3 => scalar("true".into()),
            0xc4..=0xc6 => {
                let length = self.number(1 << (marker - 0xc4))?;
                self.binary("bytes", length)
            }
            0xc7..=0xc9 => {
                let length = self.number(1 << (marker - 0xc7))?;
                self.extension(length)
            }
            0xca => {
                let bits = u32::try_from(self.number(4)?).unwrap_or_default();
                scalar(f32::from_bits(bits).to_string())
            }
            0xcb => {
                let bits = self.number(8)?;
                scalar(f64::from_bits(bits).to_string())
            }
            0xcc..=0xcf => {
                let number = self.number(1 << (marker - 0xcc))?;
                scalar(number.to_string())
            }
            0xd0..=0xd3 => {
                let width = 1 << (marker - 0xd0);
                let shift = 64 - 8 * width as u32;
                // Both casts preserve the bits: the sign is extended to 64 bits.
                let number = ((self.number(width)? << shift) as i64) >> shift;
                scalar(number.to_string())
            }
            0xd4..=0xd8 => self.extension(1 << (marker - 0xd4)),
            0xd9..=0xdb => {
                let length = self.number(1 << (marker - 0xd9))?;
                self.text(length, room)
            }
            0xdc | 0xdd => Ok(Item::Array(self.number(2 << (marker - 0xdc))?)),
            0xde | 0xdf => Ok(Item::Map(self.number(2 << (marker - 0xde))?)),
            0xe0..=0xff => scalar((i16::from(marker) - 256).to_string()),
        }
    }

    fn text(&mut self, length: u64, room: usize) -> Result<Item, ReadEnd> {
        let from = self.at as u64;
        let raw = self.take_u64(length)?;
        // A character has at most four bytes, so no more bytes are examined.
        let shown = raw.get(..room.saturating_mul(4)).unwrap_or(raw);
        let text = safe_byte_lines(shown);
        let mut value: String = text.chars().take(room).collect();
        if shown.len() < raw.len() || value.len() < text.len() {
            value.push_str(&format!("… ({})", size_words(raw.len() as u64)));
        }
        Ok(Item::Text(value, TextSpan { from, to: from + length, is_escaped: false }))
    }

    fn binary(&mut self, word: &str, length: u64) -> Result<Item, ReadEnd> {
        use std::fmt::Write as _;
        const MAX_SHOWN: usize = 16;
        let raw = self.take_u64(length)?;
        let mut value = count(length, "byte");
        if word != "bytes" {
            value = format!("{word}, {value}");
        }
        for (at, byte) in raw.iter().take(MAX_SHOWN).enumerate() {
            let _ = write!(value, "{}{byte:02x}", if at == 0 { ": " } else { " " });
        }
        if raw.len() > MAX_SHOWN {
            value.push_str(" …");
        }
        Ok(Item::Scalar(value))
    }

    fn extension(&mut self, length: u64) -> Result<Item, ReadEnd> {
        let kind = i8::from_be_bytes([self.take(1)?[0]]);
        self.binary(&format!("extension {kind}"), length)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], ReadEnd> {
        let end = self.at.checked_add(length).filter(|end| *end <= self.bytes.len()).ok_or(ReadEnd::End)?;
        let taken = self.bytes.get(self.at..end).ok_or(ReadEnd::End)?;
        self.at = end;
        Ok(taken)
    }

    fn take_u64(&mut self, length: u64) -> Result<&'a [u8], ReadEnd> {
        self.take(usize::try_from(length).map_err(|_| ReadEnd::End)?)
    }

    /// Reads a big-endian number of `width` bytes.
    fn number(&mut self, width: usize) -> Result<u64, ReadEnd> {
        Ok(self.take(width)?.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tree::tree_line;
    use super::*;

    fn shown(bytes: &[u8]) -> Vec<String> {
        match parse(bytes, true).unwrap() {
            Document::Tree(tree) => tree.lines.iter().map(tree_line).collect(),
            Document::Scalar(value) => vec![value],
        }
    }

    #[test]
    fn maps_lists_and_all_scalars_are_shown() {
        let map = b"\x83\xa1a\x01\xa4tags\x92\xa1x\xc0\x07\xc4\x02\xff\x00";
        assert_eq!(shown(map), ["a: 1", "tags:", "  0: x", "  1: null", "7: 2 bytes: ff 00"]);
        assert_eq!(shown(b"\xff"), ["-1"]);
        assert_eq!(shown(b"\xd1\xff\x00"), ["-256"]);
        assert_eq!(shown(b"\xcf\xff\xff\xff\xff\xff\xff\xff\xff"), ["18446744073709551615"]);
        assert_eq!(shown(b"\xcb\x3f\xf8\0\0\0\0\0\0"), ["1.5"]);
        assert_eq!(shown(b"\xd4\x05\x07"), ["extension 5, 1 byte: 07"]);
        assert_eq!(shown(b"\x91\xa4\x1b[2J"), ["0: ␛[2J"]);
    }

    #[test]
    fn wrong_msgpack_lengths_and_deep_nesting_are_refused() {
        for bomb in [
            &b"\xdd\xff\xff\xff\xff"[..],
            b"\xdf\xff\xff\xff\xff\x01",
            b"\xdb\xff\xff\xff\xffabc",
            b"\xc6\xff\xff\xff\xff",
        ] {
            assert_eq!(parse(bomb, true).unwrap_err().what, "it ends too early");
        }
        assert!(parse(&b"\x91".repeat(1_000_000), true).unwrap_err().what.contains("deeper"));
        let nested_bomb = b"\xdd\xff\xff\xff\xff".repeat(100_000);
        assert!(parse(&nested_bomb, true).unwrap_err().what.contains("deeper"));
        let mut flat = b"\xdd\x00\x10\x00\x00".to_vec();
        flat.resize(5 + (1 << 20), 0xc0);
        assert_eq!(shown(&flat).len(), super::super::tree_build::MAX_TREE_LINES + 1);
        assert!(matches!(parse(&flat[..100], false), Ok(Document::Tree(_))));
    }

    #[test]
    fn invalid_msgpack_is_reported_with_its_offset() {
        assert_eq!(parse(b"", true).unwrap_err().at, 0);
        assert_eq!(parse(b"\x92\x01\xc1", true).unwrap_err(), MsgpackError { what: "a byte has no meaning", at: 3 });
        assert_eq!(parse(b"\x01\x02", true).unwrap_err().what, "more follows after its end");
    }
}
