//! Gristmill turns raw training data into what training frameworks read.
//!
//! This crate holds the front ends: `cli` → `tui`, `prompt`. Everything below them is in `crates/` (see `docs/ARCHITECTURE.md`).

// Tests make and damage files by hand.
#![cfg_attr(test, allow(clippy::disallowed_methods))]

pub mod cli;
pub mod prompt;
pub mod tui;
