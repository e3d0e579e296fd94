//! From text to token files: packing, and the formats.

pub mod check;
pub(crate) mod encode;
mod format;
pub mod formats;
mod instruction;
mod names;
mod options;
mod overlaps;
pub mod pack;
pub mod packed_formats;
pub mod reader;
mod spool;
mod spools;

pub(crate) use format::{EndTokenNeed, TokenFormat};
pub use instruction::{run_instruction, InstructionReport, PartitionReport};
