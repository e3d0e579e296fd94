//! Caches the first bytes of recently opened objects, for several checks that each read the beginning of a file.

use super::super::blocks::{BLOCK_UNIT, FIRST_UNKNOWN_BYTES};
use super::ObjectVersion;
use gristmill_core::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;

/// Maximum number of objects whose first bytes are cached.
const MAX_BEGINNINGS: usize = 64;

struct Beginning {
    key: String,
    version: ObjectVersion,
    /// Whole blocks.
    bytes: Arc<[u8]>,
}

/// The first bytes of objects; the most recently opened object is the last one.
#[derive(Default)]
pub(in crate::remote) struct Beginnings(Mutex<VecDeque<Beginning>>);

impl Beginnings {
    /// Caches the first bytes of an object. Small objects are not cached, because they are records that several processes write.
    pub(in crate::remote) fn remember(&self, key: &str, version: &ObjectVersion, bytes: &[u8]) {
        let size = (bytes.len() as u64).min(FIRST_UNKNOWN_BYTES) / BLOCK_UNIT * BLOCK_UNIT;
        let kept = usize::try_from(size).ok().and_then(|size| bytes.get(..size)).filter(|kept| !kept.is_empty());
        let Some(kept) = kept.filter(|_| version.bytes > BLOCK_UNIT && !version.etag.is_empty()) else { return };
        let mut all = self.0.lock();
        all.retain(|other| other.key != key);
        if all.len() >= MAX_BEGINNINGS {
            all.pop_front();
        }
        all.push_back(Beginning { key: key.to_owned(), version: version.clone(), bytes: kept.into() });
    }

    /// Returns the version of an object at the time of opening, and its first bytes.
    pub(in crate::remote) fn of(&self, key: &str) -> Option<(ObjectVersion, Vec<u8>)> {
        let all = self.0.lock();
        let found = all.iter().find(|other| other.key == key)?;
        Some((found.version.clone(), found.bytes.to_vec()))
    }
}
