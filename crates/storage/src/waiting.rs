//! Threads for work that mostly waits for stores.

use gristmill_core::{Cancel, Mutex, Outcome};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{mpsc, MutexGuard, OnceLock};
use std::time::Duration;

/// Number of threads that read or write objects at once.
pub(super) const WAITING_THREADS: usize = 32;
/// Interval between attempts to take a lock.
const LOCK_INTERVAL: Duration = Duration::from_millis(2);

/// Takes a lock that its holder keeps while it waits for a store. Fails if the waits of this thread are cancelled.
pub fn lock_unless_cancelled<T>(lock: &Mutex<T>) -> Outcome<MutexGuard<'_, T>> {
    loop {
        if let Some(guard) = lock.try_lock() {
            return Ok(guard);
        }
        Cancel::of_thread().check()?;
        std::thread::sleep(LOCK_INTERVAL);
    }
}

/// Runs two functions at once, `other` on another thread; `other` is skipped if no thread can start.
pub fn do_during<T>(other: impl FnOnce() + Send, work: impl FnOnce() -> T) -> T {
    let cancel = Cancel::of_thread();
    let other = || {
        let _waits = cancel.begin_wait_scope();
        other();
    };
    std::thread::scope(|scope| {
        _ = std::thread::Builder::new().name("store".to_owned()).spawn_scoped(scope, other);
        work()
    })
}

/// Calls `work` for several items at once, and `done` for each that succeeded. After a failure, which is returned, no further item is
/// started.
pub fn for_each_at_once<T: Sync>(
    items: &[T],
    work: impl Fn(&T) -> Outcome<()> + Sync,
    mut done: impl FnMut(),
) -> Outcome<()> {
    let next = AtomicUsize::new(0);
    let failure = Mutex::new(None);
    let (sender, receiver) = mpsc::channel();
    let cancel = Cancel::of_thread();
    let worker = |sender: mpsc::Sender<()>| {
        let _waits = cancel.begin_wait_scope();
        while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Err(error) = work(item) {
                next.store(items.len(), Ordering::Relaxed);
                failure.lock().get_or_insert(error);
                return;
            }
            // The receiver exists until all threads have ended.
            let _ = sender.send(());
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..WAITING_THREADS.min(items.len()) {
            let (worker, sender) = (&worker, sender.clone());
            if std::thread::Builder::new().name("store".to_owned()).spawn_scoped(scope, move || worker(sender)).is_err()
            {
                // The calling thread processes items that no other thread takes.
                break;
            }
        }
        drop(sender);
        receiver.iter().for_each(|()| done());
    });
    if let Some(failure) = failure.into_inner() {
        return Err(failure);
    }
    // Items remain only if no thread could be started.
    while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
        work(item)?;
        done();
    }
    Ok(())
}

/// Calls `work` for several items at once, and returns the results in the order of the items. After a failure, which is returned, no
/// further item is started.
pub fn map_at_once<T: Sync, R: Send + Sync>(items: &[T], work: impl Fn(&T) -> Outcome<R> + Sync) -> Outcome<Vec<R>> {
    let slots: Vec<(&T, OnceLock<R>)> = items.iter().map(|item| (item, OnceLock::new())).collect();
    let fill = |(item, slot): &(&T, OnceLock<R>)| {
        let result = work(item)?;
        slot.get_or_init(|| result);
        Ok(())
    };
    for_each_at_once(&slots, fill, || ())?;
    Ok(slots.into_iter().filter_map(|(_, slot)| slot.into_inner()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_core::Failure;
    use std::collections::BTreeSet;

    #[test]
    fn every_item_is_processed_once() {
        let items: Vec<usize> = (0..100).collect();
        let seen = Mutex::new(BTreeSet::new());
        let mut count = 0;
        let work = |item: &usize| {
            assert!(seen.lock().insert(*item));
            Ok(())
        };
        for_each_at_once(&items, work, || count += 1).unwrap();
        assert_eq!((seen.into_inner().len(), count), (100, 100));
    }

    #[test]
    fn results_are_in_the_order_of_the_items() {
        let items: Vec<usize> = (0..100).collect();
        assert_eq!(map_at_once(&items, |item| Ok(item * 2)).unwrap(), (0..200).step_by(2).collect::<Vec<_>>());
        let failing = |item: &usize| if *item == 7 { Err(Failure::environment("reading", "gone")) } else { Ok(()) };
        assert_eq!(map_at_once(&items, failing).unwrap_err().why, "gone");
        assert_eq!(map_at_once(&[], |item: &usize| Ok(*item)), Ok(Vec::new()));
    }

    #[test]
    fn waiting_for_a_lock_is_cancellable() {
        let lock = Mutex::new(1);
        let held = lock_unless_cancelled(&lock).unwrap();
        let cancel = Cancel::default();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                let _waits = cancel.begin_wait_scope();
                lock_unless_cancelled(&lock).map(|value| *value)
            });
            cancel.cancel();
            assert!(waiting.join().unwrap().unwrap_err().is_cancelled());
            let waiting = scope.spawn(|| lock_unless_cancelled(&lock).map(|value| *value));
            drop(held);
            assert_eq!(waiting.join().unwrap(), Ok(1));
        });
    }

    #[test]
    fn after_a_failure_no_further_items_are_started() {
        let items: Vec<usize> = (0..1000).collect();
        let begun = AtomicUsize::new(0);
        let work = |_: &usize| {
            begun.fetch_add(1, Ordering::Relaxed);
            Err(Failure::environment("writing", "no space"))
        };
        assert_eq!(for_each_at_once(&items, work, || unreachable!()).unwrap_err().why, "no space");
        assert!(begun.into_inner() <= WAITING_THREADS);
    }
}
