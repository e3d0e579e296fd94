//! Exact substring dedup: what is removable, and the records without it (bsade format page).

pub mod find;
