//! A file of tokens: the location of its data, and of each document or window in it.

use super::documents::DocumentList;
use super::TokenCode;
use gristmill_core::{Failure, Mutex, Outcome, TokenKind};
use gristmill_storage::read::ReadFile;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Limit of the document ends that are reported for one window.
pub(super) const MAX_ENDS: usize = 50_000;
/// Size of one row of `sample_locations.bin` in bytes.
pub(crate) const ROW_BYTES: u64 = 24;

/// The location of a row: bytes from the beginning of the data of its file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowSpan {
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) defect: Option<Arc<str>>,
}

/// Locates the rows of a file.
pub trait SpanTable: Send + Sync {
    /// Returns the number of rows.
    fn rows(&self) -> u64;
    /// Returns the locations of up to `count` rows from `first` on. The caller checks them against the size of the file.
    ///
    /// # Errors
    /// The file cannot be read.
    fn spans(&self, first: u64, count: usize) -> Outcome<Vec<RowSpan>>;
    /// Returns the ends of up to `most` documents after token `from` and before token `to`, and the number of the document that contains
    /// `from`; no document if rows have masks or are not documents.
    ///
    /// # Errors
    /// The file cannot be read.
    fn ends_within(&self, _from: u64, _to: u64, _most: usize) -> Outcome<(Option<u64>, Vec<u64>)> {
        Ok((None, Vec::new()))
    }
    /// Returns the path of the file that contains the locations, if it is another file.
    fn index_path(&self) -> Option<&Path> {
        None
    }
    /// Whether the file is compressed.
    fn is_packed(&self) -> bool {
        false
    }
    /// Returns the unpacked content of a compressed file; `None` if the file is not compressed.
    ///
    /// # Errors
    /// The file cannot be unpacked.
    fn unpacked(&self) -> Outcome<Option<Arc<ReadFile>>> {
        Ok(None)
    }
}

/// The source of the ends of documents.
pub(crate) enum Table {
    /// A list that is read from the end of a `.pbin`.
    List(Arc<Mutex<DocumentList>>),
    /// Rows of `sample_locations.bin`: the table, the first row, the number of rows, the number of the file.
    Rows(Arc<ReadFile>, u64, u64, u64),
    /// A table specific to a format.
    Spans(Arc<dyn SpanTable>),
    /// No source: the file is a single row.
    Whole,
}

/// The location of the loss mask, which marks the tokens that are used in training.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LossMask {
    /// One byte per token of the file, 1 if the token is used in training (`.ds.loss`).
    File(PathBuf),
    /// One byte per token, after the tokens of a sample, 1 if the token is not used in training. Contains the number of tokens of a sample.
    AfterTokens(u64),
}

/// A file of tokens.
pub struct TokenFile {
    pub(crate) name: Arc<str>,
    pub(crate) path: PathBuf,
    /// Size of the file in bytes.
    pub(crate) bytes: u64,
    /// Offset of the data in bytes.
    pub(crate) data_from: u64,
    /// Length of the data in bytes.
    pub(crate) data_bytes: u64,
    pub(crate) code: TokenCode,
    pub(crate) table: Table,
    pub(crate) loss: Option<LossMask>,
    /// Whether the rows are lines of text instead of tokens.
    pub(crate) has_text: bool,
    pub(crate) defect: Option<Arc<str>>,
}

impl TokenFile {
    pub(super) fn is_text(&self) -> bool {
        self.has_text
    }

    /// Returns up to `limit` bytes of a row, from byte `from` on.
    pub(super) fn read(&self, offset: u64, size: u64, from: u64, limit: usize) -> Outcome<Vec<u8>> {
        let unpacked = match &self.table {
            Table::Spans(table) => table.unpacked()?,
            _ => None,
        };
        match unpacked {
            Some(file) => crate::engine::browse::read_in(&file, offset, size, from, limit),
            None => crate::engine::browse::read_in_file(&self.path, offset, size, from, limit),
        }
    }

