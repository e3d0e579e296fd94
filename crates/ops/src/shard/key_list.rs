//! Files with one key per line, for `--keep-keys` and `--drop-keys`.

use super::sample::Sample;
use gristmill_core::text::{count, count_verb};
use gristmill_core::{Cancel, Failure, Outcome, Problem, ProblemKind, ProblemSink, Subject};
use gristmill_storage::read::{open_read, ReadFile};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::{xxh3_64, Xxh3};

const ACTIVITY: &str = "reading the list of keys";
/// The UTF-8 byte-order mark.
const MARK: &[u8] = b"\xef\xbb\xbf";
/// Number of bytes of a list that are read at a time.
const READ_BYTES: usize = 1 << 20;
/// Number of lines between two checks of the cancel flag.
const CANCEL_EVERY: usize = 1 << 16;

/// Opens a list. The failure for a missing list describes its format.
fn open(path: &Path) -> Outcome<ReadFile> {
    open_read(path).map_err(|failure| match failure.hint {
        Some(_) => failure,
        None => failure.with_hint("--keep-keys and --drop-keys name a file with a KEY or SHARD/KEY a line"),
    })
}

/// A list of keys, or of shards and keys joined by a slash. Stores hashes: with 10⁷ lines and 10⁹ samples, two hashes collide in one of
/// 2,000 data sets.
pub(super) struct KeyList {
    path: PathBuf,
    /// Hashes of the lines, sorted.
    hashes: Vec<u64>,
    /// Whether each line has matched a sample, one bit per line.
    matched: Vec<u64>,
}

impl KeyList {
    pub(super) fn read(path: &Path, cancel: &Cancel) -> Outcome<Self> {
        let mut reader = BufReader::with_capacity(READ_BYTES, open(path)?.into_reader());
        let (mut line, mut hashes) = (Vec::new(), Vec::new());
        let mut is_first = true;
        loop {
            line.clear();
            if reader.read_until(b'\n', &mut line).map_err(|error| Failure::io(ACTIVITY, path, &error))? == 0 {
                break;
            }
            let key = line.strip_suffix(b"\n").unwrap_or(&line);
            let key = if std::mem::take(&mut is_first) { key.strip_prefix(MARK).unwrap_or(key) } else { key };
            let key = key.strip_suffix(b"\r").unwrap_or(key);
            if !key.is_empty() {
                hashes.push(xxh3_64(key));
            }
            if hashes.len() % CANCEL_EVERY == 0 {
                cancel.check()?;
            }
        }
        hashes.sort_unstable();
        hashes.dedup();
        let matched = vec![0; hashes.len().div_ceil(64)];
        Ok(Self { path: path.to_owned(), hashes, matched })
    }

    /// Whether the list contains a sample, either its key or its shard and key.
    pub(super) fn has(&mut self, sample: &Sample) -> bool {
        let by_key = self.find(xxh3_64(&sample.key));
        if sample.shard.is_empty() {
            return by_key;
        }
        let mut hash = Xxh3::new();
        for text in [sample.shard.as_bytes(), b"/", &sample.key] {
            hash.update(text);
        }
        // Both lookups are needed to mark both lines as matched.
        self.find(hash.digest()) || by_key
    }

    fn find(&mut self, hash: u64) -> bool {
        let Ok(at) = self.hashes.binary_search(&hash) else { return false };
        if let Some(word) = self.matched.get_mut(at / 64) {
            *word |= 1 << (at % 64);
        }
        true
    }

    /// Reports lines that match no sample. Fails if no line matches.
    pub(super) fn report_unmatched(&self, problems: &dyn ProblemSink) -> Outcome<()> {
        let matched: u32 = self.matched.iter().map(|word| word.count_ones()).sum();
        let (lines, unmatched) = (self.hashes.len() as u64, self.hashes.len() as u64 - u64::from(matched));
        if lines > 0 && unmatched == lines {
            let failure = Failure::usage("choosing samples", "no line of the list of keys matches a sample");
            let hint = "a line is KEY or SHARD/KEY, the key without the name of the part";
            return Err(failure.on(Subject::path(&self.path)).of_kind(ProblemKind::MatchesNothing).with_hint(hint));
        }
        if unmatched == 0 {
            return Ok(());
        }
        let why =
            format!("{} no sample, of {}", count_verb(unmatched, "line", "matches", "match"), count(lines, "line"));
        problems.report(Problem::note(ProblemKind::MatchesNothing, Subject::path(&self.path), why))
    }
}
