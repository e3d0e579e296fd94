//! Token ids prepared for display: as running text in which tokens can be distinguished, and as rows of ids.
//!
//! A tone is the kind of a piece of text; the screen chooses the colours.

use gristmill_core::text::{display_safe, display_safe_bytes, grouped};
use std::fmt::Write as _;
use std::ops::Range;
use std::sync::Arc;
use unicode_segmentation::UnicodeSegmentation;

/// Encoding of ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenCode {
    /// Bytes of one id, from 1 to 8.
    pub bytes: u8,
    /// Whether the most significant byte is first.
    pub is_big: bool,
    /// Whether ids may be negative.
    pub is_signed: bool,
}

impl TokenCode {
    /// Returns the encoding of unsigned little-endian ids.
    pub fn little(bytes: u8) -> Self {
        Self { bytes: bytes.clamp(1, 8), is_big: false, is_signed: false }
    }

    /// Returns the encoding of a numpy type; `None` for types that are not used for ids.
    pub fn of_numpy(dtype: &str) -> Option<Self> {
        let (bytes, is_signed) = match dtype {
            "uint8" => (1, false),
            "uint16" => (2, false),
            "uint32" => (4, false),
            "uint64" => (8, false),
            "int32" => (4, true),
            "int64" => (8, true),
            _ => return None,
        };
        Some(Self { is_signed, ..Self::little(bytes) })
    }

    /// Returns the type as numpy writes it; a byte type for ids of a size that numpy has no integer type for.
    pub fn numpy(self) -> String {
        let kind = if self.is_signed { 'i' } else { 'u' };
        let order = if self.is_big { '>' } else { '<' };
        match self.bytes {
            1 => format!("|{kind}1"),
            2 | 4 | 8 => format!("{order}{kind}{}", self.bytes),
            bytes => format!("|V{bytes}"),
        }
    }

    /// Returns the bytes of one id.
    pub fn size(self) -> u64 {
        u64::from(self.bytes.clamp(1, 8))
    }

    /// Returns the ids in `bytes`; incomplete bytes at the end are ignored.
    pub fn ids(self, bytes: &[u8]) -> Vec<i128> {
        let size = usize::from(self.bytes.clamp(1, 8));
        bytes.chunks_exact(size).map(|id| self.id(id)).collect()
    }

    fn id(self, bytes: &[u8]) -> i128 {
        let add = |sum: i128, byte: &u8| (sum << 8) | i128::from(*byte);
        let value = if self.is_big { bytes.iter().fold(0, add) } else { bytes.iter().rev().fold(0, add) };
        let bits = 8 * bytes.len();
        match self.is_signed && value >> (bits - 1) == 1 {
            true => value - (1 << bits),
            false => value,
        }
    }
}

/// Kind of a piece of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenTone {
    /// A token; the tone alternates from one token to the next.
    Even,
    /// A token next to [`Even`](Self::Even) ones.
    Odd,
    /// A token that text never encodes to: end of a document, beginning, padding.
    Special,
    /// A token that training ignores by the loss mask.
    Masked,
    /// Boundary between two documents.
    Boundary,
    /// Tokens that do not fill a window, which training ignores.
    Waste,
    /// Numbers next to the tokens.
    Number,
}

/// A text with the kinds of its pieces. Safe to show.
#[derive(Clone, Debug)]
pub struct TokenText {
    /// The text, with a line break after each line.
    pub text: Arc<str>,
    /// Pieces with their tones, in order; the text between them has no tone.
    pub marks: Arc<[(Range<usize>, TokenTone)]>,
}

impl TokenText {
    /// Returns the pieces that overlap a range of the text.
    pub fn within(&self, range: &Range<usize>) -> &[(Range<usize>, TokenTone)] {
        let from = self.marks.partition_point(|(mark, _)| mark.end <= range.start);
        let to = self.marks.partition_point(|(mark, _)| mark.start < range.end);
        self.marks.get(from..to).unwrap_or_default()
    }
}

