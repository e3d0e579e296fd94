//! `az://CONTAINER/KEY` and `abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/KEY`: Azure Blob Storage.
//!
//! Owns the form of the requests, the credentials, and the meaning of refusals. Its containers are the buckets of other stores, and its
//! blobs their objects. Must not decide how often and when requests are sent (`remote/network`), or which ranges are read
//! (`remote/blocks`).

mod address;
mod client;
mod config;
mod connection;
mod copy;
mod failures;
mod inspect;
mod listing;
mod signature;
mod staged;
#[cfg(test)]
mod tests;
mod tokens;
mod write;

use super::super::file_info::FileInfo;
use super::super::location::{may_be_folder, RemoteUrl};
use super::super::notices::notice_hidden_object;
use super::super::store::{
    Condition, Content, ObjectUpload, PendingCheck, RangeRead, StagedObject, Store, StoreGuards, StoreSettings,
    TakeEntry, UnfinishedUpload, WatchBytes,
};
use super::environment::Environment;
use super::network::{Answer, Network};
use super::s3::{finish_read, has_parts, Action, Call, Keys, ObjectClient, Objects, PendingAnswer, Refusal};
use super::store_settings::remote_settings;
use super::version::etag_of;
use super::version::known::{take_all, KnownObjects, ListedFolder};
pub(crate) use address::check;
use address::parse_bucket;
pub(super) use client::AzureContext;
use client::{AzureClient, FOLDER};
pub(super) use config::AzureProfile;
use failures::{failure_of, is_missing};
use gristmill_core::{Failure, FileStamp, Mutex, Outcome};
use listing::{list, list_containers, parse_containers, parse_page, Page};
use reqwest::header::HeaderMap;
use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// Lists the names of all containers of the account.
pub(crate) fn buckets() -> io::Result<Vec<String>> {
    AzureStore::new(context_of_process(None).map_err(Failure::into_io)?, "").buckets()
}

/// Returns the store of an address.
pub(crate) fn open(url: &RemoteUrl<'_>) -> Outcome<Arc<dyn Store>> {
    let (container, host) = parse_bucket(url)?;
    Ok(store_of_container(&context_of_process(host)?, container))
}

/// Returns the state that the containers of an account share, given the host of the account; without a host, the account of the
/// environment.
fn context_of_process(host: Option<&str>) -> Outcome<Arc<AzureContext>> {
    /// Contexts by the host of the account, which is empty for the account of the environment.
    static CONTEXTS: LazyLock<Mutex<HashMap<String, Arc<AzureContext>>>> = LazyLock::new(Mutex::default);
    let mut contexts = CONTEXTS.lock();
    if let Some(context) = contexts.get(host.unwrap_or_default()) {
        return Ok(Arc::clone(context));
    }
    let profile = AzureProfile::of_flags(remote_settings());
    let context = Arc::new(AzureContext::new(Network::of_process()?, profile, Environment::of_process(), host)?);
    contexts.insert(host.unwrap_or_default().to_owned(), Arc::clone(&context));
    Ok(context)
}

pub(super) fn store_of_container(context: &Arc<AzureContext>, container: &str) -> Arc<dyn Store> {
    Arc::new(AzureStore::new(Arc::clone(context), container))
}

impl ObjectClient for AzureClient {
    fn network(&self) -> &Network {
        &self.context.network
    }

    async fn send(&self, call: &Call) -> Outcome<Result<Answer, Refusal>> {
        self.call(call).await
    }

    fn address(&self, key: &str) -> String {
        self.address(key)
    }

    fn version_of(&self) -> fn(&HeaderMap) -> String {
        etag_of
    }

    fn is_missing(&self, refusal: &Refusal) -> bool {
        is_missing(refusal)
    }

    fn failure_of(&self, refusal: &Refusal, action: Action, key: &str) -> Failure {
        failure_of(refusal, self, action, key)
    }
}

/// A container.
type AzureStore = Objects<AzureClient>;

impl AzureStore {
    fn new(context: Arc<AzureContext>, container: &str) -> Self {
        Self::of_client(AzureClient::new(context, container))
    }

