//! Stores: what holds the objects of remote locations.
//!
//! A store is a row of [`SCHEMES`] and an implementation of [`Store`]. Nothing outside this crate knows one by its name.

use super::file_info::FileInfo;
pub use super::file_info::{StoreEntry, TakeEntry};
use super::location::RemoteUrl;
pub use super::range_read::RangeRead;
use super::read::ReadFile;
use gristmill_core::{Failure, FileStamp, Outcome, Problem, Subject};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A kind of stores, known by the beginning of its addresses.
#[derive(Debug)]
pub struct Scheme {
    /// The text before `://`.
    pub name: &'static str,
    /// Whether messages leave it out, because another row has the usual name of the same kind, or because it is for tests.
    pub is_hidden: bool,
    /// The usual one of several names of the same kind.
    pub usual: &'static str,
    /// Whether objects can be put.
    pub is_writable: bool,
    /// Checks an address as the user typed it, and returns its canonical path.
    pub check_address: fn(&str) -> Outcome<String>,
    /// Name of the kind, in messages.
    pub title: &'static str,
    /// Lists the names of the buckets, or of what is in their place in addresses; `None` if that is not possible.
    pub buckets: Option<fn() -> io::Result<Vec<String>>>,
    /// Whether an address is that of a whole bucket, next to which nothing can be put.
    pub is_bucket: fn(&RemoteUrl<'_>) -> bool,
    /// Connects to the store of an address. Nothing is asked before it is used.
    pub open: fn(&RemoteUrl<'_>) -> Outcome<Arc<dyn Store>>,
}

impl PartialEq for Scheme {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Scheme {}

/// All kinds of stores.
pub static SCHEMES: &[Scheme] = &[
    #[cfg(any(test, feature = "testing"))]
    super::memory_store::SCHEME,
    #[cfg(feature = "remote")]
    super::remote::s3::SCHEME,
    #[cfg(feature = "remote")]
    super::remote::s3::ALIAS,
    #[cfg(feature = "remote")]
    super::remote::gs::SCHEME,
    #[cfg(feature = "remote")]
    super::remote::gs::ALIAS,
    #[cfg(feature = "remote")]
    super::remote::az::SCHEME,
    #[cfg(feature = "remote")]
    super::remote::az::WITH_ACCOUNT,
    #[cfg(feature = "remote")]
    super::remote::az::ALIAS,
    #[cfg(feature = "remote")]
    super::remote::msc::SCHEME,
    #[cfg(feature = "remote")]
    super::remote::web::HTTPS,
    #[cfg(feature = "remote")]
    super::remote::web::HTTP,
    #[cfg(feature = "remote")]
    super::remote::hf::SCHEME,
];

/// Reasons of failures about a bucket, or what is in its place, that does not exist.
pub(super) const NO_BUCKET: &str = "there is no such bucket";
pub(super) const NO_CONTAINER: &str = "there is no such container";

/// Returns the beginnings of addresses, those that can be written or all.
pub fn schemes_text(is_written: bool) -> String {
    let rows = SCHEMES.iter().filter(|scheme| !scheme.is_hidden && (scheme.is_writable || !is_written));
    rows.map(|scheme| format!("{}://", scheme.name)).collect::<Vec<_>>().join(", ")
}

/// Returns the failure for a change in a store that cannot be written.
pub fn read_only(url: &RemoteUrl<'_>) -> Failure {
    let hint = format!(
        "addresses that can be written begin with {}; gristmill cp copies data there, or to a disk",
        schemes_text(true)
    );
    let why = format!("{}:// cannot be written", url.scheme.name);
    Failure::usage("writing", why).on(Subject::path(url.to_path())).with_hint(hint)
}

/// A store of objects. All methods wait for the answer.
///
/// # Errors
/// An error of kind [`NotFound`](io::ErrorKind::NotFound) states that there is no such object. Other errors of a store contain the
/// [`Failure`] that explains them, which [`Failure::io`] returns.
pub trait Store: Send + Sync {
    /// Returns what is at an address: an object; else a folder, if there is an object below it; `None` if there is neither.
    fn info(&self, url: &RemoteUrl<'_>) -> io::Result<Option<FileInfo>>;

    /// Lists what is below an address, so that later calls about it need no requests.
    fn fetch_listing(&self, _url: &RemoteUrl<'_>) -> io::Result<()> {
        Ok(())
    }

    /// Lists what is below a prefix, in the order of the keys: every object, or with `recursive` off only the next level, whose folders are
    /// the prefixes that keys have in common up to a slash. Keys of no plain path ([`is_plain_key`](super::location::is_plain_key)) are
    /// listed, too.
    fn list(&self, folder: &RemoteUrl<'_>, recursive: bool, take: TakeEntry<'_>) -> io::Result<()>;

    /// Opens an object for reading by ranges, all of one version.
    fn open(&self, url: &RemoteUrl<'_>) -> io::Result<(FileInfo, Box<dyn RangeRead>)>;

    /// Opens an object of which a part is read in order. The part may end after the object.
    fn open_part(&self, url: &RemoteUrl<'_>, _part: Range<u64>) -> io::Result<(FileInfo, Box<dyn RangeRead>)> {
        self.open(url)
    }

    /// Puts an object, which is visible only as a whole, and replaces one that is there. Returns whether the condition held; if not, nothing
    /// has changed.
    fn put(&self, url: &RemoteUrl<'_>, content: Content<'_>, condition: Condition) -> io::Result<bool>;

    /// Whether the store refuses to put an object under a condition of this kind that does not hold. `content` is that of the object at the address,
    /// which may be put again.
    fn supports_condition(&self, _url: &RemoteUrl<'_>, _content: &[u8], _condition: Condition) -> io::Result<bool> {
        Ok(true)
    }

    /// Uploads some parts of the first bytes of a file that is going to be put here, without making anything visible: whole ones while the file still
    /// grows, and the last one if it is complete. What of them is the same when the file is put is not sent again. Returns up to which size there is
    /// nothing more to upload.
    fn upload_ahead(
        &self,
        _url: &RemoteUrl<'_>,
        _file: &ReadFile,
        (bytes, _is_complete): (u64, bool),
    ) -> io::Result<u64> {
        Ok(bytes)
    }

    /// Removes what was uploaded ahead of an object that is not put.
    fn discard_ahead(&self, _url: &RemoteUrl<'_>) {}

    /// Whether an object of this size can be sent while it is made, and completed later, with this much memory.
    fn can_stage(&self, _url: &RemoteUrl<'_>, _bytes: u64, _memory: u64) -> bool {
        false
    }

    /// Begins an object of a size for which [`can_stage`](Self::can_stage) holds, and ends other unfinished uploads of it. `memory` is how many
    /// bytes of it are in memory at once; two parts are in any case.
    fn begin_staged(&self, url: &RemoteUrl<'_>, _bytes: u64, _memory: u64) -> io::Result<Box<dyn ObjectUpload>> {
        Err(Failure::internal("writing", "the store has no uploads").on(Subject::path(url.to_path())).into_io())
    }

    /// Whether all of an object that was sent is still there, and not completed.
    fn has_staged(&self, _url: &RemoteUrl<'_>, _object: &StagedObject) -> io::Result<bool> {
        Ok(false)
    }

    /// Makes an object visible that was sent, and replaces one that is there. Returns whether it is visible now, also if it was before; if not, the
    /// store does not have it any more.
    fn complete_staged(&self, _url: &RemoteUrl<'_>, _object: &StagedObject) -> io::Result<bool> {
        Ok(false)
    }

    /// Removes an object. A missing one is not an error.
    fn remove(&self, url: &RemoteUrl<'_>) -> io::Result<()>;

    /// Removes an object if it has a version; returns whether it had. Another one may be removed only if the store has no conditions for removals, and
    /// it was put after the version was compared.
    fn remove_version(&self, url: &RemoteUrl<'_>, stamp: FileStamp) -> io::Result<bool> {
        let is_there = self.info(url)?.is_some_and(|info| info.stamp == stamp);
        if is_there {
            self.remove(url)?;
        }
        Ok(is_there)
    }

    /// Copies an object of this kind of store, from any bucket, and replaces one that is there. Returns whether the store can do that; if not,
    /// nothing has changed, and the object has to be read and put. `watch` is called with each number of copied bytes, and may end the copy.
    fn copy(&self, _from: &RemoteUrl<'_>, _to: &RemoteUrl<'_>, _watch: &WatchBytes) -> io::Result<bool> {
        Ok(false)
    }

    /// Returns the address of the service that has the objects, if the same address of an object leads to others on another service; `None`
    /// for the usual service of the scheme. Nothing is asked.
    fn service(&self, _url: &RemoteUrl<'_>) -> Option<String> {
        None
    }

    /// Returns the address of an object or a prefix without the names that profiles have for it. Nothing is asked.
    fn usual_address(&self, url: &RemoteUrl<'_>) -> String {
        format!("{}://{}/{}", url.scheme.usual, url.bucket, url.key)
    }

    /// Returns the settings of the requests.
    fn settings(&self, _url: &RemoteUrl<'_>) -> io::Result<StoreSettings> {
        Ok(StoreSettings::default())
    }

    /// Finds out which wrong requests are refused, by requests that put this content at an address that has it; `None` if that is not known.
    fn guards(&self, _url: &RemoteUrl<'_>, _content: &[u8]) -> io::Result<Option<StoreGuards>> {
        Ok(None)
    }

    /// Lists unfinished uploads of an object and below it, of very many only some; `None` if the store has no such thing.
    fn uploads(&self, _folder: &RemoteUrl<'_>) -> io::Result<Option<Vec<UnfinishedUpload>>> {
        Ok(None)
    }

    /// Ends an unfinished upload. A missing one is not an error.
    fn end_upload(&self, _url: &RemoteUrl<'_>, _id: &str) -> io::Result<()> {
        Ok(())
    }

    /// Gives up an object that was sent, and is not going to be completed. Nothing becomes visible meanwhile.
    fn discard_staged(&self, url: &RemoteUrl<'_>, id: &str) -> io::Result<()> {
        self.end_upload(url, id)
    }

    /// Whether an address is that of a whole bucket.
    fn is_root(&self, url: &RemoteUrl<'_>) -> bool {
        url.key.is_empty()
    }

    /// Returns the problems of reading what is at an address: that the store does not have, or may not list, all of it.
    fn losses(&self, _url: &RemoteUrl<'_>) -> io::Result<Vec<Problem>> {
        Ok(Vec::new())
    }

    /// Returns the time since an object was written, by the clock of the store; `None` if that is not known, or there is no such object.
    fn age(&self, _url: &RemoteUrl<'_>) -> io::Result<Option<Duration>> {
        Ok(None)
    }

    /// Returns the MD5 of the content of an object, in hexadecimal, if the store knows it.
    fn md5(&self, _url: &RemoteUrl<'_>) -> io::Result<Option<String>> {
        Ok(None)
    }
}

/// Settings that the requests of a store are sent with; those that are not known are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreSettings {
    /// Source of the credentials, and the end of the id of the key.
    pub credentials: String,
    /// Region of the bucket.
    pub region: String,
    /// Address of the bucket, and what sets it.
    pub endpoint: String,
}

/// Which requests a store refuses, as it should.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreGuards {
    /// Those that put an object only if there is none, and there is one.
    pub if_absent: bool,
    /// Those that put an object only if it has not changed, and it has.
    pub if_unchanged: bool,
    /// Those with a wrong checksum.
    pub checksums: bool,
}

/// An upload in parts that was neither completed nor ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnfinishedUpload {
    /// Key of the object that it would make.
    pub key: String,
    /// Name of the upload.
    pub id: String,
    /// Time since its beginning, by the clock of the store.
    pub age: Duration,
    /// Size of its parts, if it is known.
    pub bytes: Option<u64>,
}

/// An object all of whose bytes are in its store, and which is not visible yet. [`Store::end_upload`] removes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StagedObject {
    /// Name of the upload.
    pub upload: String,
    /// Its size.
    pub bytes: u64,
    /// Tags of the parts, in order.
    pub parts: Vec<String>,
    /// Checksum of its content, if the store names checksums of whole objects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checksum: Option<String>,
    /// Version that was at the address when the upload began, if there was one.
    pub replaces: Option<String>,
}

/// Sends an object in order. Dropped before it is finished, it is removed.
pub trait ObjectUpload: Send {
    /// Returns the name of the upload.
    fn id(&self) -> &str;

    /// Sends the next bytes.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Waits until all bytes are in the store.
    fn finish(self: Box<Self>) -> io::Result<StagedObject>;
}

/// What is called with each number of bytes that were copied; an error ends the copy.
pub type WatchBytes = dyn Fn(u64) -> io::Result<()> + Send + Sync;

/// The content of an object that is put. It may be read more than once.
#[derive(Clone, Copy, Debug)]
pub enum Content<'a> {
    /// All of it.
    Bytes(&'a [u8]),
    /// A file, put by the holder of the lock of the output: unfinished uploads of the object are in use by no other process, and are ended.
    File(&'a ReadFile),
    /// A file, put without a lock.
    UnlockedFile(&'a ReadFile),
}

/// Condition under which an object is put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// Unconditionally.
    Always,
    /// If there is no object at the address.
    IfAbsent,
    /// If the object at the address has this stamp.
    IfStamp(FileStamp),
}

/// Returns the store of an address; it is the same one for the whole run.
pub fn store_of(url: &RemoteUrl<'_>) -> io::Result<Arc<dyn Store>> {
    type Stores = Mutex<HashMap<(&'static str, String), Arc<dyn Store>>>;
    static STORES: std::sync::LazyLock<Stores> = std::sync::LazyLock::new(Mutex::default);
    let mut stores = STORES.lock().unwrap_or_else(PoisonError::into_inner);
    let name = (url.scheme.name, url.bucket.to_owned());
    if let Some(store) = stores.get(&name) {
        return Ok(Arc::clone(store));
    }
    let store = (url.scheme.open)(url).map_err(Failure::into_io)?;
    stores.insert(name, Arc::clone(&store));
    Ok(store)
}
