//! SIGINT and SIGTERM as a stop request: the first asks every worker to stop, the second ends the program at once.

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

/// From now on a file that would grow beyond what the system allows is an error of writing, and no longer the end of the program.
pub fn survive_large_files() {
    // Whoever cannot have it keeps the system's way.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
}

impl Signals {
    /// Starts to listen (once), and returns the flag that the first signal raises.
    pub fn listen(&self) -> Cancel {
        self.listening.get_or_init(|| self.start());
        self.cancel.clone()
    }

    fn start(&self) {
        use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
        let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP]) else { return };
        let (cancel, received) = (self.cancel.clone(), Arc::clone(&self.received));
        let thread = std::thread::Builder::new().name("signals".into());
        // Without the thread the signals keep their ordinary effect only until now; the flag is then never raised,
        // which is what a machine without a thread to spare deserves.
        let _ = thread.spawn(move || {
            for signal in signals.forever() {
                if received.swap(signal, Ordering::SeqCst) != 0 {
                    // Published files are whole at any moment; scratch of a dead process is removed by the next one.
                    std::process::exit(128 + signal);
                }
                cancel.cancel();
            }
        });
    }

    /// The exit code of an interrupted program: 128 + the signal, or 130 when no signal came.
    pub fn exit_code(&self) -> u8 {
        match self.received.load(Ordering::SeqCst) {
            0 => 130,
            signal => u8::try_from(128 + signal).unwrap_or(130),
        }
    }
}
