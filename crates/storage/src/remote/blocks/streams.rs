//! Recognises sequential readers by the offsets of their reads, which may arrive slightly out of order.

use super::BLOCK_UNIT;
use std::collections::VecDeque;
use std::ops::Range;
use std::time::{Duration, Instant};

/// Maximum number of sequential readers that are distinguished in one object.
const MAX_STREAMS: usize = 8;
/// Maximum number of bytes by which a read may be early or late, and the limit as a multiple of its size if nothing is fetched ahead yet.
const MAX_SKIPPED_BYTES: u64 = 4 << 20;
const MAX_SKIPPED_READS: u64 = 8;

/// A sequential reader.
#[derive(Debug)]
pub(super) struct Stream {
    /// Offset of the first read.
    pub(super) start: u64,
    /// Offset of the next expected read.
    pub(super) next: u64,
    /// End of the bytes fetched for it.
    pub(super) fetched: u64,
    /// Number of bytes to fetch ahead.
    pub(super) window: u64,
    /// Offset after which nothing is fetched ahead.
    pub(super) end: u64,
    /// The gap that an early read left, while a late read may still fill it.
    skipped: Range<u64>,
    /// Time of its last read.
    read: Instant,
}

/// How a read relates to a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// The first read of the stream.
    First,
    /// A continuing read, possibly before reads that fill the gap.
    Next,
    /// A read that fills the gap left by an earlier read.
    Late,
}

/// The sequential readers of an object.
#[derive(Debug, Default)]
pub(super) struct Streams(
    /// The most recently used stream is the last one.
    VecDeque<Stream>,
);

impl Stream {
    /// Returns a stream that starts at an offset; bytes before `fetched` are already fetched.
    pub(super) fn new(start: u64, fetched: u64, window: u64, end: u64) -> Self {
        Self { start, next: start, fetched, window, end, skipped: 0..0, read: Instant::now() }
    }

    /// Returns the offset of the first fetched byte that will still be read.
    pub(super) fn first_unread(&self) -> u64 {
        if self.skipped.is_empty() {
            self.next
        } else {
            self.skipped.start
        }
    }

    /// Whether a read begins where the last one ended. A reader may skip a few bytes, such as the padding of a tar file.
    fn is_continued_by(&self, read: &Range<u64>) -> bool {
        (self.next..=self.next + BLOCK_UNIT).contains(&read.start)
    }

    /// Returns the order of a read that is slightly out of order; `None` if it belongs to another stream.
    fn order_of(&self, read: &Range<u64>) -> Option<Order> {
        let slack = (MAX_SKIPPED_READS * (read.end - read.start)).max(self.window).clamp(BLOCK_UNIT, MAX_SKIPPED_BYTES);
        let is_before_the_first = self.window == 0 && read.end <= self.start && read.end + slack >= self.start;
        match () {
            () if self.skipped.contains(&read.start) || is_before_the_first => Some(Order::Late),
            () if (self.next..=self.next + slack).contains(&read.start) => Some(Order::Next),
            () => None,
        }
    }

    /// Records a read of this stream.
    pub(super) fn advance(&mut self, read: &Range<u64>, order: Order) {
        self.read = Instant::now();
        match order {
            Order::Late if read.start < self.start => {
                let end = if self.skipped.is_empty() { self.start } else { self.skipped.end };
                (self.skipped, self.start) = (read.end..end, read.start);
            }
            Order::Late if read.start == self.skipped.start => self.skipped.start = read.end,
            Order::Late if read.end == self.skipped.end => self.skipped.end = read.start,
            Order::Late => {}
            Order::First | Order::Next => {
                if read.start > self.next + BLOCK_UNIT {
                    let start = if self.skipped.is_empty() { self.next } else { self.skipped.start };
                    self.skipped = start..read.start;
                }
                self.next = read.end;
            }
        }
        self.skipped.start = self.skipped.start.max(self.next.saturating_sub(MAX_SKIPPED_BYTES));
    }
}

impl Streams {
    /// Removes and returns the stream of a read; returns a new one if there is none.
    pub(super) fn take(&mut self, read: &Range<u64>) -> (Stream, Order) {
        let continued = self.0.iter().rposition(|stream| stream.is_continued_by(read)).map(|at| (at, Order::Next));
        let near = || {
            let orders = self.0.iter().map(|stream| stream.order_of(read)).enumerate();
            orders.rev().find_map(|(at, order)| order.map(|order| (at, order)))
        };
        let known = continued.or_else(near).and_then(|(at, order)| Some((self.0.remove(at)?, order)));
        known.unwrap_or_else(|| (Stream::new(read.start, 0, 0, u64::MAX), Order::First))
    }

    /// Adds a stream as the most recently used one.
    pub(super) fn put(&mut self, stream: Stream) {
        if self.0.len() == MAX_STREAMS {
            self.0.pop_front();
        }
        self.0.push_back(stream);
    }

    /// Removes streams that have not read for this time.
    pub(super) fn drop_idle(&mut self, idle: Duration) {
        self.0.retain(|stream| stream.read.elapsed() < idle);
    }

    /// Returns the most recently used stream.
    pub(super) fn last_mut(&mut self) -> Option<&mut Stream> {
        self.0.back_mut()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Stream> {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: u64 = 1 << 10;

    /// Returns the orders of reads of 128 KiB with these numbers, and the streams.
    fn orders(numbers: &[u64]) -> (Vec<Order>, Streams) {
        let mut streams = Streams::default();
        let orders = numbers.iter().map(|number| {
            let read = number * 128 * KIB..(number + 1) * 128 * KIB;
            let (mut stream, order) = streams.take(&read);
            stream.advance(&read, order);
            streams.put(stream);
            order
        });
        (orders.collect(), streams)
    }

    #[test]
    fn slightly_reordered_reads_belong_to_one_stream() {
        use Order::{First, Late, Next};
        let (found, streams) = orders(&[1, 0, 2, 4, 3, 5, 8, 7, 6, 9]);
        assert_eq!(found, [First, Late, Next, Next, Late, Next, Next, Late, Late, Next]);
        assert_eq!(streams.0.len(), 1);
        assert_eq!((streams.0[0].start, streams.0[0].next), (0, 10 * 128 * KIB));
        let groups: Vec<u64> = (1..=64).collect();
        let groups: Vec<u64> = groups.chunks(8).flat_map(|group| group.iter().rev().copied()).collect();
        let (found, streams) = orders(&groups);
        assert_eq!(streams.0.len(), 1, "{found:?}");
        assert_eq!(found.iter().filter(|order| **order == Next).count(), 7);
    }

    #[test]
    fn skipped_bytes_count_as_unread_until_read_or_far_behind() {
        let unread =
            |numbers: &[u64]| orders(numbers).1.iter().next().map(|stream| stream.first_unread() / (128 * KIB));
        assert_eq!(unread(&[0, 2]), Some(1));
        assert_eq!(unread(&[0, 2, 1]), Some(3));
        let numbers: Vec<u64> = [0].into_iter().chain(2..40).collect();
        assert_eq!(unread(&numbers), Some(40));
    }

    #[test]
    fn distant_and_repeated_reads_belong_to_separate_streams() {
        let (found, streams) = orders(&[0, 100, 50, 0]);
        assert_eq!(found, [Order::First; 4]);
        assert_eq!(streams.0.len(), 4);
        assert!(orders(&(0..100).map(|number| number * 10).collect::<Vec<_>>()).1 .0.len() == MAX_STREAMS);
    }
}
