//! A mount in the background: the program starts itself again, and waits until the mount is there.

use super::super::context::Context;
use gristmill_core::{Failure, Outcome, Problem};
use rustix::fs::{Mode, OFlags};
use std::io::Read as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

const ACTIVITY: &str = "starting the mount in the background";
/// Set for the process in the background.
const VARIABLE: &str = "GRISTMILL_MOUNT_IN_BACKGROUND";
/// What the process in the background prints before and after its problems, once the mount is there.
const READY: u8 = 0;
/// The most bytes that it prints, and the most problems that it passes on.
const MAX_PRINTED_BYTES: u64 = 16 << 20;
const MAX_PASSED_PROBLEMS: usize = 1000;

/// Returns this program.
pub(super) fn program() -> PathBuf {
    std::env::current_exe().unwrap_or_else(|_| PathBuf::from("/proc/self/exe"))
}

/// Whether this is the process in the background.
pub(super) fn is_background() -> bool {
    std::env::var_os(VARIABLE).is_some()
}

/// What has come of a mount in the background.
pub(super) enum BackgroundMount {
    /// It is there, with these problems, which were printed.
    Mounted(Vec<Problem>),
    /// Its process ended without a mount, with this code.
    Ended(u8),
}

/// Starts the same command in the background and passes on what it prints.
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
    // After what was cut off at the limit, the process has ended.
    if let (Some(problems), Some([])) = (pieces.next(), pieces.next()) {
        let failed = |error: serde_json::Error| Failure::internal(ACTIVITY, error.to_string());
        return serde_json::from_slice(problems).map(BackgroundMount::Mounted).map_err(failed);
    }
    let status = child.wait().map_err(failed)?;
    Ok(BackgroundMount::Ended(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(3)))
}

/// Leaves the terminal: reports that the mount is there, with its problems, and closes what was inherited.
pub(super) fn leave_terminal(problems: &[Problem]) -> Outcome<()> {
    let failed = |error: rustix::io::Errno| Failure::io(ACTIVITY, "/dev/null", &error.into());
    // The leader of a session has no need of a new one.
    let _ = rustix::process::setsid();
    rustix::process::chdir("/").map_err(failed)?;
    // The printer would make it visible.
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
