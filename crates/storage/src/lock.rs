//! The lock that permits one writer per data set.

use super::files::is_taken;
use super::files_ahead::forget_names;
use super::fs::{Fs, RealFs};
use super::identity::{unique, ProcessIdentity, ProcessState};
use super::location::{is_remote, RemoteUrl};
use super::notices;
use super::release::{remove_or_release, RELEASED};
use super::run_folder::RunFolder;
use super::store::{Condition, Content};
use super::stores::store_of;
use super::waiting::{do_during, for_each_at_once};
use gristmill_core::problem::Subject;
use gristmill_core::text::duration;
use gristmill_core::{Cancel, Failure, FileStamp, Mutex, Outcome, Problem, ProblemKind};
use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::MutexGuard;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Number of attempts to take a lock that other processes are taking or releasing, and the interval between them.
const MAX_ATTEMPTS: u32 = 40;
const POLL_INTERVAL: Duration = Duration::from_millis(25);
/// Time until all processes that create a lock at once, in a store without conditions, have created it.
const SETTLE_TIME: Duration = if cfg!(test) { Duration::ZERO } else { Duration::from_secs(2) };
/// Time for which a lock that was read is assumed to be unchanged when it is released: about the duration of one request. A store without
/// conditions for removals would remove a lock that another process has taken by force meanwhile.
const READ_LOCK_LIFETIME: Duration = Duration::from_millis(100);
/// Lock files are small; a larger file was not written by Gristmill.
const MAX_LOCK_BYTES: u64 = 1 << 16;
/// Name of the object that is the lock in a store.
const LOCK_OBJECT: &str = "lock";

/// Holder of a lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// The process that holds it.
    #[serde(flatten)]
    pub process: ProcessIdentity,
    /// Identifies one acquisition of a lock among all others.
    token: String,
    /// Whether the operating system's lock is held too; it lasts exactly as long as the process.
    system_lock: bool,
}

/// The right to write to one data set, released on drop.
#[derive(Debug)]
pub struct DatasetLock {
    path: PathBuf,
    holder: Holder,
    /// Kept open for the operating system's lock.
    _folder: Option<OwnedFd>,
    /// The lock in the store of the output.
    object: Option<ObjectLock>,
}

/// A lock in a store: an object that only one process can create, and that its holder rewrites regularly.
#[derive(Debug)]
struct ObjectLock {
    path: PathBuf,
    token: String,
    /// Renews the lock until this is dropped.
    renewal: Option<Renewal>,
}

/// A thread that repeats an operation until it is dropped.
#[derive(Debug)]
struct Renewal {
    end: Option<mpsc::Sender<()>>,
    cancel: Cancel,
    thread: Option<JoinHandle<()>>,
}

impl Renewal {
    /// Calls `renew` at this interval until it returns `false`.
    fn start(every: Duration, mut renew: impl FnMut() -> bool + Send + 'static) -> Option<Self> {
        let (end, ended) = mpsc::channel::<()>();
        let cancel = Cancel::default();
        let waits = cancel.clone();
        let repeat = move || {
            let _waits = waits.begin_wait_scope();
            while ended.recv_timeout(every) == Err(RecvTimeoutError::Timeout) && renew() {}
        };
        let thread = std::thread::Builder::new().name("lock".to_owned()).spawn(repeat).ok()?;
        Some(Self { end: Some(end), cancel, thread: Some(thread) })
    }
}

impl Drop for Renewal {
    fn drop(&mut self) {
        drop(self.end.take());
        // The thread may be waiting for a store that does not answer.
        self.cancel.cancel();
        // A pending request would create the lock again after its removal.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// A lock in a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredLock {
    /// Its address.
    pub path: PathBuf,
    /// Description of its holder.
    pub holder: String,
    /// Hint for the user.
    pub hint: &'static str,
}

/// Result of an attempt to take the operating system's lock.
enum SystemLock {
    /// This process holds it now.
    Taken(OwnedFd),
    /// Another process holds it.
    Busy,
    /// This file system does not support it.
    Unknown,
}

/// Result of an attempt to take over a lock file.
enum Attempt {
    /// This process holds it now.
    Ours,
    /// It changed in the meantime; the caller must try again.
    Retry,
    /// Another process holds it.
    InUse(Option<Holder>),
}

impl DatasetLock {
    /// Takes the lock, or fails with the name of its holder. A lock is taken over if its holder is a process of this host that has died; a
    /// lock of another host is never considered stale. `break_lock` removes any existing lock.
    pub fn acquire(fs: &dyn Fs, own: &RunFolder, break_lock: bool) -> Outcome<Self> {
        Self::acquire_and_check(fs, own, break_lock, &|| ())
    }

