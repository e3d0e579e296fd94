//! Runs work on one thread while the calling thread observes it.

use gristmill_core::{Cancel, Failure, Outcome};
use std::sync::mpsc::{channel, RecvTimeoutError};
use std::time::Duration;

/// Interval between two observations.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Runs `work` on its own thread, and calls `look` on the calling thread about twenty times per second until `work` ends.
pub fn watched<T: Send>(work: impl FnOnce() -> Outcome<T> + Send, mut look: impl FnMut()) -> Outcome<T> {
    let (sender, done) = channel::<()>();
    let cancel = Cancel::of_thread();
    std::thread::scope(|scope| {
        let worker = scope.spawn(move || {
            // Dropped at the end of the thread, even after a panic, which wakes the observing thread.
            let _sender = sender;
            let _waits = cancel.begin_wait_scope();
            work()
        });
        while done.recv_timeout(POLL_INTERVAL) == Err(RecvTimeoutError::Timeout) {
            look();
        }
        worker.join().unwrap_or_else(|_| {
            Err(Failure::environment("the run", "a worker thread panicked")
                .with_hint("please report it with the output of `gristmill bug-report`"))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn returns_result_and_polls_meanwhile() {
        let mut looks = 0;
        let result = watched(
            || {
                std::thread::sleep(POLL_INTERVAL * 4);
                Ok(7)
            },
            || looks += 1,
        );
        assert_eq!(result, Ok(7));
        assert!(looks >= 1);
    }

    #[test]
    fn a_panic_becomes_a_failure() {
        let result: Outcome<()> = watched(|| panic!("on purpose"), || {});
        assert_eq!(result.unwrap_err().class.code(), 3);
    }
}
