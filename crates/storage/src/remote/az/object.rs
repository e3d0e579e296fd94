//! A blob that is read by ranges of one version.

use super::super::blocks::{CancelFetch, FetchDone, FetchRange};
use super::super::s3::{get_range, Refusal};
use super::super::version::{plain_etag, ObjectVersion};
use super::client::AzureClient;
use super::failures::{explain, is_missing};
use std::ops::Range;
use std::sync::Arc;

/// Fetches ranges of one version of a blob.
pub(super) struct BlobSource {
    pub(super) client: Arc<AzureClient>,
    pub(super) key: String,
    pub(super) version: ObjectVersion,
}

impl FetchRange for BlobSource {
    fn begin(&self, range: Range<u64>, done: FetchDone) -> CancelFetch {
        let (client, total) = (Arc::clone(&self.client), self.version.bytes);
        let call = get_range(&self.key, range, Some(plain_etag(&self.version.etag).to_owned()));
        let task = self.client.context.network.spawn(async move {
            let refusal = match client.call(&call).await {
                Ok(Ok(answer)) if answer.total == total => return done.finish(Ok(answer.body)),
                Ok(Ok(_)) => Refusal::of_success(412, ""),
                // A blob that is gone is not the one that was opened.
                Ok(Err(refusal)) if is_missing(&refusal) => Refusal { status: 412, ..refusal },
                Ok(Err(refusal)) => refusal,
                Err(failure) => return done.finish(Err(failure)),
            };
            done.finish(Err(explain(&refusal, &client, call.action, &call.key)));
        });
        Box::new(move || task.abort())
    }
}