    /// Like [`acquire`](Self::acquire). If the lock is in a store, `look` reads its state once the lock is taken, while a request
    /// determines whether the store obeys conditions.
    pub fn acquire_and_check(
        fs: &dyn Fs,
        own: &RunFolder,
        break_lock: bool,
        look: &(dyn Fn() + Sync),
    ) -> Outcome<Self> {
        let mut looks = 0;
        loop {
            looks += 1;
            let result = own.create_outer(fs).and_then(|()| {
                let mut lock = Self::acquire_with(fs, own, break_lock, true)?;
                if let Some(url) = RemoteUrl::parse(&own.shown().join(LOCK_OBJECT)) {
                    lock.object = Some(ObjectLock::acquire(&url, &lock.holder, (break_lock, look))?);
                }
                own.create(fs).map(|()| lock)
            });
            match result {
                // Another run that has just ended may have removed the empty folder in the meantime.
                Err(failure) if failure.is_missing() && looks < MAX_ATTEMPTS => {}
                result => return result,
            }
        }
    }

    /// Returns the current holder of the lock, if any; for lists and messages. A dead holder on this host is ignored.
    pub fn holder(own: &RunFolder) -> Outcome<Option<Holder>> {
        let me = ProcessIdentity::current();
        Ok(read_holder(&own.lock())?.flatten().filter(|holder| holder.process.life(&me) != ProcessState::Dead))
    }

    /// Whether there is a lock whose holder on this host has died.
    pub fn is_left(own: &RunFolder) -> bool {
        is_taken(own.lock()) && matches!(Self::holder(own), Ok(None))
    }

    /// Returns the lock in the store of an output, with its holder.
    pub fn stored(own: &RunFolder) -> Outcome<Option<StoredLock>> {
        let path = own.shown().join(LOCK_OBJECT);
        let found = RemoteUrl::parse(&path).map(|_| read_object(&path)).transpose()?.flatten();
        let Some(found) = found.filter(|found| !found.is_released) else { return Ok(None) };
        let is_dead = |by: &Holder| by.process.life(&ProcessIdentity::current()) == ProcessState::Dead;
        let hint = match found.holder.as_ref().is_some_and(is_dead) {
            true => "its holder has ended: the next run on this machine takes it over",
            false => WAIT_HINT,
        };
        Ok(Some(StoredLock { path, holder: describe_holder(found.holder.as_ref()), hint }))
    }

    fn acquire_with(fs: &dyn Fs, own: &RunFolder, break_lock: bool, use_system: bool) -> Outcome<Self> {
        let path = own.lock();
        if break_lock {
            fs.remove_file(&path)?;
        }
        let mut holder = None;
        for look in 0..MAX_ATTEMPTS {
            if look > 0 {
                std::thread::sleep(POLL_INTERVAL);
            }
            let system = if use_system { system_lock(own.path()) } else { SystemLock::Unknown };
            let folder = match system {
                SystemLock::Taken(folder) => Some(folder),
                SystemLock::Unknown => None,
                SystemLock::Busy if break_lock => None,
                SystemLock::Busy => {
                    holder = read_holder(&path)?.flatten();
                    match &holder {
                        // The lock of a dead holder is being taken over.
                        Some(by) if by.process.life(&ProcessIdentity::current()) != ProcessState::Dead => break,
                        _ => continue,
                    }
                }
            };
            let mine = Holder { process: ProcessIdentity::current(), token: unique(), system_lock: folder.is_some() };
            match try_create(fs, &path, &mine)? {
                Attempt::Ours => return Ok(Self { path, holder: mine, _folder: folder, object: None }),
                Attempt::Retry => {}
                Attempt::InUse(by) => {
                    holder = by;
                    if holder.is_some() {
                        break;
                    }
                }
            }
        }
        let place = if is_remote(own.shown()) { own.shown() } else { &path };
        Err(lock_failure(place, holder.as_ref(), None))
    }

    /// Releases several locks at once, as each release waits for a store.
    pub fn release(locks: impl IntoIterator<Item = Self>) {
        let locks: Vec<Mutex<Option<Self>>> = locks.into_iter().map(|lock| Mutex::new(Some(lock))).collect();
        let release = |lock: &Mutex<Option<Self>>| {
            drop(lock.lock().take());
            Ok(())
        };
        // Releasing has no result.
        let _ = for_each_at_once(&locks, release, || ());
    }

