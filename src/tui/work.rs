//! Workers for slow requests of screens: one thread per kind of request, and only the newest request is answered.

use super::event::Event;
use gristmill_core::{Cancel, Mutex};
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, PoisonError};

/// Wakes the frame so that it calls `tick` on the screens. Does nothing outside a running UI (tests).
#[derive(Clone, Default)]
pub struct Wake {
    sender: Arc<Mutex<Option<Sender<Event>>>>,
}

impl Wake {
    /// Connects the waker to the running frame.
    pub(super) fn connect(&self, sender: Sender<Event>) {
        *self.sender.lock() = Some(sender);
    }
    /// Requests a `tick` soon.
    pub fn wake(&self) {
        self.send(Event::Woken);
    }

    /// Sends an event to the frame.
    pub(super) fn send(&self, event: Event) {
        if let Some(sender) = self.sender.lock().as_ref() {
            // Sending fails only when the UI has ended.
            let _ = sender.send(event);
        }
    }
}

struct QuestionSlot<Q> {
    /// The waiting request and its number.
    question: Option<(u64, Q)>,
    closed: bool,
}

struct LatestState<Q, A> {
    slot: Mutex<QuestionSlot<Q>>,
    submitted: Condvar,
    /// The newest answer, and the number of its request.
    answer: Mutex<Option<(u64, A)>>,
    /// The number of the last request whose answer panicked.
    panicked_question: AtomicU64,
}

/// A worker for requests of one kind. A new request replaces a waiting one, and the answer to an older request is dropped. Dropping the
/// worker ends its thread after the current answer. A panic loses one answer, not the worker: the frame reports it, and the next request is
/// answered.
pub struct LatestWorker<Q, A> {
    shared: Arc<LatestState<Q, A>>,
    number: u64,
    taken: u64,
}

impl<Q: Send + 'static, A: Send + 'static> LatestWorker<Q, A> {
    /// Starts the worker. `answer` runs on its thread.
    pub fn start(name: &str, wake: Wake, mut answer: impl FnMut(Q) -> A + Send + 'static) -> Self {
        let shared = Arc::new(LatestState {
            slot: Mutex::new(QuestionSlot { question: None, closed: false }),
            submitted: Condvar::new(),
            answer: Mutex::new(None),
            panicked_question: AtomicU64::new(0),
        });
        let worker = Arc::clone(&shared);
        let spawned = std::thread::Builder::new().name(name.to_owned()).spawn(move || {
            while let Some((number, question)) = next_question(&worker) {
                let Some(result) = guarded(|| answer(question)) else {
                    worker.panicked_question.store(number, Ordering::Release);
                    wake.wake();
                    continue;
                };
                *worker.answer.lock() = Some((number, result));
                wake.wake();
            }
        });
        if let Err(error) = spawned {
            tracing::error!(%error, name, "a worker thread could not be started");
        }
        Self { shared, number: 0, taken: 0 }
    }

    /// Submits a request; a waiting one is discarded, and the answer in progress is dropped.
    pub fn submit(&mut self, question: Q) {
        self.number += 1;
        let mut slot = self.shared.slot.lock();
        slot.question = Some((self.number, question));
        self.shared.submitted.notify_one();
    }

    /// Returns the answer to the newest request, if it is ready. Never blocks.
    pub fn take(&mut self) -> Option<A> {
        let mut answer = self.shared.answer.lock();
        match answer.take() {
            Some((number, result)) if number == self.number => {
                self.taken = number;
                Some(result)
            }
            _ => None,
        }
    }

    /// Stores the answer in `known`. Returns whether there was one.
    pub fn take_into(&mut self, known: &mut Option<A>) -> bool {
        let answer = self.take();
        let is_new = answer.is_some();
        if is_new {
            *known = answer;
        }
        is_new
    }

    /// Discards the newest request and its answer. Returns whether the request was open.
    pub fn discard_newest(&mut self) -> bool {
        let was_open = self.is_waiting();
        self.shared.slot.lock().question = None;
        self.number += 1;
        self.taken = self.number;
        was_open
    }

    /// Whether the newest request is open.
    pub fn is_waiting(&self) -> bool {
        self.taken.max(self.shared.panicked_question.load(Ordering::Acquire)) < self.number
    }
}

/// Runs one task; `None` if it panicked, which the panic hook has already reported.
fn guarded<A>(task: impl FnOnce() -> A) -> Option<A> {
    std::panic::catch_unwind(AssertUnwindSafe(|| {
        panic_in_test();
        task()
    }))
    .ok()
}

