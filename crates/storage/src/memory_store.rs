//! A store in memory, `mem://BUCKET/KEY`, for tests of code that works with every store.

use super::file_info::FileInfo;
use super::location::RemoteUrl;
use super::scheme::StoreKind;
use super::store::{
    Condition, Content, ObjectUpload, RangeRead, StagedObject, Store, StoreEntry, TakeEntry, UnfinishedUpload,
};
use gristmill_core::{Failure, FileStamp, Mutex, Outcome, ProblemKind, Subject};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// An object: its content, its number among all objects that were ever put, and the time of its put, in nanoseconds since 1970.
#[derive(Clone)]
struct Object {
    bytes: Arc<[u8]>,
    version: i64,
    at: i64,
}

/// Objects by bucket and key.
static OBJECTS: LazyLock<Mutex<BTreeMap<(String, String), Object>>> = LazyLock::new(Mutex::default);

/// Number of times that each object was opened, by its address.
static OPENS: Mutex<BTreeMap<PathBuf, u64>> = Mutex::new(BTreeMap::new());

/// Objects that are uploaded but not completed, by bucket, key and upload.
static UPLOADS: Mutex<BTreeMap<(String, String, String), Vec<u8>>> = Mutex::new(BTreeMap::new());

/// Buckets that ignore conditions, with the content that replaces the next object put under a condition.
static UNCONDITIONAL: Mutex<BTreeMap<String, Vec<u8>>> = Mutex::new(BTreeMap::new());
/// Prefix of the names of buckets whose objects cannot be removed.
const WITHOUT_REMOVAL: &str = "keeps-";
/// Prefix of the names of buckets whose objects cannot be looked up.
const WITHOUT_LOOKUP: &str = "hides-";

struct MemoryStore {
    bucket: String,
}

/// Returns the store of an address.
pub(super) fn open(url: &RemoteUrl<'_>) -> Outcome<Arc<dyn Store>> {
    Ok(Arc::new(MemoryStore { bucket: url.bucket.to_owned() }))
}

/// Lists the names of all buckets.
pub(super) fn buckets() -> io::Result<Vec<String>> {
    let objects = OBJECTS.lock();
    let names: BTreeSet<String> = objects.keys().map(|(bucket, _)| bucket.clone()).collect();
    Ok(names.into_iter().collect())
}

/// An object that is being uploaded.
struct MemoryUpload {
    /// Bucket, key, and identifier of the upload.
    name: (String, String, String),
    bytes: u64,
    is_finished: bool,
}

impl ObjectUpload for MemoryUpload {
    fn id(&self) -> &str {
        &self.name.2
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes += bytes.len() as u64;
        UPLOADS
            .lock()
            .get_mut(&self.name)
            .map(|sent| sent.extend_from_slice(bytes))
            .ok_or(io::ErrorKind::NotFound.into())
    }

    fn finish(mut self: Box<Self>) -> io::Result<StagedObject> {
        self.is_finished = true;
        Ok(StagedObject {
            upload: self.name.2.clone(),
            bytes: self.bytes,
            parts: Vec::new(),
            checksum: None,
            replaces: None,
        })
    }
}

impl Drop for MemoryUpload {
    fn drop(&mut self) {
        if !self.is_finished {
            UPLOADS.lock().remove(&self.name);
        }
    }
}

impl Object {
    fn info(&self) -> FileInfo {
        FileInfo::of_object(self.bytes.len() as u64, self.at, &self.version.to_string())
    }
}

/// Puts an object at an address `mem://BUCKET/KEY`, replacing an existing one.
///
/// # Panics
/// If the path is no such address.
pub fn put(path: &Path, bytes: &[u8]) {
    let url = RemoteUrl::parse(path).filter(|url| url.scheme.kind == StoreKind::Memory);
    let Some(url) = url else { panic!("{} is not an address of the memory store", path.display()) };
    insert((url.bucket.to_owned(), url.key.to_owned()), bytes, Condition::Always);
}

/// Removes the object at an address.
pub fn remove(path: &Path) {
    if let Some(url) = RemoteUrl::parse(path) {
        let name = (url.bucket.to_owned(), url.key.to_owned());
        OBJECTS.lock().remove(&name);
    }
}

