//! Files, and objects of stores: positional reads, listings, atomic publication, locks, scratch space. Only this crate accesses them.
//!
//! Everything that changes a disk goes through [`fs::Fs`], so that tests can make it fail at any operation.

// Tests create and damage files with `std::fs`.
#![cfg_attr(test, allow(clippy::disallowed_methods))]

pub mod address_secrets;
pub mod ahead;
pub mod cache;
mod content_check;
mod file_info;
pub mod files;
pub mod files_ahead;
pub mod folder;
pub mod fs;
pub mod identity;
pub mod kept;
pub mod listing;
pub mod local_copy;
#[cfg(feature = "remote")]
mod local_file;
pub mod location;
pub mod lock;
pub mod memory;
#[cfg(any(test, feature = "testing"))]
pub mod memory_store;
pub mod near;
pub mod notices;
pub mod pages;
pub mod parts_ahead;
pub mod publish;
mod range_read;
pub mod read;
pub mod read_ahead;
mod read_file;
mod release;
pub mod remote;
pub mod run_folder;
pub mod scheme;
pub mod scratch;
pub mod sort;
pub mod space;
pub mod staged;
pub mod store;
pub mod stores;
pub mod traffic;
pub mod transfer;
pub mod waiting;
pub mod walk;
pub mod xdg;
