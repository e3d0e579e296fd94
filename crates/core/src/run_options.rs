//! How to run, as opposed to what to make: never part of a plan's identity, never changes a byte of the output.

use std::path::PathBuf;

/// Options of a run that do not change its result.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Number of worker threads, at least 1.
    pub threads: usize,
    /// Folder for spools and sort runs; `None` means `$TMPDIR`, else the cache folder, else `/tmp`.
    pub scratch: Option<PathBuf>,
    /// Total memory that buffers may use, in bytes.
    pub memory_bytes: u64,
    /// Stops at the first problem.
    pub strict: bool,
    /// Leaves out files and row groups that are damaged, each a problem, in place of ending the run.
    pub leaves_out_damage: bool,
    /// Discards the results of a stopped run instead of resuming it.
    pub restart: bool,
    /// Removes another process's lock first.
    pub break_lock: bool,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            threads: 1,
            scratch: None,
            memory_bytes: 256 << 20,
            strict: false,
            leaves_out_damage: false,
            restart: false,
            break_lock: false,
        }
    }
}
