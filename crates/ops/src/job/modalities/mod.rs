//! Jobs on the files of Modalities other than packing: making files out of others, and repairing one.

mod instruction;
mod repair;
mod rewrite;
#[cfg(test)]
mod tests;

pub use instruction::{run_instruction, InstructionReport, PartitionReport};
pub use repair::{start_repair, RepairReport};
pub(crate) use rewrite::run as run_rewrite;
pub use rewrite::{start, start_on, Existing, Rewrite, RewritePlan, RewriteReport};
