//! Puts and removes objects: small ones by one request, others in parts, which become visible when all are uploaded.

use super::super::dates::now;
use super::super::network::Answer;
use super::super::version::{plain_etag, ObjectVersion};
use super::call::{head, write, Action, Call};
use super::crc64nvme::WholeChecksum;
use super::refusal::Refusal;
use super::resume::{BegunUpload, ResumeRecord};
use super::upload::{
    checksum_in, etag_of_parts, is_md5, whole_checksum_in, PendingParts, SentPart, SentParts, UploadAhead,
};
use super::vendor::Vendor;
use super::{answers, finish_read, PendingAnswer, PendingPart, S3Store};
use crate::memory::run_memory;
use crate::read_file::ReadFile;
use crate::store::{Condition, Content, StagedObject};
use bytes::Bytes;
use gristmill_core::{Failure, FileStamp, Subject};
use reqwest::Method;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io;
use std::ops::Range;

/// Maximum size of an object that is put by one request, in bytes.
pub(in crate::remote) const MAX_PUT_BYTES: u64 = 8 << 20;
/// Minimum size of a part in bytes, and maximum number of parts. All parts except the last have the same size, which some stores require.
const MIN_PART_BYTES: u64 = 16 << 20;
pub(super) const MAX_PARTS: u64 = 10_000;
/// Maximum number of parts of an object in transfer at once.
const MAX_PARTS_AT_ONCE: usize = 8;
/// Maximum number of bytes of an object in transfer at once, unless a part is larger: a share of the memory of the run within these limits.
const PENDING_SHARE: u64 = 16;
const MIN_PENDING_BYTES: u64 = 64 << 20;
const MAX_PENDING_BYTES: u64 = 128 << 20;
/// Maximum number of uploads of an object that are started because earlier ones have vanished.
pub(in crate::remote) const MAX_UPLOADS: u32 = 2;
/// Environment variable with the size of a part in bytes, for tests.
const PART_VARIABLE: &str = "GRISTMILL_PART_BYTES";

/// An object that is put in parts.
pub(super) struct Parts<'a> {
    pub(super) key: &'a str,
    /// Action and key that a refusal of a part concerns.
    pub(super) source: (Action, &'a str),
    /// Size of the object.
    pub(super) bytes: u64,
    /// Size of each part but the last one.
    pub(super) part_bytes: u64,
    /// Returns the request for a part, without its query.
    pub(super) part: &'a dyn Fn(Range<u64>) -> io::Result<Call>,
    /// Whether the lock of the output is held.
    pub(super) is_locked: bool,
    /// An upload that has some of the parts; it is taken when it is used.
    pub(super) ahead: RefCell<Option<UploadAhead>>,
    /// The record with which a later process continues the upload.
    pub(super) record: Option<ResumeRecord>,
}

/// Returns the request that sends a part.
pub(super) fn part_call(key: &str, number: u64, upload: &str, body: Bytes) -> Call {
    write(Method::PUT, key, vec![("partNumber", number.to_string()), ("uploadId", upload.to_owned())], body)
}

/// Returns the size of the parts of an object.
pub(in crate::remote) fn part_bytes(size: u64) -> u64 {
    let tested = std::env::var(PART_VARIABLE).ok().and_then(|value| value.parse().ok());
    tested.unwrap_or_else(|| MIN_PART_BYTES.max((2 * size / MAX_PARTS).next_multiple_of(1 << 20)))
}

/// Returns the maximum number of parts of this size in transfer at once.
pub(super) fn parts_at_once(size: u64) -> usize {
    let pending = (run_memory() / PENDING_SHARE).clamp(MIN_PENDING_BYTES, MAX_PENDING_BYTES);
    usize::try_from(pending / size).unwrap_or_default().clamp(1, MAX_PARTS_AT_ONCE)
}

/// The version of an object that is replaced.
enum VersionBefore {
    /// Returned by a request.
    Pending(Option<PendingAnswer>),
    /// `None` if there is no object.
    Known(Option<String>),
}

