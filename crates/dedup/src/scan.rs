//! Finds the anchors of documents, which are read in pieces.

use super::interval::Interval;
use super::owners::OwnedWindows;
use super::periodic::Shift;
use super::small_windows::{SmallWindows, WindowState};
use super::walk::{Bits, Visit, Walk, MAX_WINDOW_BYTES, PERIOD};
use super::{Anchor, Passage, Rule, Sink};
use gristmill_core::{Failure, Outcome};

/// Finds the anchors of documents, one document after the other. Its memory is limited by [`Scanner::memory`] for documents of any size.
pub struct Scanner {
    walk: Walk,
    /// Replaces the walk if windows are short enough.
    tiny: Option<SmallWindows>,
    rest: AnchorOutput,
}

/// The stage after the selection of anchors.
struct AnchorOutput {
    plain: bool,
    is_tiny: bool,
    min_length: u64,
    /// Position of the document's first byte.
    base: u64,
    recent_anchors: AnchorRing,
    /// Period with which the previous windows repeat, in bytes; 0 if they do not.
    period: u64,
    shift: Shift,
    /// A removable range that may still be extended.
    open: Option<OpenRange>,
    /// An anchor to which copies may still be added.
    pending: Option<Anchor>,
}

/// Consecutive windows that equal those one period earlier.
struct OpenRange {
    found: Interval,
    period: u64,
}

impl OpenRange {
    /// Returns the passage that repeats in the range: one period, or if the period does not occur twice, the part that does.
    fn passage(&self, min_length: u64) -> Passage {
        let Interval { start, end, first } = self.found;
        let is_periodic = end - start > self.period + min_length;
        match is_periodic {
            true => Passage { at: first, len: self.period, count: (end - first) / self.period.max(1) },
            false => Passage { at: first, len: end - start, count: 2 },
        }
    }
}

/// Number of stored anchors. Text whose period is longer than a window has several anchors per period.
const RECENT_ANCHORS: usize = 8;
/// Minimum window length at which they are stored, in bytes. Shorter windows have too many anchors to compare more than the last one.
const FEW_ANCHORS: u64 = 32;

/// The keys and positions of the last anchors, in a ring buffer.
#[derive(Default)]
struct AnchorRing {
    ring: [(u64, u64); RECENT_ANCHORS],
    /// Number of anchors of this document so far.
    count: usize,
    /// Number of them that are compared.
    most: usize,
    /// Maximum period, in bytes.
    longest: u64,
}

impl AnchorRing {
    fn new(rule: &Rule) -> Self {
        let is_far = rule.is_plain() && rule.min_length >= FEW_ANCHORS;
        let longest = (PERIOD as u64).saturating_mul(rule.min_length);
        Self { most: if is_far { RECENT_ANCHORS } else { 1 }, longest, ..Self::default() }
    }

    /// Adds an anchor. Returns the distance in bytes to the last anchor with the same key, or 0 if there is none.
    #[inline]
    fn replace(&mut self, key: u64, at: u64) -> u64 {
        let known = self.count.min(self.most);
        let back = (1..=known).filter_map(|back| self.ring.get((self.count - back) % RECENT_ANCHORS));
        let found = back.take_while(|earlier| at - earlier.1 <= self.longest).find(|earlier| earlier.0 == key);
        let period = found.map_or(0, |earlier| at - earlier.1);
        if let Some(place) = self.ring.get_mut(self.count % RECENT_ANCHORS) {
            *place = (key, at);
        }
        self.count += 1;
        period
    }
}

/// The output stage, and the sink to which it writes.
struct AnchorStage<'a, S: ?Sized> {
    rest: &'a mut AnchorOutput,
    sink: &'a mut S,
}

impl<S: Sink + ?Sized> Visit for AnchorStage<'_, S> {
    #[inline]
    fn owned(&mut self, walk: &Walk, owned: &OwnedWindows) -> Outcome<()> {
        self.rest.push_window(walk, owned, self.sink)
    }
    fn period(&self) -> u64 {
        self.rest.period
    }
    fn passed(&mut self, from: u64, to: u64, period: u64) -> Outcome<()> {
        // Earlier anchors are now too far away.
        self.rest.recent_anchors.count = 0;
        self.rest.record((from, to - 1), period, self.sink)
    }
}

impl Scanner {
    /// Returns a scanner for a rule.
    pub fn new(rule: &Rule) -> Self {
        Self::with_bits(rule, Bits::ALL)
    }

    pub(super) fn with_bits(rule: &Rule, bits: Bits) -> Self {
        let rest = AnchorOutput {
            plain: rule.is_plain(),
            is_tiny: rule.is_tiny(),
            min_length: rule.min_length.max(1),
            base: 0,
            recent_anchors: AnchorRing::new(rule),
            period: 0,
            shift: Shift::default(),
            open: None,
            pending: None,
        };
        Self { walk: Walk::new(rule, bits), tiny: rule.is_tiny().then(|| SmallWindows::new(rule)), rest }
    }

