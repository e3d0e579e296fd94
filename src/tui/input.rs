//! The thread that reads the terminal, and the thread that receives signals. Both only send events.

use super::event::Event;
use super::graphics::{self, stale_replies::StaleReplies};
use super::waker::{has_waiting_bytes, Waker};
use gristmill_core::Mutex;
use ratatui::crossterm::event::{self, Event as TerminalEvent, KeyEventKind, MouseEventKind};
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP};
use signal_hook::iterator::{Handle, Signals};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, PoisonError};
use std::time::{Duration, Instant};

/// How long to wait for bytes that are known to be available.
const AVAILABLE_TIMEOUT: Duration = Duration::from_millis(50);
/// How long a pause waits for the reader, which may be in the middle of an incomplete escape sequence.
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

/// Reads keys, pastes, the mouse and size changes. Can be paused while another program uses the terminal.
pub(super) struct Reader {
    shared: Arc<InputPause>,
}

impl Reader {
    /// Starts reading. If the terminal will be queried (`is_asked`), the reader first waits for [`resume`](Self::resume), which is called
    /// after the query was sent, and then for the answer.
    pub(super) fn start(sender: Sender<Event>, is_asked: bool) -> std::io::Result<Self> {
        // The first poll registers for size changes, so that none is missed between the first frame and the start of the thread.
        event::poll(Duration::ZERO)?;
        // Keys typed before the query must precede those typed while waiting for the answer.
        while is_asked && event::poll(Duration::ZERO)? {
            if let Some(event) = convert(event::read()?) {
                // The receiver exists: its owner started this thread.
                let _ = sender.send(event);
            }
        }
        let state = Mutex::new(PauseState { pause: is_asked, ..PauseState::default() });
        let shared = Arc::new(InputPause { state, changed: Condvar::new(), waker: Waker::new()? });
        let reader = Arc::clone(&shared);
        std::thread::Builder::new().name("input".into()).spawn(move || read(&reader, &sender, is_asked))?;
        Ok(Self { shared })
    }

    /// Stops reading until [`resume`](Self::resume); returns once no read is in progress.
    pub(super) fn pause(&self) {
        let mut state = self.shared.state.lock();
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
        self.shared.state.lock().pause = false;
        self.shared.changed.notify_all();
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.shared.state.lock().stop = true;
        self.shared.changed.notify_all();
        self.shared.waker.wake();
    }
}

/// Waits while reading is paused. Returns whether to continue.
fn pass(pause: &InputPause) -> bool {
    let mut state = pause.state.lock();
    while state.pause && !state.stop {
        state.paused = true;
        pause.changed.notify_all();
        state = pause.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
    }
    state.paused = false;
    !state.stop
}

/// Waits for the terminal's answer to the query. Keys typed meanwhile are passed on.
fn listen(sender: &Sender<Event>) -> StaleReplies {
    let reply = graphics::listen(|event| {
        if let Some(event) = convert(event) {
            // Sending fails only when the UI has ended.
            let _ = sender.send(event);
        }
    });
    if reply.is_new {
        // Requests a complete redraw, now with pixels.
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

/// Waits for input or for the waker. If it returns `false`, there may still be input.
///
/// The event library is notified only when bytes arrive, and reads a part of them: after a flood of input, the rest would stay unread until
/// more bytes arrive, which is impossible while the terminal's queue is full. So this function detects waiting bytes and notifies the
/// library.
fn wait_for_event(waker: &Waker) -> std::io::Result<bool> {
    if event::poll(Duration::ZERO)? {
        return Ok(true);
    }
    let stdin = rustix::stdio::stdin();
    if !has_waiting_bytes(stdin) {
        waker.wait(stdin)?;
        return Ok(false);
    }
    // Setting the terminal modes again, unchanged, makes the kernel report the waiting bytes again.
    let modes = rustix::termios::tcgetattr(stdin)?;
    rustix::termios::tcsetattr(stdin, rustix::termios::OptionalActions::Now, &modes)?;
    event::poll(AVAILABLE_TIMEOUT)
}

/// Returns the event for the frame; `None` for events that the frame does not handle: key releases, and mouse events other than presses and
/// the wheel.
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
