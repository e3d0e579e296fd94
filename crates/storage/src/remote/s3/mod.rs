//! `s3://BUCKET/KEY`: Amazon S3, and what has its interface.
//!
//! Reads, lists and writes. Owns the form of the requests, the credentials, and what the refusals mean; how often and when requests are sent is the
//! matter of `remote/network`, which ranges are read that of `remote/blocks`.

mod ahead;
mod answers;
mod client;
mod config;
mod copy;
mod crc32c;
mod credentials;
mod failures;
mod inspect;
mod keys;
mod maker;
mod object;
mod profiles;
mod refusal;
mod s3_settings;
mod signature;
#[cfg(test)]
mod tests;
mod write;

use super::super::files::FileInfo;
use super::super::location::RemoteUrl;
use super::super::read::ReadFile;
use super::super::store::{
    Condition, Content, RangeRead, Scheme, Store, StoreEntry, StoreGuards, StoreSettings, TakeEntry, UnfinishedUpload,
    WatchBytes,
};
use super::blocks::{first_of_part, BlockReader, FirstRequest};
use super::environment::Environment;
use super::msc;
use super::network::{Answer, Network, Pending};
use super::store_settings::remote_settings;
use super::version::known::{take_all, KnownObjects, ListedFolder};
use super::version::{plain_etag, ObjectVersion};
use ahead::UploadAhead;
use answers::{parse_page, Page};
pub(super) use answers::{sum_of, text_of, walk};
use client::S3Client;
pub(super) use client::{read_answer, Action, Attempt, Call, S3Context, MAX_CLOCK_SECONDS};
pub(super) use credentials::output_of;
use failures::explain;
use gristmill_core::{Failure, Outcome};
pub(super) use keys::{CurrentKeys, FindKeys, GivenKeys, Keys, KeysFuture};
pub(super) use object::get_range;
use object::ObjectSource;
pub(super) use refusal::{Refusal, BUSY};
use reqwest::Method;
pub(super) use s3_settings::S3Settings;
use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock};

pub(super) use signature::{encode, insert};
pub(super) use write::{part_bytes, read_part, send_in_order, write, MAX_PUT_BYTES, MAX_UPLOADS};

/// The rows of the store.
pub(crate) const SCHEME: Scheme = Scheme {
    name: "s3",
    usual: "s3",
    is_hidden: false,
    is_writable: true,
    check_address: msc::check_mapped,
    title: "Amazon S3",
    buckets: Some(|| S3Store::new(context_of_process().map_err(Failure::into_io)?, "").buckets()),
    open,
};
pub(crate) const ALIAS: Scheme = Scheme { name: "s3a", is_hidden: true, ..SCHEME };

fn context_of_process() -> Outcome<Arc<S3Context>> {
    static CONTEXT: OnceLock<Outcome<Arc<S3Context>>> = OnceLock::new();
    let new = || {
        let settings = S3Settings::of_flags(remote_settings());
        S3Context::new(Network::of_process()?, settings, Environment::of_process()).map(Arc::new)
    };
    CONTEXT.get_or_init(new).clone()
}

fn open(url: &RemoteUrl<'_>) -> Outcome<Arc<dyn Store>> {
    Ok(store_of_bucket(&context_of_process()?, url.bucket))
}

/// Returns the store of a bucket.
pub(super) fn store_of_bucket(context: &Arc<S3Context>, bucket: &str) -> Arc<dyn Store> {
    Arc::new(S3Store::new(Arc::clone(context), bucket))
}

pub(in crate::remote) type PendingAnswer = Pending<Outcome<Result<Answer, Refusal>>>;

pub(in crate::remote) fn finish(answer: PendingAnswer) -> io::Result<Result<Answer, Refusal>> {
    answer.finish().and_then(|answer| answer).map_err(Failure::into_io)
}

/// Waits for the answer to a request that changes nothing.
pub(super) fn finish_read(answer: PendingAnswer) -> io::Result<Result<Answer, Refusal>> {
    answer.finish_read().and_then(|answer| answer).map_err(Failure::into_io)
}

/// A bucket.
struct S3Store {
    client: Arc<S3Client>,
    known: KnownObjects,
    first: FirstRequest,
    /// Uploads of objects whose files still grow, by their keys.
    ahead: Mutex<HashMap<String, UploadAhead>>,
}

impl S3Store {
    fn new(context: Arc<S3Context>, bucket: &str) -> Self {
        Self {
            client: Arc::new(S3Client::new(context, bucket)),
            known: KnownObjects::default(),
            first: FirstRequest::new(),
            ahead: Mutex::default(),
        }
    }

    /// Sends a request.
    fn begin_call(&self, call: Call) -> PendingAnswer {
        let client = Arc::clone(&self.client);
        self.client.context.network.begin(async move { client.call(&call).await })
    }

    /// Sends a request and waits for the answer.
    fn ask(&self, call: Call) -> io::Result<Result<Answer, Refusal>> {
        let is_read = call.is_read();
        let answer = self.begin_call(call);
        match is_read {
            true => finish_read(answer),
            false => finish(answer),
        }
    }

