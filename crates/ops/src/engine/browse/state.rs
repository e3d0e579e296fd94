//! Groups whose counts grow while they are viewed, and the order in which they are scanned.

use super::{Group, Groups};
use gristmill_core::{Cancel, Mutex};
use std::sync::{Arc, Condvar, PoisonError};
use std::time::{Duration, Instant};

/// Minimum time between two published states.
const PUBLISH_INTERVAL: Duration = Duration::from_millis(50);

/// The groups of a catalog whose scan is running.
#[derive(Default)]
pub(super) struct GroupsState {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    current: Arc<Groups>,
    groups: Vec<Group>,
    uncounted: usize,
    /// Whether all groups are known.
    is_listed: bool,
    published: Option<Instant>,
}

impl Inner {
    fn publish(&mut self, at_once: bool) {
        let is_complete = self.is_listed && self.uncounted == 0;
        if !at_once && !is_complete && self.published.is_some_and(|last| last.elapsed() < PUBLISH_INTERVAL) {
            return;
        }
        self.published = Some(Instant::now());
        self.current = Arc::new(Groups::new(self.current.version + 1, self.groups.clone(), is_complete));
    }
}

fn blank(name: Arc<str>, bytes: u64, failure: Option<Arc<str>>) -> Group {
    Group { name, samples: 0, is_counted: false, bytes, failure }
}

impl GroupsState {
    /// Returns the last published state.
    pub(super) fn groups(&self) -> Arc<Groups> {
        Arc::clone(&self.inner.lock().current)
    }

    /// Sets all groups: name, bytes and note of each. `failure` is the reason if there are none.
    pub(super) fn begin(&self, groups: impl Iterator<Item = (Arc<str>, u64, Option<Arc<str>>)>, failure: Option<&str>) {
        let mut inner = self.inner.lock();
        inner.groups = groups.map(|(name, bytes, note)| blank(name, bytes, note)).collect();
        inner.uncounted = inner.groups.len();
        inner.is_listed = true;
        if let Some(why) = failure {
            inner.groups.push(Group { is_counted: true, ..blank(Arc::from(""), 0, Some(Arc::from(why))) });
        }
        inner.publish(true);
    }

    /// Adds a group whose samples are already counted.
    pub(super) fn add(&self, name: Arc<str>, samples: u64, failure: Option<Arc<str>>) {
        let mut inner = self.inner.lock();
        inner.groups.push(Group { samples, is_counted: true, ..blank(name, 0, failure) });
        inner.publish(false);
    }

    /// Marks the list of groups as final.
    pub(super) fn listed(&self) {
        let mut inner = self.inner.lock();
        inner.is_listed = true;
        inner.publish(true);
    }

    /// Sets the number of samples found in a group so far.
    pub(super) fn grow(&self, group: u32, samples: u64) {
        let mut inner = self.inner.lock();
        if let Some(group) = inner.groups.get_mut(group as usize) {
            group.samples = samples;
        }
        inner.publish(false);
    }

    /// Marks a group as counted.
    pub(super) fn finish(&self, group: u32, samples: u64, failure: Option<Arc<str>>) {
        let mut inner = self.inner.lock();
        if let Some(group) = inner.groups.get_mut(group as usize) {
            group.samples = samples;
            group.failure = failure.or_else(|| group.failure.take());
            if !std::mem::replace(&mut group.is_counted, true) {
                inner.uncounted -= 1;
            }
        }
        inner.publish(false);
    }
}

/// Groups after the preferred one that are scanned with it.
const SCANNED_AHEAD: usize = 2;

/// Assigns groups to scan: the preferred one first, then in their order, up to a limit.
#[derive(Default)]
pub(super) struct ScanQueue {
    inner: Mutex<ScanQueueState>,
    changed: Condvar,
}

#[derive(Default)]
struct ScanQueueState {
    /// Whether each group is assigned to a worker; `None` until the groups are known.
    taken: Option<Vec<bool>>,
    first_left: usize,
    /// Number of groups at the beginning that are scanned without being preferred.
    free: usize,
    preferred: Option<u32>,
    /// Number of groups that are being scanned.
    running: usize,
    is_closed: bool,
}

impl ScanQueue {
    /// Sets the number of groups. The first `free` groups are all scanned; another group only if it, or a group shortly before it, is
    /// preferred.
    pub(super) fn begin(&self, count: usize, free: usize) {
        let mut inner = self.inner.lock();
        inner.taken = Some(vec![false; count]);
        inner.free = inner.free.max(free);
        drop(inner);
        self.changed.notify_all();
    }

