//! The lifetime of a mount: signals, mounting, requests, unmounting.

use super::device::{self, unmount_by_id, UnmountOutcome};
use super::guard::GuardCommand;
use super::inode::Node;
use super::mounts::mount_at;
use super::readers::Readers;
use super::requests::{killed_processes, Requests};
use super::server::Server;
use super::tree::Tree;
use fuser::{Config, INodeNo, Notifier, Session, SessionACL};
use gristmill_core::{Cancel, Failure, Outcome};
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::fd::OwnedFd;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::Arc;

const ACTIVITY: &str = "mounting";

/// Options of a mount.
#[derive(Clone, Debug)]
pub struct MountOptions {
    /// Name of the mounted data, for lists of mounts.
    pub source: OsString,
    /// The folder of the mount, which must exist.
    pub at: PathBuf,
    /// Number of threads that answer requests.
    pub threads: usize,
    /// Maximum number of additional threads for reads, if reads wait for a store.
    pub read_threads: Option<usize>,
    /// Whether other users have access.
    pub allow_other: bool,
    /// The process that unmounts if this one is killed.
    pub guard: GuardCommand,
    /// Set by a signal that arrives before the mount exists.
    pub cancel: Cancel,
    /// Whether the mount is for a command, which receives the signals and whose end unmounts it.
    pub is_for_command: bool,
}

/// An event of a mount.
#[derive(Debug)]
pub enum MountEvent {
    /// The mount exists, with this number.
    Mounted(u64),
    /// A signal for the command has arrived.
    Signal(i32),
    /// A signal ends the mount while files are open: it is removed from the tree of folders, and its process waits until they are closed.
    Busy,
    /// A signal arrived while another mount is at the folder, so this one cannot be unmounted.
    Covered,
    /// The mount no longer exists. Signals for the command are passed on until the call returns.
    Ended,
    /// A second signal arrived: the process ends at once.
    Abandoned(i32),
    /// The settings that determine the files were read again.
    Reloaded,
    /// The settings could not be read again; nothing has changed.
    NotReloaded(Box<Failure>),
}

/// How a mount ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MountEnd {
    /// It was unmounted by another process.
    Unmounted,
    /// This signal ended it.
    Signal(i32),
}

/// Mounts a tree and answers requests until it is unmounted or a signal ends it. `report` is called from another thread, too.
pub fn serve<T: Tree>(tree: T, options: &MountOptions, report: &(dyn Fn(MountEvent) + Sync)) -> Outcome<MountEnd> {
    let failed = |error: std::io::Error| Failure::io(ACTIVITY, &options.at, &error);
    // Must precede the mount: a signal in between would leave a mount without a process.
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP, SIGUSR1]).map_err(failed)?;
    options.cancel.check()?;
    let listener = signals.handle();
    let mut guard = options.guard.start()?;
    let tree = Arc::new(tree);
    let device = device::mount(&options.at, &options.source, options.allow_other)?;
    // No mount has the number 0.
    let id = mount_at(&options.at).map(|mount| mount.id).unwrap_or_default();
    guard.announce(id);
    let requests = Arc::new(Requests::default());
    let mut config = Config::default();
    config.n_threads = Some(options.threads.max(1));
    config.clone_fd = device.can_clone;
    config.acl = if options.allow_other { SessionACL::All } else { SessionACL::Owner };
    let acl = config.acl;
    let connection = device.fd.try_clone();
    let readers = options.read_threads.map(Readers::new);
    let server = Server::new(Arc::clone(&tree), Arc::clone(&requests), readers.clone());
    let (session, connection) =
        match Session::from_fd(server, device.fd, acl, config).and_then(|session| Ok((session, connection?))) {
            Ok(begun) => begun,
            Err(error) => {
                // The guard unmounts the mount if this fails.
                unmount_by_id(&options.at, id);
                return Err(failed(error));
            }
        };
    let notifier = session.notifier();
    let (ended, signal) = std::thread::scope(|scope| {
        let waiting =
            scope.spawn(|| wait_for_signals(&mut signals, &*tree, (&notifier, &requests), (options, id), report));
        let (watched, queued) = (&requests, readers.clone());
        let watching = scope.spawn(move || {
            let answer_cancelled = || queued.iter().for_each(|readers| readers.answer_cancelled());
            watched.end_abandoned_waits(killed_processes(), || is_disconnected(&connection), answer_cancelled);
        });
        report(MountEvent::Mounted(id));
        let ended = session.run();
        readers.iter().for_each(|readers| readers.end());
        // This thread has the connection open, too.
        requests.end();
        let _ = watching.join();
        // From here on no thread answers, so the mount must not remain. After an error the connection may still be open: a request would
        // wait.
        let _ = match ended {
            Ok(()) => device::unmount_dead(&options.at).is_ok(),
            Err(_) => unmount_by_id(&options.at, id) == UnmountOutcome::Unmounted,
        };
        if options.is_for_command {
            report(MountEvent::Ended);
        }
        listener.close();
        (ended, waiting.join().unwrap_or_default())
    });
    drop(guard);
    match (signal, ended) {
        (Some(signal), _) => Ok(MountEnd::Signal(signal)),
        (None, Ok(())) => Ok(MountEnd::Unmounted),
        (None, Err(error)) => Err(failed(error)),
    }
}

/// Handles signals until the session has ended; returns the first one that ends it.
fn wait_for_signals<T: Tree>(
    signals: &mut Signals,
    tree: &T,
    (notifier, requests): (&Notifier, &Requests),
    (options, id): (&MountOptions, u64),
    report: &(dyn Fn(MountEvent) + Sync),
) -> Option<i32> {
    let mut received = None;
    for signal in signals.forever() {
        match (signal, received) {
            (SIGUSR1, _) => report(match reload(tree, notifier) {
                Ok(()) => MountEvent::Reloaded,
                Err(failure) => MountEvent::NotReloaded(Box::new(failure)),
            }),
            (signal, _) if options.is_for_command => report(MountEvent::Signal(signal)),
            (signal, None) => {
                received = Some(signal);
                requests.end_waits();
                match unmount_by_id(&options.at, id) {
                    UnmountOutcome::Unmounted => {}
                    UnmountOutcome::Busy => report(MountEvent::Busy),
                    UnmountOutcome::Covered => report(MountEvent::Covered),
                }
            }
            (_, Some(first)) => report(MountEvent::Abandoned(first)),
        }
    }
    received
}

/// Whether a connection to the kernel has ended, for example because of `umount -f`.
fn is_disconnected(connection: &OwnedFd) -> bool {
    let mut polled = [PollFd::new(connection, PollFlags::empty())];
    poll(&mut polled, Some(&Timespec::default())).is_ok() && polled[0].revents().contains(PollFlags::ERR)
}

/// Reads the settings of the tree again. The kernel discards cached entries below names that may have changed.
fn reload<T: Tree>(tree: &T, notifier: &Notifier) -> Outcome<()> {
    let root = INodeNo(Node::Root.inode().unwrap_or_default());
    tree.reload(&mut |name| {
        // A name that the kernel has not cached needs no notification.
        let _ = notifier.inval_entry(root, OsStr::new(name));
    })?;
    let _ = notifier.inval_inode(root, 0, 0);
    Ok(())
}
