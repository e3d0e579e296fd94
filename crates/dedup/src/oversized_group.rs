//! Resolves keys with more contexts than fit into memory. Contexts are processed one by one in text order; if windows are counted, in two
//! passes, the first of which counts.
//!
//! All contexts are compared with the first one. The rest of a context, after the first byte that differs, can only equal windows of
//! contexts that differ at the same position by the same byte: it gets its own key, and is processed again with the other contexts of that
//! key.

use super::anchor::{Anchor, Record};
use super::bytes::{common_prefix, common_suffix};
use super::class::{overlaps, Part};
use super::context::context_bytes;
use super::interval::Interval;
use super::passages::Passage;
use super::resolve::Resolver;
use super::window_hash::mix;
use super::{Rule, TextReader};
use gristmill_core::dedup::Keep;
use gristmill_core::Outcome;

/// The contexts of one key.
pub struct OversizedGroup {
    rule: Rule,
    first: Option<Anchor>,
    /// The text of all windows of the first context.
    text: Vec<u8>,
    /// The distances at which all contexts so far have windows equal to those of the first context, and the number of these windows.
    near: u32,
    far: u32,
    count: u64,
    /// Differences of the number of windows between consecutive distances, from the smallest distance of the first context. Used only if
    /// windows are counted.
    changes: Vec<i64>,
    /// Distances with enough windows; set after counting.
    sufficient_distances: Vec<(u32, u32)>,
    is_counted: bool,
    spare: Vec<u8>,
}

/// The agreement of a context with the first one.
struct FirstAgreement {
    /// The distances at which both have equal windows; none if `least` is greater than `most`.
    least: u32,
    most: u32,
    /// Number of equal bytes on the right side.
    right: u32,
    /// The bytes of the context that differ.
    byte_left: u8,
    byte_right: u8,
}

impl OversizedGroup {
    /// Returns an empty group for a rule. Unless the rule is [plain](Rule::is_plain), all contexts must be counted before any is pushed.
    pub fn new(rule: &Rule) -> Self {
        let (changes, enough, spare) = (Vec::new(), Vec::new(), Vec::new());
        let (text, is_counted) = (Vec::new(), false);
        Self {
            rule: *rule,
            first: None,
            text,
            near: 0,
            far: 0,
            count: 1,
            changes,
            sufficient_distances: enough,
            is_counted,
            spare,
        }
    }

    /// Stores the first context. Its windows are kept, unless the rule keeps none.
    fn begin<T: TextReader + ?Sized>(&mut self, anchor: Anchor, text: &T) -> Outcome<()> {
        if !self.rule.is_tiny() {
            self.text = context_bytes(text, &anchor, &self.rule, &mut self.spare)?.to_vec();
        }
        (self.first, self.near, self.far) = (Some(anchor), anchor.near, anchor.far);
        Ok(())
    }

    fn compare<T: TextReader + ?Sized>(
        &mut self,
        first: &Anchor,
        anchor: &Anchor,
        text: &T,
    ) -> Outcome<FirstAgreement> {
        let own = context_bytes(text, anchor, &self.rule, &mut self.spare)?;
        let (own_left, own_right) = own.split_at(anchor.far as usize);
        let (first_left, first_right) = self.text.split_at(first.far as usize);
        let most = common_suffix(own_left, first_left);
        let right = common_prefix(own_right, first_right);
        Ok(FirstAgreement {
            least: (self.rule.min_length - right as u64) as u32,
            most: most as u32,
            right: right as u32,
            byte_left: own_left.iter().rev().nth(most).copied().unwrap_or_default(),
            byte_right: own_right.get(right).copied().unwrap_or_default(),
        })
    }

    /// Counts a context. Contexts must be counted in text order, and pushed in the same order after all have been counted.
    ///
    /// # Errors
    /// The errors of `text`.
    pub fn count<T: TextReader + ?Sized>(&mut self, record: &impl Record, text: &T) -> Outcome<()> {
        let anchor = record.unpack();
        let (least, most) = match self.first {
            None => {
                self.begin(anchor, text)?;
                self.changes = vec![0; (anchor.far - anchor.near) as usize + 2];
                (anchor.near, anchor.far)
            }
            Some(first) => {
                let agreed = self.compare(&first, &anchor, text)?;
                (agreed.least, agreed.most)
            }
        };
        if least > most {
            return Ok(());
        }
        let nearest = self.first.map_or(0, |first| first.near);
        for (distance, by) in [(least, 1), (most + 1, -1)] {
            if let Some(change) = self.changes.get_mut(distance.saturating_sub(nearest) as usize) {
                *change += by * i64::from(anchor.copies);
            }
        }
        Ok(())
    }

