//! Memory for piles, in chunks that one pile hands on to the next.

use memmap2::{MmapMut, MmapOptions};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes of a chunk.
pub(super) const CHUNK: usize = 256 << 10;

/// Memory that is filled from the front.
#[derive(Debug)]
pub(super) struct Chunk {
    memory: MmapMut,
    filled: usize,
}

impl Chunk {
    /// An empty one; `None` when the system has no memory.
    pub(super) fn new() -> Option<Self> {
        // All of its pages in one go: each by itself, when it is first written to, takes the system half as long again. Pages of the
        // larger kind would take still less, but not where they have to be got from below a virtual machine.
        let memory = MmapOptions::new().len(CHUNK).populate().map_anon().ok()?;
        Some(Self { memory, filled: 0 })
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

/// Memory that piles may take together. Chunks that one of them has given back go to the next that asks: fresh memory costs the system
/// more time than filling it does.
#[derive(Debug)]
pub(super) struct Budget {
    left: AtomicU64,
    spares: Mutex<Vec<Chunk>>,
}

impl Budget {
    /// So many bytes.
    pub(super) fn new(bytes: u64) -> Arc<Self> {
        Arc::new(Self { left: AtomicU64::new(bytes), spares: Mutex::default() })
    }

    fn spares(&self) -> MutexGuard<'_, Vec<Chunk>> {
        self.spares.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An empty chunk; `None` when all is taken.
    pub(super) fn take(&self) -> Option<Chunk> {
        if !self.reserve(CHUNK as u64) {
            return None;
        }
        let spare = self.spares().pop();
        let chunk = spare.or_else(Chunk::new);
        if chunk.is_none() {
            self.release(CHUNK as u64);
        }
        chunk
    }

    /// Takes a chunk back.
    pub(super) fn give(&self, mut chunk: Chunk) {
        chunk.clear();
        self.spares().push(chunk);
        self.release(CHUNK as u64);
    }

    /// Takes so many bytes for something else than chunks; false when there are not so many.
    pub(super) fn reserve(&self, bytes: u64) -> bool {
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes)).is_ok()
    }

    /// Gives back what was reserved.
    pub(super) fn release(&self, bytes: u64) {
        self.left.fetch_add(bytes, Ordering::Relaxed);
    }
}
