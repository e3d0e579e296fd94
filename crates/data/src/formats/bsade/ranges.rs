//! Removable ranges of bytes: cut to whole characters, and the file `remove_ranges` (docs/formats/bsade.md §5 and §6).

use super::DocumentLocation;
use gristmill_core::{Cancel, Failure, Outcome, Subject};
use gristmill_storage::fs::{BufferedFile, Fs};
use gristmill_storage::read::ReadFile;
use std::path::Path;

/// Bytes of one range in the file.
pub const RANGE_BYTES: u64 = 16;
/// Size of the read and write buffers in bytes; a multiple of [`RANGE_BYTES`].
const READ_BYTES: usize = 64 << 10;

/// A half-open range `[start, end)` of bytes in the text of a document or in the `tokenized` file of a shard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Range {
    /// First byte.
    pub start: u64,
    /// End, exclusive.
    pub end: u64,
}

impl Range {
    /// Creates the range `[start, end)`.
    pub fn new(start: u64, end: u64) -> Self {
        Self { start, end }
    }

    /// Returns the length in bytes.
    pub fn len(self) -> u64 {
        self.end.saturating_sub(self.start)
    }

    /// Whether the range is empty; such a range is still listed.
    pub fn is_empty(self) -> bool {
        self.end <= self.start
    }
}

/// Cuts ranges of a text to whole characters and appends them to `out`: the start moves forward and the end moves back. The ranges must be
/// in order and must not overlap. A range whose end falls before its start is dropped; an empty one stays.
pub fn shorten(text: &str, ranges: &[Range], out: &mut Vec<Range>) {
    let mut shortener = Shortener::new(ranges);
    shortener.push(text, out);
}

/// [`shorten`] for a text that is supplied in pieces of whole characters.
#[derive(Debug)]
pub struct Shortener<'a> {
    ranges: &'a [Range],
    /// Start of the first pending range, moved to a character boundary; `None` until its position is reached.
    start: Option<u64>,
    /// Offset of the next piece in the text.
    at: u64,
}

impl<'a> Shortener<'a> {
    /// Creates a shortener for ranges that are in order and do not overlap.
    pub fn new(ranges: &'a [Range]) -> Self {
        Self { ranges, start: None, at: 0 }
    }

    /// Processes the next piece, and appends the ranges that end in it to `out`.
    pub fn push(&mut self, piece: &str, out: &mut Vec<Range>) {
        let end = self.at + piece.len() as u64;
        let is_inside = |at: u64| piece.as_bytes().get((at - self.at) as usize).is_some_and(|byte| byte & 0xc0 == 0x80);
        while let Some((range, rest)) = self.ranges.split_first() {
            let start = match self.start {
                Some(start) => start,
                None if range.start >= end => break,
                None => {
                    let mut start = range.start.max(self.at);
                    while is_inside(start) {
                        start += 1;
                    }
                    *self.start.insert(start)
                }
            };
            if range.end > end {
                break;
            }
            let mut stop = range.end.max(self.at);
            while is_inside(stop) {
                stop -= 1;
            }
            if start <= stop {
                out.push(Range::new(start, stop));
            }
            (self.start, self.ranges) = (None, rest);
        }
        self.at = end;
    }
}

/// Writes a `remove_ranges` file.
pub struct RangesWriter(BufferedFile);

impl RangesWriter {
    /// Creates the file, which must not exist.
    pub fn create(fs: &dyn Fs, path: &Path) -> Outcome<Self> {
        Ok(Self(BufferedFile::new(fs.create_file(path)?, READ_BYTES)))
    }

    /// Adds a range of offsets in the shard's `tokenized`.
    pub fn push(&mut self, range: Range) -> Outcome<()> {
        self.0.write_all(&range.start.to_le_bytes())?;
        self.0.write_all(&range.end.to_le_bytes())
    }

    /// Closes the file without waiting for the disk, and returns its size in bytes.
    pub fn close(self) -> Outcome<u64> {
        self.0.close()
    }
}