    /// Fails if another process has broken the lock. `what`: the name of the step in the error.
    pub fn check(&self, what: &str) -> Outcome<()> {
        let paths = std::iter::once(&self.path).chain(self.object.as_ref().map(|object| &object.path));
        for path in paths {
            if read_holder(path)?.flatten().is_none_or(|holder| holder.token != self.holder.token) {
                return Err(Failure::environment(what, "another process has removed the lock of this run")
                    .on(Subject::path(path))
                    .with_hint("run the same command again when no other run writes here"));
            }
        }
        Ok(())
    }

    /// Whether the lock file still contains this lock; `false` after another process has broken it.
    pub(crate) fn is_still_ours(&self) -> bool {
        let is_held =
            |path: &Path| matches!(read_holder(path), Ok(Some(Some(holder))) if holder.token == self.holder.token);
        is_held(&self.path) && self.object.as_ref().is_none_or(|object| is_held(&object.path))
    }
}

impl ObjectLock {
    /// Creates the object, or fails with the name of the current holder. The lock of a process of this host that has died is replaced.
    /// `look` is called once the lock is taken.
    fn acquire(url: &RemoteUrl<'_>, holder: &Holder, (break_lock, look): (bool, &(dyn Fn() + Sync))) -> Outcome<Self> {
        let path = url.to_path();
        let failed = |error: std::io::Error| Failure::io(LOCKING, &path, &error);
        let store = store_of(url).map_err(failed)?;
        let bytes = serde_json::to_vec(holder).unwrap_or_default();
        let (mut other, mut condition) = (None, Condition::IfAbsent);
        for _ in 0..MAX_ATTEMPTS {
            if store.put(url, Content::Bytes(&bytes), condition).map_err(failed)? {
                // If this function returns early, dropping it does not remove the lock of another process.
                let mut lock = Self { path: path.clone(), token: holder.token.clone(), renewal: None };
                // The previous holder may have written any file.
                forget_answers();
                if !do_during(look, || store.supports_condition(url, &bytes, condition)).map_err(failed)? {
                    other = Self::resolve_race(&path, holder)?;
                    if other.is_some() {
                        break;
                    }
                    forget_answers();
                    look();
                }
                lock.renewal = Renewal::start(RENEWAL_INTERVAL, {
                    let (path, token) = (path.clone(), holder.token.clone());
                    move || Self::renew(&path, &token)
                });
                return Ok(lock);
            }
            condition = Condition::IfAbsent;
            let Some(found) = read_object(&path)? else { continue };
            let is_dead = |by: &Holder| by.process.life(&holder.process) == ProcessState::Dead;
            let may_replace = break_lock || found.is_released || found.holder.as_ref().is_some_and(is_dead);
            if !may_replace {
                other = found.holder;
                break;
            }
            // Replaced, not removed: another process may have replaced it, too.
            condition = Condition::IfStamp(found.stamp);
        }
        Err(lock_failure(&path, other.as_ref(), store.age(url).ok().flatten()))
    }

    /// Writes the lock again, so that its age shows when its holder last ran. Returns `false` if another process has taken the lock.
    fn renew(path: &Path, token: &str) -> bool {
        let Ok(found) = read_object(path) else { return true };
        let Some((stamp, holder)) = found.and_then(|found| Some((found.stamp, found.holder?))) else { return false };
        if holder.token != token {
            return false;
        }
        let bytes = serde_json::to_vec(&holder).unwrap_or_default();
        let put = |url: RemoteUrl<'_>| store_of(&url)?.put(&url, Content::Bytes(&bytes), Condition::IfStamp(stamp));
        let written = RemoteUrl::parse(path).map(put);
        // The lock has another version now.
        let _ = take_read_lock(path);
        // A store that is unreachable now may be reachable later.
        !matches!(written, Some(Ok(false)))
    }