    /// Returns the maximum memory of a scanner in bytes: a small multiple of the window length. Documents known to be shorter than a window
    /// need not be scanned.
    pub fn memory(rule: &Rule) -> u64 {
        Walk::memory(rule)
    }

    /// Starts a document; `base` is the position of its first byte of text, one after its 0xFF. Positions may be relative to a file and be
    /// moved later ([`Record::moved`](super::Record::moved)).
    pub fn start_document(&mut self, base: u64) {
        self.walk.start();
        self.tiny.iter_mut().for_each(SmallWindows::start);
        let rest = &mut self.rest;
        rest.base = base;
        (rest.recent_anchors.count, rest.period, rest.open, rest.pending) = (0, 0, None, None);
        rest.shift = Shift::default();
    }

    /// Reads any number of further bytes of the document, which must not contain 0xFF.
    pub fn push<S: Sink + ?Sized>(&mut self, piece: &[u8], sink: &mut S) -> Outcome<()> {
        let rest = &mut self.rest;
        match &mut self.tiny {
            Some(tiny) => piece.iter().try_for_each(|byte| match tiny.push(*byte, rest.base) {
                Some((low, seen)) => rest.take_tiny(low, seen, sink),
                None => Ok(()),
            }),
            None => self.walk.push(piece, &mut AnchorStage { rest, sink }),
        }
    }

    /// Ends the document.
    pub fn end_document<S: Sink + ?Sized>(&mut self, sink: &mut S) -> Outcome<()> {
        let rest = &mut self.rest;
        let len = match &self.tiny {
            Some(tiny) => tiny.read(),
            None => self.walk.end(&mut AnchorStage { rest, sink })?,
        };
        if rest.min_length > MAX_WINDOW_BYTES && len >= rest.min_length {
            return Err(Failure::usage("the minimum length", "windows of more than 4 GiB are not looked for"));
        }
        rest.end(sink)
    }
}

impl AnchorOutput {
    fn push_window<S: Sink + ?Sized>(&mut self, walk: &Walk, owned: &OwnedWindows, sink: &mut S) -> Outcome<()> {
        let key = walk.key(owned);
        let anchor = Anchor {
            key,
            at: self.base + owned.at,
            near: (owned.at - owned.high) as u32,
            far: (owned.at - owned.low) as u32,
            copies: 1,
            period: 0,
        };
        let period = self.recent_anchors.replace(key, owned.at);
        // All its windows equal those one period earlier, which have an anchor.
        let repeats =
            period > 0 && self.shift.is_periodic(walk.tail(), period, owned.low, owned.high + self.min_length);
        self.period = if repeats && self.plain { period } else { 0 };
        match (repeats, self.plain) {
            (true, true) => self.record((owned.low, owned.high), period, sink),
            (false, true) => sink.anchor(anchor),
            (_, false) => self.extend_run(anchor, if repeats { period } else { 0 }, sink),
        }
    }

    fn take_tiny<S: Sink + ?Sized>(&mut self, low: u64, seen: WindowState, sink: &mut S) -> Outcome<()> {
        let at = self.base + low;
        match seen {
            WindowState::Before(place) => self.record((low, low), at - place, sink),
            WindowState::Perhaps(key) => sink.anchor(Anchor { key, at, near: 0, far: 0, copies: 1, period: 0 }),
        }
    }

    /// Records that the windows from `low` to `high` are removable.
    fn record<S: Sink + ?Sized>(&mut self, (low, high): (u64, u64), period: u64, sink: &mut S) -> Outcome<()> {
        let (start, end) = (self.base + low, self.base + high + self.min_length);
        match &mut self.open {
            Some(open) if start <= open.found.end && (open.period == period || self.is_tiny) => open.found.end = end,
            open => {
                let found = Interval { start, end, first: start - period };
                if let Some(done) = open.replace(OpenRange { found, period }) {
                    self.close(&done, sink)?;
                }
            }
        }
        Ok(())
    }

    fn close<S: Sink + ?Sized>(&self, done: &OpenRange, sink: &mut S) -> Outcome<()> {
        if !self.is_tiny {
            sink.passage(done.passage(self.min_length));
        }
        sink.interval(done.found)
    }

    /// Adds an anchor to the run of the previous one if it is another copy of it.
    fn extend_run<S: Sink + ?Sized>(&mut self, anchor: Anchor, period: u64, sink: &mut S) -> Outcome<()> {
        if let Some(held) = &mut self.pending {
            let same = period > 0 && (held.near, held.far) == (anchor.near, anchor.far);
            let steady = held.copies == 1 || u64::from(held.period) == period;
            if same && steady && held.copies < u32::MAX && held.at + u64::from(held.copies) * period == anchor.at {
                held.copies += 1;
                held.period = period as u32;
                return Ok(());
            }
        }
        match self.pending.replace(anchor) {
            Some(done) => sink.anchor(done),
            None => Ok(()),
        }
    }

    fn end<S: Sink + ?Sized>(&mut self, sink: &mut S) -> Outcome<()> {
        if let Some(done) = self.open.take() {
            self.close(&done, sink)?;
        }
        match self.pending.take() {
            Some(done) => sink.anchor(done),
            None => Ok(()),
        }
    }
}
