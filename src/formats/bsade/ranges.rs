//! Ranges of bytes that are removable: cut to whole characters, and the file `remove_ranges` (bsade format page, §5 and §6).

use crate::model::{Cancel, Failure, Outcome, Subject};
use crate::storage::fs::{BufferedFile, Fs};
use crate::storage::read::ReadFile;
use std::path::Path;

/// Bytes of one range in the file.
pub const RANGE_BYTES: u64 = 16;
/// Bytes collected before they are written, and read at a time; a multiple of [`RANGE_BYTES`].
const BUFFER: usize = 64 << 10;

/// Bytes `[start, end)`, of a document's text or of a shard's `tokenized`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Range {
    /// The first byte.
    pub start: u64,
    /// The byte behind the last one.
    pub end: u64,
}

impl Range {
    /// `[start, end)`.
    pub fn new(start: u64, end: u64) -> Self {
        Self { start, end }
    }

    /// Its length in bytes.
    pub fn len(self) -> u64 {
        self.end.saturating_sub(self.start)
    }

    /// Whether nothing is in it; such a range is listed all the same.
    pub fn is_empty(self) -> bool {
        self.end <= self.start
    }
}

/// Cuts ranges of a text, which are in order and do not overlap, to whole characters, and appends them: the start moves on, the end moves
/// back. One of which less than nothing is left is dropped; one of which nothing is left stays.
pub fn shorten(text: &str, ranges: &[Range], out: &mut Vec<Range>) {
    let mut shortener = Shortener::new(ranges);
    shortener.push(text, out);
}

/// [`shorten`] of a text that comes in pieces of whole characters.
#[derive(Debug)]
pub struct Shortener<'a> {
    ranges: &'a [Range],
    /// The start of the first of them, moved on, once it came by.
    start: Option<u64>,
    at: u64,
}

impl<'a> Shortener<'a> {
    /// For ranges in order that do not overlap.
    pub fn new(ranges: &'a [Range]) -> Self {
        Self { ranges, start: None, at: 0 }
    }

    /// Takes the next piece; ranges that end in it are appended to `out`.
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
        Ok(Self(BufferedFile::new(fs.create_file(path)?, BUFFER)))
    }

    /// Adds a range, by positions in the shard's `tokenized`.
    pub fn push(&mut self, range: Range) -> Outcome<()> {
        self.0.write_all(&range.start.to_le_bytes())?;
        self.0.write_all(&range.end.to_le_bytes())
    }

    /// Closes the file without waiting for the disk, and returns its size in bytes.
    pub fn close(self) -> Outcome<u64> {
        self.0.close()
    }
}

/// Reads a `remove_ranges` file from its beginning: ranges that are out of order, empty or end before they begin are refused with their
/// place.
pub fn read_ranges(file: &ReadFile, cancel: &Cancel, mut take: impl FnMut(Range) -> Outcome<()>) -> Outcome<()> {
    let refused = |at: u64, why: String| Failure::data("reading the ranges", why).on(Subject::path(file.path()).at(at));
    if !file.len().is_multiple_of(RANGE_BYTES) {
        return Err(refused(file.len(), format!("its size of {} bytes is no multiple of 16", file.len())));
    }
    let mut buffer = vec![0; BUFFER];
    let (mut at, mut before) = (0, 0);
    while at < file.len() {
        cancel.check()?;
        let wanted = usize::try_from(file.len() - at).unwrap_or(BUFFER).min(BUFFER);
        let bytes = buffer.get_mut(..wanted).unwrap_or_default();
        file.read_exact_at(bytes, at).map_err(|error| Failure::io("reading the ranges", file.path(), &error))?;
        for pair in bytes.chunks_exact(RANGE_BYTES as usize) {
            let number = |from: usize| {
                let bytes = pair.get(from..from + 8).and_then(|bytes| bytes.try_into().ok());
                u64::from_le_bytes(bytes.unwrap_or_default())
            };
            let range = Range::new(number(0), number(8));
            if range.is_empty() || range.start < before {
                let why = format!("the range {} to {} is empty or comes too late", range.start, range.end);
                return Err(refused(at, why));
            }
            before = range.end;
            take(range)?;
            at += RANGE_BYTES;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::fs::RealFs;
    use crate::storage::read::open_read;
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
        // a é 漢 😀 b: 0, 1-2, 3-5, 6-9, 10
        let text = "aé漢😀b";
        assert_eq!(shortened(text, &[(0, 11)]), ranges(&[(0, 11)]));
        assert_eq!(shortened(text, &[(2, 5)]), ranges(&[(3, 3)]), "nothing is left, and it is listed");
        assert_eq!(shortened(text, &[(2, 7)]), ranges(&[(3, 6)]));
        assert_eq!(shortened(text, &[(7, 11)]), ranges(&[(10, 11)]));
        assert_eq!(shortened(text, &[(0, 2), (4, 10)]), ranges(&[(0, 1), (6, 10)]));
        // Only with minimum lengths of 1 and 2.
        assert_eq!(shortened(text, &[(4, 5), (7, 8), (10, 11)]), ranges(&[(10, 11)]));
        assert_eq!(shortened("é", &[(1, 2)]), ranges(&[(2, 2)]), "an end that is the end of the text stays");
    }

    proptest! {
        #[test]
        fn pieces_make_the_same(text in "[aé漢😀]{0,30}", cuts in proptest::collection::btree_set(0u64..120, 0..12), size in 1usize..9) {
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
    fn ranges_are_read_as_they_were_written_and_disorder_is_refused() {
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
            let mut out = Vec::new();
            let file = open_read(&path).unwrap();
            read_ranges(&file, &Cancel::default(), |range| {
                out.push(range);
                Ok(())
            })
            .map(|()| out)
        };
        assert_eq!(write(&some), 48);
        assert_eq!(read().unwrap(), some);
        write(&[]);
        assert_eq!(read().unwrap(), []);
        for wrong in [ranges(&[(5, 5)]), ranges(&[(5, 9), (8, 10)]), ranges(&[(9, 5)])] {
            write(&wrong);
            assert!(read().is_err(), "{wrong:?}");
        }
    }
}