    /// Returns the credentials of requests.
    fn keys(&self) -> io::Result<Option<Arc<Keys>>> {
        let client = Arc::clone(&self.client);
        let keys = self.client.context.network.begin(async move { client.context.credentials.get().await });
        keys.finish().and_then(|keys| keys).map_err(Failure::into_io)
    }

    /// Returns the page of a listing that was requested. `marker` is the start of the page, for all but the first.
    fn page(&self, answer: PendingAnswer, marker: Option<&str>) -> io::Result<Page> {
        let (what, of) = ("with a listing that cannot be read", (Action::List, ""));
        let page = self.parsed(finish_read(answer)?, |answer| parse_page(&answer.body), what, of)?;
        match marker.is_some() && page.next.as_deref() == marker {
            true => Err(self.failure_of(&endless(), Action::List, "")),
            false => Ok(page),
        }
    }

    /// Whether there is a blob below a prefix, given the request for a page of one entry. Pages before the last one may be empty.
    fn has_blobs(&self, prefix: &str, first: PendingAnswer) -> io::Result<bool> {
        let mut page = self.page(first, None)?;
        while let (true, Some(next)) = (page.is_empty(), page.next.take()) {
            page = self.page(self.begin_call(list(prefix, true, Some(1), Some(next.clone()))), Some(&next))?;
        }
        Ok(!page.is_empty())
    }
}

/// Returns the refusal of a page whose next page would be the same.
fn endless() -> Refusal {
    Refusal::of_success(200, "with a listing that does not end")
}

impl Store for AzureStore {
    fn buckets(&self) -> io::Result<Vec<String>> {
        let (mut containers, mut next) = (Vec::new(), Some(None));
        while let Some(marker) = next.take() {
            let answer = self.send_and_wait(list_containers(marker.clone()))?;
            let (what, of) = ("with a list that cannot be read", (Action::ListBuckets, ""));
            let (page, following) = self.parsed(answer, |answer| parse_containers(&answer.body), what, of)?;
            if following.is_some() && following == marker {
                return Err(self.failure_of(&endless(), Action::ListBuckets, ""));
            }
            containers.extend(page);
            next = following.map(Some);
        }
        Ok(containers)
    }

    fn info(&self, url: &RemoteUrl<'_>) -> io::Result<Option<FileInfo>> {
        if let Some(info) = self.known.info(url.key) {
            return Ok(info);
        }
        let writes = KnownObjects::writes();
        let below = self.begin_call(list(&url.prefix(), true, Some(1), None));
        if url.key.is_empty() {
            return self.page(below, None).map(|_| Some(FileInfo::of_prefix()));
        }
        match self.head(url.key)? {
            Ok(version) => {
                let is_hidden = may_be_folder(url.key) && self.has_blobs(&url.prefix(), below).unwrap_or(false);
                if is_hidden {
                    notice_hidden_object(url);
                }
                Ok(Some(if is_hidden { FileInfo::of_prefix() } else { version.info() }))
            }
            Err(refusal) if refusal.code == FOLDER => Ok(Some(FileInfo::of_prefix())),
            Err(refusal) if is_missing(&refusal) => {
                let has_objects = self.has_blobs(&url.prefix(), below)?;
                self.known.remember_absence(url.key, has_objects, writes);
                Ok(has_objects.then(FileInfo::of_prefix))
            }
            Err(refusal) => Err(self.failure_of(&refusal, Action::Read, url.key)),
        }
    }

    fn known_info(&self, url: &RemoteUrl<'_>) -> Option<Option<FileInfo>> {
        self.known.info(url.key)
    }

    fn fetch_listing(&self, url: &RemoteUrl<'_>) -> io::Result<()> {
        let mut listed = ListedFolder::begin(url.key.to_owned(), true);
        let page = self.page(self.begin_call(list(url.key, true, None, None)), None)?;
        // Accounts with folders do not list in the order of keys.
        if page.next.is_none() {
            self.take_entries(&mut listed, page.into_entries(true).collect(), &mut |_| Ok(true))?;
            self.known.remember_listing(listed);
        }
        Ok(())
    }