    /// Allows the scan of all groups.
    pub(super) fn allow_all_scans(&self) {
        self.inner.lock().free = usize::MAX;
        self.changed.notify_all();
    }

    /// Records that the scan of a group has ended.
    pub(super) fn end_one(&self) {
        self.inner.lock().running -= 1;
    }

    /// Whether no group is scanned until one is preferred.
    pub(super) fn is_idle(&self) -> bool {
        let inner = self.inner.lock();
        inner.running == 0 && inner.taken.is_some() && inner.first_left >= inner.free
    }

    /// Ends the waiting of all workers.
    pub(super) fn close(&self) {
        self.inner.lock().is_closed = true;
        self.changed.notify_all();
    }

    /// Makes a group the next one to be scanned.
    pub(super) fn prefer(&self, group: u32) {
        self.inner.lock().preferred = Some(group);
        self.changed.notify_all();
    }

    /// Returns the group to scan next. Waits until the groups are known, and until a remaining group may be scanned. Returns `None` if none
    /// remains, or when cancelled.
    pub(super) fn next(&self, cancel: &Cancel) -> Option<u32> {
        let mut inner = self.inner.lock();
        loop {
            if inner.is_closed || cancel.is_cancelled() {
                return None;
            }
            if let ScanQueueState { taken: Some(taken), first_left, free, preferred, running, .. } = &mut *inner {
                *first_left += taken.get(*first_left..)?.iter().position(|taken| !taken)?;
                let wishes = preferred.map(|group| group as usize..=group as usize + SCANNED_AHEAD);
                let wish = wishes.and_then(|mut groups| groups.find(|group| taken.get(*group) == Some(&false)));
                let group = wish.or(Some(*first_left).filter(|group| group < free));
                if let Some((group, taken)) = group.and_then(|group| Some((group, taken.get_mut(group)?))) {
                    *taken = true;
                    *running += 1;
                    return u32::try_from(group).ok();
                }
            }
            inner = self.changed.wait(inner).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn preferred_group_is_scanned_next_and_every_group_once() {
        let turns = ScanQueue::default();
        let cancel = Cancel::default();
        turns.begin(6, 6);
        assert_eq!(turns.next(&cancel), Some(0));
        turns.prefer(2);
        assert_eq!(turns.next(&cancel), Some(2));
        let next = || turns.next(&cancel);
        // The groups after the preferred one, and then the others.
        assert_eq!([next(), next(), next(), next(), next()], [Some(3), Some(4), Some(1), Some(5), None]);
        turns.prefer(77);
        assert_eq!(turns.next(&cancel), None);
    }

    #[test]
    fn groups_beyond_the_scan_limit_wait_until_preferred() {
        let turns = ScanQueue::default();
        let cancel = Cancel::default();
        turns.begin(9, 1);
        assert_eq!(turns.next(&cancel), Some(0));
        assert!(!turns.is_idle());
        turns.end_one();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| turns.next(&cancel));
            turns.prefer(5);
            assert_eq!(waiting.join().unwrap(), Some(5));
            let waiting = scope.spawn(|| [turns.next(&cancel), turns.next(&cancel), turns.next(&cancel)]);
            std::thread::yield_now();
            turns.close();
            let last = waiting.join().unwrap();
            assert!(last.ends_with(&[None]) && !last.contains(&Some(8)), "{last:?}");
        });
        let turns = ScanQueue::default();
        turns.allow_all_scans();
        turns.begin(2, 1);
        assert_eq!([turns.next(&cancel), turns.next(&cancel), turns.next(&cancel)], [Some(0), Some(1), None]);
    }

    #[test]
    fn a_state_is_complete_when_every_group_is_counted() {
        let state = GroupsState::default();
        assert!(!state.groups().is_complete);
        state.begin([(Arc::from("a"), 1, None), (Arc::from("b"), 2, None)].into_iter(), None);
        state.grow(1, 5);
        state.finish(0, 3, None);
        assert!(!state.groups().is_complete);
        state.finish(1, 7, Some(Arc::from("cut")));
        state.finish(1, 7, None);
        let groups = state.groups();
        assert!(groups.is_complete);
        assert_eq!((groups.total(), groups.group(1).unwrap().failure.as_deref()), (10, Some("cut")));
    }
}
