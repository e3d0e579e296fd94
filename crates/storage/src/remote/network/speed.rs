//! Measures the speed of the stores, to decide whether a gap is skipped by a new request or read.

use crate::remote::store_settings::{remote_settings, RemoteReads};
use gristmill_core::Mutex;
use std::time::{Duration, Instant};

/// Defaults until the first measurement: time to the first byte in seconds, and bytes per second of one body and of all bodies together.
const FIRST_BYTE: f64 = 0.03;
const BODY_RATE: f64 = 60e6;
const TOTAL_RATE: f64 = 400e6;
/// Bodies below this size, in bytes, are not used to measure the rate.
const MIN_BODY_BYTES: usize = 256 << 10;
/// Weight of a new measurement in the moving average.
const SMOOTHING: f64 = 0.125;
/// Bytes assumed to be read after a gap was skipped.
const JUMP_BYTES: f64 = 4096.0;
/// A gap is skipped unless reading it is faster by this factor, because stores may charge for the bytes that are read.
const PREFERENCE: f64 = 2.0;
/// Bytes of a gap that are always read, and the maximum: a slow answer may also be caused by a busy machine.
const MIN_JUMP: f64 = 16e3;
const MAX_JUMP: f64 = 768e3;

/// The measurements of the process.
static SPEED: Speed = Speed::new();

/// Returns the size of a gap, in bytes, up to which reading is faster than skipping, if several readers read at once.
pub(in crate::remote) fn bytes_worth_a_jump(readers: usize) -> u64 {
    match remote_settings().reads {
        RemoteReads::Auto => SPEED.bytes_worth_a_jump(readers),
        RemoteReads::Ranges => MIN_JUMP as u64,
        RemoteReads::Whole => u64::MAX,
    }
}

/// Counts a body that starts to arrive `first_byte` after its request.
pub(super) fn begin_body(first_byte: Duration) -> BodyTimer {
    SPEED.begin(first_byte);
    BodyTimer { begin: Instant::now(), bytes: 0 }
}

/// A body that is arriving.
pub(super) struct BodyTimer {
    begin: Instant,
    /// Bytes that have arrived.
    pub(super) bytes: usize,
}

impl Drop for BodyTimer {
    fn drop(&mut self) {
        SPEED.end(self.begin.elapsed(), self.bytes);
    }
}

struct Speed(Mutex<Measurements>);

struct Measurements {
    first_byte: f64,
    body_rate: f64,
    total_rate: f64,
    /// Number of bodies that are arriving, the time since when there are any, and the bytes of the bodies that have ended since.
    active: usize,
    since: Option<Instant>,
    bytes: usize,
}

impl Speed {
    const fn new() -> Self {
        Self(Mutex::new(Measurements {
            first_byte: FIRST_BYTE,
            body_rate: BODY_RATE,
            total_rate: TOTAL_RATE,
            active: 0,
            since: None,
            bytes: 0,
        }))
    }

    fn begin(&self, first_byte: Duration) {
        let mut now = self.0.lock();
        approach(&mut now.first_byte, first_byte.as_secs_f64());
        now.active += 1;
        now.since.get_or_insert_with(Instant::now);
    }

    fn end(&self, time: Duration, bytes: usize) {
        let mut now = self.0.lock();
        if bytes >= MIN_BODY_BYTES {
            approach(&mut now.body_rate, rate(bytes, time));
        }
        now.active = now.active.saturating_sub(1);
        now.bytes += bytes;
        let Some(since) = now.since.filter(|_| now.active == 0) else { return };
        let bytes = std::mem::take(&mut now.bytes);
        now.since = None;
        if bytes >= MIN_BODY_BYTES {
            approach(&mut now.total_rate, rate(bytes, since.elapsed()));
        }
    }

    fn bytes_worth_a_jump(&self, readers: usize) -> u64 {
        let now = self.0.lock();
        let readers = readers.max(1) as f64;
        let total = now.total_rate.max(now.body_rate).min(readers * now.body_rate);
        let jump = (now.first_byte + JUMP_BYTES / now.body_rate) / readers;
        (total * jump / PREFERENCE).clamp(MIN_JUMP, MAX_JUMP) as u64
    }
}

fn rate(bytes: usize, time: Duration) -> f64 {
    bytes as f64 / time.as_secs_f64().max(1e-6)
}

fn approach(value: &mut f64, measured: f64) {
    *value += (measured - *value) * SMOOTHING;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Measures bodies of a size that arrive one after another.
    fn measured(first_byte: u64, bytes: usize, time: u64) -> Speed {
        let speed = Speed::new();
        for _ in 0..100 {
            speed.begin(Duration::from_millis(first_byte));
            speed.end(Duration::from_millis(time), bytes);
        }
        speed
    }

    #[test]
    fn slow_answers_increase_and_slow_bodies_decrease_the_bytes_worth_a_jump() {
        let usual = measured(10, 1 << 20, 10).bytes_worth_a_jump(1);
        assert!(measured(200, 1 << 20, 10).bytes_worth_a_jump(1) > usual);
        assert!(measured(10, 1 << 20, 1000).bytes_worth_a_jump(1) < usual / 10);
    }

    #[test]
    fn jump_cost_is_shared_by_concurrent_readers() {
        let speed = measured(50, 8 << 20, 400);
        speed.0.lock().total_rate = 40e6;
        assert!(speed.bytes_worth_a_jump(1) > 8 * speed.bytes_worth_a_jump(64));
        assert!(speed.bytes_worth_a_jump(0) >= MIN_JUMP as u64);
    }

    #[test]
    fn small_bodies_do_not_change_the_measured_rate() {
        let (speed, new) = (measured(30, 4096, 50), Speed::new());
        assert_eq!(speed.0.lock().body_rate.to_bits(), new.0.lock().body_rate.to_bits());
        assert_eq!(speed.0.lock().total_rate.to_bits(), new.0.lock().total_rate.to_bits());
    }
}