impl S3Store {
    /// Puts an object; returns whether the condition held.
    pub(super) fn put_object(&self, key: &str, content: Content<'_>, condition: Condition) -> io::Result<bool> {
        let found = self.found_just_now(key, condition);
        self.known.forget(key);
        match content {
            Content::Bytes(bytes) => self.put_whole(key, Bytes::copy_from_slice(bytes), (condition, found), true),
            Content::File(file) | Content::UnlockedFile(file) if file.len() <= MAX_PUT_BYTES => {
                self.abort_growing_upload(key);
                if let Some(record) = ResumeRecord::existing(&self.client.address(key), self.client.endpoint()) {
                    record.read().into_iter().for_each(|begun| self.abort_recorded_upload(key, &begun));
                    record.clear();
                }
                let is_locked = matches!(content, Content::File(_));
                self.put_whole(key, read_part(file, 0, file.len())?, (condition, found), is_locked)
            }
            Content::File(file) => self.put_parts((key, true), file, condition),
            Content::UnlockedFile(file) => self.put_parts((key, false), file, condition),
        }
    }

    /// Returns the version of an object, `None` for no object, if a condition holds by an answer of a moment ago.
    fn found_just_now(&self, key: &str, condition: Condition) -> Option<Option<String>> {
        match condition {
            Condition::IfAbsent => self.known.is_absent_now(key).then_some(None),
            // A store that may ignore conditions is queried for the object.
            Condition::IfStamp(stamp) if self.client.obeys_absence.get() == Some(&true) => {
                let is_version = self.known.info(key)?.is_some_and(|info| info.stamp == stamp);
                let version = self.known.version(key).filter(|version| is_version && version.info().stamp == stamp)?;
                Some(Some(plain_etag(&version.etag).to_owned())).filter(|_| !version.etag.is_empty())
            }
            _ => None,
        }
    }

    /// Puts an object by one request; returns whether the condition held. `found` is the version that is known to be there. If the output is
    /// not locked, cancelling the work of this thread aborts the request: the object then exists as a whole, or not at all.
    fn put_whole(
        &self,
        key: &str,
        body: Bytes,
        (condition, found): (Condition, Option<Option<String>>),
        is_locked: bool,
    ) -> io::Result<bool> {
        let (holds, etag) = match (condition, found) {
            (Condition::Always, _) => (true, None),
            (_, Some(etag)) => (true, etag),
            _ => self.check(key, condition)?,
        };
        if !holds {
            return self.is_content(key, &body);
        }
        let put =
            |condition| Call { condition, etag: etag.clone(), ..write(Method::PUT, key, Vec::new(), body.clone()) };
        let answer = match is_locked {
            true => self.send_and_wait(put(condition)),
            false => self.begin_part(put(condition)).finish(),
        };
        match answer? {
            Ok(_) => Ok(true),
            // If the answer to an earlier try was lost, the existing object is this one.
            Err(refusal) if refusal.status == 412 => self.is_content(key, &body),
            // The object that was to be replaced has been removed.
            Err(refusal) if matches!(condition, Condition::IfStamp(_)) && refusal.is_missing_object() => Ok(false),
            Err(refusal) if condition != Condition::Always && refusal.has_no_conditions() => {
                self.expect(put(Condition::Always)).map(|_| true)
            }
            Err(refusal) => Err(self.failure_of(&refusal, Action::Write, key)),
        }
    }

    /// Returns whether a condition holds, and the current version. The store compares it again during the write, but some stores ignore
    /// conditions.
    fn check(&self, key: &str, condition: Condition) -> io::Result<(bool, Option<String>)> {
        let version = self.found(self.head(key)?, Action::Read, key)?;
        let holds = match condition {
            Condition::Always => true,
            Condition::IfAbsent => version.is_none(),
            Condition::IfStamp(stamp) => version.as_ref().is_some_and(|version| version.info().stamp == stamp),
        };
        Ok((holds, version.map(|version| version.etag)))
    }

