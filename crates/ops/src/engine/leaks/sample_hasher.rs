//! Reads one shard sample by sample: selects the contents to compare, and hashes them.

use super::group::PartRef;
use super::record_buffer::RecordBuffer;
use super::LeakOptions;
use gristmill_core::{Cancel, Failure, HiddenSample, Outcome, PartRow, SampleRow};
use gristmill_data::source::tar::ScanSink;
use gristmill_media::kind::type_by_extension;
use gristmill_storage::read::ReadFile;
use std::collections::HashSet;

/// Bytes of a content that are read at a time.
const READ_BYTES: usize = 1 << 20;
/// Number of stored bytes of a hash. Among 10⁹ contents, the probability that two different ones have the same hash is 10⁻¹¹.
pub(super) const HASH: usize = 12;
/// Suffixes of parts that contain arrays, not text.
const ARRAYS: [&str; 9] = ["npy", "npz", "pt", "pth", "ten", "bin", "safetensors", "mp", "pkl"];
/// Suffixes of parts that contain the class of a sample.
const LABELS: [&str; 5] = ["cls", "cls2", "index", "inx", "id"];
/// Number of bits of the hash of the whole sample that are stored in each record.
const TAG_BITS: u32 = 28;

/// A part of the sample that is being read.
struct Part {
    name: String,
    offset: u64,
    size: u64,
    hash: [u8; 32],
}

/// Hashes the samples of one shard.
pub(super) struct SampleHasher<'a> {
    pub(super) options: &'a LeakOptions,
    /// Excluded keys of this shard.
    pub(super) excluded: Option<&'a HashSet<Box<str>>>,
    /// Numbers of the splits that contain the shard.
    pub(super) splits: &'a [u32],
    pub(super) shard: u64,
    /// The open shard; `None` if only names are compared.
    pub(super) file: Option<&'a ReadFile>,
    pub(super) cancel: &'a Cancel,
    pub(super) records: &'a mut RecordBuffer,
    /// Number of samples that were compared.
    pub(super) samples: u64,
    /// Number of contents that were compared.
    pub(super) compared: u64,
    /// The requested parts that were found, one bit for each of the first 64.
    pub(super) found_parts: u64,
    parts: Vec<Part>,
    buffer: Vec<u8>,
}

impl<'a> SampleHasher<'a> {
    pub(super) fn new(
        options: &'a LeakOptions,
        excluded: Option<&'a HashSet<Box<str>>>,
        splits: &'a [u32],
        shard: u64,
        file: Option<&'a ReadFile>,
        cancel: &'a Cancel,
        records: &'a mut RecordBuffer,
    ) -> Self {
        let buffer = if file.is_some() { vec![0; READ_BYTES] } else { Vec::new() };
        let (parts, samples, compared, met) = (Vec::new(), 0, 0, 0);
        Self {
            options,
            excluded,
            splits,
            shard,
            file,
            cancel,
            records,
            samples,
            compared,
            found_parts: met,
            parts,
            buffer,
        }
    }

    /// Records the name of a sample. Returns `false` if the sample is excluded.
    pub(super) fn name(&mut self, key: &str, index: u64) -> Outcome<bool> {
        if self.excluded.is_some_and(|keys| keys.contains(key)) {
            return Ok(false);
        }
        self.samples += 1;
        for &split in self.splits {
            self.records.push_name(key, [u64::from(split), self.shard, index])?;
        }
        Ok(true)
    }

    fn contents(&mut self, file: &ReadFile, index: u64) -> Outcome<()> {
        let mut parts = std::mem::take(&mut self.parts);
        for part in &mut parts {
            part.hash = self.hash(file, part.offset, part.size)?;
            let asked = self.options.parts.iter().position(|name| *name == part.name);
            self.found_parts |= asked.map_or(0, bit);
        }
        parts.sort_by(|a, b| a.hash.cmp(&b.hash).then_with(|| a.name.cmp(&b.name)));
        let whole = whole_hash(&parts);
        let tag = whole.iter().take(4).fold(0u64, |tag, byte| tag << 8 | u64::from(*byte)) >> (32 - TAG_BITS);
        let mut ordinal = 0;
        for part in parts.iter().filter(|part| counts(part, &parts, self.options)) {
            let name = self.records.part_number(&part.name);
            self.content(&part.hash, index, PartRef { name, ordinal }, tag)?;
            ordinal += 1;
        }
        let all: u64 = parts.iter().fold(0, |sum, part| sum.saturating_add(part.size));
        if ordinal == 0 && self.options.parts.is_empty() && all >= self.options.smallest_part.max(1) {
            self.content(&whole, index, PartRef { name: 0, ordinal: 0 }, tag)?;
        }
        parts.clear();
        self.parts = parts;
        Ok(())
    }

    fn content(&mut self, hash: &[u8; 32], sample: u64, which: PartRef, tag: u64) -> Outcome<()> {
        self.compared += 1;
        for &split in self.splits {
            let numbers = [u64::from(split), self.shard, sample, which.packed(), tag];
            self.records.push_content(&hash[..HASH], numbers)?;
        }
        Ok(())
    }

