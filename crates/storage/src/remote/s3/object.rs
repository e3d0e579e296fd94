//! The objects of a bucket, for every store with similar requests: their cached versions, and reads of one version by ranges.

use super::super::super::file_info::FileInfo;
use super::super::super::range_read::RangeRead;
use super::super::super::store::TakeEntry;
use super::super::blocks::{
    first_of_part, BlockReader, CancelFetch, FetchDone, FetchRange, FirstRequest, FIRST_UNKNOWN_BYTES,
};
use super::super::dates::parse_http_date;
use super::super::network::{Answer, Network, Pending};
use super::super::version::beginnings::Beginnings;
use super::super::version::known::{take_all, KnownObjects, ListedFolder};
use super::super::version::{plain_etag, ObjectVersion};
use super::call::{get_range, head, write, Action, Call};
use super::refusal::Refusal;
use bytes::Bytes;
use gristmill_core::{Failure, Outcome};
use reqwest::header::HeaderMap;
use reqwest::Method;
use std::future::Future;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// Sends the requests of a bucket.
pub(in crate::remote) trait ObjectClient: Send + Sync + 'static {
    fn network(&self) -> &Network;

    /// Sends a request until the store answers with success, or with a refusal that does not depend on time.
    fn send(&self, call: &Call) -> impl Future<Output = Outcome<Result<Answer, Refusal>>> + Send;

    /// Returns the address of a key in the form that users type.
    fn address(&self, key: &str) -> String;

    /// Returns the function that reads the version from the headers of an answer.
    fn version_of(&self) -> fn(&HeaderMap) -> String;

    /// Whether the object does not exist, although the bucket does.
    fn is_missing(&self, refusal: &Refusal) -> bool;

    /// Returns the failure that states why a request was refused, and what the user can do.
    fn failure_of(&self, refusal: &Refusal, action: Action, key: &str) -> Failure;
}

/// An answer that has not arrived yet.
pub(in crate::remote) type PendingAnswer = Pending<Outcome<Result<Answer, Refusal>>>;

/// A part of an object in transfer. If it is dropped before its answer arrived, the transfer is aborted, so that no part arrives after its
/// upload was aborted.
pub(in crate::remote) struct PendingPart(Option<PendingAnswer>);

impl PendingPart {
    pub(in crate::remote) fn of(answer: PendingAnswer) -> Self {
        Self(Some(answer))
    }

    /// Waits for the answer, unless the work of this thread is cancelled first.
    pub(in crate::remote) fn finish(mut self) -> io::Result<Result<Answer, Refusal>> {
        let answer = self.0.as_ref().map(Pending::wait).unwrap_or_else(|| Err(Failure::internal("sending", "no part")));
        if answer.is_ok() {
            self.0 = None;
        }
        answer.and_then(|answer| answer).map_err(Failure::into_io)
    }
}

impl Drop for PendingPart {
    fn drop(&mut self) {
        self.0.iter().for_each(Pending::give_up);
    }
}

/// Waits for an answer.
pub(in crate::remote) fn finish(answer: PendingAnswer) -> io::Result<Result<Answer, Refusal>> {
    answer.finish().and_then(|answer| answer).map_err(Failure::into_io)
}

/// Waits for the answer to a request that changes nothing, unless the work of this thread is cancelled first.
pub(in crate::remote) fn finish_read(answer: PendingAnswer) -> io::Result<Result<Answer, Refusal>> {
    answer.finish_read().and_then(|answer| answer).map_err(Failure::into_io)
}

/// Returns the size of an object from the answer to HEAD.
pub(in crate::remote) fn bytes_in(answer: &Answer) -> u64 {
    answer.header("content-length").and_then(|bytes| bytes.parse().ok()).unwrap_or_default()
}

/// The objects of a bucket.
pub(in crate::remote) struct Objects<C> {
    pub(in crate::remote) client: Arc<C>,
    pub(in crate::remote) known: KnownObjects,
    beginnings: Beginnings,
    first: FirstRequest,
}

impl<C: ObjectClient> Objects<C> {
    pub(in crate::remote) fn of_client(client: C) -> Self {
        Self::of(Arc::new(client))
    }

    /// Returns the objects of the same bucket, without cached answers.
    pub(in crate::remote) fn share(&self) -> Self {
        Self::of(Arc::clone(&self.client))
    }

    fn of(client: Arc<C>) -> Self {
        Self { client, known: KnownObjects::default(), beginnings: Beginnings::default(), first: FirstRequest::new() }
    }

    /// Sends a request.
    pub(in crate::remote) fn begin_call(&self, call: Call) -> PendingAnswer {
        let client = Arc::clone(&self.client);
        self.client.network().begin(async move { client.send(&call).await })
    }

