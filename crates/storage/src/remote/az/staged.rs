//! Blobs that are uploaded in blocks while they are created, and completed later by their block list.

use super::super::s3::{walk, Action, Call, PartQueue, PartTarget, PartUpload, PendingPart};
use super::write::{block_id, block_list, put};
use super::AzureStore;
use crate::store::{Condition, ObjectUpload, StagedObject};
use bytes::Bytes;
use std::collections::HashSet;
use std::io;
use uuid::Uuid;

/// The uncommitted blocks of a blob. Their ids begin with a unique token.
struct NewBlocks {
    store: AzureStore,
    key: String,
    token: String,
}

impl AzureStore {
    /// Starts a blob of a size. Unfinished blocks of other runs are removed when its block list is put.
    pub(super) fn begin_blocks(&self, key: &str, bytes: u64, memory: u64) -> io::Result<Box<dyn ObjectUpload>> {
        let token = Uuid::new_v4().simple().to_string();
        let blocks = NewBlocks { store: self.share(), key: key.to_owned(), token };
        Ok(Box::new(PartUpload::new(blocks, PartQueue::new(bytes, memory)?)))
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

    /// Commits the blocks of a blob; returns whether it is visible.
    pub(super) fn complete_blocks(&self, key: &str, object: &StagedObject) -> io::Result<bool> {
        match self.change(key, || self.commit(key, &object.parts, Condition::Always, None))? {
            Some(done) => Ok(done),
            None => self.is_made_of(key, &object.parts),
        }
    }
}

impl PartTarget for NewBlocks {
    fn id(&self) -> &str {
        &self.token
    }

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

    fn staged(&self, parts: Vec<String>, bytes: u64) -> io::Result<StagedObject> {
        Ok(StagedObject { upload: self.token.clone(), bytes, parts, checksum: None, replaces: None })
    }

    fn discard(&self) {
        // Uncommitted blocks expire after a week. To remove them earlier, an empty blob would have to be visible for a moment.
    }
}
