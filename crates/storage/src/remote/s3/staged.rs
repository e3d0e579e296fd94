//! Objects that are sent in parts while they are made, and completed later.

use super::super::version::plain_etag;
use super::client::Action;
use super::crc64nvme::WholeChecksum;
use super::object::{finish_read, head, PendingAnswer, PendingPart};
use super::queue::{PartQueue, PartTarget};
use super::upload::checksum_in;
use super::write::{part_bytes, part_call, MAX_PUT_BYTES};
use super::S3Store;
use crate::store::{Condition, ObjectUpload, StagedObject};
use bytes::Bytes;
use gristmill_core::{Failure, Subject};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;

/// Maximum size of an object, in bytes.
const MAX_OBJECT_BYTES: u64 = 5 << 40;

/// An upload that goes on.
struct PartUpload {
    target: NewObject,
    queue: PartQueue,
    /// The answers to a request for the version at the address, and to one for other uploads; they are taken at the end.
    before: Option<(PendingAnswer, PendingAnswer)>,
    is_finished: bool,
}

/// The object that an upload makes.
struct NewObject {
    store: S3Store,
    key: String,
    upload: String,
    /// Sizes of the parts that are on their way, in order.
    sizes: RefCell<VecDeque<u64>>,
    /// Checksum of the parts that have arrived.
    checksum: RefCell<WholeChecksum>,
}

impl S3Store {
    /// Whether an object is so large that it is put in parts, of which two fit into the memory, and is not too large for the store.
    pub(super) fn has_parts(bytes: u64, memory: u64) -> bool {
        (MAX_PUT_BYTES + 1..=MAX_OBJECT_BYTES).contains(&bytes) && 2 * part_bytes(bytes) <= memory
    }

    /// Begins an upload of an object of a size.
    pub(super) fn begin_parts(&self, key: &str, bytes: u64, memory: u64) -> io::Result<Box<dyn ObjectUpload>> {
        let queue = PartQueue::new(part_bytes(bytes), memory)?;
        let before = (self.begin_call(head(key)), self.begin_call(Self::uploads_call(key, None)));
        let target = NewObject {
            upload: self.begin_upload(key)?,
            store: self.share(),
            key: key.to_owned(),
            sizes: RefCell::default(),
            checksum: RefCell::new(WholeChecksum::new()),
        };
        Ok(Box::new(PartUpload { target, queue, before: Some(before), is_finished: false }))
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
        Ok(self.change(key, || self.complete(key, object, Condition::Always))?.is_some())
    }
}

impl PartTarget for NewObject {
    fn begin(&self, number: u64, body: Bytes) -> PendingPart {
        self.sizes.borrow_mut().push_back(body.len() as u64);
        self.store.begin_part(part_call(&self.key, number, &self.upload, body))
    }

    fn finish(&self, _: u64, answer: PendingPart) -> io::Result<String> {
        match answer.finish()? {
            Ok(answer) => {
                let bytes = self.sizes.borrow_mut().pop_front().unwrap_or_default();
                self.checksum.borrow_mut().add(checksum_in(&answer).as_deref(), bytes);
                Ok(answer.header("etag").unwrap_or_default().to_owned())
            }
            Err(refusal) if refusal.status == 404 && refusal.code == "NoSuchUpload" => {
                let why = "its upload was ended by another process, or by a rule of the bucket";
                let failure = Failure::environment("writing", why);
                let failure = failure.on(Subject::path(self.store.client.address(&self.key)));
                Err(failure.with_hint("run the same command again").into_io())
            }
            Err(refusal) => Err(self.store.failure_of(&refusal, Action::Write, &self.key)),
        }
    }
}

impl PartUpload {
    /// Returns the version at the address when the upload began, and ends other uploads of the object, which killed runs have left.
    fn take_before(&mut self) -> io::Result<Option<String>> {
        let Some((version, uploads)) = self.before.take() else { return Ok(None) };
        let NewObject { store, key, upload, .. } = &self.target;
        let version = store.found(finish_read(version)?, Action::Read, key)?;
        store.end_others(key, upload, uploads);
        Ok(version.map(|answer| store.version_in(&answer).etag))
    }
}

impl ObjectUpload for PartUpload {
    fn id(&self) -> &str {
        &self.target.upload
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.queue.write(&self.target, bytes)
    }

    fn finish(mut self: Box<Self>) -> io::Result<StagedObject> {
        let (parts, bytes) = self.queue.finish(&self.target)?;
        let replaces = self.take_before()?;
        self.is_finished = true;
        let checksum = self.target.checksum.borrow().text();
        Ok(StagedObject { upload: self.target.upload.clone(), bytes, parts, checksum, replaces })
    }
}

impl Drop for PartUpload {
    fn drop(&mut self) {
        if !self.is_finished {
            self.queue.give_up();
            // What cannot be removed now is ended by the next run that writes the object.
            let _ = self.target.store.end_one_upload(&self.target.key, &self.target.upload);
        }
    }
}