    /// Starts to send a part of an object.
    pub(in crate::remote) fn begin_part(&self, call: Call) -> PendingPart {
        PendingPart::of(self.begin_call(call))
    }

    /// Sends a request and waits for the answer.
    pub(in crate::remote) fn send_and_wait(&self, call: Call) -> io::Result<Result<Answer, Refusal>> {
        let is_read = call.is_read();
        let answer = self.begin_call(call);
        match is_read {
            true => finish_read(answer),
            false => finish(answer),
        }
    }

    pub(in crate::remote) fn failure_of(&self, refusal: &Refusal, action: Action, key: &str) -> io::Error {
        self.client.failure_of(refusal, action, key).into_io()
    }

    /// Returns the answer to a request for an object; `None` if there is no such object. Other refusals are failures of the action.
    pub(in crate::remote) fn found<T>(
        &self,
        answer: Result<T, Refusal>,
        action: Action,
        key: &str,
    ) -> io::Result<Option<T>> {
        match answer {
            Ok(answer) => Ok(Some(answer)),
            Err(refusal) if self.client.is_missing(&refusal) => Ok(None),
            Err(refusal) => Err(self.failure_of(&refusal, action, key)),
        }
    }

    /// Returns the parsed content of an answer. `what` describes an answer that cannot be parsed.
    pub(in crate::remote) fn parsed<T>(
        &self,
        answer: Result<Answer, Refusal>,
        parse: impl FnOnce(&Answer) -> Option<T>,
        what: &str,
        (action, key): (Action, &str),
    ) -> io::Result<T> {
        let parsed = answer.and_then(|answer| parse(&answer).ok_or_else(|| Refusal::of_success(200, what)));
        parsed.map_err(|refusal| self.failure_of(&refusal, action, key))
    }

    /// Removes an object. A missing one is not an error.
    pub(in crate::remote) fn remove_object(&self, key: &str) -> io::Result<()> {
        let call = Call { action: Action::Remove, ..write(Method::DELETE, key, Vec::new(), Bytes::new()) };
        self.change(key, || self.found(self.send_and_wait(call)?, Action::Remove, key).map(drop))
    }

    /// Changes an object, and discards cached answers about it.
    pub(in crate::remote) fn change<T>(&self, key: &str, change: impl FnOnce() -> T) -> T {
        self.known.forget(key);
        let changed = change();
        self.known.forget(key);
        changed
    }

    /// Returns size and version of an object.
    pub(in crate::remote) fn head(&self, key: &str) -> io::Result<Result<ObjectVersion, Refusal>> {
        let writes = KnownObjects::writes();
        Ok(self.send_and_wait(head(key))?.map(|answer| {
            let version = self.version_in(&answer);
            self.known.remember(key, &version, Some(writes));
            version
        }))
    }

    /// Returns size and version of an object from the answer to HEAD.
    pub(in crate::remote) fn version_in(&self, answer: &Answer) -> ObjectVersion {
        ObjectVersion::of(&answer.headers, bytes_in(answer), (self.client.version_of())(&answer.headers))
    }

    /// Returns the time since an object was written, by the clock of the store.
    pub(in crate::remote) fn age_of(&self, key: &str) -> io::Result<Option<Duration>> {
        let Ok(answer) = self.send_and_wait(head(key))? else { return Ok(None) };
        let time = |name: &str| answer.header(name).and_then(parse_http_date);
        let age = |written: i64| Some(time("date")?.saturating_sub(written));
        Ok(time("last-modified").and_then(age).map(|age| Duration::from_nanos(u64::try_from(age).unwrap_or_default())))
    }

    /// Opens an object with a request for some of its bytes. `etag` is the required version.
    fn begin(
        &self,
        key: &str,
        first: &Range<u64>,
        etag: Option<String>,
    ) -> io::Result<Result<(ObjectVersion, Vec<u8>), Refusal>> {
        let refusal = match self.send_and_wait(get_range(key, first.clone(), etag))? {
            Ok(answer) => {
                let version = ObjectVersion::of(&answer.headers, answer.total, answer.version);
                return Ok(Ok((version, answer.body)));
            }
            Err(refusal) if refusal.status != 416 => return Ok(Err(refusal)),
            Err(refusal) => refusal,
        };
        // A range that starts at the end of the object cannot be read.
        Ok(match self.head(key)? {
            Ok(version) if version.bytes <= first.start => Ok((version, Vec::new())),
            Ok(_) => Err(refusal),
            Err(refusal) => Err(refusal),
        })
    }

