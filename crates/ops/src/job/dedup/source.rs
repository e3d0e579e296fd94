//! The lines of a file, or the documents of a shard of an index that is read instead of files.

use super::inputs::{Inputs, LineRange};
use crate::engine::dedup::line_notes::{LineNote, NotedLine};
use crate::engine::dedup::original::{IndexedDocument, IndexedDocuments};
use crate::engine::dedup::write_back::{LineResult, TextPieces, WriteBack};
use gristmill_core::{Cancel, Outcome, Problem};
use gristmill_data::formats::bsade::{Range, Shard};
use gristmill_data::source::dedup::{Body, DocumentRange, Documents, Kind, Position, Record, Spool, TextFile};
use gristmill_pycompat::json_text::escapes;

/// One line from any source.
#[derive(Clone, Copy)]
pub(super) enum Line<'a> {
    /// A line of a file.
    Of(&'a Record<'a>),
    /// A document of an index.
    Indexed(&'a IndexedDocument<'a>),
    /// A document of a file that has a note: the line and its position.
    Noted(&'a NotedLine<'a>, Position),
}

impl Line<'_> {
    /// Returns the kind of the line.
    pub(super) fn kind(&self) -> Kind {
        match self {
            Self::Of(record) => record.kind,
            Self::Indexed(_) | Self::Noted(..) => Kind::Document,
        }
    }

    /// Returns the number of the line in the file, counted from 0.
    pub(super) fn number(&self) -> u64 {
        match self {
            Self::Of(record) => record.line,
            Self::Indexed(document) => document.line,
            Self::Noted(_, at) => at.line,
        }
    }

    /// Returns the size of the text of the line in bytes; computed without unescaping if the line is in memory.
    pub(super) fn text_bytes(&self, spare: &mut String) -> Outcome<u64> {
        match self {
            Self::Indexed(document) => Ok(document.place.text_bytes()),
            Self::Noted(noted, _) => Ok(noted.note.text_bytes()),
            Self::Of(record) => match (record.body, record.text_field()) {
                (Body::Buffered(_), Some(field)) if !field.has_escapes => Ok((field.to - field.from).saturating_sub(2)),
                (Body::Buffered(line), Some(field)) => {
                    let end = usize::try_from(field.to.saturating_sub(1)).unwrap_or(usize::MAX);
                    let start = usize::try_from(field.from + 1).unwrap_or(usize::MAX);
                    Ok(unescaped_len(line.get(start..end).unwrap_or_default()))
                }
                _ => record.each_piece(spare, &mut |_| Ok(())),
            },
        }
    }

    /// Returns the offset of the line in the file, in bytes; for an index, the offset in the text of the shard.
    pub(super) fn start(&self) -> u64 {
        match self {
            Self::Of(record) => record.start,
            Self::Indexed(document) => document.place.start,
            Self::Noted(_, at) => at.offset,
        }
    }

    /// Returns an upper bound of the size of the text, in bytes.
    pub(super) fn most_bytes(&self) -> u64 {
        match self {
            Self::Of(record) => record.bytes,
            Self::Indexed(document) => document.place.text_bytes(),
            Self::Noted(noted, _) => noted.note.text_bytes(),
        }
    }

    /// Returns its original file, for a document of an index.
    pub(super) fn file(&self) -> Option<&str> {
        match self {
            Self::Of(_) | Self::Noted(..) => None,
            Self::Indexed(document) => Some(document.path),
        }
    }

    /// Returns the problem of a document that loses a value because a key is repeated.
    pub(super) fn repeated_key(&self, file: &TextFile) -> Option<Problem> {
        match self {
            Self::Of(record) => record.repeated_key(file),
            Self::Indexed(_) | Self::Noted(..) => None,
        }
    }

    /// Returns the problem or note of a line that is not deduplicated.
    pub(super) fn problem(&self, file: &TextFile) -> Option<Problem> {
        match self {
            Self::Of(record) => record.problem(file),
            Self::Indexed(_) | Self::Noted(..) => None,
        }
    }

    /// Writes the line without the ranges, or with a list of them. Returns `None` if the line differs from its note.
    pub(super) fn write(
        &self,
        back: &mut WriteBack,
        ranges: &[Range],
        take: &mut dyn FnMut(&[u8]) -> Outcome<()>,
    ) -> Outcome<Option<LineResult>> {
        match self {
            Self::Of(record) => back.write(record, ranges, take).map(Some),
            Self::Indexed(document) => back.write_indexed(*document, document.others, ranges, take).map(Some),
            Self::Noted(noted, _) => back.write_noted(noted, ranges, take),
        }
    }
}

