//! Assigns windows to anchors with a sliding minimum over hashes.

/// An anchor and the windows that it owns, as positions in the document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OwnedWindows {
    /// Position of the anchor.
    pub at: u64,
    pub hash: u64,
    /// Position of the first window that the anchor owns.
    pub low: u64,
    /// Position of the last window that the anchor owns.
    pub high: u64,
}

/// Assigns each window to the leftmost of its pieces with the smallest hash. Pieces must come in text order. Pieces may be omitted if each
/// window has a piece that is not greater than all its omitted ones.
///
/// Stores at most `w` pieces; in ordinary text only a few.
pub(super) struct Owners {
    /// Number of pieces in a window.
    w: u64,
    /// Pieces that may still be a minimum, with non-decreasing hashes. Those before `head` are finished.
    queue: Vec<(u64, u64)>,
    head: usize,
    /// The first window without an owner.
    next: u64,
}

/// Maximum number of finished pieces in the queue, which are removed together.
const MAX_FINISHED: usize = 1024;

impl Owners {
    pub(super) fn new(w: usize) -> Self {
        Self { w: w as u64, queue: Vec::new(), head: 0, next: 0 }
    }

    /// Starts another document, or continues the same one at this window, whose pieces must all follow.
    pub(super) fn start_at(&mut self, window: u64) {
        self.queue.clear();
        (self.head, self.next) = (0, window);
    }

    /// Returns the first window without an owner.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Adds the next piece. Appends windows whose owner is then known to `owned`.
    #[inline]
    pub(super) fn push(&mut self, at: u64, hash: u64, owned: &mut Vec<OwnedWindows>) {
        // Windows before `bound` do not include the piece.
        let bound = (at + 1).saturating_sub(self.w);
        self.pass(bound, owned);
        while let Some(&(last, greater)) = self.queue.get(self.head..).and_then(<[_]>::last) {
            if greater <= hash {
                break;
            }
            if self.queue.len() == self.head + 1 {
                if self.next < bound {
                    owned.push(OwnedWindows { at: last, hash: greater, low: self.next, high: bound - 1 });
                    self.next = bound;
                }
                self.head = 0;
                self.queue.clear();
            } else {
                self.queue.pop();
            }
        }
        if self.head > MAX_FINISHED && self.head > self.queue.len() / 2 {
            self.queue.drain(..self.head);
            self.head = 0;
        }
        self.queue.push((at, hash));
    }

    /// Ends a document of `windows` windows.
    pub(super) fn end(&mut self, windows: u64, owned: &mut Vec<OwnedWindows>) {
        self.pass(windows, owned);
        if let Some(&(at, hash)) = self.queue.get(self.head) {
            if self.next < windows {
                owned.push(OwnedWindows { at, hash, low: self.next, high: windows - 1 });
                self.next = windows;
            }
        }
    }

    /// Drops pieces before `bound`.
    #[inline]
    fn pass(&mut self, bound: u64, owned: &mut Vec<OwnedWindows>) {
        while let Some(&(at, hash)) = self.queue.get(self.head) {
            if at >= bound {
                break;
            }
            owned.push(OwnedWindows { at, hash, low: self.next, high: at });
            self.next = at + 1;
            self.head += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computes the owner of every window by comparing all of its pieces.
    fn slowly(hashes: &[u64], w: usize) -> Vec<usize> {
        hashes
            .windows(w)
            .enumerate()
            .map(|(s, window)| s + window.iter().enumerate().min_by_key(|(at, hash)| (**hash, *at)).unwrap().0)
            .collect()
    }

    #[test]
    fn window_owners_match_a_search_over_all_pieces() {
        for seed in 0..400u64 {
            let mix = |n: u64| super::super::window_hash::mix(seed << 32 | n);
            let w = 1 + (mix(1) % 12) as usize;
            let few = 1 + mix(2) % 20;
            let hashes: Vec<u64> = (0..mix(3) % 3000).map(|at| mix(at + 10) % few).collect();
            let mut owners = Owners::new(w);
            let mut owned = Vec::new();
            for (at, hash) in hashes.iter().enumerate() {
                owners.push(at as u64, *hash, &mut owned);
            }
            let windows = (hashes.len() + 1).saturating_sub(w);
            owners.end(windows as u64, &mut owned);
            let mut given = Vec::new();
            for one in &owned {
                assert_eq!(one.low, given.len() as u64);
                given.resize(one.high as usize + 1, one.at as usize);
            }
            assert_eq!(given, slowly(&hashes, w), "{seed} {w}");
        }
    }
}
