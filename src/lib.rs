//! Gristmill turns raw training data into what training frameworks read.
//!
//! This crate holds the front ends: `cli` → `tui`, `prompt`. Everything below them is in `crates/` (see `docs/ARCHITECTURE.md`).

pub mod cli;
pub mod prompt;
pub mod tui;
