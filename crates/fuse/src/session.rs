//! The life of a mount: signals, mounting, requests, unmounting.

use super::device::{self, unmount};
use super::guard::GuardCommand;
use super::inode::Node;
use super::server::Server;
use super::tree::Tree;
use fuser::{Config, INodeNo, Notifier, Session, SessionACL};
use gristmill_core::{Cancel, Failure, Outcome};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const WHAT: &str = "mounting";

/// How to mount.
#[derive(Clone, Debug)]
pub struct MountOptions {
    /// What is mounted, for lists of mounts.
    pub source: OsString,
    /// An existing folder.
    pub at: PathBuf,
    /// Threads that answer requests.
    pub threads: usize,
    /// Whether other users may look.
    pub allow_other: bool,
    /// The process that unmounts if this one is killed.
    pub guard: GuardCommand,
    /// Whether a signal came before the mount was there.
    pub cancel: Cancel,
}

/// What happens to a mount.
#[derive(Debug)]
pub enum MountEvent {
    /// It is there.
    Mounted,
    /// A signal ends it while files are open: it is gone from the tree of folders, and its process waits until they are closed.
    Busy,
    /// A second signal came: the process ends at once.
    Abandoned(i32),
    /// What decides which files there are was read again.
    Reloaded,
    /// It could not be read again; everything is as before.
    NotReloaded(Box<Failure>),
}

/// How a mount ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It was unmounted from outside.
    Unmounted,
    /// A signal ended it.
    Signal(i32),
}

/// Mounts a tree and answers requests until it is unmounted or a signal ends it. `report` is called from another thread, too.
pub fn serve<T: Tree>(tree: T, options: &MountOptions, report: &(dyn Fn(MountEvent) + Sync)) -> Outcome<Ending> {
    let failed = |error: std::io::Error| Failure::io(WHAT, &options.at, &error);
    // Before it is mounted: a signal in between would leave a mount without a process.
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP, SIGUSR1]).map_err(failed)?;
    options.cancel.check()?;
    let listener = signals.handle();
    let guard = options.guard.start()?;
    let tree = Arc::new(tree);
    let device = device::mount(&options.at, &options.source, options.allow_other)?;
    let mut config = Config::default();
    config.n_threads = Some(options.threads.max(1));
    config.clone_fd = device.can_clone;
    config.acl = if options.allow_other { SessionACL::All } else { SessionACL::Owner };
    let acl = config.acl;
    let session = match Session::from_fd(Server::new(Arc::clone(&tree)), device.fd, acl, config) {
        Ok(session) => session,
        Err(error) => {
            // The guard unmounts what this leaves.
            let _ = unmount(&options.at, true);
            return Err(failed(error));
        }
    };
    let notifier = session.notifier();
    let (ended, signal) = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| wait_for_signals(&mut signals, &*tree, &notifier, &options.at, report));
        report(MountEvent::Mounted);
        let ended = session.run();
        // From here on nothing answers, so that it must not remain. After an error the connection may still be open: a request would wait.
        let _ = match ended {
            Ok(()) => device::unmount_dead(&options.at),
            Err(_) => unmount(&options.at, true),
        };
        listener.close();
        (ended, waiting.join().unwrap_or_default())
    });
    drop(guard);
    match (signal, ended) {
        (Some(signal), _) => Ok(Ending::Signal(signal)),
        (None, Ok(())) => Ok(Ending::Unmounted),
        (None, Err(error)) => Err(failed(error)),
    }
}

/// Acts on signals until the session has ended; returns the first that ends it.
fn wait_for_signals<T: Tree>(
    signals: &mut Signals,
    tree: &T,
    notifier: &Notifier,
    at: &Path,
    report: &(dyn Fn(MountEvent) + Sync),
) -> Option<i32> {
    let mut received = None;
    for signal in signals.forever() {
        match (signal, received) {
            (SIGUSR1, _) => report(match reload(tree, notifier) {
                Ok(()) => MountEvent::Reloaded,
                Err(failure) => MountEvent::NotReloaded(Box::new(failure)),
            }),
            (signal, None) => {
                received = Some(signal);
                if unmount(at, false).is_err() {
                    report(MountEvent::Busy);
                    // What fails here was unmounted by someone else in the meantime.
                    let _ = unmount(at, true);
                }
            }
            (_, Some(first)) => report(MountEvent::Abandoned(first)),
        }
    }
    received
}

/// Reads again what there is. The kernel forgets what it knows below the names that may mean something else now.
fn reload<T: Tree>(tree: &T, notifier: &Notifier) -> Outcome<()> {
    let root = INodeNo(Node::Root.inode().unwrap_or_default());
    tree.reload(&mut |name| {
        // A name that the kernel does not know needs no notice.
        let _ = notifier.inval_entry(root, OsStr::new(name));
    })?;
    let _ = notifier.inval_inode(root, 0, 0);
    Ok(())
}
