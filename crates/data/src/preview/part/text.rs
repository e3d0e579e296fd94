//! Pages of text that end at line ends if possible, and detection of text.

use super::{PartBytes, PAGE_BYTES};
use crate::preview::text::safe_byte_lines;
use gristmill_core::Outcome;

/// Distance from the end of a page, in bytes, within which a line end is searched.
const LINE_SEARCH: usize = 8 << 10;

pub(super) struct TextPage {
    /// Start in bytes, inclusive.
    pub(super) from: u64,
    /// End in bytes, exclusive.
    pub(super) to: u64,
    /// Text, safe to show; line breaks kept.
    pub(super) text: String,
}

/// Reads the page that begins at `from`.
pub(super) fn page(bytes: &dyn PartBytes, from: u64) -> Outcome<TextPage> {
    let length = bytes.len();
    let from = if from < length { from } else { 0 };
    let mut content = bytes.read(from, PAGE_BYTES)?;
    if from + (content.len() as u64) < length {
        let end = page_end(&content);
        content.truncate(end);
    }
    let to = from + content.len() as u64;
    Ok(TextPage { from, to, text: safe_byte_lines(&content) })
}

/// Returns the offset at which a page that is not the last should end: after a line, otherwise after a word, otherwise before a truncated
/// character.
pub(super) fn page_end(content: &[u8]) -> usize {
    let search = content.len().saturating_sub(LINE_SEARCH);
    let tail = content.get(search..).unwrap_or_default();
    if let Some(at) = memchr::memrchr(b'\n', tail).or_else(|| memchr::memrchr(b' ', tail)) {
        return search + at + 1;
    }
    (content.len() - cut_character(content)).max(1).min(content.len())
}

/// Returns the size in bytes of the truncated character at the end; 0 if the last character is complete.
pub(super) fn cut_character(content: &[u8]) -> usize {
    for back in 1..=3.min(content.len()) {
        let byte = content.get(content.len() - back).copied().unwrap_or_default();
        let needs = match byte {
            0xc0..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf7 => 4,
            _ => 0,
        };
        if needs > back {
            return back;
        }
        if byte & 0xc0 != 0x80 {
            break;
        }
    }
    0
}

/// Whether the first bytes of a part look like text: UTF-8 (a truncated character at the end is accepted) with few control characters.
pub(super) fn is_text(first: &[u8]) -> bool {
    let valid = match std::str::from_utf8(first) {
        Ok(_) => first.len(),
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        Err(_) => return false,
    };
    let text = first.get(..valid).unwrap_or_default();
    let controls = text.iter().filter(|b| **b < 0x20 && !matches!(b, b'\n' | b'\r' | b'\t')).count();
    valid > 0 && !text.contains(&0) && controls * 100 <= text.len()
}
