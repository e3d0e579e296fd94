use super::*;
use proptest::prelude::*;
use std::sync::mpsc;

/// Answers from a byte string, on a thread, in another order.
struct StringSource {
    bytes: Arc<Vec<u8>>,
    ranges: Arc<Mutex<Vec<Range<u64>>>>,
    /// Boundaries of ranges are multiples of this.
    unit: u64,
    queue: mpsc::Sender<(Range<u64>, FetchDone)>,
}

impl StringSource {
    fn new(bytes: &Arc<Vec<u8>>, refused: Option<u64>) -> (Self, Arc<Mutex<Vec<Range<u64>>>>) {
        let (queue, requests) = mpsc::channel::<(Range<u64>, FetchDone)>();
        let content = Arc::clone(bytes);
        std::thread::spawn(move || {
            while let Ok(first) = requests.recv() {
                let mut batch = vec![first];
                batch.extend(requests.try_iter());
                for (range, done) in batch.into_iter().rev() {
                    done.finish(match refused == Some(range.start) {
                        true => Err(Failure::environment("reading", "it changed")),
                        false => Ok(content[range.start as usize..range.end as usize].to_vec()),
                    });
                }
            }
        });
        let ranges = Arc::new(Mutex::new(Vec::new()));
        (Self { bytes: Arc::clone(bytes), ranges: Arc::clone(&ranges), unit: BLOCK_UNIT, queue }, ranges)
    }
}

impl FetchRange for StringSource {
    fn begin(&self, range: Range<u64>, done: FetchDone) -> CancelFetch {
        assert!(range.start < range.end && range.start.is_multiple_of(self.unit), "{range:?}");
        assert!(range.end.is_multiple_of(self.unit) || range.end == self.bytes.len() as u64, "{range:?}");
        assert!(range.end - range.start <= MAX_BLOCK_BYTES, "{range:?}");
        self.ranges.lock().push(range.clone());
        self.queue.send((range, done)).unwrap();
        Box::new(|| ())
    }
}

fn content(size: usize) -> Arc<Vec<u8>> {
    Arc::new((0..size).map(|at| (at * 31 + at / 251) as u8).collect())
}

fn read(reader: &BlockReader, offset: u64, count: usize) -> Vec<u8> {
    let mut buffer = vec![0; count];
    reader.read_exact_at(&mut buffer, offset).unwrap();
    buffer
}

#[test]
fn several_direct_ranges_are_fetched_together() {
    let bytes = content(20 << 20);
    let (mut source, ranges) = StringSource::new(&bytes, Some(9 << 20));
    source.unit = 1;
    let reader = BlockReader::new(Box::new(source), bytes.len() as u64, Vec::new());
    let wanted =
        [5 << 20..(5 << 20) + 4096, 9 << 20..(9 << 20) + 10, 7..7, 100..600_000, 12 << 20..(12 << 20) + 800_000];
    let read = reader.read_ranges_directly(&wanted);
    for (number, (read, range)) in read.into_iter().zip(&wanted).enumerate() {
        match number {
            1 => assert!(read.is_err()),
            _ => assert_eq!(read.unwrap(), bytes[range.start as usize..range.end as usize]),
        }
    }
    let fetched = ranges.lock().clone();
    assert!(wanted.iter().filter(|range| !range.is_empty()).eq(&fetched), "{fetched:?}");
}

#[test]
fn sequential_reads_are_fetched_once_and_ahead() {
    let bytes = content((20 << 20) + 17);
    for step in [512, 5000, 1 << 20, 9 << 20] {
        let (source, ranges) = StringSource::new(&bytes, None);
        let reader = BlockReader::new(Box::new(source), bytes.len() as u64, bytes[..BLOCK_UNIT as usize].to_vec());
        let mut at = 0;
        while at < bytes.len() {
            let count = step.min(bytes.len() - at);
            assert_eq!(read(&reader, at as u64, count), bytes[at..at + count]);
            at += count;
        }
        let mut ranges = ranges.lock().clone();
        assert!(ranges.len() < 40, "{step}: {}", ranges.len());
        ranges.sort_by_key(|range| range.start);
        let mut end = BLOCK_UNIT;
        for range in ranges {
            assert_eq!(range.start, end, "{step}");
            end = range.end;
        }
        assert_eq!(end, bytes.len() as u64);
    }
}

