//! Token folders: the steps between tokenization (shuffles, merges) and training (indexes of mixtures).
//!
//! See docs/formats/nanosets.md. Reads files by position, and writes through an `Fs` into a work folder. The owner of the work folder
//! publishes the files.

pub mod check;
mod copy;
pub mod folder;
pub mod listing;
pub mod merge;
mod numbers;
pub mod output;
pub mod shuffle;
pub mod windows;

pub use folder::{folder_facts, FileFacts, FolderFacts};
pub use merge::{merge, MergePlan, MergeResult};
pub use output::FinishedTokenFile;
pub use shuffle::{shuffle, ShuffleOptions, ShuffleResult, Source};
pub use windows::{shuffle_windows, WindowsPlan};

#[cfg(test)]
mod tests;
