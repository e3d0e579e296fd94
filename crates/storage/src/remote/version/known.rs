//! What answers of a store said about objects, so that the same is not asked again at once.

use super::ObjectVersion;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Time for which what is known of an object counts for each opening of it; later it counts once.
const FRESH: Duration = Duration::from_secs(5);
/// Time for which an answer counts that there is no object. Objects that this process puts end it.
const ABSENCE_KEPT: Duration = Duration::from_secs(2);
/// Maximum number of objects whose versions are known.
const MAX_VERSIONS: usize = 100_000;

/// Writes that the process has begun or ended, of all stores: several of them can lead to one object.
static WRITES: AtomicU64 = AtomicU64::new(0);

/// An answer that there is no object.
struct Absence {
    /// Whether there are objects below the key.
    has_objects: bool,
    /// The writes before the request.
    writes: u64,
    at: Instant,
}

/// The objects of a bucket that answers were about.
#[derive(Default)]
pub(in crate::remote) struct KnownObjects {
    /// Versions that listings and other answers gave, so that opening needs no further request.
    versions: Mutex<HashMap<String, (ObjectVersion, Instant)>>,
    /// When a store answered that there is no object of a key, and whether there are any below it.
    absences: Mutex<HashMap<String, Absence>>,
}

impl KnownObjects {
    /// Returns the number of writes of the process, which an absence is compared with.
    pub(in crate::remote) fn writes() -> u64 {
        WRITES.load(Ordering::SeqCst)
    }

    pub(in crate::remote) fn remember(&self, key: &str, version: &ObjectVersion) {
        let mut versions = self.versions.lock().unwrap_or_else(PoisonError::into_inner);
        if versions.len() >= MAX_VERSIONS {
            versions.clear();
        }
        versions.insert(key.to_owned(), (version.clone(), Instant::now()));
    }

    /// Forgets an object that is written.
    pub(in crate::remote) fn forget(&self, key: &str) {
        WRITES.fetch_add(1, Ordering::SeqCst);
        self.versions.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }

    pub(in crate::remote) fn version(&self, key: &str) -> Option<ObjectVersion> {
        let mut versions = self.versions.lock().unwrap_or_else(PoisonError::into_inner);
        let (version, at) = versions.get(key)?.clone();
        if at.elapsed() > FRESH {
            versions.remove(key);
        }
        Some(version)
    }

    fn absences(&self) -> MutexGuard<'_, HashMap<String, Absence>> {
        self.absences.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers that there is no object, by a request that was sent after a number of [writes](Self::writes).
    pub(in crate::remote) fn remember_absence(&self, key: &str, has_objects: bool, writes: u64) {
        self.absences().insert(key.to_owned(), Absence { has_objects, writes, at: Instant::now() });
    }

    /// Returns whether there are objects below a key that had none a moment ago; `None` if that is not known. The kind of a data
    /// set is determined several times, by the same names.
    pub(in crate::remote) fn absence(&self, key: &str) -> Option<bool> {
        let mut absences = self.absences();
        let writes = Self::writes();
        absences.retain(|_, absence| absence.writes == writes && absence.at.elapsed() < ABSENCE_KEPT);
        absences.get(key).map(|absence| absence.has_objects)
    }
}