    fn put_parts(&self, (key, is_locked): (&str, bool), file: &ReadFile, condition: Condition) -> io::Result<bool> {
        let part = |range: Range<u64>| {
            let body = read_part(file, range.start, range.end - range.start)?;
            Ok(write(Method::PUT, key, Vec::new(), body))
        };
        let record =
            if is_locked { None } else { ResumeRecord::open(&self.client.address(key), self.client.endpoint()) };
        let ahead = self.take_ahead(key).or_else(|| self.resumed(key, record.as_ref()?));
        let is_usable = |ahead: &UploadAhead| file.len().div_ceil(ahead.part_bytes) <= MAX_PARTS;
        let (ahead, too_small) = match ahead {
            Some(ahead) if is_usable(&ahead) => (Some(ahead), None),
            other => (None, other),
        };
        // An upload with a record is aborted by its record.
        if let (Some(ahead), true) = (too_small, record.is_none()) {
            self.abort_pending_upload(key, &ahead.upload, ahead.pending);
        }
        let parts = Parts {
            key,
            source: (Action::Write, key),
            bytes: file.len(),
            part_bytes: ahead.as_ref().map_or_else(|| part_bytes(file.len()), |ahead| ahead.part_bytes),
            part: &part,
            is_locked,
            ahead: RefCell::new(ahead),
            record,
        };
        let made = self.make_of_parts(&parts, condition);
        let is_kept = parts.record.is_some() && is_cancelled(&made);
        if let Some(unused) = parts.ahead.take().filter(|_| !is_kept) {
            self.abort_pending_upload(key, &unused.upload, unused.pending);
        }
        made
    }

    /// Returns the upload that a killed process started, with the parts that have arrived.
    fn resumed(&self, key: &str, record: &ResumeRecord) -> Option<UploadAhead> {
        let begun = record.read().filter(|begun| !begun.upload.is_empty())?;
        let parts = self.list_parts(key, &begun.upload)?.into_iter().zip(1..);
        let whole = parts.take_while(|(part, number)| part.number == *number && part.bytes == begun.part_bytes);
        let sent = whole.map(|(part, _)| SentPart::of_tag(part.tag)).collect();
        let (upload, part_bytes, pending) = (begun.upload, begun.part_bytes, PendingParts::new());
        Some(UploadAhead { upload, part_bytes, sent, pending, before: None })
    }

    /// Puts an object in parts; returns whether the condition held.
    pub(super) fn make_of_parts(&self, parts: &Parts<'_>, condition: Condition) -> io::Result<bool> {
        let (version, mut others) = parts.ahead.borrow_mut().as_mut().and_then(|ahead| ahead.before.take()).unzip();
        let mut before = match condition {
            // Parts are sent while the current version is requested.
            Condition::Always => {
                VersionBefore::Pending(Some(version.unwrap_or_else(|| self.begin_call(head(parts.key)))))
            }
            _ => {
                let (holds, version) = self.check(parts.key, condition)?;
                if !holds {
                    return Ok(false);
                }
                VersionBefore::Known(version)
            }
        };
        if let (Some(record), true) = (&parts.record, parts.ahead.borrow().is_none()) {
            // The parts of a vanished upload cannot be used again.
            record.read().into_iter().for_each(|begun| self.abort_recorded_upload(parts.key, &begun));
        }
        for _ in 0..MAX_UPLOADS {
            if let Some(done) = self.upload(parts, (&mut before, others.take()), condition)? {
                return Ok(done);
            }
        }
        let why = "its upload was ended by another process, or by a rule of the bucket";
        let failure = Failure::environment("writing", why).on(Subject::path(self.client.address(parts.key)));
        Err(failure.with_hint("run the same command again").into_io())
    }

