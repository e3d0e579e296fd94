//! The thread that reads the terminal, and the one that receives signals. Both only send events.

use super::app::Event;
use super::graphics::{self, stale_replies::StaleReplies};
use super::waker::{bytes_wait, Waker};
use ratatui::crossterm::event::{self, Event as TerminalEvent, KeyEventKind, MouseEventKind};
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP};
use signal_hook::iterator::{Handle, Signals};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long to wait for bytes that are known to be available.
const AVAILABLE_TIMEOUT: Duration = Duration::from_millis(50);
/// How long a pause waits for the reader, which may be inside a sequence that does not end.
const PAUSE_TIMEOUT: Duration = Duration::from_secs(1);

struct InputPause {
    state: Mutex<PauseState>,
    changed: Condvar,
    /// Interrupts the reader's wait for the terminal.
    waker: Waker,
}

#[derive(Default)]
struct PauseState {
    pause: bool,
    paused: bool,
    stop: bool,
}

/// Reads keys, pastes, mouse and size. It can be paused while another program has the terminal.
pub(super) struct Reader {
    shared: Arc<InputPause>,
}

impl Reader {
    /// Starts reading. If the terminal will be queried (`is_asked`), the reader first waits for [`resume`](Self::resume), which follows the
    /// query, and then for the answer.
    pub(super) fn start(sender: Sender<Event>, is_asked: bool) -> std::io::Result<Self> {
        // The first poll registers for size changes: none may be missed between the first frame and the thread's start.
        event::poll(Duration::ZERO)?;
        // Keys typed so far precede keys typed while waiting for an answer.
        while is_asked && event::poll(Duration::ZERO)? {
            if let Some(event) = convert(event::read()?) {
                // The receiver exists: it has just started us.
                let _ = sender.send(event);
            }
        }
        let state = Mutex::new(PauseState { pause: is_asked, ..PauseState::default() });
        let shared = Arc::new(InputPause { state, changed: Condvar::new(), waker: Waker::new()? });
        let reader = Arc::clone(&shared);
        std::thread::Builder::new().name("input".into()).spawn(move || read(&reader, &sender, is_asked))?;
        Ok(Self { shared })
    }

    /// Stops reading until [`resume`](Self::resume); returns once nothing is being read any more.
    pub(super) fn pause(&self) {
        let mut state = self.shared.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.pause = true;
        self.shared.waker.wake();
        while !state.paused && !state.stop {
            let (next, waited) =
                self.shared.changed.wait_timeout(state, PAUSE_TIMEOUT).unwrap_or_else(PoisonError::into_inner);
            state = next;
            if waited.timed_out() {
                break;
            }
        }
    }

    /// Resumes reading.
    pub(super) fn resume(&self) {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner).pause = false;
        self.shared.changed.notify_all();
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner).stop = true;
        self.shared.changed.notify_all();
        self.shared.waker.wake();
    }
}

/// Waits while paused. Returns whether to continue.
fn pass(pause: &InputPause) -> bool {
    let mut state = pause.state.lock().unwrap_or_else(PoisonError::into_inner);
    while state.pause && !state.stop {
        state.paused = true;
        pause.changed.notify_all();
        state = pause.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
    }
    state.paused = false;
    !state.stop
}

/// Waits for the terminal's answer. Keys typed meanwhile are passed on.
fn listen(sender: &Sender<Event>) -> StaleReplies {
    let reply = graphics::listen(|event| {
        if let Some(event) = convert(event) {
            // If the receiver is gone, nothing is lost.
            let _ = sender.send(event);
        }
    });
    if reply.is_new {
        // Redraws everything, now with pixels.
        let _ = sender.send(Event::Resized);
    }
    StaleReplies::after(reply.is_inside, Instant::now())
}

fn read(pause: &InputPause, sender: &Sender<Event>, is_asked: bool) {
    let mut late = if is_asked && pass(pause) { listen(sender) } else { StaleReplies::default() };
    while pass(pause) {
        let read = match wait_for_event(&pause.waker) {
            Ok(false) => continue,
            Ok(true) => event::read(),
            Err(error) => Err(error),
        };
        let event = match read {
            Ok(event) => convert(event).and_then(|event| late.pass(event, Instant::now())),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => {
                let _ = sender.send(Event::InputLost(error.to_string()));
                return;
            }
        };
        if event.is_some_and(|event| sender.send(event).is_err()) {
            return;
        }
    }
}

/// Waits for input, or for the waker. If it returns `false`, there may still be input.
///
/// The event library is notified of bytes only when they arrive, and reads a part of them: the rest of a flood would stay unread until more
/// arrives, which it cannot, since the terminal's queue is full. So waiting bytes are detected here, and the library is notified.
fn wait_for_event(waker: &Waker) -> std::io::Result<bool> {
    if event::poll(Duration::ZERO)? {
        return Ok(true);
    }
    let stdin = rustix::stdio::stdin();
    if !bytes_wait(stdin) {
        waker.wait(stdin)?;
        return Ok(false);
    }
    // Setting the terminal modes again, unchanged, makes the kernel report the waiting bytes again.
    let modes = rustix::termios::tcgetattr(stdin)?;
    rustix::termios::tcsetattr(stdin, rustix::termios::OptionalActions::Now, &modes)?;
    event::poll(AVAILABLE_TIMEOUT)
}

/// Returns the events that the frame handles: no key releases, of the mouse only presses and the wheel.
fn convert(event: TerminalEvent) -> Option<Event> {
    match event {
        TerminalEvent::Key(key) if key.kind == KeyEventKind::Release => None,
        TerminalEvent::Key(key) => Some(Event::Key(key)),
        TerminalEvent::Paste(text) => Some(Event::Paste(text)),
        TerminalEvent::Mouse(mouse) => match mouse.kind {
            MouseEventKind::Moved | MouseEventKind::Drag(_) | MouseEventKind::Up(_) => None,
            _ => Some(Event::Mouse(mouse)),
        },
        TerminalEvent::Resize(..) => Some(Event::Resized),
        TerminalEvent::FocusGained | TerminalEvent::FocusLost => None,
    }
}

/// Receives signals until it is dropped.
pub(super) struct SignalListener {
    handle: Handle,
}

impl SignalListener {
    /// Starts receiving.
    pub(super) fn start(sender: Sender<Event>) -> std::io::Result<Self> {
        let mut signals = Signals::new([SIGTERM, SIGHUP, SIGQUIT, SIGINT, SIGTSTP, SIGCONT])?;
        let handle = signals.handle();
        std::thread::Builder::new().name("signals".into()).spawn(move || {
            for signal in signals.forever() {
                if sender.send(Event::Signal(signal)).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self { handle })
    }
}

impl Drop for SignalListener {
    fn drop(&mut self) {
        self.handle.close();
    }
}
