//! The layout of a shard: its configuration, the division into shards, the shard header, and the sample header (docs/formats/mds.md §2 and
//! §3).

use super::compression::Compression;
use gristmill_core::{Failure, Outcome, Subject};

/// Maximum size of a shard, in bytes: its offsets are `u32`.
pub(super) const MAX_SHARD_BYTES: u64 = u32::MAX as u64;
/// Default size limit of a shard, in bytes.
pub(super) const DEFAULT_SIZE_LIMIT: u64 = 1 << 26;
/// Version of the format.
pub(super) const VERSION: u64 = 2;

/// Encoding of the only column of a token set.
pub(super) const TOKENS_ENCODING: &str = "ndarray:int32";
/// Size of a token, of an offset and of the length of a value, in bytes.
pub(super) const WORD_BYTES: u64 = 4;
/// Size of the write buffer, in bytes.
const BUFFER_BYTES: usize = 64 << 10;

/// The configuration, which is identical in all shards of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Config {
    size_limit: u64,
    /// Names of the hashes, in ascending order.
    hashes: Vec<String>,
    /// The compression as given by the user, such as `zstd:7`.
    compression: Option<String>,
}

impl Config {
    /// Creates the configuration of a token set. Shards have at most `size_limit` bytes.
    pub(super) fn new(size_limit: u64, mut hashes: Vec<String>, compression: Option<String>) -> Self {
        hashes.sort();
        Self { size_limit, hashes, compression }
    }

    pub(super) fn hashes(&self) -> &[String] {
        &self.hashes
    }

    /// Returns the compression; `None` if there is none.
    pub(super) fn compression(&self) -> Option<Compression> {
        Compression::parse(self.compression.as_deref()?).ok()
    }

    /// Returns the JSON text that each shard contains.
    pub(super) fn to_json(&self) -> String {
        self.to_json_with("", "")
    }

    /// Returns the JSON text with additional keys after `hashes` and at the end. Both arguments include their separators.
    pub(super) fn to_json_with(&self, after_hashes: &str, end: &str) -> String {
        let compression = self.compression.as_deref().map_or("null".to_owned(), json_text);
        let hashes = json_list(self.hashes.iter().map(|name| json_text(name)));
        let limit = self.size_limit;
        format!(
            "{{\"column_encodings\": [\"{TOKENS_ENCODING}\"], \"column_names\": [\"tokens\"], \"column_sizes\": [null], \
             \"compression\": {compression}, \"format\": \"mds\", \"hashes\": {hashes}{after_hashes}, \
             \"size_limit\": {limit}, \"version\": {VERSION}{end}}}"
        )
    }
}

/// Returns a string as a JSON literal. Names of files and hashes are ASCII.
pub(super) fn json_text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Returns a JSON list of values that are JSON text already.
pub(super) fn json_list(values: impl Iterator<Item = String>) -> String {
    format!("[{}]", values.collect::<Vec<String>>().join(", "))
}

/// Returns the name of a shard without compression.
pub(super) fn basename(number: u64) -> String {
    format!("shard.{number:05}.mds")
}

/// Returns the size of a shard with this many samples of equal size, in bytes. `config_bytes` is the size of the configuration.
fn shard_size(config_bytes: u64, samples: u64, sample_bytes: u64) -> u64 {
    let samples = samples.saturating_mul(sample_bytes.saturating_add(WORD_BYTES));
    (2 * WORD_BYTES).saturating_add(config_bytes).saturating_add(samples)
}

fn too_large(bytes: u64) -> Failure {
    let why = format!("a shard would have {}, and less than 4 GiB are possible", gristmill_core::text::bytes(bytes));
    Failure::usage("packing for mds", why)
        .on(Subject::field("--size-limit"))
        .with_hint("give a smaller --size-limit or --sample-size")
}

/// Returns the code for the integer width of a shape, and the width in bytes.
fn shape_width(tokens: u64) -> (u8, usize) {
    match tokens {
        0..=0xff => (0, 1),
        0x100..=0xffff => (1, 2),
        0x1_0000..=0xffff_ffff => (2, 4),
        _ => (3, 8),
    }
}

/// Returns the size of the column of a sample in bytes: its shape and its tokens.
fn column_bytes(tokens: u64) -> u64 {
    tokens.saturating_mul(WORD_BYTES).saturating_add(1 + shape_width(tokens).1 as u64)
}

/// Returns the size of a sample of `tokens` tokens, in bytes.
pub(super) fn sample_bytes(tokens: u64) -> u64 {
    column_bytes(tokens).saturating_add(WORD_BYTES)
}

/// Returns the bytes before the tokens of a sample: the length of the column, the number of dimensions, and the shape.
pub(super) fn sample_header(tokens: u64) -> Outcome<Vec<u8>> {
    let length = u32::try_from(column_bytes(tokens)).map_err(|_| too_large(sample_bytes(tokens)))?;
    let (code, width) = shape_width(tokens);
    let mut header = length.to_le_bytes().to_vec();
    header.push((1 << 2) | code);
    header.extend(tokens.to_le_bytes().into_iter().take(width));
    Ok(header)
}

/// A shard of a [`ShardPlan`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PlannedShard {
    /// Index of the first sample in the set.
    pub(super) first: u64,
    pub(super) samples: u64,
}

/// The division of samples of equal size into shards. A new shard starts before the sample that would exceed the size limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ShardPlan {
    samples: u64,
    sample_bytes: u64,
    config_bytes: u64,
    /// Number of samples that fit into a shard; 0 if one sample alone exceeds the size limit.
    capacity: u64,
}

