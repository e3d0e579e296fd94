//! Operations on files of Modalities, except packing: merging, shuffling, selecting chunks, filtering, checking and repairing packed files,
//! and preparing instruction data (docs/formats/modalities.md §3 and §5).

pub mod assembly;
pub mod check;
pub mod chunk;
pub mod config;
mod end_token;
pub mod filter;
pub mod folder;
pub mod index_checker;
pub mod instruction;
pub mod merge;
pub mod raw_index;
pub mod repair;
pub mod source;

pub(crate) use end_token::{unknown_end, unknown_end_note};
