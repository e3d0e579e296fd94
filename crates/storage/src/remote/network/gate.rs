//! Limits the number of concurrent requests to a host, and observes the pauses that it requests.

use super::NetworkLimits;
use gristmill_core::Mutex;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{sleep_until, timeout, Instant};

/// Initial number of concurrent requests.
const FIRST_LIMIT: f64 = 16.0;
/// Time without a refusal after which the limit is raised by one request.
const RAISE_EVERY: Duration = Duration::from_millis(100);
/// Factor of the limit after a refusal.
const LIMIT_DECREASE_FACTOR: f64 = 0.7;

/// Admits the requests of one host.
pub(in crate::remote) struct HostGate {
    max: f64,
    state: Mutex<GateState>,
    freed: Notify,
}

struct GateState {
    limit: f64,
    /// Time of the last change of the limit.
    changed: Instant,
    /// Time at which the limit was last lowered.
    lowered: Option<Instant>,
    active: usize,
    /// End of the pause that the host requested.
    paused_until: Instant,
    has_answered: bool,
    /// Whether the host has ever answered without a server error.
    has_worked: bool,
    /// Whether a request has failed because the host has never worked.
    is_given_up: bool,
}

/// The permission for one request in progress; returned when it is dropped.
pub(in crate::remote) struct Slot(Arc<HostGate>);

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.state.lock().active -= 1;
        self.0.freed.notify_one();
    }
}

impl HostGate {
    pub(super) fn new(connections: usize) -> Self {
        let max = connections.max(1) as f64;
        let now = Instant::now();
        let state = GateState {
            limit: FIRST_LIMIT.min(max),
            changed: now,
            lowered: None,
            active: 0,
            paused_until: now,
            has_answered: false,
            has_worked: false,
            is_given_up: false,
        };
        Self { max, state: Mutex::new(state), freed: Notify::new() }
    }

    /// Waits until another request may be sent to the host.
    pub(super) async fn wait_for_slot(self: &Arc<Self>) -> Slot {
        loop {
            let (paused_until, now) = {
                let mut state = self.state.lock();
                let now = Instant::now();
                let periods = now.duration_since(state.changed).as_millis() / RAISE_EVERY.as_millis();
                if periods > 0 {
                    state.limit = (state.limit + periods as f64).min(self.max);
                    state.changed = now;
                }
                if state.paused_until <= now && (state.active as f64) < state.limit.floor() {
                    state.active += 1;
                    if (state.active as f64) < state.limit.floor() {
                        self.freed.notify_one();
                    }
                    return Slot(Arc::clone(self));
                }
                (state.paused_until, now)
            };
            match paused_until > now {
                true => sleep_until(paused_until).await,
                // Wakes up even if no request ends, since the limit grows with time.
                false => _ = timeout(RAISE_EVERY, self.freed.notified()).await,
            }
        }
    }

    /// Lowers the limit. With a pause, no request of the host starts before its end.
    pub(super) fn refuse(&self, pause: Option<Duration>) {
        let mut state = self.state.lock();
        let now = Instant::now();
        // Refusals of requests that were in progress together count once.
        if state.lowered.is_none_or(|lowered| now.duration_since(lowered) >= RAISE_EVERY) {
            state.limit = (state.limit * LIMIT_DECREASE_FACTOR).max(1.0);
            state.lowered = Some(now);
        }
        state.changed = now;
        if let Some(pause) = pause {
            state.paused_until = state.paused_until.max(now + pause);
        }
    }

    /// Records an answer. `is_working`: it is not a server error.
    pub(super) fn set_answered(&self, is_working: bool) {
        let mut state = self.state.lock();
        state.has_answered = true;
        state.has_worked |= is_working;
        state.is_given_up &= !is_working;
    }

    /// Records that a request has failed, for a host that has never worked.
    pub(super) fn give_up(&self) {
        let mut state = self.state.lock();
        state.is_given_up = !state.has_worked;
    }

    /// Whether the next request to a host that has never worked gets one short try, because earlier requests have already waited.
    pub(super) fn is_given_up(&self) -> bool {
        self.state.lock().is_given_up
    }

    /// Returns the time limit for the head of an answer.
    pub(super) fn first_byte(&self, limits: &NetworkLimits) -> Duration {
        let state = self.state.lock();
        match (state.has_answered, state.is_given_up) {
            (true, _) => limits.first_byte,
            (false, false) => limits.first_byte.min(limits.first_patience),
            (false, true) => limits.connect,
        }
    }

    /// Whether the host has ever answered, and whether it has ever worked.
    pub(super) fn has_answered(&self) -> (bool, bool) {
        let state = self.state.lock();
        (state.has_answered, state.has_worked)
    }
}