    fn list(&self, folder: &RemoteUrl<'_>, recursive: bool, take: TakeEntry<'_>) -> io::Result<()> {
        let prefix = folder.prefix();
        if let Some(entries) = self.known.listing(&prefix, recursive) {
            return take_all(&entries, take).map(drop);
        }
        let mut listed = ListedFolder::begin(prefix.clone(), recursive);
        let begin = |next: Option<String>| self.begin_call(list(&prefix, recursive, None, next));
        let (mut pending, mut marker) = (Some(begin(None)), None);
        let mut entries = Vec::new();
        while let Some(answer) = pending.take() {
            let page = self.page(answer, marker.as_deref())?;
            marker.clone_from(&page.next);
            // The next page is fetched while this one is processed.
            pending = page.next.clone().map(|next| begin(Some(next)));
            // Accounts with folders do not list in the order of keys. Listing all pages first takes fewer requests than listing each
            // folder.
            let is_ordered = !page.has_folders;
            entries.extend(page.into_entries(recursive));
            if pending.is_some() && !is_ordered {
                continue;
            }
            if !self.take_entries(&mut listed, std::mem::take(&mut entries), &mut *take)? {
                return Ok(());
            }
        }
        self.known.remember_listing(listed);
        Ok(())
    }

    fn open(&self, url: &RemoteUrl<'_>) -> io::Result<(FileInfo, Box<dyn RangeRead>)> {
        self.open_object(url.key)
    }

    fn open_part(&self, url: &RemoteUrl<'_>, part: Range<u64>) -> io::Result<(FileInfo, Box<dyn RangeRead>)> {
        self.open_object_part(url.key, &part)
    }

    fn put(&self, url: &RemoteUrl<'_>, content: Content<'_>, condition: Condition) -> io::Result<bool> {
        self.change(url.key, || self.put_blob(url.key, content, condition))
    }

    fn can_stage(&self, _: &RemoteUrl<'_>, bytes: u64, memory: u64) -> bool {
        has_parts(bytes, memory)
    }

    fn begin_staged(&self, url: &RemoteUrl<'_>, bytes: u64, memory: u64) -> io::Result<Box<dyn ObjectUpload>> {
        self.begin_blocks(url.key, bytes, memory)
    }

    fn has_staged(&self, url: &RemoteUrl<'_>, object: &StagedObject) -> io::Result<bool> {
        self.has_all_blocks(url.key, object)
    }

    fn complete_staged(&self, url: &RemoteUrl<'_>, object: &StagedObject) -> io::Result<bool> {
        self.complete_blocks(url.key, object)
    }

    fn remove(&self, url: &RemoteUrl<'_>) -> io::Result<()> {
        self.remove_object(url.key)
    }

    fn remove_version(&self, url: &RemoteUrl<'_>, stamp: FileStamp) -> io::Result<bool> {
        self.change(url.key, || self.remove_blob_version(url.key, stamp))
    }

    fn copy(&self, from: &RemoteUrl<'_>, to: &RemoteUrl<'_>, watch: &WatchBytes) -> io::Result<bool> {
        let (source, host) = parse_bucket(from).map_err(Failure::into_io)?;
        // The signature of the source is made with the key of this account.
        if host != parse_bucket(to).map_err(Failure::into_io)?.1 {
            return Ok(false);
        }
        let source = Self::new(Arc::clone(&self.client.context), source);
        self.change(to.key, || self.copy_blob((&source, from.key), to.key, watch))
    }

    fn service(&self, _: &RemoteUrl<'_>) -> Option<String> {
        Some(self.client.context.config.base().to_owned())
    }

    fn usual_address(&self, url: &RemoteUrl<'_>) -> String {
        format!("az://{}/{}", self.client.container, url.key)
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

    fn discard_staged(&self, _: &RemoteUrl<'_>, _: &str) -> io::Result<()> {
        // Uncommitted blocks expire after a week, or when the next block list of the blob is put.
        Ok(())
    }

    fn end_upload(&self, url: &RemoteUrl<'_>, _: &str) -> io::Result<()> {
        self.known.forget(url.key);
        self.remove_uncommitted_blocks(url.key)
    }

    fn age(&self, url: &RemoteUrl<'_>) -> io::Result<Option<Duration>> {
        self.age_of(url.key)
    }

    fn begin_check(&self, url: &RemoteUrl<'_>) -> Option<PendingCheck> {
        self.begin_check_of(url.key)
    }

    fn md5(&self, url: &RemoteUrl<'_>) -> io::Result<Option<String>> {
        self.md5_of(url.key)
    }
}
