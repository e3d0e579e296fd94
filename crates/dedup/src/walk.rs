//! Finds the anchors of a document that is read in pieces, the windows they own, and the text around them.
//!
//! Text that repeats itself is skipped without hashing if the visitor supports it.

use super::bytes::common_prefix;
use super::grams::{self, Candidates, Grams, GRAM};
use super::owners::{OwnedWindows, Owners};
use super::window_hash::{mix, CandidateBlock, WindowHash, BLOCK_WINDOWS, CANDIDATES, MIN_SPARSE_PIECES};
use super::Rule;
use gristmill_core::Outcome;
use xxhash_rust::xxh3::xxh3_64;

/// Maximum window length whose distances fit into a record, in bytes. For longer windows, documents are read but have no windows.
pub(super) const MAX_WINDOW_BYTES: u64 = u32::MAX as u64;
/// Maximum length of a hashed piece, in bytes.
const MAX_PIECE_BYTES: u64 = 64;
/// Windows shorter than this, in bytes, are pieces themselves, so that each has its own key.
const SMALL_WINDOW_BYTES: u64 = 16;
/// Minimum length of a piece, in bytes, whose rolling hash is also its key: the hash of a shorter piece has too few bits.
const ENOUGH_BITS: usize = 48;
/// Length of the text that is kept before the last hashed byte, in windows: for all windows that anchors own, the distance to earlier
/// anchors ([`PERIOD`]), and gaps.
const WINDOWS_BEFORE_HASH: usize = 4 + PERIOD;
/// Maximum period that is detected, in windows.
pub(super) const PERIOD: usize = 2;
/// Number of bytes that accumulate before the oldest ones are dropped: a minimum, and the divisor of the stored length.
const SLACK_BYTES: u64 = 1 << 16;
const SLACK_DIVISOR: u64 = 4;

/// Number of significant bits of hashes: all, except in tests.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bits {
    /// Number of significant bits of the hash that selects anchors.
    pub order: u32,
    /// Number of significant bits of keys.
    pub key: u32,
}

impl Bits {
    pub(super) const ALL: Self = Self { order: 64, key: 64 };
}

/// The last bytes of a document.
pub(super) struct Tail {
    bytes: Vec<u8>,
    /// Position of the first of these bytes.
    base: u64,
}

impl Tail {
    /// Returns bytes `[from, to)` of the document; fewer if some were dropped.
    #[inline]
    pub(super) fn get(&self, from: u64, to: u64) -> &[u8] {
        let place = |at: u64| (at.saturating_sub(self.base) as usize).min(self.bytes.len());
        &self.bytes[place(from)..place(to).max(place(from))]
    }

    /// Whether the byte `period` bytes before `at` is still stored.
    #[inline]
    pub(super) fn has_kept(&self, at: u64, period: u64) -> bool {
        at >= self.base.saturating_add(period)
    }

    /// Drops the oldest bytes once there are many more than `kept`.
    fn make_room(&mut self, kept: usize) {
        let slack = (kept as u64 / SLACK_DIVISOR).max(SLACK_BYTES) as usize;
        if self.bytes.len() > kept + slack {
            let over = self.bytes.len() - kept;
            self.bytes.drain(..over);
            self.base += over as u64;
        }
    }

    /// Returns the position after the last byte.
    pub(super) fn end(&self) -> u64 {
        self.base + self.bytes.len() as u64
    }
}

/// Receives the results of a walk.
pub(super) trait Visit {
    /// Receives an anchor with its windows, in order. Each window is reported exactly once, either here or in [`passed`](Self::passed).
    fn owned(&mut self, walk: &Walk, owned: &OwnedWindows) -> Outcome<()>;
    /// Returns the period with which the previous windows repeat, in bytes; 0 if they do not, or if nothing may be skipped.
    fn period(&self) -> u64;
    /// Receives skipped windows `[from, to)`, which equal those `period` bytes earlier.
    fn passed(&mut self, from: u64, to: u64, period: u64) -> Outcome<()>;
}

/// Text that is being skipped.
#[derive(Clone, Copy)]
struct SkippedText {
    period: u64,
    /// The text before this position equals the text `period` bytes earlier.
    known: u64,
}

/// Reads one document after the other. Its memory is a small multiple of the window length, for documents of any size.
pub(super) struct Walk {
    chooser: Chooser,
    found: Box<(CandidateBlock, Candidates)>,
    tail: Tail,
    skipped: Option<SkippedText>,
    /// Length of a window in bytes; 0 if it exceeds [`MAX_WINDOW_BYTES`].
    window: u64,
    /// Number of bytes that are stored, see [`WINDOWS_BEFORE_HASH`].
    kept: usize,
    key_bits: u32,
}

