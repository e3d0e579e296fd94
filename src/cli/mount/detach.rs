//! A mount in the background: the program starts itself again, and waits until the mount is there.

use super::super::context::Context;
use gristmill_core::{Failure, Outcome};
use rustix::fs::{Mode, OFlags};
use std::io::Read as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

const WHAT: &str = "starting the mount in the background";
/// Set for the process in the background.
const VARIABLE: &str = "GRISTMILL_MOUNT_IN_BACKGROUND";
/// What the process in the background prints last, once the mount is there.
const READY: u8 = 0;
/// The most bytes that it prints.
const MAX_PRINTED_BYTES: u64 = 1 << 20;

/// Returns this program.
pub(super) fn program() -> PathBuf {
    std::env::current_exe().unwrap_or_else(|_| PathBuf::from("/proc/self/exe"))
}

/// Whether this is the process in the background.
pub(super) fn is_background() -> bool {
    std::env::var_os(VARIABLE).is_some()
}

/// Starts the same command in the background and passes on what it prints. Returns its exit code if it ended without a mount.
pub(super) fn start(context: &Context) -> Outcome<Option<u8>> {
    let program = program();
    let failed = |error: std::io::Error| Failure::io(WHAT, &program, &error);
    let mut command = Command::new(&program);
    command.args(std::env::args_os().skip(1)).env(VARIABLE, "1");
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().map_err(failed)?;
    let mut printed = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        stdout.take(MAX_PRINTED_BYTES).read_to_end(&mut printed).map_err(failed)?;
    }
    let text = printed.strip_suffix(&[READY]);
    context.printer.raw(&String::from_utf8_lossy(text.unwrap_or(&printed)));
    if text.is_some() {
        return Ok(None);
    }
    let status = child.wait().map_err(failed)?;
    Ok(Some(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(3)))
}

/// Leaves the terminal: reports that the mount is there, and closes what was inherited.
pub(super) fn leave_terminal() -> Outcome<()> {
    let failed = |error: rustix::io::Errno| Failure::io(WHAT, "/dev/null", &error.into());
    // The leader of a session has no need of a new one.
    let _ = rustix::process::setsid();
    rustix::process::chdir("/").map_err(failed)?;
    // The printer would make it visible.
    rustix::io::write(rustix::stdio::stdout(), &[READY]).map_err(failed)?;
    let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()).map_err(failed)?;
    rustix::stdio::dup2_stdin(&null).map_err(failed)?;
    rustix::stdio::dup2_stdout(&null).map_err(failed)?;
    rustix::stdio::dup2_stderr(&null).map_err(failed)
}
