//! Signals as stop requests: the first one requests all workers to stop, the second one ends the program immediately.

use gristmill_core::Cancel;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, OnceLock};

/// Stop requests by signal.
#[derive(Default)]
pub struct Signals {
    cancel: Cancel,
    received: Arc<AtomicI32>,
    listening: OnceLock<()>,
}

/// Makes writing beyond the file size limit of the system a write error, instead of ending the program.
pub fn handle_file_size_signal() {
    // If this fails, the default of the system applies.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
}

impl Signals {
    /// Starts to catch signals, unless already started, and returns the flag that the first signal sets.
    pub fn cancel_on_signal(&self) -> Cancel {
        self.listening.get_or_init(|| self.start());
        // Never ended: this thread may wait for stores until the end of the program.
        std::mem::forget(self.cancel.begin_wait_scope());
        self.cancel.clone()
    }

    fn start(&self) {
        use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
        let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP]) else { return };
        let (cancel, received) = (self.cancel.clone(), Arc::clone(&self.received));
        let thread = std::thread::Builder::new().name("signals".into());
        // If the thread cannot be started, signals have no effect, because their default effect is already disabled.
        let _ = thread.spawn(move || {
            for signal in signals.forever() {
                if received.swap(signal, Ordering::SeqCst) != 0 {
                    // Published files are complete at any time; the next process removes the scratch files of this one.
                    std::process::exit(128 + signal);
                }
                cancel.cancel();
            }
        });
    }

    /// Returns the exit code of an interrupted program: 128 + the signal, or 130 if there was no signal.
    pub fn exit_code(&self) -> u8 {
        match self.received.load(Ordering::SeqCst) {
            0 => 130,
            signal => u8::try_from(128 + signal).unwrap_or(130),
        }
    }
}
