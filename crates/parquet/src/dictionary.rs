//! The dictionary of a column in a row group: its distinct texts, decoded once and shared by all pages.

use crate::bits::u32_at;
use crate::dictionary_file::DictionaryFile;

/// Texts to which pages refer by index.
#[derive(Debug)]
pub(crate) struct Dictionary {
    content: DictionaryContent,
    entries: Vec<DictionaryEntry>,
    longest: usize,
    average: usize,
}

/// All entries, concatenated.
#[derive(Debug)]
pub(crate) enum DictionaryContent {
    Text(String),
    /// Entries of which at least one is not UTF-8.
    Bytes(Vec<u8>),
    /// Entries in a file, not in memory.
    File(DictionaryFile),
}

impl DictionaryContent {
    pub(crate) fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
            Self::File(_) => &[],
        }
    }
}

/// Location of an entry in the content.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DictionaryEntry {
    pub(crate) at: u32,
    pub(crate) size: u32,
}

impl Dictionary {
    /// Creates a dictionary from the locations of its entries in `content`.
    pub(crate) fn new(content: DictionaryContent, entries: Vec<DictionaryEntry>) -> Self {
        let longest = entries.iter().map(|entry| entry.size as usize).max().unwrap_or_default();
        let bytes: u64 = entries.iter().map(|entry| u64::from(entry.size)).sum();
        let average = usize::try_from(bytes).unwrap_or(usize::MAX).div_ceil(entries.len().max(1));
        Self { content, entries, longest, average }
    }

    /// Decodes a page of `count` entries; each entry is preceded by its length.
    pub(crate) fn parse(page: &[u8], count: u32) -> Result<Self, String> {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        if count > page.len() / 4 {
            return Err(bad_count(page.len() as u64, count as u64));
        }
        let mut content = Vec::with_capacity(page.len() - count * 4);
        let mut entries = Vec::with_capacity(count);
        let mut at = 0_usize;
        for _ in 0..count {
            let size = u32_at(page, at).ok_or_else(bad_entry)?;
            let begin = at + 4;
            let end = begin.saturating_add(size as usize);
            let entry = page.get(begin..end).ok_or_else(bad_entry)?;
            entries.push(DictionaryEntry { at: u32::try_from(content.len()).map_err(|_| bad_entry())?, size });
            content.extend_from_slice(entry);
            at = end;
        }
        let content = match String::from_utf8(content) {
            Ok(text) => DictionaryContent::Text(text),
            Err(error) => DictionaryContent::Bytes(error.into_bytes()),
        };
        Ok(Self::new(content, entries))
    }

    /// Returns the entry with an index; `None` if there is none.
    #[inline]
    pub(crate) fn entry(&self, number: u32) -> Option<DictionaryEntry> {
        self.entries.get(number as usize).copied()
    }

    /// Returns all entries, concatenated.
    pub(crate) fn content(&self) -> &DictionaryContent {
        &self.content
    }

    /// Returns the size of the longest entry in bytes.
    pub(crate) fn longest(&self) -> usize {
        self.longest
    }

    /// Returns the average size of an entry in bytes, rounded up.
    pub(crate) fn average(&self) -> usize {
        self.average
    }
}

/// Returns the message for a dictionary that is too small for its number of entries.
pub(crate) fn bad_count(bytes: u64, count: u64) -> String {
    format!("a dictionary of {bytes} bytes cannot have {count} entries")
}

fn bad_entry() -> String {
    "an entry of the dictionary is longer than the dictionary".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(entries: &[&[u8]]) -> Vec<u8> {
        entries.iter().flat_map(|entry| [&(entry.len() as u32).to_le_bytes()[..], entry].concat()).collect()
    }

    #[test]
    fn entries_are_found_by_number() {
        let dictionary = Dictionary::parse(&page(&[b"one", b"", "zwölf".as_bytes()]), 3).unwrap();
        let DictionaryContent::Text(text) = dictionary.content() else { panic!() };
        let found = |number| {
            dictionary.entry(number).map(|DictionaryEntry { at, size }| &text[at as usize..(at + size) as usize])
        };
        assert_eq!([found(0), found(1), found(2), found(3)], [Some("one"), Some(""), Some("zwölf"), None]);
        assert_eq!((dictionary.longest(), dictionary.average()), (6, 3));
    }

    #[test]
    fn dictionary_counts_and_sizes_are_checked() {
        let bytes = page(&[b"one", b"two"]);
        for (end, count) in [(bytes.len(), 3), (bytes.len(), u32::MAX), (bytes.len() - 1, 2), (6, 1)] {
            assert!(Dictionary::parse(&bytes[..end], count).is_err(), "{end} {count}");
        }
        assert_eq!(Dictionary::parse(&[], 0).unwrap().average(), 0);
    }
}
