//! Gristmill turns raw training data into what training frameworks read.
//!
//! This crate has the front ends: `cli` → `tui`, `prompt`. The layers below are crates in `crates/` (see `docs/ARCHITECTURE.md`).

// Tests create and damage files directly.
#![cfg_attr(test, allow(clippy::disallowed_methods))]

pub mod cli;
pub mod prompt;
pub mod tui;
