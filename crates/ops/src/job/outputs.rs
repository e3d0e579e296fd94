//! The files that a running job writes, and the state of each.

use gristmill_core::Mutex;
use serde::Serialize;
use std::collections::HashMap;
use std::path::PathBuf;

/// Limit of listed files; further files are only counted.
const MAX_LISTED_FILES: usize = 1_000;

/// State of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutputState {
    /// Not started.
    Waiting,
    /// Being written, in the run folder.
    Writing,
    /// Complete, in the run folder.
    Written,
    /// Visible under its name.
    Published,
    /// The job ended without publishing it. The written part is still in the run folder, and the next run resumes from it.
    Kept,
    /// The job ended without publishing it, and the written part was removed.
    Removed,
}

/// Status of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OutputStatus {
    /// Name relative to the folder of the output; raw.
    pub name: String,
    /// State of the file.
    pub state: OutputState,
    /// Size of the file on disk in bytes.
    pub bytes: u64,
}

/// The files that an unsuccessful job left in its run folder for the next run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftoverWork {
    /// Path of the run folder.
    pub folder: PathBuf,
    /// Size of the files in the run folder in bytes.
    pub bytes: u64,
}

/// The files of a job; empty if the job does not list them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OutputsStatus {
    /// The first 1,000 files.
    pub files: Vec<OutputStatus>,
    /// Number of further files.
    pub more: u64,
    /// The files left after an unsuccessful end.
    pub left: Option<LeftoverWork>,
}

/// The writing side of [`OutputsStatus`], which the job updates.
#[derive(Debug, Default)]
pub struct OutputBoard(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    status: OutputsStatus,
    /// Index in the list, by the key of the file.
    places: HashMap<String, usize>,
}

impl OutputBoard {
    /// Lists the files that will be written, with the state `Waiting`. Each is given as the key with which it is [updated](Self::update),
    /// and its name.
    pub fn expect(&self, files: impl IntoIterator<Item = (String, String)>) {
        let mut inner = Inner::default();
        for (key, name) in files {
            if inner.status.files.len() == MAX_LISTED_FILES {
                inner.status.more += 1;
                continue;
            }
            inner.places.insert(key, inner.status.files.len());
            inner.status.files.push(OutputStatus { name, state: OutputState::Waiting, bytes: 0 });
        }
        *self.0.lock() = inner;
    }

    /// Sets the state of a file. A key that is not listed has no effect.
    pub fn update(&self, key: &str, state: OutputState, bytes: u64) {
        let mut inner = self.0.lock();
        let place = inner.places.get(key).copied();
        if let Some(file) = place.and_then(|place| inner.status.files.get_mut(place)) {
            (file.state, file.bytes) = (state, bytes);
        }
    }

    /// Replaces the expected files with complete ones.
    pub fn complete(&self, files: impl IntoIterator<Item = (String, u64)>) {
        let mut inner = Inner::default();
        for (name, bytes) in files {
            match inner.status.files.len() {
                MAX_LISTED_FILES => inner.status.more += 1,
                _ => inner.status.files.push(OutputStatus { name, state: OutputState::Written, bytes }),
            }
        }
        *self.0.lock() = inner;
    }

    /// Sets this state for every file that was started. A removed file has 0 bytes on disk.
    pub fn set_state(&self, state: OutputState) {
        let mut inner = self.0.lock();
        for file in inner.status.files.iter_mut().filter(|file| file.state != OutputState::Waiting) {
            file.state = state;
            if state == OutputState::Removed {
                file.bytes = 0;
            }
        }
    }

    /// Records the files left after an unsuccessful end.
    pub fn record_leftovers(&self, left: LeftoverWork) {
        self.0.lock().status.left = Some(left);
    }

    /// Returns a snapshot of the states.
    pub fn read(&self) -> OutputsStatus {
        self.0.lock().status.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expected(count: usize) -> OutputBoard {
        let board = OutputBoard::default();
        board.expect((0..count).map(|n| (format!("key{n}"), format!("name{n}"))));
        board
    }

    fn states(board: &OutputBoard) -> Vec<(OutputState, u64)> {
        board.read().files.iter().map(|file| (file.state, file.bytes)).collect()
    }

    #[test]
    fn output_that_was_not_started_stays_waiting_when_the_job_ends() {
        let board = expected(3);
        board.update("key0", OutputState::Written, 7);
        board.update("key1", OutputState::Writing, 3);
        board.update("unknown", OutputState::Writing, 3);
        board.set_state(OutputState::Kept);
        assert_eq!(states(&board), [(OutputState::Kept, 7), (OutputState::Kept, 3), (OutputState::Waiting, 0)]);
        board.set_state(OutputState::Removed);
        assert_eq!(states(&board)[0], (OutputState::Removed, 0));
        board.complete([("a".to_owned(), 5)]);
        board.set_state(OutputState::Published);
        assert_eq!(states(&board), [(OutputState::Published, 5)]);
    }

    #[test]
    fn outputs_beyond_the_list_limit_are_only_counted() {
        let board = expected(MAX_LISTED_FILES + 2);
        board.update(&format!("key{}", MAX_LISTED_FILES + 1), OutputState::Written, 7);
        assert_eq!((board.read().files.len(), board.read().more), (MAX_LISTED_FILES, 2));
        board.complete((0..=MAX_LISTED_FILES).map(|n| (n.to_string(), 1)));
        assert_eq!((board.read().files.len(), board.read().more), (MAX_LISTED_FILES, 1));
    }
}
