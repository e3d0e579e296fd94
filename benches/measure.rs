//! Measures processor time and memory of whole processes, as counted by the kernel.

#![allow(dead_code)] // Each bench uses a part of this module.

use std::process::Command;
use std::time::{Duration, Instant};

/// Time and memory that one process used.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    /// User and system time of all its threads.
    pub cpu: Duration,
    /// Time from start to end.
    pub wall: Duration,
    /// Peak of anonymous and shared memory in KiB, sampled every 2 ms.
    pub peak_kib: u64,
}

/// Kernel clock ticks per second: 100 on every Linux that Rust runs on.
const TICKS: u64 = 100;

/// Returns the processor time of this process, or of its children that have ended.
pub fn cpu_time(children: bool) -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("procfs");
    // The second field is the name in parentheses, which may contain any character.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let at = if children { 13 } else { 11 };
    let ticks: u64 = fields[at..at + 2].iter().map(|field| field.parse::<u64>().expect("a number")).sum();
    Duration::from_millis(ticks * 1000 / TICKS)
}

pub fn memory_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0)
    };
    field("RssAnon:") + field("RssShmem:")
}

/// Memory that is touched before a command is measured, in bytes.
const PRETOUCHED_BYTES: usize = 512 << 20;

/// Size of the smallest page, in bytes.
const PAGE: usize = 4 << 10;

/// Allocates memory, touches all of it and frees it, so that the system has free memory.
///
/// A virtual machine that has returned free memory to its host requests it again page by page when it is touched. The processor time of
/// this counts for the process that touches the memory: up to 20 times the time of clearing it, with large random variation.
fn touch_free_memory() {
    for _ in 0..2 {
        let Ok(mut map) = memmap2::MmapMut::map_anon(PRETOUCHED_BYTES) else { return };
        #[cfg(target_os = "linux")]
        let _ = map.advise(memmap2::Advice::HugePage);
        map.iter_mut().step_by(PAGE).for_each(|byte| *byte = std::hint::black_box(1));
    }
}

/// Runs a command to its end. Panics if it fails, because the measurement would be meaningless.
pub fn run(command: &mut Command) -> Cost {
    touch_free_memory();
    let before = cpu_time(true);
    let start = Instant::now();
    let mut child = command.spawn().expect("the command can be started");
    let mut peak_kib = 0;
    let status = loop {
        peak_kib = peak_kib.max(memory_kib(child.id()));
        if let Some(status) = child.try_wait().expect("the child can be waited for") {
            break status;
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    assert!(status.success() || status.code() == Some(1), "{command:?}: {status}");
    Cost { cpu: cpu_time(true) - before, wall: start.elapsed(), peak_kib }
}

impl std::fmt::Display for Cost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (cpu, wall) = (self.cpu.as_secs_f64(), self.wall.as_secs_f64());
        write!(f, "{cpu:6.2} CPU s {wall:6.2} s wall {:5} MiB", self.peak_kib / 1024)
    }
}
