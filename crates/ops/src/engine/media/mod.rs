//! Media metadata: which entries are media, their properties, and the two tables that store them (docs/formats/energon.md §12).
//!
//! A unit ([`probe_shard`], [`probe_files`]) reads headers through one small window and leaves its rows in a spool file; [`write_rows`]
//! then puts the rows of all units into a private copy of the database. A broken entry is reported as a problem, loses only its own row,
//! and never ends the run. [`forecast`] estimates what would be picked, [`facts_of`] reads what the tables hold.

mod forecast;
mod pick;
mod spool;
mod spread;
#[cfg(test)]
mod tests;
mod unit;
mod write;

pub use forecast::{forecast, of_files, MediaForecast};
pub use pick::{picks, picks_file, ProbeVerdict, Prober};
pub use spool::MediaRows;
pub use spread::{facts_of, facts_until, FilterFacts, MediaSpread, OTHERS};
pub use unit::{probe_files, probe_shard, ProbeSettings, REPLACE_HINT};
pub use write::{has_filter, is_in_samples, write_rows, EntryExists, OldRows, RowStats};
