//! Memory for piles, in chunks that one pile hands on to the next.

#[cfg(target_os = "linux")]
use memmap2::Advice;
use memmap2::{MmapMut, MmapOptions};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes of a chunk.
pub(super) const CHUNK: usize = 256 << 10;
/// Chunks that are asked for at a time: some large pages, and what is left over before and behind them.
const AT_A_TIME: u64 = 64;

/// Memory that is filled from the front.
#[derive(Debug)]
pub(super) struct Chunk {
    memory: MmapMut,
    filled: usize,
}

impl Chunk {
    /// An empty one; `None` when the system has no memory.
    pub(super) fn new() -> Option<Self> {
        // All of its pages in one go: each by itself, when it is first written to, takes the system half as long again.
        let memory = MmapOptions::new().len(CHUNK).populate().map_anon().ok()?;
        Some(Self { memory, filled: 0 })
    }

    /// Several at once, as many as the system has memory for, whose pages are still to be [got](Self::get_pages).
    ///
    /// The system puts them side by side, and what lies side by side may be large pages, which it gets in a third of the time.
    fn several(count: u64) -> Vec<Self> {
        let one = |_| MmapOptions::new().len(CHUNK).map_anon().ok();
        let chunks: Vec<Self> = (0..count).map_while(one).map(|memory| Self { memory, filled: 0 }).collect();
        #[cfg(target_os = "linux")]
        for chunk in &chunks {
            // Who has none does without.
            let _ = chunk.memory.advise(Advice::HugePage);
        }
        chunks
    }

    /// Gets all of its pages in one go.
    fn get_pages(&self) {
        // An older system gets them one by one, when they are first written to.
        #[cfg(target_os = "linux")]
        let _ = self.memory.advise(Advice::PopulateWrite);
    }

    /// What it was filled with.
    pub(super) fn bytes(&self) -> &[u8] {
        self.memory.get(..self.filled).unwrap_or_default()
    }

    /// Whether nothing more fits in.
    pub(super) fn is_full(&self) -> bool {
        self.filled == self.memory.len()
    }

    /// Takes as much of `bytes` as fits in, and gives the rest back.
    pub(super) fn fill<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        let count = bytes.len().min(self.memory.len() - self.filled);
        let (now, rest) = bytes.split_at_checked(count).unwrap_or((bytes, &[]));
        if let Some(room) = self.memory.get_mut(self.filled..self.filled + count) {
            room.copy_from_slice(now);
            self.filled += count;
        }
        rest
    }

    /// Empties it.
    pub(super) fn clear(&mut self) {
        self.filled = 0;
    }
}

/// Memory that piles and notes may take together, in chunks. Those that one of them has given back go to the next that asks: fresh memory
/// costs the system more time than filling it does.
///
/// Everything that is counted is a chunk, so what is taken and what is kept in between are never more than the whole.
#[derive(Debug)]
pub(super) struct Budget(Mutex<Chunks>);

/// Chunks of a budget that nobody has.
#[derive(Debug)]
struct Chunks {
    /// Of which there is memory.
    spare: Vec<Chunk>,
    /// Of which there is none yet, only a place for it.
    placed: Vec<Chunk>,
    /// For which memory may still be asked.
    fresh: u64,
}

impl Budget {
    /// So many bytes, in whole chunks.
    pub(super) fn new(bytes: u64) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Chunks { spare: Vec::new(), placed: Vec::new(), fresh: bytes / CHUNK as u64 })))
    }

    fn chunks(&self) -> MutexGuard<'_, Chunks> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An empty chunk; `None` when all is taken.
    pub(super) fn take(&self) -> Option<Chunk> {
        let mut chunks = self.chunks();
        if let Some(chunk) = chunks.spare.pop() {
            return Some(chunk);
        }
        if chunks.placed.is_empty() {
            chunks.placed = Chunk::several(chunks.fresh.min(AT_A_TIME));
            chunks.fresh -= chunks.placed.len() as u64;
        }
        let chunk = chunks.placed.pop()?;
        drop(chunks);
        chunk.get_pages();
        Some(chunk)
    }

    /// Takes a chunk back.
    pub(super) fn give(&self, mut chunk: Chunk) {
        chunk.clear();
        self.chunks().spare.push(chunk);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_never_more_chunks_than_are_allowed() {
        let budget = Budget::new(3 * CHUNK as u64 + 17);
        let mut taken = Vec::new();
        for step in 0..200_u32 {
            match step * 7 % 5 < 2 {
                true => taken.pop().into_iter().for_each(|chunk| budget.give(chunk)),
                false => taken.extend(budget.take()),
            }
            let chunks = budget.chunks();
            let untaken = chunks.spare.len() + chunks.placed.len() + chunks.fresh as usize;
            assert_eq!(taken.len() + untaken, 3, "{step}");
        }
        taken.extend(std::iter::from_fn(|| budget.take()));
        assert_eq!(taken.len(), 3);
        assert!(taken.iter().all(|chunk| chunk.bytes().is_empty()));
    }
}
