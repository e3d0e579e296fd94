//! Decodes blocks to texts. The texts are slices of the decompressed pages, without copying.

use crate::block::{PageBody, RawPage, TextBlock};
use crate::codec::{is_packed, verify, Unpacker};
use crate::dictionary::{Dictionary, DictionaryContent};
use crate::values::{read_page, PageError, PageParts, Span, SpanList, DICTIONARY, JOINED, NULL};
use gristmill_arrow::MAX_TEXT_BYTES;
use gristmill_core::Outcome;

/// The value of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// A text, which may be empty.
    Text(&'a str),
    /// Null.
    Null,
    /// Bytes that are not UTF-8.
    NotUtf8,
    /// A value larger than [`MAX_TEXT_BYTES`], of this size in bytes.
    TooLong(u64),
}

/// Decodes blocks. Reuse one decoder per thread for many blocks.
#[derive(Default)]
pub struct TextDecoder {
    unpacker: Unpacker,
    /// Memory of decompressed pages, which is reused.
    buffers: Vec<Vec<u8>>,
    list: SpanList,
}

/// The rows of a block, with their numbers in the file. The texts are borrowed from the decoder, so that many of them can be used together.
#[derive(Clone, Debug)]
pub struct TextRows<'a> {
    spans: std::slice::Iter<'a, Span>,
    /// Number of rows of a column whose type allows only null.
    nulls: u64,
    next_row: u64,
    pages: Vec<&'a [u8]>,
    joined: &'a [u8],
    dictionary: Option<&'a DictionaryContent>,
}

impl TextDecoder {
    /// Creates a decoder.
    pub fn new() -> Self {
        Self::default()
    }

    /// Decodes a block. Fails if any of its pages is damaged.
    pub fn decode<'a>(&'a mut self, block: &'a TextBlock) -> Outcome<TextRows<'a>> {
        if self.buffers.len() < block.pages.len() {
            self.buffers.resize_with(block.pages.len(), Vec::new);
        }
        for (raw, buffer) in block.pages.iter().zip(&mut self.buffers) {
            unpack(&mut self.unpacker, block, raw, buffer).map_err(|why| block.damage(raw, &why))?;
        }
        self.list.spans.clear();
        self.list.joined.clear();
        let mut pages = Vec::with_capacity(block.pages.len());
        for (index, raw) in block.pages.iter().enumerate() {
            let buffer = self.buffers.get(index).map(Vec::as_slice).unwrap_or_default();
            let (levels, content) = parts_of(block, raw, buffer);
            let parts = PageParts { page: &raw.page, levels, content, source: index as u32 };
            let dictionary = block.dictionary.as_deref();
            read_page(parts, block.context.max_definition, dictionary, &raw.rows, &mut self.list).map_err(|error| {
                match error {
                    PageError::Damage(why) => block.damage(raw, &why),
                    PageError::File(failure) => failure,
                }
            })?;
            pages.push(content);
        }
        Ok(TextRows {
            spans: self.list.spans.iter(),
            nulls: if block.pages.is_empty() { block.rows } else { 0 },
            next_row: block.first_row,
            pages,
            joined: &self.list.joined,
            dictionary: block.dictionary.as_deref().map(Dictionary::content),
        })
    }
}

impl std::fmt::Debug for TextDecoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TextDecoder").field("buffers", &self.buffers.len()).finish_non_exhaustive()
    }
}

/// A value with its bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawValue<'a> {
    /// Number of its row in the file.
    pub(crate) row: u64,
    pub(crate) value: Value<'a>,
    pub(crate) bytes: &'a [u8],
    /// Definition level of a null; `None` for a value.
    pub(crate) null_level: Option<u32>,
}

fn range_of(span: Span) -> std::ops::Range<usize> {
    span.at as usize..span.at as usize + span.size as usize
}

/// Checks a page, and decompresses it into `buffer` if it is compressed.
fn unpack(unpacker: &mut Unpacker, block: &TextBlock, raw: &RawPage, buffer: &mut Vec<u8>) -> Result<(), String> {
    let PageBody::Stored(range) = &raw.body else { return Ok(()) };
    let body = block.bytes.get(range.clone()).unwrap_or_default();
    verify(&raw.header, body)?;
    if !is_packed(block.context.codec, Some(&raw.page)) {
        return Ok(());
    }
    let levels = usize::try_from(raw.page.level_bytes()).unwrap_or(usize::MAX);
    let size = usize::try_from(raw.header.unpacked).unwrap_or(usize::MAX).saturating_sub(levels);
    unpacker.unpack(block.context.codec, body.get(levels..).unwrap_or_default(), size, buffer)
}

/// Returns the separately stored levels and the decompressed content of a page.
fn parts_of<'a>(block: &'a TextBlock, raw: &'a RawPage, buffer: &'a [u8]) -> (&'a [u8], &'a [u8]) {
    let range = match &raw.body {
        PageBody::Unpacked(page) => return (&page.levels, &page.content),
        PageBody::Stored(range) => range.clone(),
    };
    let body = block.bytes.get(range).unwrap_or_default();
    let levels = usize::try_from(raw.page.level_bytes()).unwrap_or(usize::MAX);
    let (levels, stored) = body.split_at_checked(levels).unwrap_or_default();
    match is_packed(block.context.codec, Some(&raw.page)) {
        true => (levels, buffer),
        false => (levels, stored),
    }
}

impl<'a> TextRows<'a> {
    fn value(&self, span: Span) -> Value<'a> {
        if span.source == NULL {
            return Value::Null;
        }
        if u64::from(span.size) > MAX_TEXT_BYTES {
            return Value::TooLong(u64::from(span.size));
        }
        if let (DICTIONARY, Some(DictionaryContent::Text(text))) = (span.source, self.dictionary) {
            // An entry of the dictionary may begin or end inside a character; then it is not UTF-8 although the concatenated entries are.
            return text.get(range_of(span)).map_or(Value::NotUtf8, Value::Text);
        }
        match simdutf8::basic::from_utf8(self.bytes(span)) {
            Ok(text) => Value::Text(text),
            Err(_) => Value::NotUtf8,
        }
    }

    /// Returns the bytes of a value; empty for a null.
    fn bytes(&self, span: Span) -> &'a [u8] {
        let source = match span.source {
            NULL => None,
            DICTIONARY => self.dictionary.map(DictionaryContent::as_bytes),
            JOINED => Some(self.joined),
            page => self.pages.get(page as usize).copied(),
        };
        source.and_then(|source| source.get(range_of(span))).unwrap_or_default()
    }

    /// Returns the next row: its value, its bytes, which need not be UTF-8, and the definition level of a null.
    pub(crate) fn next_raw(&mut self) -> Option<RawValue<'a>> {
        let span = self.spans.as_slice().first().copied().unwrap_or(Span { source: NULL, at: 0, size: 0 });
        let (row, value) = self.next()?;
        Some(RawValue { row, value, bytes: self.bytes(span), null_level: (span.source == NULL).then_some(span.at) })
    }
}

impl<'a> Iterator for TextRows<'a> {
    type Item = (u64, Value<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let value = match self.spans.next() {
            Some(span) => self.value(*span),
            None => {
                self.nulls = self.nulls.checked_sub(1)?;
                Value::Null
            }
        };
        let row = self.next_row;
        self.next_row += 1;
        Some((row, value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.spans.len().saturating_add(usize::try_from(self.nulls).unwrap_or(usize::MAX));
        (left, Some(left))
    }
}

impl ExactSizeIterator for TextRows<'_> {}