impl ShardPlan {
    /// Divides `samples` samples of `tokens` tokens each into shards.
    ///
    /// # Errors
    /// A shard would have 4 GiB or more.
    pub(super) fn new(config: &Config, samples: u64, tokens: u64) -> Outcome<Self> {
        let (config_bytes, sample_bytes) = (config.to_json().len() as u64, sample_bytes(tokens));
        let room = config.size_limit.saturating_sub(shard_size(config_bytes, 0, 0));
        let capacity = room / sample_bytes.saturating_add(WORD_BYTES);
        let plan = Self { samples, sample_bytes, config_bytes, capacity };
        match shard_size(config_bytes, capacity.max(1).min(samples), sample_bytes) {
            bytes if bytes > MAX_SHARD_BYTES => Err(too_large(bytes)),
            _ => Ok(plan),
        }
    }

    /// Whether one sample alone exceeds the size limit. The first shard then has no sample, and each other shard has one.
    pub(super) fn is_over_limit(&self) -> bool {
        self.capacity == 0 && self.samples > 0
    }

    pub(super) fn shards(&self) -> u64 {
        match self.capacity {
            _ if self.samples == 0 => 0,
            0 => self.samples + 1,
            capacity => self.samples.div_ceil(capacity),
        }
    }

    /// Returns the shard with this index; it has no samples if it is after the last shard.
    pub(super) fn shard(&self, number: u64) -> PlannedShard {
        let (first, most) = match self.capacity {
            0 => (number.saturating_sub(1), number.min(1)),
            capacity => (number.saturating_mul(capacity).min(self.samples), capacity),
        };
        PlannedShard { first, samples: most.min(self.samples.saturating_sub(first)) }
    }

    /// Returns the size of a sample in bytes.
    pub(super) fn sample_bytes(&self) -> u64 {
        self.sample_bytes
    }

    /// Returns the size of all shards in bytes.
    pub(super) fn bytes(&self) -> u64 {
        let heads = self.shards().saturating_mul(shard_size(self.config_bytes, 0, 0));
        heads.saturating_add(self.samples.saturating_mul(self.sample_bytes + WORD_BYTES))
    }

    /// Passes the bytes before the samples of a shard to a callback: the number of samples, their offsets, the end offset, and the
    /// configuration.
    pub(super) fn write_head(
        &self,
        samples: u64,
        config_json: &str,
        write: &mut dyn FnMut(&[u8]) -> Outcome<()>,
    ) -> Outcome<()> {
        let first = shard_size(self.config_bytes, 0, 0) + samples * WORD_BYTES;
        let offsets = (0..=samples).map(|sample| first + sample * self.sample_bytes);
        let mut bytes = Vec::with_capacity(BUFFER_BYTES);
        for word in std::iter::once(samples).chain(offsets) {
            let word = u32::try_from(word).map_err(|_| too_large(word))?;
            bytes.extend_from_slice(&word.to_le_bytes());
            if bytes.len() >= BUFFER_BYTES {
                write(&bytes)?;
                bytes.clear();
            }
        }
        bytes.extend_from_slice(config_json.as_bytes());
        write(&bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(size_limit: u64) -> Config {
        Config::new(size_limit, Vec::new(), None)
    }

    #[test]
    fn mds_configuration_matches_the_format_page() {
        let json = r#"{"column_encodings": ["ndarray:int32"], "column_names": ["tokens"], "column_sizes": [null], "compression": null, "format": "mds", "hashes": [], "size_limit": 67108864, "version": 2}"#;
        assert_eq!(config(DEFAULT_SIZE_LIMIT).to_json(), json);
        let full = Config::new(9, vec!["xxh64".into(), "sha1".into()], Some("zstd:7".into())).to_json();
        assert!(
            full.contains(r#""compression": "zstd:7", "format": "mds", "hashes": ["sha1", "xxh64"], "size_limit": 9"#)
        );
    }

    #[test]
    fn mds_shape_is_stored_in_the_smallest_width() {
        assert_eq!(sample_header(255).unwrap(), [0xfe, 3, 0, 0, 4, 0xff]);
        assert_eq!(sample_header(256).unwrap(), [3, 4, 0, 0, 5, 0, 1]);
        assert_eq!(sample_header(65_536).unwrap(), [5, 0, 4, 0, 6, 0, 0, 1, 0]);
        assert_eq!(sample_bytes(256), 4 + 3 + 1024);
        assert!(sample_header(1 << 30).is_err());
    }

    #[test]
    fn a_shard_begins_before_the_sample_that_exceeds_the_limit() {
        let config_bytes = config(1_000).to_json().len() as u64;
        let of_ten = shard_size(config_bytes, 10, sample_bytes(8));
        let shards = |limit: u64| {
            let plan = ShardPlan::new(&config(limit), 25, 8).unwrap();
            (0..plan.shards()).map(|number| (plan.shard(number).first, plan.shard(number).samples)).collect::<Vec<_>>()
        };
        // All tested limits have the same number of digits, so the configuration has the same size.
        assert!((100..1_000).contains(&of_ten));
        let of_ten = of_ten - 1;
        assert_eq!(shards(of_ten), [(0, 10), (10, 10), (20, 5)]);
        assert_eq!(shards(of_ten - 1), [(0, 9), (9, 9), (18, 7)]);
        assert_eq!(shards(100)[..3], [(0, 0), (0, 1), (1, 1)], "a sample alone is larger");
        assert!(ShardPlan::new(&config(MAX_SHARD_BYTES), 9, 1 << 30).is_err());
        assert_eq!(ShardPlan::new(&config(of_ten), 0, 8).unwrap().shards(), 0);
    }
}
