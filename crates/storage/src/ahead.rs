//! Uploads files while they are written, so that publishing them takes little time.

use super::files::metadata;
use super::location::{is_remote, RemoteUrl};
use super::read::open_any;
use super::stores::store_of;
use super::waiting::for_each_at_once;
use gristmill_core::{Cancel, Mutex};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{mpsc, Arc};
use std::thread::JoinHandle;
use std::time::Duration;

/// Interval between checks of the file sizes.
const INTERVAL: Duration = Duration::from_millis(50);
/// Interval between checks whether the worker has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// Number of checks after which a file that does not grow is no longer checked.
const MAX_IDLE: u32 = 1200;
/// Bytes by which a file has to grow before more of it is uploaded.
const STEP_BYTES: u64 = 1 << 20;

/// Files of a run that are uploaded while they grow. Nothing is visible until a file is put; parts that have changed since are then
/// uploaded again.
#[derive(Debug, Default)]
pub struct UploadsAhead {
    files: Arc<Mutex<Vec<GrowingFile>>>,
    worker: Mutex<Option<Worker>>,
}

#[derive(Debug)]
struct GrowingFile {
    path: PathBuf,
    target: PathBuf,
    /// Number of bytes uploaded so far, in whole parts.
    bytes: u64,
    /// Number of checks since the file last grew.
    idle: u32,
    /// Whether the file is uploaded while it grows. Unset after a failure or once it no longer grows; it is then uploaded when it is put.
    is_followed: bool,
    /// Whether the last part was uploaded, too.
    is_sent: bool,
}

/// Message to the worker that the files no longer grow.
#[derive(Debug, PartialEq, Eq)]
struct Complete;

#[derive(Debug)]
struct Worker {
    /// Signals that the files are complete; dropping it ends the thread.
    state: mpsc::Sender<Complete>,
    /// Whether the thread must not start further uploads.
    is_stopped: Arc<AtomicBool>,
    /// Cancels the requests of the thread.
    end: Cancel,
    thread: JoinHandle<()>,
}

impl UploadsAhead {
    /// Adds a file, which may not exist yet, and the target at which it will be put. Has no effect for a local target.
    pub fn add(&self, path: PathBuf, target: PathBuf) {
        if !is_remote(&target) {
            return;
        }
        let mut files = self.files.lock();
        // A restarted run adds its files again.
        if files.iter().any(|file| file.target == target) {
            return;
        }
        files.push(GrowingFile { path, target, bytes: 0, idle: 0, is_followed: true, is_sent: false });
        drop(files);
        let mut worker = self.worker.lock();
        if worker.is_none() {
            // If the thread cannot start, each file is uploaded when it is put.
            *worker = Worker::start(Arc::clone(&self.files));
        }
    }

    /// Starts to upload the rest of the files, which are complete, and does not wait for it.
    pub fn send_rest(&self) {
        if let Some(worker) = &*self.worker.lock() {
            // A worker that has ended uploads nothing more.
            let _ = worker.state.send(Complete);
        }
    }

    /// Stops the uploads, before the files are put. Parts in transfer are awaited when their file is put.
    pub fn stop(&self) {
        if let Some(worker) = self.worker.lock().take() {
            worker.stop();
        }
    }

    /// Cancels the uploads, and removes the uploaded parts of files that were not put.
    pub fn discard(&self) {
        if let Some(worker) = self.worker.lock().take() {
            worker.end.cancel();
            worker.stop();
        }
        let files = std::mem::take(&mut *self.files.lock());
        // Parts in transfer are not awaited.
        let cancel = Cancel::default();
        cancel.cancel();
        let _waits = cancel.begin_wait_scope();
        let begun: Vec<PathBuf> = files.into_iter().filter(|file| file.bytes > 0).map(|file| file.target).collect();
        let remove = |target: &PathBuf| {
            discard(target);
            Ok(())
        };
        // The next run that puts the object removes parts that cannot be removed now.
        let _ = for_each_at_once(&begun, remove, || ());
    }
}

impl Drop for UploadsAhead {
    fn drop(&mut self) {
        self.discard();
    }
}

