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
}

/// Returns the version of an object and its check, when the answer of the store has arrived; `None` if the store has no checksum.
pub type PendingCheck = Box<dyn FnOnce() -> Option<(FileStamp, Box<dyn ContentCheck>)> + Send>;

/// The check of one object while it is read.
pub(super) struct RunningCheck {
    /// `None` if there is nothing to compare, or after bytes were skipped.
    check: Option<Box<dyn ContentCheck>>,
    size: u64,
    /// Number of bytes added.
    at: u64,
}

impl RunningCheck {
    /// Starts the check of an object with this stamp. A check of another version is not used.
    pub(super) fn of(pending: Option<PendingCheck>, stamp: FileStamp) -> Self {
        let found = pending.and_then(|answer| answer());
        let is_same = |(version, _): &(FileStamp, _)| (version.bytes, version.inode) == (stamp.bytes, stamp.inode);
        Self { check: found.filter(is_same).map(|(_, check)| check), size: stamp.bytes, at: 0 }
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
        self.at < self.size || check.is_equal()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the sum of all bytes.
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
    }

    fn check(expected: u64, bytes: u64) -> RunningCheck {
        let stamp = FileStamp { bytes: 4, modified_ns: 0, inode: 7 };
        let pending: PendingCheck = Box::new(move || Some((stamp, Box::new(Sum(0, expected)))));
        RunningCheck::of(Some(pending), FileStamp { bytes, modified_ns: 1, inode: 7 })
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
    fn other_versions_and_skipped_bytes_are_not_compared() {
        assert!(!check(1, 5).is_active());
        assert!(!RunningCheck::of(None, FileStamp::default()).is_active());
        let mut running = check(1, 4);
        assert!(running.add(&[1], 0) && running.add(&[4], 3));
        assert!(!running.is_active());
    }
}
