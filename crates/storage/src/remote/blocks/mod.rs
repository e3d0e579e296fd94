//! Reads an object by ranges: in blocks that are fetched once, and ahead of sequential readers.
//!
//! Owns which ranges are fetched and how long their bytes stay in memory. Must not know their source ([`FetchRange`]).

mod room;
mod streams;
#[cfg(test)]
mod tests;

use super::super::memory::run_memory;
use super::super::range_read::{buffer_for, RangeRead, AFTER_PART_BYTES};
use super::network::{bytes_worth_a_jump, CANCEL_INTERVAL};
use gristmill_core::{Cancel, Failure, Mutex, Outcome};
use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};
use streams::{Order, Stream, Streams};

/// Boundaries of blocks are multiples of this, in bytes.
pub(super) const BLOCK_UNIT: u64 = 64 << 10;
/// Maximum size of a block, in bytes.
const MAX_BLOCK_BYTES: u64 = 8 << 20;
/// Maximum number of bytes that are fetched ahead of one reader, and the number above which whole blocks are fetched.
const MAX_WINDOW_BYTES: u64 = 64 << 20;
const BLOCKS_WINDOW_BYTES: u64 = MAX_BLOCK_BYTES + MAX_BLOCK_BYTES / 2;
/// Number of bytes that are fetched ahead of a second sequential read, which takes no longer than waiting for the store; later, this
/// multiple of the bytes read so far is fetched.
const MIN_WINDOW_BYTES: u64 = 1 << 20;
const WINDOW_GROWTH: u64 = 16;
/// Minimum share of a reader in the memory for read-ahead: many of the open readers may not be reading.
const MIN_SHARE_BYTES: u64 = 2 << 20;
/// Maximum number of bytes of an object that stay in memory after they were read.
const MAX_READ_BYTES: u64 = 1 << 20;
/// Bytes of all objects in memory above which nothing is fetched ahead: a share of the memory of the run within these limits.
const TOTAL_SHARE: u64 = 8;
const MIN_TOTAL_BYTES: u64 = 64 << 20;
const MAX_TOTAL_BYTES: u64 = 256 << 20;
/// Size of the first request to an object: of the first object, and of an object after one that was read sequentially.
pub(super) const FIRST_UNKNOWN_BYTES: u64 = 256 << 10;
const FIRST_BYTES: u64 = 2 << 20;
/// Size of the first request for a part that is read sequentially, and the number of bytes that are fetched ahead of its reader afterwards.
/// The first request for a larger part is small, because the others wait for its answer.
const FIRST_PART_BYTES: u64 = 4 << 20;
const PART_WINDOW_BYTES: u64 = 8 << 20;
const FIRST_LARGE_PART_BYTES: u64 = 1 << 20;
/// Time after which a block that failed is fetched again.
const FAILURE_LIFETIME: Duration = Duration::from_secs(1);

/// Bytes of all objects that are in memory or requested.
static TOTAL_BYTES: AtomicU64 = AtomicU64::new(0);

fn total_limit() -> u64 {
    (run_memory() / TOTAL_SHARE).clamp(MIN_TOTAL_BYTES, MAX_TOTAL_BYTES)
}

/// Whether there is memory for this number of additional bytes.
fn has_room(bytes: u64) -> bool {
    TOTAL_BYTES.load(Ordering::Relaxed).saturating_add(bytes) <= total_limit()
}

/// Bytes that count in [`TOTAL_BYTES`].
struct CountedBytes(u64);

impl CountedBytes {
    /// Counts bytes that are needed.
    fn needed(bytes: u64) -> Self {
        TOTAL_BYTES.fetch_add(bytes, Ordering::Relaxed);
        Self(bytes)
    }

    /// Counts bytes that are fetched ahead, if they are within the limit.
    fn ahead(bytes: u64) -> Option<Self> {
        let sum = |total: u64| total.checked_add(bytes).filter(|total| *total <= total_limit());
        let counted = TOTAL_BYTES.fetch_update(Ordering::Relaxed, Ordering::Relaxed, sum);
        counted.is_ok().then_some(Self(bytes))
    }
}

