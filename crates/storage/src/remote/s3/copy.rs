//! Copies objects within the store: small ones by one request, others in parts.

use super::super::network::Answer;
use super::super::version::{etag_of, plain_etag, ObjectVersion};
use super::call::{head, write, Action, Call};
use super::checksum::ObjectChecksum;
use super::client::S3Client;
use super::object::{bytes_in, finish_read, ObjectClient as _};
use super::resume::ResumeRecord;
use super::signature::encode;
use super::vendor::Vendor;
use super::write::{Parts, MAX_PARTS};
use super::S3Store;
use crate::content_check::ContentCheck;
use crate::notices;
use crate::store::{Condition, PendingCheck, WatchBytes};
use bytes::Bytes;
use gristmill_core::{Failure, Problem, ProblemKind, Subject};
use reqwest::Method;
use std::cell::RefCell;
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// Maximum size of an object that is copied by one request, in bytes. The store allows 5 GiB, but many answer only when the copy is
/// complete, so it must finish within the time limit for the first byte of an answer.
const MAX_COPY_BYTES: u64 = 64 << 20;
/// Minimum size of a copied part, in bytes.
const MIN_PART_BYTES: u64 = 64 << 20;

/// Returns the size of the parts of an object.
fn part_bytes(size: u64) -> u64 {
    MIN_PART_BYTES.max((2 * size / MAX_PARTS).next_multiple_of(1 << 20))
}

impl S3Store {
    /// Copies the current version of an object from any bucket. Returns `false` if the store refuses this.
    pub(super) fn copy_object(&self, (source, from): (&Self, &str), to: &str, watch: &WatchBytes) -> io::Result<bool> {
        if self.client.context.vendor == Vendor::Google {
            // Its copy requests have other headers, and it does not copy parts.
            return Ok(false);
        }
        // If this request is refused, reading the object returns the failure.
        let Ok(version) = source.head(from)? else { return Ok(false) };
        match version.bytes <= MAX_COPY_BYTES {
            true => self.copy_whole((source, from), &version, to, watch),
            false => self.copy_parts((source, from), &version, (to, part_bytes(version.bytes)), watch),
        }
    }

    fn copy_whole(
        &self,
        (source, from): (&Self, &str),
        version: &ObjectVersion,
        to: &str,
        watch: &WatchBytes,
    ) -> io::Result<bool> {
        self.known.forget(to);
        let call = Call { ending: Some("</CopyObjectResult>"), ..copy((source, from), version, to, None) };
        match self.send_and_wait(call)? {
            Ok(_) => watch(version.bytes).map(|()| true),
            Err(refusal) if refusal.status == 412 => Err(source.failure_of(&refusal, Action::Read, from)),
            Err(_) => Ok(false),
        }
    }

    /// Copies an object in parts of a size. Returns `false` if the store refuses this.
    pub(super) fn copy_parts(
        &self,
        (source, from): (&Self, &str),
        version: &ObjectVersion,
        (to, part_bytes): (&str, u64),
        watch: &WatchBytes,
    ) -> io::Result<bool> {
        self.known.forget(to);
        let part = |range: Range<u64>| {
            watch(range.end - range.start)?;
            let call = copy((source, from), version, to, Some(range));
            Ok(Call { ending: Some("</CopyPartResult>"), ..call })
        };
        let parts = Parts {
            key: to,
            source: (Action::Read, from),
            bytes: version.bytes,
            part_bytes,
            part: &part,
            is_locked: false,
            record: ResumeRecord::open(&self.client.address(to), self.client.endpoint()),
            ahead: RefCell::new(None),
        };
        self.make_of_parts(&parts, Condition::Always).or_else(|error| match Failure::io("copying", from, &error).kind {
            None | Some(ProblemKind::ChangedDuringScan) => Err(error),
            // A refusal.
            Some(_) => Ok(false),
        })
    }

    /// Returns the MD5 of an object, which is the tag of an object that was put by one request.
    pub(super) fn md5_of(&self, key: &str) -> io::Result<Option<String>> {
        if self.client.context.vendor == Vendor::Google {
            return Ok(None);
        }
        let etag = match self.known.version(key) {
            Some(version) => version.etag,
            None => self.found(self.head(key)?, Action::Read, key)?.ok_or(io::ErrorKind::NotFound)?.etag,
        };
        Ok(md5_in(&etag))
    }

