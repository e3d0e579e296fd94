//! Documents that equal an earlier one as a whole: removable without a look at their windows.
//!
//! A shortcut, for a rule under which nothing is counted. Without it the result is the same.

use super::interval::Interval;
use super::{Rule, TextAt};
use crate::model::{Cancel, Outcome};
use std::hash::Hasher as _;
use xxhash_rust::xxh3::Xxh3;

/// One document of at least one window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Document {
    /// Hash of its bytes.
    pub hash: u128,
    /// Position of its first byte.
    pub at: u64,
    /// Its length in bytes.
    pub len: u64,
}

impl Document {
    /// Bytes of one in a file.
    pub const BYTES: usize = 32;

    /// The partition, of `partitions`, to which all equal documents belong.
    pub fn partition(&self, partitions: u32) -> u32 {
        super::partition_of((self.hash >> 64) as u64, partitions)
    }
    /// The same document `bytes` further on.
    #[must_use]
    pub fn moved(self, bytes: u64) -> Self {
        Self { at: self.at + bytes, ..self }
    }
    /// Appends its bytes.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.hash.to_le_bytes());
        out.extend_from_slice(&self.at.to_le_bytes());
        out.extend_from_slice(&self.len.to_le_bytes());
    }
    /// Reads one from [`BYTES`](Self::BYTES) bytes.
    pub fn read(bytes: &[u8; Self::BYTES]) -> Self {
        let number = |at: usize| {
            let mut number = [0; 16];
            number.copy_from_slice(&bytes[at..at + 16]);
            u128::from_le_bytes(number)
        };
        let (hash, place) = (number(0), number(16));
        Self { hash, at: place as u64, len: (place >> 64) as u64 }
    }
}

/// Hashes the document that is read.
#[derive(Default)]
pub(super) struct DocumentHash(Box<Xxh3>);

impl DocumentHash {
    pub(super) fn start(&mut self) {
        self.0.reset();
    }
    pub(super) fn push(&mut self, piece: &[u8]) {
        self.0.write(piece);
    }
    pub(super) fn end(&self) -> u128 {
        self.0.digest128()
    }
}

/// Documents that are removable as a whole, so that their anchors need not be compared.
#[derive(Clone, Debug, Default)]
pub struct Copies {
    /// Start and end of each; sorted once all are there.
    places: Vec<(u64, u64)>,
    most: usize,
}

/// Text that is compared in one go.
const STEP: u64 = 1 << 20;

impl Copies {
    /// A list that takes no more than so many bytes. Documents beyond that are compared by their anchors, as all others.
    pub fn with_memory(bytes: u64) -> Self {
        Self { places: Vec::new(), most: usize::try_from(bytes / 32).unwrap_or(usize::MAX) }
    }

    /// Finds the copies among all documents of one partition ([`Document::partition`]), which come in any order and are used up. Each
    /// gives one interval.
    ///
    /// # Errors
    /// Those of `text` and `found`; cancellation.
    pub fn find<T, F>(&mut self, documents: &mut Vec<Document>, text: &T, found: &mut F, cancel: &Cancel) -> Outcome<()>
    where
        T: TextAt + ?Sized,
        F: FnMut(Interval) -> Outcome<()>,
    {
        documents.sort_unstable_by_key(|document| (document.hash, document.len, document.at));
        let mut spares = [Vec::new(), Vec::new()];
        for alike in documents.chunk_by(|a, b| (a.hash, a.len) == (b.hash, b.len)) {
            let Some((first, others)) = alike.split_first() else { continue };
            for document in others {
                cancel.check()?;
                // Bytes decide. Where the hash lies, the document keeps its anchors, which is all that there is to lose.
                if self.places.len() < self.most && equal(text, first, document, &mut spares)? {
                    self.places.push((document.at, document.at + document.len));
                    found(Interval { start: document.at, end: document.at + document.len, first: first.at })?;
                }
            }
        }
        documents.clear();
        Ok(())
    }

    /// Adds those that another one found.
    pub fn join(&mut self, mut other: Self) {
        self.places.append(&mut other.places);
    }

    /// All are there: from now on they can be looked up.
    pub fn sort(&mut self) {
        self.places.sort_unstable();
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Whether the byte at `at` is in a document that is removable as a whole.
    pub(super) fn hold(&self, at: u64) -> bool {
        let behind = self.places.partition_point(|place| place.0 <= at);
        behind.checked_sub(1).and_then(|last| self.places.get(last)).is_some_and(|place| at < place.1)
    }
}

impl Rule {
    /// Whether documents that equal an earlier one may be removed without a look at their windows.
    pub fn takes_whole_documents(&self) -> bool {
        self.is_plain()
    }
}

fn equal<T: TextAt + ?Sized>(text: &T, a: &Document, b: &Document, spares: &mut [Vec<u8>; 2]) -> Outcome<bool> {
    let [spare, other] = spares;
    let mut done = 0;
    while done < a.len {
        let step = STEP.min(a.len - done);
        let one = text.read(a.at + done, step as usize, spare)?;
        if one.len() as u64 != step || one != text.read(b.at + done, step as usize, other)? {
            return Ok(false);
        }
        done += step;
    }
    Ok(true)
}
