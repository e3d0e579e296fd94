//! Division of a folder of token files into training windows (docs/formats/nanosets.md §6).

use super::{Index, Shard, TokenSize};
use gristmill_core::Outcome;
use gristmill_pycompat::numpy_random::Generator;

/// The seed with which nanotron reorders the files of a folder.
pub const FILE_ORDER_SEED: u64 = 42;

/// Returns the number of windows of a file with this number of tokens. Windows have `sequence_length` + 1 tokens each and do not overlap.
pub fn count(tokens: u64, sequence_length: u64) -> u64 {
    match sequence_length.checked_add(1) {
        Some(window) => tokens / window,
        None => 0,
    }
}

/// Returns the order in which nanotron reads the sorted files of a folder: the element at each position is the index of a file.
pub fn file_order(files: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..files).collect();
    Generator::seeded(FILE_ORDER_SEED).shuffle(&mut order);
    order
}

/// Windows numbered across several files.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Numbering {
    /// 0, then the cumulative number of windows up to and including each file.
    pub lens: Vec<u64>,
    /// Tokens of one window, `sequence_length` + 1.
    pub window: u64,
}

impl Numbering {
    /// Creates the numbering from the tokens of each file, in reading order.
    pub fn new(tokens: impl IntoIterator<Item = u64>, sequence_length: u64) -> Self {
        let mut lens = vec![0];
        let mut all = 0_u64;
        for tokens in tokens {
            all += count(tokens, sequence_length);
            lens.push(all);
        }
        Self { lens, window: sequence_length.saturating_add(1) }
    }

    /// Returns the total number of windows.
    pub fn windows(&self) -> u64 {
        self.lens.last().copied().unwrap_or(0)
    }

    /// Returns the position of the file of a window in reading order, and the window's first token in it.
    pub fn find(&self, window: u64) -> Option<(usize, u64)> {
        let place = self.lens.partition_point(|&before| before <= window).checked_sub(1)?;
        (place + 1 < self.lens.len()).then(|| (place, (window - self.lens[place]) * self.window))
    }
}

/// Returns the ids of a window, with the width that the loader returns.
pub fn ids(shard: &Shard, first: u64, window: u64) -> Outcome<Vec<i64>> {
    let bytes = shard.raw(first, window)?;
    Ok(match shard.token_size() {
        TokenSize::Two => bytes.as_chunks().0.iter().map(|&t| i64::from(u16::from_le_bytes(t))).collect(),
        TokenSize::Four => bytes.as_chunks().0.iter().map(|&t| i64::from(u32::from_le_bytes(t))).collect(),
    })
}

/// Returns the position of each token of a window in its document. In a document that begins before the window, positions count from the
/// first token of the window, as in the loader.
pub fn positions(index: &Index, first: u64, window: u64) -> Outcome<Vec<i64>> {
    let after = first.saturating_add(window);
    let mut starts = Vec::new();
    let mut document = index.document_of(first)?;
    loop {
        let ends = index.ends(document, 256)?;
        let inside = ends.iter().take_while(|&&end| end < after).count();
        starts.extend(ends.iter().take(inside).map(|&end| end - first.min(end)));
        document += ends.len() as u64;
        if inside < ends.len() || ends.is_empty() {
            break;
        }
    }
    let mut starts = starts.into_iter().peekable();
    let mut position = 0;
    Ok((0..window)
        .map(|token| {
            while starts.next_if(|&start| start <= token).is_some() {
                position = 0;
            }
            position += 1;
            position - 1
        })
        .collect())
}

#[cfg(test)]
#[path = "windows_tests.rs"]
mod tests;