/// Lets the tests with a real terminal trigger a worker panic: in a debug build in the worker that this variable names.
#[cfg(debug_assertions)]
fn panic_in_test() {
    let asked = std::env::var("GRISTMILL_PANIC_IN_WORKER").ok();
    if asked.is_some() && std::thread::current().name() == asked.as_deref() {
        panic!("worker asked to panic");
    }
}

#[cfg(not(debug_assertions))]
fn panic_in_test() {}

fn next_question<Q, A>(shared: &LatestState<Q, A>) -> Option<(u64, Q)> {
    let mut slot = shared.slot.lock();
    loop {
        if slot.closed {
            return None;
        }
        if let Some(question) = slot.question.take() {
            return Some(question);
        }
        slot = shared.submitted.wait(slot).unwrap_or_else(PoisonError::into_inner);
    }
}

impl<Q, A> Drop for LatestWorker<Q, A> {
    fn drop(&mut self) {
        self.shared.slot.lock().closed = true;
        self.shared.submitted.notify_one();
    }
}

/// A [`LatestWorker`] whose answer is cancelled once it is no longer needed: by the next request, by [`stop`](Self::stop), and on drop.
pub struct Stoppable<Q, A> {
    latest: LatestWorker<(Q, Cancel), A>,
    cancel: Cancel,
}

impl<Q: Send + 'static, A: Send + 'static> Stoppable<Q, A> {
    /// Starts the worker. `answer` runs on its thread.
    pub fn start(name: &str, wake: Wake, mut answer: impl FnMut(Q, &Cancel) -> A + Send + 'static) -> Self {
        let latest = LatestWorker::start(name, wake, move |(question, cancel): (Q, Cancel)| answer(question, &cancel));
        Self { latest, cancel: Cancel::default() }
    }

    /// Submits a request; the previous one is cancelled.
    pub fn submit(&mut self, question: Q) {
        self.cancel.cancel();
        self.cancel = Cancel::default();
        self.latest.submit((question, self.cancel.clone()));
    }

    /// Cancels the request; its answer reports the cancellation.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }

    /// Cancels the request and drops its answer. Returns whether a request was pending.
    pub fn stop(&mut self) -> bool {
        self.cancel.cancel();
        self.latest.discard_newest()
    }

    /// See [`LatestWorker::take`].
    pub fn take(&mut self) -> Option<A> {
        self.latest.take()
    }

    /// See [`LatestWorker::take_into`].
    pub fn take_into(&mut self, known: &mut Option<A>) -> bool {
        self.latest.take_into(known)
    }

    /// See [`LatestWorker::is_waiting`].
    pub fn is_waiting(&self) -> bool {
        self.latest.is_waiting()
    }
}

impl<Q, A> Drop for Stoppable<Q, A> {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

struct StreamState<Q, A> {
    wanted: Mutex<PendingQuestions<Q>>,
    submitted: Condvar,
    done: Mutex<Vec<A>>,
}

struct PendingQuestions<Q> {
    questions: std::collections::VecDeque<Q>,
    closed: bool,
}

/// A worker for many small requests, answered one by one in the given order. A new list replaces the requests that have not started.
/// Dropping the worker ends its thread after the current answer.
pub struct Stream<Q, A> {
    shared: Arc<StreamState<Q, A>>,
}

impl<Q: Send + 'static, A: Send + 'static> Stream<Q, A> {
    /// Starts the worker. `answer` runs on its thread.
    pub fn start(name: &str, wake: Wake, mut answer: impl FnMut(Q) -> A + Send + 'static) -> Self {
        let shared = Arc::new(StreamState {
            wanted: Mutex::new(PendingQuestions { questions: std::collections::VecDeque::new(), closed: false }),
            submitted: Condvar::new(),
            done: Mutex::new(Vec::new()),
        });
        let worker = Arc::clone(&shared);
        let spawned = std::thread::Builder::new().name(name.to_owned()).spawn(move || {
            while let Some(question) = next_stream_question(&worker) {
                let Some(result) = guarded(|| answer(question)) else { continue };
                worker.done.lock().push(result);
                wake.wake();
            }
        });
        if let Err(error) = spawned {
            tracing::error!(%error, name, "a worker thread could not be started");
        }
        Self { shared }
    }

    /// Sets the list of requests, most urgent first.
    pub fn set_questions(&mut self, questions: impl IntoIterator<Item = Q>) {
        let mut wanted = self.shared.wanted.lock();
        wanted.questions = questions.into_iter().collect();
        self.shared.submitted.notify_one();
    }

