//! Kills at moments spread over the duration of a run.

use crate::cli_support::Sandbox;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Returns the number of rounds of each test: `GRISTMILL_KILLS`, or 3.
pub fn rounds() -> u32 {
    std::env::var("GRISTMILL_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(3)
}

/// Returns the seed of the random numbers of a test: `GRISTMILL_SEED`, or a different one in each run. A failing test shows it.
#[expect(clippy::print_stdout, reason = "without the seed, a failure cannot be repeated")]
pub fn seed() -> u64 {
    let given = std::env::var("GRISTMILL_SEED").ok().map(|text| text.parse().expect("GRISTMILL_SEED is a number"));
    let seed = given.unwrap_or_else(|| RandomState::new().build_hasher().finish());
    println!("seed {seed} (GRISTMILL_SEED repeats it)");
    seed
}

/// Pseudo-random moments.
pub struct KillTimes(u64);

impl Default for KillTimes {
    fn default() -> Self {
        Self(seed())
    }
}

impl KillTimes {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as f64 / f64::from(1u32 << 31)
    }
}

/// Runs the program and kills it repeatedly until a run ends before the kill; returns the number of kills.
///
/// `whole` is the duration of a run. Each kill is later than the previous one by `patience` times that, so that a run ends eventually.
pub fn kill_until_done(
    sandbox: &Sandbox,
    words: &[&str],
    whole: Duration,
    patience: f64,
    moments: &mut KillTimes,
) -> u32 {
    let mut stopped = 0;
    loop {
        let until = Instant::now() + whole.mul_f64(moments.next() + patience * f64::from(stopped));
        let mut child = sandbox.command(words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        while Instant::now() < until && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        if let Some(status) = child.try_wait().unwrap() {
            assert_eq!(status.code(), Some(0), "after {stopped} kills: {words:?}");
            return stopped;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        stopped += 1;
    }
}
