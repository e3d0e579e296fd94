//! Normalizes text for a SentencePiece model: applies the rules of the model, collapses white space, and replaces spaces by visible
//! symbols.

use super::message::ModelMessage;
use super::pieces::{char_length, PieceTable};

/// The symbol that represents a space in pieces.
pub(super) const SPACE: &[u8] = "▁".as_bytes();

/// The normalization rules of the model.
#[derive(Debug)]
pub(super) struct Normalizer {
    rules: Rules,
    adds_leading_space: bool,
    adds_trailing_space: bool,
    collapses_spaces: bool,
    escapes: bool,
    /// Whether a text that starts with this byte may start with a string that is replaced or preserved as a whole.
    is_special: Box<[bool; 256]>,
}

/// The double-array trie of replacements, and the strings to which it points.
#[derive(Debug, Default)]
struct Rules {
    units: Vec<u32>,
    texts: Vec<u8>,
}

impl Normalizer {
    /// Parses the rules of a model. The error is the reason why they are unusable.
    pub(super) fn new(model: &ModelMessage, pieces: &PieceTable) -> Result<Self, String> {
        let spec = model.normalizer.as_ref();
        let rules = Rules::new(spec.map_or(&[], |spec| spec.precompiled_charsmap()))?;
        let puts_space = spec.is_none_or(|spec| spec.add_dummy_prefix());
        let at_end = model.trainer.as_ref().is_some_and(|trainer| trainer.treat_whitespace_as_suffix());
        let starts_user_piece =
            |byte: u8| pieces.user_defined.as_ref().is_some_and(|trie| trie.step(0, byte).is_some());
        let mut is_special = Box::new([false; 256]);
        for byte in 0..=u8::MAX {
            is_special[usize::from(byte)] = byte == b' ' || rules.may_begin(byte) || starts_user_piece(byte);
        }
        Ok(Self {
            rules,
            adds_leading_space: puts_space && !at_end,
            adds_trailing_space: puts_space && at_end,
            collapses_spaces: spec.is_none_or(|spec| spec.remove_extra_whitespaces()),
            escapes: spec.is_none_or(|spec| spec.escape_whitespaces()),
            is_special,
        })
    }

    /// Whether the model has rules.
    pub(super) fn has_rules(&self) -> bool {
        !self.rules.units.is_empty()
    }

    /// Whether a space is added before texts, which decoding removes.
    pub(super) fn adds_leading_space(&self) -> bool {
        self.adds_leading_space
    }

    /// Writes the normalized text to `out`. For each of its bytes, and for its end, writes the offset in `text` to `origins`.
    pub(super) fn normalize(
        &self,
        text: &[u8],
        pieces: &PieceTable,
        out: &mut Vec<u8>,
        mut origins: Option<&mut Vec<usize>>,
    ) {
        out.clear();
        if let Some(origins) = &mut origins {
            origins.clear();
        }
        let mut at = 0;
        while self.collapses_spaces && at < text.len() {
            let (replaced, length) = self.prefix(&text[at..], pieces);
            if replaced != b" " {
                break;
            }
            at += length;
        }
        if at >= text.len() {
            return;
        }
        if self.adds_leading_space {
            self.put(b" ", at, out, &mut origins);
        }
        let mut after_space = self.collapses_spaces;
        while at < text.len() {
            let (mut replaced, length) = self.prefix(&text[at..], pieces);
            while after_space && replaced.first() == Some(&b' ') {
                replaced = &replaced[1..];
            }
            if let Some(last) = replaced.last() {
                self.put(replaced, at, out, &mut origins);
                after_space = *last == b' ';
            }
            at += length;
            after_space &= self.collapses_spaces;
        }
        let mut end = at;
        let space = if self.escapes { SPACE } else { b" " };
        while self.collapses_spaces && out.ends_with(space) {
            out.truncate(out.len() - space.len());
            if let Some(origins) = &mut origins {
                end = origins.get(out.len()).copied().unwrap_or(end);
                origins.truncate(out.len());
            }
        }
        if self.adds_trailing_space {
            self.put(b" ", end, out, &mut origins);
        }
        if let Some(origins) = origins {
            origins.push(end);
        }
    }

    fn put(&self, bytes: &[u8], at: usize, out: &mut Vec<u8>, origins: &mut Option<&mut Vec<usize>>) {
        if self.escapes && bytes.contains(&b' ') {
            for byte in bytes {
                out.extend_from_slice(if *byte == b' ' { SPACE } else { std::slice::from_ref(byte) });
            }
        } else {
            out.extend_from_slice(bytes);
        }
        if let Some(origins) = origins {
            origins.resize(out.len(), at);
        }
    }

    /// Returns the replacement for the start of a non-empty text, and the number of bytes it replaces.
    fn prefix<'a>(&'a self, text: &'a [u8], pieces: &PieceTable) -> (&'a [u8], usize) {
        if self.is_special[usize::from(text[0])] {
            if let Some((length, _)) = pieces.user_defined.as_ref().and_then(|trie| trie.longest(text)) {
                return (&text[..length], length);
            }
            if let Some(found) = self.rules.longest(text) {
                return found;
            }
        }
        let length = char_length(text);
        (&text[..length], length)
    }
}

impl Rules {
    /// Parses the size of the double array in bytes, the double array, and the zero-terminated strings.
    fn new(blob: &[u8]) -> Result<Self, String> {
        if blob.is_empty() {
            return Ok(Self::default());
        }
        let broken = || "its rules for normalizing are broken".to_owned();
        let (size, rest) = blob.split_first_chunk::<4>().ok_or_else(broken)?;
        let size = u32::from_le_bytes(*size) as usize;
        if size >= blob.len() || size > rest.len() {
            return Err(broken());
        }
        let (array, texts) = rest.split_at(size);
        let units = array.chunks_exact(4).map(|unit| unit.try_into().map_or(0, u32::from_le_bytes)).collect();
        Ok(Self { units, texts: texts.to_vec() })
    }

    /// Returns the child of the unit at `at` for this byte, and its index.
    fn step(&self, at: usize, byte: u8) -> Option<(usize, u32)> {
        let unit = *self.units.get(at)?;
        let below = at ^ offset(unit) ^ usize::from(byte);
        let next = *self.units.get(below)?;
        // The highest bit marks values, which have no label.
        (next & (1 << 31 | 0xff) == u32::from(byte)).then_some((below, next))
    }

    fn may_begin(&self, byte: u8) -> bool {
        self.step(0, byte).is_some()
    }

    /// Returns the replacement of the longest rule that matches the start of the text, and the length of the match.
    fn longest(&self, text: &[u8]) -> Option<(&[u8], usize)> {
        let (mut at, mut found) = (0, None);
        for (done, byte) in text.iter().enumerate() {
            let Some((below, unit)) = self.step(at, *byte) else { break };
            at = below;
            if unit >> 8 & 1 == 1 {
                let value = *self.units.get(at ^ offset(unit))? & !(1 << 31);
                found = Some((value as usize, done + 1));
            }
        }
        let (start, length) = found?;
        let text = self.texts.get(start..)?;
        let end = memchr::memchr(0, text).unwrap_or(text.len());
        Some((&text[..end], length))
    }
}

fn offset(unit: u32) -> usize {
    ((unit >> 10) << ((unit & 1 << 9) >> 6)) as usize
}