    /// Ends counting and determines the distances with enough windows.
    fn end_counting(&mut self, nearest: u32) {
        let (mut total, mut since) = (0, None);
        for (distance, change) in (nearest..).zip(std::mem::take(&mut self.changes)) {
            total += change;
            match (since, total as u64 >= self.rule.min_count) {
                (None, true) => since = Some(distance),
                (Some(near), false) => {
                    self.sufficient_distances.push((near, distance - 1));
                    since = None;
                }
                _ => {}
            }
        }
        self.is_counted = true;
    }

    /// Reports the removable windows of a context: those at distances `least` to `most` with enough windows.
    fn report_removable<F>(
        &self,
        anchor: &Anchor,
        (least, most): (u32, u32),
        is_first: bool,
        found: &mut F,
    ) -> Outcome<()>
    where
        F: FnMut(Interval) -> Outcome<()>,
    {
        let Anchor { at, copies, period, .. } = *anchor;
        let part = Part { at, near: least, far: most, copies, period };
        let stays = is_first && self.rule.keep == Keep::First;
        if stays && copies < 2 {
            return Ok(());
        }
        let from = self.first.filter(|_| self.rule.keep == Keep::First).map_or(at, |first| first.at);
        for (near, far) in overlaps(&self.sufficient_distances, least, most) {
            found(part.interval(u32::from(stays), near, far, self.rule.min_length, from - u64::from(far)))?;
        }
        Ok(())
    }

    /// Processes the next context. Passes removable ranges to `found`, and the rest of the context with another key to `rest`.
    ///
    /// # Errors
    /// The errors of `text`, `found` and `rest`.
    pub fn push_context<T, F, M>(&mut self, record: &impl Record, text: &T, found: &mut F, rest: &mut M) -> Outcome<()>
    where
        T: TextReader + ?Sized,
        F: FnMut(Interval) -> Outcome<()>,
        M: FnMut(Anchor) -> Outcome<()>,
    {
        let anchor = record.unpack();
        let length = self.rule.min_length;
        let Some(first) = self.first else { return self.begin(anchor, text) };
        let is_plain = self.rule.is_plain();
        if !is_plain && !self.is_counted {
            // The second pass starts with the first context again.
            self.end_counting(first.near);
            self.count = u64::from(anchor.copies);
            return self.report_removable(&anchor, (anchor.near, anchor.far), true, found);
        }
        if self.rule.is_tiny() {
            return found(Interval { start: anchor.at, end: anchor.at + length, first: first.at });
        }
        let FirstAgreement { least, most, right, byte_left, byte_right } = self.compare(&first, &anchor, text)?;
        if least <= most {
            if is_plain {
                let place = |at: u64, distance: u32| at - u64::from(distance);
                let end = place(anchor.at, least) + length;
                found(Interval { start: place(anchor.at, most), end, first: place(first.at, most) })?;
            } else {
                self.report_removable(&anchor, (least, most), false, found)?;
            }
            if self.near.max(least) <= self.far.min(most) {
                (self.near, self.far) = (self.near.max(least), self.far.min(most));
                self.count += u64::from(anchor.copies);
            }
        }
        if anchor.far > most {
            let key = other_key(anchor.key, true, most, byte_left);
            rest(Anchor { key, near: anchor.near.max(most + 1), ..anchor })?;
        }
        if least > anchor.near && most >= anchor.near {
            let key = other_key(anchor.key, false, right, byte_right);
            rest(Anchor { key, far: anchor.far.min(most).min(least - 1), ..anchor })?;
        }
        Ok(())
    }

    /// Ends the group and adds its repeated passage to the resolver.
    pub fn end(self, resolver: &mut Resolver) {
        if let Some(first) = self.first.filter(|_| !self.rule.is_tiny()) {
            let at = first.at - u64::from(self.far);
            let len = u64::from(self.far - self.near) + self.rule.min_length;
            resolver.note(Passage { at, len, count: self.count });
        }
    }
}

/// Returns the key for contexts that differ from the first one on this side, after `offset` bytes, by this byte.
fn other_key(key: u64, on_left: bool, offset: u32, byte: u8) -> u64 {
    mix(key ^ mix(u64::from(on_left) << 40 | u64::from(offset) << 8 | u64::from(byte)))
}
