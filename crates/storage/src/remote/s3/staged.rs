//! Objects that are uploaded in parts while they are created, and completed later.

use super::super::version::plain_etag;
use super::call::{head, Action};
use super::crc64nvme::WholeChecksum;
use super::object::{finish_read, PendingAnswer, PendingPart};
use super::queue::{PartQueue, PartTarget, PartUpload};
use super::upload::checksum_in;
use super::write::part_call;
use super::S3Store;
use crate::store::{Condition, ObjectUpload, StagedObject};
use bytes::Bytes;
use gristmill_core::{Failure, Subject};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;

/// The object that an upload creates.
struct NewObject {
    store: S3Store,
    key: String,
    upload: String,
    /// Sizes of the parts in transfer, in order.
    sizes: RefCell<VecDeque<u64>>,
    /// Checksum of the parts whose answers have arrived.
    checksum: RefCell<WholeChecksum>,
    /// The pending answers with the version at the address, and with other uploads; they are read at the end.
    before: Cell<Option<(PendingAnswer, PendingAnswer)>>,
}

impl S3Store {
    /// Starts the upload of an object of a size.
    pub(super) fn begin_parts(&self, key: &str, bytes: u64, memory: u64) -> io::Result<Box<dyn ObjectUpload>> {
        let queue = PartQueue::new(bytes, memory)?;
        let before = (self.begin_call(head(key)), self.begin_call(Self::uploads_call(key, None)));
        let target = NewObject {
            upload: self.begin_upload(key)?,
            store: self.share(),
            key: key.to_owned(),
            sizes: RefCell::default(),
            checksum: RefCell::new(WholeChecksum::new()),
            before: Cell::new(Some(before)),
        };
        Ok(Box::new(PartUpload::new(target, queue)))
    }

    /// Whether the store has all parts of an upload. Without the permission to list them, the object is uploaded again.
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
    fn id(&self) -> &str {
        &self.upload
    }

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

    fn staged(&self, parts: Vec<String>, bytes: u64) -> io::Result<StagedObject> {
        let (replaces, checksum) = (self.take_before()?, self.checksum.borrow().text());
        Ok(StagedObject { upload: self.upload.clone(), bytes, parts, checksum, replaces })
    }

    fn discard(&self) {
        // The next run that writes the object aborts an upload that cannot be aborted now.
        let _ = self.store.abort_upload(&self.key, &self.upload);
    }
}

impl NewObject {
    /// Returns the version at the address when the upload started, and aborts other uploads of the object, which were left by killed runs.
    fn take_before(&self) -> io::Result<Option<String>> {
        let Some((version, uploads)) = self.before.take() else { return Ok(None) };
        let version = self.store.found(finish_read(version)?, Action::Read, &self.key)?;
        self.store.abort_other_uploads(&self.key, &self.upload, uploads);
        Ok(version.map(|answer| self.store.version_in(&answer).etag))
    }
}