    /// Requests the checksum of an object: a CRC of its content; or its MD5 if the connection is not protected by TLS.
    pub(super) fn begin_check_of(&self, key: &str) -> PendingCheck {
        let headers = match self.client.context.vendor {
            Vendor::Amazon => vec![("x-amz-checksum-mode", "ENABLED".to_owned())],
            Vendor::Google => Vec::new(),
        };
        let answer = self.begin_call(Call { headers, ..head(key) });
        let is_plain = self.client.endpoint().is_some_and(|address| address.starts_with("http://"));
        let may_be_md5 = self.client.has_md5_tags.get() != Some(&false);
        let has_md5 = is_plain && may_be_md5 && self.client.context.vendor == Vendor::Amazon;
        let client = Arc::clone(&self.client);
        Box::new(move || {
            let answer = finish_read(answer).ok()?.ok()?;
            let md5 = || md5_in(&etag_of(&answer.headers)).filter(|_| has_md5 && !is_encrypted(&answer));
            let of_tag = || {
                let check = ObjectChecksum::of_md5(&md5()?)?;
                Some(Box::new(TagCheck { check, client: Arc::clone(&client) }) as Box<dyn ContentCheck>)
            };
            let crc = ObjectChecksum::crc_in(&answer).map(|check| Box::new(check) as Box<dyn ContentCheck>);
            let check = crc.or_else(of_tag)?;
            let version = ObjectVersion::of(&answer.headers, bytes_in(&answer), (client.version_of())(&answer.headers));
            Some((version.info().stamp, check))
        })
    }
}

/// The comparison of an object with its tag. Tags may be MD5 sums or not: the first object of a store that is equal to its tag shows that
/// they are, and the first one that is read twice with the same sum, and is not equal, that they are not.
struct TagCheck {
    check: ObjectChecksum,
    client: Arc<S3Client>,
}

impl ContentCheck for TagCheck {
    fn restart(&mut self) {
        self.check.restart();
    }

    fn add(&mut self, bytes: &[u8]) {
        self.check.add(bytes);
    }

    fn is_equal(&self) -> bool {
        let is_equal = self.check.is_equal();
        if is_equal {
            let _ = self.client.has_md5_tags.set(true);
        }
        is_equal
    }

    fn unconfirmed_sum(&self) -> Option<Vec<u8>> {
        self.client.has_md5_tags.get().is_none_or(|is_md5| !is_md5).then(|| self.check.sum())
    }

    fn refute(&self) {
        let _ = self.client.has_md5_tags.set(false);
        let message =
            "the ETags of this store are no MD5 sums of contents, so what is copied over http is not compared";
        let note = Problem::note(ProblemKind::Other, Subject::path(self.client.address("")), message);
        notices::add(note.with_hint("an address of https protects the transfer"));
    }
}

/// Returns the MD5 of an object whose tag is one.
fn md5_in(etag: &str) -> Option<String> {
    let etag = plain_etag(etag);
    let is_md5 = etag.len() == 32 && etag.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_md5.then(|| etag.to_ascii_lowercase())
}

/// Whether the object is encrypted with a key of a KMS or of the customer, so that its tag is not its MD5.
fn is_encrypted(answer: &Answer) -> bool {
    answer.header("x-amz-server-side-encryption").is_some_and(|kind| kind != "AES256")
        || answer.header("x-amz-server-side-encryption-customer-algorithm").is_some()
}

/// Returns the request that copies an object, or a range of it.
fn copy((source, from): (&S3Store, &str), version: &ObjectVersion, to: &str, range: Option<Range<u64>>) -> Call {
    let address = format!("{}/{}", source.client.bucket, encode(from, "/"));
    let mut headers = vec![("x-amz-copy-source", address)];
    let etag = plain_etag(&version.etag);
    headers.extend((!etag.is_empty()).then(|| ("x-amz-copy-source-if-match", format!("\"{etag}\""))));
    let bytes = range.map(|range| format!("bytes={}-{}", range.start, range.end.saturating_sub(1)));
    headers.extend(bytes.map(|bytes| ("x-amz-copy-source-range", bytes)));
    Call { headers, ..write(Method::PUT, to, Vec::new(), Bytes::new()) }
}
