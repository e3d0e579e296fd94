//! Worker threads: a fixed number of threads that process units in order.

use gristmill_core::{Cancel, Failure, Mutex, Outcome};
use std::any::Any;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Runs `work` once for each unit, on at most `threads` threads, and returns the results in the order of the units.
///
/// Units are started in order. The first failure cancels the other units through `cancel` and is returned. Of several failures, that of the
/// earliest unit is returned; a cancellation is only returned if there is no other failure. A panic becomes a failure.
pub fn run_units<U, T>(
    units: &[U],
    threads: usize,
    cancel: &Cancel,
    work: impl Fn(&U) -> Outcome<T> + Sync,
) -> Outcome<Vec<T>>
where
    U: Sync,
    T: Send,
{
    let board = UnitQueue { next: AtomicUsize::new(0), results: Mutex::new(Results::new(units.len())) };
    let worker = || {
        let _waits = cancel.begin_wait_scope();
        board.work_off(units, cancel, &work);
    };
    let helpers = threads.min(units.len()).saturating_sub(1);
    std::thread::scope(|scope| {
        for number in 0..helpers {
            let name = format!("worker-{}", number + 2);
            if std::thread::Builder::new().name(name).spawn_scoped(scope, worker).is_err() {
                // No further thread can be started, so the running threads do all the work.
                break;
            }
        }
        worker();
    });
    board.results.into_inner().finish(cancel)
}

/// Like [`run_units`], but `resume` may return the results of units that an earlier run finished. It is called for all units before any
/// work begins, so that progress does not start lower than it ended.
pub fn run_missing_units<U, T>(
    units: &[U],
    threads: usize,
    cancel: &Cancel,
    resume: impl Fn(&U) -> Outcome<Option<T>> + Sync,
    work: impl Fn(&U) -> Outcome<T> + Sync,
) -> Outcome<Vec<T>>
where
    U: Sync,
    T: Send,
{
    let known = run_units(units, threads, cancel, resume)?;
    let is_missing = |(unit, known): (_, &Option<T>)| known.is_none().then_some(unit);
    let missing: Vec<&U> = units.iter().zip(&known).filter_map(is_missing).collect();
    let mut made = run_units(&missing, threads, cancel, |unit| work(unit))?.into_iter();
    Ok(known.into_iter().filter_map(|known| known.or_else(|| made.next())).collect())
}

/// Runs both closures, the first on its own thread if one can be started. A panic in either is resumed after both have ended.
pub fn run_both(first: &mut (dyn FnMut() + Send), second: &mut (dyn FnMut() + Send)) {
    let first = Mutex::new(first);
    let cancel = Cancel::of_thread();
    let begin = || {
        let _waits = cancel.begin_wait_scope();
        (first.lock())();
    };
    std::thread::scope(|scope| {
        let other = std::thread::Builder::new().name("other".to_owned()).spawn_scoped(scope, begin);
        second();
        match other.map(std::thread::ScopedJoinHandle::join) {
            Ok(Ok(())) => {}
            Ok(Err(panic)) => resume_unwind(panic),
            Err(_) => begin(),
        }
    });
}

struct UnitQueue<T> {
    next: AtomicUsize,
    results: Mutex<Results<T>>,
}

struct Results<T> {
    done: Vec<Option<T>>,
    /// The failure of the first unit that failed, and the position of the unit. Other failures precede cancellations.
    failure: Option<(usize, Failure)>,
}

impl<T> UnitQueue<T> {
    fn work_off<U>(&self, units: &[U], cancel: &Cancel, work: &(impl Fn(&U) -> Outcome<T> + Sync)) {
        while !cancel.is_cancelled() {
            let position = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(unit) = units.get(position) else { return };
            let outcome = catch_unwind(AssertUnwindSafe(|| work(unit))).unwrap_or_else(|panic| Err(panicked(&*panic)));
            let mut results = self.results.lock();
            match outcome {
                Ok(result) => results.put(position, result),
                Err(failure) => {
                    results.fail(position, failure);
                    cancel.cancel();
                }
            }
        }
    }
}

impl<T> Results<T> {
    fn new(count: usize) -> Self {
        Self { done: std::iter::repeat_with(|| None).take(count).collect(), failure: None }
    }
    fn put(&mut self, position: usize, result: T) {
        if let Some(place) = self.done.get_mut(position) {
            *place = Some(result);
        }
    }
    fn fail(&mut self, position: usize, failure: Failure) {
        let rank = |position: usize, failure: &Failure| (failure.is_cancelled(), position);
        let is_first = match &self.failure {
            Some((other, known)) => rank(position, &failure) < rank(*other, known),
            None => true,
        };
        if is_first {
            self.failure = Some((position, failure));
        }
    }
    fn finish(self, cancel: &Cancel) -> Outcome<Vec<T>> {
        if let Some((_, failure)) = self.failure {
            return Err(failure);
        }
        let count = self.done.len();
        let done: Vec<T> = self.done.into_iter().flatten().collect();
        if done.len() < count {
            cancel.check()?;
            return Err(Failure::cancelled());
        }
        Ok(done)
    }
}

