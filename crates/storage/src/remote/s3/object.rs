//! An object that is read by ranges of one version.

use super::super::super::store::Condition;
use super::super::blocks::{CancelFetch, FetchDone, FetchRange};
use super::super::version::{plain_etag, ObjectVersion};
use super::client::{Action, Call, S3Client};
use super::failures::explain;
use super::refusal::Refusal;
use bytes::Bytes;
use reqwest::Method;
use std::ops::Range;
use std::sync::Arc;

/// Fetches ranges of one version of an object.
pub(super) struct ObjectSource {
    pub(super) client: Arc<S3Client>,
    pub(super) key: String,
    pub(super) version: ObjectVersion,
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

impl FetchRange for ObjectSource {
    fn begin(&self, range: Range<u64>, done: FetchDone) -> CancelFetch {
        let (client, total) = (Arc::clone(&self.client), self.version.bytes);
        let etag = Some(plain_etag(&self.version.etag).to_owned()).filter(|etag| !etag.is_empty());
        let call = get_range(&self.key, range, etag);
        let task = self.client.context.network.spawn(async move {
            done.finish(match client.call(&call).await {
                Ok(Ok(answer)) if answer.total == total => Ok(answer.body),
                Ok(Ok(_)) => {
                    let refusal = Refusal::of_success(412, "");
                    Err(explain(&refusal, &client, call.action, &call.key))
                }
                Ok(Err(refusal)) => {
                    // An object that is gone is not the one that was opened.
                    let status = if refusal.is_missing_object() { 412 } else { refusal.status };
                    Err(explain(&Refusal { status, ..refusal }, &client, call.action, &call.key))
                }
                Err(failure) => Err(failure),
            });
        });
        Box::new(move || task.abort())
    }
}