    /// Removes and returns the answers that arrived since the last call.
    pub fn take(&mut self) -> Vec<A> {
        std::mem::take(&mut *self.shared.done.lock())
    }
}

fn next_stream_question<Q, A>(shared: &StreamState<Q, A>) -> Option<Q> {
    let mut wanted = shared.wanted.lock();
    loop {
        if wanted.closed {
            return None;
        }
        if let Some(question) = wanted.questions.pop_front() {
            return Some(question);
        }
        wanted = shared.submitted.wait(wanted).unwrap_or_else(PoisonError::into_inner);
    }
}

impl<Q, A> Drop for Stream<Q, A> {
    fn drop(&mut self) {
        self.shared.wanted.lock().closed = true;
        self.shared.submitted.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    fn wait<Q: Send + 'static, A: Send + 'static>(latest: &mut LatestWorker<Q, A>) -> Option<A> {
        let end = Instant::now() + Duration::from_secs(20);
        while Instant::now() < end {
            if let Some(answer) = latest.take() {
                return Some(answer);
            }
            std::thread::yield_now();
        }
        None
    }

    #[test]
    fn newest_request_replaces_older_ones() {
        let (gate, open) = std::sync::mpsc::channel::<()>();
        let mut latest = LatestWorker::start("test", Wake::default(), move |q: u32| {
            let _ = open.recv();
            q * 10
        });
        for q in 1..=5 {
            latest.submit(q);
        }
        drop(gate);
        assert_eq!(wait(&mut latest), Some(50));
        assert!(!latest.is_waiting());
        assert_eq!(latest.take(), None);
    }

    #[test]
    fn result_of_replaced_request_is_dropped() {
        let (answered, seen) = std::sync::mpsc::channel::<u32>();
        let mut latest = LatestWorker::start("test", Wake::default(), move |q: u32| {
            let _ = answered.send(q);
            q
        });
        latest.submit(1);
        assert_eq!(seen.recv_timeout(Duration::from_secs(20)), Ok(1));
        latest.submit(2);
        assert_eq!(wait(&mut latest), Some(2));
    }

    #[test]
    fn replaced_request_is_cancelled_without_result() {
        let (sender, begun) = std::sync::mpsc::channel();
        let answer = move |q: u32, cancel: &Cancel| {
            let _ = sender.send(q);
            while q == 0 && !cancel.is_cancelled() {
                std::thread::yield_now();
            }
            q
        };
        let mut stoppable = Stoppable::start("test", Wake::default(), answer);
        let next = || begun.recv_timeout(Duration::from_secs(20));
        stoppable.submit(0);
        assert_eq!(next(), Ok(0));
        stoppable.submit(1);
        assert_eq!((next(), wait(&mut stoppable.latest)), (Ok(1), Some(1)));
        assert!(!stoppable.stop(), "it was answered");
        stoppable.submit(0);
        assert!(next() == Ok(0) && stoppable.stop() && !stoppable.is_waiting());
        stoppable.submit(2);
        assert_eq!((next(), wait(&mut stoppable.latest)), (Ok(2), Some(2)));
        stoppable.submit(0);
        assert_eq!(next(), Ok(0));
        drop(stoppable);
        assert_eq!(next(), Err(std::sync::mpsc::RecvTimeoutError::Disconnected), "the thread has ended");
    }

    #[test]
    fn panic_of_a_request_keeps_the_worker_running() {
        let mut latest = LatestWorker::start("test", Wake::default(), |q: u32| {
            assert_ne!(q, 1, "one is too few");
            q
        });
        latest.submit(1);
        let end = Instant::now() + Duration::from_secs(20);
        while latest.is_waiting() && Instant::now() < end {
            std::thread::yield_now();
        }
        assert!(!latest.is_waiting(), "an answer that will not come is not awaited");
        latest.submit(2);
        assert_eq!(wait(&mut latest), Some(2));
    }

    #[test]
    fn answers_small_requests_in_requested_order() {
        let mut stream = Stream::start("test", Wake::default(), |q: u32| q + 1);
        stream.set_questions([3, 1, 2]);
        let end = Instant::now() + Duration::from_secs(20);
        let mut answers = Vec::new();
        while answers.len() < 3 && Instant::now() < end {
            answers.extend(stream.take());
            std::thread::yield_now();
        }
        assert_eq!(answers, [4, 2, 3]);
    }
}
