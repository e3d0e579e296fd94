//! Mounts in the background: starts this program again, and waits until the mount is ready.

use super::super::context::Context;
use gristmill_core::{Failure, Outcome, Problem};
use rustix::fs::{Mode, OFlags};
use std::io::Read as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

const ACTIVITY: &str = "starting the mount in the background";
/// Variable that is set for the process in the background.
const VARIABLE: &str = "GRISTMILL_MOUNT_IN_BACKGROUND";
/// The byte that the process in the background prints before and after its problems, once the mount is ready.
const READY: u8 = 0;
/// Maximum number of bytes read from the process in the background; the next constant limits the problems that it passes on.
const MAX_PRINTED_BYTES: u64 = 16 << 20;
const MAX_PASSED_PROBLEMS: usize = 1000;

pub(super) fn program() -> PathBuf {
    std::env::current_exe().unwrap_or_else(|_| PathBuf::from("/proc/self/exe"))
}

/// Whether this is the process in the background.
pub(super) fn is_background() -> bool {
    std::env::var_os(VARIABLE).is_some()
}

/// The result of mounting in the background.
pub(super) enum BackgroundMount {
    /// The mount is ready; the process in the background has printed these problems.
    Mounted(Vec<Problem>),
    /// The process ended without a mount, with this exit code.
    Ended(u8),
}

/// Starts the same command in the background, prints its output, and waits until the mount is ready or the process has ended.
pub(super) fn start(context: &Context) -> Outcome<BackgroundMount> {
    let program = program();
    let failed = |error: std::io::Error| Failure::io(ACTIVITY, &program, &error);
    let mut command = Command::new(&program);
    command.args(std::env::args_os().skip(1)).env(VARIABLE, "1");
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().map_err(failed)?;
    let mut printed = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        stdout.take(MAX_PRINTED_BYTES).read_to_end(&mut printed).map_err(failed)?;
    }
    let mut pieces = printed.split(|byte| *byte == READY);
    context.printer.raw(&String::from_utf8_lossy(pieces.next().unwrap_or_default()));
    // Without both bytes, the process has ended, or its output was longer than the limit.
    if let (Some(problems), Some([])) = (pieces.next(), pieces.next()) {
        let failed = |error: serde_json::Error| Failure::internal(ACTIVITY, error.to_string());
        return serde_json::from_slice(problems).map(BackgroundMount::Mounted).map_err(failed);
    }
    let status = child.wait().map_err(failed)?;
    Ok(BackgroundMount::Ended(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(3)))
}

/// Detaches from the terminal: reports that the mount is ready, with its problems, and closes the inherited streams.
pub(super) fn leave_terminal(problems: &[Problem]) -> Outcome<()> {
    let failed = |error: rustix::io::Errno| Failure::io(ACTIVITY, "/dev/null", &error.into());
    // Fails only for a session leader, which needs no new session.
    let _ = rustix::process::setsid();
    rustix::process::chdir("/").map_err(failed)?;
    // Written directly, because the printer would escape the bytes.
    let problems = problems.get(..MAX_PASSED_PROBLEMS).unwrap_or(problems);
    let problems = serde_json::to_vec(problems).map_err(|error| Failure::internal(ACTIVITY, error.to_string()))?;
    let mut rest = [&[READY], &*problems, &[READY]].concat();
    while !rest.is_empty() {
        let written = rustix::io::write(rustix::stdio::stdout(), &rest).map_err(failed)?;
        rest.drain(..written);
    }
    let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()).map_err(failed)?;
    rustix::stdio::dup2_stdin(&null).map_err(failed)?;
    rustix::stdio::dup2_stdout(&null).map_err(failed)?;
    rustix::stdio::dup2_stderr(&null).map_err(failed)
}