/// Returns how often objects below an address were opened.
pub fn opens_below(path: &Path) -> u64 {
    let opens = OPENS.lock();
    opens.iter().filter(|(object, _)| object.starts_with(path)).map(|(_, count)| count).sum()
}

/// Makes a bucket ignore conditions: the next object put there under a condition is immediately replaced by this content.
pub fn ignore_conditions(bucket: &str, replacement: &[u8]) {
    let mut buckets = UNCONDITIONAL.lock();
    buckets.insert(bucket.to_owned(), replacement.into());
}

/// Inserts an object; returns whether the condition held.
fn insert(name: (String, String), bytes: &[u8], condition: Condition) -> bool {
    static VERSION: AtomicI64 = AtomicI64::new(1);
    let at = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |at| i64::try_from(at.as_nanos()).unwrap_or(0));
    let object = Object { bytes: bytes.into(), version: VERSION.fetch_add(1, Ordering::Relaxed), at };
    let mut objects = OBJECTS.lock();
    let holds = match condition {
        Condition::Always => true,
        Condition::IfAbsent => !objects.contains_key(&name),
        Condition::IfStamp(stamp) => objects.get(&name).is_some_and(|there| there.info().stamp == stamp),
    };
    if holds {
        objects.insert(name, object);
    }
    holds
}

impl MemoryStore {
    fn get(&self, key: &str) -> Option<Object> {
        let objects = OBJECTS.lock();
        objects.get(&(self.bucket.clone(), key.to_owned())).cloned()
    }

    fn upload(&self, key: &str, id: &str) -> (String, String, String) {
        (self.bucket.clone(), key.to_owned(), id.to_owned())
    }

    fn below(&self, prefix: &str) -> Vec<(String, Object)> {
        let objects = OBJECTS.lock();
        let from = (self.bucket.clone(), prefix.to_owned());
        let all = objects.range(from..).take_while(|((bucket, _), _)| *bucket == self.bucket);
        all.take_while(|((_, key), _)| key.starts_with(prefix))
            .map(|((_, key), object)| (key.clone(), object.clone()))
            .collect()
    }
}

impl Store for MemoryStore {
    fn info(&self, url: &RemoteUrl<'_>) -> io::Result<Option<FileInfo>> {
        if self.bucket.starts_with(WITHOUT_LOOKUP) {
            let failure = Failure::environment("looking", "these credentials may not list it");
            let failure = failure.of_kind(ProblemKind::Other);
            return Err(failure.on(Subject::path(url.to_path())).into_io());
        }
        let folder = || (!self.below(&url.prefix()).is_empty()).then(FileInfo::of_prefix);
        Ok(self.get(url.key).map(|object| object.info()).or_else(folder))
    }

    fn list(&self, folder: &RemoteUrl<'_>, recursive: bool, take: TakeEntry<'_>) -> io::Result<()> {
        let prefix = folder.prefix();
        let mut last = String::new();
        for (key, object) in self.below(&prefix) {
            let below = key.get(prefix.len()..).unwrap_or_default();
            let (key, info) = match below.split_once('/') {
                Some((name, _)) if !recursive => (format!("{prefix}{name}"), FileInfo::of_prefix()),
                _ => (key, object.info()),
            };
            if info.is_dir() && key == last {
                continue;
            }
            last.clone_from(&key);
            if !take(StoreEntry { key, info })? {
                break;
            }
        }
        Ok(())
    }

    fn open(&self, url: &RemoteUrl<'_>) -> io::Result<(FileInfo, Box<dyn RangeRead>)> {
        let object = self.get(url.key).ok_or(io::ErrorKind::NotFound)?;
        *OPENS.lock().entry(url.to_path()).or_default() += 1;
        Ok((object.info(), Box::new(OpenObject { bytes: object.bytes })))
    }

    fn put(&self, url: &RemoteUrl<'_>, content: Content<'_>, condition: Condition) -> io::Result<bool> {
        let name = (self.bucket.clone(), url.key.to_owned());
        let replacement = UNCONDITIONAL.lock().get(&self.bucket).cloned();
        if let Some(replacement) = replacement.filter(|_| condition != Condition::Always) {
            return Ok(insert(name, &replacement, Condition::Always));
        }
        Ok(match content {
            Content::Bytes(bytes) => insert(name, bytes, condition),
            Content::File(file) | Content::UnlockedFile(file) => {
                let mut bytes = vec![0; usize::try_from(file.len()).map_err(io::Error::other)?];
                file.read_exact_at(&mut bytes, 0)?;
                insert(name, &bytes, condition)
            }
        })
    }

