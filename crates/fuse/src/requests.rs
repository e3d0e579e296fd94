//! Requests in progress, and the processes that wait for them.
//!
//! The kernel makes a killed process wait for the answer to a request that the server has accepted, and the session does not pass on the
//! request that reports this (FUSE_INTERRUPT). So a thread checks whether the processes of slow requests were killed, and cancels the waits
//! for stores of these requests.

use gristmill_core::{Cancel, Mutex, WaitScope};
use rustix::io::Errno;
use rustix::process::{test_kill_process, Pid};
use signal_hook::consts::{SIGINT, SIGKILL, SIGTERM};
use std::collections::HashMap;
use std::sync::{Arc, Condvar, PoisonError};
use std::time::{Duration, Instant};

/// Interval between checks; a request that ends before the second check is not examined.
const INTERVAL: Duration = Duration::from_millis(200);
/// Time during which repeated requests are cancelled after a cancellation of all waits.
const ENDING_TIME: Duration = Duration::from_secs(3);
/// The signals that end a program, including ones that a program may handle first. A fatal signal without a handler appears as `SIGKILL`.
const END_SIGNALS: [i32; 3] = [SIGINT, SIGKILL, SIGTERM];

/// The requests in progress.
#[derive(Default)]
pub(crate) struct Requests {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Number of all requests so far.
    count: u64,
    active: HashMap<u64, ActiveRequest>,
    /// Whether the checking thread waits for a request.
    is_idle: bool,
    /// Time until which slow requests are cancelled, because the kernel and programs repeat cancelled requests.
    ending_until: Option<Instant>,
    is_ended: bool,
}

struct ActiveRequest {
    /// The process that waits for the answer; 0 if unknown.
    process: u32,
    cancel: Cancel,
    /// Whether the request was already in progress at the last check.
    is_long: bool,
    was_killed: bool,
}

/// A slow request.
struct LongRequest {
    number: u64,
    process: u32,
    cancel: Cancel,
}

/// A request that the kernel has sent and that is not answered yet.
pub(crate) struct TakenRequest {
    requests: Arc<Requests>,
    number: u64,
    cancel: Cancel,
}

impl TakenRequest {
    /// Records that this thread answers the request.
    pub(crate) fn begin_answer(&self) -> WaitScope {
        self.cancel.begin_wait_scope()
    }

    /// Whether its wait was cancelled.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    /// Whether its wait was cancelled because its process was killed.
    pub(crate) fn was_killed(&self) -> bool {
        self.requests.state.lock().active.get(&self.number).is_some_and(|request| request.was_killed)
    }
}

impl Drop for TakenRequest {
    fn drop(&mut self) {
        self.requests.state.lock().active.remove(&self.number);
    }
}

impl Requests {
    /// Adds a request of a process.
    pub(crate) fn begin(self: &Arc<Self>, process: u32) -> TakenRequest {
        let cancel = Cancel::default();
        let mut state = self.state.lock();
        state.count += 1;
        let number = state.count;
        let active = ActiveRequest { process, cancel: cancel.clone(), is_long: false, was_killed: false };
        state.active.insert(number, active);
        if std::mem::take(&mut state.is_idle) {
            self.changed.notify_all();
        }
        drop(state);
        TakenRequest { requests: Arc::clone(self), number, cancel }
    }

    /// Cancels the waits for stores of all requests in progress, and of slow requests that follow immediately. Later requests come from
    /// programs that still use the mount.
    pub(crate) fn end_waits(&self) {
        let mut state = self.state.lock();
        state.ending_until = Some(Instant::now() + ENDING_TIME);
        state.active.values().for_each(|request| request.cancel.cancel());
    }

    /// Stops [`end_abandoned_waits`](Self::end_abandoned_waits).
    pub(crate) fn end(&self) {
        self.state.lock().is_ended = true;
        self.changed.notify_all();
    }

    /// Cancels the waits of slow requests whose process was killed, and of all requests if the connection has ended, until [`end`](Self::end)
    /// is called. `done` is called after each check.
    pub(crate) fn end_abandoned_waits(
        &self,
        was_killed: impl Fn(u32) -> bool,
        is_disconnected: impl Fn() -> bool,
        done: impl Fn(),
    ) {
        while self.wait() {
            let (long, is_ending) = self.long();
            for request in long {
                if was_killed(request.process) {
                    if let Some(active) = self.state.lock().active.get_mut(&request.number) {
                        active.was_killed = true;
                    }
                } else if !is_ending && !is_disconnected() {
                    continue;
                }
                request.cancel.cancel();
            }
            done();
        }
    }

