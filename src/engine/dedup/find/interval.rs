//! Stretches of removable text.

/// Bytes `[start, end)` that are removable; inside one document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// Position of the first byte.
    pub start: u64,
    /// Position behind the last byte.
    pub end: u64,
    /// An earlier place of the window at `start`, as a rule the first one: the copy that stays. Under [`Keep::None`] and for the
    /// first place of a window it may be `start` itself. Only for people to look at: it may depend on the order of work.
    ///
    /// [`Keep::None`]: crate::model::dedup::Keep::None
    pub first: u64,
}

/// Sorts intervals and joins those that overlap or touch. The order in which they come does not matter. A range of the result starts
/// where its first part started, and keeps that part's [`first`](Interval::first).
pub fn merge(intervals: &mut Vec<Interval>) {
    // Where several start together, the smallest place is taken, so that the order of work does not show.
    intervals.sort_unstable_by_key(|found| (found.start, found.first, found.end));
    intervals.dedup_by(|later, joined| {
        let joins = later.start <= joined.end;
        if joins {
            joined.end = joined.end.max(later.end);
        }
        joins
    });
}