    /// Uploads parts; returns whether the condition held, or `None` if the upload has vanished. `before` is the version that the object
    /// replaces, and `others` the answer with other uploads, if it was requested before.
    fn upload(
        &self,
        parts: &Parts<'_>,
        (before, others): (&mut VersionBefore, Option<PendingAnswer>),
        condition: Condition,
    ) -> io::Result<Option<bool>> {
        let key = parts.key;
        let at = now();
        let record = |upload: &str| {
            let begun = BegunUpload { upload: upload.to_owned(), part_bytes: parts.part_bytes, at };
            parts.record.iter().for_each(|record| record.write(&begun));
        };
        let ahead = parts.ahead.borrow_mut().take();
        let is_begun = ahead.is_some();
        let (upload, sent, pending) = match ahead {
            Some(ahead) => (ahead.upload, ahead.sent, ahead.pending),
            None => {
                record("");
                let begun = self.begin_upload(key);
                // Only a killed process leaves a record without a name.
                let begun = begun.inspect_err(|_| parts.record.iter().for_each(ResumeRecord::clear))?;
                (begun, Vec::new(), PendingParts::new())
            }
        };
        record(&upload);
        let others = parts.is_locked.then(|| others.unwrap_or_else(|| self.begin_call(Self::uploads_call(key, None))));
        // The answer has already arrived; for an upload that was started before, it is awaited at the end.
        let seen = if is_begun { Ok(()) } else { self.version_before(key, before).map(drop) };
        let sent = seen.and_then(|()| self.send_parts(parts, &upload, (sent.as_slice(), pending)));
        let result = sent.and_then(|sent| match sent {
            Some(sent) => {
                let object = StagedObject {
                    upload: upload.clone(),
                    bytes: parts.bytes,
                    checksum: sent.checksum.text(),
                    parts: sent.tags,
                    replaces: self.version_before(key, before)?.map(str::to_owned),
                };
                self.complete(key, &object, condition)
            }
            None => Ok(None),
        });
        // An upload that cannot be aborted now is aborted by its record, or by the rules of the bucket for unfinished uploads. The upload
        // of a cancelled run stays, because the run may be repeated.
        let is_kept = parts.record.is_some() && is_cancelled(&result);
        let is_over = matches!(result, Ok(Some(true))) || !is_kept && self.abort_upload(key, &upload).is_ok();
        parts.record.iter().filter(|_| is_over).for_each(ResumeRecord::clear);
        others.into_iter().for_each(|others| self.abort_other_uploads(key, &upload, others));
        result
    }

