//! Prefetching of headers of a large archive in a store, at several offsets concurrently.
//!
//! The walk jumps from header to header. Each jump is a request, and only its response determines the offset of the next header. Scouts
//! start at later offsets, with the first block that looks like a header, and fetch the bytes that the walk will probably read. The walk
//! treats these bytes like bytes read from the file, so its result is the same. A scout that mistakes content for headers only wastes its
//! requests.

use super::header::{classify, is_plausible, Block, BLOCK, BLOCK_BYTES};
use std::collections::BTreeMap;
use std::ops::Range;

/// Number of offsets from which an archive is read concurrently, including that of the walk.
const WALK_POSITIONS: u64 = 16;
/// Number of jumps after which their mean distance is computed; then the number of mean distances between two scouts.
const MIN_JUMPS: u64 = if cfg!(test) { 4 } else { 32 };
const JUMPS_TO_NEXT: u64 = if cfg!(test) { 6 } else { 128 };
/// Number of bytes that are searched for a header per request; then the divisor of the distance between two scouts that limits the search.
const MAX_SEARCH_BYTES: u64 = if cfg!(test) { 4 << 10 } else { 256 << 10 };
const SEARCHED_SHARE: u64 = 16;
/// Size of the fetched bytes of an archive, above which scouts stop.
const MAX_PIECES_BYTES: usize = 2 << 20;

/// The scouts of an archive.
#[derive(Default)]
pub(super) struct HeaderPrefetches {
    scouts: Vec<HeaderPrefetch>,
    /// Fetched bytes by their offset.
    pieces: BTreeMap<u64, Vec<u8>>,
    /// Total size of `pieces` in bytes.
    pieces_bytes: usize,
    /// Offset of the first jump.
    first: Option<u64>,
    jumps: u64,
    /// Number of jumps that had to wait for a request.
    #[cfg(test)]
    pub(super) waits: u64,
}

struct HeaderPrefetch {
    /// Offset of the next header, or of the next block that may be one; the maximum value once the scout has stopped.
    at: u64,
    /// Offset at which the next scout starts.
    end: u64,
    /// Offset up to which the first header is searched; `None` once it is found.
    search_to: Option<u64>,
}

impl HeaderPrefetches {
    /// Returns the fetched bytes that contain an offset, with their own offset. Removes all pieces before that offset.
    pub(super) fn take(&mut self, offset: u64, len: usize, end: u64) -> Option<(u64, Vec<u8>)> {
        let later = self.pieces.split_off(&offset.saturating_add(1));
        let mut earlier = std::mem::replace(&mut self.pieces, later);
        self.pieces_bytes -= earlier.values().map(Vec::len).sum::<usize>();
        let piece = earlier.pop_last()?;
        let fetched = piece.0 + piece.1.len() as u64;
        if fetched < offset.saturating_add(len as u64).min(end) {
            return None;
        }
        self.jumps += 1;
        Some(piece)
    }

    /// Returns the ranges to fetch together with a jump of the walk to `offset`. `chunk` is the size that is fetched after a jump, `end`
    /// the end of the archive.
    pub(super) fn begin_jump(&mut self, offset: u64, chunk: u64, end: u64) -> Vec<Range<u64>> {
        let first = *self.first.get_or_insert(offset);
        // Scouts that the walk has passed are no longer useful.
        self.scouts.retain(|scout| scout.at < scout.end && scout.at > offset);
        if self.jumps >= MIN_JUMPS && self.scouts.is_empty() {
            let distance = (offset.saturating_sub(first) / self.jumps).saturating_mul(JUMPS_TO_NEXT);
            let distance = distance.next_multiple_of(BLOCK_BYTES);
            let places = (1..WALK_POSITIONS).map(|place| offset.saturating_add(place.saturating_mul(distance)));
            self.scouts = places
                .take_while(|at| at.saturating_add(distance) <= end && distance > 0)
                .map(|at| HeaderPrefetch { at, end: at + distance, search_to: Some(at + distance / SEARCHED_SHARE) })
                .collect();
        }
        self.jumps += 1;
        #[cfg(test)]
        {
            self.waits += 1;
        }
        let wanted =
            |scout: &HeaderPrefetch| scout.at..end.min(scout.at + scout.search_to.map_or(chunk, |_| MAX_SEARCH_BYTES));
        self.scouts.iter().map(wanted).collect()
    }

    /// Processes the responses to the ranges of [`begin_jump`](Self::begin_jump); `None` for a failed request.
    pub(super) fn end_jump(&mut self, answers: Vec<Option<Vec<u8>>>) {
        for (scout, answer) in self.scouts.iter_mut().zip(answers) {
            match answer {
                Some(bytes) if self.pieces_bytes < MAX_PIECES_BYTES => {
                    if let Some((at, piece)) = scout.walk(bytes) {
                        self.pieces_bytes += piece.len();
                        let replaced = self.pieces.insert(at, piece);
                        self.pieces_bytes -= replaced.map_or(0, |piece| piece.len());
                    }
                }
                _ => scout.at = u64::MAX,
            }
        }
    }
}

