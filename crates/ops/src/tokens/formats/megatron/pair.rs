//! Reads and validates the index of a pair (docs/formats/megatron.md §1).

use super::index::{PairType, HEAD_BYTES};
use gristmill_core::Cancel;
use gristmill_data::formats::megatron::{index_of, is_unfinished, tokens_of, MAGIC, UNFINISHED};
use gristmill_storage::read::{open_read, ReadFile};
use std::path::{Path, PathBuf};

/// Number of numbers that are read at a time.
pub(super) const NUMBERS_PER_READ: u64 = 1 << 16;
/// An open index.
pub(super) struct PairIndex {
    file: ReadFile,
    pub(super) sequences: u64,
    pub(super) documents: u64,
    pub(super) pair_type: PairType,
    /// Whether each sequence has a mode, as in a multimodal pair.
    pub(super) has_modes: bool,
    /// Path of the token file.
    pub(super) tokens: PathBuf,
    /// Size of the token file, in bytes.
    pub(super) bytes: u64,
}

/// Totals of all sequences of an index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Totals {
    pub(super) tokens: u64,
    /// Number of tokens of the shortest and of the longest sequence.
    pub(super) range: Option<(u64, u64)>,
}

impl PairIndex {
    /// Opens the index of a pair by one of its paths.
    ///
    /// # Errors
    /// A file cannot be opened, or the header is damaged or does not fit the size of the index.
    pub(super) fn open(path: &Path) -> Result<Self, String> {
        let tokens = tokens_of(path);
        if is_unfinished(&tokens) {
            return Err(UNFINISHED.to_owned());
        }
        let file = open_read(&index_of(path)).map_err(|failure| failure.why)?;
        let bytes = open_read(&tokens).map_err(|failure| format!("its .bin file: {}", failure.why))?.len();
        let mut head = [0; HEAD_BYTES as usize];
        file.read_exact_at(&mut head, 0).map_err(|_| "it is shorter than its head".to_owned())?;
        let (magic, rest) = head.split_at(MAGIC.len());
        let number =
            |at: usize| rest.get(at..at + 8).and_then(|word| word.try_into().ok()).map_or(0, u64::from_le_bytes);
        let (version, code, sequences, marks) = (number(0), rest[8], number(9), number(17));
        if magic != MAGIC {
            return Err("it does not begin like an index of Megatron".to_owned());
        }
        if version != 1 {
            return Err(format!("it is not an index of Megatron of version 1, but of {version}"));
        }
        let pair_type = PairType::of_code(code).ok_or_else(|| format!("its token type {code} is unknown"))?;
        let wanted = sequences
            .checked_mul(12)
            .zip(marks.checked_mul(8))
            .and_then(|(sequences, marks)| HEAD_BYTES.checked_add(sequences)?.checked_add(marks));
        let has_modes = wanted.and_then(|bytes| bytes.checked_add(sequences)) == Some(file.len()) && sequences > 0;
        if marks == 0 || wanted != Some(file.len()) && !has_modes {
            return Err(format!(
                "{sequences} sequences and {marks} document marks do not fit into its {} bytes",
                file.len()
            ));
        }
        Ok(Self { file, sequences, documents: marks - 1, pair_type, has_modes, tokens, bytes })
    }

    /// Reads and validates all lengths, offsets and marks.
    ///
    /// # Errors
    /// A number is wrong (only the first one is reported), or `cancel` is cancelled.
    pub(super) fn check(&self, cancel: &Cancel) -> Result<Totals, String> {
        let (mut sequence, mut offset, mut totals) = (0, 0_u64, Totals::default());
        while sequence < self.sequences {
            stop(cancel)?;
            let count = NUMBERS_PER_READ.min(self.sequences - sequence);
            let (lengths, offsets) = (self.lengths(sequence, count)?, self.offsets(sequence, count)?);
            for (length, start) in lengths.into_iter().zip(offsets) {
                let Ok(tokens) = u64::try_from(length) else {
                    return Err(format!("sequence {sequence} has a length of {length}"));
                };
                if u64::try_from(start) != Ok(offset) {
                    return Err(format!("sequence {sequence} is at byte {start}, and should be at {offset}"));
                }
                offset = offset.saturating_add(tokens.saturating_mul(self.pair_type.bytes));
                totals.tokens = totals.tokens.saturating_add(tokens);
                let (least, most) = totals.range.unwrap_or((tokens, tokens));
                totals.range = Some((least.min(tokens), most.max(tokens)));
                sequence += 1;
            }
        }
        if offset != self.bytes {
            return Err(format!("its sequences end at byte {offset}, and the .bin file has {}", self.bytes));
        }
        let (mut document, mut last) = (0, 0_i64);
        while document <= self.documents {
            stop(cancel)?;
            let count = NUMBERS_PER_READ.min(self.documents + 1 - document);
            for mark in self.marks(document, count)? {
                let is_wrong = if document == 0 { mark != 0 } else { mark < last };
                if is_wrong {
                    return Err(format!("the mark of document {document} is {mark}, after {last}"));
                }
                last = mark;
                document += 1;
            }
        }
        match u64::try_from(last) == Ok(self.sequences) {
            true => Ok(totals),
            false => Err(format!("its last document ends with sequence {last}, and it has {}", self.sequences)),
        }
    }

