//! Readers of token files for `info`, `lint`, `verify` and `repair`.

use crate::engine::browse::TokenBrowser;
use crate::engine::check::tokens::Depth;
use crate::engine::check::tokens::Vocabulary;
use crate::engine::check::{CheckCounts, CheckTexts, DatasetInfo};
use crate::job::repair::RepairReport;
use crate::job::task::Task;
use gristmill_core::{Handles, Outcome, RunOptions, TokenKind};
use std::path::Path;

/// Reads one layout of token files.
pub trait TokenReader: Sync {
    /// Returns the layout.
    fn kind(&self) -> &'static TokenKind;
    /// Returns the words for the items that a check counts.
    fn texts(&self) -> CheckTexts;
    /// Whether `--sequence-length` counts training windows.
    fn has_windows(&self) -> bool {
        false
    }
    /// Returns the browser that lists the files.
    fn browser(&self) -> &'static dyn TokenBrowser;
    /// Describes the files.
    ///
    /// # Errors
    /// The files cannot be read, or `sequence_length` is 0.
    fn info(&self, path: &Path, sequence_length: Option<u64>, handles: &Handles<'_>) -> Outcome<DatasetInfo>;
    /// Checks the indexes and sizes, and at greater depth every token. Reports problems to the handles.
    ///
    /// # Errors
    /// The files cannot be read.
    fn check(&self, path: &Path, request: &CheckRequest<'_>, handles: &Handles<'_>) -> Outcome<CheckCounts>;
    /// Starts to repair known errors of other programs; `None` if no such error is known for this layout.
    fn repair(&self, _path: &Path, _is_dry: bool, _options: RunOptions) -> Option<Outcome<Task<RepairReport>>> {
        None
    }
    /// Returns the reason why [`repair`](Self::repair) is not possible, and a hint. `quoted` is the path, quoted for a shell.
    fn repair_hint(&self, quoted: &str) -> (&'static str, String) {
        (
            "tokens of this kind cannot be repaired",
            format!("gristmill verify {quoted} reports what is wrong; gristmill pack makes them again"),
        )
    }
}

/// Options of a check.
#[derive(Clone, Copy, Debug)]
pub struct CheckRequest<'a> {
    /// How much of the files is read.
    pub depth: Depth,
    /// The vocabulary that limits the ids. Used only if tokens are read.
    pub vocabulary: Option<&'a Vocabulary>,
    /// Number of threads.
    pub threads: usize,
}

/// Formats a range of numbers, or a single number if both ends are equal.
pub(crate) fn range_text(least: u64, greatest: u64) -> String {
    use gristmill_core::text::grouped;
    match least == greatest {
        true => grouped(greatest),
        false => format!("{} to {}", grouped(least), grouped(greatest)),
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;
    use gristmill_core::{Cancel, Problem, ProblemLog, Progress};

    /// Calls `work` with handles; returns its result and the reported problems.
    pub(crate) fn with_handles<T>(work: impl FnOnce(&Handles<'_>) -> T) -> (T, Vec<Problem>) {
        let (progress, cancel, log) = (Progress::default(), Cancel::default(), ProblemLog::default());
        let done = work(&Handles { progress: &progress, cancel: &cancel, problems: &log });
        (done, log.to_vec())
    }

    /// Checks files. No id may be greater than `greatest`.
    pub(crate) fn check(
        reader: &dyn TokenReader,
        path: &Path,
        depth: Depth,
        greatest: Option<u32>,
    ) -> (Outcome<CheckCounts>, Vec<Problem>) {
        let vocabulary = greatest.map(|greatest| Vocabulary { name: "the test".into(), greatest });
        let request = CheckRequest { depth, vocabulary: vocabulary.as_ref(), threads: 2 };
        with_handles(|handles| reader.check(path, &request, handles))
    }

    /// Returns the messages of a complete check, including that of a failure.
    pub(crate) fn report(reader: &dyn TokenReader, path: &Path, greatest: Option<u32>) -> String {
        let (done, problems) = check(reader, path, Depth::Tokens, greatest);
        let messages = problems.into_iter().map(|problem| problem.message);
        messages.chain(done.err().map(|failure| failure.to_string())).collect::<Vec<_>>().join("; ")
    }

    /// Returns a generator of random numbers below a limit. Prints its seed.
    pub(crate) fn numbers(seed: u64) -> impl FnMut(usize) -> usize {
        println!("seed {seed:#x}");
        let mut state = seed;
        move |limit| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state % limit.max(1) as u64) as usize
        }
    }
}
