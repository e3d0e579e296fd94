//! Jobs on the files of Modalities other than packing: making files out of others, and repairing one.

mod repair;
mod rewrite;
#[cfg(test)]
mod tests;

pub use repair::start_repair;
pub(crate) use rewrite::{make_parent, run as run_rewrite};
pub use rewrite::{start, start_on, ExistingOutput, Rewrite, RewritePlan, RewriteReport};
