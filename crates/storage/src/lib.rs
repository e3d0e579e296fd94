//! Files: positional reads, atomic publication, locks, scratch space. Only this crate opens files for writing.
//!
//! Everything that changes a disk goes through [`fs::Fs`], so that tests can make it fail at any operation.

pub mod fs;
pub mod identity;
pub mod lock;
pub mod memory;
pub mod pages;
pub mod publish;
pub mod read;
pub mod remote;
pub mod run_folder;
pub mod scratch;
pub mod sort;
pub mod space;
pub mod walk;
pub mod xdg;
