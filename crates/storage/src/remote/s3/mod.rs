//! `s3://BUCKET/KEY`: Amazon S3, and stores with its API.
//!
//! Reads, lists and writes. Owns the form of the requests, the credentials, and the meaning of refusals. Must not decide how often and when
//! requests are sent (`remote/network`), or which ranges are read (`remote/blocks`).

mod ahead;
mod answers;
mod call;
mod checksum;
mod client;
mod config;
mod copy;
mod crc32c;
mod crc64nvme;
mod credentials;
mod failures;
mod inspect;
mod keys;
mod object;
mod profiles;
mod queue;
mod refusal;
mod resume;
mod s3_settings;
mod signature;
mod staged;
#[cfg(test)]
mod tests;
mod upload;
mod vendor;
mod write;

use super::super::file_info::FileInfo;
use super::super::location::{may_be_folder, RemoteUrl};
use super::super::notices::notice_hidden_object;
use super::super::read_file::ReadFile;
use super::super::store::{
    unlisted_buckets, Condition, Content, ObjectUpload, PendingCheck, RangeRead, StagedObject, Store, StoreGuards,
    StoreSettings, TakeEntry, UnfinishedUpload, WatchBytes,
};
use super::environment::Environment;
use super::network::{Answer, Network};
use super::store_settings::remote_settings;
use super::version::known::{take_all, KnownObjects, ListedFolder};
use super::version::ObjectVersion;
use answers::{parse_page, Page};
pub(super) use answers::{sum_of, text_of, walk};
pub(super) use call::{get_range, head, write, Action, Call};
pub(super) use checksum::ObjectChecksum;
use client::S3Client;
pub(super) use client::{attempt, Attempt, S3Context, MAX_CLOCK_SECONDS};
pub(super) use credentials::output_of;
use failures::failure_of;
use gristmill_core::{Failure, FileStamp, Outcome};
pub(super) use keys::{CurrentKeys, FindKeys, GivenKeys, Keys, KeysFuture};
pub(super) use object::{bytes_in, finish_read, ObjectClient, Objects, PendingAnswer, PendingPart};
pub(super) use queue::{has_parts, PartQueue, PartTarget, PartUpload};
pub(super) use refusal::{Refusal, BUSY};
use reqwest::header::HeaderMap;
pub(super) use s3_settings::S3Settings;
use std::io;
use std::ops::Range;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

pub(super) use signature::{encode, insert};
use vendor::Vendor;
pub(super) use write::{part_bytes, read_part, send_in_order, MAX_PUT_BYTES, MAX_UPLOADS};

fn context_of_process() -> Outcome<Arc<S3Context>> {
    static CONTEXT: OnceLock<Outcome<Arc<S3Context>>> = OnceLock::new();
    let new = || {
        let settings = S3Settings::of_flags(remote_settings());
        S3Context::new(Network::of_process()?, settings, Environment::of_process()).map(Arc::new)
    };
    CONTEXT.get_or_init(new).clone()
}

/// Lists the names of all buckets of the account.
pub(crate) fn buckets() -> io::Result<Vec<String>> {
    S3Store::new(context_of_process().map_err(Failure::into_io)?, "").buckets()
}

/// Returns the store of an address.
pub(crate) fn open(url: &RemoteUrl<'_>) -> Outcome<Arc<dyn Store>> {
    Ok(store_of_bucket(&context_of_process()?, url.bucket))
}

pub(super) fn store_of_bucket(context: &Arc<S3Context>, bucket: &str) -> Arc<dyn Store> {
    Arc::new(S3Store::new(Arc::clone(context), bucket))
}

impl ObjectClient for S3Client {
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
        self.context.vendor.version_of()
    }

    fn is_missing(&self, refusal: &Refusal) -> bool {
        refusal.is_missing_object()
    }

    fn failure_of(&self, refusal: &Refusal, action: Action, key: &str) -> Failure {
        failure_of(refusal, self, action, key)
    }
}

/// A bucket.
type S3Store = Objects<S3Client>;

impl S3Store {
    fn new(context: Arc<S3Context>, bucket: &str) -> Self {
        Self::of_client(S3Client::new(context, bucket))
    }