impl Drop for CountedBytes {
    fn drop(&mut self) {
        TOTAL_BYTES.fetch_sub(self.0, Ordering::Relaxed);
    }
}

/// Number of open objects.
static READERS: AtomicUsize = AtomicUsize::new(0);

/// Size of the first request to each object of a store: larger if the last object was read sequentially, so that a small object takes a
/// single request.
#[derive(Clone, Debug)]
pub(super) struct FirstRequest(Arc<AtomicU64>);

impl FirstRequest {
    pub(super) fn new() -> Self {
        Self(Arc::new(AtomicU64::new(FIRST_UNKNOWN_BYTES)))
    }

    pub(super) fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed).max(BLOCK_UNIT)
    }

    fn expects_jumps(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }
}

/// Cancels a fetch whose result is no longer needed.
pub(super) type CancelFetch = Box<dyn Fn() + Send + Sync>;

/// Fetches ranges of an object.
pub(super) trait FetchRange: Send + Sync {
    /// Starts to fetch a range, without waiting for it. `done` receives the result: exactly the bytes of the range.
    fn begin(&self, range: Range<u64>, done: FetchDone) -> CancelFetch;
}

/// Receives the result of a fetch.
pub(super) struct FetchDone {
    blocks: Weak<Blocks>,
    /// Number of the block: another block may have replaced it by now.
    number: u64,
    is_finished: bool,
}

impl FetchDone {
    /// Stores the result.
    pub(super) fn finish(mut self, result: Outcome<Vec<u8>>) {
        self.store(result);
    }

    fn store(&mut self, result: Outcome<Vec<u8>>) {
        self.is_finished = true;
        let Some(blocks) = self.blocks.upgrade() else { return };
        let mut state = blocks.lock();
        if let Some(block) = state.blocks.iter_mut().find(|block| block.number == self.number) {
            block.cancel = None;
            if result.is_err() {
                block.counted = None;
            }
            let size = block.range.end - block.range.start;
            block.content = match result {
                Ok(bytes) if bytes.len() as u64 == size => Content::Ready(Arc::new(bytes)),
                Ok(_) => {
                    let failure = Failure::internal("reading", "a block has another size");
                    Content::Failed(Box::new(failure), Instant::now())
                }
                Err(failure) => Content::Failed(Box::new(failure), Instant::now()),
            };
        }
        drop(state);
        blocks.changed.notify_all();
    }
}

impl Drop for FetchDone {
    fn drop(&mut self) {
        if !self.is_finished {
            self.store(Err(Failure::internal("reading", "a request ended without a result")));
        }
    }
}

/// An object that is read in blocks.
pub(super) struct BlockReader {
    source: Box<dyn FetchRange>,
    blocks: Arc<Blocks>,
    /// Adapts the first requests to other objects to how this one is read.
    first: Option<FirstRequest>,
}

struct Blocks {
    /// Size of the object.
    bytes: u64,
    state: Mutex<BlockState>,
    changed: Condvar,
}

impl Blocks {
    fn lock(&self) -> MutexGuard<'_, BlockState> {
        self.state.lock()
    }
}

#[derive(Default)]
struct BlockState {
    /// Number of blocks created so far.
    count: u64,
    /// The most recently used block is the last one.
    blocks: VecDeque<Block>,
    streams: Streams,
    /// Time of the last read, or of opening.
    used: Option<Instant>,
    /// Whether a range was read without the bytes around it.
    has_jumps: bool,
    /// Whether ranges of the last object were read separately, so that nothing is fetched ahead of the first read.
    expects_jumps: bool,
}

struct Block {
    /// Distinguishes the block from earlier ones with the same range.
    number: u64,
    range: Range<u64>,
    content: Content,
    /// Number of readers that wait for the block; it is not removed while there are any.
    waiting: usize,
    cancel: Option<CancelFetch>,
    /// Its counted bytes; `None` once it has failed.
    counted: Option<CountedBytes>,
}