impl Worker {
    fn start(files: Arc<Mutex<Vec<GrowingFile>>>) -> Option<Self> {
        let (state, changes) = mpsc::channel();
        let (end, is_stopped) = (Cancel::default(), Arc::new(AtomicBool::new(false)));
        let (waits, is_over) = (end.clone(), Arc::clone(&is_stopped));
        let follow = move || {
            let _waits = waits.begin_wait_scope();
            let (mut is_complete, mut interval) = (false, INTERVAL);
            loop {
                match changes.recv_timeout(interval) {
                    Err(mpsc::RecvTimeoutError::Disconnected) => return,
                    Err(mpsc::RecvTimeoutError::Timeout) => {}
                    Ok(Complete) => is_complete = true,
                }
                let has_sent = upload_grown_files(&files, is_complete, &|| !is_over.load(Ordering::Relaxed));
                interval = if is_complete && has_sent { Duration::ZERO } else { INTERVAL };
            }
        };
        let thread = std::thread::Builder::new().name("uploads".to_owned()).spawn(follow).ok()?;
        Some(Self { state, is_stopped, end, thread })
    }

    fn stop(self) {
        self.is_stopped.store(true, Ordering::Relaxed);
        drop(self.state);
        let cancel = Cancel::of_thread();
        while !self.thread.is_finished() {
            if cancel.is_cancelled() {
                // Cancels the requests of the thread.
                self.end.cancel();
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        let _ = self.thread.join();
    }
}

impl GrowingFile {
    /// Returns the file, its target and its size if it has grown by a step, or is complete and not entirely uploaded.
    fn next_upload(&mut self, is_complete: bool) -> Option<(PathBuf, PathBuf, u64)> {
        if !self.is_followed || self.is_sent {
            return None;
        }
        let bytes = metadata(&self.path).map_or(0, |info| info.len());
        if !is_complete && bytes < self.bytes.saturating_add(STEP_BYTES) {
            self.idle += u32::from(self.bytes > 0);
            self.is_followed = self.idle < MAX_IDLE;
            return None;
        }
        self.idle = 0;
        Some((self.path.clone(), self.target.clone(), bytes))
    }
}

fn discard(target: &Path) {
    if let Some((url, store)) = RemoteUrl::parse(target).and_then(|url| Some((url, store_of(&url).ok()?))) {
        store.discard_ahead(&url);
    }
}

/// Uploads bytes that were appended to the files, and the rest of complete ones, while `goes_on` holds. Returns whether there were any.
fn upload_grown_files(files: &Mutex<Vec<GrowingFile>>, is_complete: bool, goes_on: &dyn Fn() -> bool) -> bool {
    let mut has_sent = false;
    for at in 0.. {
        if !goes_on() {
            return false;
        }
        // Files are only added at the end.
        let next = match files.lock().get_mut(at) {
            None => return has_sent,
            Some(file) => file.next_upload(is_complete),
        };
        let Some((path, target, bytes)) = next else { continue };
        let uploaded = upload(&path, &target, (bytes, is_complete));
        has_sent = true;
        let mut files = files.lock();
        match (uploaded, files.get_mut(at)) {
            (Some(uploaded), Some(file)) => {
                file.bytes = uploaded;
                file.is_sent = is_complete && uploaded >= bytes;
            }
            // The files are uploaded when they are put.
            _ => {
                files.iter_mut().for_each(|file| file.is_followed = false);
                return false;
            }
        }
    }
    has_sent
}

/// Uploads parts of a file and returns the number of bytes uploaded so far. `bytes` is the current size; the flag is whether the file is
/// complete.
fn upload(path: &Path, target: &Path, (bytes, is_complete): (u64, bool)) -> Option<u64> {
    let url = RemoteUrl::parse(target)?;
    let store = store_of(&url).ok()?;
    let uploaded = open_any(path).ok().and_then(|file| store.upload_ahead(&url, &file, (bytes, is_complete)).ok());
    if uploaded.is_none() {
        store.discard_ahead(&url);
    }
    uploaded
}
