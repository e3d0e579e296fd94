//! `az://CONTAINER/KEY` and `abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/KEY`: Azure Blob Storage.
//!
//! Owns the form of the requests, the credentials, and what the refusals mean. Its containers are the buckets of the other stores, and its blobs their
//! objects. How often and when requests are sent is the matter of `remote/network`, which ranges are read that of `remote/blocks`.

mod address;
mod client;
mod config;
mod connection;
mod copy;
mod failures;
mod inspect;
mod listing;
mod object;
mod signature;
#[cfg(test)]
mod tests;
mod tokens;
mod write;

use super::super::files::FileInfo;
use super::super::location::RemoteUrl;
use super::super::store::{
    Condition, Content, RangeRead, Scheme, Store, StoreEntry, StoreGuards, StoreSettings, TakeEntry, UnfinishedUpload,
    WatchBytes,
};
use super::blocks::{first_of_part, BlockReader, FirstRequest};
use super::environment::Environment;
use super::network::{Answer, Network};
use super::s3::{finish, finish_read, get_range, Action, Call, Keys, PendingAnswer, Refusal};
use super::store_settings::remote_settings;
use super::version::known::KnownObjects;
use super::version::{etag_of, plain_etag, ObjectVersion};
use address::parse_bucket;
use client::AzureClient;
pub(super) use client::AzureContext;
pub(super) use config::AzureProfile;
use failures::{explain, is_missing};
use gristmill_core::{Failure, Outcome};
use listing::{list, list_containers, parse_containers, parse_page, Page};
use object::BlobSource;
use reqwest::Method;
use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// The rows of the store.
pub(crate) const SCHEME: Scheme = Scheme {
    name: "az",
    usual: "az",
    is_hidden: false,
    is_writable: true,
    check_address: address::check,
    title: "Azure Blob Storage",
    buckets: Some(|| AzureStore::new(context_of_process(None).map_err(Failure::into_io)?, "").containers()),
    open,
};
pub(crate) const WITH_ACCOUNT: Scheme = Scheme { name: "abfss", usual: "abfss", buckets: None, ..SCHEME };
pub(crate) const ALIAS: Scheme = Scheme { name: "abfs", is_hidden: true, ..WITH_ACCOUNT };

fn open(url: &RemoteUrl<'_>) -> Outcome<Arc<dyn Store>> {
    let (container, host) = parse_bucket(url)?;
    Ok(store_of_container(&context_of_process(host)?, container))
}

/// Returns what the containers of an account share, given its host, which is that of the environment if there is none.
fn context_of_process(host: Option<&str>) -> Outcome<Arc<AzureContext>> {
    /// Contexts by the host of the account, which is empty for the account of the environment.
    static CONTEXTS: LazyLock<Mutex<HashMap<String, Arc<AzureContext>>>> = LazyLock::new(Mutex::default);
    let mut contexts = CONTEXTS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(context) = contexts.get(host.unwrap_or_default()) {
        return Ok(Arc::clone(context));
    }
    let profile = AzureProfile::of_flags(remote_settings());
    let context = Arc::new(AzureContext::new(Network::of_process()?, profile, Environment::of_process(), host)?);
    contexts.insert(host.unwrap_or_default().to_owned(), Arc::clone(&context));
    Ok(context)
}

/// Returns the store of a container.
pub(super) fn store_of_container(context: &Arc<AzureContext>, container: &str) -> Arc<dyn Store> {
    Arc::new(AzureStore::new(Arc::clone(context), container))
}

/// A container.
struct AzureStore {
    client: Arc<AzureClient>,
    known: KnownObjects,
    first: FirstRequest,
}

impl AzureStore {
    fn new(context: Arc<AzureContext>, container: &str) -> Self {
        let client = Arc::new(AzureClient::new(context, container));
        Self { client, known: KnownObjects::default(), first: FirstRequest::new() }
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
        if is_read {
            finish_read(answer)
        } else {
            finish(answer)
        }
    }

    fn explain(&self, refusal: &Refusal, action: Action, key: &str) -> io::Error {
        explain(refusal, &self.client, action, key).into_io()
    }

    /// Returns the credentials of requests.
    fn keys(&self) -> io::Result<Option<Arc<Keys>>> {
        let client = Arc::clone(&self.client);
        let keys = self.client.context.network.begin(async move { client.keys().await });
        keys.finish().and_then(|keys| keys).map_err(Failure::into_io)
    }