impl Drop for Block {
    fn drop(&mut self) {
        if let Some(cancel) = &self.cancel {
            cancel();
        }
    }
}

enum Content {
    Pending,
    Ready(Arc<Vec<u8>>),
    Failed(Box<Failure>, Instant),
}

/// Returns the range of the first request to an object of which a part is read sequentially.
pub(super) fn first_of_part(part: &Range<u64>) -> Range<u64> {
    let start = part.start - part.start % BLOCK_UNIT;
    let end = end_of_part(part.end);
    let first = if end - start > PART_WINDOW_BYTES { FIRST_LARGE_PART_BYTES } else { FIRST_PART_BYTES };
    start..end.min(start + first)
}

/// Returns the maximum number of bytes that are fetched ahead of a reader: its share of the memory, so that no reader is limited to small
/// requests.
fn max_window() -> u64 {
    let readers = READERS.load(Ordering::Relaxed).max(1) as u64;
    (total_limit() / readers).clamp(MIN_SHARE_BYTES, MAX_WINDOW_BYTES)
}

/// Returns the end of the range that is fetched for a part: it includes bytes that its reader may need after the part.
fn end_of_part(end: u64) -> u64 {
    (end.min(u64::MAX / 2) + AFTER_PART_BYTES).next_multiple_of(BLOCK_UNIT)
}

impl BlockReader {
    /// Opens an object of a size. `first` are its known first bytes: a multiple of [`BLOCK_UNIT`], or all.
    pub(super) fn new(source: Box<dyn FetchRange>, bytes: u64, first: Vec<u8>) -> Self {
        let mut state = BlockState { used: Some(Instant::now()), ..BlockState::default() };
        if !first.is_empty() {
            let range = 0..first.len() as u64;
            state.insert_needed(range).content = Content::Ready(Arc::new(first));
        }
        let blocks = Arc::new(Blocks { bytes, state: Mutex::new(state), changed: Condvar::new() });
        READERS.fetch_add(1, Ordering::Relaxed);
        room::add(&blocks);
        Self { source, blocks, first: None }
    }

    /// Opens an object of which a part is read sequentially. `first` are the bytes of [`first_of_part`].
    pub(super) fn of_part(source: Box<dyn FetchRange>, bytes: u64, part: &Range<u64>, first: Vec<u8>) -> Self {
        let reader = Self::new(source, bytes, Vec::new());
        let start = first_of_part(part).start;
        let fetched = start + first.len() as u64;
        let mut state = reader.blocks.lock();
        if !first.is_empty() {
            state.insert_needed(start..fetched).content = Content::Ready(Arc::new(first));
        }
        let end = end_of_part(part.end).min(bytes);
        // A larger part is fetched like any sequential read, but with the maximum window from the start.
        let window = if end.saturating_sub(start) > PART_WINDOW_BYTES { max_window() } else { PART_WINDOW_BYTES };
        state.streams.put(Stream::new(part.start, fetched, window, end));
        drop(state);
        reader
    }

    /// Opens an object of which a part is read sequentially, and starts to fetch the part without waiting for it. If there is no room, only
    /// the beginning is fetched.
    pub(super) fn of_part_ahead(source: Box<dyn FetchRange>, bytes: u64, part: &Range<u64>) -> Self {
        let reader = Self::of_part(source, bytes, part, Vec::new());
        let first = first_of_part(part);
        let mut state = reader.blocks.lock();
        let mut end = first.end.min(bytes);
        let mut begun = reader.insert_missing(&mut state, &(first.start..end));
        let all = end_of_part(part.end).min(first.start + PART_WINDOW_BYTES).min(bytes);
        if end < all && has_room(all - end) {
            begun.extend(reader.insert_missing(&mut state, &(end..all)));
            end = all;
        }
        if let Some(stream) = state.streams.last_mut() {
            stream.fetched = end;
        }
        drop(state);
        reader.begin(begun);
        reader
    }

