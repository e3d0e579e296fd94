//! Drop-in names: other programs' own commands and flags, for scripts that exist.

pub mod energon;
pub mod modalities;
pub mod nanotron;
mod preview;
