//! Objects that are sent in parts while they are made, and completed later.

use super::super::version::plain_etag;
use super::client::Action;
use super::object::{finish_read, head, PendingAnswer};
use super::write::{part_bytes, part_call, parts_at_once, MAX_PUT_BYTES};
use super::S3Store;
use crate::store::{Condition, ObjectUpload, StagedObject};
use gristmill_core::{Failure, Subject};
use std::collections::VecDeque;
use std::io;

/// Maximum size of an object, in bytes.
const MAX_OBJECT_BYTES: u64 = 5 << 40;

/// An upload that goes on.
struct PartUpload {
    store: S3Store,
    key: String,
    upload: String,
    part_bytes: usize,
    /// Parts that are on their way at once.
    at_once: usize,
    /// The part that is not sent yet.
    filled: Vec<u8>,
    pending: VecDeque<PendingAnswer>,
    tags: Vec<String>,
    sent: u64,
    /// The answers to a request for the version at the address, and to one for other uploads; they are taken at the end.
    before: Option<(PendingAnswer, PendingAnswer)>,
    is_finished: bool,
}

impl S3Store {
    /// Whether an object is so large that it is put in parts, of which two fit into the memory, and is not too large for the store.
    pub(super) fn has_parts(bytes: u64, memory: u64) -> bool {
        (MAX_PUT_BYTES + 1..=MAX_OBJECT_BYTES).contains(&bytes) && 2 * part_bytes(bytes) <= memory
    }

    /// Begins an upload of an object of a size.
    pub(super) fn begin_parts(&self, key: &str, bytes: u64, memory: u64) -> io::Result<Box<dyn ObjectUpload>> {
        let part_bytes = part_bytes(bytes);
        // One part is filled meanwhile.
        let in_memory = usize::try_from(memory / part_bytes).unwrap_or(usize::MAX).saturating_sub(1).max(1);
        let before = (self.begin_call(head(key)), self.begin_call(Self::uploads_call(key, None)));
        Ok(Box::new(PartUpload {
            upload: self.begin_upload(key)?,
            store: self.share(),
            key: key.to_owned(),
            part_bytes: usize::try_from(part_bytes).map_err(io::Error::other)?,
            at_once: in_memory.min(parts_at_once(part_bytes)),
            filled: Vec::new(),
            pending: VecDeque::new(),
            tags: Vec::new(),
            sent: 0,
            before: Some(before),
            is_finished: false,
        }))
    }

    /// Whether all parts of an upload are there. Without the right to list them, the object is sent again.
    pub(super) fn has_all_parts(&self, key: &str, object: &StagedObject) -> bool {
        self.list_parts(key, &object.upload).is_some_and(|parts| {
            let mut pairs = parts.iter().zip(&object.parts);
            parts.len() == object.parts.len() && pairs.all(|(there, sent)| plain_etag(&there.tag) == plain_etag(sent))
        })
    }

    /// Completes an upload; returns whether its object is visible.
    pub(super) fn complete_parts(&self, key: &str, object: &StagedObject) -> io::Result<bool> {
        self.known.forget(key);
        let upload = (object.upload.as_str(), object.parts.as_slice());
        let done = self.complete((key, object.bytes), object.replaces.as_deref(), upload, Condition::Always);
        self.known.forget(key);
        Ok(done?.is_some())
    }
}

impl PartUpload {
    /// Sends the bytes that are filled as a part.
    fn send(&mut self) -> io::Result<()> {
        while self.pending.len() >= self.at_once {
            self.take_one()?;
        }
        let body = std::mem::take(&mut self.filled);
        self.sent += body.len() as u64;
        let number = self.tags.len() + self.pending.len() + 1;
        self.pending.push_back(self.store.begin_call(part_call(&self.key, number as u64, &self.upload, body.into())));
        Ok(())
    }

    /// Waits for the first part that is on its way.
    fn take_one(&mut self) -> io::Result<()> {
        let Some(answer) = self.pending.pop_front() else { return Ok(()) };
        match finish_read(answer)? {
            Ok(answer) => self.tags.push(answer.header("etag").unwrap_or_default().to_owned()),
            Err(refusal) if refusal.status == 404 && refusal.code == "NoSuchUpload" => {
                let why = "its upload was ended by another process, or by a rule of the bucket";
                let failure = Failure::environment("writing", why);
                let failure = failure.on(Subject::path(self.store.client.address(&self.key)));
                return Err(failure.with_hint("run the same command again").into_io());
            }
            Err(refusal) => return Err(self.store.explain(&refusal, Action::Write, &self.key)),
        }
        Ok(())
    }

    /// Returns the version at the address when the upload began, and ends other uploads of the object, which killed runs have left.
    fn take_before(&mut self) -> io::Result<Option<String>> {
        let Some((version, uploads)) = self.before.take() else { return Ok(None) };
        let version = match finish_read(version)? {
            Ok(answer) => Some(self.store.version_in(&answer).etag),
            Err(refusal) if refusal.is_missing_object() => None,
            Err(refusal) => return Err(self.store.explain(&refusal, Action::Read, &self.key)),
        };
        // Without the right to list uploads, nothing is ended.
        if let Ok(page) = self.store.take_upload_page(&self.key, uploads) {
            let others = page.0.uploads.iter().filter(|upload| upload.key == self.key && upload.id != self.upload);
            others.for_each(|upload| _ = self.store.end_one_upload(&self.key, &upload.id));
        }
        Ok(version)
    }
}

impl ObjectUpload for PartUpload {
    fn id(&self) -> &str {
        &self.upload
    }

    fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            if self.filled.capacity() == 0 {
                self.filled.reserve_exact(self.part_bytes);
            }
            let room = self.part_bytes - self.filled.len();
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.filled.extend_from_slice(now);
            bytes = later;
            if self.filled.len() == self.part_bytes {
                self.send()?;
            }
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> io::Result<StagedObject> {
        if !self.filled.is_empty() || self.sent == 0 {
            self.send()?;
        }
        while !self.pending.is_empty() {
            self.take_one()?;
        }
        let replaces = self.take_before()?;
        self.is_finished = true;
        let parts = std::mem::take(&mut self.tags);
        Ok(StagedObject { upload: self.upload.clone(), bytes: self.sent, parts, replaces })
    }
}

impl Drop for PartUpload {
    fn drop(&mut self) {
        if !self.is_finished {
            self.pending.clear();
            // What cannot be removed now is ended by the next run that writes the object.
            let _ = self.store.end_one_upload(&self.key, &self.upload);
        }
    }
}
