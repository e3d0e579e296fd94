//! Token folders: the steps between tokenising (shuffles, merges) and training (mixture indexes).
//!
//! See docs/formats/nanosets.md. Everything here reads at positions and writes through an `Fs` into a work folder; the owner of that folder
//! makes the files visible.

pub mod check;
mod copy;
pub mod folder;
pub mod listing;
pub mod merge;
pub mod mixture;
mod numbers;
pub mod output;
pub mod shuffle;
pub mod training;
pub mod windows;

pub use folder::{folder_facts, FileFacts, FolderFacts};
pub use merge::{merge, MergePlan, MergeResult};
pub use output::FinishedTokenFile;
pub use shuffle::{shuffle, ShuffleOptions, ShuffleResult, Source};
pub use windows::{shuffle_windows, WindowsPlan};

#[cfg(test)]
mod tests;