/// Reads a `remove_ranges` file from its beginning.
#[derive(Debug)]
pub struct RangesReader {
    file: ReadFile,
    /// Offset in the file, in bytes, of the next range to read.
    at: u64,
    buffer: Vec<u8>,
    /// Number of bytes of the buffer that were returned already.
    used: usize,
    /// End of the last range.
    last_end: u64,
    /// Range that was read but not yet returned.
    peeked: Option<Range>,
}

impl RangesReader {
    /// Opens a file whose size is a multiple of [`RANGE_BYTES`]; any other size is refused.
    pub fn new(file: ReadFile) -> Outcome<Self> {
        if !file.len().is_multiple_of(RANGE_BYTES) {
            let why =
                format!("its size of {} is not a multiple of 16", gristmill_core::text::count(file.len(), "byte"));
            return Err(Failure::data("reading the ranges", why).on(Subject::path(file.path())));
        }
        Ok(Self { file, at: 0, buffer: Vec::new(), used: 0, last_end: 0, peeked: None })
    }

    /// Returns the number of ranges in the file.
    pub fn count(&self) -> u64 {
        self.file.len() / RANGE_BYTES
    }

    /// Returns the next range; `None` after the last one. An empty range, or a range that begins before the previous one ends, is an error
    /// that states its position.
    pub fn next(&mut self, cancel: &Cancel) -> Outcome<Option<Range>> {
        if let Some(range) = self.peeked.take() {
            return Ok(Some(range));
        }
        if self.used >= self.buffer.len() {
            cancel.check()?;
            let wanted = usize::try_from(self.file.len() - self.at).unwrap_or(READ_BYTES).min(READ_BYTES);
            self.buffer.resize(wanted, 0);
            self.used = 0;
            let read = self.file.read_exact_at(&mut self.buffer, self.at);
            read.map_err(|error| Failure::io("reading the ranges", self.file.path(), &error))?;
        }
        let number = |from: usize| {
            let bytes = self.buffer.get(from..from + 8).and_then(|bytes| bytes.try_into().ok());
            bytes.map(u64::from_le_bytes)
        };
        let (Some(start), Some(end)) = (number(self.used), number(self.used + 8)) else { return Ok(None) };
        if end <= start || start < self.last_end {
            let why = format!("the range {start} to {end} is empty or out of order");
            let failure = Failure::data("reading the ranges", why);
            return Err(failure.on(Subject::path(self.file.path()).at(self.at)));
        }
        self.used += RANGE_BYTES as usize;
        self.at += RANGE_BYTES;
        self.last_end = end;
        Ok(Some(Range { start, end }))
    }

