//! Media metadata: which entries are media, their properties, and the two tables that store them (docs/formats/energon.md §12).
//!
//! A unit ([`probe_shard`], [`probe_files`]) reads headers through one small buffer and writes its rows to a spool file. [`write_rows`]
//! then writes the rows of all units to a private copy of the database. A broken entry is reported as a problem, loses only its own row,
//! and never ends the run. [`forecast`] estimates the selected entries, and [`facts_of`] reads the content of the tables.

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
pub use spread::{facts_of, FilterFacts, MediaSpread, OTHERS};
pub use unit::{probe_files, probe_shard, ProbeSettings, REPLACE_HINT};
pub use write::{has_filter, is_in_samples, write_rows, EntryExists, OldRows, RowStats};
