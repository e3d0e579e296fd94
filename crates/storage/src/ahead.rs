//! Uploads files while they are written, so that little is left to do when they are published.

use super::files::metadata;
use super::location::{is_remote, RemoteUrl};
use super::read::open_any;
use super::store::store_of;
use gristmill_core::Cancel;
use std::path::{Path, PathBuf};
use std::sync::{mpsc, Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Time between two looks at the sizes of the files.
const INTERVAL: Duration = Duration::from_millis(100);
/// Bytes by which a file has to grow before its store is asked to go on.
const STEP_BYTES: u64 = 1 << 20;

/// Files of a run that are uploaded while they grow. Nothing is visible before they are put as usual, which sends again what has changed since.
#[derive(Debug, Default)]
pub struct UploadsAhead {
    files: Arc<Mutex<Vec<GrowingFile>>>,
    worker: Mutex<Option<Worker>>,
}

#[derive(Debug)]
struct GrowingFile {
    path: PathBuf,
    target: PathBuf,
    /// Size when it was last looked at, in bytes.
    bytes: u64,
    /// Unset after a failure: then it is uploaded when it is put.
    is_followed: bool,
}

#[derive(Debug)]
struct Worker {
    /// Dropped to end the thread.
    _go_on: mpsc::Sender<()>,
    thread: JoinHandle<()>,
}

impl UploadsAhead {
    /// Adds a file, which may not exist yet, and the place at which it is going to be put. Has no effect for a local place.
    pub fn add(&self, path: PathBuf, target: PathBuf) {
        if !is_remote(&target) {
            return;
        }
        lock(&self.files).push(GrowingFile { path, target, bytes: 0, is_followed: true });
        let mut worker = lock(&self.worker);
        if worker.is_none() {
            let (sender, receiver) = mpsc::channel();
            let (files, cancel) = (Arc::clone(&self.files), Cancel::of_thread());
            let follow = move || {
                while receiver.recv_timeout(INTERVAL) == Err(mpsc::RecvTimeoutError::Timeout) && !cancel.is_cancelled()
                {
                    look(&files);
                }
            };
            // Without a thread, all is uploaded when it is put.
            let thread = std::thread::Builder::new().name("uploads".to_owned()).spawn(follow).ok();
            *worker = thread.map(|thread| Worker { _go_on: sender, thread });
        }
    }

    /// Ends the uploads at the next border of parts, before the files are put.
    pub fn stop(&self) {
        let worker = lock(&self.worker).take();
        if let Some(Worker { _go_on, thread }) = worker {
            drop(_go_on);
            let _ = thread.join();
        }
    }

    /// Ends the uploads, and removes what was uploaded of files that were not put.
    pub fn discard(&self) {
        self.stop();
        for file in lock(&self.files).drain(..).filter(|file| file.bytes > 0) {
            discard(&file.target);
        }
    }
}

impl Drop for UploadsAhead {
    fn drop(&mut self) {
        self.discard();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn discard(target: &Path) {
    if let Some((url, store)) = RemoteUrl::parse(target).and_then(|url| Some((url, store_of(&url).ok()?))) {
        store.discard_ahead(&url);
    }
}

/// Uploads what files have grown by.
fn look(files: &Mutex<Vec<GrowingFile>>) {
    for at in 0.. {
        // Files are only added at the end.
        let next =
            lock(files).get(at).map(|file| (file.path.clone(), file.target.clone(), file.bytes, file.is_followed));
        let Some((path, target, before, is_followed)) = next else { return };
        let bytes = metadata(&path).map_or(0, |info| info.len());
        if !is_followed || bytes < before.saturating_add(STEP_BYTES) {
            continue;
        }
        let is_followed = upload(&path, &target, bytes).is_some();
        if let Some(file) = lock(files).get_mut(at) {
            (file.bytes, file.is_followed) = (bytes, is_followed);
        }
    }
}

fn upload(path: &Path, target: &Path, bytes: u64) -> Option<()> {
    let url = RemoteUrl::parse(target)?;
    let store = store_of(&url).ok()?;
    let uploaded = open_any(path).ok().and_then(|file| store.upload_ahead(&url, &file, bytes).ok());
    if uploaded.is_none() {
        store.discard_ahead(&url);
    }
    uploaded
}
