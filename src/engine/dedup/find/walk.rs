//! A document in pieces -> anchors and the windows they own, with the text around them.

use super::gear::{mix, Found, Gear, BLOCK};
use super::owners::{Owned, Owners};
use super::Rule;
use crate::model::Outcome;

/// The longest window whose distances fit into a record. Documents of that length are read to their end and have no windows.
pub(super) const LONGEST: u64 = u32::MAX as u64;
/// The longest piece that is hashed.
const LONGEST_PIECE: u64 = 64;
/// Up to this length the window itself is the piece, so that each has its own key.
const TINY: u64 = 16;
/// From this length on, the hash of a piece has enough bits to be its key.
const ENOUGH_BITS: usize = 48;
/// Windows of text that are kept behind the last hashed byte: all that owned windows, the distance to the anchor before them, and gaps
/// ask for.
const KEPT: usize = 4;
/// Bytes of text that gather before those in front are dropped, at least, and as a share of what is kept.
const SLACK: u64 = 1 << 16;
const SHARE: u64 = 4;

/// Bits that hashes keep: all, except in tests.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bits {
    /// Of the hash that chooses anchors.
    pub order: u32,
    /// Of keys.
    pub key: u32,
    /// Of the hashes of whole documents, up to 128.
    pub document: u32,
}

impl Bits {
    pub(super) const ALL: Self = Self { order: 64, key: 64, document: 128 };
}

/// The last bytes of a document.
pub(super) struct Tail {
    bytes: Vec<u8>,
    /// Place of the first of them.
    base: u64,
}

impl Tail {
    /// Bytes `[from, to)` of the document; fewer where they are not there any more.
    #[inline]
    pub(super) fn get(&self, from: u64, to: u64) -> &[u8] {
        let place = |at: u64| (at.saturating_sub(self.base) as usize).min(self.bytes.len());
        &self.bytes[place(from)..place(to).max(place(from))]
    }

    /// Drops bytes in front once they are many more than the `kept` ones.
    fn make_room(&mut self, kept: usize) {
        let slack = (kept as u64 / SHARE).max(SLACK) as usize;
        if self.bytes.len() > kept + slack {
            let over = self.bytes.len() - kept;
            self.bytes.drain(..over);
            self.base += over as u64;
        }
    }

    /// Place behind the last byte.
    pub(super) fn end(&self) -> u64 {
        self.base + self.bytes.len() as u64
    }
}

/// Reads one document after the other. Memory: some multiples of the window, whatever the documents.
pub(super) struct Walk {
    chooser: Chooser,
    found: Box<Found>,
    tail: Tail,
    /// Bytes of a window; 0 if they are more than can be looked for.
    window: u64,
    /// Bytes that are kept, see [`KEPT`].
    kept: usize,
    key_bits: u32,
}

/// Hashes, and what they settle.
struct Chooser {
    gear: Gear,
    owners: Owners,
    owned: Vec<Owned>,
    k: usize,
    w: u64,
    hash: u64,
    /// Behind the last candidate.
    candidate: u64,
    /// Behind the last piece that the owners know.
    known: u64,
}

impl Walk {
    pub(super) fn new(rule: &Rule, bits: Bits) -> Self {
        let window = Some(rule.min_length.max(1)).filter(|length| *length <= LONGEST).unwrap_or(0);
        let k = if window < TINY { window.max(1) } else { (window / 2).min(LONGEST_PIECE) } as usize;
        let w = (window as usize + 1).saturating_sub(k).max(1);
        let chooser = Chooser {
            gear: Gear::new(k, w, bits.order),
            owners: Owners::new(w),
            owned: Vec::new(),
            k,
            w: w as u64,
            hash: 0,
            candidate: 0,
            known: 0,
        };
        Self {
            chooser,
            found: Box::new(Found::new()),
            tail: Tail { bytes: Vec::new(), base: 0 },
            window,
            kept: KEPT * window as usize,
            key_bits: bits.key,
        }
    }