    /// Returns the version that an object replaces.
    fn version_before<'b>(&self, key: &str, before: &'b mut VersionBefore) -> io::Result<Option<&'b str>> {
        if let VersionBefore::Pending(asked) = before {
            let answer = match asked.take() {
                Some(asked) => self.found(finish_read(asked)?, Action::Read, key)?,
                None => None,
            };
            *before = VersionBefore::Known(answer.map(|answer| self.version_in(&answer).etag));
        }
        match before {
            VersionBefore::Known(version) => Ok(version.as_deref()),
            VersionBefore::Pending(_) => Ok(None),
        }
    }

    /// Starts an upload and returns its name.
    pub(super) fn begin_upload(&self, key: &str) -> io::Result<String> {
        let begin = write(Method::POST, key, vec![("uploads", String::new())], Bytes::new());
        let at = now();
        let begun = self.expect(Call { ending: Some("</InitiateMultipartUploadResult>"), ..begin })?;
        let upload = answers::text_of(&begun.body, "UploadId").filter(|upload| !upload.is_empty());
        if let (Some(upload), true) = (&upload, begun.lost_answers > 0) {
            self.abort_lost_uploads(key, upload, (begun.lost_answers, at));
        }
        upload.ok_or_else(|| self.failure_of(&Refusal::of_success(200, "without an upload"), Action::Write, key))
    }

    /// Aborts the uploads of a key except one, given the answer to a request for them. Killed runs, or requests whose answers were lost,
    /// have started them; they are invisible, and cost money. This process holds the lock of the output, so only a copy to the same key may
    /// use one of them; it then starts its upload again. Does nothing without the permission to list uploads.
    pub(super) fn abort_other_uploads(&self, key: &str, kept: &str, others: PendingAnswer) {
        let Ok((page, _)) = self.take_upload_page(key, others) else { return };
        for upload in page.uploads.iter().filter(|upload| upload.key == key && upload.id != kept) {
            let _ = self.abort_upload(key, &upload.id);
        }
    }

    /// Sends all parts except those that were already sent, or are in transfer, with the same content. Returns all parts, or `None` if the
    /// upload has vanished.
    fn send_parts(
        &self,
        parts: &Parts<'_>,
        upload: &str,
        (sent, mut pending): (&[SentPart], PendingParts),
    ) -> io::Result<Option<SentParts>> {
        let mut all = SentParts { tags: Vec::new(), checksum: WholeChecksum::new() };
        let mut take = |(part, bytes): (Result<(String, Option<String>), PendingPart>, u64)| {
            let (tag, checksum) = match part.map(Ok).or_else(|part| part.finish().map(Err))? {
                Ok(known) => known,
                Err(Ok(answer)) => {
                    // For a copied part, the tag is in the body.
                    let tag =
                        answer.header("etag").map(str::to_owned).or_else(|| answers::text_of(&answer.body, "ETag"));
                    (tag.unwrap_or_default(), checksum_in(&answer))
                }
                Err(Err(refusal)) if refusal.status == 404 && refusal.code == "NoSuchUpload" => return Ok(false),
                Err(Err(refusal)) => return Err(self.failure_of(&refusal, parts.source.0, parts.source.1)),
            };
            all.tags.push(tag);
            all.checksum.add(checksum.as_deref(), bytes);
            Ok(true)
        };
        let mut begin = |number: u64, range: Range<u64>| {
            let query = vec![("partNumber", number.to_string()), ("uploadId", upload.to_owned())];
            let bytes = range.end - range.start;
            let call = (parts.part)(range)?;
            if let Some(sent) = usize::try_from(number - 1).ok().and_then(|at| sent.get(at)) {
                let known = sent.has(&call.body).then(|| (sent.tag.clone(), sent.checksum(&call.body)));
                return Ok((known.ok_or_else(|| self.begin_part(Call { query, ..call })), bytes));
            }
            if let Some((part, answer)) = pending.pop_front() {
                if part.has(&call.body) {
                    return Ok((Err(answer), bytes));
                }
                // A part that arrives later would replace it.
                let _ = answer.finish()?;
            }
            Ok((Err(self.begin_part(Call { query, ..call })), bytes))
        };
        Ok(send_in_order(parts.bytes, parts.part_bytes, &mut begin, &mut take)?.then_some(all))
    }

    /// Completes an upload; returns whether the condition held, or `None` if the upload has vanished.
    pub(super) fn complete(&self, key: &str, object: &StagedObject, condition: Condition) -> io::Result<Option<bool>> {
        let (bytes, before, tags) = (object.bytes, object.replaces.as_deref(), object.parts.as_slice());
        let mut body = String::from("<CompleteMultipartUpload>");
        for (number, tag) in (1..).zip(tags) {
            let tag = quick_xml::escape::escape(tag.as_str());
            let _ = write!(body, "<Part><PartNumber>{number}</PartNumber><ETag>{tag}</ETag></Part>");
        }
        body.push_str("</CompleteMultipartUpload>");
        let query = vec![("uploadId", object.upload.clone())];
        let call = write(Method::POST, key, query, body.into());
        let (etag, ending) = (before.map(str::to_owned), Some("</CompleteMultipartUploadResult>"));
        let call = Call { condition, etag, ending, ..call };
        // Google's store has no conditions for this request.
        let has_conditions = self.client.context.vendor != Vendor::Google;
        let mut answer = has_conditions.then(|| self.send_and_wait(call.clone())).transpose()?;
        let has_none =
            matches!(&answer, Some(Err(refusal)) if condition != Condition::Always && refusal.has_no_conditions());
        if !has_conditions || has_none {
            // The object may have been replaced since the upload started.
            if condition != Condition::Always && !self.check(key, condition)?.0 {
                return Ok(Some(false));
            }
            answer = Some(self.send_and_wait(Call { condition: Condition::Always, etag: None, ..call })?);
        }
        let made = etag_of_parts(tags);
        let is_gone = match answer {
            Some(Err(refusal)) if refusal.status == 404 => true,
            Some(Err(refusal)) if refusal.status == 412 => return Ok(Some(false)),
            Some(Err(refusal)) => return Err(self.failure_of(&refusal, Action::Write, key)),
            Some(Ok(answer)) => {
                let sums = whole_checksum_in(&answer).zip(object.checksum.as_ref());
                if sums.is_some_and(|(stored, sent)| stored != *sent) {
                    let why = "its checksum in the store is not that of what was sent";
                    let failure = Failure::environment("writing", why).on(Subject::path(self.client.address(key)));
                    return Err(failure
                        .with_hint("the object is damaged: run the same command again to replace it")
                        .into_io());
                }
                let etag = answers::text_of(&answer.body, "ETag");
                if made.is_some() && etag.is_some_and(|etag| Some(plain_etag(&etag)) == made.as_deref()) {
                    return Ok(Some(true));
                }
                false
            }
            None => false,
        };
        let there = self.send_and_wait(head(key))?.ok().map(|answer| (self.version_in(&answer), is_of_kms(&answer)));
        let there = there.filter(|(version, _)| version.bytes == bytes);
        // If the answer to an earlier try was lost, the upload no longer exists, but the object does.
        let is_this = |(version, is_of_kms): &(ObjectVersion, bool)| match made.as_deref() {
            Some(made) if made == plain_etag(&version.etag) => true,
            // The object is from another program.
            Some(_) if !is_of_kms && is_md5(&version.etag) => false,
            _ => Some(version.etag.as_str()) != before,
        };
        match (is_gone, there) {
            (false, Some(_)) => Ok(Some(true)),
            (true, there) => Ok(there.filter(is_this).map(|_| true)),
            (false, None) => {
                let failure = Failure::environment("writing", "it has another size in the store than was sent");
                Err(failure.on(Subject::path(self.client.address(key))).into_io())
            }
        }
    }

    /// Removes an object if it has this version, and returns whether it had. The store compares the version again if it supports conditions
    /// for removals.
    pub(super) fn remove_object_version(&self, key: &str, stamp: FileStamp) -> io::Result<bool> {
        let (condition, known) = (Condition::IfStamp(stamp), self.known.version(key));
        let etag = match known.filter(|version| version.info().stamp == stamp) {
            Some(version) => Some(plain_etag(&version.etag).to_owned()),
            None => self.check(key, condition).map(|(holds, etag)| etag.filter(|_| holds))?,
        };
        let Some(etag) = etag.filter(|etag| !etag.is_empty()) else { return Ok(false) };
        self.known.forget(key);
        let call = Call { action: Action::Remove, ..write(Method::DELETE, key, Vec::new(), Bytes::new()) };
        match self.send_and_wait(Call { condition, etag: Some(etag), ..call })? {
            Ok(_) => Ok(true),
            Err(refusal) if refusal.is_missing_object() => Ok(false),
            // Some stores refuse every condition; if there is another reason, the request without it is refused, too.
            Err(_) => match self.check(key, condition)? {
                (true, _) => self.remove_object(key).map(|()| true),
                (false, _) => Ok(false),
            },
        }
    }

    /// Sends a request, and returns a refusal as a failure.
    fn expect(&self, call: Call) -> io::Result<Answer> {
        let key = call.key.clone();
        self.send_and_wait(call)?.map_err(|refusal| self.failure_of(&refusal, Action::Write, &key))
    }
}

