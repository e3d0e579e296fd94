//! Output to the terminal: a separate thread writes the frames, so that a slow terminal never delays the program.
//!
//! The event loop draws only while no output is pending ([`WriterStatus::is_free`]), so a slow terminal shows fewer frames instead of late
//! ones. On exit, unsent output is discarded; only the sequences that restore the terminal are written.

use super::event::Event;
use super::work::Wake;
use gristmill_core::Mutex;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, PoisonError};
use std::time::{Duration, Instant};

/// Number of bytes per write: at 1 KB/s, discarding the rest takes effect within half a second.
const CHUNK_BYTES: usize = 512;
/// How long exiting waits for a terminal that does not accept output.
const EXIT_TIMEOUT: Duration = Duration::from_secs(3);
/// Ends an incomplete escape sequence: CAN, then the string terminator for terminals that ignore CAN.
pub(super) const CUT: &[u8] = b"\x18\x1b\\";

#[derive(Default)]
struct WriterState {
    waiting: Vec<u8>,
    is_writing: bool,
    is_closed: bool,
    /// Whether some output has been written only partly.
    was_cut: bool,
    failure: Option<io::Error>,
}

#[derive(Default)]
struct SharedWriter {
    state: Mutex<WriterState>,
    changed: Condvar,
    /// Whether unsent output is to be discarded.
    is_discarding: AtomicBool,
}

/// The writer in use, in a static variable because any thread may have to restore the terminal after a panic.
static CURRENT: Mutex<Option<Arc<SharedWriter>>> = Mutex::new(None);

/// Discards the unsent output of the writer in use, and waits until no write is in progress. Returns whether output was cut off; the
/// terminal then needs [`CUT`].
pub(super) fn clear() -> bool {
    let current = CURRENT.lock().clone();
    current.is_some_and(|shared| shared.clear())
}

/// The sending end. `write` collects bytes; `flush` sends them without waiting.
pub(super) struct TerminalWriter {
    gathered: Vec<u8>,
    shared: Arc<SharedWriter>,
}

impl TerminalWriter {
    /// Starts the thread that writes to `out`, and wakes the frame whenever all output has been written.
    pub(super) fn start(out: impl Write + Send + 'static, wake: Wake) -> io::Result<Self> {
        let shared = Arc::new(SharedWriter::default());
        *CURRENT.lock() = Some(Arc::clone(&shared));
        let theirs = Arc::clone(&shared);
        std::thread::Builder::new().name("screen".into()).spawn(move || send(&theirs, out, &wake))?;
        Ok(Self { gathered: Vec::new(), shared })
    }

    /// Returns a handle that shows whether output is pending, wherever the writer itself is moved.
    pub(super) fn status_handle(&self) -> WriterStatus {
        WriterStatus(Arc::clone(&self.shared))
    }
}

/// A handle that shows whether a writer has pending output.
pub(super) struct WriterStatus(Arc<SharedWriter>);

impl WriterStatus {
    /// Whether all flushed bytes were written.
    pub(super) fn is_free(&self) -> bool {
        let state = self.0.state.lock();
        state.waiting.is_empty() && !state.is_writing
    }
}

impl SharedWriter {
    fn clear(&self) -> bool {
        self.is_discarding.store(true, Ordering::SeqCst);
        let end = Instant::now() + EXIT_TIMEOUT;
        let mut state = self.state.lock();
        let had_some = !state.waiting.is_empty();
        state.waiting.clear();
        while state.is_writing {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                // The terminal accepts no output. The rest must not follow the sequences that restore it.
                return true;
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        self.is_discarding.store(false, Ordering::SeqCst);
        std::mem::take(&mut state.was_cut) || had_some
    }
}

impl Write for TerminalWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.gathered.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut state = self.shared.state.lock();
        if let Some(error) = state.failure.take() {
            return Err(error);
        }
        if !self.gathered.is_empty() {
            state.waiting.append(&mut self.gathered);
            self.shared.changed.notify_all();
        }
        Ok(())
    }
}

impl Drop for TerminalWriter {
    fn drop(&mut self) {
        self.shared.state.lock().is_closed = true;
        self.shared.changed.notify_all();
    }
}

