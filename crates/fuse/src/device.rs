//! Mounts and unmounts: with `mount(2)` where it is permitted, else with `fusermount3`, which passes the device over a socket.

use super::mounts::{escape_option, mount_at, TYPE};
use gristmill_core::{Failure, Outcome, Subject};
use nix::errno::Errno;
use nix::mount::{umount2, MntFlags, MsFlags};
use rustix::fd::{AsRawFd as _, OwnedFd};
use rustix::fs::{makedev, FileType, Mode, OFlags};
use rustix::io::FdFlags;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags};
use std::ffi::{OsStr, OsString};
use std::io::{self, IoSliceMut, Read as _};
use std::mem::MaybeUninit;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

const ACTIVITY: &str = "mounting";
const DEVICE: &str = "/dev/fuse";
/// Programs that mount for users without the permission, the preferred one first.
const HELPERS: [&str; 2] = ["fusermount3", "fusermount"];
/// Maximum number of requests to a connection that is ending, and the time between two.
const ABORTED_TRIES: usize = 100;
const ABORTED_PAUSE: std::time::Duration = std::time::Duration::from_millis(20);
const NO_DEVICE_HINT: &str = "load the module (modprobe fuse), or give the container the device (--device /dev/fuse)";
/// Message of a helper if the device is not the FUSE device.
const INVALID: &str = "Invalid argument";
const OTHER_DEVICE_HINT: &str = "remove it, and make it again as root: mknod -m 666 /dev/fuse c 10 229";
const NO_HELPER_HINT: &str = "install the package fuse3, or use --shell, which needs no rights";
const NO_RIGHTS_HINT: &str = "--shell mounts for one command or shell, without rights";

/// The device of a mount.
pub(crate) struct Device {
    /// The connection to the kernel.
    pub(crate) fd: OwnedFd,
    /// Whether the device can be opened again, once for each thread.
    pub(crate) can_clone: bool,
}

/// Mounts a FUSE file system, and returns the device of its requests.
pub(crate) fn mount(at: &Path, source: &OsStr, allow_other: bool) -> Outcome<Device> {
    match mount_directly(at, source, allow_other)? {
        Some(device) => Ok(device),
        None => mount_by_helper(at, source, allow_other),
    }
}