/// Computes the hashes, and the windows whose owners are known.
struct Chooser {
    hasher: WindowHash,
    /// Finds candidates by their first bytes; set if windows are long.
    grams: Option<Grams>,
    /// The significant bits of hashes.
    mask: u64,
    owners: Owners,
    owned: Vec<OwnedWindows>,
    k: usize,
    w: u64,
    hash: u64,
    /// The position where hashing started; for long windows, the first piece that was not hashed.
    first: u64,
    /// The position after the last candidate.
    candidate: u64,
    /// The position after the last piece that was passed to the owners.
    known: u64,
}

impl Walk {
    pub(super) fn new(rule: &Rule, bits: Bits) -> Self {
        let window = Some(rule.min_length.max(1)).filter(|length| *length <= MAX_WINDOW_BYTES).unwrap_or(0);
        let k = if window < SMALL_WINDOW_BYTES { window.max(1) } else { (window / 2).min(MAX_PIECE_BYTES) } as usize;
        let w = (window as usize + 1).saturating_sub(k).max(1);
        let chooser = Chooser {
            hasher: WindowHash::new(k, w, bits.order),
            grams: (w >= MIN_SPARSE_PIECES).then(|| Grams::new(w as u64 / CANDIDATES)),
            mask: u64::MAX << (64 - bits.order),
            owners: Owners::new(w),
            owned: Vec::new(),
            k,
            w: w as u64,
            hash: 0,
            first: 0,
            candidate: 0,
            known: 0,
        };
        Self {
            chooser,
            found: Box::new((CandidateBlock::new(), Candidates::new())),
            tail: Tail { bytes: Vec::new(), base: 0 },
            skipped: None,
            window,
            kept: WINDOWS_BEFORE_HASH * window as usize,
            key_bits: bits.key,
        }
    }

    pub(super) fn memory(rule: &Rule) -> u64 {
        let window = Some(rule.min_length).filter(|length| *length <= MAX_WINDOW_BYTES).unwrap_or(0);
        // The text, and in runs a piece of 16 bytes for each byte of the window; a vector may allocate twice its length.
        let text = WINDOWS_BEFORE_HASH as u64 * window
            + BLOCK_WINDOWS as u64
            + (WINDOWS_BEFORE_HASH as u64 * window / SLACK_DIVISOR).max(SLACK_BYTES);
        2 * text + 2 * 16 * window + (1 << 20)
    }

    /// Returns the key of an anchor.
    #[inline]
    pub(super) fn key(&self, owned: &OwnedWindows) -> u64 {
        let k = self.chooser.k;
        let key = if k < ENOUGH_BITS || self.chooser.grams.is_some() {
            xxh3_64(self.tail.get(owned.at, owned.at + k as u64))
        } else {
            mix(owned.hash)
        };
        key >> (64 - self.key_bits) << (64 - self.key_bits)
    }

    /// Returns the most recently read text.
    pub(super) fn tail(&self) -> &Tail {
        &self.tail
    }

    pub(super) fn start(&mut self) {
        self.chooser.start_at(0);
        self.skipped = None;
        self.tail.bytes.clear();
        self.tail.base = 0;
    }

    /// Reads more of the document. Passes windows whose owners are known to `visit`, in order.
    pub(super) fn push<V: Visit>(&mut self, piece: &[u8], visit: &mut V) -> Outcome<()> {
        for block in piece.chunks(BLOCK_WINDOWS) {
            if self.window == 0 {
                self.tail.base += block.len() as u64;
                continue;
            }
            self.tail.make_room(self.kept);
            let before = self.tail.end();
            self.tail.bytes.extend_from_slice(block);
            match self.pass(visit)? {
                // More than a block must now be hashed: it starts with a window that could not be skipped.
                Some(from) => self.scan(from, visit)?,
                None if self.skipped.is_none() => self.scan(before, visit)?,
                None => {}
            }
        }
        Ok(())
    }

    /// Hashes the text after `from`.
    fn scan<V: Visit>(&mut self, mut from: u64, visit: &mut V) -> Outcome<()> {
        while from < self.tail.end() {
            let to = self.tail.end().min(from + BLOCK_WINDOWS as u64);
            self.chooser.scan(&self.tail, (from, to), &mut self.found);
            from = to;
        }
        self.report_owned(visit)
    }