    /// Returns what is at an address, and remembers the first page of what is below it: of all objects, or of the next level.
    fn info_of(&self, url: &RemoteUrl<'_>, recursive: bool) -> io::Result<Option<FileInfo>> {
        if let Some(info) = self.known.info(url.key) {
            return Ok(info);
        }
        let (writes, listed) = (KnownObjects::writes(), ListedFolder::begin(url.prefix(), recursive));
        let below = self.begin_call(list(url.prefix(), recursive, None));
        if url.key.is_empty() {
            self.remember_first(listed, self.page(below)?)?;
            return Ok(Some(FileInfo::of_prefix()));
        }
        let refusal = match self.head(url.key)? {
            Ok(version) => {
                let has_objects =
                    || self.page(below).is_ok_and(|page| !page.objects.is_empty() || !page.prefixes.is_empty());
                let is_hidden = may_be_folder(url.key) && has_objects();
                if is_hidden {
                    notice_hidden_object(url);
                }
                return Ok(Some(if is_hidden { FileInfo::of_prefix() } else { version.info() }));
            }
            Err(refusal) => refusal,
        };
        // The answer to HEAD has no code, so the listing is also checked.
        let below = self.page(below)?;
        match refusal.is_missing_object() {
            false => Err(self.failure_of(&refusal, Action::Read, url.key)),
            true => {
                let has_objects = !(below.objects.is_empty() && below.prefixes.is_empty());
                self.known.remember_absence(url.key, has_objects, writes);
                self.remember_first(listed, below)?;
                Ok(has_objects.then(FileInfo::of_prefix))
            }
        }
    }

    /// Caches the first page of a listing.
    fn remember_first(&self, listed: ListedFolder, page: Page) -> io::Result<()> {
        let mut listed = if page.next.is_some() { listed.without_end() } else { listed };
        self.take_entries(&mut listed, entries(page), &mut |_| Ok(true))?;
        self.known.remember_listing(listed);
        Ok(())
    }

    /// Returns the page of a listing that was requested.
    fn page(&self, answer: PendingAnswer) -> io::Result<Page> {
        let parse = |answer: &Answer| parse_page(&answer.body, self.client.context.vendor);
        self.parsed(finish_read(answer)?, parse, "with a listing that cannot be read", (Action::List, ""))
    }
}

/// Returns the entries of a page; folders have no version.
fn entries(page: Page) -> Vec<(String, Option<ObjectVersion>)> {
    let objects = page.objects.into_iter().map(|(key, version)| (key, Some(version)));
    objects.chain(page.prefixes.into_iter().map(|prefix| (prefix, None))).collect()
}

/// Returns the request for a page of a listing.
fn list(prefix: String, recursive: bool, next: Option<String>) -> Call {
    let mut query = vec![("list-type", "2".to_owned()), ("encoding-type", "url".to_owned()), ("prefix", prefix)];
    query.extend((!recursive).then(|| ("delimiter", "/".to_owned())));
    query.extend(next.map(|next| ("continuation-token", next)));
    let (action, ending) = (Action::List, Some("</ListBucketResult>"));
    Call { action, query, ending, range: None, ..get_range("", 0..0, None) }
}

impl Store for S3Store {
    fn info(&self, url: &RemoteUrl<'_>) -> io::Result<Option<FileInfo>> {
        self.info_of(url, false)
    }

    fn known_info(&self, url: &RemoteUrl<'_>) -> Option<Option<FileInfo>> {
        self.known.info(url.key)
    }

    fn info_and_listing(&self, url: &RemoteUrl<'_>) -> io::Result<Option<FileInfo>> {
        self.info_of(url, true)
    }

    fn fetch_listing(&self, url: &RemoteUrl<'_>) -> io::Result<()> {
        let listed = ListedFolder::begin(url.key.to_owned(), true);
        self.remember_first(listed, self.page(self.begin_call(list(url.key.to_owned(), true, None)))?)
    }

