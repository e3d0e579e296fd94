//! Uploads an object in parts while it is created.

use super::object::PendingPart;
use super::write::{part_bytes, parts_at_once, MAX_PUT_BYTES};
use crate::store::{ObjectUpload, StagedObject};
use bytes::Bytes;
use std::collections::VecDeque;
use std::io;

/// Maximum size of an object that is uploaded in parts, in bytes.
const MAX_OBJECT_BYTES: u64 = 5 << 40;

/// Whether an object is large enough to be put in parts, two of which fit into memory, and is not too large for the store.
pub(in crate::remote) fn has_parts(bytes: u64, memory: u64) -> bool {
    (MAX_PUT_BYTES + 1..=MAX_OBJECT_BYTES).contains(&bytes) && 2 * part_bytes(bytes) <= memory
}

/// Destination of parts.
pub(in crate::remote) trait PartTarget: Send {
    /// Returns the name of the upload.
    fn id(&self) -> &str;

    /// Starts to send a part. The first part has the number 1.
    fn begin(&self, number: u64, body: Bytes) -> PendingPart;

    /// Waits for the answer to a part, and returns the name of the part for the completion.
    fn finish(&self, number: u64, answer: PendingPart) -> io::Result<String>;

    /// Returns the object that consists of these parts, and has this size.
    fn staged(&self, parts: Vec<String>, bytes: u64) -> io::Result<StagedObject>;

    /// Aborts an upload after the transfers of its parts were aborted.
    fn discard(&self);
}

/// An upload in progress.
pub(in crate::remote) struct PartUpload<T: PartTarget> {
    target: T,
    queue: PartQueue,
    is_finished: bool,
}

impl<T: PartTarget> PartUpload<T> {
    pub(in crate::remote) fn new(target: T, queue: PartQueue) -> Self {
        Self { target, queue, is_finished: false }
    }
}

impl<T: PartTarget> ObjectUpload for PartUpload<T> {
    fn id(&self) -> &str {
        self.target.id()
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.queue.write(&self.target, bytes)
    }

    fn finish(mut self: Box<Self>) -> io::Result<StagedObject> {
        let (parts, bytes) = self.queue.finish(&self.target)?;
        let object = self.target.staged(parts, bytes)?;
        self.is_finished = true;
        Ok(object)
    }
}

impl<T: PartTarget> Drop for PartUpload<T> {
    fn drop(&mut self) {
        if !self.is_finished {
            self.queue.pending.clear();
            self.target.discard();
        }
    }
}

/// Parts of one size, several of which are in transfer at once.
pub(in crate::remote) struct PartQueue {
    part_bytes: usize,
    at_once: usize,
    /// The bytes of the part that is not sent yet.
    filled: Vec<u8>,
    pending: VecDeque<PendingPart>,
    names: Vec<String>,
    sent: u64,
}

impl PartQueue {
    /// Creates the queue for an object of a size. At most `memory` bytes are in memory at once, or two parts if that is more.
    pub(in crate::remote) fn new(bytes: u64, memory: u64) -> io::Result<Self> {
        let part_bytes = part_bytes(bytes);
        // One part is filled at the same time.
        let in_memory = usize::try_from(memory / part_bytes).unwrap_or(usize::MAX).saturating_sub(1).max(1);
        Ok(Self {
            part_bytes: usize::try_from(part_bytes).map_err(io::Error::other)?,
            at_once: in_memory.min(parts_at_once(part_bytes)),
            filled: Vec::new(),
            pending: VecDeque::new(),
            names: Vec::new(),
            sent: 0,
        })
    }

    /// Adds bytes, and sends full parts.
    fn write(&mut self, target: &dyn PartTarget, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            if self.filled.capacity() == 0 {
                self.filled.reserve_exact(self.part_bytes);
            }
            let room = self.part_bytes - self.filled.len();
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.filled.extend_from_slice(now);
            bytes = later;
            if self.filled.len() == self.part_bytes {
                self.send(target)?;
            }
        }
        Ok(())
    }

    /// Waits for all parts; returns their names, in order, and the number of bytes.
    fn finish(&mut self, target: &dyn PartTarget) -> io::Result<(Vec<String>, u64)> {
        if !self.filled.is_empty() || self.sent == 0 {
            self.send(target)?;
        }
        while !self.pending.is_empty() {
            self.take_one(target)?;
        }
        Ok((std::mem::take(&mut self.names), self.sent))
    }

    /// Sends the collected bytes as a part.
    fn send(&mut self, target: &dyn PartTarget) -> io::Result<()> {
        while self.pending.len() >= self.at_once {
            self.take_one(target)?;
        }
        let body = std::mem::take(&mut self.filled);
        self.sent += body.len() as u64;
        let number = self.names.len() + self.pending.len() + 1;
        self.pending.push_back(target.begin(number as u64, body.into()));
        Ok(())
    }

    /// Waits for the first part in transfer.
    fn take_one(&mut self, target: &dyn PartTarget) -> io::Result<()> {
        let number = self.names.len() as u64 + 1;
        if let Some(answer) = self.pending.pop_front() {
            self.names.push(target.finish(number, answer)?);
        }
        Ok(())
    }
}
