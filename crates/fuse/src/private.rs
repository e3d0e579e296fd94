//! A new user and mount namespace of the process, in which mounting needs no permissions.

use gristmill_core::{Failure, Outcome};
use nix::sched::{unshare, CloneFlags};
use rustix::fs::{Mode, OFlags};
use std::io;

const ACTIVITY: &str = "making a private namespace";
const HINT: &str =
    "user namespaces may be forbidden here (sysctl kernel.unprivileged_userns_clone, or a limit of the container)";

/// Moves the process to new namespaces, with the same user and group. The process must have only one thread. Later mounts are visible to
/// its children only, and end with the last of them.
pub fn enter_namespace() -> Outcome<()> {
    let (user, group) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNS)
        .map_err(|error| Failure::environment(ACTIVITY, io::Error::from(error).to_string()).with_hint(HINT))?;
    for (file, text) in [
        ("/proc/self/setgroups", "deny".to_owned()),
        ("/proc/self/uid_map", format!("{user} {user} 1")),
        ("/proc/self/gid_map", format!("{group} {group} 1")),
    ] {
        write_setting(file, &text).map_err(|error| Failure::io(ACTIVITY, file, &error))?;
    }
    Ok(())
}

/// Writes to a file of the kernel, which accepts the text of one call only.
fn write_setting(file: &str, text: &str) -> io::Result<()> {
    let fd = rustix::fs::open(file, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(&fd, text.as_bytes())?;
    Ok(())
}
