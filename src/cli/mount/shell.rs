//! The command of `mount --shell`: it runs once the mount is ready, receives the signals, and the mount ends with it.

use super::super::context::Context;
use gristmill_core::{Failure, Mutex, Outcome, Subject};
use gristmill_fuse::UnmountOutcome;
use rustix::process::{kill_process, waitid, Pid, Signal, WaitId, WaitIdOptions};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Condvar, PoisonError};

/// The default shell if `SHELL` is not set.
const SHELL: &str = "/bin/sh";

/// A command with its arguments, or a shell if there are none.
pub(super) struct Shell<'a> {
    at: &'a Path,
    words: &'a [OsString],
    state: Mutex<ShellState>,
    has_ended: Condvar,
}

#[derive(Default)]
struct ShellState {
    /// The process, until it has ended.
    process: Option<Pid>,
    /// A signal that arrived before the process was started.
    pending_signal: Option<Signal>,
    /// The exit code.
    code: Option<u8>,
}

impl<'a> Shell<'a> {
    /// Returns the command for a mount at the path `at`.
    pub(super) fn new(at: &'a Path, words: &'a [OsString]) -> Self {
        Self { at, words, state: Mutex::default(), has_ended: Condvar::new() }
    }

    /// Runs the command, then unmounts the mount with this id; returns the result of unmounting.
    pub(super) fn run(&self, id: u64, context: &Context) -> UnmountOutcome {
        let code = self.run_command().unwrap_or_else(|failure| {
            context.printer.error(&failure);
            failure.class.code()
        });
        self.state.lock().code = Some(code);
        self.has_ended.notify_all();
        gristmill_fuse::unmount_by_id(self.at, id)
    }

    /// Waits until the command has ended: the command itself may have unmounted the folder.
    pub(super) fn wait(&self) {
        let is_running = |state: &mut ShellState| state.code.is_none();
        drop(self.has_ended.wait_while(self.state.lock(), is_running).unwrap_or_else(PoisonError::into_inner));
    }

    /// Returns the exit code of the command, once it has ended.
    pub(super) fn code(&self) -> Option<u8> {
        self.state.lock().code
    }

    /// Passes a signal to the command; returns `false` if the command has ended. Signals by keys of the terminal are not passed on, because
    /// the command receives them directly.
    pub(super) fn pass(&self, signal: i32) -> bool {
        let Some(signal) = Signal::from_named_raw(signal) else { return true };
        let mut state = self.state.lock();
        if state.code.is_some() {
            return false;
        }
        if signal == Signal::INT && is_in_foreground() {
            return true;
        }
        match state.process {
            // Fails if the process has just ended.
            Some(process) => _ = kill_process(process, signal),
            None => state.pending_signal = Some(signal),
        }
        true
    }

    fn run_command(&self) -> Outcome<u8> {
        let shell = || std::env::var_os("SHELL").unwrap_or_else(|| SHELL.into());
        let (program, arguments) = match self.words.split_first() {
            Some((program, arguments)) => (program.clone(), arguments),
            None => (shell(), self.words),
        };
        let failed = |error: std::io::Error| {
            Failure::io("running the command", &program, &error).on(Subject::path(PathBuf::from(&program)))
        };
        let mut child = Command::new(&program).args(arguments).spawn().map_err(failed)?;
        let process = Pid::from_child(&child);
        let early = {
            let mut state = self.state.lock();
            state.process = Some(process);
            state.pending_signal.take()
        };
        if let Some(signal) = early {
            // Fails if the process has already ended.
            let _ = kill_process(process, signal);
        }
        // `NOWAIT` reserves the process id until the end of this function, so no other process can receive the signals.
        let ended = loop {
            match waitid(WaitId::Pid(process), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) {
                Err(rustix::io::Errno::INTR) => {}
                other => break other,
            }
        };
        self.state.lock().process = None;
        ended.map_err(|error| failed(error.into()))?;
        let status = child.wait().map_err(failed)?;
        let signal = std::os::unix::process::ExitStatusExt::signal(&status).map(|signal| 128 + signal);
        Ok(status.code().or(signal).and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
    }
}

/// Whether the terminal sends the signals of its keys to this process group, to which the command belongs, too.
fn is_in_foreground() -> bool {
    rustix::termios::tcgetpgrp(rustix::stdio::stdin()).is_ok_and(|group| group == rustix::process::getpgrp())
}
