//! The objects of a bucket, of every store that has requests like these: what is known of one, and reads of one version of it by ranges.

use super::super::super::files::FileInfo;
use super::super::super::range_read::RangeRead;
use super::super::super::store::{Condition, StoreEntry, TakeEntry};
use super::super::blocks::{BlockReader, CancelFetch, FetchDone, FetchRange, FirstRequest};
use super::super::network::{Answer, Network, Pending};
use super::super::version::known::KnownObjects;
use super::super::version::{plain_etag, ObjectVersion};
use super::client::{Action, Call};
use super::refusal::Refusal;
use bytes::Bytes;
use gristmill_core::{Failure, Outcome};
use reqwest::header::HeaderMap;
use reqwest::Method;
use std::future::Future;
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// Sends the requests of a bucket.
pub(in crate::remote) trait ObjectClient: Send + Sync + 'static {
    fn network(&self) -> &Network;

    /// Sends a request until it has an answer: with success, or a refusal that does not depend on time.
    fn send(&self, call: &Call) -> impl Future<Output = Outcome<Result<Answer, Refusal>>> + Send;

    /// Returns the function for the version that the headers of an answer have.
    fn version_of(&self) -> fn(&HeaderMap) -> String;

    /// Whether there is no such object, although there is the bucket.
    fn is_missing(&self, refusal: &Refusal) -> bool;

    /// Returns the failure that states why a request was refused, and what the user can do.
    fn explain(&self, refusal: &Refusal, action: Action, key: &str) -> Failure;
}

/// An answer that is waited for.
pub(in crate::remote) type PendingAnswer = Pending<Outcome<Result<Answer, Refusal>>>;

/// Waits for an answer.
pub(in crate::remote) fn finish(answer: PendingAnswer) -> io::Result<Result<Answer, Refusal>> {
    answer.finish().and_then(|answer| answer).map_err(Failure::into_io)
}

/// Returns the request for a range of an object.
pub(in crate::remote) fn get_range(key: &str, range: Range<u64>, etag: Option<String>) -> Call {
    Call {
        method: Method::GET,
        action: Action::Read,
        key: key.to_owned(),
        query: Vec::new(),
        range: Some(range),
        etag,
        ending: None,
        body: Bytes::new(),
        condition: Condition::Always,
        headers: Vec::new(),
    }
}

/// Returns the request for the headers of an object.
pub(in crate::remote) fn head(key: &str) -> Call {
    Call { method: Method::HEAD, range: None, ..get_range(key, 0..0, None) }
}

/// The objects of a bucket.
pub(in crate::remote) struct Objects<C> {
    pub(in crate::remote) client: Arc<C>,
    pub(in crate::remote) known: KnownObjects,
    first: FirstRequest,
}

impl<C: ObjectClient> Objects<C> {
    pub(in crate::remote) fn of_client(client: C) -> Self {
        Self { client: Arc::new(client), known: KnownObjects::default(), first: FirstRequest::new() }
    }

    /// Sends a request.
    pub(in crate::remote) fn begin_call(&self, call: Call) -> PendingAnswer {
        let client = Arc::clone(&self.client);
        self.client.network().begin(async move { client.send(&call).await })
    }

    /// Sends a request and waits for the answer.
    pub(in crate::remote) fn ask(&self, call: Call) -> io::Result<Result<Answer, Refusal>> {
        finish(self.begin_call(call))
    }

    pub(in crate::remote) fn explain(&self, refusal: &Refusal, action: Action, key: &str) -> io::Error {
        self.client.explain(refusal, action, key).into_io()
    }

    /// Returns size and version of an object.
    pub(in crate::remote) fn head(&self, key: &str) -> io::Result<Result<ObjectVersion, Refusal>> {
        Ok(self.ask(head(key))?.map(|answer| {
            let bytes = answer.header("content-length").and_then(|bytes| bytes.parse().ok()).unwrap_or_default();
            let version = (self.client.version_of())(&answer.headers);
            let version = ObjectVersion::of(&answer.headers, bytes, version);
            self.known.remember(key, &version);
            version
        }))
    }

