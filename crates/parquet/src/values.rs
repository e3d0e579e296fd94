//! Values of a data page, as locations of the texts, without copying them.

use crate::bits::u32_at;
use crate::delta::{DeltaReader, InvalidDeltas};
use crate::dictionary::{Dictionary, DictionaryContent};
use crate::page_header::{DataPage, LevelLayout, ValueEncoding};
use crate::runs::{InvalidRuns, RunReader};
use gristmill_arrow::MAX_TEXT_BYTES;
use gristmill_core::Failure;
use std::ops::Range;

/// Source of a null; see [`Span`].
pub(crate) const NULL: u32 = u32::MAX;
/// Source of an entry of the dictionary.
pub(crate) const DICTIONARY: u32 = u32::MAX - 1;
/// Source of a text that is not contiguous in a page, and is assembled in [`SpanList::joined`].
pub(crate) const JOINED: u32 = u32::MAX - 2;
/// Maximum total size in bytes of the assembled texts of a block.
const MAX_ASSEMBLED_BYTES: usize = 512 << 20;

/// Location of a value: a range of one of the sources of the block. A source is a page number, or one of the constants above. The position
/// of a null is its definition level.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) source: u32,
    pub(crate) at: u32,
    pub(crate) size: u32,
}

/// The decompressed parts of a page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageParts<'a> {
    pub(crate) page: &'a DataPage,
    /// Levels that are stored separately from the values.
    pub(crate) levels: &'a [u8],
    pub(crate) content: &'a [u8],
    /// Number of the page, which is its source in a [`Span`].
    pub(crate) source: u32,
}

/// Values of a block.
#[derive(Debug, Default)]
pub(crate) struct SpanList {
    pub(crate) spans: Vec<Span>,
    /// Assembled texts, concatenated.
    pub(crate) joined: Vec<u8>,
}

/// Appends the values of a range of rows of a page.
pub(crate) fn read_page(
    parts: PageParts<'_>,
    max_definition: u32,
    dictionary: Option<&Dictionary>,
    rows: &Range<u32>,
    list: &mut SpanList,
) -> Result<(), PageError> {
    let (levels, begin) = split_levels(parts, max_definition)?;
    let mut values = Values::open(parts, begin, dictionary)?;
    let (mut skip, mut left) = (rows.start as usize, rows.end as usize);
    let mut runs = match levels {
        Some(bytes) => Some(RunReader::new(bytes, u32::BITS - max_definition.leading_zeros()).ok_or(InvalidRuns)?),
        None => None,
    };
    while left > 0 {
        let (level, count) = match &mut runs {
            Some(runs) => runs.read_equal(left)?,
            None => (max_definition, left),
        };
        left -= count;
        let skipped = count.min(skip);
        skip -= skipped;
        let taken = count - skipped;
        if level == max_definition {
            values.skip(skipped)?;
            values.read(taken, parts.source, list)?;
        } else if level < max_definition {
            list.spans.extend(std::iter::repeat_n(Span { source: NULL, at: level, size: 0 }, taken));
        } else {
            return Err("a definition level is too large".into());
        }
    }
    Ok(())
}

/// Returns the definition levels, unless all values are present, and the offset of the values.
fn split_levels<'a>(parts: PageParts<'a>, max_definition: u32) -> Result<(Option<&'a [u8]>, usize), String> {
    let bad_levels = || "its levels are larger than the page".to_owned();
    match parts.page.levels {
        _ if max_definition == 0 => Ok((None, 0)),
        LevelLayout::Prefixed { definition_is_runs: true, .. } => {
            let size = u32_at(parts.content, 0).ok_or_else(bad_levels)? as usize;
            let end = size.saturating_add(4);
            Ok((Some(parts.content.get(4..end).ok_or_else(bad_levels)?), end))
        }
        LevelLayout::Prefixed { definition_is_runs: false, .. } => {
            Err("its definition levels have a deprecated encoding".to_owned())
        }
        LevelLayout::Separate { repetition, .. } => {
            Ok((Some(parts.levels.get(repetition as usize..).ok_or_else(bad_levels)?), 0))
        }
    }
}

