//! Copies blobs within an account: small ones by one request, others in blocks. The store waits until the copy is complete.

use super::super::network::Answer;
use super::super::s3::{bytes_in, finish_read, head, write, Action, Call, ObjectChecksum, ObjectClient as _};
use super::super::version::{plain_etag, ObjectVersion};
use super::failures::is_condition;
use super::signature::sign_address;
use super::write::Blocks;
use super::AzureStore;
use crate::store::{Condition, PendingCheck, WatchBytes};
use base64::prelude::{Engine as _, BASE64_STANDARD};
use bytes::Bytes;
use gristmill_core::text::hex;
use gristmill_core::{Failure, ProblemKind};
use reqwest::Method;
use std::io;
use std::ops::Range;

/// Maximum size of a blob that is copied by one request, and size of a copied block, in bytes. The store answers when the copy is complete,
/// so it must finish within the time limit for the first byte of an answer.
const MAX_COPY_BYTES: u64 = 64 << 20;
/// Maximum size of a copied blob: the number of its blocks is limited.
const MAX_BYTES: u64 = 50_000 * MAX_COPY_BYTES;

impl AzureStore {
    /// Copies the current version of a blob from any container of the account. Returns `false` if the store refuses this.
    pub(super) fn copy_blob(&self, (source, from): (&Self, &str), to: &str, watch: &WatchBytes) -> io::Result<bool> {
        // If this request is refused, reading the blob returns the failure.
        let Ok(version) = source.head(from)? else { return Ok(false) };
        let headers = source.source_headers(from, &version)?;
        if version.bytes <= MAX_COPY_BYTES {
            return self.copy_whole((source, from), (to, headers), version.bytes, watch);
        }
        let sizes = (version.bytes, MAX_COPY_BYTES);
        Ok(version.bytes <= MAX_BYTES && self.copy_blocks((source, from), (to, headers), sizes, watch)?)
    }

    /// Returns the headers that name a source: one version of it, with the permission to read it.
    pub(super) fn source_headers(&self, key: &str, version: &ObjectVersion) -> io::Result<Vec<(&'static str, String)>> {
        let keys = self.keys()?;
        let config = &self.client.context.config;
        let sas = keys.as_ref().and_then(|keys| keys.token.as_ref());
        let mut url = config.url(&self.client.container, key, &[], sas).map_err(Failure::into_io)?;
        let mut headers = vec![("x-ms-source-if-match", format!("\"{}\"", plain_etag(&version.etag)))];
        match keys {
            Some(keys) if !keys.id.is_empty() => {
                let query = sign_address(&keys, &self.client.container, key, self.client.context.clock.now());
                url.set_query(Some(&query));
            }
            Some(keys) if keys.token.is_none() => {
                headers.push(("x-ms-copy-source-authorization", format!("Bearer {}", keys.secret.reveal())));
            }
            _ => {}
        }
        headers.push(("x-ms-copy-source", url.to_string()));
        Ok(headers)
    }

    fn copy_whole(
        &self,
        (source, from): (&Self, &str),
        (to, mut headers): (&str, Vec<(&'static str, String)>),
        bytes: u64,
        watch: &WatchBytes,
    ) -> io::Result<bool> {
        headers.push(("x-ms-requires-sync", "true".to_owned()));
        let call = Call { headers, ..write(Method::PUT, to, Vec::new(), Bytes::new()) };
        match self.send_and_wait(self.with_tier(call))? {
            Ok(answer) if answer.header("x-ms-copy-status") == Some("success") => watch(bytes).map(|()| true),
            Ok(_) => Ok(false),
            Err(refusal) if is_condition(&refusal) => Err(source.failure_of(&refusal, Action::Read, from)),
            Err(_) => Ok(false),
        }
    }

    /// Copies a blob in blocks of a size. Returns `false` if the store refuses this.
    pub(super) fn copy_blocks(
        &self,
        (source, from): (&Self, &str),
        (to, headers): (&str, Vec<(&'static str, String)>),
        (bytes, block_bytes): (u64, u64),
        watch: &WatchBytes,
    ) -> io::Result<bool> {
        let block = |range: Range<u64>| {
            watch(range.end - range.start)?;
            let mut headers = headers.clone();
            headers.push(("x-ms-source-range", format!("bytes={}-{}", range.start, range.end.saturating_sub(1))));
            Ok(Call { headers, ..write(Method::PUT, to, Vec::new(), Bytes::new()) })
        };
        let blocks = Blocks { key: to, source: (Action::Read, from), bytes, block_bytes, block: &block };
        self.put_blocks(&blocks, Condition::Always).or_else(|error| {
            match Failure::io("copying", source.client.address(from), &error).kind {
                None | Some(ProblemKind::ChangedDuringScan) => Err(error),
                // A refusal.
                Some(_) => Ok(false),
            }
        })
    }

    /// Returns the MD5 of a blob; only blobs that were put by one request have one.
    pub(super) fn md5_of(&self, key: &str) -> io::Result<Option<String>> {
        let answer = self.found(self.send_and_wait(head(key))?, Action::Read, key)?.ok_or(io::ErrorKind::NotFound)?;
        Ok(md5_in(&answer))
    }

    /// Requests the MD5 of a blob, unless the connection is protected by TLS.
    pub(super) fn begin_check_of(&self, key: &str) -> Option<PendingCheck> {
        let url = self.client.context.config.url(&self.client.container, "", &[], None).ok()?;
        if url.scheme() == "https" {
            return None;
        }
        let (answer, version_of) = (self.begin_call(head(key)), self.client.version_of());
        Some(Box::new(move || {
            let answer = finish_read(answer).ok()?.ok()?;
            let check = ObjectChecksum::of_md5(&md5_in(&answer)?)?;
            let version = ObjectVersion::of(&answer.headers, bytes_in(&answer), version_of(&answer.headers));
            Some((version.info().stamp, Box::new(check)))
        }))
    }
}

fn md5_in(answer: &Answer) -> Option<String> {
    let sum = answer.header("content-md5").and_then(|sum| BASE64_STANDARD.decode(sum).ok());
    sum.filter(|sum| sum.len() == 16).map(|sum| hex(&sum))
}