impl HeaderPrefetch {
    /// Walks over the headers in fetched bytes. Returns the bytes from the first header on, with their offset.
    fn walk(&mut self, mut bytes: Vec<u8>) -> Option<(u64, Vec<u8>)> {
        if let Some(search_to) = self.search_to {
            let header = bytes.chunks_exact(BLOCK).position(|block| block.try_into().is_ok_and(is_plausible));
            let Some(header) = header else {
                self.at += bytes.len() as u64 - bytes.len() as u64 % BLOCK_BYTES;
                self.at = if bytes.len() < BLOCK || self.at >= search_to { u64::MAX } else { self.at };
                return None;
            };
            bytes.drain(..header * BLOCK);
            self.at += header as u64 * BLOCK_BYTES;
            self.search_to = None;
        }
        let (start, mut last) = (self.at, self.at);
        while let Some(block) = self.block(start, &bytes) {
            last = self.at;
            let next = match classify(block) {
                Block::Header(header) if header.has_content() => u64::try_from(header.size).ok(),
                Block::Header(_) => Some(0),
                Block::Zero | Block::Bad(_) => None,
            };
            let next = next.and_then(|size| size.checked_next_multiple_of(BLOCK_BYTES)?.checked_add(BLOCK_BYTES));
            self.at = next.and_then(|bytes| self.at.checked_add(bytes)).unwrap_or(u64::MAX);
        }
        if self.at == start {
            // Less than one block was fetched, so the file ends here.
            self.at = u64::MAX;
        }
        // The walk needs at most the beginning of the content after the last header.
        bytes.truncate(usize::try_from(last - start).unwrap_or(usize::MAX).saturating_add(2 * BLOCK));
        bytes.shrink_to_fit();
        Some((start, bytes))
    }

    fn block<'a>(&self, start: u64, bytes: &'a [u8]) -> Option<&'a [u8; BLOCK]> {
        bytes.get(usize::try_from(self.at.checked_sub(start)?).ok()?..)?.first_chunk()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::scan_bytes;
    use super::super::walk::{Step, Walker};
    use super::super::window::FileWindow;
    use gristmill_core::Cancel;
    use gristmill_storage::memory_store;
    use gristmill_storage::read::open_read;
    use proptest::prelude::*;
    use std::path::Path;
    use std::sync::Arc;

    /// Returns an archive of samples with large parts of these sizes, and small ones. Every seventh large part is replaced by an archive.
    fn archive(sizes: &[usize]) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        let mut inner = tar::Builder::new(Vec::new());
        let add = |builder: &mut tar::Builder<Vec<u8>>, name: &str, content: &[u8]| {
            let mut header = tar::Header::new_ustar();
            header.set_size(content.len() as u64);
            header.set_mode(0o644);
            builder.append_data(&mut header, name, content).unwrap();
        };
        (0..30).for_each(|number| add(&mut inner, &format!("inner{number}.bin"), &[7; 9000]));
        let inner = inner.into_inner().unwrap();
        for (number, size) in sizes.iter().enumerate() {
            match number % 7 {
                6 => add(&mut builder, &format!("{number:04}.bin"), &inner),
                _ => add(&mut builder, &format!("{number:04}.bin"), &vec![number as u8; *size]),
            }
            add(&mut builder, &format!("{number:04}.json"), b"{}");
        }
        builder.into_inner().unwrap()
    }

    #[test]
    fn walk_of_an_archive_waits_less_often_than_it_has_entries() {
        let sizes: Vec<usize> = (0..400).map(|number| 9_000 + number % 5 * 4_000).collect();
        let path = Path::new("mem://scouts/a.tar");
        memory_store::put(path, &archive(&sizes));
        let cancel = Cancel::default();
        let mut walker = Walker::new(FileWindow::new(Arc::new(open_read(path).unwrap())), &cancel);
        let mut entries = 0;
        while let Step::Entry(_) = walker.step().unwrap() {
            entries += 1;
        }
        assert_eq!(entries, 800);
        let waits = walker.window.waits();
        assert!(waits < 150, "{waits} waits");
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

        // `scan_bytes` compares the scan of a local file with that of an object in a store.
        #[test]
        fn walk_with_scouts_finds_the_same_entries(
            sizes in prop::collection::vec(prop_oneof![3 => 8_500_usize..40_000, 1 => 0_usize..600], 20..120),
            damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..12),
            cut in prop::option::of(any::<prop::sample::Index>()),
        ) {
            let mut bytes = archive(&sizes);
            for (at, byte) in damage {
                let block = at.index(bytes.len()) / 512 * 512;
                bytes[block + usize::from(byte)] ^= byte | 1;
            }
            if let Some(cut) = cut {
                bytes.truncate(cut.index(bytes.len()));
            }
            scan_bytes(&bytes);
        }
    }
}
