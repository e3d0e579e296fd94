//! SIGINT and SIGTERM as stop requests: the first requests every worker to stop, the second ends the program at once.

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

/// Makes a file that would exceed the system's size limit a write error instead of the end of the program.
pub fn survive_large_files() {
    // If this fails, the system's default remains.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
}

impl Signals {
    /// Starts to listen (once), and returns the flag that the first signal sets.
    pub fn cancel_on_signal(&self) -> Cancel {
        self.listening.get_or_init(|| self.start());
        // The thread that asks goes on to wait for stores, to the end of the program.
        std::mem::forget(self.cancel.begin_wait_scope());
        self.cancel.clone()
    }

    fn start(&self) {
        use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
        let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP]) else { return };
        let (cancel, received) = (self.cancel.clone(), Arc::clone(&self.received));
        let thread = std::thread::Builder::new().name("signals".into());
        // If the thread cannot be started, the signals have lost their default effect and the flag is never set; this is acceptable on a
        // machine that cannot start a thread.
        let _ = thread.spawn(move || {
            for signal in signals.forever() {
                if received.swap(signal, Ordering::SeqCst) != 0 {
                    // Published files are complete at any moment; scratch files of a dead process are removed by the next one.
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
