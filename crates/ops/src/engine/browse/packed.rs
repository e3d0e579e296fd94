//! Compact lists: offsets of samples (about two bytes each) and names of files (about four bytes each).

use gristmill_storage::sort::bytes::push_int;
use std::sync::Arc;

/// Entries between two marks, which allow random access.
const ENTRIES_PER_MARK: u64 = 64;
/// Bytes allocated at a time.
const CHUNK_BYTES: usize = 64 << 10;
/// Maximum encoded size of the offsets between two marks, in bytes.
const MAX_STRIDE_BYTES: usize = ENTRIES_PER_MARK as usize * 10;

/// Bytes in separate chunks, so that growing does not copy existing bytes.
#[derive(Clone, Debug, Default)]
struct ChunkedBytes(Vec<Vec<u8>>);

impl ChunkedBytes {
    /// Returns a position (chunk and offset in it) with `room` free bytes in the same chunk.
    fn place(&mut self, room: usize) -> (u32, u32) {
        if self.0.last().is_none_or(|last| last.len() + room > CHUNK_BYTES) {
            if let Some(last) = self.0.last_mut() {
                last.shrink_to_fit();
            }
            self.0.push(Vec::with_capacity(if self.0.is_empty() { 0 } else { CHUNK_BYTES }));
        }
        let piece = self.0.len().saturating_sub(1);
        (piece as u32, self.0.last().map_or(0, Vec::len) as u32)
    }
    fn last(&mut self) -> Option<&mut Vec<u8>> {
        self.0.last_mut()
    }
    fn from(&self, (piece, at): (u32, u32)) -> &[u8] {
        self.0.get(piece as usize).and_then(|piece| piece.get(at as usize..)).unwrap_or_default()
    }
}

/// Removes a number from the front and returns it; 0 if there is none.
fn take_varint(bytes: &mut &[u8]) -> u64 {
    let (mut value, mut shift) = (0u64, 0);
    while let Some((&byte, rest)) = bytes.split_first() {
        *bytes = rest;
        value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
        if byte < 0x80 {
            break;
        }
        shift += 7;
    }
    value
}

/// Ascending offsets, each a multiple of a unit.
#[derive(Clone, Debug, Default)]
pub(super) struct PackedOffsets {
    unit: u64,
    pieces: ChunkedBytes,
    /// Offset and position of every 64th entry.
    marks: Vec<(u64, (u32, u32))>,
    len: u64,
    /// The last offset.
    last: u64,
    /// The end of the range that begins at the last offset.
    end: u64,
}

impl PackedOffsets {
    /// Creates an empty list of multiples of `unit`, which must not be 0.
    pub(super) fn new(unit: u64) -> Self {
        Self { unit: unit.max(1), ..Self::default() }
    }

    /// Adds the next sample, with its offset and its current end.
    pub(super) fn push(&mut self, offset: u64, end: u64) {
        if self.len.is_multiple_of(ENTRIES_PER_MARK) {
            let place = self.pieces.place(MAX_STRIDE_BYTES);
            self.marks.push((offset, place));
        } else if let Some(bytes) = self.pieces.last() {
            push_int(bytes, offset.saturating_sub(self.last) / self.unit);
        }
        (self.last, self.end) = (offset, end);
        self.len += 1;
    }

    /// Releases memory that was allocated in advance.
    pub(super) fn shrink(&mut self) {
        self.marks.shrink_to_fit();
        self.pieces.last().into_iter().for_each(Vec::shrink_to_fit);
    }

    /// Sets the end of the last sample.
    pub(super) fn set_end(&mut self, end: u64) {
        self.end = end;
    }

    /// Returns the number of samples.
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Passes offset and end of each sample from `first` on to `take` until it returns false.
    pub(super) fn for_each(&self, first: u64, mut take: impl FnMut(u64, u64) -> bool) {
        if first >= self.len {
            return;
        }
        let stride = (first / ENTRIES_PER_MARK) as usize;
        let Some(&(mut offset, place)) = self.marks.get(stride) else { return };
        let mut bytes = self.pieces.from(place);
        let mut index = first - first % ENTRIES_PER_MARK;
        loop {
            let next = index + 1;
            let following = if next >= self.len {
                self.end
            } else if next.is_multiple_of(ENTRIES_PER_MARK) {
                let Some(&(mark, place)) = self.marks.get((next / ENTRIES_PER_MARK) as usize) else { return };
                bytes = self.pieces.from(place);
                mark
            } else {
                offset + take_varint(&mut bytes) * self.unit
            };
            if index >= first && !take(offset, following) || next >= self.len {
                return;
            }
            (offset, index) = (following, next);
        }
    }

    /// Returns offset and end of up to `count` samples from `first` on.
    pub(super) fn spans(&self, first: u64, count: usize) -> Vec<(u64, u64)> {
        let mut spans = Vec::new();
        if count > 0 {
            self.for_each(first, |from, to| {
                spans.push((from, to));
                spans.len() < count
            });
        }
        spans
    }

    /// Returns the number of the sample that contains an offset; `None` for an offset before the first sample.
    pub(super) fn holding(&self, offset: u64) -> Option<u64> {
        let stride = self.marks.partition_point(|mark| mark.0 <= offset).checked_sub(1)?;
        let mut index = stride as u64 * ENTRIES_PER_MARK;
        let mut found = None;
        self.for_each(index, |from, to| {
            if from <= offset && offset < to {
                found = Some(index);
            }
            index += 1;
            found.is_none() && from <= offset
        });
        found
    }

