//! Consumes the results of units that several threads process, in the order of the units, each as soon as all earlier results are
//! available.

use gristmill_core::{Cancel, Mutex, Outcome};
use std::collections::BTreeMap;
use std::sync::{Condvar, PoisonError};
use std::time::Duration;

/// Interval at which a waiting thread checks for cancellation.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Reorder buffer between the threads and the consumer of their results.
pub(crate) struct OrderedResults<T, S> {
    inner: Mutex<ReorderBuffer<T, S>>,
    moved: Condvar,
    /// Limit of units that are in progress or waiting.
    max_pending: usize,
}

struct ReorderBuffer<T, S> {
    take: S,
    /// The unit whose result is consumed next.
    next: usize,
    waiting: BTreeMap<usize, T>,
}

impl<T, S: FnMut(T) -> Outcome<()>> OrderedResults<T, S> {
    /// Creates a buffer for this number of threads. `take` consumes the results one at a time.
    pub(crate) fn new(threads: usize, take: S) -> Self {
        let inner = Mutex::new(ReorderBuffer { take, next: 0, waiting: BTreeMap::new() });
        Self { inner, moved: Condvar::new(), max_pending: threads.max(1) + 1 }
    }

    /// Waits until few enough units are pending. The next unit in order never waits, so the work cannot stall.
    pub(crate) fn wait_for_slot(&self, number: usize, cancel: &Cancel) -> Outcome<()> {
        let mut inner = self.inner.lock();
        while number >= inner.next + self.max_pending {
            cancel.check()?;
            inner = self.moved.wait_timeout(inner, POLL_INTERVAL).unwrap_or_else(PoisonError::into_inner).0;
        }
        Ok(())
    }

    /// Stores a result, and consumes all results whose predecessors were consumed.
    pub(crate) fn hand_in(&self, number: usize, result: T) -> Outcome<()> {
        let mut inner = self.inner.lock();
        inner.waiting.insert(number, result);
        loop {
            let next = inner.next;
            let Some(result) = inner.waiting.remove(&next) else { break };
            (inner.take)(result)?;
            inner.next += 1;
        }
        drop(inner);
        self.moved.notify_all();
        Ok(())
    }
}
