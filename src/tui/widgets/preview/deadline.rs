//! Decodes with a deadline: a decoder cannot be interrupted, so it runs on a separate thread and the wait is limited.

use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{mpsc, Arc};
use std::time::Duration;

/// Time limit for decoding one part.
pub const DECODE_DEADLINE: Duration = Duration::from_secs(3);
/// Maximum number of decoders that run after their deadline; beyond it no more are started, because each keeps a thread busy.
const MAX_STUCK: usize = 3;

/// Number of decoders in this process that run after their deadline.
static STUCK_THREADS: AtomicUsize = AtomicUsize::new(0);

/// Runs `work` on a separate thread and waits until `deadline`. A later result is dropped; the thread then ends by itself, because the
/// input of decoders is limited. The error is a message for the user. Must be called on a worker, never on the UI's thread.
pub fn run_until<T: Send + 'static>(
    deadline: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, String> {
    within_of(&STUCK_THREADS, deadline, work)
}

/// The thread runs, and its result is awaited.
const RUNNING: u8 = 0;
/// The thread runs, and is counted as stuck.
const ABANDONED: u8 = 1;
/// The thread has ended.
const ENDED: u8 = 2;

/// Dropped at the end of the thread, also after a panic.
struct ThreadEndGuard {
    state: Arc<AtomicU8>,
    stuck: &'static AtomicUsize,
}

impl Drop for ThreadEndGuard {
    fn drop(&mut self) {
        if self.state.swap(ENDED, Ordering::SeqCst) == ABANDONED {
            self.stuck.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

fn within_of<T: Send + 'static>(
    stuck: &'static AtomicUsize,
    deadline: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, String> {
    if stuck.load(Ordering::SeqCst) >= MAX_STUCK {
        return Err("decoding takes too long; no further part is decoded until the current ones have ended".into());
    }
    let (sender, receiver) = mpsc::channel();
    let state = Arc::new(AtomicU8::new(RUNNING));
    let running = ThreadEndGuard { state: Arc::clone(&state), stuck };
    let spawned = std::thread::Builder::new().name("decoder".into()).spawn(move || {
        let _running = running;
        // Sending fails if the receiver has stopped waiting.
        let _ = sender.send(work());
    });
    if spawned.is_err() {
        return Err("no thread could be started to decode it".into());
    }
    match receiver.recv_timeout(deadline) {
        Ok(result) => Ok(result),
        Err(mpsc::RecvTimeoutError::Disconnected) => Err("its decoder failed; the part is damaged or malicious".into()),
        Err(mpsc::RecvTimeoutError::Timeout) => {
            stuck.fetch_add(1, Ordering::SeqCst);
            if state.compare_exchange(RUNNING, ABANDONED, Ordering::SeqCst, Ordering::SeqCst).is_err() {
                // The thread has ended since the deadline.
                stuck.fetch_sub(1, Ordering::SeqCst);
            }
            Err(format!("decoding took longer than {} seconds", deadline.as_secs_f64()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static HERE: AtomicUsize = AtomicUsize::new(0);

    #[test]
    fn slow_decoders_time_out_and_count_until_they_finish() {
        assert_eq!(within_of(&HERE, Duration::from_secs(60), || 7), Ok(7));
        assert!(within_of(&HERE, Duration::from_secs(60), || panic!("a decoder"))
            .unwrap_err()
            .contains("decoder failed"));
        let mut gates = Vec::new();
        for _ in 0..MAX_STUCK {
            let (open, gate) = mpsc::channel::<()>();
            gates.push(open);
            let late = within_of(&HERE, Duration::from_millis(1), move || gate.recv().is_ok());
            assert!(late.unwrap_err().contains("longer than"));
        }
        assert!(within_of(&HERE, Duration::from_secs(60), || 7).unwrap_err().contains("no further part"));
        drop(gates);
        let end = std::time::Instant::now() + Duration::from_secs(60);
        while within_of(&HERE, Duration::from_secs(60), || 7).is_err() && std::time::Instant::now() < end {
            std::thread::yield_now();
        }
        assert_eq!(within_of(&HERE, Duration::from_secs(60), || 7), Ok(7));
    }
}
