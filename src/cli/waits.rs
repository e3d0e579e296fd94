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
            let (mut walked, mut walk_line_at) = (walked_entries(), Instant::now() + SILENT_TIME);
            while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(POLL_INTERVAL) {
                if context.has_screen() {
                    return;
                }
                match walked_entries() {
                    entries if entries == walked => walk_line_at = Instant::now() + SILENT_TIME,
                    entries => walked = entries,
                }
                if Instant::now() >= walk_line_at {
                    walk_line_at += FOLDERS_LINE_EVERY;
                    context
                        .printer
                        .progress_line(format!("looking through folders: {} entries so far", grouped(walked)));
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