    pub(super) fn memory(rule: &Rule) -> u64 {
        let window = Some(rule.min_length).filter(|length| *length <= LONGEST).unwrap_or(0);
        // The text, and in runs a piece of 16 bytes for each byte of the window, which a vector may double.
        let text = KEPT as u64 * window + BLOCK as u64 + (KEPT as u64 * window / SHARE).max(SLACK);
        2 * text + 2 * 16 * window + (1 << 20)
    }

    /// The key of an anchor.
    #[inline]
    pub(super) fn key(&self, owned: &Owned) -> u64 {
        let k = self.chooser.k;
        let key = if k < ENOUGH_BITS {
            xxhash_rust::xxh3::xxh3_64(self.tail.get(owned.at, owned.at + k as u64))
        } else {
            mix(owned.hash)
        };
        key >> (64 - self.key_bits) << (64 - self.key_bits)
    }

    /// The text that was read last.
    pub(super) fn tail(&self) -> &Tail {
        &self.tail
    }

    pub(super) fn start(&mut self) {
        let chooser = &mut self.chooser;
        chooser.owners.start();
        (chooser.hash, chooser.candidate, chooser.known) = (0, 0, 0);
        self.tail.bytes.clear();
        self.tail.base = 0;
    }

    /// Reads on; `each` gets what is settled, in order.
    pub(super) fn push<E: FnMut(&Self, &Owned) -> Outcome<()>>(&mut self, piece: &[u8], each: &mut E) -> Outcome<()> {
        for block in piece.chunks(BLOCK) {
            if self.window == 0 {
                self.tail.base += block.len() as u64;
                continue;
            }
            self.tail.make_room(self.kept);
            let before = self.tail.end();
            self.tail.bytes.extend_from_slice(block);
            self.chooser.scan(&self.tail, before, &mut self.found);
            self.settle(each)?;
        }
        Ok(())
    }

    /// The document is over; gives its length.
    pub(super) fn end<E: FnMut(&Self, &Owned) -> Outcome<()>>(&mut self, each: &mut E) -> Outcome<u64> {
        let len = self.tail.end();
        if self.window > 0 && len >= self.window {
            let chooser = &mut self.chooser;
            chooser.owners.end(len - self.window + 1, &mut chooser.owned);
            self.settle(each)?;
        }
        Ok(len)
    }

    fn settle<E: FnMut(&Self, &Owned) -> Outcome<()>>(&mut self, each: &mut E) -> Outcome<()> {
        let mut owned = std::mem::take(&mut self.chooser.owned);
        let done = owned.iter().try_for_each(|one| each(self, one));
        owned.clear();
        self.chooser.owned = owned;
        done
    }
}

impl Chooser {
    /// Hashes what lies behind `before`.
    fn scan(&mut self, tail: &Tail, before: u64, found: &mut Found) {
        let skip = self.k as u64 - 1;
        let (mut at, end) = (before, tail.end());
        // The first bytes of a document end no piece.
        if at < skip {
            let behind = end.min(skip);
            self.hash = tail.get(at, behind).iter().fold(self.hash, |hash, byte| self.gear.next(hash, *byte));
            at = behind;
        }
        self.hash = self.gear.scan(self.hash, tail.get(at, end), found);
        let first = at - skip.min(at);
        for (place, hash) in found.iter() {
            let piece = first + u64::from(place);
            self.fill(tail, piece);
            self.owners.push(piece, hash, &mut self.owned);
            self.candidate = piece + 1;
        }
        self.fill(tail, end.saturating_sub(skip));
    }

    /// Where a whole window before `until` has no candidate, the owners get all its pieces.
    #[inline]
    fn fill(&mut self, tail: &Tail, until: u64) {
        if until >= self.candidate + self.w {
            self.fill_gap(tail, until);
        }
    }

    #[cold]
    fn fill_gap(&mut self, tail: &Tail, until: u64) {
        let from = self.known.max(self.candidate);
        let skip = self.k as u64 - 1;
        let mut hash = tail.get(from, from + skip).iter().fold(0, |hash, byte| self.gear.next(hash, *byte));
        for (piece, byte) in (from..until).zip(tail.get(from + skip, until + skip)) {
            hash = self.gear.next(hash, *byte);
            self.owners.push(piece, hash, &mut self.owned);
        }
        self.known = until;
    }
}