/// Source of the text of an id.
pub trait TokenSpellings {
    /// Returns the bytes of an id; `None` when it is not in the vocabulary.
    fn piece(&self, id: u32) -> Option<Vec<u8>>;
    /// Whether text never encodes to the token.
    fn is_special(&self, id: u32) -> bool;
}

/// Consecutive tokens.
#[derive(Clone, Copy)]
pub struct TokenRun<'a> {
    /// Token ids.
    pub ids: &'a [i128],
    /// Number of the first token, from 0.
    pub first: u64,
    /// Whether each id is excluded from training; may be shorter than `ids`.
    pub masked: &'a [bool],
    /// Captions before tokens, as position in `ids` and text of this program, in order.
    pub breaks: &'a [(usize, String)],
    /// Position from which on no token is used for training.
    pub waste_from: Option<usize>,
    /// The vocabulary.
    pub pieces: Option<&'a dyn TokenSpellings>,
}

impl TokenRun<'_> {
    fn tone(&self, at: usize) -> TokenTone {
        let is_special = || self.vocabulary_id(at).is_some_and(|(pieces, id)| pieces.is_special(id));
        match () {
            () if self.waste_from.is_some_and(|from| at >= from) => TokenTone::Waste,
            () if self.masked.get(at) == Some(&true) => TokenTone::Masked,
            () if is_special() => TokenTone::Special,
            () if (self.first + at as u64).is_multiple_of(2) => TokenTone::Even,
            () => TokenTone::Odd,
        }
    }

    fn vocabulary_id(&self, at: usize) -> Option<(&dyn TokenSpellings, u32)> {
        let id = self.ids.get(at).and_then(|id| u32::try_from(*id).ok())?;
        Some((self.pieces?, id))
    }

    /// Returns the text of each token. A character that spans several tokens belongs to the first of them.
    fn texts(&self) -> Vec<String> {
        let mut texts = vec![String::new(); self.ids.len()];
        // Bytes of an incomplete character, each with the index of its token.
        let mut open: Vec<(u8, usize)> = Vec::new();
        for (at, id) in self.ids.iter().enumerate() {
            match self.vocabulary_id(at).and_then(|(pieces, id)| pieces.piece(id)) {
                Some(bytes) => open.extend(bytes.into_iter().map(|byte| (byte, at))),
                None => {
                    flush(&mut open, &mut texts, true);
                    if let Some(text) = texts.get_mut(at) {
                        let _ = write!(text, "<{id}>");
                    }
                }
            }
            flush(&mut open, &mut texts, false);
        }
        flush(&mut open, &mut texts, true);
        texts
    }

    /// Returns the tokens as running text. A line break is shown as a symbol and also breaks the line.
    pub fn as_text(&self) -> TokenText {
        let mut out = Builder::default();
        let mut breaks = self.breaks.iter().peekable();
        let mut texts = self.texts();
        join_graphemes(&mut texts, self.breaks);
        for (at, text) in texts.iter().enumerate() {
            while let Some((_, words)) = breaks.next_if(|(place, _)| *place <= at) {
                out.boundary(words);
            }
            let shown = display_safe(text).into_owned();
            let shown = if text.contains('\n') { with_lines(text) } else { shown };
            out.push(&shown, self.tone(at));
        }
        breaks.for_each(|(_, words)| out.boundary(words));
        out.finish()
    }

    /// Returns a row for every token: its number, its id, its text.
    pub fn as_rows(&self) -> TokenText {
        let mut out = Builder::default();
        let mut breaks = self.breaks.iter().peekable();
        let texts = if self.pieces.is_some() { self.texts() } else { Vec::new() };
        for (at, id) in self.ids.iter().enumerate() {
            while let Some((_, words)) = breaks.next_if(|(place, _)| *place <= at) {
                out.boundary(words);
            }
            out.push(&format!("{:>9} ", grouped(self.first + at as u64)), TokenTone::Number);
            out.push(&format!("{id:>7}"), TokenTone::Even);
            let tone = self.tone(at);
            if let Some(text) = texts.get(at) {
                out.push("  ", TokenTone::Number);
                out.push(&quoted(text), tone);
            }
            match tone {
                TokenTone::Masked => out.push("  not trained on", TokenTone::Masked),
                TokenTone::Waste => out.push("  left out", TokenTone::Waste),
                _ => {}
            }
            out.text.push('\n');
        }
        breaks.for_each(|(_, words)| out.boundary(words));
        out.finish()
    }
}

