//! Facts of a bucket for `doctor`: the settings of requests, whether conditions and checksums are obeyed, and unfinished uploads.

use super::super::dates::{now, parse_http_date, parse_iso_date};
use super::super::network::Answer;
use super::answers::{parse_parts, parse_uploads, sum_of, ListedPart, UploadPage};
use super::call::{get_range, write, Action, Call};
use super::object::{finish_read, PendingAnswer};
use super::resume::BegunUpload;
use super::vendor::Vendor;
use super::write::MAX_PARTS;
use super::S3Store;
use crate::store::{Condition, StoreGuards, StoreSettings, UnfinishedUpload};
use bytes::Bytes;
use gristmill_core::{Failure, FileStamp};
use reqwest::Method;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// Maximum number of pages of unfinished uploads that are read.
const MAX_PAGES: usize = 10;
/// Maximum number of unfinished uploads whose sizes are looked up.
const MAX_SIZED_UPLOADS: usize = 100;
/// How much earlier or later than its record an upload may have started, in nanoseconds: stores report whole seconds, and requests are
/// repeated.
const BEGIN_EARLY_NS: i64 = 3_000_000_000;
const BEGIN_LATE_NS: i64 = 30_000_000_000;
/// A tag that no version has.
const NO_VERSION: &str = "00000000000000000000000000000000";
/// A checksum that no short content has.
const WRONG_MD5: &str = "AAAAAAAAAAAAAAAAAAAAAA==";

impl S3Store {
    /// Returns the source of the credentials, the region, and the address of the bucket.
    pub(super) fn read_settings(&self) -> io::Result<StoreSettings> {
        let client = Arc::clone(&self.client);
        let keys = self.client.context.network.begin(async move { client.context.credentials.get().await });
        let keys = keys.finish().and_then(|keys| keys).map_err(Failure::into_io)?;
        let credentials = match keys {
            Some(keys) if keys.id.is_empty() => keys.source.clone(),
            Some(keys) => format!("{}, key {}", keys.source, keys.id_end()),
            None => "none: requests are not signed".to_owned(),
        };
        let (config, region) = (&self.client.context.config, self.client.region());
        let url = config.url(&region, &self.client.bucket, "", &[]).map_err(Failure::into_io)?;
        let endpoint = match &config.endpoint {
            Some((_, source)) => format!("{url}, from {source}"),
            None => url.to_string(),
        };
        let region = if self.client.context.vendor == Vendor::Google { String::new() } else { region };
        Ok(StoreSettings { credentials, region, endpoint })
    }

    /// Whether the store refuses to put an existing object if a condition of this kind does not hold. The stores of Amazon and Google are
    /// known to check conditions; other stores are tested, for absence only once.
    pub(super) fn checks_condition(&self, key: &str, content: &[u8], condition: Condition) -> io::Result<bool> {
        let context = &self.client.context;
        let is_known = context.vendor == Vendor::Google || context.config.endpoint.is_none();
        let is_of_version = matches!(condition, Condition::IfStamp(_));
        let known = self.client.obeys_absence.get().copied().filter(|obeys| !obeys || !is_of_version);
        if let Some(obeys) = is_known.then_some(true).or(known) {
            return Ok(obeys);
        }
        let put = write(Method::PUT, key, Vec::new(), Bytes::copy_from_slice(content));
        let etag = is_of_version.then(|| NO_VERSION.to_owned());
        let condition = if is_of_version { condition } else { Condition::IfAbsent };
        let obeys = match self.send_and_wait(Call { condition, etag, ..put })? {
            Ok(_) => false,
            Err(refusal) if refusal.has_no_conditions() => false,
            Err(refusal) if [409, 412].contains(&refusal.status) => true,
            Err(refusal) => return Err(self.failure_of(&refusal, Action::Write, key)),
        };
        self.known.forget(key);
        match is_of_version {
            true => Ok(obeys),
            false => Ok(*self.client.obeys_absence.get_or_init(|| obeys)),
        }
    }

    /// Puts an existing object by requests that the store must refuse.
    pub(super) fn find_guards(&self, key: &str, content: &[u8]) -> io::Result<StoreGuards> {
        let is_refused = |call: Call, statuses: [u16; 2]| -> io::Result<bool> {
            Ok(matches!(self.send_and_wait(call)?, Err(refusal) if statuses.contains(&refusal.status)))
        };
        let put = || write(Method::PUT, key, Vec::new(), Bytes::copy_from_slice(content));
        let with = |name: &'static str, value: &str| Call { headers: vec![(name, value.to_owned())], ..put() };
        // A version that does not exist.
        let other = if self.client.context.vendor == Vendor::Google { "1" } else { NO_VERSION };
        self.known.forget(key);
        Ok(StoreGuards {
            if_absent: is_refused(Call { condition: Condition::IfAbsent, ..put() }, [409, 412])?,
            if_unchanged: is_refused(
                Call { condition: Condition::IfStamp(FileStamp::default()), etag: Some(other.to_owned()), ..put() },
                [409, 412],
            )?,
            checksums: is_refused(with("content-md5", WRONG_MD5), [400, 422])?,
        })
    }