    /// Waits until the next check is due; returns `false` at the end.
    fn wait(&self) -> bool {
        let mut state = self.state.lock();
        while state.active.is_empty() && !state.is_ended {
            state.is_idle = true;
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let is_going_on = |state: &mut State| !state.is_ended;
        let waited = self.changed.wait_timeout_while(state, INTERVAL, is_going_on);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        !state.is_ended
    }

    /// Returns the requests that were already in progress at the last check, and whether all of them are cancelled; marks the current ones.
    fn long(&self) -> (Vec<LongRequest>, bool) {
        let mut state = self.state.lock();
        let is_ending = state.ending_until.is_some_and(|until| Instant::now() < until);
        let requests = state.active.iter_mut();
        let long = requests.filter_map(|(&number, request)| {
            let was_there = std::mem::replace(&mut request.is_long, true);
            let (process, cancel) = (request.process, request.cancel.clone());
            (was_there && !cancel.is_cancelled()).then_some(LongRequest { number, process, cancel })
        });
        (long.collect(), is_ending)
    }
}

/// Returns a function that determines whether a thread or process was killed. It returns `false` if process numbers differ from those in
/// `/proc`.
pub(crate) fn killed_processes() -> impl Fn(u32) -> bool {
    let own = read_status("self").and_then(|status| field(&status, "Pid:", 10));
    let is_usable = own == Some(u64::from(std::process::id()));
    move |process| {
        // A process that has ended does not wait. A process that is hidden from this one is not known to have been killed.
        let is_gone = || {
            let id = i32::try_from(process).ok().and_then(Pid::from_raw);
            id.is_some_and(|id| test_kill_process(id) == Err(Errno::SRCH))
        };
        let is_killed = || read_status(&process.to_string()).map_or_else(is_gone, |status| is_ending(&status));
        is_usable && process != 0 && is_killed()
    }
}

fn read_status(process: &str) -> Option<String> {
    let status = gristmill_storage::files::read(format!("/proc/{process}/status")).ok()?;
    Some(String::from_utf8_lossy(&status).into_owned())
}

/// Whether a fatal signal is pending for a thread with this status until its request is answered.
fn is_ending(status: &str) -> bool {
    let signals = |name| field(status, name, 16).unwrap_or_default();
    // Signals for the whole process may be pending for another thread.
    let is_only_thread = field(status, "Threads:", 10) == Some(1);
    let shared = if is_only_thread { signals("ShdPnd:") } else { 0 };
    let pending = (signals("SigPnd:") | shared) & !signals("SigBlk:");
    END_SIGNALS.iter().any(|signal| pending >> (signal - 1) & 1 != 0)
}

/// Returns the number in the field `name` of a `/proc/PID/status` file, which is written with this radix.
fn field(status: &str, name: &str, radix: u32) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    u64::from_str_radix(line.trim(), radix).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers a request of a process once its wait is cancelled; returns whether its process was killed.
    fn wait_for_end(requests: &Arc<Requests>, process: u32) -> bool {
        let request = requests.begin(process);
        let _waits = request.begin_answer();
        while !Cancel::of_thread().is_cancelled() {
            std::thread::yield_now();
        }
        request.was_killed()
    }

    #[test]
    fn waits_of_killed_processes_end_at_once_and_others_with_the_mount() {
        let requests = Arc::new(Requests::default());
        let other = requests.begin(1);
        let waits = other.begin_answer();
        std::thread::scope(|scope| {
            scope.spawn(|| requests.end_abandoned_waits(|process| process == 2, || false, || ()));
            assert!(scope.spawn(|| wait_for_end(&requests, 2)).join().unwrap());
            assert!(!Cancel::of_thread().is_cancelled());
            requests.end_waits();
            assert!(Cancel::of_thread().is_cancelled() && !other.was_killed());
            // A repeated request may be answered, but does not wait for long.
            assert!(!scope.spawn(|| wait_for_end(&requests, 1)).join().unwrap());
            requests.end();
        });
        drop((waits, other));
        assert!(requests.state.lock().active.is_empty());
        assert!(!Cancel::of_thread().is_cancelled());
    }

    #[test]
    fn all_requests_end_when_the_connection_ends() {
        let requests = Arc::new(Requests::default());
        std::thread::scope(|scope| {
            scope.spawn(|| requests.end_abandoned_waits(|_| false, || true, || ()));
            let requests = &requests;
            let waits = [1, 2].map(|process| scope.spawn(move || wait_for_end(requests, process)));
            assert!(waits.into_iter().all(|wait| !wait.join().unwrap()));
            requests.end();
        });
    }

    #[test]
    fn process_counts_as_killed_if_it_is_gone_or_has_a_fatal_signal() {
        let was_killed = killed_processes();
        assert!(!was_killed(std::process::id()) && !was_killed(0));
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        assert!(was_killed(child.id()));
        let status =
            "Pid:\t7\nThreads:\t1\nSigPnd:\t0000000000000000\nShdPnd:\t0000000000010102\nSigBlk:\t0000000000000002\n";
        assert!(is_ending(status));
        // SIGINT is blocked, and SIGCHLD is not fatal.
        assert!(!is_ending(&status.replacen("10102", "10002", 1)));
        assert!(!is_ending(&status.replacen("10102", "10001", 1)), "a program may handle SIGHUP and continue");
        let killed = status.replacen("10102", "10100", 1);
        assert!(is_ending(&killed));
        let other_thread = killed.replacen("Threads:\t1", "Threads:\t2", 1);
        assert!(!is_ending(&other_thread));
        assert!(is_ending(&other_thread.replacen("SigPnd:\t0000000000000000", "SigPnd:\t0000000000000100", 1)));
        assert_eq!((field(status, "Pid:", 10), field("", "Pid:", 10)), (Some(7), None));
    }
}
