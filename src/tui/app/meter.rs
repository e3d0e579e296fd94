//! The text of the title line about transfers from and to stores.

use gristmill_core::text;
use gristmill_storage::traffic::Traffic;
use std::time::{Duration, Instant};

/// Time over which rates are measured.
const INTERVAL: Duration = Duration::from_millis(500);
/// Time after which a measurement is too old, and a new one starts.
const MAX_INTERVAL: Duration = Duration::from_secs(1);

/// Measures the rates at which stores send and receive data.
#[derive(Debug)]
pub(super) struct TrafficMeter {
    since: Instant,
    last_traffic: Traffic,
    /// The counters when they were last read.
    last: Traffic,
    text: Option<String>,
}

impl TrafficMeter {
    pub(super) fn new(now: Instant, traffic: Traffic) -> Self {
        Self { since: now, last_traffic: traffic, last: traffic, text: None }
    }

    /// Reads the counters; `silent` is the host that has not answered for a while. Returns whether the text has changed.
    pub(super) fn read(&mut self, now: Instant, traffic: Traffic, silent: Option<String>) -> bool {
        let time = now.saturating_duration_since(self.since);
        let is_over = traffic.requests == 0 && traffic == self.last;
        self.last = traffic;
        // After a pause, the rate would be an average over time without a transfer.
        if is_over || time > MAX_INTERVAL {
            (self.since, self.last_traffic) = (now, traffic);
            return self.text.take().is_some();
        }
        if time < INTERVAL {
            return false;
        }
        let rate = |now: u64, before: u64| {
            let bytes = now.saturating_sub(before) as f64 / time.as_secs_f64();
            (bytes >= 1.0).then(|| format!("{}/s", text::bytes(bytes as u64)))
        };
        let (received, sent) =
            (rate(traffic.received, self.last_traffic.received), rate(traffic.sent, self.last_traffic.sent));
        let text = match (received, sent) {
            (Some(received), Some(sent)) => Some(format!("{received} from the store, {sent} to it")),
            (Some(received), None) => Some(format!("{received} from the store")),
            (None, Some(sent)) => Some(format!("{sent} to the store")),
            // No text for answers that arrive quickly.
            (None, None) => {
                let host = silent.unwrap_or_else(|| "the store".to_owned());
                (traffic.requests > 0 && self.last_traffic.requests > 0).then(|| format!("waiting for {host}"))
            }
        };
        (self.since, self.last_traffic) = (now, traffic);
        std::mem::replace(&mut self.text, text) != self.text
    }

    /// Whether a transfer is in progress or shown.
    pub(super) fn is_active(&self) -> bool {
        self.text.is_some() || self.last.requests > 0
    }

    pub(super) fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traffic_rate_covers_time_since_last_reading() {
        let begin = Instant::now();
        let at = |milliseconds| begin + Duration::from_millis(milliseconds);
        let idle = Traffic { received: 1000, ..Traffic::default() };
        let mut meter = TrafficMeter::new(begin, idle);
        assert!(!meter.read(at(100), Traffic { received: 9000, ..idle }, None), "too early");
        assert!(meter.read(at(500), Traffic { requests: 2, received: 1000 + (2 << 20), ..idle }, None));
        assert_eq!(meter.text(), Some("4.0 MiB/s from the store"));
        let both = Traffic { requests: 2, received: 1000 + (3 << 20), sent: 512 << 10, ..idle };
        assert!(meter.read(at(1500), both, None));
        assert_eq!(meter.text(), Some("1.0 MiB/s from the store, 512.0 KiB/s to it"));
        assert!(meter.read(at(2000), both, None));
        assert_eq!(meter.text(), Some("waiting for the store"));
        assert!(meter.read(at(2500), both, Some("host:80".into())));
        assert_eq!(meter.text(), Some("waiting for host:80"));
        assert!(meter.read(at(3000), Traffic { requests: 0, ..both }, None) && !meter.is_active());
    }

    #[test]
    fn traffic_rate_is_hidden_after_transfer() {
        let begin = Instant::now();
        let at = |milliseconds| begin + Duration::from_millis(milliseconds);
        let mut meter = TrafficMeter::new(begin, Traffic::default());
        let under_way = Traffic { requests: 1, begun: 1, received: 1 << 20, ..Traffic::default() };
        let over = Traffic { requests: 0, ..under_way };
        assert!(meter.read(at(500), under_way, None));
        assert!(!meter.read(at(600), over, None), "another request may follow at once");
        assert!(meter.read(at(700), over, None) && !meter.is_active());
        // Data of a later transfer must not be averaged over the pause before it.
        let next = Traffic { requests: 1, begun: 2, received: 2 << 20, ..over };
        assert!(!meter.read(at(60_000), next, None) && meter.text().is_none() && meter.is_active());
        assert!(meter.read(at(60_500), Traffic { received: 3 << 20, ..next }, None));
        assert_eq!(meter.text(), Some("2.0 MiB/s from the store"));
    }
}
