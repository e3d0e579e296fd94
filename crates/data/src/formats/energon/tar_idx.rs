//! `<shard>.tar.idx`: the offset of each sample, then the end of the last one (docs/formats/energon.md §4).

use gristmill_core::problem::Subject;
use gristmill_core::{Failure, Outcome};
use gristmill_storage::fs::WriteFile;
use gristmill_storage::read::{open_read, ReadFile};
use std::path::Path;

const ACTIVITY: &str = "reading the sample offsets";
/// Bytes of one offset.
pub const WORD_BYTES: usize = 8;
/// Size of the read and write buffers in bytes.
const WRITE_BYTES: usize = 64 << 10;

/// Returns the content of a file: the offset of every sample, then `end`.
pub fn encode(offsets: &[u64], end: u64) -> Vec<u8> {
    let mut bytes = Vec::with_capacity((offsets.len() + 1) * WORD_BYTES);
    for offset in offsets.iter().chain([&end]) {
        bytes.extend_from_slice(&offset.to_le_bytes());
    }
    bytes
}

/// Writes offsets one at a time, buffered.
pub struct TarIdxWriter<'a> {
    file: &'a mut dyn WriteFile,
    buffer: Vec<u8>,
    samples: u64,
}

impl<'a> TarIdxWriter<'a> {
    /// Begins at the current end of `file`.
    pub fn new(file: &'a mut dyn WriteFile) -> Self {
        Self { file, buffer: Vec::with_capacity(WRITE_BYTES), samples: 0 }
    }
    /// Adds the byte offset of the next sample.
    pub fn push(&mut self, byte_offset: u64) -> Outcome<()> {
        self.samples += 1;
        self.word(byte_offset)
    }
    fn word(&mut self, word: u64) -> Outcome<()> {
        self.buffer.extend_from_slice(&word.to_le_bytes());
        if self.buffer.len() >= WRITE_BYTES {
            self.file.write_all(&self.buffer)?;
            self.buffer.clear();
        }
        Ok(())
    }
    /// Adds the end of the last sample and passes everything to the file; returns the number of samples. Does not sync.
    pub fn finish(mut self, end: u64) -> Outcome<u64> {
        self.word(end)?;
        self.file.write_all(&self.buffer)?;
        Ok(self.samples)
    }
}

/// Reads all offsets, including the end. Refuses a length that is not a multiple of 8 and decreasing offsets.
pub fn read(path: &Path) -> Outcome<Vec<u64>> {
    let index = TarIdx::open(path)?;
    let mut words = Vec::with_capacity(index.samples as usize + 1);
    index.for_each_word(|word| {
        words.push(word);
        Ok(())
    })?;
    Ok(words)
}

/// An index file open for reading at arbitrary positions.
#[derive(Debug)]
pub struct TarIdx {
    file: ReadFile,
    samples: u64,
}

