//! Options of a run that are not part of a plan: they do not affect the bytes of the output or the identity of the plan.

use std::path::PathBuf;

/// Options of a run that do not affect its result.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Number of worker threads, at least 1.
    pub threads: usize,
    /// Folder for temporary files; `None` means `$TMPDIR`, or else the cache folder, or else `/tmp`.
    pub scratch: Option<PathBuf>,
    /// Memory limit for all buffers, in bytes.
    pub memory_bytes: u64,
    /// Whether to stop at the first problem.
    pub strict: bool,
    /// Whether to omit damaged files and row groups and report a problem for each, instead of ending the run.
    pub omits_damage: bool,
    /// Whether to discard the results of a stopped run instead of resuming it.
    pub restart: bool,
    /// Whether to remove the lock of another process first.
    pub break_lock: bool,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            threads: 1,
            scratch: None,
            memory_bytes: 256 << 20,
            strict: false,
            omits_damage: false,
            restart: false,
            break_lock: false,
        }
    }
}
