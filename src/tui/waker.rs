//! Waits for input from the terminal without polling; other threads can interrupt the wait.

use rustix::event::{poll, PollFd, PollFlags};
use signal_hook::consts::SIGWINCH;
use signal_hook::low_level::{pipe, unregister};
use signal_hook::SigId;
use std::io::{self, Read, Write};
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;

/// Interrupts a wait on request, and when the size of the terminal changes.
pub(super) struct Waker {
    /// The end of the socket pair to which a wake-up is written.
    sender: UnixStream,
    receiver: UnixStream,
    resize: SigId,
}

impl Waker {
    /// Sets up the waker. The event library must already handle size changes: the actions of a signal run in the order of their
    /// registration, so the library has recorded the change by the time the wait is interrupted.
    pub(super) fn new() -> io::Result<Self> {
        let (sender, receiver) = UnixStream::pair()?;
        sender.set_nonblocking(true)?;
        receiver.set_nonblocking(true)?;
        let resize = pipe::register(SIGWINCH, sender.try_clone()?)?;
        Ok(Self { sender, receiver, resize })
    }

    /// Interrupts the current wait, or else the next one.
    pub(super) fn wake(&self) {
        // If the socket is full, a wake-up is already pending.
        let _ = (&self.sender).write(&[0]);
    }

    /// Waits until bytes of `terminal` can be read or the wait is interrupted. Fails if the terminal is closed.
    pub(super) fn wait(&self, terminal: BorrowedFd<'_>) -> io::Result<()> {
        let mut sources = [PollFd::new(&terminal, PollFlags::IN), PollFd::new(&self.receiver, PollFlags::IN)];
        poll(&mut sources, None)?;
        let [input, wake] = sources.map(|source| source.revents());
        if !wake.is_empty() {
            self.drain();
        }
        if input.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) && !has_waiting_bytes(terminal) {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the terminal was closed"));
        }
        Ok(())
    }

    fn drain(&self) {
        let mut bytes = [0; 64];
        while (&self.receiver).read(&mut bytes).is_ok_and(|count| count > 0) {}
    }
}

impl Drop for Waker {
    fn drop(&mut self) {
        unregister(self.resize);
    }
}

/// Whether `terminal` has bytes to read.
pub(super) fn has_waiting_bytes(terminal: BorrowedFd<'_>) -> bool {
    rustix::io::ioctl_fionread(terminal).is_ok_and(|count| count > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd as _;
    use std::time::{Duration, Instant};

    #[test]
    fn input_wake_and_resize_each_end_one_wait() {
        let (mut user, terminal) = UnixStream::pair().unwrap();
        let waker = Waker::new().unwrap();
        std::thread::scope(|scope| {
            let is_over = |act: &mut dyn FnMut()| {
                let waiting = scope.spawn(|| waker.wait(terminal.as_fd()));
                std::thread::sleep(Duration::from_millis(20));
                let was_waiting = !waiting.is_finished();
                let begin = Instant::now();
                act();
                waiting.join().unwrap().unwrap();
                was_waiting && begin.elapsed() < Duration::from_secs(5)
            };
            assert!(is_over(&mut || waker.wake()));
            assert!(is_over(&mut || signal_hook::low_level::raise(SIGWINCH).unwrap()));
            assert!(is_over(&mut || user.write_all(b"j").unwrap()));
        });
        // More calls than the socket can hold must cause one wake-up and never block.
        (0..100_000).for_each(|_| waker.wake());
        waker.wait(terminal.as_fd()).unwrap();
        assert!(has_waiting_bytes(terminal.as_fd()) && (&waker.receiver).read(&mut [0]).is_err());
    }

    #[test]
    fn buffered_bytes_are_read_before_connection_loss_is_reported() {
        let (mut user, mut terminal) = UnixStream::pair().unwrap();
        let waker = Waker::new().unwrap();
        user.write_all(b"q").unwrap();
        drop(user);
        waker.wait(terminal.as_fd()).unwrap();
        assert_eq!(terminal.read(&mut [0; 9]).unwrap(), 1);
        assert_eq!(waker.wait(terminal.as_fd()).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
}
