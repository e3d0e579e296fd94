//! Requests of this process to stores, and the bytes that they moved.

use gristmill_core::Mutex;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

static REQUESTS_SENT: AtomicUsize = AtomicUsize::new(0);
static REQUESTS_BEGUN: AtomicU64 = AtomicU64::new(0);
/// Host and start time of the requests without a response, by their number.
static UNANSWERED: Mutex<UnansweredRequests> = Mutex::new(BTreeMap::new());
static BYTES_RECEIVED: AtomicU64 = AtomicU64::new(0);
static BYTES_SENT: AtomicU64 = AtomicU64::new(0);

/// The requests of the process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Requests in progress.
    pub requests: usize,
    /// Requests that were started.
    pub begun: u64,
    /// Received bytes of bodies.
    pub received: u64,
    /// Sent bytes of bodies.
    pub sent: u64,
}

impl Traffic {
    /// Returns the difference to an earlier reading.
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

/// Returns the counts of this process so far.
pub fn traffic() -> Traffic {
    Traffic {
        requests: REQUESTS_SENT.load(Ordering::Relaxed),
        begun: REQUESTS_BEGUN.load(Ordering::Relaxed),
        received: BYTES_RECEIVED.load(Ordering::Relaxed),
        sent: BYTES_SENT.load(Ordering::Relaxed),
    }
}

type UnansweredRequests = BTreeMap<u64, (String, Instant)>;

/// Returns the host, safe to show, whose response to a request has been awaited the longest, if it is at least this long.
pub fn silent_host(least: Duration) -> Option<String> {
    let unanswered = UNANSWERED.lock();
    let (_, (host, begin)) = unanswered.first_key_value()?;
    (begin.elapsed() >= least).then(|| host.clone())
}

/// A request that is in progress until it is dropped.
#[cfg(feature = "remote")]
pub(crate) struct CountedRequest {
    number: u64,
}

#[cfg(feature = "remote")]
impl CountedRequest {
    pub(crate) fn begin(host: &str) -> Self {
        REQUESTS_SENT.fetch_add(1, Ordering::Relaxed);
        let number = REQUESTS_BEGUN.fetch_add(1, Ordering::Relaxed);
        let host = gristmill_core::text::display_safe(host).into_owned();
        UNANSWERED.lock().insert(number, (host, Instant::now()));
        Self { number }
    }

    /// Records that the response has started.
    pub(crate) fn set_answered(&self) {
        UNANSWERED.lock().remove(&self.number);
    }
}

#[cfg(feature = "remote")]
impl Drop for CountedRequest {
    fn drop(&mut self) {
        self.set_answered();
        REQUESTS_SENT.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(feature = "remote")]
pub(crate) fn count_received(bytes: usize) {
    BYTES_RECEIVED.fetch_add(bytes as u64, Ordering::Relaxed);
}

#[cfg(feature = "remote")]
pub(crate) fn count_sent(bytes: usize) {
    BYTES_SENT.fetch_add(bytes as u64, Ordering::Relaxed);
}