    fn insert_missing(&self, state: &mut BlockState, wanted: &Range<u64>) -> Vec<(u64, Range<u64>)> {
        let missing = state.missing(wanted, BLOCK_UNIT, self.blocks.bytes);
        missing.into_iter().map(|range| (state.insert_needed(range.clone()).number, range)).collect()
    }

    /// Adapts the first requests to other objects to how this one is read.
    pub(super) fn with_first(mut self, first: &FirstRequest) -> Self {
        self.blocks.lock().expects_jumps = first.expects_jumps();
        self.first = Some(first.clone());
        self
    }

    /// Starts to fetch the bytes that a read needs and, unless it is alone, the bytes that probably follow.
    fn prepare(&self, read: &Range<u64>, is_alone: bool) {
        let mut state = self.blocks.lock();
        state.used = Some(Instant::now());
        let mut missing;
        let first_ahead;
        if is_alone {
            missing = state.missing(read, 1, self.blocks.bytes);
            state.has_jumps |= !missing.is_empty();
            first_ahead = missing.len();
        } else {
            let ahead = state.ahead_of(read, self.blocks.bytes);
            missing = state.missing(read, BLOCK_UNIT, self.blocks.bytes);
            first_ahead = missing.len();
            missing.extend(state.missing(&ahead, BLOCK_UNIT, self.blocks.bytes));
        }
        let (mut begun, mut is_full) = (Vec::with_capacity(missing.len()), false);
        for (at, range) in missing.into_iter().enumerate() {
            let size = range.end - range.start;
            let counted = if at < first_ahead { Some(CountedBytes::needed(size)) } else { CountedBytes::ahead(size) };
            let Some(counted) = counted else {
                // A later read fetches the rest ahead.
                if let Some(stream) = state.streams.last_mut() {
                    stream.fetched = stream.fetched.min(range.start);
                }
                is_full = true;
                break;
            };
            begun.push((state.insert(range.clone(), counted).number, range));
        }
        drop(state);
        self.begin(begun);
        if is_full {
            room::make();
        }
    }

    /// Starts to fetch blocks, given by their numbers and ranges.
    fn begin(&self, blocks: Vec<(u64, Range<u64>)>) {
        for (number, range) in blocks {
            let done = FetchDone { blocks: Arc::downgrade(&self.blocks), number, is_finished: false };
            let cancel = self.source.begin(range, done);
            let mut state = self.blocks.lock();
            let is_pending = |block: &&mut Block| block.number == number && matches!(block.content, Content::Pending);
            if let Some(block) = state.blocks.iter_mut().find(is_pending) {
                block.cancel = Some(cancel);
            }
        }
    }

    /// Copies the bytes of a read that are in the block at an offset; `None` if there is no longer such a block.
    fn copy(&self, buffer: &mut [u8], offset: u64) -> io::Result<Option<usize>> {
        let mut state = self.blocks.lock();
        loop {
            let Some(block) = state.at(offset) else { return Ok(None) };
            match &block.content {
                Content::Ready(bytes) => {
                    let (bytes, start) = (Arc::clone(bytes), block.range.start);
                    drop(state);
                    let from = usize::try_from(offset - start).unwrap_or(usize::MAX);
                    let bytes = bytes.get(from..).unwrap_or_default();
                    let count = bytes.len().min(buffer.len());
                    buffer[..count].copy_from_slice(&bytes[..count]);
                    return Ok(Some(count));
                }
                Content::Failed(failure, _) => return Err(Failure::clone(failure).into_io()),
                Content::Pending => {
                    block.waiting += 1;
                    let waited = self.blocks.changed.wait_timeout(state, CANCEL_INTERVAL);
                    state = waited.unwrap_or_else(PoisonError::into_inner).0;
                    if let Some(block) = state.at(offset) {
                        block.waiting = block.waiting.saturating_sub(1);
                    }
                    Cancel::of_thread().check().map_err(Failure::into_io)?;
                }
            }
        }
    }

