//! Drop-in names: other programs' own commands and flags, for scripts that exist.

pub mod energon;
mod fix_duplicates;
pub mod modalities;
pub mod nanotron;
mod preview;
