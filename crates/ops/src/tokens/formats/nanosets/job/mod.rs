//! Jobs on token folders: merging files, shuffling windows, and building the index of a mixture.

mod files;
#[cfg(test)]
mod tests;

pub(crate) use files::{run_merge, run_windows};
