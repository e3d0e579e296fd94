//! Compares the content of an object that is read in order with the checksum that its store has.

use gristmill_core::FileStamp;

/// Computes the checksum of the content of an object in order, and compares it with that of its store.
pub trait ContentCheck: Send {
    /// Starts again from the beginning of the content.
    fn restart(&mut self);

    /// Adds the next bytes.
    fn add(&mut self, bytes: &[u8]);

    /// Whether the bytes have the checksum of the store.
    fn is_equal(&self) -> bool;

    /// Returns the sum of the bytes, if it is not known whether the store states sums of this kind.
    fn unconfirmed_sum(&self) -> Option<Vec<u8>> {
        None
    }

    /// Records that what the store states is no checksum: the object was read twice, with the same sum.
    fn refute(&self) {}
}

/// Returns the version of an object and its check, when the answer of the store has arrived; `None` if the store has no checksum.
pub type PendingCheck = Box<dyn FnOnce() -> Option<(FileStamp, Box<dyn ContentCheck>)> + Send>;

/// The check of one object while it is read.
pub(super) struct RunningCheck {
    /// `None` if there is nothing to compare, or after bytes were skipped.
    check: Option<Box<dyn ContentCheck>>,
    /// The sum of the previous read.
    previous: Option<Vec<u8>>,
    size: u64,
    /// Number of bytes added.
    at: u64,
}

impl RunningCheck {
    /// Starts the check of an object with this stamp. A check of another version is not used. `previous` is the unconfirmed sum of a previous read.
    pub(super) fn of(pending: Option<PendingCheck>, stamp: FileStamp, previous: Option<Vec<u8>>) -> Self {
        let found = pending.and_then(|answer| answer());
        let is_same = |(version, _): &(FileStamp, _)| (version.bytes, version.inode) == (stamp.bytes, stamp.inode);
        Self { check: found.filter(is_same).map(|(_, check)| check), previous, size: stamp.bytes, at: 0 }
    }

    /// Returns the sum of the bytes, if it is not known whether the store states sums of this kind.
    pub(super) fn unconfirmed_sum(&self) -> Option<Vec<u8>> {
        self.check.as_ref()?.unconfirmed_sum()
    }

    /// Whether bytes are compared.
    pub(super) fn is_active(&self) -> bool {
        self.check.is_some()
    }

    /// Adds bytes that were read from an offset; bytes that were added before are skipped. Returns `false` if the content is complete and
    /// has another checksum.
    pub(super) fn add(&mut self, bytes: &[u8], offset: u64) -> bool {
        let Some(check) = &mut self.check else { return true };
        if offset == 0 {
            check.restart();
            self.at = 0;
        }
        let known = self.at.checked_sub(offset).and_then(|known| usize::try_from(known).ok());
        let Some(known) = known else {
            self.check = None;
            return true;
        };
        let Some(new) = bytes.get(known..).filter(|new| !new.is_empty()) else { return true };
        check.add(new);
        self.at += new.len() as u64;
        if self.at < self.size || check.is_equal() {
            return true;
        }
        let is_refuted = self.previous.is_some() && check.unconfirmed_sum() == self.previous;
        if is_refuted {
            check.refute();
        }
        is_refuted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the sum of all bytes, which are an unconfirmed sum.
    struct Sum(u64, u64);

    impl ContentCheck for Sum {
        fn restart(&mut self) {
            self.0 = 0;
        }

        fn add(&mut self, bytes: &[u8]) {
            self.0 += bytes.iter().map(|byte| u64::from(*byte)).sum::<u64>();
        }

        fn is_equal(&self) -> bool {
            self.0 == self.1
        }

        fn unconfirmed_sum(&self) -> Option<Vec<u8>> {
            Some(self.0.to_be_bytes().to_vec())
        }
    }

    fn check(expected: u64, bytes: u64) -> RunningCheck {
        let stamp = FileStamp { bytes: 4, modified_ns: 0, inode: 7 };
        let pending: PendingCheck = Box::new(move || Some((stamp, Box::new(Sum(0, expected)))));
        RunningCheck::of(Some(pending), FileStamp { bytes, modified_ns: 1, inode: 7 }, None)
    }

    #[test]
    fn bytes_that_are_read_in_order_are_compared_at_the_end() {
        for (expected, is_equal) in [(10, true), (11, false)] {
            let mut running = check(expected, 4);
            assert!(running.add(&[1, 2], 0));
            assert!(running.add(&[2], 1), "read again");
            assert_eq!(running.add(&[2, 3, 4], 1), is_equal);
            assert!(running.add(&[1, 2, 3], 0), "from the beginning again");
            assert_eq!(running.add(&[4], 3), is_equal);
        }
    }

    #[test]
    fn content_that_is_read_twice_with_the_same_unconfirmed_sum_is_accepted() {
        let mut first = check(11, 4);
        assert!(!first.add(&[1, 2, 3, 4], 0));
        let previous = first.unconfirmed_sum();
        for (bytes, is_accepted) in [([1, 2, 3, 4], true), ([1, 2, 3, 5], true), ([1, 2, 3, 6], false)] {
            let mut again = RunningCheck { previous: previous.clone(), ..check(11, 4) };
            assert_eq!(again.add(&bytes, 0), is_accepted, "{bytes:?}");
        }
    }

    #[test]
    fn other_versions_and_skipped_bytes_are_not_compared() {
        assert!(!check(1, 5).is_active());
        assert!(!RunningCheck::of(None, FileStamp::default(), None).is_active());
        let mut running = check(1, 4);
        assert!(running.add(&[1], 0) && running.add(&[4], 3));
        assert!(!running.is_active());
    }
}
