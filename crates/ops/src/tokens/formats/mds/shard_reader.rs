//! Reads a shard sequentially, in bounded memory (docs/formats/mds.md §2).

use super::hashes::Hasher;
use super::set::{ListedShard, ShardConfig};
use super::shard::WORD_BYTES;
use gristmill_core::Handles;
use std::collections::BTreeMap;
use std::io::{self, Read};

/// Maximum size of the configuration in a shard, in bytes. Token sets have about 200 bytes.
const MAX_CONFIG_BYTES: u64 = 1 << 20;
/// Maximum number of samples of a shard that is read.
const MAX_SAMPLES: u32 = 1 << 26;
/// Number of bytes that are read at a time.
const PIECE_BYTES: usize = 64 << 10;

/// Reads a shard and compares it with the index.
pub(super) struct ShardReader<'a> {
    pub(super) source: &'a mut dyn Read,
    pub(super) listed: &'a ListedShard,
}

/// The offset of the first sample of a shard, and the end offset of each sample.
pub(super) struct SampleOffsets {
    first: u32,
    ends: Vec<u32>,
}

/// The reason why the rest of a shard cannot be read.
pub(super) type Defect = String;

fn io_defect(error: &io::Error) -> Defect {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "it ends early".to_owned(),
        _ => error.to_string(),
    }
}

