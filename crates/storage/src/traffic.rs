//! Requests of this process to stores, and the bytes that they moved.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

static REQUESTS: AtomicUsize = AtomicUsize::new(0);
static BEGUN: AtomicU64 = AtomicU64::new(0);
static RECEIVED: AtomicU64 = AtomicU64::new(0);
static SENT: AtomicU64 = AtomicU64::new(0);

/// The requests of the process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Requests that are under way.
    pub requests: usize,
    /// Requests that were begun.
    pub begun: u64,
    /// Bytes of the bodies that came.
    pub received: u64,
    /// Bytes of the bodies that were sent.
    pub sent: u64,
}

impl Traffic {
    /// Returns what was begun and moved after an earlier reading.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self {
            begun: self.begun.saturating_sub(before.begun),
            received: self.received.saturating_sub(before.received),
            sent: self.sent.saturating_sub(before.sent),
            ..self
        }
    }
}

/// Returns the requests so far.
pub fn traffic() -> Traffic {
    Traffic {
        requests: REQUESTS.load(Ordering::Relaxed),
        begun: BEGUN.load(Ordering::Relaxed),
        received: RECEIVED.load(Ordering::Relaxed),
        sent: SENT.load(Ordering::Relaxed),
    }
}

/// A request that is under way until it is dropped.
#[cfg(feature = "remote")]
pub(crate) struct CountedRequest(());

#[cfg(feature = "remote")]
impl CountedRequest {
    pub(crate) fn begin() -> Self {
        REQUESTS.fetch_add(1, Ordering::Relaxed);
        BEGUN.fetch_add(1, Ordering::Relaxed);
        Self(())
    }
}

#[cfg(feature = "remote")]
impl Drop for CountedRequest {
    fn drop(&mut self) {
        REQUESTS.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(feature = "remote")]
pub(crate) fn count_received(bytes: usize) {
    RECEIVED.fetch_add(bytes as u64, Ordering::Relaxed);
}

#[cfg(feature = "remote")]
pub(crate) fn count_sent(bytes: usize) {
    SENT.fetch_add(bytes as u64, Ordering::Relaxed);
}
