//! Packs text into token files, and reads these files. Owns the formats of token files.

pub mod check;
pub(crate) mod encode;
mod format;
pub mod formats;
mod hub_tokenizer;
pub mod index;
mod names;
mod options;
mod overlaps;
pub mod pack;
pub mod packed_formats;
pub mod reader;
mod spool;
mod spools;

pub(crate) use format::{EndTokenNeed, TokenFormat};
pub(crate) use hub_tokenizer::load_tokenizer;
