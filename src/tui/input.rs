//! The thread that reads the terminal, and the one that hears signals. Both only send events.

use super::app::Event;
use super::graphics::{self, stale_replies::StaleReplies};
use super::waker::{bytes_wait, Waker};
use ratatui::crossterm::event::{self, Event as TerminalEvent, KeyEventKind, MouseEventKind};
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP};
use signal_hook::iterator::{Handle, Signals};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long bytes are waited for that are known to be there.
const SOON: Duration = Duration::from_millis(50);
/// How long a pause waits for the reader, which may be in the middle of a sequence that does not end.
const PAUSE_TIMEOUT: Duration = Duration::from_secs(1);

struct InputPause {
    state: Mutex<GateState>,
    changed: Condvar,
    /// Ends the reader's waiting for the terminal.
    bell: Waker,
}

#[derive(Default)]
struct GateState {
    pause: bool,
    paused: bool,
    stop: bool,
}

/// The reader of keys, pastes, mouse and size. It can be paused while another program has the terminal.
pub(super) struct Reader {
    gate: Arc<InputPause>,
}

impl Reader {
    /// Starts reading. Where the terminal will be asked what it can show (`is_asked`), reading begins with listening for its
    /// answer, and that with [`resume`](Self::resume), right after the question.
    pub(super) fn start(sender: Sender<Event>, is_asked: bool) -> std::io::Result<Self> {
        // The first look sets up the hearing of size changes: none may be missed between the first frame and the thread's start.
        event::poll(Duration::ZERO)?;
        // What was typed already comes before what is typed while an answer is listened for.
        while is_asked && event::poll(Duration::ZERO)? {
            if let Some(event) = convert(event::read()?) {
                // Whoever receives is there: it has just started us.
                let _ = sender.send(event);
            }
        }
        let state = Mutex::new(GateState { pause: is_asked, ..GateState::default() });
        let gate = Arc::new(InputPause { state, changed: Condvar::new(), bell: Waker::hang()? });
        let shared = Arc::clone(&gate);
        std::thread::Builder::new().name("input".into()).spawn(move || read(&shared, &sender, is_asked))?;
        Ok(Self { gate })
    }

    /// Stops reading until [`resume`](Self::resume); returns when nothing reads any more.
    pub(super) fn pause(&self) {
        let mut state = self.gate.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.pause = true;
        self.gate.bell.ring();
        while !state.paused && !state.stop {
            let (next, waited) =
                self.gate.changed.wait_timeout(state, PAUSE_TIMEOUT).unwrap_or_else(PoisonError::into_inner);
            state = next;
            if waited.timed_out() {
                break;
            }
        }
    }

    /// Reads again.
    pub(super) fn resume(&self) {
        self.gate.state.lock().unwrap_or_else(PoisonError::into_inner).pause = false;
        self.gate.changed.notify_all();
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.gate.state.lock().unwrap_or_else(PoisonError::into_inner).stop = true;
        self.gate.changed.notify_all();
        self.gate.bell.ring();
    }
}

/// Waits while paused. Returns whether to go on.
fn pass(gate: &InputPause) -> bool {
    let mut state = gate.state.lock().unwrap_or_else(PoisonError::into_inner);
    while state.pause && !state.stop {
        state.paused = true;
        gate.changed.notify_all();
        state = gate.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
    }
    state.paused = false;
    !state.stop
}

/// Listens for the terminal's answer. What is typed meanwhile is passed on.
fn listen(sender: &Sender<Event>) -> StaleReplies {
    let heard = graphics::listen(|event| {
        if let Some(event) = convert(event) {
            // A frame that is gone misses nothing.
            let _ = sender.send(event);
        }
    });
    if heard.is_new {
        // Everything is drawn again, now with pixels.
        let _ = sender.send(Event::Resized);
    }
    StaleReplies::after(heard.is_inside, Instant::now())
}

fn read(gate: &InputPause, sender: &Sender<Event>, is_asked: bool) {
    let mut late = if is_asked && pass(gate) { listen(sender) } else { StaleReplies::default() };
    while pass(gate) {
        let read = match wait_for_event(&gate.bell) {
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

/// Waits for something that can be read, or for the bell. Whether there is something is not certain when it returns `false`.
///
/// The library below hears of bytes only when they arrive, and reads a part of them: what is left of a flood would lie there until
/// more comes, which it cannot, since the terminal's queue is full. So what lies there is looked for, and the library told.
fn wait_for_event(bell: &Waker) -> std::io::Result<bool> {
    if event::poll(Duration::ZERO)? {
        return Ok(true);
    }
    let stdin = rustix::stdio::stdin();
    if !bytes_wait(stdin) {
        bell.wait(stdin)?;
        return Ok(false);
    }
    // Setting the modes anew, as they are, is the kernel's way of saying "look again".
    let modes = rustix::termios::tcgetattr(stdin)?;
    rustix::termios::tcsetattr(stdin, rustix::termios::OptionalActions::Now, &modes)?;
    event::poll(SOON)
}

/// What the frame cares about: no key releases, of the mouse only presses and the wheel.
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

/// Hears signals until it is dropped.
pub(super) struct SignalListener {
    handle: Handle,
}

impl SignalListener {
    /// Starts hearing.
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