    /// Skips new text that repeats the text one period earlier. Returns `None` if all of it does, or if nothing may be skipped; otherwise
    /// the position at which hashing starts again.
    fn pass<V: Visit>(&mut self, visit: &mut V) -> Outcome<Option<u64>> {
        let next = self.chooser.owners.next();
        let passing = match (self.skipped, visit.period()) {
            (Some(passing), _) => passing,
            (None, 0) => return Ok(None),
            (None, period) if !self.tail.has_kept(next, period) => return Ok(None),
            (None, period) => SkippedText { period, known: next },
        };
        let SkippedText { period, known } = passing;
        let end = self.tail.end();
        let same = common_prefix(self.tail.get(known, end), self.tail.get(known - period, end - period)) as u64;
        let known = known + same;
        // The first window with a byte that does not repeat or was not read yet.
        let open = (known + 1).saturating_sub(self.window).max(next);
        if open > next {
            visit.passed(next, open, period)?;
        } else if self.skipped.is_none() {
            return Ok(None);
        }
        self.chooser.start_at(open);
        self.skipped = (known == end).then_some(SkippedText { period, known });
        Ok(self.skipped.is_none().then_some(open))
    }

    /// Ends the document and returns its length in bytes.
    pub(super) fn end<V: Visit>(&mut self, visit: &mut V) -> Outcome<u64> {
        let len = self.tail.end();
        if self.window > 0 && len >= self.window {
            let chooser = &mut self.chooser;
            chooser.owners.end(len - self.window + 1, &mut chooser.owned);
            self.report_owned(visit)?;
        }
        Ok(len)
    }

    fn report_owned<V: Visit>(&mut self, visit: &mut V) -> Outcome<()> {
        let mut owned = std::mem::take(&mut self.chooser.owned);
        let done = owned.iter().try_for_each(|one| visit.owned(self, one));
        owned.clear();
        self.chooser.owned = owned;
        done
    }
}

impl Chooser {
    /// Starts another document, or continues the same one at this window.
    fn start_at(&mut self, window: u64) {
        self.owners.start_at(window);
        (self.hash, self.first, self.candidate, self.known) = (0, window, window, window);
    }

    /// Hashes bytes `[from, to)`, at most one block.
    fn scan(&mut self, tail: &Tail, (from, to): (u64, u64), found: &mut (CandidateBlock, Candidates)) {
        if self.grams.is_some() {
            return self.scan_grams(tail, to, &mut found.1);
        }
        let found = &mut found.0;
        let skip = self.k as u64 - 1;
        let mut at = from;
        // No piece ends within the first bytes.
        if at < self.first + skip {
            let skip_end = to.min(self.first + skip);
            self.hash = tail.get(at, skip_end).iter().fold(self.hash, |hash, byte| self.hasher.next(hash, *byte));
            at = skip_end;
        }
        self.hash = self.hasher.scan(self.hash, tail.get(at, to), found);
        let first = at - skip.min(at);
        for (place, hash) in found.iter() {
            let piece = first + u64::from(place);
            self.push_filler(tail, piece);
            self.owners.push(piece, hash, &mut self.owned);
            self.candidate = piece + 1;
        }
        self.push_filler(tail, to.saturating_sub(skip));
    }

    /// Scans the pieces that end at `to` or earlier.
    fn scan_grams(&mut self, tail: &Tail, to: u64, found: &mut Candidates) {
        let (Some(grams), k) = (&self.grams, self.k as u64) else { return };
        let (first, until) = (self.first, (to + 1).saturating_sub(k).max(self.first));
        if until > first {
            grams.scan(tail.get(first, until + GRAM as u64 - 1), found);
            for place in found.iter() {
                let piece = first + u64::from(place);
                // The highest bit is 0, so the hash is less than that of a piece that is not a candidate.
                let hash = grams::order(tail.get(piece, piece + k)) >> 1 & self.mask;
                self.push_filler(tail, piece);
                self.owners.push(piece, hash, &mut self.owned);
                self.candidate = piece + 1;
            }
        }
        self.first = until;
        self.push_filler(tail, until);
    }

    /// Passes all pieces of a window to the owners if a whole window before `until` has no candidate.
    #[inline]
    fn push_filler(&mut self, tail: &Tail, until: u64) {
        if until >= self.candidate + self.w {
            self.fill_gap(tail, until);
        }
    }

    #[cold]
    fn fill_gap(&mut self, tail: &Tail, until: u64) {
        let from = self.known.max(self.candidate);
        let skip = self.k as u64 - 1;
        let mut hash = tail.get(from, from + skip).iter().fold(0, |hash, byte| self.hasher.next(hash, *byte));
        for (piece, byte) in (from..until).zip(tail.get(from + skip, until + skip)) {
            hash = self.hasher.next(hash, *byte);
            let rank = match self.grams {
                Some(_) => (1 << 63 | hash >> 1) & self.mask,
                None => hash,
            };
            self.owners.push(piece, rank, &mut self.owned);
        }
        self.known = until;
    }
}
