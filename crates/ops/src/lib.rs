//! What Gristmill does, below its front ends.
//!
//! The layers, from the top down; each imports only from layers below it: `operations` → `mount` → `browse` → `datasets` →
//! `shard` → `tokens` → `job` → `engine`.

// Tests make and damage files by hand.
#![cfg_attr(test, allow(clippy::disallowed_methods))]

pub mod browse;
pub mod datasets;
#[macro_use]
pub mod engine;
pub mod job;
#[cfg(all(feature = "mount", target_os = "linux"))]
pub mod mount;
pub mod operations;
pub mod shard;
pub mod tokens;

#[cfg(test)]
mod store_tests;