    /// Returns the path of the file next to this one that contains the ends of documents.
    pub(super) fn index_path(&self) -> Option<&Path> {
        match &self.table {
            Table::Rows(table, ..) => Some(table.path()),
            Table::Spans(table) => table.index_path(),
            Table::List(_) | Table::Whole => None,
        }
    }

    /// Returns the number of tokens in the file.
    pub(super) fn tokens(&self) -> u64 {
        self.data_bytes / self.code.size()
    }

    /// Returns the number of bytes of tokens in a row of `bytes` bytes; the rest of the row may be masks.
    pub(super) fn extent(&self, bytes: u64) -> u64 {
        match self.loss {
            Some(LossMask::AfterTokens(tokens)) => bytes.min(tokens.saturating_mul(self.code.size())),
            _ => bytes,
        }
    }

    pub(super) fn rows(&self, window: Option<Window>) -> u64 {
        match (window, &self.table) {
            (Some(window), _) if !self.is_text() => window.rows(self.tokens()),
            (_, Table::List(list)) => list.lock().len(),
            (_, Table::Rows(_, _, count, _)) => *count,
            (_, Table::Spans(table)) => table.rows(),
            (_, Table::Whole) => u64::from(self.data_bytes > 0),
        }
    }

    /// Returns the locations of documents. The locations in the table are checked against the size of the file.
    pub(super) fn places(&self, first: u64, count: usize) -> Outcome<Vec<RowSpan>> {
        let mut places = match &self.table {
            Table::List(list) => {
                let spans = list.lock().spans(first, count);
                spans.into_iter().map(|(from, to)| RowSpan { from, to, defect: None }).collect()
            }
            Table::Rows(table, begin, rows, number) => by_rows(table, *begin, *rows, *number, first, count)?,
            Table::Spans(table) => table.spans(first, count)?,
            Table::Whole => vec![RowSpan { from: 0, to: self.data_bytes, defect: None }],
        };
        for place in &mut places {
            let why = match () {
                () if place.to < place.from => "it ends before it begins",
                () if place.to > self.data_bytes => "it reaches beyond the end of the file",
                () if !self.is_text() && !(place.to - place.from).is_multiple_of(self.unit(place)) => {
                    "its size is not a number of whole tokens"
                }
                () => continue,
            };
            place.defect.get_or_insert_with(|| Arc::from(why));
            place.to = place.to.clamp(place.from.min(self.data_bytes), self.data_bytes);
            place.from = place.from.min(place.to);
        }
        Ok(places)
    }

    /// Returns the unit of the size of a row, in bytes: the size is a multiple of it.
    fn unit(&self, place: &RowSpan) -> u64 {
        match self.loss {
            Some(LossMask::AfterTokens(tokens)) if place.to - place.from > tokens * self.code.size() => 1,
            _ => self.code.size(),
        }
    }

    /// Returns the ends of documents after token `from` and before token `to`, and the number of the document that contains `from`.
    pub(super) fn ends_within(&self, from: u64, to: u64) -> Outcome<(Option<u64>, Vec<u64>)> {
        match &self.table {
            Table::Spans(table) => table.ends_within(from, to, MAX_ENDS),
            Table::List(list) => {
                let size = self.code.size();
                let list = list.lock();
                let first = list.holding(from * size);
                let ends = list.ends(first.unwrap_or(0), to * size, MAX_ENDS);
                Ok((first, ends.into_iter().map(|end| end / size).filter(|end| *end > from).collect()))
            }
            Table::Rows(..) | Table::Whole => Ok((None, Vec::new())),
        }
    }
}

/// Reads numbers of eight bytes from a file; returns fewer if the file is truncated.
fn numbers(file: &ReadFile, offset: u64, count: u64) -> Outcome<Vec<u64>> {
    let left = file.len().saturating_sub(offset) / 8;
    let wanted = usize::try_from(count.min(left)).unwrap_or(0);
    let mut bytes = vec![0; wanted * 8];
    file.read_exact_at(&mut bytes, offset).map_err(|error| Failure::io(super::ACTIVITY, file.path(), &error))?;
    let word = |chunk: &[u8]| chunk.try_into().map(u64::from_le_bytes).unwrap_or(0);
    Ok(bytes.chunks_exact(8).map(word).collect())
}

