//! Documents in pieces -> anchors.

use super::interval::Interval;
use super::owners::Owned;
use super::periodic::Shift;
use super::walk::{Bits, Walk, LONGEST};
use super::whole::{Document, DocumentHash};
use super::{Anchor, Rule, Sink};
use crate::model::{Failure, Outcome};

/// Finds the anchors of documents, one document after the other. Memory is bounded by [`Scanner::memory`], whatever the documents.
pub struct Scanner {
    walk: Walk,
    rest: Rest,
    whole: DocumentHash,
    /// Bits of it that count: all, except in tests.
    whole_bits: u32,
}

/// What comes behind the choice of anchors.
struct Rest {
    plain: bool,
    min_length: u64,
    /// Position of the document's first byte.
    base: u64,
    before: Option<Before>,
    shift: Shift,
    /// What is removable already, as far as it reaches.
    open: Option<Interval>,
    /// An anchor to which copies may be added.
    held: Option<Anchor>,
}

/// The anchor before.
struct Before {
    key: u64,
    at: u64,
}

impl Scanner {
    /// A scanner for one rule.
    pub fn new(rule: &Rule) -> Self {
        Self::with_bits(rule, Bits::ALL)
    }

    pub(super) fn with_bits(rule: &Rule, bits: Bits) -> Self {
        let rest = Rest {
            plain: rule.is_plain(),
            min_length: rule.min_length.max(1),
            base: 0,
            before: None,
            shift: Shift::default(),
            open: None,
            held: None,
        };
        Self { walk: Walk::new(rule, bits), rest, whole: DocumentHash::default(), whole_bits: bits.document }
    }

    /// The most memory that a scanner takes, in bytes: some multiples of the window. Documents that are known to be shorter than a window
    /// need not be given to it at all.
    pub fn memory(rule: &Rule) -> u64 {
        Walk::memory(rule)
    }

    /// A document begins; `base` is the position of its first byte of text, one behind its 0xFF. Positions may count from the start
    /// of a file and be moved later ([`Record::moved`](super::Record::moved)).
    pub fn start_document(&mut self, base: u64) {
        self.walk.start();
        self.whole.start();
        let rest = &mut self.rest;
        rest.base = base;
        (rest.before, rest.open, rest.held) = (None, None, None);
        rest.shift = Shift::default();
    }

    /// The next bytes of the document, as many or as few as there are. They must not hold 0xFF.
    pub fn push<S: Sink + ?Sized>(&mut self, piece: &[u8], sink: &mut S) -> Outcome<()> {
        let rest = &mut self.rest;
        if rest.plain {
            self.whole.push(piece);
        }
        self.walk.push(piece, &mut |walk: &Walk, owned: &Owned| rest.take(walk, owned, sink))
    }

    /// The document is over.
    pub fn end_document<S: Sink + ?Sized>(&mut self, sink: &mut S) -> Outcome<()> {
        let rest = &mut self.rest;
        let len = self.walk.end(&mut |walk: &Walk, owned: &Owned| rest.take(walk, owned, sink))?;
        if rest.min_length > LONGEST && len >= rest.min_length {
            return Err(Failure::usage("the minimum length", "windows of more than 4 GiB are not looked for"));
        }
        rest.end(sink)?;
        if rest.plain && len >= rest.min_length {
            let hash = self.whole.end() >> (128 - self.whole_bits) << (128 - self.whole_bits);
            sink.document(Document { hash, at: rest.base, len })?;
        }
        Ok(())
    }
}

impl Rest {
    fn take<S: Sink + ?Sized>(&mut self, walk: &Walk, owned: &Owned, sink: &mut S) -> Outcome<()> {
        let key = walk.key(owned);
        let anchor = Anchor {
            key,
            at: self.base + owned.at,
            near: (owned.at - owned.high) as u32,
            far: (owned.at - owned.low) as u32,
            copies: 1,
            period: 0,
        };
        let before = self.before.replace(Before { key, at: owned.at });
        let period = match before {
            Some(before) if before.key == key => owned.at - before.at,
            _ => 0,
        };
        // All its windows repeat those that lie one period earlier, and these have an anchor.
        let repeats = period > 0 && self.shift.holds(walk.tail(), period, owned.low, owned.high + self.min_length);
        match (repeats, self.plain) {
            (true, true) => self.found(owned, period, sink),
            (false, true) => sink.anchor(anchor),
            (_, false) => self.hold(anchor, if repeats { period } else { 0 }, sink),
        }
    }

    /// Windows that are removable at once.
    fn found<S: Sink + ?Sized>(&mut self, owned: &Owned, period: u64, sink: &mut S) -> Outcome<()> {
        let (start, end) = (self.base + owned.low, self.base + owned.high + self.min_length);
        match &mut self.open {
            Some(open) if start <= open.end => open.end = end,
            open => {
                if let Some(done) = open.replace(Interval { start, end, first: start - period }) {
                    sink.interval(done)?;
                }
            }
        }
        Ok(())
    }

    /// Counts an anchor to the one before, if it is a further copy of it.
    fn hold<S: Sink + ?Sized>(&mut self, anchor: Anchor, period: u64, sink: &mut S) -> Outcome<()> {
        if let Some(held) = &mut self.held {
            let same = period > 0 && (held.near, held.far) == (anchor.near, anchor.far);
            let steady = held.copies == 1 || u64::from(held.period) == period;
            if same && steady && held.copies < u32::MAX && held.at + u64::from(held.copies) * period == anchor.at {
                held.copies += 1;
                held.period = period as u32;
                return Ok(());
            }
        }
        match self.held.replace(anchor) {
            Some(done) => sink.anchor(done),
            None => Ok(()),
        }
    }

    fn end<S: Sink + ?Sized>(&mut self, sink: &mut S) -> Outcome<()> {
        if let Some(done) = self.open.take() {
            sink.interval(done)?;
        }
        match self.held.take() {
            Some(done) => sink.anchor(done),
            None => Ok(()),
        }
    }
}
