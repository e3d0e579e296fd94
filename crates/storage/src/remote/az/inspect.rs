//! Facts of a container for `doctor`: the settings of requests, whether conditions and checksums are obeyed, and unfinished uploads.

use super::super::s3::{sum_of, Action, Call, Refusal};
use super::client::FOLDER;
use super::failures::{is_condition, is_missing, is_signature};
use super::listing::{list, ListedBlob, Page};
use super::write::{block_list, put_blob};
use super::AzureStore;
use crate::store::{Condition, StoreGuards, StoreSettings, UnfinishedUpload};
use bytes::Bytes;
use gristmill_core::{Failure, FileStamp};
use std::io;
use std::time::{Duration, UNIX_EPOCH};

/// Maximum number of pages of a listing that are searched for unfinished uploads.
const MAX_PAGES: usize = 10;
/// Maximum number of empty blobs whose blocks are requested.
const MAX_EXAMINED_BLOBS: usize = 100;
/// A checksum that no short content has, and a version that no blob has.
const WRONG_MD5: &str = "AAAAAAAAAAAAAAAAAAAAAA==";
const OTHER_VERSION: &str = "0x8D0000000000000";

impl AzureStore {
    /// Returns the source of the credentials, and the address of the container.
    pub(super) fn read_settings(&self) -> io::Result<StoreSettings> {
        let keys = self.keys()?;
        let config = &self.client.context.config;
        let credentials = match keys {
            Some(keys) if is_signature(&keys) => format!("{}, a signature (SAS)", keys.source),
            Some(keys) if !keys.id.is_empty() => format!("{}, the key of the account {}", keys.source, config.account),
            Some(keys) => keys.source.clone(),
            None => "none: requests are not signed".to_owned(),
        };
        let url = config.url(&self.client.container, "", &[], None).map_err(Failure::into_io)?;
        let endpoint = match &config.endpoint_source {
            Some(source) => format!("{url}, from {source}"),
            None => url.to_string(),
        };
        Ok(StoreSettings { credentials, region: String::new(), endpoint })
    }

    /// Puts an existing blob by requests that the store must refuse.
    pub(super) fn find_guards(&self, key: &str, content: &[u8]) -> io::Result<StoreGuards> {
        let is_refused = |call: Call, is_right: &dyn Fn(&Refusal) -> bool| -> io::Result<bool> {
            Ok(matches!(self.send_and_wait(call)?, Err(refusal) if is_right(&refusal)))
        };
        let put = || put_blob(key, Bytes::copy_from_slice(content));
        let mut wrong = put();
        wrong.headers.retain(|(name, _)| *name != "content-md5");
        wrong.headers.push(("content-md5", WRONG_MD5.to_owned()));
        let condition = Condition::IfStamp(FileStamp::default());
        Ok(StoreGuards {
            if_absent: is_refused(Call { condition: Condition::IfAbsent, ..put() }, &is_condition)?,
            if_unchanged: is_refused(Call { condition, etag: Some(OTHER_VERSION.to_owned()), ..put() }, &is_condition)?,
            checksums: is_refused(wrong, &|refusal| refusal.status == 400)?,
        })
    }

    /// Lists the blobs at and below a key that have only uncommitted blocks.
    pub(super) fn list_uploads(&self, key: &str) -> io::Result<Vec<UnfinishedUpload>> {
        let is_below = |name: &str| {
            key.is_empty() || name.strip_prefix(key).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let mut uploads = Vec::new();
        let mut next = None;
        for _ in 0..MAX_PAGES {
            let mut call = Call { action: Action::ListUploads, ..list(key, true, None, next.clone()) };
            call.query.retain(|(name, _)| *name != "include");
            call.query.push(("include", "uncommittedblobs".to_owned()));
            let page: Page = self.page(self.begin_call(call), next.as_deref())?;
            next = page.next;
            let is_upload = |blob: &ListedBlob| blob.version.bytes == 0 && !blob.is_folder && is_below(&blob.key);
            for blob in page.blobs.into_iter().filter(is_upload) {
                if uploads.len() == MAX_EXAMINED_BLOBS {
                    return Ok(uploads);
                }
                uploads.extend(self.upload_of(blob)?);
            }
            if next.is_none() {
                break;
            }
        }
        Ok(uploads)
    }

    /// Returns the unfinished upload that a listing shows as an empty blob; `None` if it is a blob.
    fn upload_of(&self, blob: ListedBlob) -> io::Result<Option<UnfinishedUpload>> {
        match self.head(&blob.key)? {
            // A blob that marks a folder is also refused.
            Err(refusal) if is_missing(&refusal) && refusal.code != FOLDER => {}
            _ => return Ok(None),
        }
        let blocks = self.send_and_wait(block_list(&blob.key, "uncommitted"))?.ok();
        let now = self.client.context.clock.now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos());
        // The store does not report when blocks were put; without a creation time, the upload counts as new.
        let begun = blob.created_ns.and_then(|time| u128::try_from(time).ok()).unwrap_or(now);
        let age = Duration::from_nanos(u64::try_from(now.saturating_sub(begun)).unwrap_or_default());
        let bytes = blocks.and_then(|answer| sum_of(&answer.body, "Size"));
        Ok(Some(UnfinishedUpload { key: blob.key, id: String::new(), age, bytes }))
    }
}