/// Formats a text on one line, in quotes; invisible characters are escaped.
fn quoted(text: &str) -> String {
    format!("\"{}\"", display_safe(&text.replace('\n', "\\n").replace('\t', "\\t").replace('\r', "\\r")))
}

/// Returns safe text in which a line break is shown as a symbol and also breaks the line.
fn with_lines(text: &str) -> String {
    let lines: Vec<String> = text.split('\n').map(|line| display_safe(line).into_owned()).collect();
    lines.join("↵\n")
}

/// Appends the complete characters to the texts of the tokens of their first bytes.
fn flush(open: &mut Vec<(u8, usize)>, texts: &mut [String], is_all: bool) {
    let bytes: Vec<u8> = open.iter().map(|(byte, _)| *byte).collect();
    let mut at = 0;
    while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        let (valid, bad) = match std::str::from_utf8(rest) {
            Ok(text) => (text, 0),
            Err(error) => {
                let valid = rest.get(..error.valid_up_to()).and_then(|good| std::str::from_utf8(good).ok());
                let left = rest.len() - error.valid_up_to();
                let bad = match error.error_len() {
                    Some(length) => length,
                    None if is_all => left,
                    None => 0,
                };
                (valid.unwrap_or_default(), bad)
            }
        };
        for (place, letter) in valid.char_indices() {
            if let Some(text) = open.get(at + place).and_then(|(_, owner)| texts.get_mut(*owner)) {
                text.push(letter);
            }
        }
        at += valid.len();
        for (byte, owner) in open.get(at..at + bad).unwrap_or_default() {
            if let Some(text) = texts.get_mut(*owner) {
                text.push_str(&display_safe_bytes(&[*byte]));
            }
        }
        at += bad;
        if bad == 0 {
            break;
        }
    }
    open.drain(..at.min(open.len()));
}

#[derive(Default)]
struct Builder {
    text: String,
    marks: Vec<(Range<usize>, TokenTone)>,
}

impl Builder {
    fn push(&mut self, words: &str, tone: TokenTone) {
        if words.is_empty() {
            return;
        }
        let from = self.text.len();
        self.text.push_str(words);
        self.marks.push((from..self.text.len(), tone));
    }

    /// Adds a caption on a separate line.
    fn boundary(&mut self, words: &str) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        self.push(&format!("-- {words} --"), TokenTone::Boundary);
        self.text.push('\n');
    }

    fn finish(mut self) -> TokenText {
        while self.text.ends_with('\n') {
            self.text.pop();
        }
        let end = self.text.len();
        self.marks.retain(|(range, _)| range.start < end);
        if let Some((range, _)) = self.marks.last_mut() {
            range.end = range.end.min(end);
        }
        TokenText { text: self.text.into(), marks: self.marks.into() }
    }
}

