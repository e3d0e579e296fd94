//! Jobs on the files of Modalities, except packing: writing a file from others, and repairing a file.

mod index;
mod repair;
mod rewrite;
#[cfg(test)]
mod tests;

pub use crate::tokens::index::ExistingFile;
pub use index::{run as run_raw, start as start_raw, RawIndexPlan};
pub use repair::start_repair;
pub(crate) use rewrite::{make_parent, run as run_rewrite};
pub use rewrite::{start, ExistingOutput, Rewrite, RewritePlan, RewriteReport};
