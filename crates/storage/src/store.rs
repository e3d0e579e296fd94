//! Stores: services that hold the objects of remote locations.
//!
//! A kind of store is rows of [`SCHEMES`](super::scheme::SCHEMES), an implementation of [`Store`] and its functions in
//! [`stores`](super::stores). Code outside this crate must not depend on a specific store.

pub use super::content_check::{ContentCheck, PendingCheck};
use super::file_info::FileInfo;
pub use super::file_info::{StoreEntry, TakeEntry};
use super::location::RemoteUrl;
pub use super::range_read::RangeRead;
use super::read_file::ReadFile;
use super::scheme::schemes_text;
use gristmill_core::{Failure, FileStamp, Problem, Subject};
use serde::{Deserialize, Serialize};
use std::io;
use std::ops::Range;
use std::time::Duration;

/// Reasons of failures about a bucket or container that does not exist.
pub(super) const NO_BUCKET: &str = "there is no such bucket";
pub(super) const NO_CONTAINER: &str = "there is no such container";

/// Returns the failure for a change in a store that cannot be written.
pub fn read_only(url: &RemoteUrl<'_>) -> Failure {
    let hint = format!(
        "addresses that can be written begin with {}; gristmill cp copies data there, or to a disk",
        schemes_text(true)
    );
    let why = format!("{}:// cannot be written", url.scheme.name);
    Failure::usage("writing", why).on(Subject::path(url.to_path())).with_hint(hint)
}

/// Returns the failure of a store whose buckets cannot be listed.
pub(super) fn unlisted_buckets() -> Failure {
    let failure = Failure::usage("reading the folder", "the buckets of this store cannot be listed");
    failure.with_hint("type the whole address")
}

