//! From text to token files: packing, and the formats.

mod instruction;
pub mod pack;

pub use instruction::{run_instruction, InstructionReport, PartitionReport};