fn by_rows(table: &ReadFile, begin: u64, rows: u64, number: u64, first: u64, count: usize) -> Outcome<Vec<RowSpan>> {
    let count = (count as u64).min(rows.saturating_sub(first));
    let words = numbers(table, (begin + first) * ROW_BYTES, count * 3)?;
    let place = |row: &[u64]| {
        let [file, from, length] = row else { return RowSpan::default() };
        let is_elsewhere = *file != number;
        let defect =
            is_elsewhere.then(|| Arc::from("its row names another file: the table is not in the order of files"));
        RowSpan { from: *from, to: from.saturating_add(*length), defect }
    };
    Ok(words.chunks_exact(3).map(place).collect())
}

/// Returns the file number in a row of `sample_locations.bin`, which consists of file, offset and length.
pub(crate) fn location(table: &ReadFile, row: u64) -> Outcome<Option<u64>> {
    Ok(numbers(table, row * ROW_BYTES, 1)?.first().copied())
}

/// The division of a file into windows for training.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    /// Tokens of one window.
    pub(super) block: u64,
    /// Number of tokens from the beginning of a window to that of the next.
    pub(super) stride: u64,
}

impl Window {
    /// Returns the windows of data sets of a kind.
    pub(super) fn of(kind: &TokenKind, sequence_length: u64) -> Self {
        let length = sequence_length.clamp(1, 1 << 40);
        let (block, stride) = (kind.window)(length);
        Self { block, stride }
    }

    /// Returns the number of whole windows.
    pub(super) fn count(self, tokens: u64) -> u64 {
        match tokens.checked_sub(self.block) {
            Some(left) => left / self.stride + 1,
            None => 0,
        }
    }

    /// Returns the number of tokens after the last whole window.
    pub(super) fn waste(self, tokens: u64) -> u64 {
        match self.count(tokens) {
            0 => tokens,
            count => tokens - ((count - 1) * self.stride + self.block),
        }
    }

    fn rows(self, tokens: u64) -> u64 {
        self.count(tokens) + u64::from(self.waste(tokens) > 0)
    }

    pub(super) fn places(self, tokens: u64, code: TokenCode, first: u64, count: usize) -> Vec<RowSpan> {
        let whole = self.count(tokens);
        let last = self.rows(tokens).min(first.saturating_add(count as u64));
        let place = |index: u64| {
            let (from, to) = match index < whole {
                true => (index * self.stride, index * self.stride + self.block),
                false => (tokens - self.waste(tokens), tokens),
            };
            RowSpan { from: from * code.size(), to: to * code.size(), defect: None }
        };
        (first..last).map(place).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_data::formats::modalities::kind::PACKED_FILE;
    use gristmill_data::formats::nanosets::kind::FOLDER;

    #[test]
    fn token_windows_tile_a_file_and_the_remainder_is_waste() {
        let nanosets = Window::of(&FOLDER, 4);
        assert_eq!((nanosets.count(14), nanosets.waste(14), nanosets.rows(14)), (2, 4, 3));
        assert_eq!((nanosets.count(4), nanosets.waste(4), nanosets.rows(0)), (0, 4, 0));
        let modalities = Window::of(&PACKED_FILE, 4);
        // docs/formats/modalities.md §6: (T - B) div (B - 1) + 1 samples.
        assert_eq!((modalities.count(14), modalities.waste(14), modalities.rows(13)), (3, 1, 3));
        let places = modalities.places(14, TokenCode::little(2), 1, 9);
        let spans: Vec<_> = places.iter().map(|place| (place.from, place.to)).collect();
        assert_eq!(spans, [(8, 18), (16, 26), (26, 28)]);
    }
}