    /// Opens an object for reading by ranges, all of one version.
    pub(in crate::remote) fn open_object(&self, key: &str) -> io::Result<(FileInfo, Box<dyn RangeRead>)> {
        let wanted = 0..self.first.bytes();
        let known = if wanted.end <= FIRST_UNKNOWN_BYTES { self.beginning_of(key) } else { None };
        let (version, source, first) = match known {
            Some((version, bytes)) => (version.clone(), self.source(key, version), bytes),
            None => self.open_at(key, &wanted)?,
        };
        self.beginnings.remember(key, &version, &first);
        let reader = BlockReader::new(Box::new(source), version.bytes, first).with_first(&self.first);
        Ok((version.info(), Box::new(reader)))
    }

    /// Like [`open_object`](Self::open_object), for a part that is read sequentially.
    pub(in crate::remote) fn open_object_part(
        &self,
        key: &str,
        part: &Range<u64>,
    ) -> io::Result<(FileInfo, Box<dyn RangeRead>)> {
        // An object that is read from its beginning may have been replaced since it was listed.
        let known = self.known.version(key).filter(|known| part.start > 0 && !plain_etag(&known.etag).is_empty());
        if let Some(version) = known.filter(|known| part.start < known.bytes) {
            let source = Box::new(self.source(key, version.clone()));
            let reader = BlockReader::of_part_ahead(source, version.bytes, part);
            return Ok((version.info(), Box::new(reader)));
        }
        let (version, source, first) = self.open_at(key, &first_of_part(part))?;
        Ok((version.info(), Box::new(BlockReader::of_part(Box::new(source), version.bytes, part, first))))
    }

    fn source(&self, key: &str, version: ObjectVersion) -> ObjectSource<C> {
        ObjectSource { client: Arc::clone(&self.client), key: key.to_owned(), version }
    }

    /// Returns the recently read first bytes of an object, unless it is known to have changed since.
    fn beginning_of(&self, key: &str) -> Option<(ObjectVersion, Vec<u8>)> {
        let info = self.known.info(key)??;
        self.beginnings.of(key).filter(|(version, _)| version.info() == info)
    }

    /// Opens an object with a request for some of its bytes.
    fn open_at(&self, key: &str, first: &Range<u64>) -> io::Result<(ObjectVersion, ObjectSource<C>, Vec<u8>)> {
        if self.known.info(key).is_some_and(|info| !info.is_some_and(|info| info.is_file())) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let known = self.known.version(key).map(|version| plain_etag(&version.etag).to_owned());
        let known = known.filter(|etag| !etag.is_empty());
        let (is_known, writes) = (known.is_some(), KnownObjects::writes());
        let mut opened = self.begin(key, first, known)?;
        if is_known && matches!(&opened, Err(refusal) if refusal.status == 412) {
            // The process that replaced it may have replaced others, too.
            self.known.forget_answers();
            opened = self.begin(key, first, None)?;
        }
        let (version, bytes) = self.found(opened, Action::Read, key)?.ok_or(io::ErrorKind::NotFound)?;
        self.known.remember(key, &version, Some(writes));
        Ok((version.clone(), self.source(key, version), bytes))
    }

    /// Passes the entries of a page of a listing to `take` in the order of keys. Objects have versions; entries without one are prefixes
    /// with a trailing slash. Returns whether all entries were accepted.
    pub(in crate::remote) fn take_entries(
        &self,
        listed: &mut ListedFolder,
        entries: Vec<(String, Option<ObjectVersion>)>,
        take: TakeEntry<'_>,
    ) -> io::Result<bool> {
        for (key, version) in &entries {
            version.iter().for_each(|version| self.known.remember(key, version, None));
        }
        take_all(listed.add(entries), take)
    }

    /// Whether an object has this content.
    pub(in crate::remote) fn is_content(&self, key: &str, body: &Bytes) -> io::Result<bool> {
        let Ok(version) = self.head(key)? else { return Ok(false) };
        if version.bytes != body.len() as u64 || body.is_empty() {
            return Ok(version.bytes == 0 && body.is_empty());
        }
        Ok(matches!(self.send_and_wait(get_range(key, 0..version.bytes, None))?, Ok(answer) if answer.body == *body))
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
                // If the object no longer exists, it was replaced or removed since it was opened.
                Ok(Err(refusal)) if client.is_missing(&refusal) => Refusal { status: 412, ..refusal },
                Ok(Err(refusal)) => refusal,
                Err(failure) => return done.finish(Err(failure)),
            };
            done.finish(Err(client.failure_of(&refusal, call.action, &call.key)));
        });
        Box::new(move || task.abort())
    }
}