fn open_device() -> rustix::io::Result<OwnedFd> {
    rustix::fs::open(DEVICE, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
}

/// Mounts with `mount(2)`; `None` if the process is not permitted to.
fn mount_directly(at: &Path, source: &OsStr, allow_other: bool) -> Outcome<Option<Device>> {
    let fd = match open_device() {
        Ok(fd) => fd,
        Err(rustix::io::Errno::ACCESS | rustix::io::Errno::PERM) => return Ok(None),
        Err(error) => return Err(no_device(error)),
    };
    let mut options = format!(
        "fd={},rootmode=40555,user_id={},group_id={},default_permissions",
        fd.as_raw_fd(),
        rustix::process::getuid().as_raw(),
        rustix::process::getgid().as_raw(),
    );
    if allow_other {
        options.push_str(",allow_other");
    }
    let flags = MsFlags::MS_RDONLY | MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    match nix::mount::mount(Some(source), at, Some(TYPE), flags, Some(options.as_str())) {
        Ok(()) => Ok(Some(Device { fd, can_clone: true })),
        Err(Errno::EPERM) => Ok(None),
        Err(Errno::ENODEV) => Err(no_device(rustix::io::Errno::NODEV)),
        Err(Errno::EINVAL) if !is_fuse(&fd) => Err(other_device()),
        Err(error) => Err(Failure::io(ACTIVITY, at, &error.into())),
    }
}

fn no_device(error: rustix::io::Errno) -> Failure {
    Failure::environment(ACTIVITY, format!("{DEVICE} cannot be opened: {}", io::Error::from(error)))
        .on(Subject::path(DEVICE))
        .with_hint(NO_DEVICE_HINT)
}

/// Whether this is the device of FUSE, which has the same number on every system.
fn is_fuse(fd: &OwnedFd) -> bool {
    let is_character = |mode| FileType::from_raw_mode(mode) == FileType::CharacterDevice;
    rustix::fs::fstat(fd).is_ok_and(|facts| is_character(facts.st_mode) && facts.st_rdev == makedev(10, 229))
}

fn other_device() -> Failure {
    Failure::environment(ACTIVITY, format!("{DEVICE} is not the device of FUSE"))
        .on(Subject::path(DEVICE))
        .with_hint(OTHER_DEVICE_HINT)
}

/// Returns the failure if this user may not open the device, or if it is not the FUSE device: then no way of mounting works.
fn refused_device() -> Option<Failure> {
    match open_device() {
        Ok(fd) => return (!is_fuse(&fd)).then(other_device),
        Err(rustix::io::Errno::ACCESS) => {}
        // An error of a container does not depend on the mode.
        Err(error @ rustix::io::Errno::PERM) => return Some(no_device(error)),
        Err(_) => return None,
    }
    let mode = rustix::fs::stat(DEVICE).ok()?.st_mode & 0o7777;
    let why = format!("{DEVICE} has mode {mode:04o}, so that this user may not open it");
    let hint = format!("chmod 666 {DEVICE}, as root, which is its usual mode");
    Some(Failure::environment(ACTIVITY, why).on(Subject::path(DEVICE)).with_hint(hint))
}

fn mount_by_helper(at: &Path, source: &OsStr, allow_other: bool) -> Outcome<Device> {
    let failed = |error: io::Error| Failure::io(ACTIVITY, at, &error);
    let (ours, theirs) = UnixStream::pair().map_err(failed)?;
    // The helper inherits its end of the socket by number.
    rustix::io::fcntl_setfd(&theirs, FdFlags::empty()).map_err(|error| failed(error.into()))?;
    let mut options = OsString::from("ro,nosuid,nodev,noexec,default_permissions,subtype=gristmill,fsname=");
    options.push(escape_option(source));
    if allow_other {
        options.push(",allow_other");
    }
    let socket = theirs.as_raw_fd().to_string();
    let started = start_helper(&HELPERS, |helper| {
        helper.arg("-o").arg(&options).arg("--").arg(at).env("_FUSE_COMMFD", &socket).stderr(Stdio::piped());
    });
    let (mut child, name) = started.map_err(|error| match is_absent(&error) {
        true => refused_device().unwrap_or_else(|| {
            let why = format!("this process may not mount, and the helper {} does not exist", HELPERS.join(" or "));
            Failure::environment(ACTIVITY, why).on(Subject::path(at)).with_hint(NO_HELPER_HINT)
        }),
        false => Failure::io("starting", HELPERS[0], &error),
    })?;
    drop(theirs);
    let received = receive_descriptor(&ours);
    let mut message = String::new();
    if let Some(stderr) = child.stderr.take() {
        // A message that cannot be read is empty.
        let _ = stderr.take(4096).read_to_string(&mut message);
    }
    let status = child.wait().map_err(failed)?;
    match received {
        Ok(Some(fd)) if status.success() => Ok(Device { fd, can_clone: open_device().is_ok() }),
        _ => {
            let message = message.trim();
            let why = if message.is_empty() { format!("{name} refused the mount") } else { message.to_owned() };
            let hint = match allow_other {
                true => "--allow-other needs the line user_allow_other in /etc/fuse.conf",
                false => NO_RIGHTS_HINT,
            };
            let failure = || Failure::environment(ACTIVITY, why).on(Subject::path(at)).with_hint(hint);
            Err(refused_device()
                .filter(|_| message.contains(DEVICE) || message.contains(INVALID))
                .unwrap_or_else(failure))
        }
    }
}

/// Waits for the message with the descriptor; `None` if the other end was closed without it.
fn receive_descriptor(socket: &UnixStream) -> io::Result<Option<OwnedFd>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    rustix::net::recvmsg(socket, &mut [IoSliceMut::new(&mut byte)], &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    Ok(ancillary.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    }))
}

/// Unmounts. A lazy unmount removes the mount from the tree of folders at once, and from the kernel when its last file is closed.
/// Otherwise, a mount in use causes an error of the kind `ResourceBusy`.
pub fn unmount(at: &Path, is_lazy: bool) -> io::Result<()> {
    let flags = if is_lazy { MntFlags::MNT_DETACH } else { MntFlags::empty() };
    match umount2(at, flags | MntFlags::UMOUNT_NOFOLLOW) {
        Err(Errno::EPERM) => unmount_by_helper(at, is_lazy),
        other => other.map_err(Into::into),
    }
}