#[test]
fn reordered_sequential_reads_are_fetched_once_and_ahead() {
    const READ: u64 = 128 << 10;
    let bytes = content((40 << 20) + 17);
    let count = (bytes.len() as u64).div_ceil(READ);
    // Pairs, then groups of eight reads are in reverse order, and the first read is not at the beginning of the object.
    for group in [2, 8] {
        let (source, ranges) = StringSource::new(&bytes, None);
        let reader = BlockReader::new(Box::new(source), bytes.len() as u64, Vec::new());
        let numbers: Vec<u64> = (1..count).collect();
        for number in numbers.chunks(group).flat_map(|group| group.iter().rev()) {
            let at = number * READ;
            let size = READ.min(bytes.len() as u64 - at);
            assert_eq!(read(&reader, at, size as usize), bytes[at as usize..(at + size) as usize]);
        }
        let mut ranges = ranges.lock().clone();
        assert!(ranges.len() < 60, "{group}: {}", ranges.len());
        ranges.sort_by_key(|range| range.start);
        assert!(ranges.windows(2).all(|two| two[0].end == two[1].start), "{group}: {ranges:?}");
        assert_eq!((ranges[0].start, ranges[ranges.len() - 1].end), (READ, bytes.len() as u64));
    }
}

#[test]
fn reading_a_part_fetches_little_more_than_the_part() {
    let bytes = content((40 << 20) + 17);
    let size = bytes.len() as u64;
    for part in [100..3_000_000, (9 << 20) + 1..(30 << 20) + 5, 39 << 20..u64::MAX, size - 1..size, size..u64::MAX] {
        let (source, ranges) = StringSource::new(&bytes, None);
        let first = first_of_part(&part);
        let known = bytes[first.start.min(size) as usize..first.end.min(size) as usize].to_vec();
        let reader = BlockReader::of_part(Box::new(source), size, &part, known);
        let (mut at, end) = (part.start, part.end.min(size));
        while at < end {
            let count = (128 << 10).min(end - at);
            assert_eq!(read(&reader, at, count as usize), bytes[at as usize..(at + count) as usize]);
            at += count;
        }
        let fetched: u64 = ranges.lock().iter().map(|range| range.end - range.start).sum();
        let all = fetched + first.end.min(size) - first.start.min(size);
        assert!(all <= end - part.start + 3 * BLOCK_UNIT, "{part:?}: {all}");
        assert!(ranges.lock().len() <= 3, "{part:?}: {:?}", ranges.lock());
        // The end of the last line, and the following bytes if the reader continues.
        for at in (end..size.min(end + (1 << 20))).step_by(4000) {
            let count = (4000).min(size - at);
            assert_eq!(read(&reader, at, count as usize), bytes[at as usize..(at + count) as usize]);
        }
    }
}

#[test]
fn large_ranges_are_divided_at_block_boundaries() {
    let (mut state, mib) = (BlockState::default(), |mib: u64| mib << 20);
    state.insert_needed(mib(16)..mib(17)).content = Content::Ready(Arc::default());
    let missing = state.missing(&(mib(5)..mib(30)), BLOCK_UNIT, mib(28));
    assert_eq!(missing, [mib(5)..mib(8), mib(8)..mib(16), mib(17)..mib(24), mib(24)..mib(28)]);
    let small = mib(30)..mib(37);
    assert_eq!(state.missing(&small, BLOCK_UNIT, mib(40)), [small]);
}

#[test]
fn random_reads_fetch_what_they_need() {
    let bytes = content(8 << 20);
    let (source, ranges) = StringSource::new(&bytes, None);
    let reader = BlockReader::new(Box::new(source), bytes.len() as u64, Vec::new());
    for at in [7 << 20, 5 << 20, 3 << 20, (5 << 20) + 4000] {
        assert_eq!(read(&reader, at, 100), bytes[at as usize..at as usize + 100]);
    }
    let ranges = ranges.lock().clone();
    let sizes: u64 = ranges.iter().map(|range| range.end - range.start).sum();
    assert!(ranges.len() <= 4 && sizes <= 4 * BLOCK_UNIT, "{ranges:?}");
}

#[test]
fn direct_range_read_is_fetched_exactly_once() {
    let bytes = content(8 << 20);
    let (source, ranges) = StringSource::new(&bytes, None);
    let first = bytes[..BLOCK_UNIT as usize].to_vec();
    let reader = BlockReader::new(Box::new(StringSource { unit: 1, ..source }), bytes.len() as u64, first);
    let alone = |offset: u64, count: usize| {
        let mut buffer = vec![0; count];
        reader.read_at_directly(&mut buffer, offset).unwrap();
        assert_eq!(buffer, bytes[offset as usize..offset as usize + count]);
    };
    alone(100, 4096);
    assert_eq!(ranges.lock().len(), 0, "the first block is known");
    alone(3_000_001, 4096);
    alone(3_000_101, 1000);
    // A fetched block is not fetched again; of a longer range, only the missing bytes are fetched.
    alone(3_004_000, 200);
    assert_eq!(*ranges.lock(), [3_000_001..3_004_097, 3_004_097..3_004_200]);
    assert_eq!(read(&reader, 2_990_000, 20_000), bytes[2_990_000..3_010_000]);
}