    /// Opens an object with a request for its beginning. `etag`: the version that it has to have.
    fn begin(&self, key: &str, etag: Option<String>) -> io::Result<Result<(ObjectVersion, Vec<u8>), Refusal>> {
        let refusal = match self.ask(get_range(key, 0..self.first.bytes(), etag))? {
            Ok(answer) => {
                let version = ObjectVersion::of(&answer.headers, answer.total, answer.version);
                return Ok(Ok((version, answer.body)));
            }
            Err(refusal) if refusal.status != 416 => return Ok(Err(refusal)),
            Err(refusal) => refusal,
        };
        // An empty object has no range that could be read.
        Ok(match self.head(key)? {
            Ok(version) if version.bytes == 0 => Ok((version, Vec::new())),
            Ok(_) => Err(refusal),
            Err(refusal) => Err(refusal),
        })
    }

    /// Opens an object for reading by ranges, all of one version.
    pub(in crate::remote) fn open_object(&self, key: &str) -> io::Result<(FileInfo, Box<dyn RangeRead>)> {
        let known = self.known.version(key).map(|version| plain_etag(&version.etag).to_owned());
        let known = known.filter(|etag| !etag.is_empty());
        let is_known = known.is_some();
        let mut opened = self.begin(key, known)?;
        if is_known && matches!(&opened, Err(refusal) if refusal.status == 412) {
            opened = self.begin(key, None)?;
        }
        match opened {
            Ok((version, first)) => {
                self.known.remember(key, &version);
                let info = version.info();
                let source = ObjectSource { client: Arc::clone(&self.client), key: key.to_owned(), version };
                let reader = BlockReader::new(Box::new(source), info.len(), first).with_first(&self.first);
                Ok((info, Box::new(reader)))
            }
            Err(refusal) if self.client.is_missing(&refusal) => Err(io::ErrorKind::NotFound.into()),
            Err(refusal) => Err(self.explain(&refusal, Action::Read, key)),
        }
    }

    /// Takes the entries of a page of a listing in the order of the keys, with the versions of objects; the others are prefixes with the slash at
    /// their end. Returns whether all are taken.
    pub(in crate::remote) fn take_entries(
        &self,
        mut entries: Vec<(String, Option<ObjectVersion>)>,
        take: TakeEntry<'_>,
    ) -> io::Result<bool> {
        // Compared with the slash, as the keys below a prefix are.
        entries.sort_by(|(one, _), (other, _)| one.cmp(other));
        // A folder of an account with folders may also be a prefix.
        entries.dedup();
        for (mut key, version) in entries {
            let info = match version {
                // What only marks a folder.
                Some(version) if version.bytes == 0 && key.ends_with('/') => continue,
                Some(version) => {
                    self.known.remember(&key, &version);
                    version.info()
                }
                None => {
                    if key.ends_with('/') {
                        key.pop();
                    }
                    FileInfo::of_prefix()
                }
            };
            if !take(StoreEntry { key, info })? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether an object has this content.
    pub(in crate::remote) fn is_content(&self, key: &str, body: &Bytes) -> io::Result<bool> {
        let Ok(version) = self.head(key)? else { return Ok(false) };
        if version.bytes != body.len() as u64 || body.is_empty() {
            return Ok(version.bytes == 0 && body.is_empty());
        }
        Ok(matches!(self.ask(get_range(key, 0..version.bytes, None))?, Ok(answer) if answer.body == *body))
    }
}

/// Fetches ranges of one version of an object.
struct ObjectSource<C> {
    client: Arc<C>,
    key: String,
    version: ObjectVersion,
}

impl<C: ObjectClient> FetchRange for ObjectSource<C> {
    fn begin(&self, range: Range<u64>, done: FetchDone) -> CancelFetch {
        let (client, total) = (Arc::clone(&self.client), self.version.bytes);
        let etag = Some(plain_etag(&self.version.etag).to_owned()).filter(|etag| !etag.is_empty());
        let call = get_range(&self.key, range, etag);
        let task = self.client.network().spawn(async move {
            let refusal = match client.send(&call).await {
                Ok(Ok(answer)) if answer.total == total => return done.finish(Ok(answer.body)),
                Ok(Ok(_)) => Refusal::of_success(412, ""),
                // An object that is gone is not the one that was opened.
                Ok(Err(refusal)) if client.is_missing(&refusal) => Refusal { status: 412, ..refusal },
                Ok(Err(refusal)) => refusal,
                Err(failure) => return done.finish(Err(failure)),
            };
            done.finish(Err(client.explain(&refusal, call.action, &call.key)));
        });
        Box::new(move || task.abort())
    }
}