    fn supports_condition(&self, _: &RemoteUrl<'_>, _: &[u8], _: Condition) -> io::Result<bool> {
        Ok(!UNCONDITIONAL.lock().contains_key(&self.bucket))
    }

    fn can_stage(&self, _: &RemoteUrl<'_>, _: u64, _: u64) -> bool {
        true
    }

    fn begin_staged(&self, url: &RemoteUrl<'_>, _: u64, _: u64) -> io::Result<Box<dyn ObjectUpload>> {
        let name = self.upload(url.key, &uuid::Uuid::new_v4().simple().to_string());
        let mut uploads = UPLOADS.lock();
        uploads.retain(|(bucket, key, _), _| (bucket, key) != (&name.0, &name.1));
        uploads.insert(name.clone(), Vec::new());
        Ok(Box::new(MemoryUpload { name, bytes: 0, is_finished: false }))
    }

    fn has_staged(&self, url: &RemoteUrl<'_>, object: &StagedObject) -> io::Result<bool> {
        Ok(UPLOADS.lock().contains_key(&self.upload(url.key, &object.upload)))
    }

    fn complete_staged(&self, url: &RemoteUrl<'_>, object: &StagedObject) -> io::Result<bool> {
        let sent = UPLOADS.lock().remove(&self.upload(url.key, &object.upload));
        let there = || self.get(url.key).is_some_and(|there| there.bytes.len() as u64 == object.bytes);
        Ok(match sent {
            Some(bytes) => insert((self.bucket.clone(), url.key.to_owned()), &bytes, Condition::Always),
            None => there(),
        })
    }

    fn uploads(&self, folder: &RemoteUrl<'_>) -> io::Result<Option<Vec<UnfinishedUpload>>> {
        let uploads = UPLOADS.lock();
        let below = uploads.iter().filter(|((bucket, key, _), _)| {
            *bucket == self.bucket && (key == folder.key || key.starts_with(&folder.prefix()))
        });
        let listed = below.map(|((_, key, id), bytes)| UnfinishedUpload {
            key: key.clone(),
            id: id.clone(),
            age: Duration::ZERO,
            bytes: Some(bytes.len() as u64),
        });
        Ok(Some(listed.collect()))
    }

    fn end_upload(&self, url: &RemoteUrl<'_>, id: &str) -> io::Result<()> {
        UPLOADS.lock().remove(&self.upload(url.key, id));
        Ok(())
    }

    fn remove(&self, url: &RemoteUrl<'_>) -> io::Result<()> {
        if self.bucket.starts_with(WITHOUT_REMOVAL) {
            let failure = Failure::environment("removing", "these credentials may not remove it");
            return Err(failure
                .on(Subject::path(url.to_path()))
                .of_kind(ProblemKind::Other)
                .with_hint("they need the right to remove it")
                .into_io());
        }
        let name = (self.bucket.clone(), url.key.to_owned());
        OBJECTS.lock().remove(&name);
        Ok(())
    }

    fn remove_version(&self, url: &RemoteUrl<'_>, stamp: FileStamp) -> io::Result<bool> {
        if self.bucket.starts_with(WITHOUT_REMOVAL) {
            return self.remove(url).map(|()| true);
        }
        let name = (self.bucket.clone(), url.key.to_owned());
        let mut objects = OBJECTS.lock();
        let is_there = objects.get(&name).is_some_and(|there| there.info().stamp == stamp);
        if is_there {
            objects.remove(&name);
        }
        Ok(is_there)
    }
}

struct OpenObject {
    bytes: Arc<[u8]>,
}

impl RangeRead for OpenObject {
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let from = usize::try_from(offset).unwrap_or(usize::MAX);
        let bytes = self.bytes.get(from..).and_then(|bytes| bytes.get(..buffer.len()));
        buffer.copy_from_slice(bytes.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn bytes_worth_a_jump(&self) -> u64 {
        // Small enough that tests jump, and large enough that they also read gaps.
        8 << 10
    }
}