impl TextPieces for Line<'_> {
    fn each_piece(&self, spare: &mut String, take: &mut dyn FnMut(&str) -> Outcome<()>) -> Outcome<u64> {
        match self {
            Self::Of(record) => record.each_piece(spare, take),
            Self::Indexed(document) => document.each_piece(spare, take),
            Self::Noted(noted, _) => noted.each_piece(spare, take),
        }
    }
}

/// Returns the length of a JSON string, given without quotes, after its escapes are resolved. The string must not contain lone surrogates.
fn unescaped_len(raw: &[u8]) -> u64 {
    let gone: usize = escapes(raw).map(|escape| escape.len - escape.character().len_utf8()).sum();
    (raw.len() - gone) as u64
}

/// Passes the lines of a range of the inputs to a callback, in order, until the callback stops. Each line comes with the number of bytes of
/// the file that were read before it. Returns the damage if the file ends early.
pub(super) fn each_line(
    inputs: &Inputs,
    stretch: &LineRange,
    text_key: &str,
    spool: Box<dyn Spool>,
    cancel: &Cancel,
    take: &mut dyn FnMut(Line<'_>, u64) -> Outcome<bool>,
) -> Outcome<Option<Problem>> {
    each_noted_line(inputs, stretch, &mut std::iter::empty(), text_key, spool, cancel, take)
}

/// Like [`each_line`], for a range whose first lines have notes. Ends at a line that differs from its note.
pub(super) fn each_noted_line(
    inputs: &Inputs,
    stretch: &LineRange,
    notes: &mut dyn Iterator<Item = LineNote>,
    text_key: &str,
    spool: Box<dyn Spool>,
    cancel: &Cancel,
    take: &mut dyn FnMut(Line<'_>, u64) -> Outcome<bool>,
) -> Outcome<Option<Problem>> {
    let Some(file) = inputs.files.get(stretch.file) else { return Ok(None) };
    if let Some(folder) = inputs.shard_of(stretch.file) {
        let shard = Shard::open(&folder)?;
        let mut documents = IndexedDocuments::new(&shard, cancel);
        let mut read = 0;
        while let Some(document) = documents.next()? {
            if !take(Line::Indexed(&document), read)? {
                break;
            }
            read = document.place.end;
        }
        return Ok(None);
    }
    let mut documents =
        match Documents::open(file, text_key, DocumentRange { from: stretch.from, to: stretch.to }, spool, cancel) {
            // The file existed when the inputs were found, so its absence means that it has changed since.
            Err(failure) if failure.is_missing() => {
                return Err(inputs.check_unchanged(cancel).err().unwrap_or(failure))
            }
            documents => documents?,
        };
    while documents.position().offset < stretch.to {
        let (at, read) = (documents.position(), documents.consumed());
        if let Some((note, bytes)) = notes.next().and_then(|note| Some((note, note.bytes()?))) {
            let Some(line) = documents.next_known(bytes)? else { break };
            if !take(Line::Noted(&NotedLine { line, note }, at), read)? {
                break;
            }
            continue;
        }
        let Some(record) = documents.next()? else { break };
        if !take(Line::Of(&record), read)? {
            break;
        }
    }
    Ok(documents.damage().map(|damage| damage.problem(file)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_pycompat::json_text::unescape;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn unescaped_length_matches_the_unescaped_text(text in "[a-z\u{1}\n\t\"\\\\/é世👍\u{7f}-\u{900}]{0,40}", ascii in any::<bool>()) {
            let json = serde_json::to_string(&text).unwrap();
            let raw = json[1..json.len() - 1].to_owned();
            let units = |c: char| c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect::<String>();
            let raw = match ascii {
                true => raw.chars().map(|c| if c.is_ascii() { c.to_string() } else { units(c) }).collect(),
                false => raw,
            };
            let mut whole = String::new();
            unescape(&raw, &mut whole);
            prop_assert_eq!(&whole, &text);
            prop_assert_eq!(unescaped_len(raw.as_bytes()), text.len() as u64, "{}", raw);
        }
    }
}