/// Decoder of the values of a page, by encoding.
enum Values<'a> {
    Plain { content: &'a [u8], at: usize },
    Dictionary { numbers: Option<RunReader<'a>>, dictionary: &'a Dictionary },
    DeltaLength { sizes: DeltaReader<'a>, content: &'a [u8], at: usize },
    DeltaStrings { prefixes: DeltaReader<'a>, sizes: DeltaReader<'a>, rest: &'a [u8], previous: Vec<u8> },
}

impl<'a> Values<'a> {
    fn open(parts: PageParts<'a>, begin: usize, dictionary: Option<&'a Dictionary>) -> Result<Self, String> {
        let content = parts.content;
        let bytes = content.get(begin..).unwrap_or_default();
        match parts.page.encoding {
            ValueEncoding::Plain => Ok(Self::Plain { content, at: begin }),
            ValueEncoding::Dictionary => {
                let dictionary = dictionary.ok_or("it refers to a dictionary, and there is none")?;
                // A page that has only nulls may have no indices.
                let numbers = match bytes.split_first() {
                    Some((width, runs)) => Some(RunReader::new(runs, u32::from(*width)).ok_or(InvalidRuns)?),
                    None => None,
                };
                Ok(Self::Dictionary { numbers, dictionary })
            }
            // A page that has only nulls may have no lengths.
            ValueEncoding::DeltaLength | ValueEncoding::DeltaStrings if bytes.is_empty() => {
                Ok(Self::Plain { content: &[], at: 0 })
            }
            ValueEncoding::DeltaLength => {
                let (sizes, rest) = DeltaReader::open(bytes)?;
                Ok(Self::DeltaLength { sizes, content, at: content.len() - rest.len() })
            }
            ValueEncoding::DeltaStrings => {
                let (prefixes, rest) = DeltaReader::open(bytes)?;
                let (sizes, rest) = DeltaReader::open(rest)?;
                Ok(Self::DeltaStrings { prefixes, sizes, rest, previous: Vec::new() })
            }
            ValueEncoding::Other(number) => Err(format!("its encoding {number} is not one of texts")),
        }
    }

    fn skip(&mut self, count: usize) -> Result<(), String> {
        match self {
            Self::Dictionary { numbers: Some(numbers), .. } => Ok(numbers.skip(count)?),
            Self::Dictionary { numbers: None, .. } if count > 0 => Err(InvalidRuns.into()),
            Self::Dictionary { .. } => Ok(()),
            Self::Plain { content, at } => (0..count).try_for_each(|_| next_plain(content, at).map(|_| ())),
            Self::DeltaLength { sizes, content, at } => {
                (0..count).try_for_each(|_| next_sized(sizes, content, at).map(|_| ()))
            }
            Self::DeltaStrings { prefixes, sizes, rest, previous } => {
                (0..count).try_for_each(|_| assemble_next_text(prefixes, sizes, rest, previous))
            }
        }
    }

    fn read(&mut self, count: usize, source: u32, list: &mut SpanList) -> Result<(), PageError> {
        let spans = &mut list.spans;
        match self {
            Self::Plain { content, at } => {
                for _ in 0..count {
                    let (at, size) = next_plain(content, at)?;
                    spans.push(Span { source, at, size });
                }
            }
            Self::Dictionary { numbers: Some(numbers), dictionary } => {
                let file = match dictionary.content() {
                    DictionaryContent::File(file) => Some(file),
                    _ => None,
                };
                numbers.read_each(count, |number| {
                    let entry =
                        dictionary.entry(number).ok_or("it refers to an entry that is not in the dictionary")?;
                    match file {
                        // Longer texts are reported and not read.
                        Some(file) if u64::from(entry.size) <= MAX_TEXT_BYTES => {
                            let at = join(&list.joined, entry.size as usize)?;
                            file.read(entry.at, entry.size, &mut list.joined).map_err(PageError::File)?;
                            spans.push(Span { source: JOINED, at, size: entry.size });
                        }
                        _ => spans.push(Span { source: DICTIONARY, at: entry.at, size: entry.size }),
                    }
                    Ok::<(), PageError>(())
                })?;
            }
            Self::Dictionary { numbers: None, .. } if count > 0 => return Err(InvalidRuns.into()),
            Self::Dictionary { .. } => {}
            Self::DeltaLength { sizes, content, at } => {
                for _ in 0..count {
                    let (at, size) = next_sized(sizes, content, at)?;
                    spans.push(Span { source, at, size });
                }
            }
            Self::DeltaStrings { prefixes, sizes, rest, previous } => {
                for _ in 0..count {
                    assemble_next_text(prefixes, sizes, rest, previous)?;
                    let at = join(&list.joined, previous.len())?;
                    list.joined.extend_from_slice(previous);
                    spans.push(Span { source: JOINED, at, size: previous.len() as u32 });
                }
            }
        }
        Ok(())
    }
}

/// Message for pages whose texts share prefixes, and would need too much memory.
pub(crate) const TOO_LARGE_ASSEMBLED: &str =
    "its texts with shared beginnings have more than 512 MiB; write the file with smaller pages, or without DELTA_BYTE_ARRAY";

/// Returns the offset at which a text of this size is assembled.
fn join(joined: &[u8], size: usize) -> Result<u32, String> {
    match joined.len().saturating_add(size) > MAX_ASSEMBLED_BYTES {
        true => Err(TOO_LARGE_ASSEMBLED.to_owned()),
        false => Ok(joined.len() as u32),
    }
}

#[inline]
fn next_plain(content: &[u8], at: &mut usize) -> Result<(u32, u32), String> {
    let size = u32_at(content, *at).ok_or_else(short_values)?;
    let begin = *at + 4;
    let end = begin + size as usize;
    if end > content.len() {
        return Err(short_values());
    }
    *at = end;
    Ok((begin as u32, size))
}

#[inline]
fn next_sized(sizes: &mut DeltaReader<'_>, content: &[u8], at: &mut usize) -> Result<(u32, u32), String> {
    let size = u32::try_from(sizes.read()?).map_err(|_| InvalidDeltas)?;
    let (begin, end) = (*at, *at + size as usize);
    if end > content.len() {
        return Err(short_values());
    }
    *at = end;
    Ok((begin as u32, size))
}

/// Changes `previous`, the previous text, to the next one.
fn assemble_next_text(
    prefixes: &mut DeltaReader<'_>,
    sizes: &mut DeltaReader<'_>,
    rest: &mut &[u8],
    previous: &mut Vec<u8>,
) -> Result<(), String> {
    let prefix = usize::try_from(prefixes.read()?).map_err(|_| InvalidDeltas)?;
    let size = usize::try_from(sizes.read()?).map_err(|_| InvalidDeltas)?;
    let (suffix, after) = rest.split_at_checked(size).ok_or_else(short_values)?;
    if prefix > previous.len() {
        return Err("a text shares more than the text before it has".to_owned());
    }
    previous.truncate(prefix);
    previous.extend_from_slice(suffix);
    *rest = after;
    Ok(())
}

fn short_values() -> String {
    "its values end early".to_owned()
}

/// Reason why the values of a page cannot be read.
pub(crate) enum PageError {
    /// The page is damaged, for this reason.
    Damage(String),
    /// The file with the dictionary cannot be read.
    File(Failure),
}

impl From<String> for PageError {
    fn from(why: String) -> Self {
        Self::Damage(why)
    }
}

impl From<&str> for PageError {
    fn from(why: &str) -> Self {
        Self::Damage(why.to_owned())
    }
}

impl From<InvalidRuns> for PageError {
    fn from(why: InvalidRuns) -> Self {
        Self::Damage(why.into())
    }
}

impl From<InvalidRuns> for String {
    fn from(_: InvalidRuns) -> Self {
        "its levels or dictionary references are damaged".to_owned()
    }
}

impl From<InvalidDeltas> for String {
    fn from(_: InvalidDeltas) -> Self {
        "its lengths are damaged".to_owned()
    }
}
