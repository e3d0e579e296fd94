//! An object that is read by ranges of one version.

use super::super::blocks::{CancelFetch, FetchDone, FetchRange};
use super::client::{Action, Answer, Call, S3Client};
use super::dates::parse_http_date;
use crate::files::FileInfo;
use reqwest::Method;
use std::ops::Range;
use std::sync::Arc;

/// Nanoseconds in a second.
const SECOND_NS: i64 = 1_000_000_000;

/// Size, version and time of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ObjectVersion {
    pub(super) bytes: u64,
    /// Without quotes, when it is compared.
    pub(super) etag: String,
    pub(super) modified_ns: i64,
}

impl ObjectVersion {
    /// Returns what the headers of an answer say. `bytes` is the size of the object.
    pub(super) fn of(answer: &Answer, bytes: u64) -> Self {
        let modified_ns = answer.header("last-modified").and_then(parse_http_date).unwrap_or_default();
        Self { bytes, etag: answer.etag().to_owned(), modified_ns }
    }

    /// Returns the information of the object. Headers have whole seconds, so those of listings are cut off.
    pub(super) fn info(&self) -> FileInfo {
        let modified_ns = self.modified_ns.div_euclid(SECOND_NS) * SECOND_NS;
        FileInfo::of_object(self.bytes, modified_ns, plain_etag(&self.etag))
    }
}

/// Returns the tag of a version without quotes.
pub(super) fn plain_etag(etag: &str) -> &str {
    etag.trim().trim_start_matches("W/").trim_matches('"')
}

/// Fetches ranges of one version of an object.
pub(super) struct ObjectSource {
    pub(super) client: Arc<S3Client>,
    pub(super) key: String,
    pub(super) version: ObjectVersion,
}

/// Returns the request for a range of an object.
pub(super) fn get_range(key: &str, range: Range<u64>, etag: Option<String>) -> Call {
    Call {
        method: Method::GET,
        action: Action::Read,
        key: key.to_owned(),
        query: Vec::new(),
        range: Some(range),
        etag,
        ending: None,
    }
}

impl FetchRange for ObjectSource {
    fn begin(&self, range: Range<u64>, done: FetchDone) -> CancelFetch {
        let (client, total) = (Arc::clone(&self.client), self.version.bytes);
        let etag = Some(plain_etag(&self.version.etag).to_owned()).filter(|etag| !etag.is_empty());
        let call = get_range(&self.key, range, etag);
        let task = self.client.context.network.spawn(async move {
            done.finish(match client.call(&call).await {
                Ok(Ok(answer)) if answer.total == total => Ok(answer.body),
                Ok(Ok(_)) => {
                    let refusal = super::failures::Refusal::of_success(412, "");
                    Err(refusal.explain(&client, call.action, &call.key))
                }
                Ok(Err(refusal)) => {
                    // An object that is gone is not the one that was opened.
                    let status = if refusal.is_missing_object() { 412 } else { refusal.status };
                    Err(super::failures::Refusal { status, ..refusal }.explain(&client, call.action, &call.key))
                }
                Err(failure) => Err(failure),
            });
        });
        Box::new(move || task.abort())
    }
}
