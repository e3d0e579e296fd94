//! How to run, as opposed to what to make: never part of a plan's identity, never changes a byte of the output.

use std::path::PathBuf;

/// Options of a run that do not change its result.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Worker threads, at least 1.
    pub threads: usize,
    /// Where spools and sort runs go; `None` means `$TMPDIR`, else the cache folder, else `/tmp`.
    pub scratch: Option<PathBuf>,
    /// Bytes of memory that buffers may take together.
    pub memory_bytes: u64,
    /// Stop at the first problem.
    pub strict: bool,
    /// Throw away what could be resumed.
    pub restart: bool,
    /// Remove another process's lock first.
    pub break_lock: bool,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self { threads: 1, scratch: None, memory_bytes: 256 << 20, strict: false, restart: false, break_lock: false }
    }
}
