//! The operations of Gristmill, independent of its front ends.
//!
//! Layers from top to bottom; each imports only from the layers below it: `operations` → `mount` → `browse` → `datasets` → `shard` →
//! `tokens` → `job` → `engine`.

// Tests create and damage files directly.
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