    fn hash(&mut self, file: &ReadFile, offset: u64, size: u64) -> Outcome<[u8; 32]> {
        let mut hasher = blake3::Hasher::new();
        let (mut at, mut left) = (offset, size);
        while left > 0 {
            self.cancel.check()?;
            let now = usize::try_from(left).unwrap_or(READ_BYTES).min(READ_BYTES);
            let buffer = &mut self.buffer[..now];
            file.read_exact_at(buffer, at).map_err(|error| Failure::io("reading a part", file.path(), &error))?;
            hasher.update(buffer);
            at += now as u64;
            left -= now as u64;
        }
        Ok(*hasher.finalize().as_bytes())
    }
}

impl ScanSink for SampleHasher<'_> {
    fn part(&mut self, row: PartRow<'_>) -> Outcome<()> {
        if self.file.is_some() {
            let (offset, size) = (row.content_byte_offset, row.content_byte_size);
            self.parts.push(Part { name: row.part_name.to_owned(), offset, size, hash: [0; 32] });
        }
        Ok(())
    }

    fn sample(&mut self, row: SampleRow<'_>) -> Outcome<()> {
        if self.name(row.key, row.sample_index)? {
            if let Some(file) = self.file {
                self.contents(file, row.sample_index)?;
            }
        }
        self.parts.clear();
        Ok(())
    }

    fn hidden_sample(&mut self, _row: HiddenSample) -> Outcome<()> {
        self.parts.clear();
        Ok(())
    }
}

/// Returns the bit of the requested part at this position.
pub(super) fn bit(place: usize) -> u64 {
    u32::try_from(place).ok().and_then(|place| 1_u64.checked_shl(place)).unwrap_or(0)
}

/// Hashes names and contents of all parts, independently of their order in the archive.
fn whole_hash(parts: &[Part]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.name.len() as u64).to_le_bytes());
        hasher.update(part.name.as_bytes());
        hasher.update(&part.hash);
    }
    *hasher.finalize().as_bytes()
}

/// Whether a part is compared individually: a requested part, or one that identifies its sample.
fn counts(part: &Part, all: &[Part], options: &LeakOptions) -> bool {
    let is_big = |part: &Part| part.size >= options.smallest_part.max(1);
    if !options.parts.is_empty() {
        return is_big(part) && options.parts.contains(&part.name);
    }
    let is_body = |part: &Part| is_big(part) && is_medium(&part.name);
    if all.iter().any(is_body) {
        is_body(part)
    } else {
        is_big(part) && !LABELS.contains(&last_suffix(&part.name).as_str())
    }
}

/// Whether a part name is that of a picture, sound, video or array.
fn is_medium(name: &str) -> bool {
    let suffix = last_suffix(name);
    ARRAYS.contains(&suffix.as_str()) || type_by_extension(&format!("x.{suffix}")).is_some()
}

fn last_suffix(name: &str) -> String {
    name.rsplit_once('.').map_or(name, |(_, suffix)| suffix).to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(name: &str, size: u64) -> Part {
        Part { name: name.into(), offset: 0, size, hash: [0; 32] }
    }

    fn counting(parts: &[(&str, u64)], options: &LeakOptions) -> Vec<String> {
        let all: Vec<Part> = parts.iter().map(|(name, size)| part(name, *size)).collect();
        all.iter().filter(|part| counts(part, &all, options)).map(|part| part.name.clone()).collect()
    }

    #[test]
    fn media_parts_identify_a_sample_and_text_parts_if_it_has_no_media() {
        let options = LeakOptions::default();
        assert_eq!(counting(&[("jpg", 900), ("txt", 900), ("cls", 1)], &options), ["jpg"]);
        assert_eq!(counting(&[("left.PNG", 900), ("latent.npy", 64)], &options), ["left.PNG", "latent.npy"]);
        assert_eq!(counting(&[("txt", 900), ("json", 80), ("cls", 80)], &options), ["txt", "json"]);
        assert_eq!(counting(&[("jpg", 63), ("txt", 900)], &options), ["txt"]);
        assert_eq!(counting(&[("jpg", 0), ("txt", 3)], &options), [""; 0]);
    }

    #[test]
    fn only_named_parts_identify_a_sample() {
        let options = LeakOptions { parts: vec!["txt".into()], smallest_part: 2, ..LeakOptions::default() };
        assert_eq!(counting(&[("jpg", 900), ("txt", 3)], &options), ["txt"]);
        assert_eq!(counting(&[("jpg", 900), ("txt", 1)], &options), [""; 0]);
    }

    #[test]
    fn packed_part_reference_is_unpacked_unchanged() {
        for (name, ordinal) in [(0, 0), (1, 5), (4097, 1_000_000)] {
            let which = PartRef { name, ordinal };
            assert_eq!(PartRef::unpacked(which.packed()), which);
        }
    }
}