impl ShardReader<'_> {
    /// Reads the number of samples, the offsets and the configuration, and compares them with the index.
    pub(super) fn head(&mut self) -> Result<SampleOffsets, Defect> {
        let samples = self.word()?;
        if u64::from(samples) != self.listed.samples {
            return Err(format!("it has {samples} samples, and index.json has {} for it", self.listed.samples));
        }
        if samples > MAX_SAMPLES {
            return Err(format!("it has {samples} samples, and at most {MAX_SAMPLES} are read"));
        }
        let first = self.word()?;
        let mut last = first;
        let mut ends = Vec::new();
        for sample in 0..samples {
            let end = self.word()?;
            if end <= last || u64::from(end) > self.listed.raw.bytes {
                return Err(format!("sample {sample} is from byte {last} to {end} of {}", self.listed.raw.bytes));
            }
            ends.push(end);
            last = end;
        }
        if u64::from(last) != self.listed.raw.bytes {
            return Err(format!("its samples end at byte {last}, and it has {} bytes", self.listed.raw.bytes));
        }
        let config_bytes = u64::from(first).checked_sub((u64::from(samples) + 2) * WORD_BYTES);
        let Some(config_bytes) = config_bytes.filter(|bytes| *bytes <= MAX_CONFIG_BYTES) else {
            return Err(format!("its first sample cannot be at byte {first}"));
        };
        let mut json = vec![0; usize::try_from(config_bytes).unwrap_or_default()];
        self.source.read_exact(&mut json).map_err(|error| io_defect(&error))?;
        let config = ShardConfig::parse(&json).map_err(|why| format!("its configuration is damaged: {why}"))?;
        if config != self.listed.config {
            return Err("its configuration is not the one in index.json".to_owned());
        }
        Ok(SampleOffsets { first, ends })
    }

    /// Reads all samples. Passes the number of each sample and its ids, in pieces, to `take`; samples that are not tokens have no ids.
    /// Returns the number of the first sample that does not have `sample_size` tokens, and its token count.
    pub(super) fn samples(
        &mut self,
        head: &SampleOffsets,
        sample_size: Option<u64>,
        take: &mut dyn FnMut(u64, &[u8]),
    ) -> Result<Option<(u64, u64)>, Defect> {
        let mut start = head.first;
        let mut other_sizes: Option<(u64, u64)> = None;
        for (sample, end) in (0_u64..).zip(&head.ends) {
            let bytes = u64::from(end - start);
            start = *end;
            let on = |why: Defect| format!("sample {sample} {why}");
            if !self.listed.config.is_tokens() {
                self.columns(bytes).map_err(on)?;
                continue;
            }
            let tokens = self.sample_head(bytes).map_err(on)?;
            if sample_size.is_some_and(|size| size != tokens) {
                let (first, count) = other_sizes.unwrap_or((sample, 0));
                other_sizes = Some((first, count + 1));
            }
            self.pieces(tokens * WORD_BYTES, &mut |piece| take(sample, piece))?;
        }
        Ok(other_sizes)
    }

    /// Returns the number of tokens of the first sample; `None` if the shard has no samples.
    pub(super) fn first_size(&mut self, head: &SampleOffsets) -> Result<Option<u64>, Defect> {
        match head.ends.first() {
            Some(end) => {
                self.sample_head(u64::from(end - head.first)).map(Some).map_err(|why| format!("sample 0 {why}"))
            }
            None => Ok(None),
        }
    }

    /// Reads the bytes before the tokens of a sample with this size. Returns the number of tokens.
    fn sample_head(&mut self, bytes: u64) -> Result<u64, Defect> {
        let length = u64::from(self.word()?);
        if length + WORD_BYTES != bytes {
            return Err(format!("has {bytes} bytes, and its column {length}"));
        }
        let [code] = self.array()?;
        if code >> 2 != 1 {
            return Err(format!("has {} dimensions, and tokens have one", code >> 2));
        }
        let width = 1_u64 << (code & 3);
        let mut shape = [0; 8];
        let target = shape.get_mut(..usize::try_from(width).unwrap_or_default()).unwrap_or_default();
        self.source.read_exact(target).map_err(|error| io_defect(&error))?;
        let tokens = u64::from_le_bytes(shape);
        if tokens.checked_mul(WORD_BYTES).and_then(|bytes| bytes.checked_add(1 + width)) != Some(length) {
            return Err(format!("has a column of {length} bytes, and a shape of {tokens} tokens"));
        }
        Ok(tokens)
    }

    /// Reads the values of a sample with this size. The values must fill the sample.
    fn columns(&mut self, bytes: u64) -> Result<(), Defect> {
        let mut total = 0;
        for column in &self.listed.config.columns {
            total += match column.size {
                Some(size) => u64::from(size),
                None => u64::from(u32::from_le_bytes(self.array()?)) + WORD_BYTES,
            };
        }
        let lengths = self.listed.config.columns.iter().filter(|column| column.size.is_none()).count() as u64;
        match total == bytes {
            true => self.pieces(bytes - lengths * WORD_BYTES, &mut |_| ()),
            false => Err(format!("has {bytes} bytes, and its columns {total}")),
        }
    }

    fn pieces(&mut self, bytes: u64, take: &mut dyn FnMut(&[u8])) -> Result<(), Defect> {
        let mut buffer = [0; PIECE_BYTES];
        let mut left = bytes;
        while left > 0 {
            let count = usize::try_from(left).unwrap_or(PIECE_BYTES).min(PIECE_BYTES);
            let piece = buffer.get_mut(..count).unwrap_or_default();
            self.source.read_exact(piece).map_err(|error| io_defect(&error))?;
            take(piece);
            left -= count as u64;
        }
        Ok(())
    }

    fn word(&mut self) -> Result<u32, Defect> {
        self.array().map(u32::from_le_bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Defect> {
        let mut bytes = [0; N];
        self.source.read_exact(&mut bytes).map_err(|error| io_defect(&error))?;
        Ok(bytes)
    }
}

/// Hashes the bytes that are read. Reading fails when the check is cancelled.
pub(super) struct HashingReader<'a, R> {
    inner: R,
    /// Each with the name of its algorithm.
    hashers: Vec<(String, Box<dyn Hasher>)>,
    handles: &'a Handles<'a>,
    /// Whether the bytes count towards the progress.
    pub(super) counts_progress: bool,
}

impl<'a, R: Read> HashingReader<'a, R> {
    pub(super) fn new(inner: R, hashers: Vec<(String, Box<dyn Hasher>)>, handles: &'a Handles<'a>) -> Self {
        Self { inner, hashers, handles, counts_progress: false }
    }

    /// Returns the hashes of all bytes read, by name.
    pub(super) fn hexes(self) -> BTreeMap<String, String> {
        self.hashers.into_iter().map(|(name, hasher)| (name, hasher.hex())).collect()
    }
}

impl<R: Read> Read for HashingReader<'_, R> {
    fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
        if self.handles.cancel.is_cancelled() {
            return Err(io::Error::other("cancelled"));
        }
        let count = self.inner.read(target)?;
        let read = target.get(..count).unwrap_or_default();
        self.hashers.iter_mut().for_each(|(_, hasher)| hasher.update(read));
        if self.counts_progress {
            self.handles.progress.add(0, count as u64);
        }
        Ok(count)
    }
}
