//! Classes of equal windows: determines the removable members of a class.

use super::interval::Interval;
use super::Rule;
use gristmill_core::dedup::Keep;
use gristmill_core::Outcome;

/// Windows around one anchor (or several copies of it), at distances `near` to `far` before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub at: u64,
    pub near: u32,
    pub far: u32,
    pub copies: u32,
    pub period: u32,
}

impl Part {
    /// Returns the range that is removed with the windows at distances `near` to `far` of the copies from `copy` on.
    pub(super) fn interval(&self, copy: u32, near: u32, far: u32, length: u64, first: u64) -> Interval {
        let (from, to) = (u64::from(copy), u64::from(self.copies) - 1);
        let step = u64::from(self.period);
        // The copies are so close together that their removed ranges are adjacent or overlap.
        let start = self.at + from * step - u64::from(far);
        Interval { start, end: self.at + to * step - u64::from(near) + length, first }
    }
}

/// A range of distances that occurred, and the position of its first anchor.
#[derive(Clone, Copy)]
struct DistanceRange {
    near: u32,
    far: u32,
    at: u64,
}

/// Computes classes. Owns reusable buffers.
#[derive(Default)]
pub(super) struct Classes {
    /// Ranges of distances in the parts before the current one.
    earlier: Vec<DistanceRange>,
    added: Vec<DistanceRange>,
    /// Distances, each with the number of copies that begin there; negative if they end.
    changes: Vec<(u32, i64)>,
    /// Ranges of distances with enough windows, both bounds included.
    sufficient_distances: Vec<(u32, u32)>,
}

impl Classes {
    /// Reports the removable windows. All windows at the same distance are equal, in all parts that include this distance. Parts are in
    /// text order.
    pub(super) fn report_removable<F>(&mut self, parts: &[Part], rule: &Rule, found: &mut F) -> Outcome<()>
    where
        F: FnMut(Interval) -> Outcome<()>,
    {
        self.count(parts, rule);
        if self.sufficient_distances.is_empty() {
            return Ok(());
        }
        self.earlier.clear();
        for part in parts {
            match rule.keep {
                Keep::None => {
                    for (near, far) in overlaps(&self.sufficient_distances, part.near, part.far) {
                        let first = part.at - u64::from(far);
                        found(part.interval(0, near, far, rule.min_length, first))?;
                    }
                }
                Keep::First => self.keep_first(part, rule, found)?,
            }
        }
        Ok(())
    }

    fn keep_first<F>(&mut self, part: &Part, rule: &Rule, found: &mut F) -> Outcome<()>
    where
        F: FnMut(Interval) -> Outcome<()>,
    {
        for (near, far) in overlaps(&self.sufficient_distances, part.near, part.far) {
            // For the first copy only earlier distances are removable; for further copies all are.
            let mut joined: Option<(u32, u32, u64)> = None;
            for seen in overlapping(&self.earlier, near, far) {
                let (low, high) = (seen.near.max(near), seen.far.min(far));
                joined = match joined {
                    Some((start, end, _)) if end + 1 == low => Some((start, high, seen.at)),
                    other => {
                        if let Some((near, far, at)) = other {
                            let single = Part { copies: 1, ..*part };
                            found(single.interval(0, near, far, rule.min_length, at - u64::from(far)))?;
                        }
                        Some((low, high, seen.at))
                    }
                };
            }
            if let Some((near, far, at)) = joined {
                let single = Part { copies: 1, ..*part };
                found(single.interval(0, near, far, rule.min_length, at - u64::from(far)))?;
            }
            if part.copies > 1 {
                found(part.interval(1, near, far, rule.min_length, part.at - u64::from(far)))?;
            }
        }
        self.note(part);
        Ok(())
    }

    /// Adds the distances of a part to the earlier distances.
    fn note(&mut self, part: &Part) {
        self.added.clear();
        let mut next = part.near;
        for seen in overlapping(&self.earlier, part.near, part.far) {
            if next < seen.near {
                self.added.push(DistanceRange { near: next, far: seen.near - 1, at: part.at });
            }
            next = seen.far.saturating_add(1);
        }
        if next <= part.far {
            self.added.push(DistanceRange { near: next, far: part.far, at: part.at });
        }
        for fresh in &self.added {
            let place = self.earlier.partition_point(|seen| seen.near < fresh.near);
            self.earlier.insert(place, *fresh);
        }
    }

    /// Determines the distances with enough windows.
    fn count(&mut self, parts: &[Part], rule: &Rule) {
        self.sufficient_distances.clear();
        if rule.is_plain() {
            // Every window with an earlier equal window is removable.
            self.sufficient_distances.push((0, u32::MAX - 1));
            return;
        }
        self.changes.clear();
        for part in parts {
            self.changes.push((part.near, i64::from(part.copies)));
            self.changes.push((part.far + 1, -i64::from(part.copies)));
        }
        self.changes.sort_unstable();
        let (mut total, mut since) = (0i64, None);
        for step in self.changes.chunk_by(|a, b| a.0 == b.0) {
            let at = step.first().map_or(0, |change| change.0);
            total += step.iter().map(|change| change.1).sum::<i64>();
            match (since, total as u64 >= rule.min_count) {
                (None, true) => since = Some(at),
                (Some(near), false) => {
                    self.sufficient_distances.push((near, at - 1));
                    since = None;
                }
                _ => {}
            }
        }
    }
}

/// Returns the ranges that overlap `near..=far`. `seen` must be sorted and disjoint.
fn overlapping(seen: &[DistanceRange], near: u32, far: u32) -> impl Iterator<Item = &DistanceRange> {
    let start = seen.partition_point(|seen| seen.far < near);
    seen.iter().skip(start).take_while(move |seen| seen.near <= far)
}

/// Returns the parts of `ranges` within `near..=far`. `ranges` must be sorted and disjoint.
pub(super) fn overlaps(ranges: &[(u32, u32)], near: u32, far: u32) -> impl Iterator<Item = (u32, u32)> + '_ {
    let start = ranges.partition_point(|range| range.1 < near);
    ranges
        .iter()
        .skip(start)
        .take_while(move |range| range.0 <= far)
        .map(move |range| (range.0.max(near), range.1.min(far)))
}
