//! Waits for the terminal, and can be interrupted; without polling.

use rustix::event::{poll, PollFd, PollFlags};
use signal_hook::consts::SIGWINCH;
use signal_hook::low_level::{pipe, unregister};
use signal_hook::SigId;
use std::io::{self, Read, Write};
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;

/// Interrupts a wait on request, and when the size of the terminal changes.
pub(super) struct Waker {
    rope: UnixStream,
    clapper: UnixStream,
    size: SigId,
}

impl Waker {
    /// Sets up the waker. The library that reads the terminal must already handle size changes: actions of one signal run in the order of
    /// their registration, so that the library knows of a change when the wait is interrupted.
    pub(super) fn hang() -> io::Result<Self> {
        let (rope, clapper) = UnixStream::pair()?;
        rope.set_nonblocking(true)?;
        clapper.set_nonblocking(true)?;
        let size = pipe::register(SIGWINCH, rope.try_clone()?)?;
        Ok(Self { rope, clapper, size })
    }

    /// Interrupts the current wait, or else the next one.
    pub(super) fn ring(&self) {
        // If the socket is full, the wake-up is already pending.
        let _ = (&self.rope).write(&[0]);
    }

    /// Waits until bytes of `terminal` can be read or the waker is rung. Fails if the terminal is gone.
    pub(super) fn wait(&self, terminal: BorrowedFd<'_>) -> io::Result<()> {
        let mut ears = [PollFd::new(&terminal, PollFlags::IN), PollFd::new(&self.clapper, PollFlags::IN)];
        poll(&mut ears, None)?;
        let [heard, rung] = ears.map(|ear| ear.revents());
        if !rung.is_empty() {
            self.hush();
        }
        if heard.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) && !bytes_wait(terminal) {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the terminal hung up"));
        }
        Ok(())
    }

    fn hush(&self) {
        let mut strokes = [0; 64];
        while (&self.clapper).read(&mut strokes).is_ok_and(|count| count > 0) {}
    }
}

impl Drop for Waker {
    fn drop(&mut self) {
        unregister(self.size);
    }
}

/// Whether bytes of `terminal` are waiting to be read.
pub(super) fn bytes_wait(terminal: BorrowedFd<'_>) -> bool {
    rustix::io::ioctl_fionread(terminal).is_ok_and(|count| count > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd as _;
    use std::time::{Duration, Instant};

    #[test]
    fn bytes_a_pull_and_a_new_size_end_the_waiting_and_each_only_once() {
        let (mut person, terminal) = UnixStream::pair().unwrap();
        let bell = Waker::hang().unwrap();
        std::thread::scope(|scope| {
            let is_over = |act: &mut dyn FnMut()| {
                let waiting = scope.spawn(|| bell.wait(terminal.as_fd()));
                std::thread::sleep(Duration::from_millis(20));
                let was_waiting = !waiting.is_finished();
                let begin = Instant::now();
                act();
                waiting.join().unwrap().unwrap();
                was_waiting && begin.elapsed() < Duration::from_secs(5)
            };
            assert!(is_over(&mut || bell.ring()));
            assert!(is_over(&mut || signal_hook::low_level::raise(SIGWINCH).unwrap()));
            assert!(is_over(&mut || person.write_all(b"j").unwrap()));
        });
        // More calls than the socket can hold wake once and never block.
        (0..100_000).for_each(|_| bell.ring());
        bell.wait(terminal.as_fd()).unwrap();
        assert!(bytes_wait(terminal.as_fd()) && (&bell.clapper).read(&mut [0]).is_err());
    }

    #[test]
    fn what_was_typed_before_the_line_went_is_read_and_then_it_is_an_error() {
        let (mut person, mut terminal) = UnixStream::pair().unwrap();
        let bell = Waker::hang().unwrap();
        person.write_all(b"q").unwrap();
        drop(person);
        bell.wait(terminal.as_fd()).unwrap();
        assert_eq!(terminal.read(&mut [0; 9]).unwrap(), 1);
        assert_eq!(bell.wait(terminal.as_fd()).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
}