impl TarIdx {
    /// Opens a file and checks its length.
    pub fn open(path: &Path) -> Outcome<Self> {
        Self::of(open_read(path)?)
    }
    /// Checks the length of an open file.
    pub fn of(file: ReadFile) -> Outcome<Self> {
        let words = file.len() / WORD_BYTES as u64;
        if !file.len().is_multiple_of(WORD_BYTES as u64) || words == 0 {
            let why = format!(
                "its length of {} is not a positive multiple of {WORD_BYTES}",
                gristmill_core::text::count(file.len(), "byte")
            );
            return Err(Failure::data(ACTIVITY, why).on(Subject::path(file.path())));
        }
        Ok(Self { file, samples: words - 1 })
    }
    /// Returns the number of samples.
    pub fn samples(&self) -> u64 {
        self.samples
    }
    /// Returns the last number: the end of the archive.
    pub fn end(&self) -> Outcome<u64> {
        let at = self.samples * WORD_BYTES as u64;
        let mut word = [0; WORD_BYTES];
        self.file.read_exact_at(&mut word, at).map_err(|e| Failure::io(ACTIVITY, self.file.path(), &e))?;
        Ok(word_at(&word, 0))
    }
    fn broken(&self, at: u64, why: String) -> Failure {
        Failure::data(ACTIVITY, why).on(Subject::path(self.file.path()).at(at))
    }
    /// Returns the start and end of a sample as the loader uses them: sample 0 always begins at byte 0.
    pub fn span(&self, sample_index: u64) -> Outcome<(u64, u64)> {
        if sample_index >= self.samples {
            return Err(self.broken(
                self.file.len(),
                format!("it lists {}, not sample {sample_index}", gristmill_core::text::count(self.samples, "sample")),
            ));
        }
        let at = sample_index * WORD_BYTES as u64;
        let mut pair = [0; 2 * WORD_BYTES];
        self.file.read_exact_at(&mut pair, at).map_err(|e| Failure::io(ACTIVITY, self.file.path(), &e))?;
        let (first, end) = (word_at(&pair, 0), word_at(&pair, 1));
        if end < first {
            return Err(self.broken(at, format!("the offset {end} follows the larger {first}")));
        }
        Ok((if sample_index == 0 { 0 } else { first }, end))
    }
    /// Returns the start and end of up to `count` samples from `first` on, in one read. A pair whose end precedes its start is returned
    /// unchanged: the caller must check it.
    pub fn spans(&self, first: u64, count: usize) -> Outcome<Vec<(u64, u64)>> {
        let count = usize::try_from(self.samples.saturating_sub(first)).unwrap_or(usize::MAX).min(count);
        if count == 0 {
            return Ok(Vec::new());
        }
        let mut bytes = vec![0; (count + 1) * WORD_BYTES];
        let read = self.file.read_exact_at(&mut bytes, first * WORD_BYTES as u64);
        read.map_err(|e| Failure::io(ACTIVITY, self.file.path(), &e))?;
        Ok((0..count).map(|at| (word_at(&bytes, at), word_at(&bytes, at + 1))).collect())
    }
    /// Passes every word to `take` in order, including the end; refuses decreasing words.
    pub fn for_each_word(&self, mut take: impl FnMut(u64) -> Outcome<()>) -> Outcome<()> {
        let mut buffer = vec![0; WRITE_BYTES];
        let (mut at, mut last) = (0, 0);
        while at < self.file.len() {
            let length = (self.file.len() - at).min(WRITE_BYTES as u64) as usize;
            self.file
                .read_exact_at(&mut buffer[..length], at)
                .map_err(|e| Failure::io(ACTIVITY, self.file.path(), &e))?;
            for index in 0..length / WORD_BYTES {
                let word = word_at(&buffer, index);
                if word < last {
                    let place = at + (index * WORD_BYTES) as u64;
                    return Err(self.broken(place, format!("the offset {word} follows the larger {last}")));
                }
                last = word;
                take(word)?;
            }
            at += length as u64;
        }
        Ok(())
    }
}

fn word_at(bytes: &[u8], index: usize) -> u64 {
    let mut word = [0; WORD_BYTES];
    word.copy_from_slice(&bytes[index * WORD_BYTES..(index + 1) * WORD_BYTES]);
    u64::from_le_bytes(word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_storage::fs::{Fs, RealFs};
    use gristmill_storage::publish::write_file;

    #[test]
    fn offsets_survive_writing_and_reading() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.tar.idx");
        let offsets: Vec<u64> = (0..20_000).map(|i| i * 1536).collect();
        let fs = RealFs;
        let mut file = fs.create_file(&path).unwrap();
        let mut writer = TarIdxWriter::new(&mut *file);
        for offset in &offsets {
            writer.push(*offset).unwrap();
        }
        assert_eq!(writer.finish(30_720_000).unwrap(), 20_000);
        file.finish().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), encode(&offsets, 30_720_000));
        let words = read(&path).unwrap();
        assert_eq!((words.len(), words[20_000]), (20_001, 30_720_000));
        let index = TarIdx::open(&path).unwrap();
        assert_eq!(index.samples(), 20_000);
        assert_eq!(index.span(19_999).unwrap(), (19_999 * 1536, 30_720_000));
        assert_eq!(index.spans(19_998, 9).unwrap(), [(19_998 * 1536, 19_999 * 1536), (19_999 * 1536, 30_720_000)]);
        assert_eq!(index.spans(20_000, 9).unwrap(), []);
        assert!(index.span(20_000).is_err());
    }

    #[test]
    fn span_of_first_sample_begins_at_zero_if_the_index_says_otherwise() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.tar.idx");
        write_file(&RealFs, &path, &encode(&[512, 2048], 4096), 0o644).unwrap();
        assert_eq!(TarIdx::open(&path).unwrap().span(0).unwrap(), (0, 2048));
    }

    #[test]
    fn broken_files_are_refused_with_the_place() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.tar.idx");
        for bytes in [&b""[..], b"1234567", &[0; 12]] {
            write_file(&RealFs, &path, bytes, 0o644).unwrap();
            assert!(TarIdx::open(&path).unwrap_err().why.contains("not a positive multiple of 8"));
        }
        write_file(&RealFs, &path, &encode(&[0, 1024, 512], 2048), 0o644).unwrap();
        let failure = read(&path).unwrap_err();
        assert_eq!(failure.subject.byte_offset, Some(16));
        assert!(TarIdx::open(&path).unwrap().span(1).is_err());
    }

    #[test]
    fn golden_index_files_are_read() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/energon/odd_names/expected");
        assert_eq!(read(&root.join("Z10.tar.idx")).unwrap(), [0, 1024]);
    }
}