    /// Returns the start and the end of a document in the token file in bytes, as stated in the index.
    pub(super) fn span(&self, first_sequence: u64, end_sequence: u64) -> Result<(u64, u64), String> {
        let is_inside = first_sequence < end_sequence && end_sequence <= self.sequences;
        if !is_inside {
            return Ok((0, 0));
        }
        let first = |numbers: Vec<i64>| numbers.first().copied().and_then(|number| u64::try_from(number).ok());
        let last = end_sequence - 1;
        let start = first(self.offsets(first_sequence, 1)?).unwrap_or(u64::MAX);
        let length = self.lengths(last, 1)?.first().copied().and_then(|length| u64::try_from(length).ok());
        let end = first(self.offsets(last, 1)?).unwrap_or(u64::MAX);
        Ok((start, end.saturating_add(length.unwrap_or_default().saturating_mul(self.pair_type.bytes))))
    }

    /// Returns the marks of documents. A mark is the index of the document's first sequence.
    pub(super) fn marks(&self, first: u64, count: u64) -> Result<Vec<i64>, String> {
        self.numbers(HEAD_BYTES + 12 * self.sequences + 8 * first, count, i64::from_le_bytes)
    }

    /// Returns the path of the index.
    pub(super) fn path(&self) -> &Path {
        self.file.path()
    }

    /// Returns the permission bits of the index.
    pub(super) fn mode(&self) -> u32 {
        self.file.mode()
    }

    /// Returns the number of sequences of each of these documents.
    ///
    /// # Errors
    /// The index cannot be read, or a document has a negative number of sequences, or 2³² or more.
    pub(super) fn counts(&self, first: u64, count: u64) -> Result<Vec<u32>, String> {
        let marks = self.marks(first, count.saturating_add(1))?;
        let counts = marks.windows(2).map(|pair| match pair {
            [from, to] => to.checked_sub(*from).and_then(|count| u32::try_from(count).ok()),
            _ => None,
        });
        counts.collect::<Option<_>>().ok_or_else(|| "a document has fewer sequences than none, or too many".to_owned())
    }

    /// Returns the modes of sequences of a multimodal pair.
    pub(super) fn modes(&self, first: u64, count: u64) -> Result<Vec<u8>, String> {
        let marks = self.documents.saturating_add(1).saturating_mul(8);
        let start = HEAD_BYTES.saturating_add(12 * self.sequences).saturating_add(marks);
        self.numbers(start.saturating_add(first), count, |[mode]: [u8; 1]| mode)
    }

    /// Returns the lengths of sequences, in tokens.
    pub(super) fn lengths(&self, first: u64, count: u64) -> Result<Vec<i32>, String> {
        self.numbers(HEAD_BYTES + 4 * first, count, i32::from_le_bytes)
    }

    /// Returns the offsets of sequences in the token file, in bytes.
    pub(super) fn offsets(&self, first: u64, count: u64) -> Result<Vec<i64>, String> {
        self.numbers(HEAD_BYTES + 4 * self.sequences + 8 * first, count, i64::from_le_bytes)
    }

    fn numbers<const N: usize, T>(&self, at: u64, count: u64, of: fn([u8; N]) -> T) -> Result<Vec<T>, String> {
        let bytes = count.saturating_mul(N as u64).min(self.file.len().saturating_sub(at));
        let mut bytes = vec![0; usize::try_from(bytes).unwrap_or_default()];
        self.file.read_exact_at(&mut bytes, at).map_err(|error| error.to_string())?;
        Ok(bytes.as_chunks().0.iter().map(|number| of(*number)).collect())
    }
}

fn stop(cancel: &Cancel) -> Result<(), String> {
    match cancel.is_cancelled() {
        true => Err("cancelled".to_owned()),
        false => Ok(()),
    }
}