    fn list(&self, folder: &RemoteUrl<'_>, recursive: bool, take: TakeEntry<'_>) -> io::Result<()> {
        if let Some(entries) = self.known.listing(&folder.prefix(), recursive) {
            return take_all(&entries, take).map(drop);
        }
        let begin = |next: Option<String>| list(folder.prefix(), recursive, next);
        // The first page may have just been fetched, to determine what is at the address.
        let known = self.known.beginning(&folder.prefix(), recursive);
        let (mut listed, after) = known.unwrap_or_else(|| (ListedFolder::begin(folder.prefix(), recursive), None));
        let mut first = begin(None);
        first.query.extend(after.clone().map(|after| ("start-after", after)));
        let (mut pending, mut asked) = (Some(self.begin_call(first)), None);
        if !take_all(listed.entries(), &mut *take)? {
            return Ok(());
        }
        while let Some(answer) = pending.take() {
            let mut page = self.page(answer)?;
            if let Some(after) = &after {
                // Some stores begin with the first key in any case.
                page.objects.retain(|(key, _)| key > after);
                page.prefixes.retain(|prefix| prefix > after);
            }
            if page.next.is_some() && page.next == asked {
                let refusal = Refusal::of_success(200, "with the same page again and again");
                return Err(self.failure_of(&refusal, Action::List, folder.key));
            }
            asked.clone_from(&page.next);
            // The next page is fetched while this one is processed.
            pending = page.next.clone().map(|next| self.begin_call(begin(Some(next))));
            if !self.take_entries(&mut listed, entries(page), &mut *take)? {
                if pending.is_some() {
                    // The next listing continues from the known entries.
                    listed = listed.cut_off();
                }
                break;
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
        let put = self.put_object(url.key, content, condition);
        self.known.forget(url.key);
        put
    }

    fn upload_ahead(&self, url: &RemoteUrl<'_>, file: &ReadFile, bytes: (u64, bool)) -> io::Result<u64> {
        self.upload_parts_ahead(url.key, file, bytes)
    }

    fn discard_ahead(&self, url: &RemoteUrl<'_>) {
        self.abort_growing_upload(url.key);
    }

    fn can_stage(&self, _: &RemoteUrl<'_>, bytes: u64, memory: u64) -> bool {
        has_parts(bytes, memory)
    }

    fn begin_staged(&self, url: &RemoteUrl<'_>, bytes: u64, memory: u64) -> io::Result<Box<dyn ObjectUpload>> {
        self.begin_parts(url.key, bytes, memory)
    }

    fn has_staged(&self, url: &RemoteUrl<'_>, object: &StagedObject) -> io::Result<bool> {
        Ok(self.has_all_parts(url.key, object))
    }

    fn complete_staged(&self, url: &RemoteUrl<'_>, object: &StagedObject) -> io::Result<bool> {
        self.complete_parts(url.key, object)
    }

    fn remove(&self, url: &RemoteUrl<'_>) -> io::Result<()> {
        self.remove_object(url.key)
    }

    fn remove_version(&self, url: &RemoteUrl<'_>, stamp: FileStamp) -> io::Result<bool> {
        let removed = self.remove_object_version(url.key, stamp);
        self.known.forget(url.key);
        removed
    }

    fn copy(&self, from: &RemoteUrl<'_>, to: &RemoteUrl<'_>, watch: &WatchBytes) -> io::Result<bool> {
        let source = Self::new(Arc::clone(&self.client.context), from.bucket);
        let copied = self.copy_object((&source, from.key), to.key, watch);
        self.known.forget(to.key);
        copied
    }

    fn service(&self, _: &RemoteUrl<'_>) -> Option<String> {
        self.client.context.config.endpoint.as_ref().map(|(address, _)| address.clone())
    }

    fn usual_address(&self, url: &RemoteUrl<'_>) -> String {
        format!("{}://{}/{}", self.client.context.vendor.scheme(), url.bucket, url.key)
    }

    fn settings(&self, _: &RemoteUrl<'_>) -> io::Result<StoreSettings> {
        self.read_settings()
    }

    fn buckets(&self) -> io::Result<Vec<String>> {
        if self.client.context.vendor == Vendor::Google {
            // Listing them requires the name of a project.
            return Err(unlisted_buckets().into_io());
        }
        let (action, ending) = (Action::ListBuckets, Some("</ListAllMyBucketsResult>"));
        let call = Call { action, ending, range: None, ..get_range("", 0..0, None) };
        let parse = |answer: &Answer| answers::parse_buckets(&answer.body);
        self.parsed(self.send_and_wait(call)?, parse, "with a list that cannot be read", (action, ""))
    }

    fn supports_condition(&self, url: &RemoteUrl<'_>, content: &[u8], condition: Condition) -> io::Result<bool> {
        self.checks_condition(url.key, content, condition)
    }

    fn guards(&self, url: &RemoteUrl<'_>, content: &[u8]) -> io::Result<Option<StoreGuards>> {
        self.find_guards(url.key, content).map(Some)
    }

    fn uploads(&self, folder: &RemoteUrl<'_>) -> io::Result<Option<Vec<UnfinishedUpload>>> {
        self.list_uploads(folder.key).map(Some)
    }

    fn end_upload(&self, url: &RemoteUrl<'_>, id: &str) -> io::Result<()> {
        self.abort_upload(url.key, id)
    }

    fn age(&self, url: &RemoteUrl<'_>) -> io::Result<Option<Duration>> {
        self.age_of(url.key)
    }

    fn begin_check(&self, url: &RemoteUrl<'_>) -> Option<PendingCheck> {
        Some(self.begin_check_of(url.key))
    }

    fn md5(&self, url: &RemoteUrl<'_>) -> io::Result<Option<String>> {
        self.md5_of(url.key)
    }
}
