//! Reports on stderr which host a command waits for, and that it looks through folders.

use super::context::Context;
use gristmill_core::text::grouped;
use gristmill_storage::traffic::{silent_host, traffic};
use gristmill_storage::walk::walked_entries;
use std::io::IsTerminal;
use std::sync::mpsc::{channel, RecvTimeoutError};
use std::time::{Duration, Instant};

/// Time without an answer after which the host is reported.
const SILENT_TIME: Duration = Duration::from_secs(2);
/// Time between two lines about folders that are looked through.
const FOLDERS_LINE_EVERY: Duration = Duration::from_secs(10);
/// Interval between two checks of the requests.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Decides when the progress of a walk through folders is reported.
struct WalkReport {
    /// Number of entries at the last check.
    walked: u64,
    line_at: Instant,
}

impl WalkReport {
    /// Returns the line that is due at a time at which this number of entries was found.
    fn line(&mut self, now: Instant, walked: u64) -> Option<String> {
        if walked == self.walked {
            self.line_at = now + SILENT_TIME;
        }
        self.walked = walked;
        if now < self.line_at {
            return None;
        }
        self.line_at += FOLDERS_LINE_EVERY;
        Some(format!("looking through folders: {} entries so far", grouped(walked)))
    }
}

/// Runs a command. On a terminal, reports once if a host does not answer, and repeatedly the progress of a long walk through folders,
/// unless the full screen is open.
pub fn report_waits<T>(context: &Context, work: impl FnOnce() -> T) -> T {
    if context.printer.is_json() || context.printer.is_quiet() || !std::io::stderr().is_terminal() {
        return work();
    }
    let (done, ended) = channel::<()>();
    std::thread::scope(|scope| {
        let watch = move || {
            let (mut seen, mut since) = (traffic(), Instant::now());
            let mut walk = WalkReport { walked: walked_entries(), line_at: Instant::now() + SILENT_TIME };
            while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(POLL_INTERVAL) {
                if context.has_screen() {
                    return;
                }
                if let Some(line) = walk.line(Instant::now(), walked_entries()) {
                    context.printer.progress_line(line);
                }
                let now = traffic();
                if (now.received, now.sent) != (seen.received, seen.sent) {
                    (seen, since) = (now, Instant::now());
                }
                // The host is not reported while other requests transfer data.
                if let Some(host) = silent_host(SILENT_TIME).filter(|_| since.elapsed() >= SILENT_TIME) {
                    return context.printer.progress_line(format!("waiting for {host}"));
                }
            }
        };
        // If the thread cannot be started, no hosts are reported.
        _ = std::thread::Builder::new().name("waits".to_owned()).spawn_scoped(scope, watch);
        let _done = done;
        work()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_walk_through_folders_is_reported_every_ten_seconds() {
        let start = Instant::now();
        let mut walk = WalkReport { walked: 0, line_at: start + SILENT_TIME };
        let lines: Vec<(u64, String)> = (1..=25)
            .filter_map(|second| Some((second, walk.line(start + Duration::from_secs(second), second * 1_000)?)))
            .collect();
        let line = |second: u64| (second, format!("looking through folders: {second},000 entries so far"));
        assert_eq!(lines, [line(2), line(12), line(22)]);
    }

    #[test]
    fn pause_of_a_walk_through_folders_is_not_reported() {
        let start = Instant::now();
        let mut walk = WalkReport { walked: 0, line_at: start + SILENT_TIME };
        for second in 0..20 {
            assert_eq!(walk.line(start + Duration::from_secs(second), 1_000 * (second / 2)), None, "{second}");
        }
    }
}