/// Moves the rest of a character that is drawn as one, such as a mark, to the text that it begins in: alone, it would be drawn on a substitute.
fn join_graphemes(texts: &mut [String], breaks: &[(usize, String)]) {
    let mut last: Option<usize> = None;
    for at in 0..texts.len() {
        if breaks.iter().any(|(place, _)| *place == at) {
            last = None;
        }
        let Some((before, from)) = texts.split_at_mut_checked(at) else { return };
        let Some(text) = from.first_mut() else { return };
        if let Some(begun) = last.and_then(|last| before.get_mut(last)) {
            let joined = format!("{begun}{text}");
            let end = joined.grapheme_indices(true).map(|(start, _)| start).find(|start| *start >= begun.len());
            let rest: String = text.drain(..end.unwrap_or(joined.len()) - begun.len()).collect();
            begun.push_str(&rest);
        }
        if !text.is_empty() {
            last = Some(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Table(Vec<&'static [u8]>);

    impl TokenSpellings for Table {
        fn piece(&self, id: u32) -> Option<Vec<u8>> {
            self.0.get(id as usize).map(|bytes| bytes.to_vec())
        }
        fn is_special(&self, id: u32) -> bool {
            id == 0
        }
    }

    fn run<'a>(ids: &'a [i128], table: &'a Table, breaks: &'a [(usize, String)]) -> TokenRun<'a> {
        TokenRun { ids, first: 0, masked: &[], breaks, waste_from: None, pieces: Some(table) }
    }

    #[test]
    fn token_ids_are_decoded_by_width_byte_order_and_sign() {
        let code = |bytes, is_big, is_signed| TokenCode { bytes, is_big, is_signed };
        assert_eq!(TokenCode::little(2).ids(&[1, 2, 3, 4, 5]), [0x0201, 0x0403]);
        assert_eq!(code(3, true, false).ids(&[1, 2, 3]), [0x010203]);
        assert_eq!(code(4, false, true).ids(&[255, 255, 255, 255]), [-1]);
        assert_eq!(code(8, false, false).ids(&[255; 8]), [i128::from(u64::MAX)]);
    }

    #[test]
    fn character_of_several_tokens_is_shown_at_the_first() {
        let table = Table(vec![b"<end>", b"a", b"\xe2\x82", b"\xac", b" b", b"\xff"]);
        let texts = run(&[1, 2, 3, 4, 5, 9, 2], &table, &[]).texts();
        assert_eq!(texts, ["a", "€", "", " b", "\\xff", "<9>", "\\xe2\\x82"]);
    }

    #[test]
    fn mark_is_shown_at_the_token_of_its_base() {
        let table = Table(vec![b"<end>", "e".as_bytes(), "\u{301}".as_bytes(), "\u{301}x".as_bytes()]);
        let breaks = [(4, "document 2".to_owned())];
        let shown = run(&[1, 2, 1, 3, 2], &table, &breaks).as_text();
        assert_eq!(&*shown.text, "e\u{301}e\u{301}x\n-- document 2 --\n◌\u{301}");
    }

    #[test]
    fn marks_cover_every_token_and_no_separator() {
        let table = Table(vec![b"<end>", b"one", b" two", b"\n"]);
        let breaks = [(3, "document 2".to_owned())];
        let shown = run(&[1, 2, 0, 1, 3, 2], &table, &breaks).as_text();
        assert_eq!(&*shown.text, "one two<end>\n-- document 2 --\none↵\n two");
        let toned: Vec<_> = shown.marks.iter().map(|(range, tone)| (&shown.text[range.clone()], *tone)).collect();
        use TokenTone::{Boundary, Even, Odd, Special};
        assert_eq!(
            toned,
            [
                ("one", Even),
                (" two", Odd),
                ("<end>", Special),
                ("-- document 2 --", Boundary),
                ("one", Odd),
                ("↵\n", Even),
                (" two", Odd)
            ]
        );
        assert_eq!(shown.within(&(4..8)).len(), 2);
    }

    #[test]
    fn token_rows_show_masked_and_left_out_tokens() {
        let table = Table(vec![b"<end>", b"\x1b[1m", b"b\n"]);
        let run = TokenRun { masked: &[true], waste_from: Some(2), ..run(&[1, 2, 2], &table, &[]) };
        let rows = run.as_rows();
        let rows: Vec<&str> = rows.text.lines().collect();
        assert!(rows[0].ends_with("not trained on") && !rows[0].contains('\x1b'), "{rows:?}");
        assert!(rows[1].contains("\"b\\n\""));
        assert!(rows[2].ends_with("left out"));
    }
}