    /// Returns the memory used, in bytes.
    #[cfg(test)]
    fn memory(&self) -> usize {
        self.pieces.0.iter().map(Vec::capacity).sum::<usize>() + self.marks.capacity() * 16
    }
}

/// Names in order, each stored as its difference from the previous name.
#[derive(Clone, Debug, Default)]
pub(super) struct PackedNames {
    pieces: ChunkedBytes,
    /// Position in `pieces` of every 64th name.
    marks: Vec<(u32, u32)>,
    len: u64,
}

impl PackedNames {
    /// Packs the names.
    pub(super) fn new<'a>(names: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut packed = Self::default();
        let mut before: Vec<u8> = Vec::new();
        let mut stride = Vec::new();
        for name in names {
            if packed.len.is_multiple_of(ENTRIES_PER_MARK) {
                packed.store(&mut stride);
                before.clear();
            }
            let shared = before.iter().zip(name).take_while(|(a, b)| a == b).count();
            let most = before.len().min(name.len()) - shared;
            let tail = before.iter().rev().zip(name.iter().rev()).take(most).take_while(|(a, b)| a == b).count();
            let middle = name.get(shared..name.len() - tail).unwrap_or_default();
            push_int(&mut stride, shared as u64);
            push_int(&mut stride, tail as u64);
            push_int(&mut stride, middle.len() as u64);
            stride.extend_from_slice(middle);
            name.clone_into(&mut before);
            packed.len += 1;
        }
        packed.store(&mut stride);
        if let Some(last) = packed.pieces.last() {
            last.shrink_to_fit();
        }
        packed.marks.shrink_to_fit();
        packed
    }

    fn store(&mut self, stride: &mut Vec<u8>) {
        if stride.is_empty() {
            return;
        }
        let place = self.pieces.place(stride.len());
        self.marks.push(place);
        if let Some(bytes) = self.pieces.last() {
            bytes.append(stride);
        }
    }

    /// Returns the number of names.
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Passes the names from `first` on to `take` until it returns false.
    pub(super) fn for_each(&self, first: u64, mut take: impl FnMut(u64, &[u8]) -> bool) {
        let mut index = first - first % ENTRIES_PER_MARK;
        let mut name: Vec<u8> = Vec::new();
        let mut next: Vec<u8> = Vec::new();
        let mut bytes: &[u8] = &[];
        while index < self.len {
            if index.is_multiple_of(ENTRIES_PER_MARK) {
                let Some(&place) = self.marks.get((index / ENTRIES_PER_MARK) as usize) else { return };
                bytes = self.pieces.from(place);
                name.clear();
            }
            let shared = take_varint(&mut bytes) as usize;
            let tail = take_varint(&mut bytes) as usize;
            let middle = (take_varint(&mut bytes) as usize).min(bytes.len());
            next.clear();
            next.extend_from_slice(name.get(..shared).unwrap_or_default());
            let (piece, rest) = bytes.split_at(middle);
            next.extend_from_slice(piece);
            next.extend_from_slice(name.get(name.len().saturating_sub(tail)..).unwrap_or_default());
            bytes = rest;
            std::mem::swap(&mut name, &mut next);
            if index >= first && !take(index, &name) {
                return;
            }
            index += 1;
        }
    }

    /// Returns the name at a position.
    pub(super) fn get(&self, index: u64) -> Option<Arc<str>> {
        let mut found = None;
        self.for_each(index, |_, name| {
            found = Some(Arc::from(String::from_utf8_lossy(name)));
            false
        });
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn packed_offsets_are_read_back(steps in prop::collection::vec(1u64..100_000, 0..400), unit in prop::sample::select(vec![1u64, 512])) {
            let mut packed = PackedOffsets::new(unit);
            let mut plain = Vec::new();
            let mut at = 7 * unit;
            for step in steps {
                let end = at + step * unit;
                packed.push(at, end);
                plain.push((at, end));
                at = end;
            }
            prop_assert_eq!(packed.len(), plain.len() as u64);
            prop_assert_eq!(packed.spans(0, usize::MAX), plain.clone());
            for (index, span) in plain.iter().enumerate().step_by(37) {
                prop_assert_eq!(packed.spans(index as u64, 1), vec![*span]);
                prop_assert_eq!(packed.holding(span.1 - 1), Some(index as u64));
            }
            prop_assert_eq!(packed.holding(0), None);
            prop_assert_eq!(packed.holding(at), None);
        }

        #[test]
        fn packed_names_are_read_back(names in prop::collection::vec("[a-c]{0,6}(é|\\.jpg)?", 0..300)) {
            let packed = PackedNames::new(names.iter().map(|name| name.as_bytes()));
            prop_assert_eq!(packed.len(), names.len() as u64);
            for (index, name) in names.iter().enumerate() {
                let got = packed.get(index as u64);
                prop_assert_eq!(got.as_deref(), Some(name.as_str()));
            }
            prop_assert_eq!(packed.get(names.len() as u64), None);
        }
    }

    #[test]
    fn packed_offset_needs_at_most_three_bytes() {
        let mut packed = PackedOffsets::new(512);
        let mut at = 0;
        for index in 0..1_000_000u64 {
            let end = at + 512 * (20 + index % 400);
            packed.push(at, end);
            at = end;
        }
        assert!(packed.memory() < 3_000_000, "{}", packed.memory());
        let mut seen = 0;
        packed.for_each(999_990, |_, _| {
            seen += 1;
            true
        });
        assert_eq!(seen, 10);
    }
}
