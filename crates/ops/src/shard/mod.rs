//! Writes WebDatasets: samples of files, rows and shards become new shards, which are prepared in the same pass. See
//! docs/formats/webdataset.md.
//!
//! ```text
//! input ─source→ Sample ─list→ spool, keys ─repeats→ choose → order ─divide→ PlannedShard ─write→ archive, spool of its index ─publish→ set
//! ```
//!
//! Sources list samples without their bytes ([`sample`]). All steps before writing use these lists; only [`write`] copies bytes, with one
//! shard per unit. The files of a prepared set are written by the job of `prepare`, which reads the index spools instead of scanning the
//! shards.

mod append;
mod check;
mod choose;
mod divide;
pub mod examples;
mod gather;
mod keeper;
mod key_list;
mod layout;
mod lines;
mod list;
mod order;
mod pattern;
mod planned;
mod publish;
mod record;
mod repeats;
mod report;
mod run;
pub mod sample;
pub mod sample_types;
mod set_writers;
mod source;
mod stores;
#[cfg(test)]
mod tests;
mod unindexed;
mod write;

pub use check::refusals;
pub use choose::LeftOut;
pub(crate) use publish::PLAN_OF;
pub use report::{ranges_of, PlannedSplit, ShardReport, ValueRange, WrittenSet, WrittenShard};
pub use run::{preview_shards, run_shard};

/// Name of the step that adds shards to a prepared set, in errors.
const ADDING: &str = "adding shards to the set";