/// Result of unmounting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnmountOutcome {
    /// The mount no longer exists.
    Unmounted,
    /// The mount is in use: it is no longer in the tree of folders, and ends when its last file is closed.
    Busy,
    /// Another mount is at its folder, and nothing was unmounted.
    Covered,
}

/// Unmounts the mount with this number, lazily if it is in use. A later mount at the same folder is not touched.
pub fn unmount_by_id(at: &Path, id: u64) -> UnmountOutcome {
    if mount_at(at).is_some_and(|mount| mount.id != id) {
        return UnmountOutcome::Covered;
    }
    match unmount(at, false) {
        Ok(()) => UnmountOutcome::Unmounted,
        Err(_) => {
            // If this fails, another process has unmounted it in the meantime.
            let _ = unmount(at, true);
            UnmountOutcome::Busy
        }
    }
}

/// Lazily unmounts a mount whose server has ended.
pub(crate) fn unmount_dead(at: &Path) -> io::Result<()> {
    for _ in 0..ABORTED_TRIES {
        // The kernel caches attributes, but requests these each time.
        match rustix::fs::statfs(at) {
            Err(rustix::io::Errno::NOTCONN) => return unmount(at, true),
            // The connection is just ending.
            Err(rustix::io::Errno::CONNABORTED) => std::thread::sleep(ABORTED_PAUSE),
            _ => return Ok(()),
        }
    }
    Ok(())
}

fn unmount_by_helper(at: &Path, is_lazy: bool) -> io::Result<()> {
    let (mut child, _) = start_helper(&HELPERS, |helper| {
        helper.args(["-u", "-q"]).args(is_lazy.then_some("-z")).arg("--").arg(at).stderr(Stdio::null());
    })?;
    let status = child.wait()?;
    match status.success() {
        true => Ok(()),
        // It does not report the reason; only a busy mount cannot be unmounted.
        false => Err(io::ErrorKind::ResourceBusy.into()),
    }
}

/// Starts the first of these programs that exists, and returns it with its name.
fn start_helper<'a>(names: &[&'a str], prepare: impl Fn(&mut Command)) -> io::Result<(Child, &'a str)> {
    let mut missing = io::Error::from(io::ErrorKind::NotFound);
    for name in names {
        let mut helper = Command::new(name);
        prepare(helper.stdin(Stdio::null()).stdout(Stdio::null()));
        match helper.spawn() {
            Err(error) if is_absent(&error) => missing = error,
            started => return started.map(|child| (child, *name)),
        }
    }
    Err(missing)
}

/// Whether the program does not exist. A folder of PATH that may not be searched causes the second kind of error.
fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags};
    use std::os::fd::AsFd as _;

    #[test]
    fn first_existing_fuse_helper_is_started() {
        let end = |names: &[&str]| {
            let (mut child, name) = start_helper(names, |helper| _ = helper.arg("--").stderr(Stdio::null()))?;
            io::Result::Ok((child.wait()?.success(), name.to_owned()))
        };
        assert_eq!(end(&["/nonexistent/helper", "true", "false"]).unwrap(), (true, "true".to_owned()));
        assert_eq!(end(&["false", "true"]).unwrap(), (false, "false".to_owned()));
        assert!(is_absent(&end(&["/nonexistent/helper"]).unwrap_err()));
    }

    #[test]
    fn file_descriptor_is_received_over_a_socket() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let mut file = tempfile::tempfile().unwrap();
        io::Write::write_all(&mut file, b"passed").unwrap();
        let descriptors = [file.as_fd()];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        assert!(ancillary.push(SendAncillaryMessage::ScmRights(&descriptors)));
        rustix::net::sendmsg(&theirs, &[io::IoSlice::new(b"x")], &mut ancillary, SendFlags::empty()).unwrap();
        let fd = receive_descriptor(&ours).unwrap().unwrap();
        assert_eq!(rustix::fs::fstat(&fd).unwrap().st_size, 6);
        drop(theirs);
        assert!(receive_descriptor(&ours).unwrap().is_none());
    }
}
