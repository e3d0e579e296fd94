//! Blobs that are sent in blocks while they are made, and completed by their list later.

use super::super::s3::{part_bytes, walk, Action, Call, PartQueue, PartTarget, PendingPart, MAX_PUT_BYTES};
use super::write::{block_id, block_list, put};
use super::AzureStore;
use crate::store::{Condition, ObjectUpload, StagedObject};
use bytes::Bytes;
use std::collections::HashSet;
use std::io;
use uuid::Uuid;

/// Maximum size of a blob whose parts have the sizes of [`part_bytes`], in bytes.
const MAX_BLOB_BYTES: u64 = 5 << 40;

/// An upload that goes on.
struct BlockUpload {
    blocks: NewBlocks,
    queue: PartQueue,
    is_finished: bool,
}

/// The blocks of a blob that is made. Their ids begin with a token of their own.
struct NewBlocks {
    store: AzureStore,
    key: String,
    token: String,
}

impl AzureStore {
    /// Whether a blob is so large that it is put in blocks, of which two fit into the memory, and is not too large for the store.
    pub(super) fn has_blocks(bytes: u64, memory: u64) -> bool {
        (MAX_PUT_BYTES + 1..=MAX_BLOB_BYTES).contains(&bytes) && 2 * part_bytes(bytes) <= memory
    }

    /// Begins a blob of a size. Unfinished blocks of others are removed with its list.
    pub(super) fn begin_blocks(&self, key: &str, bytes: u64, memory: u64) -> io::Result<Box<dyn ObjectUpload>> {
        let token = Uuid::new_v4().simple().to_string();
        let blocks = NewBlocks { store: self.share(), key: key.to_owned(), token };
        Ok(Box::new(BlockUpload { blocks, queue: PartQueue::new(part_bytes(bytes), memory)?, is_finished: false }))
    }

    /// Whether the store has all blocks of a blob that is not completed.
    pub(super) fn has_all_blocks(&self, key: &str, object: &StagedObject) -> io::Result<bool> {
        let answer = self.send_and_wait(block_list(key, "uncommitted"))?;
        let Some(answer) = self.found(answer, Action::ListUploads, key)? else { return Ok(false) };
        let sent: HashSet<&str> = object.parts.iter().map(String::as_str).collect();
        let (mut names, mut bytes, mut name) = (HashSet::new(), 0_u64, String::new());
        let is_read = walk(&answer.body, &mut |path, text| match path.last().map(String::as_str) {
            Some("Name") => text.clone_into(&mut name),
            Some("Size") if sent.contains(name.as_str()) => {
                bytes = bytes.saturating_add(text.trim().parse().unwrap_or_default());
                names.insert(std::mem::take(&mut name));
            }
            _ => {}
        });
        Ok(is_read.is_some() && names.len() == sent.len() && bytes == object.bytes)
    }

    /// Makes a blob of its blocks; returns whether it is visible.
    pub(super) fn complete_blocks(&self, key: &str, object: &StagedObject) -> io::Result<bool> {
        match self.change(key, || self.commit(key, &object.parts, Condition::Always, None))? {
            Some(done) => Ok(done),
            None => self.is_made_of(key, &object.parts),
        }
    }
}

impl PartTarget for NewBlocks {
    fn begin(&self, number: u64, body: Bytes) -> PendingPart {
        let query = vec![("comp", "block".to_owned()), ("blockid", block_id(&self.token, number))];
        self.store.begin_part(Call { query, ..put(&self.key, Vec::new(), body) })
    }

    fn finish(&self, number: u64, answer: PendingPart) -> io::Result<String> {
        match answer.finish()? {
            Ok(_) => Ok(block_id(&self.token, number)),
            Err(refusal) => Err(self.store.failure_of(&refusal, Action::Write, &self.key)),
        }
    }
}

impl ObjectUpload for BlockUpload {
    fn id(&self) -> &str {
        &self.blocks.token
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.queue.write(&self.blocks, bytes)
    }

    fn finish(mut self: Box<Self>) -> io::Result<StagedObject> {
        let (parts, bytes) = self.queue.finish(&self.blocks)?;
        self.is_finished = true;
        Ok(StagedObject { upload: self.blocks.token.clone(), bytes, parts, checksum: None, replaces: None })
    }
}

impl Drop for BlockUpload {
    fn drop(&mut self) {
        if !self.is_finished {
            // Blocks end by themselves after a week. To remove them earlier, an empty blob would have to be visible for a moment.
            self.queue.give_up();
        }
    }
}
