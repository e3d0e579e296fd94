//! Uploads of files that still grow.

use super::client::Action;
use super::upload::{SentPart, UploadAhead};
use super::write::{part_bytes, part_call, parts_at_once, read_part, MAX_PARTS, MAX_PUT_BYTES};
use super::{finish_read, S3Store};
use crate::read::ReadFile;
use std::io;
use std::sync::PoisonError;

/// Maximum number of parts that are sent by one call.
const MAX_PARTS_OF_CALL: u64 = 8;

impl S3Store {
    /// Removes the upload of a key from those that still grow.
    pub(super) fn take_ahead(&self, key: &str) -> Option<UploadAhead> {
        self.client.ahead.lock().unwrap_or_else(PoisonError::into_inner).remove(key)
    }

    /// Uploads some of the parts that the first bytes of a file have in addition to those that were sent. An object so small that it is put by one
    /// request has none. Returns up to which size there is nothing more to upload.
    pub(super) fn upload_parts_ahead(&self, key: &str, file: &ReadFile, bytes: u64) -> io::Result<u64> {
        let before = self.take_ahead(key);
        let part_bytes = before.as_ref().map_or(part_bytes(0), |before| before.part_bytes);
        let count = before.as_ref().map_or(0, |before| before.sent.len() as u64);
        // Of a larger object, the parts are larger.
        let all = (bytes / part_bytes).min(MAX_PARTS / 2);
        let whole = all.min(count + MAX_PARTS_OF_CALL);
        if whole <= count || bytes <= MAX_PUT_BYTES {
            if let Some(before) = before {
                self.keep_ahead(key, before);
            }
            return Ok(bytes);
        }
        let mut ahead = match before {
            Some(ahead) => ahead,
            None => UploadAhead { upload: self.begin_upload(key)?, part_bytes, sent: Vec::new() },
        };
        let result = self.send_ahead(key, file, &mut ahead, whole);
        // Also after a failure, so that it is ended.
        self.keep_ahead(key, ahead);
        result.map(|()| if whole < all { whole * part_bytes } else { bytes })
    }

    fn keep_ahead(&self, key: &str, ahead: UploadAhead) {
        self.client.ahead.lock().unwrap_or_else(PoisonError::into_inner).insert(key.to_owned(), ahead);
    }

    /// Sends the whole parts that were not sent yet, some at once.
    fn send_ahead(&self, key: &str, file: &ReadFile, ahead: &mut UploadAhead, whole: u64) -> io::Result<()> {
        let size = ahead.part_bytes;
        while (ahead.sent.len() as u64) < whole {
            let first = ahead.sent.len() as u64;
            let mut pending = Vec::new();
            for number in first..whole.min(first + parts_at_once(size) as u64) {
                let body = read_part(file, number * size, size)?;
                let part = SentPart::of(&body);
                pending.push((part, self.begin_call(part_call(key, number + 1, &ahead.upload, body))));
            }
            for (part, answer) in pending {
                let answer = finish_read(answer)?.map_err(|refusal| self.explain(&refusal, Action::Write, key))?;
                ahead.sent.push(part.with_answer(&answer));
            }
        }
        Ok(())
    }

    /// Ends the upload of a key that still grows.
    pub(super) fn end_upload_ahead(&self, key: &str) {
        if let Some(ahead) = self.take_ahead(key) {
            // What cannot be removed now is ended by the next run that puts the object.
            let _ = self.end_one_upload(key, &ahead.upload);
        }
    }
}