    /// Returns the version of a blob, or `None` if it is a folder of an account with folders.
    fn head(&self, key: &str) -> io::Result<Result<Option<ObjectVersion>, Refusal>> {
        Ok(self.ask(head(key))?.map(|answer| {
            let bytes = answer.header("content-length").and_then(|bytes| bytes.parse().ok()).unwrap_or_default();
            let version = ObjectVersion::of(&answer.headers, bytes, etag_of(&answer.headers));
            let is_folder = is_folder(&answer);
            if !is_folder {
                self.known.remember(key, &version);
            }
            (!is_folder).then_some(version)
        }))
    }

    /// Returns the page of a listing that a request asked for.
    fn page(&self, answer: PendingAnswer) -> io::Result<Page> {
        let refusal = match finish_read(answer)? {
            Ok(answer) => match parse_page(&answer.body) {
                Some(page) => return Ok(page),
                None => Refusal::of_success(200, "with a listing that cannot be read"),
            },
            Err(refusal) => refusal,
        };
        Err(self.explain(&refusal, Action::List, ""))
    }

    /// Lists the containers of the account.
    fn containers(&self) -> io::Result<Vec<String>> {
        let (mut containers, mut next) = (Vec::new(), Some(None));
        while let Some(marker) = next.take() {
            let refusal = match self.ask(list_containers(marker))? {
                Ok(answer) => match parse_containers(&answer.body) {
                    Some((page, marker)) => {
                        containers.extend(page);
                        next = marker.map(Some);
                        continue;
                    }
                    None => Refusal::of_success(200, "with a list that cannot be read"),
                },
                Err(refusal) => refusal,
            };
            return Err(self.explain(&refusal, Action::ListBuckets, ""));
        }
        Ok(containers)
    }

    /// Whether there is a blob below a prefix, given the request for a page of one entry. Pages may be empty and not the last.
    fn has_blobs(&self, prefix: &str, first: PendingAnswer) -> io::Result<bool> {
        let mut page = self.page(first)?;
        while let (true, Some(next)) = (page.is_empty(), page.next.take()) {
            page = self.page(self.begin_call(list(prefix, true, Some(1), Some(next))))?;
        }
        Ok(!page.is_empty())
    }

    /// Opens a blob with a request for some of its bytes.
    fn open_at(&self, key: &str, first: &Range<u64>) -> io::Result<(ObjectVersion, BlobSource, Vec<u8>)> {
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
                let source = BlobSource { client, key: key.to_owned(), version: version.clone() };
                Ok((version, source, bytes))
            }
            Err(refusal) if is_missing(&refusal) => Err(io::ErrorKind::NotFound.into()),
            Err(refusal) => Err(self.explain(&refusal, Action::Read, key)),
        }
    }

    /// Opens a blob with a request for some of its bytes. `etag`: the version that it has to have.
    fn begin(
        &self,
        key: &str,
        first: &Range<u64>,
        etag: Option<String>,
    ) -> io::Result<Result<(ObjectVersion, Vec<u8>), Refusal>> {
        let refusal = match self.ask(get_range(key, first.clone(), etag))? {
            Ok(answer) if is_folder(&answer) => return Ok(Err(Refusal::of_success(404, "BlobNotFound"))),
            Ok(answer) => {
                let version = ObjectVersion::of(&answer.headers, answer.total, answer.version);
                return Ok(Ok((version, answer.body)));
            }
            Err(refusal) if refusal.status != 416 => return Ok(Err(refusal)),
            Err(refusal) => refusal,
        };
        // A range that begins at the end of the blob cannot be read.
        Ok(match self.head(key)? {
            Ok(Some(version)) if version.bytes <= first.start => Ok((version, Vec::new())),
            Ok(Some(_)) => Err(refusal),
            Ok(None) => Err(Refusal::of_success(404, "BlobNotFound")),
            Err(refusal) => Err(refusal),
        })
    }
}

fn head(key: &str) -> Call {
    Call { method: Method::HEAD, range: None, ..get_range(key, 0..0, None) }
}

/// Whether an answer is about a folder of an account with folders, or about a blob that marks one.
fn is_folder(answer: &Answer) -> bool {
    let is = |name: &str, value: &str| answer.header(name).is_some_and(|text| text.eq_ignore_ascii_case(value));
    is("x-ms-resource-type", "directory") || is("x-ms-meta-hdi_isfolder", "true")
}

