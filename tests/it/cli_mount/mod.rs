//! `mount` and `energon mount`: the content of a mount, its end, and refusals.
//!
//! The tests mount with `mount(2)`. If this process is not permitted to, they print that they were skipped, or fail if
//! `GRISTMILL_TEST_MOUNT` is set.

mod ends;
mod golden;
mod losses;
mod mistakes;
mod shows;
mod tokens;

use super::cli_support::Sandbox;
use rustix::event::{poll, PollFd, PollFlags};
use rustix::process::{kill_process, Pid, Signal};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdout, Stdio};

/// Returns a sandbox if this process can mount.
fn sandbox() -> Option<Sandbox> {
    has_device().then(Sandbox::new)
}

/// Whether this process can mount; if not, prints that a test is skipped.
#[expect(clippy::print_stderr, reason = "a test that was left out must not look like one that passed")]
pub(crate) fn has_device() -> bool {
    let device = File::options().read(true).write(true).open("/dev/fuse");
    if device.is_ok() && rustix::process::geteuid().is_root() {
        return true;
    }
    assert!(std::env::var_os("GRISTMILL_TEST_MOUNT").is_none(), "the tests of mounts cannot run");
    eprintln!("left out: /dev/fuse cannot be opened, or this process may not mount");
    false
}

/// Returns a sandbox with a prepared data set `data` of two shards.
fn prepared() -> Option<Sandbox> {
    let sandbox = sandbox()?;
    sandbox.tar("data/0.tar", ["a/1", "a/2"]);
    sandbox.tar("data/1.tar", ["b"]);
    sandbox.say("prepare data --yes --split-ratio 1,0,0 --skip-dataset-yaml").ends(0);
    Some(sandbox)
}

/// A mount that a process serves.
struct Mount {
    child: Child,
    out: BufReader<ChildStdout>,
    err: BufReader<ChildStderr>,
    /// The line with which it was announced.
    line: String,
    at: PathBuf,
}

impl Mount {
    /// Starts a command and waits for the line that announces the mount; `at` is its folder.
    fn start<S: AsRef<std::ffi::OsStr>>(sandbox: &Sandbox, args: impl IntoIterator<Item = S>, at: &str) -> Self {
        let mut command = sandbox.command(args);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut err = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        loop {
            if out.read_line(&mut line).unwrap() == 0 {
                let mut why = String::new();
                err.read_to_string(&mut why).unwrap();
                panic!("it ended before it was mounted: {line}{why}");
            }
            if line.ends_with("ends it\n") || line.ends_with("ready to go.\n") {
                break;
            }
        }
        Self { child, out, err, line, at: sandbox.path(at).canonicalize().unwrap() }
    }

    fn say(sandbox: &Sandbox, line: &str, at: &str) -> Self {
        Self::start(sandbox, line.split_whitespace(), at)
    }

    fn kill(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits for the end; returns the exit code and the output since the mount.
    fn end(mut self) -> (i32, String) {
        let code = self.child.wait().unwrap().code().unwrap_or(-1);
        let mut printed = String::new();
        self.out.read_to_string(&mut printed).unwrap();
        self.err.read_to_string(&mut printed).unwrap();
        wait_until_unmounted(&self.at);
        (code, printed)
    }

    /// Unmounts it as `umount` does, and checks that it ends with success.
    fn unmount(self) {
        unmount(&self.at);
        assert_eq!(self.end(), (0, String::new()));
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // After a failed test; the guard unmounts.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Unmounts as soon as the mount is not in use: a process that another test starts inherits this one's open files until it executes its
/// program.
fn unmount(at: &Path) {
    while let Err(error) = gristmill_fuse::unmount(at, false) {
        assert_eq!(error.kind(), std::io::ErrorKind::ResourceBusy);
        std::thread::yield_now();
    }
}

fn is_mounted(at: &Path) -> bool {
    gristmill_fuse::mount_at(at).is_some()
}

/// Waits for changes of the mount table until nothing is mounted at the folder.
fn wait_until_unmounted(at: &Path) {
    let mut table = File::open("/proc/self/mountinfo").unwrap();
    loop {
        table.rewind().unwrap();
        std::io::copy(&mut table, &mut std::io::sink()).unwrap();
        if !is_mounted(at) {
            return;
        }
        let limit = rustix::event::Timespec { tv_sec: 60, tv_nsec: 0 };
        assert!(poll(&mut [PollFd::new(&table, PollFlags::PRI)], Some(&limit)).unwrap() > 0, "it is still mounted");
    }
}
