//! Decides how often and when a request to a store is retried.

use super::super::retry::{jitter, RetryReason};
use super::gate::HostGate;
use super::{NetworkLimits, ACTIVITY};
use gristmill_core::{Failure, Outcome};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{sleep, Instant};

/// Maximum number of tries without a byte of progress.
const MAX_TRIES: u32 = 10;
/// The same for a host that has never answered.
const MAX_FIRST_TRIES: u32 = 3;
/// The longest pause that the host did not request.
const MAX_PAUSE: Duration = Duration::from_secs(20);

/// Counts the tries of one request.
pub(in crate::remote) struct RetryLimiter {
    limits: NetworkLimits,
    gate: Arc<HostGate>,
    tries: u32,
    /// Time at which the first try started, or the last byte arrived.
    progress: Instant,
}

impl RetryLimiter {
    pub(super) fn new(limits: NetworkLimits, gate: Arc<HostGate>) -> Self {
        Self { limits, gate, tries: 0, progress: Instant::now() }
    }

    /// Resets the count, because new bytes arrived.
    pub(in crate::remote) fn reset(&mut self) {
        self.tries = 0;
        self.progress = Instant::now();
    }

    /// Waits before the next try. A pause that the host requested applies to all its requests.
    ///
    /// # Errors
    /// There is no next try. The failure has no subject and no hint.
    pub(in crate::remote) async fn wait(&mut self, reason: &RetryReason) -> Outcome<()> {
        self.tries += 1;
        let (has_answered, has_worked) = self.gate.has_answered();
        let max_tries = if has_answered { MAX_TRIES } else { MAX_FIRST_TRIES };
        let max_time = if has_worked { self.limits.patience } else { self.limits.first_patience };
        let pause = (self.limits.base_pause * (1 << (self.tries - 1).min(16))).min(MAX_PAUSE).mul_f64(0.5 + jitter());
        let is_last = self.tries >= max_tries || self.gate.is_given_up();
        if is_last || self.progress.elapsed() + pause > max_time {
            self.gate.give_up();
            let tries = if self.tries == 1 { "1 try".to_owned() } else { format!("{} tries", self.tries) };
            return Err(Failure::environment(ACTIVITY, format!("{}, after {tries}", reason.why)));
        }
        sleep(pause).await;
        Ok(())
    }
}
