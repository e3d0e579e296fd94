//! Threads for reads that may wait for a store, so that the other threads can answer requests for names and attributes.

use super::requests::TakenRequest;
use gristmill_core::Mutex;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, PoisonError};
use std::thread::{Builder, JoinHandle};

/// Answers a request.
type Answer = Box<dyn FnOnce(&TakenRequest) + Send>;

/// A read that waits for a thread.
struct QueuedRead {
    request: TakenRequest,
    answer: Answer,
}

impl QueuedRead {
    fn answer(self) {
        (self.answer)(&self.request);
    }
}

/// Threads that answer reads, started on demand.
pub(crate) struct Readers {
    max: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    queue: VecDeque<QueuedRead>,
    threads: Vec<JoinHandle<()>>,
    /// Number of threads that wait for a read.
    idle: usize,
    is_ended: bool,
}

impl Readers {
    /// Creates readers with at most `max` threads.
    pub(crate) fn new(max: usize) -> Arc<Self> {
        Arc::new(Self { max, state: Mutex::default(), changed: Condvar::new() })
    }

    /// Queues a read, which the next free thread answers.
    pub(crate) fn answer(self: &Arc<Self>, request: TakenRequest, answer: Answer) {
        let mut state = self.state.lock();
        state.queue.push_back(QueuedRead { request, answer });
        if state.queue.len() > state.idle && state.threads.len() < self.max {
            let readers = Arc::clone(self);
            match Builder::new().name("reader".to_owned()).spawn(move || readers.run()) {
                Ok(thread) => state.threads.push(thread),
                // Without any thread, the calling thread answers the read.
                Err(_) if state.threads.is_empty() => {
                    let read = state.queue.pop_back();
                    drop(state);
                    return read.into_iter().for_each(QueuedRead::answer);
                }
                Err(_) => {}
            }
        }
        drop(state);
        self.changed.notify_one();
    }

    /// Answers the reads that were cancelled while they were queued.
    pub(crate) fn answer_cancelled(&self) {
        let mut state = self.state.lock();
        let (cancelled, queue) =
            std::mem::take(&mut state.queue).into_iter().partition(|read| read.request.is_cancelled());
        state.queue = queue;
        drop(state);
        let cancelled: VecDeque<QueuedRead> = cancelled;
        cancelled.into_iter().for_each(QueuedRead::answer);
    }

    /// Waits until all reads are answered. No reads may be added afterwards.
    pub(crate) fn end(&self) {
        let mut state = self.state.lock();
        state.is_ended = true;
        let threads = std::mem::take(&mut state.threads);
        drop(state);
        self.changed.notify_all();
        for thread in threads {
            // The thread has already reported a panic.
            let _ = thread.join();
        }
    }

    fn run(&self) {
        while let Some(read) = self.next() {
            read.answer();
        }
    }

    fn next(&self) -> Option<QueuedRead> {
        let mut state = self.state.lock();
        loop {
            if let Some(read) = state.queue.pop_front() {
                return Some(read);
            }
            if state.is_ended {
                return None;
            }
            state.idle += 1;
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.idle -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::requests::Requests;
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn reads_are_queued_for_threads_and_answered_after_cancellation() {
        let (requests, readers) = (Arc::new(Requests::default()), Readers::new(2));
        let (answered, answers) = mpsc::channel();
        let (go_on, wait) = mpsc::channel();
        let wait = Arc::new(Mutex::new(wait));
        let read = |number: u32| {
            let (answered, wait) = (answered.clone(), Arc::clone(&wait));
            let answer = move |request: &TakenRequest| {
                if !request.is_cancelled() {
                    wait.lock().recv().unwrap();
                }
                answered.send(number).unwrap();
            };
            readers.answer(requests.begin(number), Box::new(answer));
        };
        (1..=5).for_each(read);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                requests.end_abandoned_waits(|process| process == 4, || false, || readers.answer_cancelled())
            });
            assert_eq!(answers.recv().unwrap(), 4, "the others wait");
            requests.end();
        });
        (0..4).for_each(|_| go_on.send(()).unwrap());
        readers.end();
        drop(answered);
        let mut rest: Vec<u32> = answers.iter().collect();
        rest.sort_unstable();
        assert_eq!(rest, [1, 2, 3, 5]);
        assert!(readers.state.lock().queue.is_empty());
    }
}