    fn explain(&self, refusal: &Refusal, action: Action, key: &str) -> io::Error {
        explain(refusal, &self.client, action, key).into_io()
    }

    /// Returns size and version of an object; `None` if there is none.
    fn head(&self, key: &str) -> io::Result<Result<ObjectVersion, Refusal>> {
        Ok(self.ask(head(key))?.map(|answer| {
            let bytes = answer.header("content-length").and_then(|bytes| bytes.parse().ok()).unwrap_or_default();
            let version = (self.client.context.maker.version_of())(&answer.headers);
            let version = ObjectVersion::of(&answer.headers, bytes, version);
            self.known.remember(key, &version);
            version
        }))
    }

    /// Lists the buckets of the owner of the credentials.
    fn buckets(&self) -> io::Result<Vec<String>> {
        let (action, ending) = (Action::ListBuckets, Some("</ListAllMyBucketsResult>"));
        let call = Call { action, ending, range: None, ..get_range("", 0..0, None) };
        let refusal = match self.ask(call)? {
            Ok(answer) => match answers::parse_buckets(&answer.body) {
                Some(buckets) => return Ok(buckets),
                None => Refusal::of_success(200, "with a list that cannot be read"),
            },
            Err(refusal) => refusal,
        };
        Err(self.explain(&refusal, Action::ListBuckets, ""))
    }

    /// Returns the page of a listing that a request asked for.
    fn page(&self, answer: PendingAnswer) -> io::Result<Page> {
        let refusal = match finish_read(answer)? {
            Ok(answer) => match parse_page(&answer.body, self.client.context.maker) {
                Some(page) => return Ok(page),
                None => Refusal::of_success(200, "with a listing that cannot be read"),
            },
            Err(refusal) => refusal,
        };
        Err(self.explain(&refusal, Action::List, ""))
    }

    /// Returns the entries of a page in the order of the keys, those of folders compared with the slash, as the keys below a prefix are.
    fn entries(&self, page: Page) -> Vec<(String, Option<ObjectVersion>)> {
        page.objects.iter().for_each(|(key, version)| self.known.remember(key, version));
        let objects = page.objects.into_iter().map(|(key, version)| (key, Some(version)));
        let mut entries: Vec<_> = objects.chain(page.prefixes.into_iter().map(|prefix| (prefix, None))).collect();
        entries.sort_by(|(one, _), (other, _)| one.cmp(other));
        entries
    }

    /// Opens an object with a request for some of its bytes.
    fn open_at(&self, key: &str, first: &Range<u64>) -> io::Result<(ObjectVersion, ObjectSource, Vec<u8>)> {
        if self.known.listed(key).is_some_and(|info| !info.is_some_and(|info| info.is_file())) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let known = self.known.version(key).map(|version| plain_etag(&version.etag).to_owned());
        let known = known.filter(|etag| !etag.is_empty());
        let is_known = known.is_some();
        let mut opened = self.begin(key, first, known)?;
        if is_known && matches!(&opened, Err(refusal) if refusal.status == 412) {
            opened = self.begin(key, first, None)?;
        }
        match opened {
            Ok((version, bytes)) => {
                self.known.remember(key, &version);
                let client = Arc::clone(&self.client);
                let source = ObjectSource { client, key: key.to_owned(), version: version.clone() };
                Ok((version, source, bytes))
            }
            Err(refusal) if refusal.is_missing_object() => Err(io::ErrorKind::NotFound.into()),
            Err(refusal) => Err(self.explain(&refusal, Action::Read, key)),
        }
    }

    /// Opens an object with a request for some of its bytes. `etag`: the version that it has to have.
    fn begin(
        &self,
        key: &str,
        first: &Range<u64>,
        etag: Option<String>,
    ) -> io::Result<Result<(ObjectVersion, Vec<u8>), Refusal>> {
        let refusal = match self.ask(get_range(key, first.clone(), etag))? {
            Ok(answer) => {
                let version = ObjectVersion::of(&answer.headers, answer.total, answer.version);
                return Ok(Ok((version, answer.body)));
            }
            Err(refusal) if refusal.status != 416 => return Ok(Err(refusal)),
            Err(refusal) => refusal,
        };
        // A range that begins at the end of the object cannot be read.
        Ok(match self.head(key)? {
            Ok(version) if version.bytes <= first.start => Ok((version, Vec::new())),
            Ok(_) => Err(refusal),
            Err(refusal) => Err(refusal),
        })
    }
}

fn head(key: &str) -> Call {
    Call { method: Method::HEAD, range: None, ..get_range(key, 0..0, None) }
}

/// Returns the request for a page of a listing.
fn list(prefix: String, recursive: bool, max: Option<usize>, next: Option<String>) -> Call {
    let mut query = vec![("list-type", "2".to_owned()), ("encoding-type", "url".to_owned()), ("prefix", prefix)];
    query.extend((!recursive).then(|| ("delimiter", "/".to_owned())));
    query.extend(max.map(|max| ("max-keys", max.to_string())));
    query.extend(next.map(|next| ("continuation-token", next)));
    let (action, ending) = (Action::List, Some("</ListBucketResult>"));
    Call { action, query, ending, range: None, ..get_range("", 0..0, None) }
}

