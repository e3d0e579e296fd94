//! Decides how often and when a request is retried.

use gristmill_core::{Failure, Outcome};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Maximum number of tries of a request without a new byte.
const MAX_TRIES: u32 = 5;
/// Maximum pause that a server may request.
const MAX_REQUESTED_PAUSE: Duration = Duration::from_secs(300);
/// Interval at which a pause checks for cancellation.
const CANCEL_CHECK_EVERY: Duration = Duration::from_millis(50);

/// Returns an error if the run was cancelled, which ends the request.
pub(super) type Check<'a> = &'a (dyn Fn() -> Outcome<()> + Sync);

/// Why a try failed, although a later one may succeed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RetryReason {
    /// The reason, as the end of a message.
    pub(super) why: String,
    /// Pause that the server requests.
    pub(super) pause: Option<Duration>,
    /// Hint if no later try succeeds, if the reason has one.
    pub(super) hint: Option<String>,
}

impl RetryReason {
    pub(super) fn new(why: impl Into<String>) -> Self {
        Self { why: why.into(), pause: None, hint: None }
    }
}

/// Counts the tries of one request.
#[derive(Debug)]
pub(super) struct RetryPolicy {
    /// Pause before the second try; doubled for each further one.
    base_pause: Duration,
    tries: u32,
}

impl RetryPolicy {
    pub(super) fn new(base_pause: Duration) -> Self {
        Self { base_pause, tries: 0 }
    }

    /// Resets the count, because the last attempt received new bytes.
    pub(super) fn reset(&mut self) {
        self.tries = 0;
    }

    /// Waits before the next try.
    ///
    /// # Errors
    /// There is no next try, or the run was cancelled. The failure has no subject.
    pub(super) fn wait(&mut self, what: &str, reason: &RetryReason, check: Check<'_>) -> Outcome<()> {
        self.tries += 1;
        if self.tries >= MAX_TRIES {
            let why = format!("{}, after {MAX_TRIES} tries", reason.why);
            let usual = "run the same command again later: what was downloaded is kept, and the rest is resumed";
            return Err(Failure::environment(what, why).with_hint(reason.hint.as_deref().unwrap_or(usual)));
        }
        if let Some(pause) = reason.pause.filter(|pause| *pause > MAX_REQUESTED_PAUSE) {
            let why = format!("{}, and asks for a pause of {} seconds", reason.why, pause.as_secs());
            return Err(Failure::environment(what, why).with_hint("run the same command again after that time"));
        }
        let usual = self.base_pause * (1 << (self.tries - 1));
        sleep(reason.pause.unwrap_or_else(|| usual.mul_f64(0.75 + jitter() / 2.0)), check)
    }
}

/// Returns a number from 0 to 1 that differs between processes that started together.
pub(super) fn jitter() -> f64 {
    let nanos = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.subsec_nanos());
    f64::from((nanos ^ std::process::id().rotate_left(11)) % 1024) / 1024.0
}

fn sleep(mut rest: Duration, check: Check<'_>) -> Outcome<()> {
    while !rest.is_zero() {
        check()?;
        let part = rest.min(CANCEL_CHECK_EVERY);
        std::thread::sleep(part);
        rest -= part;
    }
    check()
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_core::Cancel;

    #[test]
    fn request_is_tried_five_times_and_progress_resets_the_count() {
        let (cancel, reason) = (Cancel::default(), RetryReason::new("the server answers 503"));
        let check = || cancel.check();
        let mut policy = RetryPolicy::new(Duration::ZERO);
        let tries = |policy: &mut RetryPolicy| (1..).find(|_| policy.wait("x", &reason, &check).is_err()).unwrap();
        assert_eq!(tries(&mut policy), 5);
        policy.reset();
        assert_eq!(tries(&mut policy), 5);
        policy.reset();
        let long = RetryReason { pause: Some(Duration::from_secs(3600)), ..reason };
        assert!(policy.wait("x", &long, &check).unwrap_err().why.contains("3600 seconds"));
        cancel.cancel();
        assert!(policy.wait("x", &RetryReason::new("y"), &check).unwrap_err().is_cancelled());
    }
}