fn panicked(panic: &(dyn Any + Send)) -> Failure {
    let why = match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => (*text).to_owned(),
        (_, Some(text)) => text.clone(),
        _ => "no reason is known".to_owned(),
    };
    Failure::environment("a worker", format!("a bug in gristmill was hit: {why}"))
        .with_hint("please report this with the command that was run; no partial output is visible")
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_core::ExitClass;
    use std::sync::atomic::AtomicU64;
    use std::sync::Barrier;
    use std::time::Duration;

    #[test]
    fn results_are_in_unit_order_for_any_number_of_threads() {
        let units: Vec<u64> = (0..200).collect();
        for threads in [0, 1, 2, 7, 16, 500] {
            let cancel = Cancel::default();
            let doubled = run_units(&units, threads, &cancel, |unit| Ok(unit * 2)).unwrap();
            assert_eq!(doubled, units.iter().map(|unit| unit * 2).collect::<Vec<_>>());
            assert!(!cancel.is_cancelled());
        }
        assert_eq!(run_units(&[], 4, &Cancel::default(), |_: &u8| Ok(())).unwrap(), vec![]);
    }

    #[test]
    fn results_of_an_earlier_run_count_before_any_work_begins() {
        let units: Vec<u64> = (0..20).collect();
        let resumed = AtomicU64::new(0);
        let resume = |unit: &u64| {
            let is_done = !unit.is_multiple_of(3);
            resumed.fetch_add(u64::from(is_done), Ordering::Relaxed);
            Ok(is_done.then_some(unit * 2))
        };
        let work = |unit: &u64| {
            assert_eq!((unit % 3, resumed.load(Ordering::Relaxed)), (0, 13));
            Ok(unit * 2)
        };
        let doubled = run_missing_units(&units, 3, &Cancel::default(), resume, work).unwrap();
        assert_eq!(doubled, units.iter().map(|unit| unit * 2).collect::<Vec<_>>());
    }

    #[test]
    fn pool_runs_one_unit_per_thread_concurrently() {
        let barrier = Barrier::new(3);
        run_units(&[(), (), ()], 3, &Cancel::default(), |()| {
            barrier.wait();
            Ok(())
        })
        .unwrap();
    }

    #[test]
    fn first_failure_stops_other_units_and_is_returned() {
        let begun = AtomicU64::new(0);
        let cancel = Cancel::default();
        let units: Vec<u64> = (0..1000).collect();
        let failure = run_units(&units, 4, &cancel, |unit| {
            begun.fetch_add(1, Ordering::Relaxed);
            if *unit == 5 {
                return Err(Failure::data("reading", "broken"));
            }
            std::thread::sleep(Duration::from_millis(1));
            cancel.check()
        })
        .unwrap_err();
        assert_eq!(failure, Failure::data("reading", "broken"));
        assert!(begun.load(Ordering::Relaxed) < 100);
    }

    #[test]
    fn cancellation_does_not_hide_the_failure_that_caused_it() {
        // Unit 0 ends after the cancellation caused by the failure of unit 1, or just before it.
        let cancel = Cancel::default();
        let failure = run_units(&[0, 1], 2, &cancel, |unit| {
            if *unit == 1 {
                return Err(Failure::environment("reading", "the disk was removed"));
            }
            while !cancel.is_cancelled() {
                std::thread::yield_now();
            }
            Err::<(), _>(Failure::cancelled())
        })
        .unwrap_err();
        assert_eq!(failure.class, ExitClass::Environment);
    }

    #[test]
    fn failure_of_the_earliest_unit_is_reported() {
        let barrier = Barrier::new(4);
        let failure = run_units(&[0, 1, 2, 3], 4, &Cancel::default(), |unit| {
            barrier.wait();
            Err::<(), _>(Failure::data("reading", format!("unit {unit}")))
        })
        .unwrap_err();
        assert_eq!(failure.why, "unit 0");
    }

    #[test]
    fn cancellation_before_the_first_unit_is_reported() {
        let cancel = Cancel::default();
        cancel.cancel();
        let failure = run_units(&[1, 2], 2, &cancel, |_| Ok(())).unwrap_err();
        assert!(failure.is_cancelled());
    }

    #[test]
    fn cancellation_after_the_last_unit_loses_no_result() {
        let cancel = Cancel::default();
        let done = run_units(&[1, 2], 1, &cancel, |unit| {
            if *unit == 2 {
                cancel.cancel();
            }
            Ok(*unit)
        });
        assert_eq!(done.unwrap(), [1, 2]);
    }

    #[test]
    fn a_panic_is_a_failure_and_not_a_hang() {
        for threads in [1, 3] {
            let failure = run_units(&[1, 2, 3, 4], threads, &Cancel::default(), |unit| {
                assert_ne!(*unit, 2, "two is bad");
                Ok(())
            })
            .unwrap_err();
            assert_eq!(failure.class, ExitClass::Environment);
            assert!(failure.why.contains("two is bad"), "{}", failure.why);
        }
    }

    #[test]
    fn run_both_runs_concurrently_and_propagates_a_panic() {
        let meet = Barrier::new(2);
        let (mut first, mut second) = (0, 0);
        let work = |place: &mut i32| {
            meet.wait();
            *place += 1;
        };
        run_both(&mut || work(&mut first), &mut || work(&mut second));
        assert_eq!((first, second), (1, 1));
        let mut done = false;
        let with_panic = || run_both(&mut || panic!("a defect"), &mut || done = true);
        assert!(catch_unwind(AssertUnwindSafe(with_panic)).is_err());
        assert!(done);
    }
}
