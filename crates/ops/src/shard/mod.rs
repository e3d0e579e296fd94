//! Writes WebDatasets: samples of files, rows and shards become new shards, prepared in the same pass. See docs/formats/webdataset.md.
//!
//! ```text
//! input ─source→ Sample ─list→ spool, keys ─repeats→ choose → order ─divide→ PlannedShard ─write→ archive, spool of its index ─publish→ set
//! ```
//!
//! Sources list samples without their bytes ([`sample`]). Everything up to the division works on these lists; only [`write`] copies bytes,
//! a shard a unit. What a new set is prepared with comes from the job of `prepare`, which takes the spools in place of a scan.

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
mod set_writers;
mod source;
mod stores;
#[cfg(test)]
mod tests;
mod write;

pub use check::refusals;
pub use choose::LeftOut;
pub(crate) use publish::PLAN_OF;
pub use report::{ranges_of, PlannedSplit, ShardReport, ValueRange, WrittenSet, WrittenShard};
pub use run::{preview_shards, run_shard};