#[test]
fn fetch_failure_is_returned_to_every_waiting_reader() {
    let bytes = content(1 << 20);
    let (source, _) = StringSource::new(&bytes, Some(0));
    let reader = BlockReader::new(Box::new(source), bytes.len() as u64, Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let error = reader.read_exact_at(&mut [0; 10], 5).unwrap_err();
                assert_eq!(Failure::io("reading", "x", &error).why, "it changed");
            });
        }
    });
    let state = reader.blocks.lock();
    let is_failed = |block: &&Block| matches!(block.content, Content::Failed(..));
    let failed: Vec<&Block> = state.blocks.iter().filter(is_failed).collect();
    assert!(!failed.is_empty() && failed.iter().all(|block| block.counted.is_none()), "it has no bytes");
}

#[test]
fn reader_waiting_for_a_block_is_cancellable() {
    let bytes = content(1 << 20);
    let (queue, _requests) = mpsc::channel();
    let ranges = Arc::default();
    let source = StringSource { bytes: Arc::clone(&bytes), ranges, unit: BLOCK_UNIT, queue };
    let reader = BlockReader::new(Box::new(source), bytes.len() as u64, Vec::new());
    let cancel = Cancel::default();
    let waits = cancel.begin_wait_scope();
    cancel.cancel();
    let error = reader.read_exact_at(&mut [0; 10], 5).unwrap_err();
    assert!(Failure::io("reading", "x", &error).is_cancelled());
    assert_eq!(reader.blocks.lock().at(5).unwrap().waiting, 0);
    drop(waits);
    assert!(!Cancel::of_thread().is_cancelled());
}

#[test]
fn sequential_reading_keeps_limited_memory() {
    let bytes = content(4 << 20);
    let (source, _) = StringSource::new(&bytes, None);
    let reader = BlockReader::new(Box::new(source), bytes.len() as u64, Vec::new());
    for at in (0..bytes.len() as u64).step_by(1 << 18) {
        read(&reader, at, 1 << 18);
    }
    let kept: u64 = reader.blocks.lock().blocks.iter().map(|block| block.range.end - block.range.start).sum();
    assert!(kept <= MAX_READ_BYTES, "{kept}");
}

#[test]
fn drops_read_ahead_of_stopped_readers() {
    let bytes = content(16 << 20);
    let (source, _) = StringSource::new(&bytes, None);
    let reader = BlockReader::new(Box::new(source), bytes.len() as u64, Vec::new());
    for at in (0..4 << 20).step_by(1 << 18) {
        read(&reader, at, 1 << 18);
    }
    let kept = || reader.blocks.lock().blocks.iter().map(|block| block.range.end - block.range.start).sum::<u64>();
    assert!(kept() > 2 << 20, "{}", kept());
    room::make();
    assert!(kept() > 2 << 20, "it has just read");
    reader.blocks.lock().drop_idle_bytes(Duration::ZERO);
    assert_eq!(kept(), 0, "of objects that are idle, nothing is kept");
    assert_eq!(read(&reader, 4 << 20, 1 << 20), bytes[4 << 20..5 << 20]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn every_read_returns_the_bytes_of_the_object(
        size in 1usize..3_000_000,
        reads in prop::collection::vec((any::<u32>(), 0usize..300_000, any::<bool>()), 1..40),
        threads in 1usize..4,
        alone in any::<u64>(),
        part in prop::option::of((any::<u32>(), any::<u32>())),
    ) {
        let bytes = content(size);
        let (source, _) = StringSource::new(&bytes, None);
        let source = StringSource { unit: 1, ..source };
        let reader = match part {
            None => BlockReader::new(Box::new(source), size as u64, Vec::new()),
            Some((from, bytes)) => {
                let from = u64::from(from) % size as u64;
                BlockReader::of_part(Box::new(source), size as u64, &(from..from + u64::from(bytes)), Vec::new())
            }
        };
        std::thread::scope(|scope| {
            for thread in 0..threads {
                let (reader, bytes, reads) = (&reader, &bytes, &reads);
                scope.spawn(move || {
                    let mut at = 0;
                    for (number, (place, count, is_next)) in reads.iter().enumerate().skip(thread) {
                        at = if *is_next && at < size { at } else { *place as usize % size };
                        let count = (*count).min(size - at);
                        let mut buffer = vec![0; count];
                        match alone >> (number % 64) & 1 {
                            0 => reader.read_exact_at(&mut buffer, at as u64).unwrap(),
                            _ => reader.read_at_directly(&mut buffer, at as u64).unwrap(),
                        }
                        assert_eq!(buffer, bytes[at..at + count]);
                        at += count;
                    }
                });
            }
        });
    }
}
