//! Frees memory for read-ahead: blocks fetched for readers that have stopped are dropped.

use super::Blocks;
use gristmill_core::Mutex;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// Time without a read after which bytes fetched ahead of a reader are removed if others need the memory.
pub(super) const IDLE_TIMEOUT: Duration = Duration::from_secs(5);

/// All open objects.
static OBJECTS: Mutex<Vec<Weak<Blocks>>> = Mutex::new(Vec::new());

/// Adds an object that was opened.
pub(super) fn add(blocks: &Arc<Blocks>) {
    let mut objects = OBJECTS.lock();
    objects.retain(|object| object.strong_count() > 0);
    objects.push(Arc::downgrade(blocks));
}

/// Removes bytes of all objects that were fetched ahead of idle readers. The caller must not hold the state of any object.
pub(super) fn make() {
    let objects: Vec<Arc<Blocks>> = OBJECTS.lock().iter().filter_map(Weak::upgrade).collect();
    objects.iter().for_each(|blocks| blocks.lock().drop_idle_bytes(IDLE_TIMEOUT));
}
