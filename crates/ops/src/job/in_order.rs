//! Results of units that several threads work on, taken in the order of the units as soon as all before are done.

use gristmill_core::{Cancel, Outcome};
use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often a thread that waits for its turn checks for cancellation.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Where finished units stand in line.
pub(super) struct InOrder<T, S> {
    inner: Mutex<ReorderBuffer<T, S>>,
    moved: Condvar,
    /// How many units may be begun or waiting at once.
    room: usize,
}

struct ReorderBuffer<T, S> {
    take: S,
    /// The unit whose turn it is.
    next: usize,
    early: BTreeMap<usize, T>,
}

impl<T, S: FnMut(T) -> Outcome<()>> InOrder<T, S> {
    /// For so many threads; `take` is given one result after the other.
    pub(super) fn new(threads: usize, take: S) -> Self {
        let inner = Mutex::new(ReorderBuffer { take, next: 0, early: BTreeMap::new() });
        Self { inner, moved: Condvar::new(), room: threads.max(1) + 1 }
    }

    fn inner(&self) -> MutexGuard<'_, ReorderBuffer<T, S>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until few enough units stand in line. The one whose turn it is never waits, so the line always moves.
    pub(super) fn wait_for_room(&self, number: usize, cancel: &Cancel) -> Outcome<()> {
        let mut inner = self.inner();
        while number >= inner.next + self.room {
            cancel.check()?;
            inner = self.moved.wait_timeout(inner, POLL_INTERVAL).unwrap_or_else(PoisonError::into_inner).0;
        }
        Ok(())
    }

    /// Puts a result in line, and takes out all whose turn has come.
    pub(super) fn hand_in(&self, number: usize, result: T) -> Outcome<()> {
        let mut inner = self.inner();
        inner.early.insert(number, result);
        loop {
            let next = inner.next;
            let Some(result) = inner.early.remove(&next) else { break };
            (inner.take)(result)?;
            inner.next += 1;
        }
        drop(inner);
        self.moved.notify_all();
        Ok(())
    }
}