impl Store for AzureStore {
    fn info(&self, url: &RemoteUrl<'_>) -> io::Result<Option<FileInfo>> {
        if let Some(has_objects) = self.known.absence(url.key) {
            return Ok(has_objects.then(FileInfo::of_prefix));
        }
        let writes = KnownObjects::writes();
        let below = self.begin_call(list(&url.prefix(), true, Some(1), None));
        if url.key.is_empty() {
            return self.page(below).map(|_| Some(FileInfo::of_prefix()));
        }
        match self.head(url.key)? {
            Ok(version) => Ok(Some(version.map_or_else(FileInfo::of_prefix, |version| version.info()))),
            Err(refusal) if is_missing(&refusal) => {
                let has_objects = self.has_blobs(&url.prefix(), below)?;
                self.known.remember_absence(url.key, has_objects, writes);
                Ok(has_objects.then(FileInfo::of_prefix))
            }
            Err(refusal) => Err(self.explain(&refusal, Action::Read, url.key)),
        }
    }

    fn list(&self, folder: &RemoteUrl<'_>, recursive: bool, take: TakeEntry<'_>) -> io::Result<()> {
        let prefix = folder.prefix();
        let begin = |next: Option<String>| self.begin_call(list(&prefix, recursive, None, next));
        let mut pending = Some(begin(None));
        let mut entries = Vec::new();
        while let Some(answer) = pending.take() {
            let page = self.page(answer)?;
            // The next page comes while this one is taken.
            pending = page.next.clone().map(|next| begin(Some(next)));
            // Accounts with folders list level by level, not in the order of keys.
            let is_ordered = !page.has_folders;
            entries.extend(page.into_entries(recursive));
            if pending.is_some() && !is_ordered {
                continue;
            }
            entries.sort_by(|(one, _), (other, _)| one.cmp(other));
            for (mut key, version) in entries.drain(..) {
                let info = match version {
                    // What only marks a folder.
                    Some(version) if version.bytes == 0 && key.ends_with('/') => continue,
                    Some(version) => {
                        self.known.remember(&key, &version);
                        version.info()
                    }
                    None => {
                        key.truncate(key.len().saturating_sub(1));
                        FileInfo::of_prefix()
                    }
                };
                if !take(StoreEntry { key, info })? {
                    return Ok(());
                }
            }
        }
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
        self.known.forget(url.key);
        let put = self.put_blob(url.key, content, condition);
        self.known.forget(url.key);
        put
    }

    fn remove(&self, url: &RemoteUrl<'_>) -> io::Result<()> {
        self.known.forget(url.key);
        let removed = self.remove_blob(url.key);
        self.known.forget(url.key);
        removed
    }

    fn copy(&self, from: &RemoteUrl<'_>, to: &RemoteUrl<'_>, watch: &WatchBytes) -> io::Result<bool> {
        let (source, host) = parse_bucket(from).map_err(Failure::into_io)?;
        // The signature of the source is one of this account.
        if host != parse_bucket(to).map_err(Failure::into_io)?.1 {
            return Ok(false);
        }
        self.known.forget(to.key);
        let source = Self::new(Arc::clone(&self.client.context), source);
        let copied = self.copy_blob((&source, from.key), to.key, watch);
        self.known.forget(to.key);
        copied
    }

    fn settings(&self, _: &RemoteUrl<'_>) -> io::Result<StoreSettings> {
        self.read_settings()
    }

    fn guards(&self, url: &RemoteUrl<'_>, content: &[u8]) -> io::Result<Option<StoreGuards>> {
        self.known.forget(url.key);
        self.find_guards(url.key, content).map(Some)
    }

    fn uploads(&self, folder: &RemoteUrl<'_>) -> io::Result<Option<Vec<UnfinishedUpload>>> {
        self.list_uploads(folder.key).map(Some)
    }

    fn end_upload(&self, url: &RemoteUrl<'_>, _: &str) -> io::Result<()> {
        self.known.forget(url.key);
        self.remove_uncommitted_blocks(url.key)
    }

    fn md5(&self, url: &RemoteUrl<'_>) -> io::Result<Option<String>> {
        self.md5_of(url.key)
    }
}
