//! A process that unmounts when the server is killed: a server that is gone leaves a mount that answers every request with an error.

use super::device::unmount_dead;
use gristmill_core::{Failure, Outcome};
use gristmill_storage::fs::{Disk as _, RealFs};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::ffi::OsString;
use std::io::Read as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

/// How the guard is started: a program whose `main` calls [`keep_watch`].
#[derive(Clone, Debug)]
pub struct GuardCommand {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
}

/// A running guard. When this is dropped, it has done its work.
pub(crate) struct Guard(Child);

impl GuardCommand {
    /// Starts the guard in a process group of its own, so that signals of the terminal do not reach it.
    pub(crate) fn start(&self) -> Outcome<Guard> {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().map(Guard).map_err(|error| Failure::io("starting", &self.program, &error))
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        // There is no one to report an error to; the guard ends by itself.
        let _ = self.0.wait();
    }
}

/// Waits until the other end of stdin is closed, however the server ended; then unmounts what does not answer any more, and removes the
/// folders that were made for the mount, if they are empty.
pub fn keep_watch(at: &Path, made: &[PathBuf]) {
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        // If this fails, the signal ends the guard.
        let _ = signal_hook::flag::register(signal, Arc::default());
    }
    let mut stdin = std::io::stdin();
    loop {
        match stdin.read(&mut [0]) {
            Ok(1..) => {}
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            _ => break,
        }
    }
    // What cannot be unmounted remains; there is no one to report it to.
    let _ = unmount_dead(at);
    for folder in made {
        if RealFs.raw_rmdir(folder).is_err() {
            break;
        }
    }
}
