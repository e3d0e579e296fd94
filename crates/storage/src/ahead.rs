//! Uploads files while they are written, so that little is left to do when they are published.

use super::files::metadata;
use super::location::{is_remote, RemoteUrl};
use super::read::open_any;
use super::store::store_of;
use super::waiting::for_each_at_once;
use gristmill_core::Cancel;
use std::path::{Path, PathBuf};
use std::sync::{mpsc, Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Time between two looks at the sizes of the files.
const INTERVAL: Duration = Duration::from_millis(100);
/// Number of looks after which a file that does not grow is no longer looked at.
const MAX_IDLE: u32 = 600;
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
    /// Size up to which it was uploaded as far as whole parts, in bytes.
    bytes: u64,
    /// How often it was looked at since it has grown.
    idle: u32,
    /// Unset after a failure, or when it no longer grows: then it is uploaded when it is put.
    is_followed: bool,
}

#[derive(Debug)]
struct Worker {
    /// Dropped to end the thread.
    go_on: mpsc::Sender<()>,
    /// Ends the requests of the thread.
    end: Cancel,
    thread: JoinHandle<()>,
}

impl UploadsAhead {
    /// Adds a file, which may not exist yet, and the place at which it is going to be put. Has no effect for a local place.
    pub fn add(&self, path: PathBuf, target: PathBuf) {
        if !is_remote(&target) {
            return;
        }
        let mut files = lock(&self.files);
        // A run that begins anew adds its files again.
        if files.iter().any(|file| file.target == target) {
            return;
        }
        files.push(GrowingFile { path, target, bytes: 0, idle: 0, is_followed: true });
        drop(files);
        let mut worker = lock(&self.worker);
        if worker.is_none() {
            // Without a thread, all is uploaded when it is put.
            *worker = Worker::start(Arc::clone(&self.files));
        }
    }

    /// Ends the uploads after the parts that are on their way, before the files are put.
    pub fn stop(&self) {
        if let Some(worker) = lock(&self.worker).take() {
            worker.stop();
        }
    }

    /// Ends the uploads at once, and removes what was uploaded of files that were not put.
    pub fn discard(&self) {
        if let Some(worker) = lock(&self.worker).take() {
            worker.end.cancel();
            worker.stop();
        }
        let files = std::mem::take(&mut *lock(&self.files));
        let begun: Vec<PathBuf> = files.into_iter().filter(|file| file.bytes > 0).map(|file| file.target).collect();
        let remove = |target: &PathBuf| {
            discard(target);
            Ok(())
        };
        // What cannot be removed now is ended by the next run that puts the object.
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
        let (go_on, ended) = mpsc::channel::<()>();
        let end = Cancel::default();
        let waits = end.clone();
        let follow = move || {
            let _waits = waits.enter();
            while ended.recv_timeout(INTERVAL) == Err(mpsc::RecvTimeoutError::Timeout) {
                look(&files, &mut || ended.try_recv() == Err(mpsc::TryRecvError::Empty));
            }
        };
        let thread = std::thread::Builder::new().name("uploads".to_owned()).spawn(follow).ok()?;
        Some(Self { go_on, end, thread })
    }

    fn stop(self) {
        drop(self.go_on);
        let _ = self.thread.join();
    }
}

impl GrowingFile {
    /// Returns the file, its target, and its size, if it has grown enough.
    fn look(&mut self) -> Option<(PathBuf, PathBuf, u64)> {
        if !self.is_followed {
            return None;
        }
        let bytes = metadata(&self.path).map_or(0, |info| info.len());
        if bytes < self.bytes.saturating_add(STEP_BYTES) {
            self.idle += u32::from(self.bytes > 0);
            self.is_followed = self.idle < MAX_IDLE;
            return None;
        }
        self.idle = 0;
        Some((self.path.clone(), self.target.clone(), bytes))
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

/// Uploads some of what files have grown by, as long as it may go on.
fn look(files: &Mutex<Vec<GrowingFile>>, goes_on: &mut dyn FnMut() -> bool) {
    for at in 0.. {
        if !goes_on() {
            return;
        }
        // Files are only added at the end.
        let next = match lock(files).get_mut(at) {
            None => return,
            Some(file) => file.look(),
        };
        let Some((path, target, bytes)) = next else { continue };
        let uploaded = upload(&path, &target, bytes);
        let mut files = lock(files);
        match (uploaded, files.get_mut(at)) {
            (Some(uploaded), Some(file)) => file.bytes = uploaded,
            // The store is asked again when they are put.
            _ => return files.iter_mut().for_each(|file| file.is_followed = false),
        }
    }
}

/// Returns up to which size a file is uploaded.
fn upload(path: &Path, target: &Path, bytes: u64) -> Option<u64> {
    let url = RemoteUrl::parse(target)?;
    let store = store_of(&url).ok()?;
    let uploaded = open_any(path).ok().and_then(|file| store.upload_ahead(&url, &file, bytes).ok());
    if uploaded.is_none() {
        store.discard_ahead(&url);
    }
    uploaded
}
