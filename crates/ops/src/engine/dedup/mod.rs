//! Exact substring dedup: writes records without their removable text (docs/formats/bsade.md), and stores, checks and shows ranges.

mod compose;
pub mod export;
pub mod line_notes;
pub mod original;
pub mod output;
pub mod removed;
pub mod repeats;
pub mod verify;
pub mod write_back;
mod zip_writer;

pub use compose::RangesPlacement;

#[cfg(test)]
mod golden_tests;
#[cfg(test)]
mod index_tests;
#[cfg(test)]
mod write_back_tests;