    fn read(&self, buffer: &mut [u8], offset: u64, is_alone: bool) -> io::Result<()> {
        let read = offset..offset + buffer.len() as u64;
        self.prepare(&read, is_alone);
        self.fill(buffer, &read, is_alone)?;
        self.blocks.lock().evict(read.end);
        Ok(())
    }

    /// Waits for a range that was prepared.
    fn fill(&self, buffer: &mut [u8], read: &Range<u64>, is_alone: bool) -> io::Result<()> {
        let mut filled = 0;
        while filled < buffer.len() {
            let at = read.start + filled as u64;
            match self.copy(&mut buffer[filled..], at)? {
                Some(count) => filled += count,
                None => self.prepare(&(at..read.end), is_alone),
            }
        }
        Ok(())
    }
}

impl RangeRead for BlockReader {
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.read(buffer, offset, false)
    }

    fn read_at_directly(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.read(buffer, offset, true)
    }

    fn read_ranges_directly(&self, ranges: &[Range<u64>]) -> Vec<io::Result<Vec<u8>>> {
        ranges.iter().for_each(|range| self.prepare(range, true));
        let read = |range: &Range<u64>| {
            let mut bytes = buffer_for(range)?;
            self.fill(&mut bytes, range, true)?;
            Ok(bytes)
        };
        let read = ranges.iter().map(read).collect();
        ranges.iter().for_each(|range| self.blocks.lock().evict(range.end));
        read
    }

    fn bytes_worth_a_jump(&self) -> u64 {
        bytes_worth_a_jump(READERS.load(Ordering::Relaxed))
    }
}

impl Drop for BlockReader {
    fn drop(&mut self) {
        READERS.fetch_sub(1, Ordering::Relaxed);
        let Some(first) = &self.first else { return };
        let state = self.blocks.lock();
        let is_in_order = || state.streams.iter().any(|stream| stream.start == 0 && stream.next > BLOCK_UNIT);
        match state.has_jumps {
            true => first.0.store(0, Ordering::Relaxed),
            false if is_in_order() => first.0.store(FIRST_BYTES, Ordering::Relaxed),
            false => {}
        }
    }
}

impl BlockState {
    fn at(&mut self, offset: u64) -> Option<&mut Block> {
        self.blocks.iter_mut().find(|block| block.range.contains(&offset))
    }

    fn insert_needed(&mut self, range: Range<u64>) -> &mut Block {
        let counted = CountedBytes::needed(range.end - range.start);
        self.insert(range, counted)
    }

    fn insert(&mut self, range: Range<u64>, counted: CountedBytes) -> &mut Block {
        self.count += 1;
        let (number, counted) = (self.count, Some(counted));
        self.blocks.push_back(Block { number, range, content: Content::Pending, waiting: 0, cancel: None, counted });
        let last = self.blocks.len() - 1;
        &mut self.blocks[last]
    }

    /// Returns the parts of a range that are in no block, with boundaries at multiples of `unit`, each at most as large as a block may be.
    fn missing(&mut self, wanted: &Range<u64>, unit: u64, size: u64) -> Vec<Range<u64>> {
        let is_current =
            |block: &Block| !matches!(&block.content, Content::Failed(_, at) if at.elapsed() > FAILURE_LIFETIME);
        self.blocks.retain(is_current);
        let mut missing = Vec::new();
        let mut at = wanted.start;
        while at < wanted.end.min(size) {
            if let Some(block) = self.at(at) {
                at = block.range.end;
                continue;
            }
            let before = self.blocks.iter().map(|block| block.range.end).filter(|end| *end <= at).max();
            let start = (at - at % unit).max(before.unwrap_or(0));
            let wanted_to = wanted.end.next_multiple_of(unit);
            // Boundaries match the blocks in which stores hold objects.
            let border = (start + 1).next_multiple_of(MAX_BLOCK_BYTES);
            let whole = if wanted_to - start > MAX_BLOCK_BYTES { border } else { wanted_to }.min(size);
            let next = self.blocks.iter().map(|block| block.range.start).filter(|next| *next > at).min();
            let end = next.map_or(whole, |next| next.min(whole));
            missing.push(start..end);
            at = end;
        }
        missing
    }

