use super::super::tests::limits;
use super::gate::HostGate;
use super::*;
use tokio::runtime::Runtime;

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_time().build().unwrap()
}

/// Returns the number of concurrent requests that a host permits.
async fn at_once(gate: &Arc<HostGate>) -> usize {
    let mut slots = Vec::new();
    while let Ok(slot) = timeout(Duration::from_millis(20), gate.wait_for_slot()).await {
        slots.push(slot);
    }
    slots.len()
}

#[test]
fn concurrent_requests_of_a_host_decrease_after_refusals_and_recover() {
    runtime().block_on(async {
        let gate = Arc::new(HostGate::new(20));
        assert_eq!(at_once(&gate).await, 16);
        // Refusals that arrive together count once.
        (0..5).for_each(|_| gate.refuse(None));
        assert_eq!(at_once(&gate).await, 11);
        tokio::time::sleep(Duration::from_millis(350)).await;
        assert!((14..=15).contains(&at_once(&gate).await));
        tokio::time::sleep(Duration::from_millis(900)).await;
        assert_eq!(at_once(&gate).await, 20);
        assert_eq!(at_once(&Arc::new(HostGate::new(3))).await, 3);
    });
}

#[test]
fn requested_pause_delays_every_request_of_the_host() {
    runtime().block_on(async {
        let gate = Arc::new(HostGate::new(4));
        gate.refuse(Some(Duration::from_millis(300)));
        let begin = Instant::now();
        let (one, other) = (Arc::clone(&gate), Arc::clone(&gate));
        let tasks = [
            tokio::task::spawn(async move { drop(one.wait_for_slot().await) }),
            tokio::task::spawn(async move { drop(other.wait_for_slot().await) }),
        ];
        for task in tasks {
            task.await.unwrap();
            assert!(begin.elapsed() >= Duration::from_millis(300));
        }
    });
}

#[test]
fn requests_after_an_unanswered_host_get_one_short_try() {
    let limits = NetworkLimits { connections: 4, ..NetworkLimits::of_process() };
    let gate = Arc::new(HostGate::new(4));
    assert_eq!(gate.first_byte(&limits), limits.first_patience);
    let reason = RetryReason::new("the server sends nothing");
    runtime().block_on(async {
        let mut first =
            RetryLimiter::new(NetworkLimits { first_patience: Duration::ZERO, ..limits.clone() }, Arc::clone(&gate));
        assert!(first.wait(&reason).await.is_err());
        assert_eq!(gate.first_byte(&limits), limits.connect);
        let failure = RetryLimiter::new(limits.clone(), Arc::clone(&gate)).wait(&reason).await.unwrap_err();
        assert_eq!(failure.why, "the server sends nothing, after 1 try");
        gate.set_answered(true);
        assert_eq!(gate.first_byte(&limits), limits.first_byte);
        assert!(RetryLimiter::new(limits.clone(), Arc::clone(&gate)).wait(&reason).await.is_ok());
    });
}

#[test]
fn a_host_has_all_tries_once_an_answer_was_none_of_a_failing_server() {
    let limits = NetworkLimits { first_patience: Duration::ZERO, ..limits() };
    let gate = Arc::new(HostGate::new(4));
    let reason = RetryReason::new("the store answers 500");
    let is_tried_again =
        || runtime().block_on(RetryLimiter::new(limits.clone(), Arc::clone(&gate)).wait(&reason)).is_ok();
    for (is_working, is_repeated) in [(false, false), (true, true), (false, true)] {
        gate.set_answered(is_working);
        assert_eq!(is_tried_again(), is_repeated);
    }
}

#[test]
fn host_with_the_longest_unanswered_request_is_named() {
    use crate::traffic::silent_host;
    let is_named = || silent_host(Duration::ZERO).is_some_and(|host| host == "first.example:1");
    let first = CountedRequest::begin("first.example:1");
    let second = CountedRequest::begin("second.example\u{1b}");
    assert!(silent_host(Duration::from_secs(3_600)).is_none());
    assert!(silent_host(Duration::ZERO).is_some_and(|host| !host.contains('\u{1b}')));
    drop(second);
    first.set_answered();
    assert!(!is_named());
}