    /// Replaces the content of `out` with the ranges of the next document, relative to its text. A range that is not inside the text of one
    /// document is refused. Documents must be passed in order.
    pub fn of_document(&mut self, place: &DocumentLocation, cancel: &Cancel, out: &mut Vec<Range>) -> Outcome<()> {
        out.clear();
        let text = place.start + 1;
        while let Some(range) = self.next(cancel)? {
            if range.start >= place.end {
                self.peeked = Some(range);
                return Ok(());
            }
            if range.start < text || range.end > place.end {
                let why = format!("the range {} to {} is not inside of one document", range.start, range.end);
                let failure = Failure::data("reading the ranges", why);
                return Err(failure.on(Subject::path(self.file.path()).at(self.at - RANGE_BYTES)));
            }
            out.push(Range::new(range.start - text, range.end - text));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_storage::fs::RealFs;
    use gristmill_storage::read::open_read;
    use proptest::prelude::*;

    fn ranges(pairs: &[(u64, u64)]) -> Vec<Range> {
        pairs.iter().map(|(start, end)| Range::new(*start, *end)).collect()
    }

    fn shortened(text: &str, pairs: &[(u64, u64)]) -> Vec<Range> {
        let mut out = Vec::new();
        shorten(text, &ranges(pairs), &mut out);
        out
    }

    #[test]
    fn ranges_are_cut_to_whole_characters() {
        // Byte offsets: a 0, é 1-2, 漢 3-5, 😀 6-9, b 10.
        let text = "aé漢😀b";
        assert_eq!(shortened(text, &[(0, 11)]), ranges(&[(0, 11)]));
        assert_eq!(shortened(text, &[(2, 5)]), ranges(&[(3, 3)]), "nothing is left, and it is listed");
        assert_eq!(shortened(text, &[(2, 7)]), ranges(&[(3, 6)]));
        assert_eq!(shortened(text, &[(7, 11)]), ranges(&[(10, 11)]));
        assert_eq!(shortened(text, &[(0, 2), (4, 10)]), ranges(&[(0, 1), (6, 10)]));
        // Possible only with minimum lengths of 1 and 2.
        assert_eq!(shortened(text, &[(4, 5), (7, 8), (10, 11)]), ranges(&[(10, 11)]));
        assert_eq!(shortened("é", &[(1, 2)]), ranges(&[(2, 2)]), "an end that is the end of the text stays");
    }

    proptest! {
        #[test]
        fn shortener_gives_same_ranges_for_text_in_pieces(text in "[aé漢😀]{0,30}", cuts in proptest::collection::btree_set(0u64..120, 0..12), size in 1usize..9) {
            let cuts: Vec<u64> = cuts.into_iter().filter(|cut| *cut <= text.len() as u64).collect();
            let pairs: Vec<(u64, u64)> = cuts.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
            let all = ranges(&pairs);
            let mut out = Vec::new();
            let mut shortener = Shortener::new(&all);
            let characters: Vec<char> = text.chars().collect();
            for piece in characters.chunks(size) {
                shortener.push(&piece.iter().collect::<String>(), &mut out);
            }
            let slow: Vec<Range> = pairs.iter().filter_map(|(start, end)| {
                let start = (*start as usize..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap() as u64;
                let end = (0..=*end as usize).rev().find(|at| text.is_char_boundary(*at)).unwrap() as u64;
                (start <= end).then_some(Range::new(start, end))
            }).collect();
            prop_assert_eq!(&out, &slow);
            prop_assert_eq!(shortened(&text, &pairs), slow);
        }
    }

    #[test]
    fn ranges_file_is_read_back_and_unsorted_ranges_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("remove_ranges");
        let some = ranges(&[(1, 5), (5, 6), (10, u64::MAX)]);
        let write = |ranges: &[Range]| {
            let _ = std::fs::remove_file(&path);
            let mut writer = RangesWriter::create(&RealFs, &path).unwrap();
            ranges.iter().for_each(|range| writer.push(*range).unwrap());
            writer.close().unwrap()
        };
        let read = || {
            let mut reader = RangesReader::new(open_read(&path).unwrap())?;
            let mut out = Vec::new();
            while let Some(range) = reader.next(&Cancel::default())? {
                out.push(range);
            }
            Ok::<_, Failure>(out)
        };
        assert_eq!(write(&some), 48);
        assert_eq!(read().unwrap(), some);
        write(&[]);
        assert_eq!(read().unwrap(), []);
        for wrong in [ranges(&[(5, 5)]), ranges(&[(5, 9), (8, 10)]), ranges(&[(9, 5)])] {
            write(&wrong);
            assert!(read().is_err(), "{wrong:?}");
        }
        let place = |start, end| DocumentLocation { number: 0, start, end, meta_start: 0, meta_end: 1 };
        write(&some);
        let mut reader = RangesReader::new(open_read(&path).unwrap()).unwrap();
        let mut out = Vec::new();
        let mut of =
            |place: DocumentLocation| reader.of_document(&place, &Cancel::default(), &mut out).map(|()| out.clone());
        assert_eq!(of(place(0, 6)).unwrap(), ranges(&[(0, 4), (4, 5)]));
        assert_eq!(of(place(6, 8)).unwrap(), []);
        assert!(of(place(8, 50)).is_err(), "it ends after the document");
    }
}