impl Store for S3Store {
    fn info(&self, url: &RemoteUrl<'_>) -> io::Result<Option<FileInfo>> {
        if let Some(has_objects) = self.known.absence(url.key) {
            return Ok(has_objects.then(FileInfo::of_prefix));
        }
        if let Some(info) = self.known.listed(url.key) {
            return Ok(info);
        }
        let writes = KnownObjects::writes();
        let below = self.begin_call(list(url.prefix(), false, None, None));
        if url.key.is_empty() {
            return self.page(below).map(|_| Some(FileInfo::of_prefix()));
        }
        let refusal = match self.head(url.key)? {
            Ok(version) => return Ok(Some(version.info())),
            Err(refusal) => refusal,
        };
        // The answer to a listing says more: that to HEAD has no code.
        let below = self.page(below)?;
        match refusal.is_missing_object() {
            false => Err(self.explain(&refusal, Action::Read, url.key)),
            true => {
                let has_objects = !(below.objects.is_empty() && below.prefixes.is_empty());
                self.known.remember_absence(url.key, has_objects, writes);
                let mut folder = ListedFolder { prefix: url.prefix(), ..ListedFolder::default() };
                folder.end = below.next.is_some().then(String::new);
                folder.add(self.entries(below));
                self.known.remember_listing(folder, writes);
                Ok(has_objects.then(FileInfo::of_prefix))
            }
        }
    }

    fn list(&self, folder: &RemoteUrl<'_>, recursive: bool, take: TakeEntry<'_>) -> io::Result<()> {
        let prefix = folder.prefix();
        if let Some(entries) = self.known.listing(&prefix, recursive) {
            return take_all(&entries, take).map(drop);
        }
        let writes = KnownObjects::writes();
        let mut listed = ListedFolder { prefix, is_recursive: recursive, ..ListedFolder::default() };
        let begin = |next: Option<String>| self.begin_call(list(folder.prefix(), recursive, None, next));
        let mut pending = Some(begin(None));
        while let Some(answer) = pending.take() {
            let page = self.page(answer)?;
            // The next page comes while this one is taken.
            pending = page.next.clone().map(|next| begin(Some(next)));
            let first = listed.entries.len();
            listed.add(self.entries(page));
            if !take_all(listed.entries.get(first..).unwrap_or_default(), take)? {
                return Ok(());
            }
            listed.keep_some();
        }
        self.known.remember_listing(listed, writes);
        Ok(())
    }

    fn open(&self, url: &RemoteUrl<'_>) -> io::Result<(FileInfo, Box<dyn RangeRead>)> {
        let (version, source, first) = self.open_at(url.key, &(0..self.first.bytes()))?;
        let reader = BlockReader::new(Box::new(source), version.bytes, first).with_first(&self.first);
        Ok((version.info(), Box::new(reader)))
    }

    fn open_part(&self, url: &RemoteUrl<'_>, part: Range<u64>) -> io::Result<(FileInfo, Box<dyn RangeRead>)> {
        let (version, source, first) = self.open_at(url.key, &first_of_part(&part))?;
        Ok((version.info(), Box::new(BlockReader::of_part(Box::new(source), version.bytes, &part, first))))
    }
    fn put(&self, url: &RemoteUrl<'_>, content: Content<'_>, condition: Condition) -> io::Result<bool> {
        let put = self.put_object(url.key, content, condition);
        self.known.forget(url.key);
        put
    }

    fn upload_ahead(&self, url: &RemoteUrl<'_>, file: &ReadFile, bytes: u64) -> io::Result<()> {
        self.upload_parts_ahead(url.key, file, bytes)
    }

    fn discard_ahead(&self, url: &RemoteUrl<'_>) {
        self.end_upload_ahead(url.key);
    }

    fn remove(&self, url: &RemoteUrl<'_>) -> io::Result<()> {
        let removed = self.remove_object(url.key);
        self.known.forget(url.key);
        removed
    }

    fn copy(&self, from: &RemoteUrl<'_>, to: &RemoteUrl<'_>, watch: &WatchBytes) -> io::Result<bool> {
        let source = Self::new(Arc::clone(&self.client.context), from.bucket);
        let copied = self.copy_object((&source, from.key), to.key, watch);
        self.known.forget(to.key);
        copied
    }

    fn settings(&self, _: &RemoteUrl<'_>) -> io::Result<StoreSettings> {
        self.read_settings()
    }

    fn guards(&self, url: &RemoteUrl<'_>, content: &[u8]) -> io::Result<Option<StoreGuards>> {
        self.find_guards(url.key, content).map(Some)
    }

    fn uploads(&self, folder: &RemoteUrl<'_>) -> io::Result<Option<Vec<UnfinishedUpload>>> {
        self.list_uploads(folder.key).map(Some)
    }

    fn end_upload(&self, url: &RemoteUrl<'_>, id: &str) -> io::Result<()> {
        self.end_one_upload(url.key, id)
    }

    fn md5(&self, url: &RemoteUrl<'_>) -> io::Result<Option<String>> {
        self.md5_of(url.key)
    }
}