/// Whether the work of this thread was cancelled.
fn is_cancelled<T>(result: &io::Result<T>) -> bool {
    result.as_ref().is_err_and(|error| Failure::io("writing", "", error).is_cancelled())
}

/// Whether the tag of an object is not an MD5 because the object is encrypted with a KMS key.
fn is_of_kms(answer: &Answer) -> bool {
    answer.header("x-amz-server-side-encryption").is_some_and(|name| name.starts_with("aws:kms"))
}

/// Sends the parts of an object, several at once, and passes the results to `take` in order. Returns `false` as soon as `take` does.
pub(in crate::remote) fn send_in_order<T>(
    bytes: u64,
    part_bytes: u64,
    begin: &mut dyn FnMut(u64, Range<u64>) -> io::Result<T>,
    take: &mut dyn FnMut(T) -> io::Result<bool>,
) -> io::Result<bool> {
    let at_once = parts_at_once(part_bytes);
    let mut pending: VecDeque<T> = VecDeque::new();
    for (number, start) in (1..).zip((0..bytes).step_by(usize::try_from(part_bytes).unwrap_or(usize::MAX))) {
        let first = if pending.len() == at_once { pending.pop_front() } else { None };
        if !first.map_or(Ok(true), &mut *take)? {
            return Ok(false);
        }
        pending.push_back(begin(number, start..bytes.min(start + part_bytes))?);
    }
    for part in pending {
        if !take(part)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Reads a part of a file into memory.
pub(in crate::remote) fn read_part(file: &ReadFile, start: u64, bytes: u64) -> io::Result<Bytes> {
    let mut part = vec![0; usize::try_from(bytes).map_err(io::Error::other)?];
    file.read_exact_at(&mut part, start)?;
    Ok(part.into())
}
