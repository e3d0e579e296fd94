//! Puts and removes blobs: small ones by one request, others in blocks that become visible when their block list is put.

use super::super::network::Answer;
use super::super::s3::{
    get_range, head, part_bytes, read_part, send_in_order, text_of, write, Action, Call, PendingPart, MAX_PUT_BYTES,
    MAX_UPLOADS,
};
use super::failures::{is_condition, is_missing};
use super::AzureStore;
use crate::store::{Condition, Content};
use base64::prelude::{Engine as _, BASE64_STANDARD};
use bytes::Bytes;
use gristmill_core::{Failure, FileStamp, Subject};
use md5::{Digest as _, Md5};
use reqwest::Method;
use std::fmt::Write as _;
use std::io;
use std::ops::Range;
use uuid::Uuid;

/// Header with the token of a run that removes an upload.
const ABORT_TOKEN_HEADER: &str = "x-ms-meta-gristmill_ended_by";

/// A blob that is put in blocks.
pub(super) struct Blocks<'a> {
    pub(super) key: &'a str,
    /// Action and key that a refusal of a block concerns.
    pub(super) source: (Action, &'a str),
    /// Size of the blob.
    pub(super) bytes: u64,
    /// Size of each block but the last one.
    pub(super) block_bytes: u64,
    /// Returns the request for a block, without its query.
    pub(super) block: &'a dyn Fn(Range<u64>) -> io::Result<Call>,
}