/// A store of objects. All methods wait for the response.
///
/// # Errors
/// An error of kind [`NotFound`](io::ErrorKind::NotFound) states that there is no such object. Other errors of a store contain the
/// [`Failure`] that explains them, which [`Failure::io`] returns.
pub trait Store: Send + Sync {
    /// Returns the information of the object at an address, or of the folder if there are objects below it; `None` if there is neither.
    fn info(&self, url: &RemoteUrl<'_>) -> io::Result<Option<FileInfo>>;

    /// Returns the same from an answer of a moment ago, without a request; `None` if it is unknown.
    fn known_info(&self, _url: &RemoteUrl<'_>) -> Option<Option<FileInfo>> {
        None
    }

    /// Returns the same as [`info`](Self::info), and lists the beginning of all that is below a folder, so that later calls about it need no requests.
    fn info_and_listing(&self, url: &RemoteUrl<'_>) -> io::Result<Option<FileInfo>> {
        self.info(url)
    }

    /// Lists the objects below an address, so that later queries for them need no requests.
    fn fetch_listing(&self, _url: &RemoteUrl<'_>) -> io::Result<()> {
        Ok(())
    }

    /// Lists the objects below a prefix, in the order of keys: all of them, or without `recursive` only the next level, whose folders are
    /// the common prefixes of keys up to a slash. Includes keys that cannot be a path ([`is_plain_key`](super::location::is_plain_key)).
    fn list(&self, folder: &RemoteUrl<'_>, recursive: bool, take: TakeEntry<'_>) -> io::Result<()>;

    /// Opens an object for reading by ranges, all of one version.
    fn open(&self, url: &RemoteUrl<'_>) -> io::Result<(FileInfo, Box<dyn RangeRead>)>;

    /// Opens an object for reading a part in order. The part may end after the object.
    fn open_part(&self, url: &RemoteUrl<'_>, _part: Range<u64>) -> io::Result<(FileInfo, Box<dyn RangeRead>)> {
        self.open(url)
    }

    /// Puts an object, which becomes visible as a whole and replaces an existing one. Returns whether the condition held; if not, nothing
    /// has changed.
    fn put(&self, url: &RemoteUrl<'_>, content: Content<'_>, condition: Condition) -> io::Result<bool>;

    /// Whether the store refuses to put an object if a condition of this kind does not hold. `content` is the content of the object at the
    /// address, which may be put again.
    fn supports_condition(&self, _url: &RemoteUrl<'_>, _content: &[u8], _condition: Condition) -> io::Result<bool> {
        Ok(true)
    }

    /// Uploads parts of a file that will be put here, without making anything visible: whole parts while the file grows, and the last one
    /// once it is complete. Parts that have not changed when the file is put are not uploaded again. Returns the number of bytes uploaded
    /// so far.
    fn upload_ahead(
        &self,
        _url: &RemoteUrl<'_>,
        _file: &ReadFile,
        (bytes, _is_complete): (u64, bool),
    ) -> io::Result<u64> {
        Ok(bytes)
    }

    /// Removes parts of an object that were uploaded ahead, if it is not put.
    fn discard_ahead(&self, _url: &RemoteUrl<'_>) {}

    /// Whether an object of this size can be uploaded while it is created, and completed later, with this much memory.
    fn can_stage(&self, _url: &RemoteUrl<'_>, _bytes: u64, _memory: u64) -> bool {
        false
    }

    /// Starts the upload of an object of a size for which [`can_stage`](Self::can_stage) holds, and aborts other unfinished uploads of it.
    /// At most `memory` bytes of it are in memory at once, or two parts if that is more.
    fn begin_staged(&self, url: &RemoteUrl<'_>, _bytes: u64, _memory: u64) -> io::Result<Box<dyn ObjectUpload>> {
        Err(Failure::internal("writing", "the store has no uploads").on(Subject::path(url.to_path())).into_io())
    }

    /// Whether the store still has all bytes of an uploaded object that is not completed.
    fn has_staged(&self, _url: &RemoteUrl<'_>, _object: &StagedObject) -> io::Result<bool> {
        Ok(false)
    }

    /// Makes an uploaded object visible, replacing an existing one. Returns whether it is visible now, even if it was before; `false` if
    /// the store no longer has it.
    fn complete_staged(&self, _url: &RemoteUrl<'_>, _object: &StagedObject) -> io::Result<bool> {
        Ok(false)
    }

    /// Removes an object. A missing one is not an error.
    fn remove(&self, url: &RemoteUrl<'_>) -> io::Result<()>;

    /// Removes an object if it has this version, and returns whether it had. A store without conditions for removals may also remove a
    /// version that was put after the comparison.
    fn remove_version(&self, url: &RemoteUrl<'_>, stamp: FileStamp) -> io::Result<bool> {
        let is_there = self.info(url)?.is_some_and(|info| info.stamp == stamp);
        if is_there {
            self.remove(url)?;
        }
        Ok(is_there)
    }

    /// Copies an object of this kind of store, from any bucket, and replaces an existing one. Returns whether the store supports this; if
    /// not, nothing has changed, and the object must be read and put. `watch` is called with the number of bytes of each step, and may end
    /// the copy.
    fn copy(&self, _from: &RemoteUrl<'_>, _to: &RemoteUrl<'_>, _watch: &WatchBytes) -> io::Result<bool> {
        Ok(false)
    }

    /// Returns the address of the service that has the objects, if other services have other objects at the same address; `None` for the
    /// usual service of the scheme. Makes no request.
    fn service(&self, _url: &RemoteUrl<'_>) -> Option<String> {
        None
    }

    /// Returns the address of an object or a prefix without names that are defined by profiles. Makes no request.
    fn usual_address(&self, url: &RemoteUrl<'_>) -> String {
        format!("{}://{}/{}", url.scheme.usual, url.bucket, url.key)
    }

    /// Returns the settings of the requests.
    fn settings(&self, _url: &RemoteUrl<'_>) -> io::Result<StoreSettings> {
        Ok(StoreSettings::default())
    }

    /// Determines which invalid requests are refused, by requests that put this content at an address that has it; `None` if that is
    /// unknown.
    fn guards(&self, _url: &RemoteUrl<'_>, _content: &[u8]) -> io::Result<Option<StoreGuards>> {
        Ok(None)
    }

    /// Lists unfinished uploads of an object and of objects below it, or only some of a large number; `None` if the store has no uploads.
    fn uploads(&self, _folder: &RemoteUrl<'_>) -> io::Result<Option<Vec<UnfinishedUpload>>> {
        Ok(None)
    }

    /// Aborts an unfinished upload. A missing one is not an error.
    fn end_upload(&self, _url: &RemoteUrl<'_>, _id: &str) -> io::Result<()> {
        Ok(())
    }

    /// Discards an uploaded object that will not be completed. It never becomes visible.
    fn discard_staged(&self, url: &RemoteUrl<'_>, id: &str) -> io::Result<()> {
        self.end_upload(url, id)
    }

    /// Lists the names of all buckets of the account.
    fn buckets(&self) -> io::Result<Vec<String>> {
        Err(unlisted_buckets().into_io())
    }

    /// Whether an address is a whole bucket.
    fn is_root(&self, url: &RemoteUrl<'_>) -> bool {
        url.key.is_empty()
    }

    /// Returns the problems of reading what is below an address: data that the store lacks or does not permit to list.
    fn losses(&self, _url: &RemoteUrl<'_>) -> io::Result<Vec<Problem>> {
        Ok(Vec::new())
    }

    /// Returns the time since an object was written, by the clock of the store; `None` if it is unknown, or there is no such object.
    fn age(&self, _url: &RemoteUrl<'_>) -> io::Result<Option<Duration>> {
        Ok(None)
    }

    /// Requests the checksum with which the content of an object is compared when it is read in order; `None` if the store has none.
    fn begin_check(&self, _url: &RemoteUrl<'_>) -> Option<PendingCheck> {
        None
    }

    /// Returns the MD5 of the content of an object, in hexadecimal, if the store knows it.
    fn md5(&self, _url: &RemoteUrl<'_>) -> io::Result<Option<String>> {
        Ok(None)
    }
}

/// Settings of the requests of a store; unknown ones are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreSettings {
    /// Source of the credentials, and the last characters of the key id.
    pub credentials: String,
    /// Region of the bucket.
    pub region: String,
    /// Address of the bucket, and the setting that determines it.
    pub endpoint: String,
}

/// Whether a store refuses requests that it should refuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreGuards {
    /// Requests to put an object only if there is none, although there is one.
    pub if_absent: bool,
    /// Requests to put an object only if it is unchanged, although it has changed.
    pub if_unchanged: bool,
    /// Requests with a wrong checksum.
    pub checksums: bool,
}

/// An upload in parts that was neither completed nor aborted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnfinishedUpload {
    /// Key of the object that it would create.
    pub key: String,
    /// Name of the upload.
    pub id: String,
    /// Time since its start, by the clock of the store.
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
    /// Checksum of its content, if the store has checksums of whole objects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checksum: Option<String>,
    /// Version of the object at the address when the upload started, if there was one.
    pub replaces: Option<String>,
}

/// Uploads an object in order. If it is dropped before it is finished, the upload is aborted.
pub trait ObjectUpload: Send {
    /// Returns the name of the upload.
    fn id(&self) -> &str;

    /// Uploads the next bytes.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Waits until all bytes are in the store.
    fn finish(self: Box<Self>) -> io::Result<StagedObject>;
}

/// Callback that receives the number of copied bytes of each step; an error ends the copy.
pub type WatchBytes = dyn Fn(u64) -> io::Result<()> + Send + Sync;

/// The content of an object that is put. It may be read more than once.
#[derive(Clone, Copy, Debug)]
pub enum Content<'a> {
    /// Bytes in memory.
    Bytes(&'a [u8]),
    /// A file, put by the holder of the lock of the output: no other process uses unfinished uploads of the object, so they are aborted.
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
