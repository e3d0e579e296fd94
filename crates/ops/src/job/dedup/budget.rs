//! Memory for spill buffers, in chunks that are reused by later buffers.

#[cfg(target_os = "linux")]
use gristmill_core::Mutex;
use memmap2::Advice;
use memmap2::{MmapMut, MmapOptions};
use std::sync::Arc;

pub(super) const CHUNK_BYTES: usize = 256 << 10;
/// Chunks requested at a time: several huge pages, plus the remainders before and after them.
const CHUNKS_PER_ALLOCATION: u64 = 64;

/// Memory of a fixed size that is filled from the beginning.
#[derive(Debug)]
pub(super) struct Chunk {
    memory: MmapMut,
    filled: usize,
}

impl Chunk {
    /// Creates an empty chunk; `None` if the system has no memory.
    pub(super) fn new() -> Option<Self> {
        // One call populates all pages: page faults at the first writes take the system half as long again.
        let memory = MmapOptions::new().len(CHUNK_BYTES).populate().map_anon().ok()?;
        Some(Self { memory, filled: 0 })
    }

    /// Creates up to `count` chunks, as many as the system has memory for. Their pages must still be [populated](Self::populate_pages).
    ///
    /// The system places them next to each other, and adjacent chunks may use huge pages, which are populated in a third of the time.
    fn allocate(count: u64) -> Vec<Self> {
        let one = |_| MmapOptions::new().len(CHUNK_BYTES).map_anon().ok();
        let chunks: Vec<Self> = (0..count).map_while(one).map(|memory| Self { memory, filled: 0 }).collect();
        #[cfg(target_os = "linux")]
        for chunk in &chunks {
            // Optional: a system without huge pages uses normal ones.
            let _ = chunk.memory.advise(Advice::HugePage);
        }
        chunks
    }

    /// Populates all pages in one call.
    fn populate_pages(&self) {
        // If it fails (an older system), each page is populated by its first write.
        #[cfg(target_os = "linux")]
        let _ = self.memory.advise(Advice::PopulateWrite);
    }

    /// Returns the bytes written so far.
    pub(super) fn bytes(&self) -> &[u8] {
        self.memory.get(..self.filled).unwrap_or_default()
    }

    /// Whether the chunk has no free space.
    pub(super) fn is_full(&self) -> bool {
        self.filled == self.memory.len()
    }

    /// Copies as many of `bytes` as fit, and returns the rest.
    pub(super) fn fill<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        let count = bytes.len().min(self.memory.len() - self.filled);
        let (now, rest) = bytes.split_at_checked(count).unwrap_or((bytes, &[]));
        if let Some(room) = self.memory.get_mut(self.filled..self.filled + count) {
            room.copy_from_slice(now);
            self.filled += count;
        }
        rest
    }

    pub(super) fn clear(&mut self) {
        self.filled = 0;
    }
}

/// Memory in chunks, shared by all spill buffers and notes. Returned chunks are reused, because the system needs more time to provide fresh
/// memory than it takes to fill it.
///
/// Memory is counted in whole chunks, so the chunks in use and the spare ones together never exceed the total.
#[derive(Debug)]
pub(super) struct Budget(Mutex<Chunks>);

/// Chunks of a budget that are not in use.
#[derive(Debug)]
struct Chunks {
    /// Chunks whose memory is populated.
    spare: Vec<Chunk>,
    /// Chunks with an address range, but without populated memory.
    reserved: Vec<Chunk>,
    /// Number of chunks that may still be requested from the system.
    unrequested: u64,
}

impl Budget {
    /// Creates a budget of `bytes`, rounded down to whole chunks.
    pub(super) fn new(bytes: u64) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Chunks {
            spare: Vec::new(),
            reserved: Vec::new(),
            unrequested: bytes / CHUNK_BYTES as u64,
        })))
    }

    /// Returns an empty chunk; `None` if all are in use.
    pub(super) fn take(&self) -> Option<Chunk> {
        let mut chunks = self.0.lock();
        if let Some(chunk) = chunks.spare.pop() {
            return Some(chunk);
        }
        if chunks.reserved.is_empty() {
            chunks.reserved = Chunk::allocate(chunks.unrequested.min(CHUNKS_PER_ALLOCATION));
            chunks.unrequested -= chunks.reserved.len() as u64;
        }
        let chunk = chunks.reserved.pop()?;
        drop(chunks);
        chunk.populate_pages();
        Some(chunk)
    }

    /// Takes back a chunk.
    pub(super) fn return_chunk(&self, mut chunk: Chunk) {
        chunk.clear();
        self.0.lock().spare.push(chunk);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budget_never_has_more_chunks_than_allowed() {
        let budget = Budget::new(3 * CHUNK_BYTES as u64 + 17);
        let mut taken = Vec::new();
        for step in 0..200_u32 {
            match step * 7 % 5 < 2 {
                true => taken.pop().into_iter().for_each(|chunk| budget.return_chunk(chunk)),
                false => taken.extend(budget.take()),
            }
            let chunks = budget.0.lock();
            let untaken = chunks.spare.len() + chunks.reserved.len() + chunks.unrequested as usize;
            assert_eq!(taken.len() + untaken, 3, "{step}");
        }
        taken.extend(std::iter::from_fn(|| budget.take()));
        assert_eq!(taken.len(), 3);
        assert!(taken.iter().all(|chunk| chunk.bytes().is_empty()));
    }
}