    /// Returns the range to fetch ahead of a read. Empty if it does not follow another read, or enough was already fetched.
    fn ahead_of(&mut self, read: &Range<u64>, size: u64) -> Range<u64> {
        let (mut stream, order) = self.streams.take(read);
        if order == Order::Late {
            stream.advance(read, order);
            self.streams.put(stream);
            return read.end..read.end;
        }
        let expects_order = read.start == 0 && !self.expects_jumps;
        if read.start >= stream.end {
            // The reader continues after its part.
            (stream.window, stream.end) = (0, u64::MAX);
        }
        let window = match stream.window {
            // A read at the beginning is expected to start a sequential read.
            0 if order == Order::First && !expects_order => 0,
            // As many bytes as the first request returned.
            0 => self.at(0).map_or(0, |first| first.range.end).max(BLOCK_UNIT),
            window => window
                .max(read.end.saturating_sub(stream.start).saturating_mul(WINDOW_GROWTH))
                .clamp(MIN_WINDOW_BYTES, max_window()),
        };
        if order == Order::First {
            stream.fetched = self.at(read.end.saturating_sub(1)).map_or(0, |block| block.range.end);
        }
        stream.advance(read, order);
        let end = read.end.next_multiple_of(BLOCK_UNIT);
        let mut ahead = end..end;
        // Bytes that another sequential reader fetches are not fetched twice.
        let others = self.streams.iter().filter(|other| other.window > 0 && other.start > read.end);
        let last = others.map(|other| other.start).min().unwrap_or(size).min(size).min(stream.end);
        let mut to = (read.end + window).min(last);
        let mut is_due = read.end + window / 2 >= stream.fetched;
        let has_many = window >= BLOCKS_WINDOW_BYTES;
        let whole = to - to % MAX_BLOCK_BYTES;
        if to < last && (has_many || whole > stream.fetched.max(end)) {
            to = whole;
        }
        // The next block is fetched as soon as there is memory for it.
        is_due |= has_many && has_room(MAX_BLOCK_BYTES);
        if is_due && stream.fetched < to {
            stream.window = window;
            ahead.end = to.max(end);
            stream.fetched = ahead.end.next_multiple_of(BLOCK_UNIT);
        }
        self.streams.put(stream);
        ahead
    }

    /// Removes bytes that were read, except a limited number for repeated reads nearby. Bytes fetched ahead are kept for their reader.
    fn evict(&mut self, read_to: u64) {
        if let Some(at) = self.blocks.iter().position(|block| block.range.contains(&read_to.saturating_sub(1))) {
            let block = self.blocks.remove(at);
            self.blocks.extend(block);
        }
        self.drop_read(MAX_READ_BYTES);
    }

    /// Removes bytes fetched ahead of readers that have not read for this time, and all bytes if no reader has.
    fn drop_idle_bytes(&mut self, idle: Duration) {
        self.streams.drop_idle(idle);
        let is_idle = self.used.is_none_or(|used| used.elapsed() >= idle);
        self.drop_read(if is_idle { 0 } else { MAX_READ_BYTES });
    }

    /// Removes bytes that were read, except for the last ones, at most `max_kept`.
    fn drop_read(&mut self, max_kept: u64) {
        let streams = &self.streams;
        let is_ahead = |block: &Block| {
            let is_of = |stream: &Stream| block.range.end > stream.first_unread() && block.range.start < stream.fetched;
            streams.iter().any(is_of)
        };
        let mut kept = 0;
        let mut drops = Vec::new();
        for (at, block) in self.blocks.iter().enumerate().rev() {
            if block.waiting > 0 || matches!(block.content, Content::Failed(..)) || is_ahead(block) {
                continue;
            }
            kept += block.range.end - block.range.start;
            if kept > max_kept {
                drops.push(at);
            }
        }
        drops.into_iter().for_each(|at| _ = self.blocks.remove(at));
    }
}