    /// Lists the unfinished uploads of an object and of objects below it.
    pub(super) fn list_uploads(&self, key: &str) -> io::Result<Vec<UnfinishedUpload>> {
        let mut uploads = Vec::new();
        let mut next = None;
        for _ in 0..MAX_PAGES {
            let (page, now) = self.upload_page(key, next)?;
            let is_below = |upload: &str| {
                key.is_empty() || upload.strip_prefix(key).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            for upload in page.uploads.into_iter().filter(|upload| is_below(&upload.key)) {
                let begun = parse_iso_date(&upload.initiated).unwrap_or(now);
                let age = Duration::from_nanos(u64::try_from(now - begun).unwrap_or_default());
                uploads.push(UnfinishedUpload { key: upload.key, id: upload.id, age, bytes: None });
            }
            next = page.next;
            if next.is_none() {
                break;
            }
        }
        for upload in uploads.iter_mut().take(MAX_SIZED_UPLOADS) {
            let query = vec![("uploadId", upload.id.clone())];
            let call = Call { query, range: None, ..get_range(&upload.key, 0..0, None) };
            // Without the permission to list parts, the size is unknown.
            upload.bytes = self.send_and_wait(call)?.ok().and_then(|answer| sum_of(&answer.body, "Size"));
        }
        Ok(uploads)
    }

    /// Returns a page of unfinished uploads, and the time of the store in nanoseconds. `next` is the key and the upload after which the
    /// page begins.
    pub(super) fn upload_page(&self, key: &str, next: Option<(String, String)>) -> io::Result<(UploadPage, i64)> {
        self.take_upload_page(key, self.begin_call(Self::uploads_call(key, next)))
    }

    /// Returns the request for a page of unfinished uploads.
    pub(super) fn uploads_call(key: &str, next: Option<(String, String)>) -> Call {
        let mut query =
            vec![("uploads", String::new()), ("encoding-type", "url".to_owned()), ("prefix", key.to_owned())];
        if let Some((key, id)) = next {
            query.extend([("key-marker", key), ("upload-id-marker", id)]);
        }
        let ending = Some("</ListMultipartUploadsResult>");
        Call { action: Action::ListUploads, query, ending, range: None, ..get_range("", 0..0, None) }
    }

    /// Waits for a page of unfinished uploads.
    pub(super) fn take_upload_page(&self, key: &str, answer: PendingAnswer) -> io::Result<(UploadPage, i64)> {
        let parse = |answer: &Answer| {
            let time = answer.header("date").and_then(parse_http_date);
            Some((parse_uploads(&answer.body)?, time.unwrap_or_else(now)))
        };
        self.parsed(finish_read(answer)?, parse, "with a list that cannot be read", (Action::ListUploads, key))
    }

    /// Lists the parts of an upload, in order; `None` if they cannot be listed.
    pub(super) fn list_parts(&self, key: &str, upload: &str) -> Option<Vec<ListedPart>> {
        let mut parts = Vec::new();
        let mut next = Some(0);
        while let Some(after) = next {
            let query = vec![("uploadId", upload.to_owned()), ("part-number-marker", after.to_string())];
            let ending = Some("</ListPartsResult>");
            let call = Call { action: Action::ListUploads, query, ending, range: None, ..get_range(key, 0..0, None) };
            let page = parse_parts(&self.send_and_wait(call).ok()?.ok()?.body)?;
            parts.extend(page.parts);
            next = page.next.filter(|next| *next > after && *next < MAX_PARTS);
        }
        Some(parts)
    }

    /// Aborts the upload that a killed process started. If its name is unknown, aborts the only upload of the key that started at that
    /// time.
    pub(super) fn abort_recorded_upload(&self, key: &str, begun: &BegunUpload) {
        if !begun.upload.is_empty() {
            let _ = self.abort_upload(key, &begun.upload);
            return;
        }
        self.abort_uploads_started_at(key, (begun.at, BEGIN_LATE_NS), 1, "");
    }

    /// Aborts uploads that were started by requests whose answers were lost, at most one each, since a time by the clock of this machine.
    pub(super) fn abort_lost_uploads(&self, key: &str, upload: &str, (requests, since): (usize, i64)) {
        self.abort_uploads_started_at(key, (since, now() - since + BEGIN_EARLY_NS), requests, upload);
    }

    /// Aborts the uploads of a key, except `kept`, that started at a time or shortly after it. If there are more than `most`, one of them
    /// belongs to another program, and none is aborted.
    fn abort_uploads_started_at(&self, key: &str, (at, late_ns): (i64, i64), most: usize, kept: &str) {
        let Ok((page, store_now)) = self.upload_page(key, None) else { return };
        let is_of_time = |initiated: i64| {
            let late = initiated + (now() - store_now) - at;
            (-BEGIN_EARLY_NS..late_ns).contains(&late)
        };
        let others = page.uploads.iter().filter(|upload| upload.key == key && upload.id != kept);
        let found: Vec<_> = others.filter(|upload| parse_iso_date(&upload.initiated).is_some_and(is_of_time)).collect();
        for upload in found.iter().filter(|_| found.len() <= most) {
            let _ = self.abort_upload(key, &upload.id);
        }
    }

    /// Aborts an unfinished upload.
    pub(super) fn abort_upload(&self, key: &str, id: &str) -> io::Result<()> {
        let call = write(Method::DELETE, key, vec![("uploadId", id.to_owned())], Bytes::new());
        match self.send_and_wait(Call { action: Action::EndUpload, ..call })? {
            Err(refusal) if refusal.status != 404 => Err(self.failure_of(&refusal, Action::EndUpload, key)),
            _ => Ok(()),
        }
    }
}
