//! A process that unmounts when the server is killed: without it, the mount would remain and answer every request with an error.

use super::device::{unmount_dead, UnmountOutcome};
use super::mounts::{list_mounts, mount_at, MountEntry};
use gristmill_core::{Failure, Outcome};
use gristmill_storage::fs::{Disk as _, RealFs};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::ffi::OsString;
use std::io::{Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

/// Maximum number of bytes of the number of a mount: larger than any number, so that the read waits for the end of the server.
const MAX_NUMBER_BYTES: u64 = 64;

/// Command that starts the guard: a program whose `main` calls [`unmount_after_exit`].
#[derive(Clone, Debug)]
pub struct GuardCommand {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Whether its failures are printed.
    pub has_terminal: bool,
}

/// A running guard. Dropping it waits until it has finished.
pub(crate) struct Guard(Child);

impl GuardCommand {
    /// Starts the guard in a separate process group, so that signals of the terminal do not reach it.
    pub(crate) fn start(&self) -> Outcome<Guard> {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).process_group(0);
        let stderr = if self.has_terminal { Stdio::inherit() } else { Stdio::null() };
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(stderr);
        command.spawn().map(Guard).map_err(|error| Failure::io("starting", &self.program, &error))
    }
}

impl Guard {
    /// Sends the number of the mount to the guard.
    pub(crate) fn announce(&mut self, id: u64) {
        if let Some(stdin) = &mut self.0.stdin {
            // A guard that has ended does not need it.
            let _ = stdin.write_all(id.to_string().as_bytes());
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        // The error cannot be reported; the guard ends by itself.
        let _ = self.0.wait();
    }
}

/// Waits until the other end of stdin is closed, for whatever reason the server ended; then unmounts the mount if it no longer answers, and
/// removes the folders that were created for it, if they are empty. Returns [`UnmountOutcome::Covered`] if another mount is on top of it,
/// so that it remains.
pub fn unmount_after_exit(at: &Path, made: &[PathBuf]) -> UnmountOutcome {
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        // If this fails, the signal ends the guard.
        let _ = signal_hook::flag::register(signal, Arc::default());
    }
    let mut number = String::new();
    // Bytes that were read before an error are used; interrupted reads are repeated.
    let _ = std::io::stdin().take(MAX_NUMBER_BYTES).read_to_string(&mut number);
    // A mount that cannot be unmounted remains; the error cannot be reported.
    let _ = unmount_dead(at);
    let is_own = |mount: &MountEntry| number.parse() == Ok(mount.id) && mount.at == at;
    if list_mounts().iter().any(is_own) && mount_at(at).is_some_and(|mount| !is_own(&mount)) {
        return UnmountOutcome::Covered;
    }
    for folder in made {
        if RealFs.raw_rmdir(folder).is_err() {
            break;
        }
    }
    UnmountOutcome::Unmounted
}