fn send(shared: &SharedWriter, mut out: impl Write, wake: &Wake) {
    loop {
        let mut state = shared.state.lock();
        while state.waiting.is_empty() {
            if state.is_closed {
                return;
            }
            state = shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let bytes = std::mem::take(&mut state.waiting);
        state.is_writing = true;
        drop(state);
        let (written, failure) = write_out(shared, &mut out, &bytes);
        let mut state = shared.state.lock();
        state.is_writing = false;
        state.was_cut |= written < bytes.len();
        state.failure = failure.or(state.failure.take());
        shared.changed.notify_all();
        drop(state);
        wake.send(Event::LineIsFree);
    }
}

fn write_out(shared: &SharedWriter, out: &mut impl Write, bytes: &[u8]) -> (usize, Option<io::Error>) {
    let mut written = 0;
    for chunk in bytes.chunks(CHUNK_BYTES) {
        if shared.is_discarding.load(Ordering::SeqCst) {
            break;
        }
        if let Err(error) = out.write_all(chunk).and_then(|()| out.flush()) {
            return (written, Some(error));
        }
        written += chunk.len();
    }
    (written, None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{channel, Receiver, Sender};

    /// A terminal that accepts a chunk only when the test allows it.
    struct SlowTerminal {
        allowed: Receiver<()>,
        taken: Sender<Vec<u8>>,
    }

    impl Write for SlowTerminal {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _ = self.allowed.recv();
            let _ = self.taken.send(bytes.to_vec());
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn slow() -> (TerminalWriter, Sender<()>, Receiver<Vec<u8>>) {
        let ((allow, allowed), (taken, seen)) = (channel(), channel());
        (TerminalWriter::start(SlowTerminal { allowed, taken }, Wake::default()).unwrap(), allow, seen)
    }

    const LONG: Duration = Duration::from_secs(20);

    fn wait_free(line: &TerminalWriter) {
        let end = Instant::now() + LONG;
        while !line.status_handle().is_free() {
            assert!(Instant::now() < end);
            std::thread::yield_now();
        }
    }

    #[test]
    fn flush_does_not_block_and_writer_is_free_after_output() {
        let (mut line, allow, seen) = slow();
        assert!(line.status_handle().is_free());
        line.write_all(&[7; 1000]).unwrap();
        line.flush().unwrap();
        assert!(!line.status_handle().is_free());
        allow.send(()).unwrap();
        allow.send(()).unwrap();
        assert_eq!(seen.recv_timeout(LONG).unwrap().len() + seen.recv_timeout(LONG).unwrap().len(), 1000);
        wait_free(&line);
        assert!(!line.shared.clear(), "nothing was cut");
    }

    #[test]
    fn discards_unsent_output() {
        let (mut line, allow, seen) = slow();
        line.write_all(&[7; 100_000]).unwrap();
        line.flush().unwrap();
        allow.send(()).unwrap();
        assert_eq!(seen.recv_timeout(LONG).unwrap().len(), CHUNK_BYTES);
        // One chunk may be in progress. It is finished after the rest is discarded; otherwise, another chunk would follow.
        let (shared, is_over) = (Arc::clone(&line.shared), Arc::new(AtomicBool::new(false)));
        let seen_over = Arc::clone(&is_over);
        let helper = std::thread::spawn(move || {
            while !shared.is_discarding.load(Ordering::SeqCst) && !seen_over.load(Ordering::SeqCst) {
                std::thread::yield_now();
            }
            let _ = allow.send(());
            allow
        });
        assert!(line.shared.clear(), "a frame was cut");
        is_over.store(true, Ordering::SeqCst);
        assert!(line.status_handle().is_free());
        drop(helper.join());
        assert!(seen.try_iter().count() <= 1);
    }

    #[test]
    fn closed_terminal_fails_the_next_flush() {
        struct ClosedWriter;
        impl Write for ClosedWriter {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut line = TerminalWriter::start(ClosedWriter, Wake::default()).unwrap();
        line.write_all(b"x").unwrap();
        line.flush().unwrap();
        wait_free(&line);
        assert!(line.flush().is_err());
    }
}