/// Returns a request that puts content, with its checksum.
pub(super) fn put(key: &str, query: Vec<(&'static str, String)>, body: Bytes) -> Call {
    let sum = BASE64_STANDARD.encode(Md5::digest(&body));
    Call { headers: vec![("content-md5", sum)], ..write(Method::PUT, key, query, body) }
}

/// Returns a request that puts a whole blob.
pub(super) fn put_blob(key: &str, body: Bytes) -> Call {
    let mut call = put(key, Vec::new(), body);
    call.headers.push(("x-ms-blob-type", "BlockBlob".to_owned()));
    call
}

/// Returns the id of a block. `token` identifies the upload. All ids of a blob have the same length.
pub(super) fn block_id(token: &str, number: u64) -> String {
    BASE64_STANDARD.encode(format!("{token}{number:08}"))
}

/// Returns a request that commits the blocks of a blob.
fn put_list(key: &str, ids: &[String]) -> Call {
    let mut body = String::from("<?xml version=\"1.0\" encoding=\"utf-8\"?><BlockList>");
    // `Latest` also finds blocks that an earlier try has committed, if its answer was lost.
    ids.iter().for_each(|id| _ = write!(body, "<Latest>{id}</Latest>"));
    body.push_str("</BlockList>");
    put(key, vec![("comp", "blocklist".to_owned())], body.into())
}

impl AzureStore {
    /// Puts a blob; returns whether the condition held.
    pub(super) fn put_blob(&self, key: &str, content: Content<'_>, condition: Condition) -> io::Result<bool> {
        match content {
            Content::Bytes(bytes) => self.put_whole(key, Bytes::copy_from_slice(bytes), condition),
            Content::File(file) | Content::UnlockedFile(file) if file.len() <= MAX_PUT_BYTES => {
                self.put_whole(key, read_part(file, 0, file.len())?, condition)
            }
            // Unfinished blocks of other runs are removed when this block list is put.
            Content::File(file) | Content::UnlockedFile(file) => {
                let block = |range: Range<u64>| {
                    Ok(put(key, Vec::new(), read_part(file, range.start, range.end - range.start)?))
                };
                let (source, block_bytes) = ((Action::Write, key), part_bytes(file.len()));
                self.put_blocks(&Blocks { key, source, bytes: file.len(), block_bytes, block: &block }, condition)
            }
        }
    }

    fn put_whole(&self, key: &str, body: Bytes, condition: Condition) -> io::Result<bool> {
        let Some(etag) = self.etag_before(key, condition)? else { return self.is_content(key, &body) };
        match self.send_and_wait(self.with_tier(Call { condition, etag, ..put_blob(key, body.clone()) }))? {
            Ok(_) => Ok(true),
            // If the answer to an earlier try was lost, the existing blob is this one.
            Err(refusal) if is_condition(&refusal) => self.is_content(key, &body),
            Err(refusal) => Err(self.failure_of(&refusal, Action::Write, key)),
        }
    }

    /// Adds the access tier of new blobs to a request that creates one.
    pub(super) fn with_tier(&self, mut call: Call) -> Call {
        let tier = self.client.context.config.access_tier.clone();
        call.headers.extend(tier.map(|tier| ("x-ms-access-tier", tier)));
        call
    }

    /// Returns the tag of the blob that is replaced, if the condition has a stamp; `None` if the blob has another stamp.
    fn etag_before(&self, key: &str, condition: Condition) -> io::Result<Option<Option<String>>> {
        let Condition::IfStamp(stamp) = condition else { return Ok(Some(None)) };
        let version = self.found(self.head(key)?, Action::Read, key)?;
        Ok(version.filter(|version| version.info().stamp == stamp).map(|version| Some(version.etag)))
    }

    /// Puts a blob in blocks; returns whether the condition held.
    pub(super) fn put_blocks(&self, blocks: &Blocks<'_>, condition: Condition) -> io::Result<bool> {
        let Some(etag) = self.etag_before(blocks.key, condition)? else { return Ok(false) };
        for _ in 0..MAX_UPLOADS {
            // Blocks of other runs are never in a list: the ids of each upload begin with its own token.
            let ids = self.send_blocks(blocks, &Uuid::new_v4().simple().to_string())?;
            if let Some(done) = self.commit(blocks.key, &ids, condition, etag.clone())? {
                return Ok(done);
            }
        }
        let why = "its blocks were removed by another process that writes it";
        let failure = Failure::environment("writing", why).on(Subject::path(self.client.address(blocks.key)));
        Err(failure.with_hint("run the same command again").into_io())
    }

    /// Uploads all blocks and returns their ids, in order.
    fn send_blocks(&self, blocks: &Blocks<'_>, token: &str) -> io::Result<Vec<String>> {
        let mut ids = Vec::new();
        let mut take = |part: PendingPart| match part.finish()? {
            Ok(_) => Ok(true),
            Err(refusal) => Err(self.failure_of(&refusal, blocks.source.0, blocks.source.1)),
        };
        let mut begin = |number: u64, range: Range<u64>| {
            let id = block_id(token, number);
            let query = vec![("comp", "block".to_owned()), ("blockid", id.clone())];
            ids.push(id);
            Ok(self.begin_part(Call { query, ..(blocks.block)(range)? }))
        };
        send_in_order(blocks.bytes, blocks.block_bytes, &mut begin, &mut take)?;
        Ok(ids)
    }

    /// Commits the blocks of a blob. Returns whether the condition held, or `None` if the blocks no longer exist. `etag` is the version that it
    /// replaces.
    pub(super) fn commit(
        &self,
        key: &str,
        ids: &[String],
        condition: Condition,
        etag: Option<String>,
    ) -> io::Result<Option<bool>> {
        match self.send_and_wait(self.with_tier(Call { condition, etag, ..put_list(key, ids) }))? {
            Ok(_) => Ok(Some(true)),
            Err(refusal) if is_condition(&refusal) => Ok(Some(self.is_made_of(key, ids)?)),
            Err(refusal) if refusal.code == "InvalidBlockList" => Ok(None),
            Err(refusal) => Err(self.failure_of(&refusal, Action::Write, key)),
        }
    }

    /// Whether a blob consists of these blocks.
    pub(super) fn is_made_of(&self, key: &str, ids: &[String]) -> io::Result<bool> {
        let answer = self.found(self.send_and_wait(block_list(key, "committed"))?, Action::Read, key)?;
        Ok(answer.is_some_and(|answer| text_of(&answer.body, "Name").as_ref() == ids.first()))
    }

    /// Removes a blob if it has this version, and returns whether it had.
    pub(super) fn remove_blob_version(&self, key: &str, stamp: FileStamp) -> io::Result<bool> {
        let Some(etag) = self.etag_before(key, Condition::IfStamp(stamp))? else { return Ok(false) };
        let call = Call { action: Action::Remove, ..write(Method::DELETE, key, Vec::new(), Bytes::new()) };
        let headers = etag.into_iter().map(|etag| ("if-match", etag)).collect();
        match self.send_and_wait(Call { headers, ..call })? {
            Ok(_) => Ok(true),
            Err(refusal) if is_missing(&refusal) || is_condition(&refusal) => Ok(false),
            Err(refusal) => Err(self.failure_of(&refusal, Action::Remove, key)),
        }
    }

    /// Removes the uncommitted blocks of a blob that does not exist. The store has no request for this: putting an empty block list creates
    /// an empty blob and removes them, and then the blob is removed.
    pub(super) fn remove_uncommitted_blocks(&self, key: &str) -> io::Result<()> {
        let (action, condition) = (Action::EndUpload, Condition::IfAbsent);
        let token = Uuid::new_v4().simple().to_string();
        let mut call = Call { action, condition, ..put_list(key, &[]) };
        call.headers.push((ABORT_TOKEN_HEADER, token.clone()));
        let answer = match self.send_and_wait(call)? {
            Ok(answer) => answer,
            Err(refusal) if is_condition(&refusal) => match self.send_and_wait(head(key))? {
                // The answer to an earlier try was lost.
                Ok(answer) if has_abort_token(&answer, &token) => answer,
                // The blob was finished meanwhile.
                Ok(_) => return Ok(()),
                Err(refusal) if is_missing(&refusal) => return Ok(()),
                Err(refusal) => return Err(self.failure_of(&refusal, action, key)),
            },
            Err(refusal) => return Err(self.failure_of(&refusal, action, key)),
        };
        let tag = answer.header("etag").map(str::to_owned);
        let call = write(Method::DELETE, key, Vec::new(), Bytes::new());
        let headers = tag.into_iter().map(|tag| ("if-match", tag)).collect();
        match self.send_and_wait(Call { action, headers, ..call })? {
            Err(refusal) if !is_missing(&refusal) && !is_condition(&refusal) => {
                Err(self.failure_of(&refusal, action, key))
            }
            _ => Ok(()),
        }
    }
}

/// Whether a blob is the empty one that was put to remove an upload.
fn has_abort_token(answer: &Answer, token: &str) -> bool {
    answer.header("content-length") == Some("0") && answer.header(ABORT_TOKEN_HEADER) == Some(token)
}

/// Returns the request for the blocks of a blob, `committed` or `uncommitted`.
pub(super) fn block_list(key: &str, kind: &str) -> Call {
    let query = vec![("comp", "blocklist".to_owned()), ("blocklisttype", kind.to_owned())];
    Call { query, range: None, ending: Some("</BlockList>"), ..get_range(key, 0..0, None) }
}