    /// Waits until other processes that create the object at the same time have done so, and returns the holder if it is another process.
    fn resolve_race(path: &Path, mine: &Holder) -> Outcome<Option<Holder>> {
        let message = "this store ignores conditions, so two runs at once may overwrite what the other writes";
        let note = Problem::note(ProblemKind::Other, Subject::path(path), message);
        notices::add(note.with_hint("do not run two writers of the same data at once"));
        let cancel = Cancel::of_thread();
        let until = Instant::now() + SETTLE_TIME;
        while Instant::now() < until {
            cancel.check()?;
            std::thread::sleep(POLL_INTERVAL);
        }
        let found = read_holder(path)?.flatten();
        Ok(found.filter(|found| found.token != mine.token))
    }
}

impl Drop for ObjectLock {
    fn drop(&mut self) {
        self.renewal = None;
        let _whole = Cancel::default().begin_wait_scope();
        let is_mine = |found: &FoundObject| found.holder.as_ref().is_some_and(|holder| holder.token == self.token);
        let seen = take_read_lock(&self.path).filter(is_mine);
        if let Some(found) = seen.or_else(|| read_object(&self.path).ok().flatten().filter(is_mine)) {
            // If this fails, the next process on this host replaces it.
            let _ = remove_or_release(&RealFs, &self.path, Condition::IfStamp(found.stamp));
        }
    }
}

impl Drop for DatasetLock {
    fn drop(&mut self) {
        self.object = None;
        if self.is_still_ours() {
            // If this fails, the next process on this host takes the lock over.
            let _ = RealFs.remove_file(&self.path);
        }
    }
}

/// Interval between renewals of a lock in a store, and the age of a lock from which its holder has missed several.
const RENEWAL_INTERVAL: Duration = Duration::from_secs(60);
const OLD: Duration = Duration::from_secs(5 * 60);
/// Hint for a lock that is not renewed. Older versions of the program do not renew their locks.
const OLD_HINT: &str =
    "a run writes it each minute, so this one has most likely ended: if it is certain, use --break-lock";
/// Discards cached answers about objects in stores.
fn forget_answers() {
    forget_names();
    #[cfg(feature = "remote")]
    super::remote::version::forget_all();
}

/// Hint for a lock that another process holds.
const WAIT_HINT: &str = "wait for it to finish; if it is certainly gone, use --break-lock";
/// Name of the operation that fails if another process holds the lock.
const LOCKING: &str = "locking the data set";

/// Whether a failure means that another process holds the lock: the files next to the lock then belong to that process.
pub fn is_lock_failure(failure: &Failure) -> bool {
    failure.what == LOCKING
}

/// Creates the failure for a lock that another process holds. `age`: the time since it was written, by the clock of the store.
fn lock_failure(path: &Path, holder: Option<&Holder>, age: Option<Duration>) -> Failure {
    let is_old = age.is_some_and(|age| age >= OLD);
    let age =
        age.map(|age| format!(", which wrote it {} ago by the clock of the store", duration(age))).unwrap_or_default();
    Failure::environment(LOCKING, format!("it is held by {}{age}", describe_holder(holder)))
        .on(Subject::path(path))
        .with_hint(if is_old { OLD_HINT } else { WAIT_HINT })
}

fn describe_holder(holder: Option<&Holder>) -> String {
    match holder {
        Some(holder) => format!("process {} on host {}", holder.process.pid, holder.process.host),
        None => "another process".to_owned(),
    }
}

/// Reads a lock file: `None` if there is no file, `Some(None)` if it cannot be parsed.
fn read_holder(path: &Path) -> Outcome<Option<Option<Holder>>> {
    let bytes = super::read::read_whole(path, MAX_LOCK_BYTES)?;
    Ok(bytes.map(|bytes| serde_json::from_slice(&bytes).ok()))
}

/// The object that is a lock.
struct FoundObject {
    stamp: FileStamp,
    /// Whether it counts as absent.
    is_released: bool,
    /// `None` if it cannot be parsed.
    holder: Option<Holder>,
}

/// A lock that was read before its release.
struct ReadLock {
    path: PathBuf,
    found: FoundObject,
    at: Instant,
}

static READ_LOCKS: Mutex<Vec<ReadLock>> = Mutex::new(Vec::new());

/// Reads the lock in the store of an output, so that it can be released right after the last other request of the run.
pub(super) fn check_before_release(own: &RunFolder) {
    let Some(path) = RemoteUrl::parse(&own.shown().join(LOCK_OBJECT)).map(RemoteUrl::to_path) else { return };
    let at = Instant::now();
    let found = read_object(&path).ok().flatten();
    let mut locks = READ_LOCKS.lock();
    locks.retain(|seen| seen.path != path && seen.at.elapsed() < READ_LOCK_LIFETIME);
    locks.extend(found.map(|found| ReadLock { path, found, at }));
}

/// Returns a lock if it was read a moment ago.
fn take_read_lock(path: &Path) -> Option<FoundObject> {
    let mut locks = READ_LOCKS.lock();
    let at = locks.iter().position(|seen| seen.path == path)?;
    let seen = locks.swap_remove(at);
    drop::<MutexGuard<'_, Vec<ReadLock>>>(locks);
    (seen.at.elapsed() < READ_LOCK_LIFETIME).then_some(seen.found)
}

/// Reads the object that is a lock, if it exists.
fn read_object(path: &Path) -> Outcome<Option<FoundObject>> {
    let Some((stamp, bytes)) = super::read::read_version(path, MAX_LOCK_BYTES)? else { return Ok(None) };
    Ok(Some(FoundObject { stamp, is_released: bytes == RELEASED, holder: serde_json::from_slice(&bytes).ok() }))
}

/// Locks the folder itself: a lock file is replaced when it is taken over, the folder is not.
fn system_lock(folder: &Path) -> SystemLock {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(folder) = rustix::fs::open(folder, flags, Mode::empty()) else { return SystemLock::Unknown };
    match rustix::fs::flock(&folder, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => SystemLock::Taken(folder),
        Err(Errno::WOULDBLOCK) => SystemLock::Busy,
        Err(_) => SystemLock::Unknown,
    }
}

/// Creates the lock file such that it is never visible without its content, except on file systems without hard links.
fn try_create(fs: &dyn Fs, path: &Path, mine: &Holder) -> Outcome<Attempt> {
    if make(fs, path, mine)? {
        return Ok(Attempt::Ours);
    }
    let Some(holder) = read_holder(path)? else { return Ok(Attempt::Retry) };
    let Some(holder) = holder else { return Ok(Attempt::InUse(None)) };
    let is_gone = match holder.process.life(&mine.process) {
        ProcessState::Dead => true,
        // A holder that had the operating system's lock has ended, because this process holds that lock now.
        ProcessState::Hidden => holder.system_lock && mine.system_lock,
        ProcessState::Alive | ProcessState::OnOtherHost => false,
    };
    if !is_gone {
        return Ok(Attempt::InUse(Some(holder)));
    }
    remove_dead_lock(fs, path, &holder, mine)?;
    Ok(Attempt::Retry)
}

/// Removes a dead holder's lock. Only one process at a time may do so, and it reads the lock again first, so that a lock created in the
/// meantime is not removed.
fn remove_dead_lock(fs: &dyn Fs, path: &Path, dead: &Holder, mine: &Holder) -> Outcome<()> {
    let guard = path.with_file_name("lock.takeover");
    if !make(fs, &guard, mine)? {
        let by = read_holder(&guard)?.flatten();
        if by.is_some_and(|by| by.process.life(&mine.process) == ProcessState::Dead) {
            fs.remove_file(&guard)?;
        }
        return Ok(());
    }
    let result = match read_holder(path) {
        Ok(Some(Some(now))) if now == *dead => fs.remove_file(path),
        Ok(_) => Ok(()),
        Err(failure) => Err(failure),
    };
    fs.remove_file(&guard)?;
    result
}

fn make(fs: &dyn Fs, path: &Path, mine: &Holder) -> Outcome<bool> {
    let bytes = serde_json::to_vec(mine).unwrap_or_default();
    let draft = path.with_file_name(format!("lock.{}.new", mine.token));
    let result = write_and_link(fs, &draft, path, &bytes);
    let _ = fs.remove_file(&draft);
    // The user knows the folder, not the names of files in it that exist for a moment.
    result.map_err(|failure| failure.on(Subject::path(path.parent().unwrap_or(path))))
}

fn write_and_link(fs: &dyn Fs, draft: &Path, path: &Path, bytes: &[u8]) -> Outcome<bool> {
    let mut file = fs.create_file(draft)?;
    file.write_all(bytes)?;
    file.set_mode(0o644)?;
    file.close()?;
    match fs.raw_link(draft, path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
        // The file system has no hard links: the file is created exclusively, then filled.
        Err(_) => match fs.raw_create(path) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(Failure::io("creating the lock", path, &error)),
            Ok(mut file) => {
                file.raw_write(bytes).map_err(|error| Failure::io("writing the lock", path, &error))?;
                Ok(true)
            }
        },
    }
}

#[cfg(test)]
mod tests;
