//! What reads the files of a format: `info`, `lint`, `verify` and `repair`.

use crate::engine::browse::TokenBrowser;
use crate::engine::check::{CheckCounts, CheckTexts, DatasetInfo};
use crate::engine::modalities::check::Vocabulary;
use crate::engine::nanosets::check::Depth;
use crate::job::repair::RepairReport;
use crate::job::task::Task;
use gristmill_core::{Handles, Outcome, RunOptions, TokenKind};
use std::path::Path;

/// Reads one layout of files with token ids.
pub trait TokenReader: Sync {
    /// Returns the layout.
    fn kind(&self) -> &'static TokenKind;
    /// Returns the words for what a check counts.
    fn texts(&self) -> CheckTexts;
    /// Whether `--sequence-length` counts the windows of training.
    fn counts_windows(&self) -> bool {
        false
    }
    /// Returns what lists the files for the browser.
    fn browser(&self) -> &'static dyn TokenBrowser;
    /// Describes the files.
    ///
    /// # Errors
    /// The files cannot be read, or `sequence_length` is 0.
    fn info(&self, path: &Path, sequence_length: Option<u64>, handles: &Handles<'_>) -> Outcome<DatasetInfo>;
    /// Checks indexes and sizes, or also every token. Problems go to the handles.
    ///
    /// # Errors
    /// The files cannot be read.
    fn check(&self, path: &Path, request: &CheckRequest<'_>, handles: &Handles<'_>) -> Outcome<CheckCounts>;
    /// Repairs what a program is known to have written wrongly; `None` if nothing is known.
    fn repair(&self, _path: &Path, _is_dry: bool, _options: RunOptions) -> Option<Outcome<Task<RepairReport>>> {
        None
    }
    /// Returns why [`repair`](Self::repair) is not possible, and a command that helps; `quoted` is the path for a shell.
    fn repair_hint(&self, quoted: &str) -> (&'static str, String) {
        (
            "tokens of this kind cannot be repaired",
            format!("gristmill verify {quoted} reports what is wrong; gristmill pack makes them again"),
        )
    }
}

/// How thoroughly files are checked.
#[derive(Clone, Copy, Debug)]
pub struct CheckRequest<'a> {
    /// What is read.
    pub depth: Depth,
    /// No id may exceed the largest of this vocabulary; only used where tokens are read.
    pub vocabulary: Option<&'a Vocabulary>,
    /// Number of threads.
    pub threads: usize,
}

/// Formats the least and the greatest of a range, or their common value.
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

    /// Runs work with handles; returns its result and the problems that were reported.
    pub(crate) fn with_handles<T>(work: impl FnOnce(&Handles<'_>) -> T) -> (T, Vec<Problem>) {
        let (progress, cancel, log) = (Progress::default(), Cancel::default(), ProblemLog::default());
        let done = work(&Handles { progress: &progress, cancel: &cancel, problems: &log });
        (done, log.to_vec())
    }

    /// Checks files; ids are compared with a vocabulary of this greatest id.
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

    /// Returns what a complete check reports, and why it failed.
    pub(crate) fn report(reader: &dyn TokenReader, path: &Path, greatest: Option<u32>) -> String {
        let (done, problems) = check(reader, path, Depth::Tokens, greatest);
        let messages = problems.into_iter().map(|problem| problem.message);
        messages.chain(done.err().map(|failure| failure.to_string())).collect::<Vec<_>>().join("; ")
    }

    /// Returns a source of numbers below a limit, which prints its seed.
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
