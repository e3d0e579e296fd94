//! Uploads files while they grow.

use super::call::{head, Action};
use super::upload::{PendingParts, SentPart, UploadAhead};
use super::write::{part_bytes, part_call, parts_at_once, read_part, MAX_PARTS, MAX_PUT_BYTES};
use super::{PendingPart, S3Store};
use crate::read_file::ReadFile;
use gristmill_core::Mutex;
use std::io;
use std::sync::Arc;

/// Maximum number of parts sent by one call.
const MAX_PARTS_OF_CALL: u64 = 8;

impl UploadAhead {
    /// Returns the number of parts that were sent or are in transfer.
    fn count(&self) -> u64 {
        (self.sent.len() + self.pending.len()) as u64
    }
}

impl S3Store {
    /// Removes and returns the upload of a growing file.
    pub(super) fn take_ahead(&self, key: &str) -> Option<UploadAhead> {
        let upload = self.client.ahead.lock().remove(key)?;
        let taken = upload.lock().take();
        taken
    }

    /// Starts to upload new parts of the first bytes of a file, and the last, smaller one of a complete file. An object that is small
    /// enough for one request has no parts. Waits only for parts beyond the number that may be in transfer at once. Returns the number of
    /// bytes for which no upload remains to be started.
    pub(super) fn upload_parts_ahead(
        &self,
        key: &str,
        file: &ReadFile,
        (bytes, is_complete): (u64, bool),
    ) -> io::Result<u64> {
        let before = self.take_ahead(key);
        let part_bytes = before.as_ref().map_or_else(|| part_bytes(0), |before| before.part_bytes);
        let count = before.as_ref().map_or(0, UploadAhead::count);
        // The parts of larger objects are larger.
        let all = if is_complete { bytes.div_ceil(part_bytes) } else { bytes / part_bytes }.min(MAX_PARTS / 2);
        let end = all.min(count + MAX_PARTS_OF_CALL);
        if end <= count || bytes <= MAX_PUT_BYTES {
            if let Some(before) = before {
                self.keep_ahead(key, before);
            }
            return Ok(bytes);
        }
        self.wait_for_others();
        let mut ahead = match before {
            Some(ahead) => ahead,
            None => {
                let (upload, sent, pending) = (self.begin_upload(key)?, Vec::new(), PendingParts::new());
                let before = (self.begin_call(head(key)), self.begin_call(Self::uploads_call(key, None)));
                UploadAhead { upload, part_bytes, sent, pending, before: Some(before) }
            }
        };
        let result = self.send_ahead(key, file, &mut ahead, (end, bytes));
        // Stored even after a failure, so that the upload is aborted.
        self.keep_ahead(key, ahead);
        result.map(|()| if end < all { end * part_bytes } else { bytes })
    }

    fn keep_ahead(&self, key: &str, ahead: UploadAhead) {
        self.client.ahead.lock().insert(key.to_owned(), Arc::new(Mutex::new(Some(ahead))));
    }

    /// Starts to send the unsent parts before a part number, as far as the file has them.
    fn send_ahead(
        &self,
        key: &str,
        file: &ReadFile,
        ahead: &mut UploadAhead,
        (end, bytes): (u64, u64),
    ) -> io::Result<()> {
        let size = ahead.part_bytes;
        for number in ahead.count()..end {
            while ahead.pending.len() >= parts_at_once(size) {
                self.wait_for_part(key, ahead)?;
            }
            let start = number * size;
            let body = read_part(file, start, size.min(bytes - start))?;
            let part = SentPart::of(&body);
            ahead.pending.push_back((part, self.begin_part(part_call(key, number + 1, &ahead.upload, body))));
        }
        Ok(())
    }

    /// Waits for the first part in transfer.
    fn wait_for_part(&self, key: &str, ahead: &mut UploadAhead) -> io::Result<()> {
        let Some((part, answer)) = ahead.pending.pop_front() else { return Ok(()) };
        ahead.sent.push(self.sent_part(key, part, answer)?);
        Ok(())
    }

    fn sent_part(&self, key: &str, part: SentPart, answer: PendingPart) -> io::Result<SentPart> {
        let answer = answer.finish()?.map_err(|refusal| self.failure_of(&refusal, Action::Write, key))?;
        Ok(part.with_answer(&answer))
    }

    /// Waits for the parts in transfer of all stored uploads, so that only parts of one object are in memory. Parts after a failed one are
    /// sent again when the object is put.
    pub(super) fn wait_for_others(&self) {
        let all = self.client.ahead.lock().clone();
        for (key, upload) in all {
            let mut upload = upload.lock();
            let Some(ahead) = &mut *upload else { continue };
            let mut is_whole = true;
            for (part, answer) in std::mem::take(&mut ahead.pending) {
                let part = self.sent_part(&key, part, answer);
                is_whole &= part.is_ok();
                ahead.sent.extend(part.ok().filter(|_| is_whole));
            }
        }
    }

    /// Aborts the upload of a growing file.
    pub(super) fn abort_growing_upload(&self, key: &str) {
        if let Some(ahead) = self.take_ahead(key) {
            self.abort_pending_upload(key, &ahead.upload, ahead.pending);
        }
    }

    /// Aborts an upload, after the parts in transfer are cancelled.
    pub(super) fn abort_pending_upload(&self, key: &str, upload: &str, pending: PendingParts) {
        drop(pending);
        // The next run that puts the object aborts an upload that cannot be aborted now.
        let _ = self.abort_upload(key, upload);
    }
}
