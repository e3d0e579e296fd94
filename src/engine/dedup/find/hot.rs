//! Keys with more contexts than should be in memory, taken one by one in the order of the text; for a rule under which nothing is counted.
//!
//! All are compared with the first. What remains of one lies beyond the first byte that differs, and equals windows of those alone that
//! differ at the same place by the same byte: it gets a key of its own, and is taken up again with others of that key.

use super::anchor::{Anchor, Record};
use super::bytes::{common_prefix, common_suffix};
use super::gear::mix;
use super::interval::Interval;
use super::passages::Passage;
use super::resolve::{context_bytes, Resolver};
use super::{Rule, TextAt};
use crate::model::Outcome;

/// The contexts of one key.
pub struct Hot {
    rule: Rule,
    first: Option<Anchor>,
    /// The text of all windows of the first.
    text: Vec<u8>,
    /// Distances at which all that were compared have windows that equal the first's, and how often.
    near: u32,
    far: u32,
    count: u64,
    spare: Vec<u8>,
}

impl Hot {
    /// Contexts for one rule.
    ///
    /// It has to be [plain](Rule::is_plain).
    pub fn new(rule: &Rule) -> Self {
        Self { rule: *rule, first: None, text: Vec::new(), near: 0, far: 0, count: 1, spare: Vec::new() }
    }

    /// Takes the next one. What is removable goes to `found`, what remains to `rest`, with another key.
    ///
    /// # Errors
    /// Those of `text`, `found` and `rest`.
    pub fn take<T, F, M>(&mut self, record: &impl Record, text: &T, found: &mut F, rest: &mut M) -> Outcome<()>
    where
        T: TextAt + ?Sized,
        F: FnMut(Interval) -> Outcome<()>,
        M: FnMut(Anchor) -> Outcome<()>,
    {
        let anchor = record.unpack();
        let length = self.rule.min_length;
        let Some(first) = self.first else {
            if !self.rule.is_tiny() {
                self.text = context_bytes(text, &anchor, &self.rule, &mut self.spare)?.to_vec();
            }
            (self.first, self.near, self.far) = (Some(anchor), anchor.near, anchor.far);
            return Ok(());
        };
        if self.rule.is_tiny() {
            return found(Interval { start: anchor.at, end: anchor.at + length, first: first.at });
        }
        let own = context_bytes(text, &anchor, &self.rule, &mut self.spare)?;
        let (own_left, own_right) = own.split_at(anchor.far as usize);
        let (first_left, first_right) = self.text.split_at(first.far as usize);
        let most = common_suffix(own_left, first_left);
        let right = common_prefix(own_right, first_right);
        let byte_left = own_left.iter().rev().nth(most).copied().unwrap_or_default();
        let byte_right = own_right.get(right).copied().unwrap_or_default();
        let (least, most) = ((length - right as u64) as u32, most as u32);
        if least <= most {
            let place = |at: u64, distance: u32| at - u64::from(distance);
            let end = place(anchor.at, least) + length;
            found(Interval { start: place(anchor.at, most), end, first: place(first.at, most) })?;
            if self.near.max(least) <= self.far.min(most) {
                (self.near, self.far) = (self.near.max(least), self.far.min(most));
                self.count += 1;
            }
        }
        if anchor.far > most {
            let key = other_key(anchor.key, true, most, byte_left);
            rest(Anchor { key, near: anchor.near.max(most + 1), ..anchor })?;
        }
        if least > anchor.near && most >= anchor.near {
            let key = other_key(anchor.key, false, right as u32, byte_right);
            rest(Anchor { key, far: anchor.far.min(most).min(least - 1), ..anchor })?;
        }
        Ok(())
    }

    /// All have been taken: the resolver is told what repeats.
    pub fn end(self, resolver: &mut Resolver) {
        if let Some(first) = self.first.filter(|_| !self.rule.is_tiny()) {
            let at = first.at - u64::from(self.far);
            let len = u64::from(self.far - self.near) + self.rule.min_length;
            resolver.note(Passage { at, len, count: self.count });
        }
    }
}

/// The key of what differs on the right or on the left, behind so many bytes, by this byte.
fn other_key(key: u64, on_left: bool, behind: u32, byte: u8) -> u64 {
    mix(key ^ mix(u64::from(on_left) << 40 | u64::from(behind) << 8 | u64::from(byte)))
}
